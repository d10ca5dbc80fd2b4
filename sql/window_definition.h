// What windows are over: partitions, orders and frames, in OVER or the WINDOW clause.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// Binds OVER's WindowDef body. Errors: 42704 an unknown name, 42P20 a frame that makes no sense,
// 42P10 an offset that reads columns.
absl::StatusOr<WindowSpec> BindWindowDefinition(BindState& state, const Json& definition,
                                                const Context& context);

// Notes the WINDOW clause of a SELECT; 42P20 where a name is defined twice.
absl::Status NoteWindowClause(BindState& state, const Json& clause, Level& level);

// Binds one ORDER BY item's direction onto an expression.
SortKey MakeSortKey(ExprRef expr, const Json& sort_by);
bool SameOrder(const std::vector<SortKey>& a, const std::vector<SortKey>& b);
bool SameWindow(const WindowSpec& a, const WindowSpec& b);

}  // namespace adjoin
