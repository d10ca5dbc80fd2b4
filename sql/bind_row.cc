#include "sql/bind_row.h"

#include <utility>

#include "engine/status.h"
#include "sql/bind_expr.h"

namespace adjoin {
namespace {

// `name` of each pair of columns, all together.
absl::StatusOr<ExprRef> OfEachPair(BindState& state, std::string_view name,
                                   std::string_view together, const std::vector<Typed>& left,
                                   const std::vector<Typed>& right, int location) {
  std::vector<ExprRef> tests;
  for (size_t i = 0; i < left.size(); ++i) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef test, ResolveTyped(state, name, {left[i], right[i]}, location));
    tests.push_back(std::move(test));
  }
  return Combine(together, tests);
}

absl::StatusOr<ExprRef> InOrder(BindState& state, std::string_view name,
                                const std::vector<Typed>& left, const std::vector<Typed>& right,
                                int location) {
  const auto test = [&](std::string_view op, size_t i) {
    return ResolveTyped(state, op, {left[i], right[i]}, location);
  };
  ADJOIN_ASSIGN_OR_RETURN(ExprRef out, test(name, left.size() - 1));
  for (size_t i = left.size() - 1; i-- > 0;) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef equal, test("=", i));
    ADJOIN_ASSIGN_OR_RETURN(ExprRef decided, test(name.substr(0, 1), i));
    out = CallNamed("and", {std::move(equal), std::move(out)}, TypeId::kBool);
    out = CallNamed("or", {std::move(decided), std::move(out)}, TypeId::kBool);
  }
  return out;
}

absl::StatusOr<ExprRef> CompareRows(BindState& state, std::string_view name,
                                    const std::vector<Typed>& left, const std::vector<Typed>& right,
                                    int location) {
  if (left.size() != right.size())
    return state.Error(sqlstate::kSyntaxError, "unequal number of entries in row expressions",
                       location);
  const bool all = name == "=" || name == "is not distinct from";
  const bool any = name == "<>" || name == "is distinct from";
  if (left.empty()) {
    if (name.starts_with("is")) return ConstantExpr(Value::Bool(all), TypeId::kBool);
    return state.Error(sqlstate::kFeatureNotSupported, "cannot compare rows of zero length",
                       location);
  }
  if (all || any) return OfEachPair(state, name, all ? "and" : "or", left, right, location);
  if (name == "<" || name == "<=" || name == ">" || name == ">=")
    return InOrder(state, name, left, right, location);
  return state.NotSupported("this comparison of rows", location);
}

}  // namespace

absl::StatusOr<Operand> BindOperand(BindState& state, const Json& node, const Context& context) {
  Operand out;
  if (const auto [tag, body] = Unwrap(node); tag == "RowExpr") {
    out.is_row = true;
    ADJOIN_ASSIGN_OR_RETURN(out.values, BindList(state, ListOf(*body, "args"), context));
    return out;
  }
  ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, node, context));
  out.values.push_back(std::move(value));
  return out;
}

absl::StatusOr<ExprRef> Compare(BindState& state, std::string_view name, const Operand& left,
                                const Operand& right, int location) {
  if (left.is_row && right.is_row)
    return CompareRows(state, name, left.values, right.values, location);
  if (left.is_row || right.is_row) return state.NotSupported("a row as a value", location);
  return ResolveTyped(state, name, {left.values[0], right.values[0]}, location);
}

ExprRef NullTest(std::vector<ExprRef> values, bool is_null) {
  if (values.empty()) return ConstantExpr(Value::Bool(true), TypeId::kBool);
  for (ExprRef& value : values)
    value = CallNamed(is_null ? "is null" : "is not null", {std::move(value)}, TypeId::kBool);
  return Combine("and", values);
}

}  // namespace adjoin
