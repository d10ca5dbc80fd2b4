// The chain rule within one row: cotangents of an expression's columns from the cotangent of its
// value.
#pragma once

#include <map>

#include "absl/status/status.h"
#include "ad/activity.h"
#include "plan/expr.h"

namespace adjoin {

// Cotangents of columns, each an expression; NULL means "no contribution".
using ColumnCotangents = std::map<int, ExprRef>;

// Adds to `cotangents` what `y = expr` passes on to the columns it reads, given dy: columns of
// `activity` that are not active get nothing. The partials read the same columns as `expr`; `dy`
// may read others. Untaken branches get NULL. Error: kNoDerivativeRule where a path leads through a
// construct without a derivative.
absl::Status Backpropagate(const ExprRef& expr, const ExprRef& dy, const ColumnActivity& activity,
                           ColumnCotangents* cotangents);

// kNoDerivativeRule: "cannot differentiate through <construct>".
absl::Status NoRule(const std::string& construct);

// Sums two cotangents; either may be null (nothing).
ExprRef AddCotangents(const ExprRef& a, const ExprRef& b);

}  // namespace adjoin
