// Function calls: scalar functions, aggregates, window functions.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// Binds a FuncCall body of any sort. Errors: 42883 no such function; 42803 and 42P20 an aggregate
// or window call where there may be none; 0A000 functions that PostgreSQL has and the engine lacks.
absl::StatusOr<ExprRef> BindCall(BindState& state, const Json& body, const Context& context);

std::optional<AggregateFunction> AggregateNamed(std::string_view name);
// The result's type; 42883 where there is no such aggregate. `arg`: null for COUNT(*).
absl::StatusOr<TypeId> AggregateType(BindState& state, AggregateFunction function,
                                     std::string_view name, const ExprRef& arg, int location);

}  // namespace adjoin
