// Aggregates WITHIN GROUP: percentiles and MODE.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// Binds a FuncCall body that is an ordered-set aggregate or has WITHIN GROUP. Each is MAX over the
// one or two rows that a window over the group's rows in order picks, so that it has the derivative
// of the values picked.
absl::StatusOr<ExprRef> BindOrderedSetAggregate(BindState& state, const std::string& name,
                                                const Json& body, const Context& context);

}  // namespace adjoin
