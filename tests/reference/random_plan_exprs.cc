// The expressions of random plans; random_plan.cc has the rest.
#include <algorithm>

#include "plan/random_functions.h"
#include "plan/row_functions.h"
#include "plan/scalar_functions.h"
#include "tests/reference/random_plan.h"

namespace adjoin::reference {

ExprRef RandomPlan::Constant(TypeId type) { return ConstantExpr(RandomValue(type), type); }

RandomPlan::Term RandomPlan::Column(const Traits& traits, const std::vector<TypeId>& types,
                                    TypeId type, bool exact) {
  std::vector<int> fitting;
  for (size_t c = 0; c < types.size(); ++c) {
    if (types[c] == type && !traits[c].opaque && (traits[c].exact || !exact))
      fitting.push_back(static_cast<int>(c));
  }
  if (fitting.empty()) return {Constant(type), true};
  const int column = fitting[static_cast<size_t>(Below(static_cast<int>(fitting.size())))];
  return {ColumnExpr(column, type), traits[static_cast<size_t>(column)].exact};
}

RandomPlan::Term RandomPlan::Expression(const Traits& traits, const std::vector<TypeId>& types,
                                        TypeId type, int depth, bool exact) {
  if (depth == 0 || Chance(25))
    return Chance(12) ? Term{Constant(type), true} : Column(traits, types, type, exact);
  if (Chance(15)) {
    const Term a = Expression(traits, types, type, depth - 1, exact),
               b = Expression(traits, types, type, depth - 1, exact);
    const bool both = a.exact && b.exact;
    switch (Below(5)) {
      case 0:
        return {CaseExpr({Boolean(traits, types, depth - 1).expr, a.expr, b.expr}), both};
      case 1:
        return {CallNamed("coalesce", {a.expr, b.expr}, type), both};
      case 2:
        return both ? Term{CallNamed("nullif", {a.expr, b.expr}, type), true} : a;
      case 3:
        return both ? Term{CallNamed("greatest", {a.expr, b.expr}, type), true} : a;
      default:
        return both ? Term{CallNamed("least", {a.expr, b.expr}, type), true} : b;
    }
  }
  if (type == TypeId::kBool) return Boolean(traits, types, depth);
  if (type == TypeId::kText) return Textual(traits, types, depth);
  return Numeric(traits, types, type, depth, exact);
}

// Of a small key, at any index.
ExprRef RandomPlan::Draw(const Traits& traits, const std::vector<TypeId>& types,
                         const ExprRef& scale, int depth) {
  const ExprRef key = ConstantExpr(Value::Int(Below(3)), TypeId::kInt64);
  const ExprRef index = Expression(traits, types, TypeId::kInt64, depth - 1, true).expr;
  if (Chance(50)) return ResolveRandom("random_normal", {key, index, scale});
  return ResolveRandom("random_uniform", {key, index, FloatConst(-1, scale->type), scale});
}

RandomPlan::Term RandomPlan::Numeric(const Traits& traits, const std::vector<TypeId>& types,
                                     TypeId type, int depth, bool exact) {
  const Term a = Expression(traits, types, type, depth - 1, exact);
  if (Chance(15)) {
    const TypeId from =
        IsFloat(type) ? (Chance(50) ? TypeId::kInt32 : TypeId::kInt64) : TypeId::kInt16;
    const Term b = Expression(traits, types, from, depth - 1, exact);
    return {CastTo(b.expr, type), b.exact};
  }
  if (IsFloat(type) && !exact && Chance(35)) {
    static const char* functions[] = {"exp", "tanh", "sqrt", "ln", "sin", "cos", "atan", "cbrt"};
    // Of exact arguments only, so that rounding is not amplified.
    if (!a.exact) return a;
    const int function = Below(9);
    if (function == 8) return {Draw(traits, types, a.expr, depth), false};
    return {CallNamed(functions[function], {a.expr}, type), false};
  }
  if (Chance(20)) {
    // The first two are continuous.
    static const char* unary[] = {"neg", "abs", "sign", "floor", "ceil", "round", "trunc"};
    return {CallNamed(unary[Below(!a.exact ? 2 : IsFloat(type) ? 7 : 3)], {a.expr}, type), a.exact};
  }
  const Term b = Expression(traits, types, type, depth - 1, exact);
  const bool shallow = a.expr->kind != ExprKind::kCall && b.expr->kind != ExprKind::kCall;
  switch (Below(5)) {
    case 0:
    case 1:
      return {CallNamed("+", {a.expr, b.expr}, type), a.exact && b.exact};
    case 2:
      return {CallNamed("-", {a.expr, b.expr}, type), a.exact && b.exact};
    case 3:
      // A product of products may need more bits than there are.
      if (exact && !shallow && IsFloat(type)) return a;
      return {CallNamed("*", {a.expr, b.expr}, type),
              a.exact && b.exact && (shallow || IsInteger(type))};
    default:
      if (IsInteger(type)) return {CallNamed("/", {a.expr, b.expr}, type), a.exact && b.exact};
      if (exact) return a;
      // The sign of a computed zero is nobody's promise, so only constants may be zero divisors.
      if (b.expr->kind == ExprKind::kConstant)
        return {CallNamed("/", {a.expr, b.expr}, type), false};
      return {Div(a.expr, adjoin::Add(CallNamed("abs", {b.expr}, type), FloatConst(0.5, type))),
              false};
  }
}

namespace {
ExprRef CallRows(std::string_view name, std::vector<ExprRef> args) {
  const std::vector<std::optional<TypeId>> texts(args.size(), TypeId::kText);
  return CallRowFunction(FindRowFunction(name, texts), std::move(args));
}
}  // namespace

RandomPlan::Term RandomPlan::Textual(const Traits& traits, const std::vector<TypeId>& types,
                                     int depth) {
  const Term a = Expression(traits, types, TypeId::kText, depth - 1, true);
  if (Chance(30)) {
    const Term b = Expression(traits, types, TypeId::kInt64, depth - 1, true);
    return {CastTo(b.expr, TypeId::kText), true};
  }
  if (Chance(50)) return {CallRows(Chance(50) ? "lower" : "upper", {a.expr}), true};
  const Term b = Expression(traits, types, TypeId::kText, depth - 1, true);
  return {CallRows("||", {a.expr, b.expr}), true};
}

RandomPlan::Term RandomPlan::Boolean(const Traits& traits, const std::vector<TypeId>& types,
                                     int depth) {
  const int below = std::max(0, depth - 1);
  if (depth > 0 && Chance(35)) {
    const Term a = Boolean(traits, types, below), b = Boolean(traits, types, below);
    if (Chance(25)) return {CallNamed("not", {a.expr}, TypeId::kBool), true};
    return {CallNamed(Chance(50) ? "and" : "or", {a.expr, b.expr}, TypeId::kBool), true};
  }
  const TypeId type = AnyType();
  const Term a = Expression(traits, types, type, below, true),
             b = Expression(traits, types, type, below, true);
  if (Chance(15))
    return {CallNamed(Chance(50) ? "is null" : "is not null", {a.expr}, TypeId::kBool), true};
  static const char* comparisons[] = {"=", "<>", "<", "<=", "is distinct from"};
  return {CallNamed(comparisons[Below(5)], {a.expr, b.expr}, TypeId::kBool), true};
}

ExprRef RandomPlan::Predicate(const Traits& traits, const std::vector<TypeId>& types) {
  return Boolean(traits, types, 2).expr;
}

ExprRef RandomPlan::Key(const RandomNode& n) {
  std::vector<int> exact;
  for (size_t c = 0; c < n.traits.size(); ++c) {
    if (n.traits[c].exact) exact.push_back(static_cast<int>(c));
  }
  if (exact.empty()) return ConstantExpr(Value::Int(1), TypeId::kInt64);
  const int column = exact[static_cast<size_t>(Below(static_cast<int>(exact.size())))];
  return ColumnExpr(column, n.node->types[static_cast<size_t>(column)]);
}

std::vector<JoinKey> RandomPlan::Keys(const RandomNode& left, const RandomNode& right,
                                      int at_most) {
  std::vector<JoinKey> keys;
  for (int tries = 0; tries < 8 && static_cast<int>(keys.size()) < at_most; ++tries) {
    const ExprRef l = Key(left), r = Key(right);
    const bool opaque =
        (l->kind == ExprKind::kColumn && left.traits[static_cast<size_t>(l->index)].opaque) ||
        (r->kind == ExprKind::kColumn && right.traits[static_cast<size_t>(r->index)].opaque);
    if (IsFloat(l->type) && !float_keys_) continue;
    if (l->type == r->type && !opaque) keys.push_back({l, r, Chance(25)});
  }
  return keys;
}

std::vector<SortKey> RandomPlan::Order(const RandomNode& n) {
  std::vector<SortKey> order;
  for (int k = 1 + Below(2); k > 0; --k) order.push_back({Key(n), Chance(40), Chance(40)});
  return order;
}

}  // namespace adjoin::reference
