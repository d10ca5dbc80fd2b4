// Reads one value from text as PostgreSQL's input functions do, straight into a column's memory.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/types.h"

namespace adjoin {

// Writes an element of the type's width to `out`; allocates only for an error. White space around
// it is ignored. Dates, timestamps and intervals as engine/date_time.h says, with its errors,
// NUMERIC as ParseDecimal (engine/decimal.h).
// BOOLEAN takes t/true/y/yes/on/1 and their opposites, floats NaN and Infinity too. REQUIRES: not
// TEXT. Errors: 22P02 `invalid input syntax for type integer: "x"`; 22003 `value "99999" is out of
// range for type smallint`,
// `"1e999" is out of range for type real`.
absl::Status ParseElement(std::string_view text, TypeId type, void* out);

// The same as one Value; TEXT is itself.
absl::StatusOr<Value> ParseText(std::string_view text, TypeId type);

}  // namespace adjoin
