// Subqueries in expressions, and joining them to the level that reads them.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// Binds a SubLink body as a value: a scalar subquery, EXISTS, IN, ANY or ALL. Adds scalar
// subqueries to the level.
absl::StatusOr<ExprRef> BindSubqueryExpr(BindState& state, const Json& sublink,
                                         const Context& context);

// (a, b) op (SELECT x, y ...): NULL where the subquery has no row, an error where it has several.
bool IsRowBesideSubquery(const Json& left, const Json& right);
absl::StatusOr<ExprRef> BindRowSubquery(BindState& state, std::string_view name, const Json& row,
                                        const Json& sublink, const Context& context, int location);

// A conjunct of WHERE that is EXISTS (...), x IN (...) or the negation of one: a semi or anti join.
struct Membership {
  NodeRef plan;
  std::vector<ExprRef>
      conditions;  // over plan's columns; the level's expressions are placeholders; all must hold
  bool negated = false;  // kept where no row of plan makes the conditions TRUE (or, for IN, NULL)
  bool null_aware = false;  // of a negated IN: a NULL comparison drops the row
};
// Whether `conjunct` is of that form.
bool IsMembership(const Json& conjunct);
absl::StatusOr<Membership> BindMembership(BindState& state, const Json& conjunct,
                                          const Context& context);

// An expression of the level as one over the plan that has been built for it so far.
using ExprMap = std::function<absl::StatusOr<ExprRef>(const ExprRef&)>;

// Joins the subquery to `node`, whose rows it leaves as they are; its value over the new node.
// `guard` (may be null), over the node: in other rows the value is open, and no error is raised for
// them.
absl::StatusOr<ExprRef> AttachScalar(BindState& state, const Level& level, const NodeRef& plan,
                                     const ExprRef& guard, const ExprMap& to_node, NodeRef& node);
// Keeps the rows of `node` that the membership holds for.
absl::Status AttachMembership(BindState& state, const Level& level, const Membership& membership,
                              const ExprMap& to_node, NodeRef& node);

}  // namespace adjoin
