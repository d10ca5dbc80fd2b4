// Which stored arrays are computed together: regions of maps and row reductions that one step runs
// through block by block (ops/row_program.h), so that what only they read never reaches memory.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/array.h"

namespace adjoin {

struct ArrayRegion {
  std::vector<int> members;      // stored maps and reductions, ascending
  std::vector<int64_t> extents;  // of the region's axes
  std::vector<bool> in_row;  // the axis runs along the cells of a row, which reductions are over
  bool has_rows = false;     // in_row is decided
  absl::flat_hash_map<int, std::vector<int>> axes;  // of each member: its iteration space's axes
};

// A stored array that an expression reads, and how its axes run along the expression's.
struct ArrayLeaf {
  int array;
  std::vector<int> axes;
};
// The leaves of `id` (a map, or a reduction's operand) over `axes`: what is stored, found through
// what is not.
std::vector<ArrayLeaf> LeavesOf(const ArrayGraph& graph, const std::vector<bool>& stored, int id);

// One step: a region, or (region < 0) the one array that another kind of step stores.
struct ArrayUnit {
  int region = -1;
  int array = -1;
};
struct ArrayPlan {
  std::vector<ArrayRegion> regions;
  std::vector<ArrayUnit> units;  // in an order that runs
};

// Partitions the stored arrays. `merge`: let regions grow beyond one array.
ArrayPlan FormRegions(const ArrayGraph& graph, const std::vector<bool>& stored, bool merge);

}  // namespace adjoin
