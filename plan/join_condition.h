// Join conditions to keys and the rest.
#pragma once

#include <vector>

#include "plan/node.h"

namespace adjoin {

// Join keys and the rest of a predicate over left's columns and then right's. Equalities of one
// side with the other become keys.
struct JoinCondition {
  std::vector<JoinKey> keys;
  ExprRef residual;  // null: TRUE
};
JoinCondition SplitJoinCondition(const std::vector<ExprRef>& conjuncts, int left_width);

}  // namespace adjoin
