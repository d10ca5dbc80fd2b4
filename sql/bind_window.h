// Window calls.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

bool IsWindowFunction(std::string_view name);

// Binds a FuncCall body that has OVER: adds the call to the level and gives its placeholder.
// Arguments, partition and order are over the level's FROM columns and may hold aggregates. Errors:
// 42P20 for a window where there may be none or a frame that makes no sense, 42809 for a function
// that is neither window function nor aggregate, 42704 an unknown name.
absl::StatusOr<ExprRef> BindWindowCall(BindState& state, const std::string& name, const Json& body,
                                       const Context& context);

}  // namespace adjoin
