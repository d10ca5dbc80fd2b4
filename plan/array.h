// Array programs: what relations in the Grid layout come down to. A hash-consed DAG of dense
// row-major arrays, one scalar function a node, so that equal values are one node across forward
// and backward; array_steps.h fuses them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/types.h"
#include "kernels/kernel_table.h"
#include "ops/array_contract.h"
#include "plan/array_share.h"
#include "plan/mask_bands.h"

namespace adjoin {

// Operand axis k runs along axis `axes[k]` of the node's iteration space; the space's other axes
// broadcast it.
struct ArrayOperand {
  int array = -1;
  std::vector<int> axes;
  bool VariesAlong(int axis) const {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  }
  // Whether a space of `rank` axes runs along all of the operand's, in order.
  bool IsWhole(size_t rank) const;
  friend bool operator==(const ArrayOperand&, const ArrayOperand&) = default;
};

enum class ArrayOp : uint8_t {
  kInput,      // a table's value column; `valid`: its validity as BOOLEAN; or what a guard computed
  kParameter,  // $n; `valid`: whether it is not NULL
  kConstant,
  kIndex,     // one axis: origin + i
  kMap,       // a scalar kernel, cell by cell; ScalarOp::kCount: a cast
  kReduce,    // over the axes after `shape` in the iteration space
  kContract,  // SUM over those axes of operand 0 * operand 1; operand 2, if any: the pairs that
              // take part (the first factor is 0 elsewhere, the second anything)
              // `scale` times that, plus the last operand where it `adds`
  kGather,    // operand 0 at the positions of operands 1..: its axis `indexed[j]` takes operand j+1
              // minus origins[j]
  kScatter,   // adds operand 0's cells into zeros: output axis a comes from iteration axis
              // `kept[a]`, or from operand -kept[a] minus origins[-kept[a]-1]. Twice as many
              // operands: another value and its positions, each of whose cells is added after that
              // of the first (array_pairs.h)
  kSlice,     // operand 0 from `origins` on, without the axes that it runs along none with: a view
};
enum class ReduceOp : uint8_t { kSum, kMax, kMin, kAny, kAll };

struct ArrayNode {
  ArrayOp op = ArrayOp::kConstant;
  TypeId type = TypeId::kFloat64;
  std::vector<int64_t> shape;  // extents of the result
  std::vector<int64_t>
      space;  // kReduce, kContract: shape, then the reduced axes; kScatter: operand 0's
  std::vector<ArrayOperand> operands;
  ScalarOp scalar = ScalarOp::kCount;
  ReduceOp reduce = ReduceOp::kSum;
  uint64_t table_id = 0;
  int column = -1;  // kInput; kParameter: its number
  bool valid = false;
  int guard = -1;  // kInput
  Value constant;
  std::vector<int> indexed, kept;
  std::vector<int64_t>
      origins;  // kIndex: one; kGather, kScatter: an index operand each; kSlice: an axis each
  // kContract, instead of operand 2: a mask that is a staircase. Known beforehand, so not stored.
  ArrayOperand stairs;
  double scale = 1;
  bool adds = false;
  bool structural = false;  // depends on nothing but extents and constants
  int copy = 0;             // of several computations of one value (array_recompute.h), which
  friend bool operator==(const ArrayNode&, const ArrayNode&) = default;
};

int64_t CellsOf(const std::vector<int64_t>& extents);

class ArrayGraph {
 public:
  explicit ArrayGraph(bool share = true) : shared_(share) {}
  const ArrayNode& node(int id) const { return nodes_[static_cast<size_t>(id)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  int Add(ArrayNode node);  // the equal node's id, where there is one (array_share.h)
  // By array: whether computing one of `roots` needs it.
  std::vector<bool> ReachedFrom(const std::vector<int>& roots) const;
  int found_again(int id) const { return shared_.found(id); }
  // Computes the array from other operands, all before it. No Add may follow.
  void Replace(int id, ArrayNode node) { nodes_[static_cast<size_t>(id)] = std::move(node); }

  int Constant(Value value, TypeId type);
  bool IsConstant(int id, bool value) const;
  // The cells of a structural array, computed once; null where it is not structural or has more
  // than `limit` cells.
  using Cells = std::shared_ptr<const std::vector<double>>;
  Cells Evaluate(int id, int64_t limit = int64_t{1} << 24) const;
  bool IsTrueEverywhere(int id) const;  // a structural mask known to be

  // The staircase that a structural mask over two axes is, as axes of the mask's reader, found
  // once; none where it is none.
  Staircase StaircaseOf(const ArrayOperand& mask) const;
  // By id, the mask outside of which nothing reads the array's cells: every reader chooses by it,
  // or hands cells on to readers that do. Without an array where all are read. The masks are
  // staircases.
  std::vector<ArrayOperand> ReadCells(const std::vector<int>& roots) const;

  // A staircase outside of which `condition` is false: itself, or what it ANDs with; none where
  // there is none.
  ArrayOperand StairsAround(const ArrayOperand& condition) const;

  std::string ToString(int id) const;

 private:
  // The true cells of a structural mask over two axes, row by row, where they are of that form;
  // found once. BandsOver: over the two axes of its reader, which have these extents.
  using Bands = std::shared_ptr<const MaskBands>;
  Bands BandsOf(int id) const;
  Bands FindBands(int id) const;
  std::optional<MaskBands> BandsOver(const ArrayOperand& mask, int64_t rows, int64_t columns) const;
  Cells ReduceBands(const ArrayNode& n) const;

  std::vector<ArrayNode> nodes_;
  SharedArrays shared_;
  mutable absl::flat_hash_map<int, Cells> evaluated_;
  mutable absl::flat_hash_map<int, Bands> bands_;                 // null: none
  mutable absl::flat_hash_map<int, Staircase> staircases_;        // of a mask's own axes
  mutable absl::flat_hash_map<int, ArrayOperand> stairs_around_;  // over its own axes
};

}  // namespace adjoin
