// Cell-by-cell steps of array programs: fused maps and reductions of fused maps.
#pragma once

#include <string>
#include <vector>

#include "ops/array_block.h"

namespace adjoin {

enum class ArrayReduction : uint8_t { kSum, kMax, kMin, kAny, kAll };

// outputs[i] = expression i over a loop nest, dense in its order. Blocks are independent: any
// thread, same bits.
class FusedMap final : public Step {
 public:
  FusedMap(int number, BlockProgram program, std::vector<ArrayAddress> outputs, std::string label);
  absl::Status Prepare(RunState& state) const override;
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override { return label_; }

 private:
  struct State;
  static void RunPart(void* context, int64_t part);
  size_t number_;
  BlockProgram program_;
  std::vector<ArrayAddress> outputs_;
  std::string label_;
  int64_t parts_;
};

// out[cells] = reduction of the expression over the inner loops. The nest is [outer, reduced,
// inner]: `outer` * `inner` output cells, row-major; with inner > 1 the reduced loop runs over rows
// of `inner` cells that are added in order, else each cell reduces contiguous values with the
// 16-lane kernels, blocks of kArrayBlock combined pairwise.
class FusedReduce final : public Step {
 public:
  FusedReduce(int number, ArrayReduction reduction, int64_t outer, int64_t reduced, int64_t inner,
              BlockProgram program, ArrayAddress output, std::string label);
  absl::Status Prepare(RunState& state) const override;
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override { return label_; }

 private:
  struct State;
  struct Context;
  static void RunPart(void* context, int64_t part);
  template <typename T>
  void RunRows(const RunState& state, State& scratch, int64_t part, int64_t first,
               int64_t last) const;
  template <typename T>
  void RunColumns(const RunState& state, State& scratch, int64_t part, int64_t first,
                  int64_t last) const;
  size_t number_;
  ArrayReduction reduction_;
  int64_t outer_, reduced_, inner_;
  BlockProgram program_;
  ArrayAddress output_;
  std::string label_;
  int64_t parts_;
};

}  // namespace adjoin
