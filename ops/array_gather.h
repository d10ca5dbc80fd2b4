// Joins on a value column as array steps: fetching by position, and its transpose, adding up by
// position.
#pragma once

#include <cstdint>
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

// A nest of loops whose innermost, where no position varies along it, is taken off as a run of
// cells that follow one position.
struct IndexedLoops {
  IndexedLoops(std::vector<int64_t> all_loops, std::vector<int64_t> direct_strides,
               std::vector<ArrayIndex> all_indices);
  int64_t cells() const;

  std::vector<int64_t> loops;   // one at least
  std::vector<int64_t> direct;  // strides in the array that is indexed
  std::vector<ArrayIndex> indices;
  int64_t run = 1, run_stride = 0;  // cells, and their stride in that array
};

// out[cell] = source[direct strides over the loops + positions * their strides], out dense over the
// loops. In parts of its cells where they are many. `tiled`: indices of the outermost loop, along
// which the step is tiled; REQUIRES: a position varies along it, or another loop is in it.
class GatherStep final : public Step {
 public:
  GatherStep(TypeId type, std::vector<int64_t> loops, ArrayAddress source,
             std::vector<int64_t> direct, std::vector<ArrayIndex> indices, ArrayAddress out,
             int64_t tiled, std::string label);
  absl::Status Run(RunState& state) const override;
  int64_t parts() const override { return parts_; }
  void RunPart(RunState& state, int64_t part, int slot) const override;
  void RunTile(RunState& state, int64_t first, int64_t last) const override;
  std::string Describe() const override { return label_; }

 private:
  void GatherRuns(const RunState& state, int64_t first, int64_t last) const;
  template <typename T>
  void Gather(const RunState& state, int64_t first, int64_t last) const;  // runs

  TypeId type_;
  IndexedLoops nest_;
  ArrayAddress source_, out_;
  int64_t tiled_;
  std::string label_;
  int64_t parts_;
};

// out (zeroed first, `out_cells` of them) at [direct strides + positions] += value over the loops,
// in the loops' order. A loop with a direct stride is an axis of out of its own: parts have ranges
// of one, so that each cell has the same sum however many they are. One part where there is none:
// each would have to read all positions to find its own. Tiles are ranges of the outermost loop,
// which has no direct stride then: tile after tile is the loops' order. Of two values with
// positions of their own, each index of the loop that positions vary along adds the first's cells,
// then the second's.
class ScatterStep final : public Step {
 public:
  struct Value {
    ArrayAddress address;
    std::vector<int64_t> strides;  // over the loops
    std::vector<ArrayIndex> indices;
  };
  // `values`: one or two, their indices along the same loops.
  ScatterStep(TypeId type, std::vector<int64_t> loops, std::vector<Value> values,
              std::vector<int64_t> direct, ArrayAddress out, int64_t out_cells, std::string label);
  absl::Status Run(RunState& state) const override;
  void RunTile(RunState& state, int64_t first, int64_t last) const override;
  std::string Describe() const override { return label_; }

 private:
  // What indices of the outermost loop, and of the cut one, add.
  struct Range {
    int64_t first, last;
    int64_t length() const { return last - first; }
  };
  template <typename T>
  void Scatter(const RunState& state, Range outermost, Range cut) const;
  void Zero(const RunState& state) const;
  void Add(const RunState& state, Range outermost) const;
  bool cuts_runs() const { return cut_ == nest_.loops.size(); }
  int64_t cut_extent() const { return cuts_runs() ? nest_.run : nest_.loops[cut_]; }

  struct Source {
    ArrayAddress address;
    std::vector<int64_t> strides;  // over nest_.loops
    int64_t run_stride = 0;
  };

  TypeId type_;
  std::vector<Source> sources_;
  IndexedLoops nest_;  // with the indices of all sources, in their order
  ArrayAddress out_;
  int64_t out_cells_;
  std::string label_;
  size_t cut_ = 0;  // the loop that parts have ranges of; past the last: the runs, after all loops
  int64_t most_parts_ = 1;
};

}  // namespace adjoin
