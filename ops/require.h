// Promises about a stored relation that are checked when it is read.
#pragma once

#include <string>
#include <vector>

#include "ops/pipeline.h"

namespace adjoin {

struct RequireSpec {
  enum class What : uint8_t { kUnique, kOneRow, kAtMostOneRow } what = What::kUnique;
  RelationRef relation;
  std::vector<int> columns;  // kUnique: rows distinct on these
  std::string sqlstate, message;
};

// Leaves the relation as it is, or fails with the given error.
class RequireStep final : public Step {
 public:
  explicit RequireStep(RequireSpec spec) : spec_(std::move(spec)) {}
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;

 private:
  RequireSpec spec_;
};

}  // namespace adjoin
