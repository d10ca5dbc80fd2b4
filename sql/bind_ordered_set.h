// Aggregates WITHIN GROUP: percentiles and MODE.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// Binds a FuncCall body that is an ordered-set aggregate or has WITHIN GROUP. PERCENTILE_DISC and
// MODE are MAX over the row that a window over the group's rows in order picks, so that they have
// the derivative of the value picked.
absl::StatusOr<ExprRef> BindOrderedSetAggregate(BindState& state, const std::string& name,
                                                const Json& body, const Context& context);

}  // namespace adjoin
