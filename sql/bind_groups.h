// GROUP BY with its grouping sets.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// Every key once, and the sets of them (by number) that rows are grouped by. A plain GROUP BY is
// one set of all keys.
struct GroupClause {
  std::vector<ExprRef> keys;
  std::vector<std::vector<int>> sets;
};

using KeyBinder = std::function<absl::StatusOr<ExprRef>(const Json& item)>;

// Binds a groupClause. `distinct`: of equal sets one. Errors: 54011 and 54001 where there would be
// too many sets.
absl::StatusOr<GroupClause> BindGroupClause(BindState& state, const Json& clause, bool distinct,
                                            const KeyBinder& bind_key);

// Binds a GroupingFunc body: its placeholder, whose value the level's groups give.
absl::StatusOr<ExprRef> BindGrouping(BindState& state, const Json& body, const Context& context);

}  // namespace adjoin
