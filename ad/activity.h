// Which columns depend on what is differentiated, and through what they can no longer be
// differentiated.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/node.h"

namespace adjoin {

// Of one column: active where it depends on a wrt column other than through piecewise constant
// functions. A blocker names the construct that has no derivative (a rank, a cast to an integer):
// an error once a cotangent arrives there.
struct Activity {
  bool active = false;
  std::string blocker;
};
using ColumnActivity = std::vector<Activity>;

// Activity of `expr` over columns of the given activity.
Activity ExprActivity(const ExprRef& expr, const ColumnActivity& columns);

// Activity of every node of `order` (inputs first), given the wrt columns of some of them.
absl::flat_hash_map<const Node*, ColumnActivity> FindActivity(
    const std::vector<NodeRef>& order,
    const absl::flat_hash_map<const Node*, std::vector<int>>& wrt);

}  // namespace adjoin
