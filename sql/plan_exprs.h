// The expressions of an operator, whatever it is.
#pragma once

#include <functional>

#include "plan/node.h"

namespace adjoin {

// Calls `f` with every expression of the operator that is not null.
void VisitExprs(const Operator& op, const std::function<void(const ExprRef&)>& f);

// Whether an expression may raise an error: arithmetic that overflows or divides by zero, texts
// that are no numbers. Floats do neither.
bool MayFail(const ExprRef& expr);

}  // namespace adjoin
