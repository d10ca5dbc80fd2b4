// Lists of pairs of rows that hold each pair (a, b) as (b, a), too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "engine/budget_charge.h"
#include "engine/column_cache.h"

namespace adjoin {

// The pair (a, b) and the row (b, a) that mirrors it, one of each two rows: the one that comes
// first, in the list's order. (a, a) mirrors itself; of rows that come n times each mirrors one.
class PairList final : public CachedValue {
 public:
  // Of each two rows, INTEGER: the row and its mirror; their a and b, less `low`; and a and b
  // again, but high - low of rows that mirror themselves, which nothing has.
  enum class Part : uint8_t { kRow, kMirror, kFirst, kSecond, kFirstApart, kSecondApart };
  static constexpr size_t kParts = 6;

  // What columns `first` and `second` of a list hold, kept in `cache` (may be null) while they stay
  // as they are, its memory charged to `budget`. Null: a value is NULL or not in [low, high), there
  // are 2^31 rows or so, or the memory is not there.
  static std::shared_ptr<const PairList> Of(const ColumnRef& first, const ColumnRef& second,
                                            int64_t low, int64_t high,
                                            const std::shared_ptr<MemoryBudget>& budget,
                                            ColumnCache* cache);

  bool is_symmetric() const { return lone_row_ < 0; }
  int64_t lone_row() const { return lone_row_; }  // one that nothing mirrors; -1: there is none
  // REQUIRES for the rest: symmetric.
  int64_t length() const { return length_; }
  // Whether those who go through the pairs, to a's side first and then to b's, come to each a, and
  // to each b, by the same other sides in the same order as those who go through the list. So it
  // is where rows are in the order of (a, b).
  bool keeps_order() const { return keeps_order_; }
  const ColumnRef& part(Part part) const { return parts_[static_cast<size_t>(part)]; }
  int64_t bytes() const override;

 private:
  struct Rows;
  bool Build(const Rows& rows, int64_t extent, const std::shared_ptr<MemoryBudget>& budget);

  int64_t lone_row_ = -1, length_ = 0;
  bool keeps_order_ = false;
  std::array<ColumnRef, kParts> parts_;
};

}  // namespace adjoin
