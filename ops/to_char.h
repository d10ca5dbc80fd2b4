// to_char(value, pattern), to_number and to_date, to_timestamp of (text, pattern) as row functions,
// which read a pattern once for all rows that it comes in (engine/date_format.h, number_format.h).
#pragma once

#include "ops/row_function.h"

namespace adjoin {

extern const RowFunction kTimestampToChar, kIntervalToChar;
extern const RowFunction kNumberToChar[6];  // of each type of numbers
extern const RowFunction kToNumber, kToTimestamp, kToDate;

}  // namespace adjoin
