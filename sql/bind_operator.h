// Operators of the parse tree: infix and prefix ones, BETWEEN, IN lists, IS DISTINCT FROM, NULLIF.
#pragma once

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// Binds an A_Expr body. Errors: 42883 no such operator, 0A000 LIKE and operators on arrays.
absl::StatusOr<ExprRef> BindOperator(BindState& state, const Json& body, const Context& context);

}  // namespace adjoin
