// One SELECT: targets, FROM, WHERE, GROUP BY, HAVING, windows, DISTINCT, ORDER BY, LIMIT.
#pragma once

#include "absl/status/statusor.h"
#include "sql/bind_query.h"

namespace adjoin {

// Binds a SelectStmt body that is neither VALUES nor a set operation, its WITH clause bound
// already.
absl::StatusOr<Query> BindSelect(BindState& state, const Json& body, const QueryContext& context);

}  // namespace adjoin
