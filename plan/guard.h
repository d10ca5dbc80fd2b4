// What a program assumes of its input tables, and columns that it computes from them before a run:
// structure, which training leaves as it is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/table.h"
#include "plan/pair_list.h"

namespace adjoin {

using TablesById = absl::flat_hash_map<uint64_t, TableRef>;

// `count` values of a column, those of rows 0, step, 2 * step, ...
struct ColumnValues {
  uint64_t table_id = 0;
  int column = -1;
  int64_t count = 0, step = 1;
  friend bool operator==(const ColumnValues&, const ColumnValues&) = default;
};

struct Guard {
  enum class Kind : uint8_t {
    kGrid,
    kOneRow,
    kNoNulls,
    kRows,  // as many as shape.extents[0]
    // Those that read all rows:
    kInRange,
    kCovers,    // kInRange, and every value from low on is there
    kLabelled,  // LabelledShape of the dims is `shape`
    // Those that compute a column, too:
    kPresent,  // BOOLEAN by cell of the box `shape`: whether a row is there. Rows lie in it, in its
               // order
    kDense,    // the column by cell of that box, zero where no row is; it has no NULLs
    kPositions,  // BIGINT by value of `keys`: where `labels` has it, which it does
    kPairs,      // a part of the PairList of `pairs`, values in [low, high), which is symmetric
  } kind;
  uint64_t table_id = 0;
  int column = -1;
  GridShape shape = {};
  int64_t low = 0, high = 0;            // kInRange, kCovers: every value in [low, high), none NULL
  ColumnValues keys = {}, labels = {};  // kPositions
  struct Pairs {
    int first = -1, second = -1;  // columns
    int64_t length = 0;
    bool keeps_order = false;
    PairList::Part part = PairList::Part::kRow;
    friend bool operator==(const Pairs&, const Pairs&) = default;
  } pairs = {};
  friend bool operator==(const Guard&, const Guard&) = default;
};

// The columns that a guard was last found to hold for, and what it computed from them.
struct GuardState {
  std::vector<ColumnRef> seen;
  ColumnRef computed;
};

// Whether the guard holds. One that reads all rows looks at them again only where a column is
// another than in `state`, which then changes; otherwise nothing is allocated. What it computes is
// charged to `budget`, and where that is short it does not hold. `cache` (may be null) has what
// other programs found.
bool Holds(const Guard& guard, const TablesById& tables, GuardState& state,
           const std::shared_ptr<MemoryBudget>& budget, ColumnCache* cache);

// The grid that the rows are in its order if TEXT dims count their distinct values, in the order in
// which they come: origins of such are 0. None where they are no grid even so. REQUIRES: no two
// rows agree on all dims.
std::optional<GridShape> LabelledShape(std::span<const ColumnRef> dims, int64_t num_rows);

// The box around integer dims whose cells the rows come in the order of; none where they do not, or
// where it has more than `most_cells`.
std::optional<GridShape> OrderedBox(std::span<const ColumnRef> dims, int64_t num_rows,
                                    int64_t most_cells);

}  // namespace adjoin
