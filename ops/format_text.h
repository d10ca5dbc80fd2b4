// format() and the quoting of names.
//
// Its arguments, any number of any types, come to it as one text: ArgumentOf each, one after the
// other.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "ops/arena.h"

namespace adjoin::text {

// In double quotes where it would be another name, or none, without.
std::string_view QuotedName(BatchArena& arena, std::string_view name);

std::string_view ArgumentOf(BatchArena& arena, std::string_view value);
inline constexpr std::string_view kNullArgument = "N";

// format(pattern, arguments): %s, %I, %L and %%, with positions (%2$s), widths (%10s, %-10s, %*s,
// %*2$s). Errors: 22023 in the pattern and for too few arguments, 22004 for a NULL as %I.
absl::StatusOr<std::string_view> Format(BatchArena& arena, std::string_view pattern,
                                        std::string_view arguments);

}  // namespace adjoin::text
