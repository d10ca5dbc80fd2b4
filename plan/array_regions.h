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

// One step: a region, or (region < 0) the one array that another kind of step stores.
struct ArrayUnit {
  int region = -1;
  int array = -1;
};
struct ArrayPlan {
  // By array, of a stored one: the stored arrays and inputs that computing it reads, found through
  // what is not stored, along its iteration space.
  std::vector<std::vector<ArrayOperand>> leaves;
  std::vector<ArrayRegion> regions;
  std::vector<ArrayUnit> units;  // in an order that runs
};

// Partitions the stored arrays. `merge`: let regions grow beyond one array.
ArrayPlan FormRegions(const ArrayGraph& graph, const std::vector<bool>& stored, bool merge);

}  // namespace adjoin
