// What the calls of a window step ask for.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>

#include "absl/status/statusor.h"
#include "ops/window.h"

namespace adjoin {

bool IsAggregate(WindowKind kind);
// Whether every row's frame is its whole partition, without an order, and all calls are aggregates:
// then one value a partition is enough.
bool IsGroupBy(const WindowStepSpec& spec);
// Whether somebody asks for the peers of a row.
bool NeedsPeers(const WindowStepSpec& spec);
// Whether somebody asks for frames that are found by distance.
bool NeedsRanges(const WindowStepSpec& spec);

// A call's value of each partition. `ids`: the partition of each row. REQUIRES: IsGroupBy.
absl::StatusOr<ColumnRef> AggregatePartitions(const WindowCallSpec& call,
                                              std::span<const int64_t> ids, int64_t partitions,
                                              std::span<const Vector> exprs,
                                              std::pmr::memory_resource* memory,
                                              const std::shared_ptr<MemoryBudget>& budget);

}  // namespace adjoin
