// Products of array programs: c(out) = SUM over k of a * b, as batched matrix products on strided
// operands.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel_table.h"
#include "ops/row_program.h"

namespace adjoin {

// One axis of the product and how each array moves along it, in elements; `in_a`/`in_b`: whether it
// varies at all.
struct ContractAxis {
  int64_t extent;
  int64_t a, b, c;  // c is unused for summed axes
  bool in_a, in_b, summed;
  int number = -1;  // the step's own
};

// Pairs of indices of two axes: those of `along` below ends[index of `of`]; ends never fall. The
// rest is a staircase too: index i of `along` belongs to the indices of `of` from the first on
// whose end is above i.
struct Staircase {
  int of = -1, along = -1;  // -1: no staircase
  std::vector<int64_t> ends;
  bool present() const { return of >= 0; }
};

// Free axes of a are rows, those of b columns, shared kept axes the batch. Neighbouring axes that
// every array steps through evenly are one matrix dimension; what is left over loops. Nothing is
// copied to transpose (kernels pack tiles). Each cell sums k in one order, whatever the threads.
//
// A staircase over two axes, blocks of rows at a time, leaves out cells of c that nothing reads
// (both axes are kept; they become zeros) or terms whose factor in a is zero (one is summed).
class ContractStep final : public Step {
 public:
  // Pairs that take no part, where only one factor was zeroed for it: a zero there is not enough if
  // the other factor (`checked`, of `checked_cells`) holds an infinity or NaN. Then cells are added
  // one by one where the mask is 1, or in the staircase where there is one.
  struct Mask {
    bool present = false;
    ArrayAddress address;
    std::vector<int64_t> strides;  // over the axes
    ArrayAddress checked;
    int64_t checked_cells = 0;
  };
  ContractStep(TypeId type, std::vector<ContractAxis> axes, ArrayAddress a, ArrayAddress b,
               ArrayAddress c, Mask mask, Staircase stairs, std::string label);
  int64_t scratch_bytes() const override;
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;
  double flops() const;

 private:
  struct Matrix {
    int64_t extent = 1, a = 0, b = 0, c = 0;
    int axis = -1;  // its number, where it is one axis
  };
  struct Range {
    int64_t first, last;
  };
  struct Loop {
    int64_t extent, a, b, c;  // c is 0 where it is summed
    bool summed;
  };
  Matrix TakeLargest(std::vector<ContractAxis> group);
  void FindRanges();
  static void RunPart(void* context, int64_t part, int slot);
  template <typename T>
  void RunBatches(const RunState& state, std::byte* scratch, int64_t first, int64_t last,
                  int64_t row_first, int64_t row_last) const;

  template <typename T>
  void RunRows(GemmArgs<T> args, int64_t row_first, int64_t row_last) const;
  template <typename T>
  void RunMasked(const RunState& state) const;

  TypeId type_;
  ArrayAddress a_, b_, c_;
  std::vector<ContractAxis> axes_;
  Mask mask_;
  Staircase stairs_;
  std::string label_;
  Matrix rows_, columns_, inner_;
  std::vector<Loop> loops_;         // kept ones first, then summed ones
  int64_t batches_ = 1, sums_ = 1;  // iterations of the kept and of the summed loops
  int64_t parts_ = 1;
  bool parts_by_row_ = false;
  // By block of rows, of the columns or of the inner dimension; empty: all of them.
  std::vector<Range> ranges_;
  bool ranges_of_columns_ = false;
};

}  // namespace adjoin
