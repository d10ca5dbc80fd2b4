// ORDER BY: a stable sort of a stored relation; where it has no room, by sorted runs in files.
#pragma once

#include <string>
#include <vector>

#include "ops/expression.h"
#include "ops/pipeline.h"
#include "ops/sort_codes.h"

namespace adjoin {

struct SortSpec {
  RelationRef relation;
  CompiledExpr keys;              // over the relation's columns
  std::vector<SortOrder> orders;  // by key
  std::vector<int> columns;       // of the relation, that go out
  Schema schema;                  // of the result
};

class SortStep final : public Step {
 public:
  SortStep(SortSpec spec, int out_slot, PipelineOptions options)
      : spec_(std::move(spec)), out_slot_(out_slot), options_(options) {}
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;

 private:
  absl::StatusOr<TableRef> SortInMemory(const Table& table, RunState& state) const;
  SortSpec spec_;
  int out_slot_;
  PipelineOptions options_;
};

// The same rows in the same order, from runs of as many as have room, sorted and then merged.
absl::StatusOr<TableRef> SortInFiles(const SortSpec& spec, const Table& table, RunState& run,
                                     const PipelineOptions& options);

}  // namespace adjoin
