// ORDER BY and LIMIT above a set operation or VALUES, where only output columns can be named.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "sql/bind_query.h"

namespace adjoin {

// Applies the body's ORDER BY (output names and positions), LIMIT and OFFSET. Errors: 42703, 42P10,
// 0A000 for an expression.
absl::Status OrderOutput(BindState& state, const Json& body, std::string_view construct,
                         const CteScope* ctes, Query& query);

}  // namespace adjoin
