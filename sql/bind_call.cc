#include "sql/bind_call.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/bind_expr.h"
#include "sql/bind_gradient.h"
#include "sql/bind_window.h"

namespace adjoin {
namespace {

struct NamedAggregate {
  std::string_view name;
  AggregateFunction function;
};
constexpr NamedAggregate kAggregates[] = {
    {"count", AggregateFunction::kCount},    {"sum", AggregateFunction::kSum},
    {"avg", AggregateFunction::kAvg},        {"min", AggregateFunction::kMin},
    {"max", AggregateFunction::kMax},        {"bool_and", AggregateFunction::kBoolAnd},
    {"bool_or", AggregateFunction::kBoolOr}, {"every", AggregateFunction::kBoolAnd},
};

// Functions that PostgreSQL has and the engine lacks; any other unknown name does not exist.
constexpr std::string_view kLacking[] = {
    "array_agg",
    "string_agg",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "variance",
    "var_pop",
    "var_samp",
    "corr",
    "covar_pop",
    "covar_samp",
    "regr_slope",
    "regr_intercept",
    "percentile_cont",
    "percentile_disc",
    "mode",
    "bit_and",
    "bit_or",
    "bit_xor",
    "json_agg",
    "jsonb_agg",
    "ntile",
    "percent_rank",
    "cume_dist",
    "nth_value",
    "random",
    "setseed",
    "now",
    "clock_timestamp",
    "statement_timestamp",
    "date_trunc",
    "date_part",
    "extract",
    "age",
    "substring",
    "substr",
    "position",
    "overlay",
    "btrim",
    "ltrim",
    "rtrim",
    "trim",
    "replace",
    "concat",
    "concat_ws",
    "left",
    "right",
    "lpad",
    "rpad",
    "repeat",
    "reverse",
    "split_part",
    "regexp_replace",
    "regexp_matches",
    "format",
    "to_char",
    "to_number",
    "to_date",
    "generate_series",
    "unnest",
    "width_bucket",
    "gcd",
    "lcm",
    "factorial",
    "div",
    "sind",
    "cosd",
    "tand",
    "gamma",
    "lgamma",
};

bool IsLacking(std::string_view name) {
  return std::find(std::begin(kLacking), std::end(kLacking), name) != std::end(kLacking);
}

bool MayAggregate(Clause clause) {
  return clause == Clause::kSelect || clause == Clause::kHaving || clause == Clause::kOrderBy ||
         clause == Clause::kWindowDefinition;
}

absl::Status CheckAggregatePlace(BindState& state, const Context& context, int location) {
  if (context.in_aggregate) {
    const bool in_filter = context.clause == Clause::kFilter;
    return state.Error(sqlstate::kGroupingError,
                       in_filter ? "aggregate functions are not allowed in FILTER"
                                 : "aggregate function calls cannot be nested",
                       location);
  }
  if (MayAggregate(context.clause)) return absl::OkStatus();
  return state.Error(
      sqlstate::kGroupingError,
      absl::StrCat("aggregate functions are not allowed in ", ToAbsl(ClauseName(context.clause))),
      location);
}

// 42883 with the call's argument types.
absl::Status NoSuchFunction(BindState& state, std::string_view name,
                            const std::vector<ExprRef>& args, int location) {
  std::string types;
  for (const ExprRef& arg : args)
    absl::StrAppend(&types, types.empty() ? "" : ", ", ToAbsl(TypeName(arg->type)));
  return state.ErrorWithDetail(
      sqlstate::kUndefinedFunction,
      absl::StrCat("function ", ToAbsl(name), "(", types, ") does not exist"), "",
      "No function matches the given name and argument types. You might need to add explicit type "
      "casts.",
      location);
}

// An aggregate over columns of an outer query alone belongs to that query, which is not supported.
bool ReadsOnlyOuter(const BindState& state, const ExprRef& arg) {
  if (arg == nullptr || !ColumnsOf(arg).empty()) return false;
  bool outer = false;
  static_cast<void>(MapLeaves(arg, [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
    outer |= IsPlaceholder(*leaf) && state.FindOuter(leaf->index) != nullptr;
    return leaf;
  }));
  return outer;
}

bool SameAggregate(const Aggregate& a, const Aggregate& b) {
  const auto same = [](const ExprRef& x, const ExprRef& y) {
    return x == nullptr ? y == nullptr : SameExpr(x, y);
  };
  return a.function == b.function && a.distinct == b.distinct && same(a.arg, b.arg) &&
         same(a.filter, b.filter);
}

absl::StatusOr<ExprRef> BindAggregate(BindState& state, AggregateFunction function,
                                      const std::string& name, const Json& body,
                                      const Context& context) {
  const int location = LocationOf(body);
  ADJOIN_RETURN_IF_ERROR(CheckAggregatePlace(state, context, location));
  if (!ListOf(body, "agg_order").empty())
    return state.NotSupported("ORDER BY inside an aggregate", location);
  if (FlagOf(body, "agg_within_group")) return state.NotSupported("WITHIN GROUP", location);
  Context inner = context;
  inner.in_aggregate = true;
  Aggregate aggregate{function, nullptr, nullptr, FlagOf(body, "agg_distinct"), TypeId::kInt64};
  const Json& args = ListOf(body, "args");
  if (FlagOf(body, "agg_star") && function == AggregateFunction::kCount) {
    aggregate.function = AggregateFunction::kCountStar;
  } else if (args.size() != 1) {
    std::vector<ExprRef> typed;
    for (const Json& arg : args) {
      ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state, arg, inner));
      typed.push_back(value.expr);
    }
    return NoSuchFunction(state, name, typed, location);
  } else {
    ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state, args[0], inner));
    const bool boolean =
        function == AggregateFunction::kBoolAnd || function == AggregateFunction::kBoolOr;
    ADJOIN_ASSIGN_OR_RETURN(aggregate.arg, boolean && value.unknown
                                               ? Coerce(state, value, TypeId::kBool)
                                               : Settle(state, value));
  }
  if (Has(body, "agg_filter")) {
    inner.clause = Clause::kFilter;
    ADJOIN_ASSIGN_OR_RETURN(aggregate.filter,
                            BindCondition(state, FieldOf(body, "agg_filter"), inner, "FILTER"));
  }
  ADJOIN_ASSIGN_OR_RETURN(aggregate.type,
                          AggregateType(state, aggregate.function, name, aggregate.arg, location));
  if (ReadsOnlyOuter(state, aggregate.arg)) {
    return state.NotSupported("an aggregate of an outer query's columns", location);
  }
  const bool counts_rows = aggregate.function == AggregateFunction::kCount && !aggregate.distinct &&
                           aggregate.arg->kind == ExprKind::kConstant &&
                           !aggregate.arg->constant.is_null();
  if (counts_rows) aggregate.function = AggregateFunction::kCountStar, aggregate.arg = nullptr;
  for (const AggregateCall& call : context.level->aggregates) {
    if (SameAggregate(call.aggregate, aggregate))
      return ParameterExpr(call.placeholder, aggregate.type);
  }
  const int placeholder = state.NewPlaceholder();
  context.level->aggregates.push_back({placeholder, aggregate});
  return ParameterExpr(placeholder, aggregate.type);
}

absl::StatusOr<ExprRef> BindScalarFunction(BindState& state, const std::string& name,
                                           const Json& body, const Context& context) {
  const int location = LocationOf(body);
  if (FlagOf(body, "agg_star")) return NoSuchFunction(state, name, {}, location);
  if (FlagOf(body, "agg_distinct")) {
    return state.Error(
        sqlstate::kWrongObjectType,
        absl::StrCat("DISTINCT specified, but ", name, " is not an aggregate function"), location);
  }
  std::vector<Typed> args;
  for (const Json& arg : ListOf(body, "args")) {
    if (Unwrap(arg).tag == "NamedArgExpr") return state.NotSupported("a named argument", location);
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, arg, context));
    args.push_back(std::move(value));
  }
  // PostgreSQL prefers double precision for an argument whose type is open; text functions take
  // text.
  const bool all_open =
      std::all_of(args.begin(), args.end(), [](const Typed& t) { return t.unknown; });
  const bool text = name == "length" || name == "char_length" || name == "lower" || name == "upper";
  for (Typed& arg : args) {
    if (!all_open || text || name == "stop_gradient") break;
    ADJOIN_ASSIGN_OR_RETURN(arg.expr, Coerce(state, arg, TypeId::kFloat64));
    arg.unknown = false;
  }
  return ResolveTyped(state, name, std::move(args), location);
}

}  // namespace

std::optional<AggregateFunction> AggregateNamed(std::string_view name) {
  for (const NamedAggregate& a : kAggregates) {
    if (a.name == name) return a.function;
  }
  return std::nullopt;
}

absl::StatusOr<TypeId> AggregateType(BindState& state, AggregateFunction function,
                                     std::string_view name, const ExprRef& arg, int location) {
  using F = AggregateFunction;
  if (function == F::kCountStar || function == F::kCount) return TypeId::kInt64;
  const TypeId type = arg->type;
  const auto missing = [&] { return NoSuchFunction(state, name, {arg}, location); };
  if (function == F::kBoolAnd || function == F::kBoolOr)
    return type == TypeId::kBool ? absl::StatusOr<TypeId>(type) : missing();
  if (function == F::kMin || function == F::kMax)
    return type != TypeId::kBool ? absl::StatusOr<TypeId>(type) : missing();
  if (!IsNumeric(type)) return missing();
  if (function == F::kSum) return IsInteger(type) ? TypeId::kInt64 : type;
  const bool stays_real = type == TypeId::kFloat32 && state.options.weak_real;
  return stays_real ? TypeId::kFloat32 : TypeId::kFloat64;
}

absl::StatusOr<ExprRef> BindCall(BindState& state, const Json& body, const Context& context) {
  const Json& path = ListOf(body, "funcname");
  const std::string name = LastName(path);
  const int location = LocationOf(body);
  if (path.size() > 1 && StringValue(path[0]) != "pg_catalog" && StringValue(path[0]) != "public") {
    return NoSuchFunction(state, absl::StrCat(StringValue(path[0]), ".", name), {}, location);
  }
  if (FlagOf(body, "func_variadic")) return state.NotSupported("VARIADIC", location);
  if (IsGradientCall(name)) return BindGradientCall(state, name, body, context);
  const std::optional<AggregateFunction> aggregate = AggregateNamed(name);
  if (Has(body, "over")) return BindWindowCall(state, name, body, context);
  if (aggregate.has_value()) return BindAggregate(state, *aggregate, name, body, context);
  if (IsWindowFunction(name)) {
    return state.Error(sqlstate::kWrongObjectType,
                       absl::StrCat("window function ", name, " requires an OVER clause"),
                       location);
  }
  if (Has(body, "agg_filter")) {
    return state.Error(
        sqlstate::kWrongObjectType,
        absl::StrCat("FILTER specified, but ", name, " is not an aggregate function"), location);
  }
  if (FindFunction(name) == nullptr && IsLacking(name)) {
    return state.NotSupported(absl::StrCat("function ", name), location);
  }
  return BindScalarFunction(state, name, body, context);
}

}  // namespace adjoin
