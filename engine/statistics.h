// What a planner wants to know of a column's values.
#pragma once

#include <cmath>

namespace adjoin {

class Column;

// NULLs do not count.
struct ColumnStatistics {
  double distinct = 0;  // texts: of the dictionary; numbers: exact within a range of 2^20, else
                        // estimated (a few per cent; never more than the rows or the range)
  double low = std::nan(""), high = std::nan("");  // of numbers; NaN: there are none
};

// Reads every value once.
ColumnStatistics ComputeStatistics(const Column& column);

}  // namespace adjoin
