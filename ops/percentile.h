// PERCENTILE_CONT.
#pragma once

#include <memory>
#include <memory_resource>

#include "ops/accumulator.h"

namespace adjoin {

// Of DOUBLE PRECISION, in SQL's order (-0 before 0). Keeps every value, in `memory` where it is not
// null (MakeAccumulator); nothing is sorted.
std::unique_ptr<Accumulator> MakePercentile(bool descending, std::pmr::memory_resource* memory);

}  // namespace adjoin
