// Cell-by-cell steps of array programs: fused regions, and reductions over rows of them.
#pragma once

#include <string>
#include <vector>

#include "ops/row_program.h"

namespace adjoin {

// Runs a region and stores its outputs. Blocks are independent: any thread, same bits. Of several
// programs, all of one shape (plan/array_stack.cc), parts are ranges of one, or of the programs.
class FusedRows final : public Step {
 public:
  // `tiled`: indices of the axis that the step is tiled along, its outermost loop. REQUIRES: one
  // program, where that is more than one.
  FusedRows(int number, std::vector<RowProgram> programs, int64_t tiled, std::string label);
  absl::Status Prepare(RunState& state) const override;
  absl::Status Run(RunState& state) const override;
  int64_t parts() const override { return parts_; }
  void RunPart(RunState& state, int64_t part, int slot) const override;
  void RunTile(RunState& state, int64_t first, int64_t last) const override;
  std::string Describe() const override { return label_; }

  // Below it a step stays on its caller. 64 Ki cells of a dozen operations are about 150 us; two
  // tasks of 50 us took 101 us on two busy cores.
  static constexpr int64_t kFewestCells = 65536;

 private:
  struct State;
  int64_t PartsOf(int64_t rows, int64_t wanted) const;
  // Part `part` of `parts` of some rows of a program.
  void RunRows(RunState& state, size_t program, int64_t first, int64_t last, int64_t part,
               int64_t parts, int slot) const;
  size_t number_;
  std::vector<RowProgram> programs_;
  int64_t tiled_;
  std::string label_;
  int64_t parts_, each_;  // each_: of a program; of 1, parts are ranges of the programs
};

// out[outer, inner] = reduction of the program's exposed cells over a nest [outer, reduced, inner].
// With inner > 1 rows of `inner` cells are added in order; else contiguous values are reduced by
// the 16-lane kernels, blocks of RowProgram::kBlockCells combined pairwise. Long reductions are cut
// into chunks, combined in order: as many as follow from the extents. `tiled`: indices of the
// outermost loop, along which the step is tiled; 1: it is not. REQUIRES: it is one of `outer`
// otherwise. Of several reductions, with programs of one shape and not tiled, each has the parts
// that it has alone, but small ones are one part together.
class FusedReduce final : public Step {
 public:
  struct Reduction {
    RowProgram program;
    ArrayAddress output;
  };
  FusedReduce(int number, ArrayReduction reduction, int64_t outer, int64_t reduced, int64_t inner,
              std::vector<Reduction> reductions, int64_t tiled, std::string label);
  absl::Status Prepare(RunState& state) const override;
  absl::Status Run(RunState& state) const override;
  int64_t parts() const override { return is_one_part_ ? 1 : parts_ * std::ssize(reductions_); }
  void RunPart(RunState& state, int64_t part, int slot) const override;
  void RunTile(RunState& state, int64_t first, int64_t last) const override;
  void Finish(RunState& state) const override;  // combines chunks
  std::string Describe() const override { return label_; }

 private:
  struct State;
  // Chunks [first, last) of a reduction, numbered over all outer cells.
  void RunChunks(RunState& state, size_t of, int64_t first, int64_t last, int slot) const;
  template <typename T>
  void RunChunk(const RunState& state, size_t of, RowProgram::Worker& worker, int64_t first,
                int64_t last, T* out, T* blocks) const;
  template <typename T>
  void Combine(const RunState& state) const;
  size_t number_;
  ArrayReduction reduction_;
  int64_t outer_, reduced_, inner_;
  std::vector<Reduction> reductions_;
  int64_t tiled_;
  std::string label_;
  int64_t parts_, chunks_;  // of each
  bool is_one_part_;
};

}  // namespace adjoin
