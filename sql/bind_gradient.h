// grad(f, column) and vjp(f, column, cotangent): a Derivative in the place of the relation that
// owns the column.
//
//   SELECT i, grad(f, val) FROM w          Project[i, dval]
//                                   =>       Derivative[val]
//                                              f
//                                              Scan[w]
//
// All calls of one relation and one f share a Derivative. Another f on the same relation is a
// Derivative of its own, looked up by row id.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/bind_from.h"
#include "sql/bind_state.h"

namespace adjoin {

bool IsGradientCall(std::string_view name);

// The value of a call that PlanGradients has planned; 0A000 where such a call may not stand.
absl::StatusOr<ExprRef> BindGradientCall(BindState& state, std::string_view name, const Json& body,
                                         const Context& context);

// The bodies of the grad, vjp and jvp calls in `roots`, subqueries left out.
std::vector<const Json*> CollectGradientCalls(const std::vector<const Json*>& roots);

// For a level whose FROM is bound: decides where each call's gradient comes from, notes it in
// level.gradients and gives the leaves' new nodes, with which FROM is to be bound once more.
// Errors: 42P01, 42703, 42702 for names; AD001 where f has not one column; AD002 where the column
// is not floating point or nothing identifies the table's rows.
absl::StatusOr<LeafReplacements> PlanGradients(BindState& state, Level& level,
                                               const std::vector<const Json*>& calls);

}  // namespace adjoin
