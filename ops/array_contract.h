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
  int outer = -1;   // where it is several as one: the number of the outermost
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
//
// One step can be several products over the same axes (plan/array_stack.cc): each with a c of its
// own, or all summed, in their order, into one. Its parts are cut over all of them together.
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
    bool checked_by_tile = false;  // an earlier step of the same tiling computes it
  };
  // What is stored in c: scale * a b [+ the cells of an array that lies as c does].
  struct Product {
    ArrayAddress a, b, c;
    double scale = 1;
    bool adds = false;
    ArrayAddress addend;
  };
  // What several products are: each stored, or added to one c, of which all but the first are
  // added to what those before them left.
  enum class Stack : uint8_t { kEach, kSum };
  // `tiled`: the axis that the step is tiled along; -1: it is not. It is the first kept one of more
  // than one index, or a summed one. REQUIRES: one product, where it is tiled or has a mask.
  ContractStep(int number, TypeId type, std::vector<ContractAxis> axes,
               std::vector<Product> products, Stack stack, Mask mask, Staircase stairs, int tiled,
               std::string label);
  int64_t scratch_bytes() const override;
  absl::Status Prepare(RunState& state) const override;
  absl::Status Run(RunState& state) const override;
  // 0 with a mask, which is looked into first.
  int64_t parts() const override { return mask_.present ? 0 : cut_.parts; }
  void RunPart(RunState& state, int64_t part, int slot) const override;
  void RunTile(RunState& state, int64_t first, int64_t last) const override;
  std::string Describe() const override;

  // A product below this stays on its caller: 4e6 are about 50 us on one core.
  static constexpr double kFewestFlops = 4e6;

 private:
  struct Matrix {
    int64_t extent = 1, a = 0, b = 0, c = 0;
    int axis = -1;  // its number, where it is one axis
    int outer = -1;
  };
  struct Range {
    int64_t first, last;
    int64_t length() const { return last - first; }
    friend bool operator==(const Range&, const Range&) = default;
  };
  struct Loop {
    int64_t extent, a, b, c;  // c is 0 where it is summed
    bool summed;
    int outer;
  };
  struct Span {  // what a tile, or a part of it, computes
    Range products, batches, rows, columns, inner;
  };
  struct Cut {  // how a span is cut into parts: `each` of every product, or, of 1, of the products
    int64_t parts = 1, each = 1;
    Range Span::*of = &Span::batches;  // parts of a product have ranges of it,
    int64_t unit = 1;                  // in multiples of this
  };
  struct State;
  Matrix TakeLargest(std::vector<ContractAxis> group);
  void FindRanges();
  Span Whole() const;
  Span TileOf(int64_t first, int64_t last) const;
  Cut CutOf(const Span& span) const;
  Cut CutMatrix(int64_t wanted, const Span& span) const;
  void RunSpan(RunState& state, const Span& span) const;
  void RunPartOf(const RunState& state, Span span, const Cut& cut, int64_t part, int slot) const;
  template <typename T>
  void RunProducts(const RunState& state, std::byte* scratch, const Span& span) const;
  template <typename T>
  void RunBatches(GemmArgs<T> args, bool adds, const Span& span) const;
  template <typename T>
  void RunRows(GemmArgs<T> args, bool adds, const Range& rows, const Range& inner) const;
  // Whether the mask cannot be left to the zeros of one factor.
  bool NeedsMask(const RunState& state, int64_t first_cell, int64_t cells) const;
  void RunMasked(const RunState& state, const Range& tile) const;
  template <typename T>
  void RunMaskedCells(const RunState& state, const Range& tile) const;

  size_t number_;
  TypeId type_;
  std::vector<ContractAxis> axes_;
  std::vector<Product> products_;
  Stack stack_;
  Mask mask_;
  Staircase stairs_;
  int tiled_;
  std::string label_;
  Matrix rows_, columns_, inner_;
  std::vector<Loop> loops_;         // kept ones first, then summed ones
  int64_t batches_ = 1, sums_ = 1;  // iterations of the kept and of the summed loops
  // By block of rows, of the columns or of the inner dimension; empty: all of them.
  std::vector<Range> ranges_;
  bool ranges_of_columns_ = false;
  Cut cut_;  // of all of it
};

}  // namespace adjoin
