// "Perhaps you meant ...": columns with a name like the one that was not found.
#pragma once

#include <string>
#include <string_view>

#include "sql/bind_state.h"

namespace adjoin {

// PostgreSQL's hint for an unknown column, by its rule: at most three single-character edits and
// half of the name, one or two best candidates, else nothing. `range`: the qualifier that was
// written; may be empty.
std::string SimilarColumnHint(const Names& names, std::string_view range, std::string_view column);

}  // namespace adjoin
