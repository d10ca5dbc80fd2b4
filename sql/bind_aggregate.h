// Aggregate calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"
#include "sql/statistics.h"

namespace adjoin {

bool IsAggregate(std::string_view name);
// One that takes WITHIN GROUP: percentile_cont, percentile_disc, mode.
bool IsOrderedSetAggregate(std::string_view name);

// 42803 where `what`, aggregates or what is like them, may not stand.
absl::Status CheckAggregatePlace(BindState& state, const Context& context, std::string_view what,
                                 int location);

// Binds a FuncCall body of an aggregate without OVER; its parts join the level. Errors: 42803 where
// there may be none, 42809 WITHIN GROUP where it does not fit.
absl::StatusOr<ExprRef> BindAggregate(BindState& state, const std::string& name, const Json& body,
                                      const Context& context);

// The value of an aggregate (not an ordered-set one) of bound arguments, made of the calls that
// `add` takes, which have no FILTER yet. Errors: 42883 where there is no such aggregate.
absl::StatusOr<ExprRef> AggregateValue(BindState& state, const std::string& name, const Json& body,
                                       const std::vector<Typed>& args, const AddAggregate& add);

}  // namespace adjoin
