// PERCENTILE_CONT.
#pragma once

#include <memory>
#include <span>

#include "ops/accumulator.h"

namespace adjoin {

// Of DOUBLE PRECISION, in SQL's order (-0 before 0). Keeps every value; nothing is sorted.
std::unique_ptr<Accumulator> MakePercentile(bool descending);

// The same of all values of a column, which may lie in a file, in a few passes over it. REQUIRES:
// there are some.
double PercentileOf(std::span<const double> values, double share, bool descending);

}  // namespace adjoin
