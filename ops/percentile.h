// PERCENTILE_CONT.
#pragma once

#include <memory>

#include "ops/accumulator.h"

namespace adjoin {

// Of DOUBLE PRECISION, in SQL's order (-0 before 0). Keeps every value; nothing is sorted.
std::unique_ptr<Accumulator> MakePercentile(bool descending);

}  // namespace adjoin
