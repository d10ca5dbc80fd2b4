// What the rules look for in a group-by: one SUM, and the factors of what it sums.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "plan/node.h"

namespace adjoin {

// A group-by's expressions over the columns of the join below it, with what is between them
// inlined.
struct GroupsOfJoin {
  NodeRef join;
  std::vector<ExprRef> keys;
  std::vector<Aggregate> aggregates;
  std::vector<ExprRef> conditions;
};
// Nothing where there is no inner join, or only beyond a node that is `kept`.
std::optional<GroupsOfJoin> FlattenGroups(const NodeRef& node, const GroupBy& group_by,
                                          const absl::flat_hash_set<const Node*>& kept);

// Which side of a join an expression reads, the right's columns from `split` on. 0: left only, 1:
// right only, 2: both, -1: no column.
int SideOf(const ExprRef& e, int split);

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

// Whether an expression raises an error for some row.
bool MayRaise(const std::vector<ExprRef>& exprs);

}  // namespace adjoin
