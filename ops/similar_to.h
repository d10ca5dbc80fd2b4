// Patterns of SIMILAR TO, which are regular expressions but for % and _ and what separates the
// parts of substring(s SIMILAR pattern ESCAPE escape).
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "ops/arena.h"
#include "ops/row_function.h"

namespace adjoin {

// The regular expression (ops/regular_expression.h) that a pattern is, with `escape` of one
// character, or none: no escapes. Errors: 22025, 2200C.
absl::StatusOr<std::string_view> SimilarToEscape(BatchArena& arena, std::string_view pattern,
                                                 std::string_view escape);

// substring(s SIMILAR pattern ESCAPE escape): the part between two separators (escape and ") where
// all of `s` matches; the first part is as short as it can be, then the second as long.
extern const RowFunction kSimilarSubstring;

}  // namespace adjoin
