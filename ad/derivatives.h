// Derivatives of plans: every Derivative node becomes ordinary logical operators.
#pragma once

#include "absl/status/status.h"
#include "plan/node.h"

namespace adjoin {

// Replaces the Derivative nodes below the statement's outputs, innermost first, by reverse-mode
// plans. Those of one function (and one cotangent) share one backward pass over all their wrt
// relations.
//
// Errors: kUndefinedColumn where the function does not read the relation; kNotScalar where it has
// more than one column and no cotangent (more rows: when run); kNoDerivativeRule naming the
// construct that cuts the gradient off.
absl::Status ResolveDerivatives(Statement* statement, Planner& planner);

}  // namespace adjoin
