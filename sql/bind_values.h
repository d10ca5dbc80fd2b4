// VALUES lists.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "sql/bind_query.h"

namespace adjoin {

// Binds a SelectStmt body with VALUES lists: columns column1, column2, ...
absl::StatusOr<Query> BindValues(BindState& state, const Json& body, const QueryContext& context);

// The cells of a VALUES body, row by row, over `level`. DEFAULT, where allowed (INSERT), is NULL.
// 42601 where the lists have different lengths.
absl::StatusOr<std::vector<std::vector<Typed>>> BindValuesLists(BindState& state, const Json& body,
                                                                Level& level, bool allow_default);
// Rows of expressions without columns (they may hold the level's subqueries), all of these types,
// as a relation.
absl::StatusOr<NodeRef> MakeValues(BindState& state, Level& level,
                                   std::vector<std::vector<ExprRef>> rows,
                                   std::vector<TypeId> types);

}  // namespace adjoin
