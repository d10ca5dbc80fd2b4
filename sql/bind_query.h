// SELECT, VALUES, set operations and WITH.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// Where a query stands.
struct QueryContext {
  Level* outer = nullptr;         // whose columns it may read
  const Level* around = nullptr;  // of a subquery in FROM
  const CteScope* ctes = nullptr;
  // Types for output columns that are constants without one ('x', NULL), TEXT where there is none,
  // or literals with a point.
  std::vector<std::optional<TypeId>> wanted;
  bool with_is_bound = false;  // its WITH clause is in `ctes` already
  std::optional<TypeId> WantedAt(size_t column) const {
    return column < wanted.size() ? wanted[column] : std::nullopt;
  }
};

// Binds a {"SelectStmt": ...}.
absl::StatusOr<Query> BindQuery(BindState& state, const Json& select, const QueryContext& context);
// Binds its body, as set operations nest it without the tag.
absl::StatusOr<Query> BindSelectBody(BindState& state, const Json& body,
                                     const QueryContext& context);

// Binds the items of a WITH clause in order. Data-modifying ones, allowed at the top level alone,
// go to `modifying`; pass null below it.
absl::StatusOr<std::unique_ptr<CteScope>> BindWith(BindState& state, const Json& with,
                                                   const QueryContext& context,
                                                   std::vector<Statement::Output>* modifying);

// LIMIT and OFFSET of a SelectStmt body, where there are any. `order`: what `node` is sorted by.
absl::StatusOr<NodeRef> ApplyLimit(BindState& state, const Json& body, NodeRef node,
                                   const std::vector<SortKey>& order, const CteScope* ctes);

NodeRef MakeDistinct(Planner& planner, NodeRef node);
// The node with a last column that numbers its rows, from 1, in `order` within those with equal
// `keys`; and the node without its last column.
NodeRef NumberRows(Planner& planner, const NodeRef& node, std::vector<ExprRef> keys,
                   const std::vector<SortKey>& order);
NodeRef DropLast(Planner& planner, const NodeRef& node);

// A projection, unless it would change nothing.
NodeRef MakeProject(Planner& planner, std::vector<ExprRef> exprs, NodeRef input,
                    std::vector<std::string> names);

}  // namespace adjoin
