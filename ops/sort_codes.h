// Order-preserving codes: one or two 64-bit numbers a sort key, so that comparing rows is comparing
// numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "engine/large_vector.h"
#include "ops/pipeline.h"
#include "ops/vector.h"

namespace adjoin {

struct SortOrder {
  bool descending = false;
  bool nulls_first = false;
};

struct CodeRange {
  uint64_t first = 0, last = 0;
};

// Codes of the rows of some key columns, in SQL's order (NaN above every number, 0 equal to -0,
// text by bytes).
class SortCodes {
 public:
  // `orders` may be shorter than `keys`: ascending, NULLs last.
  SortCodes(std::span<const Vector> keys, std::span<const SortOrder> orders, int64_t rows);
  // What ranking a string takes beside its code.
  static constexpr int64_t kBytesAText = 48;
  // What making the codes of a row takes at most.
  static int64_t BytesARow(std::span<const Vector> keys);
  bool Equal(int64_t a, int64_t b) const {
    for (const auto& column : columns_) {
      if (column[a] != column[b]) return false;
    }
    return true;
  }
  bool Less(int64_t a, int64_t b) const {
    for (const auto& column : columns_) {
      if (column[a] != column[b]) return column[a] < column[b];
    }
    return a < b;
  }
  bool empty() const { return columns_.empty(); }
  // The code that decides first. REQUIRES: !empty().
  uint64_t First(int64_t row) const { return columns_[0][row]; }
  bool single() const { return columns_.size() == 1; }
  // The least and the greatest First of rows [0, rows). REQUIRES: rows > 0.
  CodeRange FirstRange(int64_t rows) const;

 private:
  void Add(LargeVector<uint64_t> codes);
  std::vector<LargeVector<uint64_t>> columns_;
};

// Codes of a key of numbers that follow from each row alone; NULL has the least or the greatest
// one, which a number may have, too.
bool HasOwnCodes(TypeId type);
void OwnCodes(const Vector& key, SortOrder order, int64_t rows, uint64_t* codes);

// Sorts numbers by their bits [low, high). REQUIRES: where those are equal, the bits below `low`
// ascend and those from `high` on are equal too.
void SortBits(std::span<uint64_t> items, int low, int high);
// Sorts row numbers by their codes; equal ones by row number. REQUIRES: `rows` ascending.
void SortRows(const SortCodes& codes, std::span<int64_t> rows);
// The same for all rows of a table, in blocks on the pool that are then merged.
absl::StatusOr<std::vector<int64_t>> SortAllRows(const SortCodes& codes, int64_t rows,
                                                 const RunState& run,
                                                 const PipelineOptions& options);

}  // namespace adjoin
