#include "sql/bind_aggregate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/bind_call.h"
#include "sql/bind_expr.h"
#include "sql/bind_ordered_set.h"
#include "sql/window_definition.h"

namespace adjoin {
namespace {

struct NamedAggregate {
  std::string_view name;
  AggregateFunction function;
};
constexpr NamedAggregate kAggregates[] = {
    {"count", AggregateFunction::kCount},
    {"sum", AggregateFunction::kSum},
    {"avg", AggregateFunction::kAvg},
    {"min", AggregateFunction::kMin},
    {"max", AggregateFunction::kMax},
    {"bool_and", AggregateFunction::kBoolAnd},
    {"bool_or", AggregateFunction::kBoolOr},
    {"every", AggregateFunction::kBoolAnd},
    {"string_agg", AggregateFunction::kStringAgg},
};

std::optional<AggregateFunction> AggregateNamed(std::string_view name) {
  for (const NamedAggregate& a : kAggregates) {
    if (a.name == name) return a.function;
  }
  return std::nullopt;
}

bool MayAggregate(Clause clause) {
  return clause == Clause::kSelect || clause == Clause::kHaving || clause == Clause::kOrderBy ||
         clause == Clause::kWindowDefinition;
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

bool SameOrNull(const ExprRef& x, const ExprRef& y) {
  return x == nullptr ? y == nullptr : y != nullptr && SameExpr(x, y);
}

bool SameCall(const AggregateCall& a, const AggregateCall& b) {
  const Aggregate& x = a.aggregate;
  const Aggregate& y = b.aggregate;
  return x.function == y.function && x.distinct == y.distinct && SameOrNull(x.arg, y.arg) &&
         SameOrNull(x.second, y.second) && SameOrNull(x.filter, y.filter) &&
         SameOrder(a.order, b.order);
}

absl::StatusOr<ExprRef> StatisticOf(BindState& state, Statistic statistic, const std::string& name,
                                    const Json& body, const std::vector<Typed>& args,
                                    const AddAggregate& add) {
  const int location = LocationOf(body);
  if (static_cast<int>(args.size()) != NumArguments(statistic))
    return NoSuchFunction(state, name, args, location);
  bool real = state.options.weak_real;
  std::vector<ExprRef> exprs;
  for (const Typed& arg : args) {
    if (!arg.unknown && !IsNumeric(arg.expr->type))
      return NoSuchFunction(state, name, args, location);
    real &= arg.expr->type == TypeId::kFloat32;
    ADJOIN_ASSIGN_OR_RETURN(ExprRef expr, Coerce(state, arg, TypeId::kFloat64));
    exprs.push_back(std::move(expr));
  }
  if (args.size() > 1 && FlagOf(body, "agg_distinct"))
    return state.NotSupported(absl::StrCat("DISTINCT in ", name), location);
  const ExprRef value = StatisticValue(statistic, exprs.front(), exprs.back(), add);
  return real && IsFloat(value->type) ? CastTo(value, TypeId::kFloat32) : value;
}

// The argument of an aggregate of one, and the result's type.
absl::Status TypeAggregate(BindState& state, const std::string& name, const Typed& arg,
                           int location, Aggregate& aggregate) {
  using F = AggregateFunction;
  const F f = aggregate.function;
  const bool boolean = f == F::kBoolAnd || f == F::kBoolOr;
  const bool adds = f == F::kSum || f == F::kAvg;
  if (adds && arg.unknown) {
    return state.ErrorWithDetail(sqlstate::kAmbiguousFunction,
                                 absl::StrCat("function ", name, "(unknown) is not unique"), "",
                                 "Could not choose a best candidate function. You might need to "
                                 "add explicit type casts.",
                                 location);
  }
  ADJOIN_ASSIGN_OR_RETURN(aggregate.arg, boolean && arg.unknown ? Coerce(state, arg, TypeId::kBool)
                                                                : Settle(state, arg));
  const TypeId type = aggregate.arg->type;
  if (adds && type == TypeId::kInterval)
    return state.NotSupported(absl::StrCat(name, " of intervals"), location);
  const bool fits = boolean                        ? type == TypeId::kBool
                    : f == F::kMin || f == F::kMax ? type != TypeId::kBool
                                                   : !adds || IsNumeric(type);
  if (!fits) return NoSuchFunction(state, name, {arg}, location);
  const bool stays_real = type == TypeId::kFloat32 && state.options.weak_real;
  if (f == F::kCount || (f == F::kSum && IsInteger(type))) {
    aggregate.type = TypeId::kInt64;
  } else if (f == F::kAvg) {
    aggregate.type = type == TypeId::kDecimal ? type
                     : stays_real             ? TypeId::kFloat32
                                              : TypeId::kFloat64;
  } else {
    aggregate.type = type;
  }
  return absl::OkStatus();
}

// ORDER BY inside an aggregate's parentheses.
absl::StatusOr<std::vector<SortKey>> BindOrder(BindState& state, const Json& body,
                                               const std::vector<Typed>& args,
                                               const Context& context) {
  std::vector<SortKey> order;
  for (const Json& item : ListOf(body, "agg_order")) {
    const Json& sort = FieldOf(item, "SortBy");
    ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state, FieldOf(sort, "node"), context));
    ADJOIN_ASSIGN_OR_RETURN(ExprRef expr, Settle(state, value));
    const bool is_arg = std::any_of(args.begin(), args.end(),
                                    [&](const Typed& arg) { return SameExpr(arg.expr, expr); });
    if (FlagOf(body, "agg_distinct") && !is_arg) {
      return state.Error(sqlstate::kInvalidColumnReference,
                         "in an aggregate with DISTINCT, ORDER BY expressions must appear in "
                         "argument list",
                         value.location);
    }
    order.push_back(MakeSortKey(std::move(expr), sort));
  }
  return order;
}

}  // namespace

absl::Status CheckAggregatePlace(BindState& state, const Context& context, std::string_view what,
                                 int location) {
  const bool in_filter = context.clause == Clause::kFilter;
  if (context.in_aggregate && !in_filter) {
    return state.Error(sqlstate::kGroupingError, "aggregate function calls cannot be nested",
                       location);
  }
  if (!context.in_aggregate && MayAggregate(context.clause)) return absl::OkStatus();
  return state.Error(
      sqlstate::kGroupingError,
      absl::StrCat(ToAbsl(what), " are not allowed in ", ToAbsl(ClauseName(context.clause))),
      location);
}

bool IsAggregate(std::string_view name) {
  return AggregateNamed(name).has_value() || StatisticNamed(name).has_value() ||
         IsOrderedSetAggregate(name);
}

absl::StatusOr<ExprRef> AggregateValue(BindState& state, const std::string& name, const Json& body,
                                       const std::vector<Typed>& args, const AddAggregate& add) {
  const int location = LocationOf(body);
  if (const auto statistic = StatisticNamed(name); statistic.has_value())
    return StatisticOf(state, *statistic, name, body, args, add);
  Aggregate aggregate{*AggregateNamed(name), nullptr, nullptr, false, TypeId::kInt64, nullptr};
  const bool counts = aggregate.function == AggregateFunction::kCount;
  if (counts && FlagOf(body, "agg_star")) {
    aggregate.function = AggregateFunction::kCountStar;
    return add(aggregate);
  }
  if (counts && args.empty()) {
    return state.Error(sqlstate::kWrongObjectType,
                       "count(*) must be used to call a parameterless aggregate function",
                       location);
  }
  const bool joins_texts = aggregate.function == AggregateFunction::kStringAgg;
  if (args.size() != (joins_texts ? 2 : 1)) return NoSuchFunction(state, name, args, location);
  if (joins_texts) {
    for (const Typed& arg : args) {
      if (!arg.unknown && arg.expr->type != TypeId::kText)
        return NoSuchFunction(state, name, args, location);
    }
    ADJOIN_ASSIGN_OR_RETURN(aggregate.arg, Settle(state, args[0]));
    ADJOIN_ASSIGN_OR_RETURN(aggregate.second, Settle(state, args[1]));
    aggregate.type = TypeId::kText;
    return add(aggregate);
  }
  ADJOIN_RETURN_IF_ERROR(TypeAggregate(state, name, args[0], location, aggregate));
  const bool counts_rows = counts && !FlagOf(body, "agg_distinct") &&
                           aggregate.arg->kind == ExprKind::kConstant &&
                           !aggregate.arg->constant.is_null();
  if (counts_rows) aggregate.function = AggregateFunction::kCountStar, aggregate.arg = nullptr;
  return add(aggregate);
}

absl::StatusOr<ExprRef> BindAggregate(BindState& state, const std::string& name, const Json& body,
                                      const Context& context) {
  const int location = LocationOf(body);
  Context inner = context;
  inner.in_aggregate = true;
  const absl::Status place = CheckAggregatePlace(state, context, "aggregate functions", location);
  if (!place.ok()) {  // unless it is the aggregate of a query around this one
    absl::StatusOr<std::vector<Typed>> read = BindList(state, ListOf(body, "args"), inner);
    const bool outer = read.ok() && std::ranges::any_of(*read, [&](const Typed& arg) {
                         return ReadsOnlyOuter(state, arg.expr);
                       });
    return outer ? state.NotSupported("an aggregate of an outer query's columns", location) : place;
  }
  if (IsOrderedSetAggregate(name) || FlagOf(body, "agg_within_group"))
    return BindOrderedSetAggregate(state, name, body, inner);
  std::vector<Typed> args;
  for (const Json& arg : ListOf(body, "args")) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, arg, inner));
    args.push_back(std::move(value));
  }
  ADJOIN_ASSIGN_OR_RETURN(std::vector<SortKey> order, BindOrder(state, body, args, inner));
  ExprRef filter;
  if (Has(body, "agg_filter")) {
    inner.clause = Clause::kFilter;
    ADJOIN_ASSIGN_OR_RETURN(filter,
                            BindCondition(state, FieldOf(body, "agg_filter"), inner, "FILTER"));
  }
  bool reads_only_outer = false;
  const bool distinct = FlagOf(body, "agg_distinct");
  const auto add = [&](const Aggregate& aggregate) {
    reads_only_outer |= ReadsOnlyOuter(state, aggregate.arg);
    AggregateCall call{state.NewPlaceholder(), aggregate, {}};
    call.aggregate.filter = filter;
    call.aggregate.distinct = distinct;
    if (aggregate.function == AggregateFunction::kStringAgg) {
      // Only here does the order of the rows show. DISTINCT sorts, as PostgreSQL's does.
      call.order = order;
      if (distinct && order.empty()) call.order = {{aggregate.arg}, {aggregate.second}};
    }
    for (const AggregateCall& other : context.level->aggregates) {
      if (SameCall(other, call)) return ParameterExpr(other.placeholder, aggregate.type);
    }
    context.level->aggregates.push_back(call);
    return ParameterExpr(call.placeholder, aggregate.type);
  };
  ADJOIN_ASSIGN_OR_RETURN(ExprRef value, AggregateValue(state, name, body, args, add));
  if (reads_only_outer)
    return state.NotSupported("an aggregate of an outer query's columns", location);
  return value;
}

}  // namespace adjoin
