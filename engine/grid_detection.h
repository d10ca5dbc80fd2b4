// Finds out whether the keys of a table form a grid.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "engine/table.h"

namespace adjoin {

// The smallest box around all keys; no value where an extent is too large to hold. REQUIRES:
// integers without NULLs, and a row.
std::optional<GridShape> BoxOf(std::span<const ColumnRef> dims, int64_t num_rows);
int64_t CellsOf(const GridShape& box);  // INT64_MAX where there are more than that
// cells[r] = the cell of row r's key in the box. REQUIRES: it lies in the box.
void FillCells(std::span<const ColumnRef> dims, const GridShape& box, int64_t num_rows,
               int64_t* cells);

struct GridDetection {
  std::optional<GridShape> shape;           // the rows, in `row_order`, are this grid
  std::shared_ptr<const Buffer> row_order;  // int64 row numbers in grid order; null: as they are
  int64_t duplicate_row = -1;               // a row whose key an earlier row has
  bool keys_checked = false;  // no two rows have one key, if duplicate_row is negative
};

// Looks at the dims in key order. Rows in grid order cost one pass; others that fill a grid are put
// in order by counting, and keys in a box not much larger than their number are checked for
// duplicates on the way. No rows are no grid. REQUIRES: no NULLs. 53200 where the working memory
// passes the budget.
absl::StatusOr<GridDetection> DetectGrid(std::span<const ColumnRef> dims, int64_t num_rows,
                                         const std::shared_ptr<MemoryBudget>& budget);

}  // namespace adjoin
