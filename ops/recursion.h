// WITH RECURSIVE: steps that run on their own output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/pipeline.h"
#include "ops/step.h"

namespace adjoin {

struct RecursionSpec {
  int working_slot = -1;  // holds the first rows; then what the body is to run on
  int body_slot = -1;     // where the body puts what it makes
  std::vector<std::unique_ptr<Step>> body;
  bool distinct = false;  // rows that were there before count as none
  Schema schema;
};

// All rows in the order they were made: the first ones, then those of each run of the body. Ends
// when the body makes none.
class RecursionStep final : public Step {
 public:
  RecursionStep(RecursionSpec spec, int out_slot, PipelineOptions options)
      : spec_(std::move(spec)), out_slot_(out_slot), options_(options) {}
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;

 private:
  RecursionSpec spec_;
  int out_slot_;
  PipelineOptions options_;
};

}  // namespace adjoin
