// Function calls: scalar functions, aggregates, window functions.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// Binds a FuncCall body of any sort. Errors: 42883 no such function; 42803 and 42P20 an aggregate
// or window call where there may be none; 0A000 functions that PostgreSQL has and the engine lacks.
absl::StatusOr<ExprRef> BindCall(BindState& state, const Json& body, const Context& context);

// 42883 with the call's argument types.
absl::Status NoSuchFunction(BindState& state, std::string_view name, const std::vector<Typed>& args,
                            int location);

// Functions of text that are other calls (plan/resolve_call.cc): what is open is TEXT there.
bool IsTextSpelling(std::string_view name);

}  // namespace adjoin
