// The first rows of some partitions of a relation by keys of any types.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/top_rows.h"

namespace adjoin {

// Some partitions: a part of their hashes (FindParts) a level.
using HashPart = std::vector<uint8_t>;

// The rows of a batch whose partition is in the part, ascending; returns how many.
int64_t SelectOfPart(std::span<const Vector> partition, int64_t n, const HashPart& part,
                     BatchArena& arena, int32_t* rows);

// Adds an item to the `size` first ones of its partition, of which `most` are kept, in order.
// REQUIRES: it is of a later row than those.
template <typename Item, typename Less>
void Offer(const Item& item, Item* first, uint32_t& size, size_t most, Less&& less) {
  size_t at = size;
  if (at == most) {
    if (!less(item, first[--at])) return;
  } else {
    ++size;
  }
  for (; at > 0 && less(item, first[at - 1]); --at) first[at] = first[at - 1];
  first[at] = item;
}

// Numbers of rows, ascending; none: so many that all rows may go out.
using TopRows = std::optional<std::vector<int64_t>>;

// Runs of rows one after another, each beside what is kept of those before, so that codes may
// follow from other rows of a run and keys are computed for a run's rows alone. 53200 where what is
// kept and a short run have no room.
absl::StatusOr<TopRows> FindTopRowsByRuns(const TopRowsSpec& spec, const Table& table,
                                          const HashPart& part, const RunState& run,
                                          const PipelineOptions& options);

}  // namespace adjoin
