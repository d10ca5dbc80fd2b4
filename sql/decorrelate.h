// Correlated subqueries to joins: a plan that reads columns of the query around it, evaluated for
// all of that query's rows at once (Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015,
// with the domain kept to the end).
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// The placeholders in `plan` that stand for expressions of the level, each once, in the order of
// the plan.
std::vector<int> OuterPlaceholders(const BindState& state, const NodeRef& plan, int level);
// Whether any node of `plan` reads one of them.
bool ReadsOuter(const BindState& state, const NodeRef& plan, int level);

// `plan` once for each row of `domain`, whose column i is the value of placeholder
// `placeholders[i]`. Output: domain's columns, then plan's. REQUIRES: domain's rows are distinct. A
// subquery that aggregates everything gives a row also for a domain row that nothing matches, COUNT
// being 0 there. Errors: 0A000 for derivatives inside the subquery.
absl::StatusOr<NodeRef> Decorrelate(BindState& state, const NodeRef& plan, const NodeRef& domain,
                                    const std::vector<int>& placeholders);

enum class RowCount { kAny, kAtMostOne, kOne };
// How many rows the plan gives whatever the data, for one value of the outer columns.
RowCount RowsOf(const NodeRef& plan);

}  // namespace adjoin
