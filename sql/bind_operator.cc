#include "sql/bind_operator.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "plan/row_functions.h"
#include "sql/bind_expr.h"
#include "sql/bind_row.h"
#include "sql/bind_subquery.h"

namespace adjoin {
namespace {

absl::StatusOr<ExprRef> BindBetween(BindState& state, const Json& body, const Context& context,
                                    std::string_view kind) {
  const int location = LocationOf(body);
  const Json& bounds = ListOf(FieldOf(FieldOf(body, "rexpr"), "List"), "items");
  ADJOIN_ASSIGN_OR_RETURN(const Operand value, BindOperand(state, FieldOf(body, "lexpr"), context));
  ADJOIN_ASSIGN_OR_RETURN(const Operand low, BindOperand(state, bounds.at(0), context));
  ADJOIN_ASSIGN_OR_RETURN(const Operand high, BindOperand(state, bounds.at(1), context));
  const auto between = [&](const Operand& a, const Operand& b) -> absl::StatusOr<ExprRef> {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef above, Compare(state, ">=", value, a, location));
    ADJOIN_ASSIGN_OR_RETURN(ExprRef below, Compare(state, "<=", value, b, location));
    return CallNamed("and", {std::move(above), std::move(below)}, TypeId::kBool);
  };
  const bool negated = kind.starts_with("AEXPR_NOT");
  if (negated && kind == "AEXPR_NOT_BETWEEN") {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef below, Compare(state, "<", value, low, location));
    ADJOIN_ASSIGN_OR_RETURN(ExprRef above, Compare(state, ">", value, high, location));
    return CallNamed("or", {std::move(below), std::move(above)}, TypeId::kBool);
  }
  ADJOIN_ASSIGN_OR_RETURN(ExprRef out, between(low, high));
  if (kind.ends_with("_SYM")) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef swapped, between(high, low));
    out = CallNamed("or", {std::move(out), std::move(swapped)}, TypeId::kBool);
  }
  return negated ? CallNamed("not", {std::move(out)}, TypeId::kBool) : out;
}

absl::StatusOr<ExprRef> BindInList(BindState& state, const Json& body, const Context& context) {
  const int location = LocationOf(body);
  const bool negated = LastName(ListOf(body, "name")) == "<>";
  ADJOIN_ASSIGN_OR_RETURN(const Operand value, BindOperand(state, FieldOf(body, "lexpr"), context));
  std::vector<ExprRef> tests;
  for (const Json& node : ListOf(FieldOf(FieldOf(body, "rexpr"), "List"), "items")) {
    ADJOIN_ASSIGN_OR_RETURN(const Operand item, BindOperand(state, node, context));
    ADJOIN_ASSIGN_OR_RETURN(ExprRef test,
                            Compare(state, negated ? "<>" : "=", value, item, location));
    tests.push_back(std::move(test));
  }
  return Combine(negated ? "and" : "or", tests);
}

absl::StatusOr<ExprRef> BindInfix(BindState& state, std::string_view name, const Json& body,
                                  const Context& context) {
  const Json& left = FieldOf(body, "lexpr");
  const Json& right = FieldOf(body, "rexpr");
  const int location = LocationOf(body);
  if (left.is_null()) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, right, context));
    return ResolveTyped(state, name, {std::move(value)}, location);
  }
  if (IsRowBesideSubquery(left, right))
    return BindRowSubquery(state, name, left, *Unwrap(right).body, context, location);
  ADJOIN_ASSIGN_OR_RETURN(const Operand a, BindOperand(state, left, context));
  ADJOIN_ASSIGN_OR_RETURN(const Operand b, BindOperand(state, right, context));
  return Compare(state, name, a, b, location);
}

// ~~ and ~~*, or their negations with ! before them.
absl::StatusOr<ExprRef> BindLike(BindState& state, std::string_view name, const Json& body,
                                 const Context& context) {
  if (!name.starts_with('!')) return BindInfix(state, name, body, context);
  ADJOIN_ASSIGN_OR_RETURN(ExprRef matches, BindInfix(state, name.substr(1), body, context));
  return CallNamed("not", {std::move(matches)}, TypeId::kBool);
}

// NULLIF compares with =, so that is what does not exist where the types do not mix. PostgreSQL has
// an = for each pair of integer types, of float types and of DATE and TIMESTAMP: the value keeps
// its type beside such a one, and beside an integer where it is a float.
absl::StatusOr<ExprRef> BindNullIf(BindState& state, const Json& body, const Context& context) {
  const int location = LocationOf(body);
  ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state, FieldOf(body, "lexpr"), context));
  ADJOIN_ASSIGN_OR_RETURN(const Typed other, BindExpr(state, FieldOf(body, "rexpr"), context));
  ADJOIN_RETURN_IF_ERROR(ResolveTyped(state, "=", {value, other}, location).status());
  ADJOIN_ASSIGN_OR_RETURN(ExprRef out, ResolveTyped(state, "nullif", {value, other}, location));
  if (value.unknown) return out;
  const TypeId type = value.expr->type;
  const bool keeps = IsFloat(type) || (IsInteger(type) && IsInteger(out->type)) ||
                     TemporalType(type, out->type).has_value();
  return keeps ? CastTo(out, type) : out;
}

}  // namespace

absl::StatusOr<ExprRef> BindOperator(BindState& state, const Json& body, const Context& context) {
  const std::string kind = TextOf(body, "kind");
  const std::string name = LastName(ListOf(body, "name"));
  const int location = LocationOf(body);
  const bool like = name == "!~~" || name == "!~~*";
  if (kind == "AEXPR_OP" && !like) return BindInfix(state, name, body, context);
  if (kind == "AEXPR_DISTINCT") return BindInfix(state, "is distinct from", body, context);
  if (kind == "AEXPR_NOT_DISTINCT") return BindInfix(state, "is not distinct from", body, context);
  if (kind == "AEXPR_NULLIF") return BindNullIf(state, body, context);
  if (kind == "AEXPR_IN") return BindInList(state, body, context);
  if (kind.find("BETWEEN") != std::string::npos) return BindBetween(state, body, context, kind);
  if (like || kind == "AEXPR_LIKE" || kind == "AEXPR_ILIKE")
    return BindLike(state, name, body, context);
  if (kind == "AEXPR_SIMILAR") return BindInfix(state, name, body, context);
  return state.NotSupported("ANY or ALL of an array", location);
}

}  // namespace adjoin
