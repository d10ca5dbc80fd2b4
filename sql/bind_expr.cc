#include "sql/bind_expr.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "plan/row_functions.h"
#include "sql/bind_call.h"
#include "sql/bind_clock.h"
#include "sql/bind_groups.h"
#include "sql/bind_operator.h"
#include "sql/bind_row.h"
#include "sql/bind_subquery.h"
#include "sql/resolve_name.h"
#include "sql/type_names.h"

namespace adjoin {
namespace {

absl::StatusOr<Typed> BindConstant(BindState& state, const Json& body) {
  const int location = LocationOf(body);
  if (FlagOf(body, "isnull")) return Typed{NullExpr(TypeId::kText), true, location};
  if (Has(body, "sval")) {
    return Typed{ConstantExpr(Value::Text(TextOf(FieldOf(body, "sval"), "sval")), TypeId::kText),
                 true, location};
  }
  if (Has(body, "boolval")) {
    return Typed{
        ConstantExpr(Value::Bool(FlagOf(FieldOf(body, "boolval"), "boolval")), TypeId::kBool),
        false, location};
  }
  if (Has(body, "fval")) {
    const std::string text = TextOf(FieldOf(body, "fval"), "fval");
    int64_t integer;
    if (absl::SimpleAtoi(text, &integer)) {  // beyond INTEGER, but for its least value
      const bool is_least = integer == std::numeric_limits<int32_t>::min();
      return Typed{ConstantExpr(Value::Int(integer), is_least ? TypeId::kInt32 : TypeId::kInt64),
                   false, location};
    }
    double value = 0;
    static_cast<void>(absl::SimpleAtod(text, &value));
    const ExprRef literal = ConstantExpr(Value::Float(value), TypeId::kFloat64);
    if (const absl::StatusOr<Decimal> exact = ParseDecimal(text); exact.ok())
      state.NoteExact(literal, ConstantExpr(Value::Of(*exact), TypeId::kDecimal));
    return Typed{literal, false, location};
  }
  if (Has(body, "bsval"))
    return SqlError(sqlstate::kFeatureNotSupported, "a bit string is not supported");
  return Typed{ConstantExpr(Value::Int(NumberOf(FieldOf(body, "ival"), "ival")), TypeId::kInt32),
               false, location};
}

absl::StatusOr<Typed> BindParameter(BindState& state, const Json& body) {
  const int number = static_cast<int>(NumberOf(body, "number"));
  const int location = LocationOf(body);
  if (number < 1 || number > std::numeric_limits<uint16_t>::max()) {
    return state.Error(sqlstate::kUndefinedParameter,
                       absl::StrCat("there is no parameter $", number), location);
  }
  state.UseParameter(number - 1, location);
  const std::optional<TypeId> type = state.parameter_type(number - 1);
  return Typed{ParameterExpr(number - 1, type.value_or(TypeId::kText)), !type.has_value(),
               location};
}

absl::StatusOr<ExprRef> BindLogic(BindState& state, const Json& body, const Context& context) {
  const std::string op = TextOf(body, "boolop");
  const std::string_view construct = op == "AND_EXPR" ? "AND" : op == "OR_EXPR" ? "OR" : "NOT";
  std::vector<ExprRef> args;
  const Branch branch{context.branch,
                      construct == "AND" ? Branch::Open::kNotFalse : Branch::Open::kNotTrue, args};
  Context inner = context;
  if (construct != "NOT") inner.branch = &branch;
  for (const Json& arg : ListOf(body, "args")) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef condition, BindCondition(state, arg, inner, construct));
    args.push_back(std::move(condition));
  }
  if (construct == "NOT") return CallNamed("not", std::move(args), TypeId::kBool);
  return Combine(construct == "AND" ? "and" : "or", args);
}

absl::StatusOr<ExprRef> BindNullTest(BindState& state, const Json& body, const Context& context) {
  ADJOIN_ASSIGN_OR_RETURN(const Operand arg, BindOperand(state, FieldOf(body, "arg"), context));
  std::vector<ExprRef> values;
  for (const Typed& value : arg.values) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef settled, Settle(state, value));
    values.push_back(std::move(settled));
  }
  return NullTest(std::move(values), TextOf(body, "nulltesttype") == "IS_NULL");
}

// x IS TRUE and the like, which are never NULL.
absl::StatusOr<ExprRef> BindBooleanTest(BindState& state, const Json& body,
                                        const Context& context) {
  const std::string test = TextOf(body, "booltesttype");
  std::string construct = test;
  std::replace(construct.begin(), construct.end(), '_', ' ');
  ADJOIN_ASSIGN_OR_RETURN(ExprRef value,
                          BindCondition(state, FieldOf(body, "arg"), context, construct));
  if (test == "IS_UNKNOWN") return CallNamed("is null", {std::move(value)}, TypeId::kBool);
  if (test == "IS_NOT_UNKNOWN") return CallNamed("is not null", {std::move(value)}, TypeId::kBool);
  const ExprRef wanted = ConstantExpr(Value::Bool(test.ends_with("TRUE")), TypeId::kBool);
  ExprRef differs = CallNamed("is distinct from", {std::move(value), wanted}, TypeId::kBool);
  if (test.starts_with("IS_NOT")) return differs;
  return CallNamed("not", {std::move(differs)}, TypeId::kBool);
}

// What a literal, or arithmetic of literals, is as it is written: no double. Null for anything
// else.
ExprRef AsWritten(const BindState& state, const ExprRef& expr) {
  if (ExprRef exact = state.ExactOf(expr)) return exact;
  const bool integer = expr->kind == ExprKind::kConstant && IsInteger(expr->type);
  return integer || (IsNullConstant(*expr) && !IsFloat(expr->type)) ? expr : nullptr;
}

// The call on literals as they are written; null where others take part, or none of them is a
// NUMERIC.
ExprRef ExactCall(const BindState& state, std::string_view name, std::vector<ExprRef> args) {
  bool any = false;
  for (ExprRef& arg : args) {
    arg = AsWritten(state, arg);
    if (arg == nullptr) return nullptr;
    any |= arg->type == TypeId::kDecimal;
  }
  if (!any) return nullptr;
  absl::StatusOr<ExprRef> call = ResolveCall(name, std::move(args));
  return call.ok() ? *std::move(call) : nullptr;
}

// A call that gives one of `values`, each but an ELSE after its condition where there are any, in
// their common type; errors about that come in the order of `compared`. Of literals alone it is one
// too.
absl::StatusOr<ExprRef> Select(BindState& state, std::string_view name, std::string_view construct,
                               const std::vector<ExprRef>& conditions,
                               const std::vector<Typed>& values, const std::vector<Typed>& compared,
                               int location) {
  ADJOIN_ASSIGN_OR_RETURN(const CommonTyping common, CommonTypeOf(state, compared, construct));
  std::vector<ExprRef> args, written;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i < conditions.size()) args.push_back(conditions[i]), written.push_back(conditions[i]);
    ExprRef value = values[i].expr;
    written.push_back(AsWritten(state, value));
    // Under weak promotion what a literal beside REAL is is found by the call.
    const bool weak = state.options.weak_real && IsFloat(common.type);
    if (values[i].unknown || !weak) {
      ADJOIN_ASSIGN_OR_RETURN(value, Coerce(state, values[i], common.type));
    }
    args.push_back(std::move(value));
  }
  ADJOIN_ASSIGN_OR_RETURN(ExprRef out,
                          state.At(ResolveCall(name, args, state.options.weak_real), location));
  const bool all_written = std::ranges::find(written, nullptr) == written.end();
  if (common.written && all_written) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef exact, ResolveCall(name, std::move(written)));
    state.NoteExact(out, std::move(exact));
  }
  return out;
}

// CASE x WHEN v ... tests x = v; CASE WHEN c ... tests c.
absl::StatusOr<ExprRef> BindCase(BindState& state, const Json& body, const Context& context) {
  std::optional<Typed> subject;
  if (Has(body, "arg")) {
    ADJOIN_ASSIGN_OR_RETURN(subject, BindExpr(state, FieldOf(body, "arg"), context));
  }
  std::vector<ExprRef> conditions;
  std::vector<Typed> values;
  const Branch untaken{context.branch, Branch::Open::kNotTrue, conditions};
  const Branch taken{context.branch, Branch::Open::kNotTrue, conditions, /*last_holds=*/true};
  Context in_condition = context, in_value = context;
  in_condition.branch = &untaken;
  in_value.branch = &taken;
  for (const Json& item : ListOf(body, "args")) {
    const Json& when = FieldOf(item, "CaseWhen");
    if (subject.has_value()) {
      ADJOIN_ASSIGN_OR_RETURN(const Typed value,
                              BindExpr(state, FieldOf(when, "expr"), in_condition));
      ADJOIN_ASSIGN_OR_RETURN(ExprRef test,
                              ResolveTyped(state, "=", {*subject, value}, LocationOf(when)));
      conditions.push_back(std::move(test));
    } else {
      ADJOIN_ASSIGN_OR_RETURN(
          ExprRef test, BindCondition(state, FieldOf(when, "expr"), in_condition, "CASE/WHEN"));
      conditions.push_back(std::move(test));
    }
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, FieldOf(when, "result"), in_value));
    values.push_back(std::move(value));
  }
  if (Has(body, "defresult")) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, FieldOf(body, "defresult"), in_condition));
    values.push_back(std::move(value));
  }
  std::vector<Typed> else_first = values;  // the order in which PostgreSQL compares them
  if (Has(body, "defresult"))
    std::rotate(else_first.begin(), else_first.end() - 1, else_first.end());
  return Select(state, "case", "CASE", conditions, values, else_first, LocationOf(body));
}

// COALESCE, GREATEST, LEAST.
absl::StatusOr<ExprRef> BindSelecting(BindState& state, std::string_view name,
                                      std::string_view construct, const Json& body,
                                      const Context& context) {
  std::vector<Typed> values;
  std::vector<ExprRef> before;
  const Branch branch{context.branch, Branch::Open::kNull, before};
  Context inner = context;
  if (name == "coalesce") inner.branch = &branch;
  for (const Json& arg : ListOf(body, "args")) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, arg, inner));
    before.push_back(value.expr);
    values.push_back(std::move(value));
  }
  return Select(state, name, construct, {}, values, values, LocationOf(body));
}

// INTERVAL '1' YEAR: the fields say what the text means.
absl::StatusOr<ExprRef> BindIntervalWithFields(BindState& state, const Typed& value,
                                               const Json& type_name) {
  const std::optional<IntervalFields> fields = IntervalFieldsOf(type_name);
  const bool literal =
      value.unknown && value.expr->kind == ExprKind::kConstant && !value.expr->constant.is_null();
  if (!fields.has_value() || !literal)
    return state.NotSupported("an interval with a precision or fields that is no literal",
                              LocationOf(type_name));
  absl::StatusOr<Interval> interval = ParseInterval(value.expr->constant.as_text(), fields);
  if (!interval.ok()) return state.At(interval.status(), value.location);
  return ConstantExpr(Value::Of(*interval), TypeId::kInterval);
}

absl::StatusOr<ExprRef> BindCast(BindState& state, const Json& body, const Context& context) {
  ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state, FieldOf(body, "arg"), context));
  const Json& type_name = FieldOf(body, "typeName");
  if (LastName(ListOf(type_name, "names")) == "interval" && !ListOf(type_name, "typmods").empty())
    return BindIntervalWithFields(state, value, type_name);
  absl::StatusOr<TypeId> type = TypeNamed(FieldOf(body, "typeName"), state.options.text);
  if (!type.ok()) {
    if (!state.in_view()) return type.status();
    return state.Error(SqlStateOf(type.status()), ToStd(type.status().message()));
  }
  ADJOIN_ASSIGN_OR_RETURN(const NumericModifier modifier,
                          ModifierOf(type_name, state.options.text));
  const int location = LocationOf(body) >= 0 ? LocationOf(body) : LocationOf(type_name);
  ADJOIN_ASSIGN_OR_RETURN(ExprRef cast, value.unknown ? Coerce(state, value, *type)
                                                      : CastAt(state, value, *type, location));
  // Cast to what it was, a literal is no longer what is written.
  if (state.ExactOf(cast) != nullptr) return std::make_shared<const Expr>(*cast);
  return WithModifier(std::move(cast), modifier);
}

// Literals with a point beside a NUMERIC, as they are written.
void MatchNumerics(const BindState& state, std::vector<Typed>& args) {
  const bool any = std::ranges::any_of(
      args, [](const Typed& arg) { return !arg.unknown && arg.expr->type == TypeId::kDecimal; });
  for (Typed& arg : args) {
    if (const ExprRef exact = any ? state.ExactOf(arg.expr) : nullptr) arg.expr = exact;
  }
}

absl::StatusOr<ExprRef> BindOther(BindState& state, std::string_view tag, const Json& body,
                                  const Context& context) {
  const int location = LocationOf(body);
  if (tag == "A_Expr") return BindOperator(state, body, context);
  if (tag == "BoolExpr") return BindLogic(state, body, context);
  if (tag == "NullTest") return BindNullTest(state, body, context);
  if (tag == "BooleanTest") return BindBooleanTest(state, body, context);
  if (tag == "CaseExpr") return BindCase(state, body, context);
  if (tag == "CoalesceExpr") return BindSelecting(state, "coalesce", "COALESCE", body, context);
  if (tag == "MinMaxExpr") {
    const bool greatest = TextOf(body, "op") == "IS_GREATEST";
    return BindSelecting(state, greatest ? "greatest" : "least", greatest ? "GREATEST" : "LEAST",
                         body, context);
  }
  if (tag == "TypeCast") return BindCast(state, body, context);
  if (tag == "FuncCall") return BindCall(state, body, context);
  if (tag == "SubLink") return BindSubqueryExpr(state, body, context);
  if (tag == "SetToDefault") {
    return state.Error(sqlstate::kSyntaxError, "DEFAULT is not allowed in this context", location);
  }
  if (tag == "A_ArrayExpr") return state.NotSupported("an array", location);
  if (tag == "A_Indirection") return state.NotSupported("subscripting", location);
  if (tag == "RowExpr") return state.NotSupported("a row as a value", location);
  if (tag == "CollateClause") return state.NotSupported("COLLATE", location);
  if (tag == "GroupingFunc") return BindGrouping(state, body, context);
  if (tag == "SQLValueFunction") return BindClockKeyword(state, body);
  return state.NotSupported(tag, location);
}

}  // namespace

absl::StatusOr<std::vector<Typed>> BindList(BindState& state, const Json& list,
                                            const Context& context) {
  std::vector<Typed> out;
  for (const Json& item : list) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, item, context));
    out.push_back(std::move(value));
  }
  return out;
}

absl::StatusOr<Typed> BindExpr(BindState& state, const Json& node, const Context& context) {
  const BindState::Nesting nesting(state);
  ADJOIN_RETURN_IF_ERROR(nesting.Check());
  const auto [tag, body] = Unwrap(node);
  if (tag == "A_Const") return state.At(BindConstant(state, *body), LocationOf(*body));
  if (tag == "ColumnRef") return ResolveColumn(state, *body, context);
  if (tag == "ParamRef") return BindParameter(state, *body);
  ADJOIN_ASSIGN_OR_RETURN(ExprRef expr, BindOther(state, tag, *body, context));
  return Typed{std::move(expr), false, state.StartOfBound(node)};
}

absl::StatusOr<ExprRef> BindCondition(BindState& state, const Json& node, const Context& context,
                                      std::string_view construct) {
  ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state, node, context));
  return Condition(state, value, construct);
}

absl::StatusOr<ExprRef> ResolveTyped(BindState& state, std::string_view name,
                                     std::vector<Typed> args, int location) {
  MatchNumerics(state, args);
  std::optional<TypeId> known;
  for (const Typed& arg : args) {
    // What is open beside || is TEXT, which takes anything on its other side.
    if (!arg.unknown && !known.has_value() && name != "||") known = arg.expr->type;
  }
  std::vector<std::optional<TypeId>> types;
  for (const Typed& arg : args)
    types.push_back(arg.unknown ? std::nullopt : std::optional<TypeId>(arg.expr->type));
  const ScalarFunction* rows = FindRowFunction(name, types);
  const bool is_match = name == "~" && args.size() == 2;  // beside the operator of bits
  const bool textual = name == "||" || is_match || IsTextSpelling(name) ||
                       (IsRowFunction(name) && FindFunction(name) == nullptr);
  if (textual) known = TypeId::kText;
  std::vector<ExprRef> exprs;
  for (size_t i = 0; i < args.size(); ++i) {
    ExprRef expr = args[i].expr;
    if (args[i].unknown) {
      const TypeId type = rows != nullptr ? rows->rows->args[i] : known.value_or(TypeId::kText);
      ADJOIN_ASSIGN_OR_RETURN(expr, Coerce(state, args[i], type));
    }
    exprs.push_back(std::move(expr));
  }
  const ExprRef exact = ExactCall(state, name, exprs);
  absl::StatusOr<ExprRef> call = ResolveCall(name, std::move(exprs), state.options.weak_real);
  // round(2.5, 1): of NUMERIC alone.
  if (!call.ok()) return exact != nullptr ? exact : state.At(std::move(call), location);
  const bool is_number = exact != nullptr && exact->type == TypeId::kDecimal;
  if (is_number && (*call)->type == TypeId::kFloat64) state.NoteExact(*call, exact);
  return call;
}

absl::StatusOr<CommonTyping> CommonTypeOf(BindState& state, const std::vector<Typed>& values,
                                          std::string_view construct) {
  CommonTyping out{TypeId::kText};
  std::vector<TypeId> types;
  bool any_written = false, any_numeric = false;
  for (const Typed& value : values) {
    if (value.unknown) continue;
    const bool written = state.ExactOf(value.expr) != nullptr;
    any_written |= written;
    any_numeric |= value.expr->type == TypeId::kDecimal;
    const TypeId type = written ? TypeId::kDecimal : value.expr->type;
    if (std::ranges::find(types, type) != types.end()) continue;  // 100,000 rows of VALUES
    types.push_back(type);
    ADJOIN_ASSIGN_OR_RETURN(out.type, state.At(CommonType(types, construct), value.location));
  }
  out.open = types.empty();
  out.written = any_written && !any_numeric && out.type == TypeId::kDecimal;
  if (out.written) out.type = TypeId::kFloat64;
  return out;
}

bool TakesType(bool open, bool written, std::optional<TypeId> wanted) {
  return wanted.has_value() &&
         (open || (written && (*wanted == TypeId::kDecimal || *wanted == TypeId::kFloat32)));
}

ExprRef Combine(std::string_view name, const std::vector<ExprRef>& conditions) {
  constexpr size_t kMostInOneChain = 16;
  std::vector<ExprRef> level = conditions;
  while (level.size() > kMostInOneChain) {
    std::vector<ExprRef> next;
    for (size_t i = 0; i < level.size(); i += 2) {
      next.push_back(i + 1 < level.size() ? CallNamed(name, {level[i], level[i + 1]}, TypeId::kBool)
                                          : level[i]);
    }
    level = std::move(next);
  }
  ExprRef out = level[0];
  for (size_t i = 1; i < level.size(); ++i) out = CallNamed(name, {out, level[i]}, TypeId::kBool);
  return out;
}

std::string_view ClauseName(Clause clause) {
  switch (clause) {
    case Clause::kSelect:
      return "SELECT";
    case Clause::kWhere:
      return "WHERE";
    case Clause::kGroupBy:
      return "GROUP BY";
    case Clause::kHaving:
      return "HAVING";
    case Clause::kOrderBy:
      return "ORDER BY";
    case Clause::kJoin:
      return "JOIN conditions";
    case Clause::kValues:
      return "VALUES";
    case Clause::kLimit:
      return "LIMIT";
    case Clause::kFromFunction:
      return "functions in FROM";
    case Clause::kUpdate:
      return "UPDATE";
    case Clause::kFilter:
      return "FILTER";
    case Clause::kWindowDefinition:
      return "window definitions";
    case Clause::kWindowRows:
      return "window ROWS";
    case Clause::kWindowRange:
      return "window RANGE";
    case Clause::kWindowGroups:
      return "window GROUPS";
    case Clause::kConstants:
      return "EXECUTE parameters";
  }
  return "";
}

}  // namespace adjoin
