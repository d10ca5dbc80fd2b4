// Rows of a table by the ids of their keys, grouped on all threads, however few keys most of them
// have.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/large_vector.h"
#include "engine/task_pool.h"

namespace adjoin {

// Rows that have ids, cut into parts by ranges of ids; a part's rows are in their order. What works
// on it takes a part a task, or a *piece* of one that has more rows than its share.
struct NumberedRows {
  static constexpr uint32_t kNone = UINT32_MAX;  // an id of a row that is left out
  struct Piece {
    size_t part;
    int64_t begin, end;  // of `ids`
  };
  explicit NumberedRows(size_t parts) : row_begins(parts + 1), id_begins(parts + 1) {}
  size_t parts() const { return id_begins.size() - 1; }
  int64_t num_ids() const { return id_begins.back(); }
  int64_t num_ids(size_t part) const { return id_begins[part + 1] - id_begins[part]; }
  // In the order of parts.
  std::vector<Piece> Pieces() const;

  std::vector<int64_t> row_begins, id_begins;  // by part, and the ends
  LargeVector<uint32_t> rows;                  // empty: all rows of a table
  LargeVector<uint32_t> ids;                   // counted from the part's first; kNone: of no part
};

// Rows of each id, ascending: those of id i are rows [offsets[i], offsets[i + 1]).
struct RowsById {
  LargeVector<uint32_t> offsets, rows;
};

// `ids[r]`: of row r, below `num_ids`, or kNone. One part where parts would not be worth it.
NumberedRows CutByIds(LargeVector<uint32_t> ids, int64_t num_ids, TaskPool* pool);

RowsById GroupRows(const NumberedRows& numbered, TaskPool* pool);

// The begins of what blocks put into parts, from how much each puts into each, by block: stable,
// part by part and in them block by block. `begins` are the parts' and the end.
void PlaceBlocks(std::vector<std::vector<uint32_t>>& counts, std::vector<int64_t>& begins);

}  // namespace adjoin
