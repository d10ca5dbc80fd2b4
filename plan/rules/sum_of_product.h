// What the rules look for in a group-by: one SUM, and the factors of what it sums.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plan/node.h"

namespace adjoin {

struct SumPosition {
  int sum = -1, count = -1;  // positions among the aggregates
};
// One SUM of floats, and at most COUNT(*) beside it.
std::optional<SumPosition> OnlySum(const std::vector<Aggregate>& aggregates);

// The factors of a product, taken apart as long as `divisible` holds of what is left and they are
// few.
std::vector<ExprRef> FactorsOf(const ExprRef& product,
                               const std::function<bool(const ExprRef&)>& divisible);
// REQUIRES: at least one factor.
ExprRef ProductOf(const std::vector<ExprRef>& factors);

}  // namespace adjoin
