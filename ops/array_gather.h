// Joins on a value column as array steps: fetching by position, and its transpose, adding up by
// position.
#pragma once

#include <string>
#include <vector>

#include "ops/row_program.h"

namespace adjoin {

// An integer array of positions along the loops; `origin` is subtracted. `stride` is how far one
// position moves in the array that is indexed. Positions are inside it: plan/grid.h guards the
// columns they come from.
struct ArrayIndex {
  ArrayAddress address;
  TypeId type;
  std::vector<int64_t> strides;  // over the loops
  int64_t origin;
  int64_t stride;
};

// out[cell] = source[direct strides over the loops + positions * their strides], out dense over the
// loops.
class GatherStep final : public Step {
 public:
  GatherStep(TypeId type, std::vector<int64_t> loops, ArrayAddress source,
             std::vector<int64_t> direct, std::vector<ArrayIndex> indices, ArrayAddress out,
             std::string label);
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override { return label_; }

 private:
  TypeId type_;
  std::vector<int64_t> loops_;
  ArrayAddress source_;
  std::vector<int64_t> direct_;
  std::vector<ArrayIndex> indices_;
  ArrayAddress out_;
  std::string label_;
};

// out (zeroed first, `out_cells` of them) at [direct strides + positions] += value over the loops,
// in the loops' order.
class ScatterStep final : public Step {
 public:
  ScatterStep(TypeId type, std::vector<int64_t> loops, ArrayAddress value,
              std::vector<int64_t> value_strides, std::vector<int64_t> direct,
              std::vector<ArrayIndex> indices, ArrayAddress out, int64_t out_cells,
              std::string label);
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override { return label_; }

 private:
  TypeId type_;
  std::vector<int64_t> loops_;
  ArrayAddress value_;
  std::vector<int64_t> value_strides_;
  std::vector<int64_t> direct_;
  std::vector<ArrayIndex> indices_;
  ArrayAddress out_;
  int64_t out_cells_;
  std::string label_;
};

}  // namespace adjoin
