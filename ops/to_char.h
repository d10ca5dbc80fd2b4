// to_char(value, pattern) as row functions, which read a pattern once for all rows that it comes in
// (engine/date_format.h).
#pragma once

#include "ops/row_function.h"

namespace adjoin {

extern const RowFunction kTimestampToChar, kIntervalToChar;

}  // namespace adjoin
