// Pattern matching with % and _, as LIKE and ILIKE have it.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "ops/arena.h"
#include "ops/row_function.h"

namespace adjoin {

// Whether the whole text matches: % is any text, _ one character of UTF-8, and \ takes the next
// character as it is. `ignore_case`: of ASCII letters. Error: 22025 where the match comes to an
// escape that nothing follows.
absl::StatusOr<bool> Like(std::string_view text, std::string_view pattern, bool ignore_case);

// The pattern with escapes by `escape` (one character, or none: no escapes) written with \. Errors:
// 22025, 22019.
absl::StatusOr<std::string_view> WithBackslash(BatchArena& arena, std::string_view pattern,
                                               std::string_view escape);

// (text, pattern) as row functions. A batch looks at each string of a dictionary once.
extern const RowFunction kLike, kIlike;

}  // namespace adjoin
