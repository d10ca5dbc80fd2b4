#include "sql/bind_window.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_aggregate.h"
#include "sql/bind_call.h"
#include "sql/bind_expr.h"
#include "sql/window_definition.h"

namespace adjoin {
namespace {

constexpr std::string_view kWindowingError = sqlstate::kWindowingError;

struct NamedWindowFunction {
  std::string_view name;
  WindowFunction function;
  size_t least_args, most_args;
};
constexpr NamedWindowFunction kFunctions[] = {
    {"row_number", WindowFunction::kRowNumber, 0, 0},
    {"rank", WindowFunction::kRank, 0, 0},
    {"dense_rank", WindowFunction::kDenseRank, 0, 0},
    {"lag", WindowFunction::kLag, 1, 3},
    {"lead", WindowFunction::kLead, 1, 3},
    {"first_value", WindowFunction::kFirstValue, 1, 1},
    {"last_value", WindowFunction::kLastValue, 1, 1},
    {"nth_value", WindowFunction::kNthValue, 2, 2},
    {"ntile", WindowFunction::kNtile, 1, 1},
    {"percent_rank", WindowFunction::kPercentRank, 0, 0},
    {"cume_dist", WindowFunction::kCumeDist, 0, 0},
};

const NamedWindowFunction* FindWindowFunction(std::string_view name) {
  for (const NamedWindowFunction& f : kFunctions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

bool IsWindowDefinition(Clause clause) {
  return clause == Clause::kWindowDefinition || clause == Clause::kWindowRows ||
         clause == Clause::kWindowRange || clause == Clause::kWindowGroups;
}

absl::Status CheckWindowPlace(BindState& state, const Context& context, int location) {
  if (context.in_aggregate) {
    return state.Error(sqlstate::kGroupingError,
                       context.clause == Clause::kFilter
                           ? "window functions are not allowed in FILTER"
                           : "aggregate function calls cannot contain window function calls",
                       location);
  }
  if (context.in_window) {
    return state.Error(kWindowingError,
                       IsWindowDefinition(context.clause)
                           ? "window functions are not allowed in window definitions"
                           : "window function calls cannot be nested",
                       location);
  }
  if (context.clause == Clause::kSelect || context.clause == Clause::kOrderBy)
    return absl::OkStatus();
  const std::string_view name = ClauseName(context.clause);
  return state.Error(kWindowingError,
                     absl::StrCat("window functions are not allowed in ", std::string(name)),
                     location);
}

WindowFunction AsWindow(AggregateFunction function) {
  switch (function) {
    case AggregateFunction::kCountStar:
      return WindowFunction::kCountStar;
    case AggregateFunction::kCount:
      return WindowFunction::kCount;
    case AggregateFunction::kSum:
      return WindowFunction::kSum;
    case AggregateFunction::kAvg:
      return WindowFunction::kAvg;
    case AggregateFunction::kMin:
      return WindowFunction::kMin;
    case AggregateFunction::kMax:
      return WindowFunction::kMax;
    case AggregateFunction::kBoolAnd:
      return WindowFunction::kBoolAnd;
    case AggregateFunction::kBoolOr:
      return WindowFunction::kBoolOr;
    case AggregateFunction::kComoment:
      return WindowFunction::kComoment;
    case AggregateFunction::kStringAgg:
      return WindowFunction::kStringAgg;
    case AggregateFunction::kPercentileUp:
    case AggregateFunction::kPercentileDown:
      break;  // with OVER they are an error
  }
  return WindowFunction::kCountStar;
}

// value, offset and default of LAG and LEAD: the offset BIGINT, 1 where left out; value and default
// of one type.
absl::Status BindLagArguments(BindState& state, const std::string& name,
                              const std::vector<Typed>& args, int location, WindowCall& call) {
  std::vector<Typed> values = {args[0]};
  if (args.size() > 2) values.push_back(args[2]);
  const absl::StatusOr<CommonTyping> common = CommonTypeOf(state, values, "LAG");
  if (!common.ok()) return NoSuchFunction(state, name, args, location);
  const TypeId type = common->type;
  ADJOIN_ASSIGN_OR_RETURN(ExprRef value, Coerce(state, args[0], type));
  call.args.push_back(std::move(value));
  ExprRef offset = ConstantExpr(Value::Int(1), TypeId::kInt64);
  if (args.size() > 1) {
    ADJOIN_ASSIGN_OR_RETURN(offset, Coerce(state, args[1], TypeId::kInt64));
  }
  call.args.push_back(std::move(offset));
  if (args.size() > 2) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef fallback, Coerce(state, args[2], type));
    call.args.push_back(std::move(fallback));
  }
  call.type = type;
  return absl::OkStatus();
}

absl::StatusOr<WindowCall> BindFunction(BindState& state, const NamedWindowFunction& f,
                                        const Json& body, const std::vector<Typed>& args) {
  const int location = LocationOf(body);
  const std::string name(f.name);
  if (args.size() < f.least_args || args.size() > f.most_args)
    return NoSuchFunction(state, name, args, location);
  if (Has(body, "agg_filter")) {
    return state.Error(sqlstate::kFeatureNotSupported,
                       "FILTER is not implemented for non-aggregate window functions", location);
  }
  WindowCall call{f.function, {}, nullptr, TypeId::kInt64};
  switch (f.function) {
    case WindowFunction::kLag:
    case WindowFunction::kLead:
      ADJOIN_RETURN_IF_ERROR(BindLagArguments(state, name, args, location, call));
      return call;
    case WindowFunction::kPercentRank:
    case WindowFunction::kCumeDist:
      call.type = TypeId::kFloat64;
      return call;
    case WindowFunction::kNtile:
      call.type = TypeId::kInt32;
      break;
    default:
      if (args.empty()) return call;
      ADJOIN_ASSIGN_OR_RETURN(ExprRef value, Settle(state, args[0]));
      call.type = value->type;
      call.args.push_back(std::move(value));
      if (args.size() == 1) return call;
  }
  const Typed& number = args.back();  // an INTEGER
  const bool fits =
      number.unknown || number.expr->type == TypeId::kInt16 || number.expr->type == TypeId::kInt32;
  if (!fits) return NoSuchFunction(state, name, args, location);
  ADJOIN_ASSIGN_OR_RETURN(ExprRef value, Coerce(state, number, TypeId::kInt32));
  call.args.push_back(std::move(value));
  return call;
}

}  // namespace

bool IsWindowFunction(std::string_view name) { return FindWindowFunction(name) != nullptr; }

absl::StatusOr<ExprRef> BindWindowCall(BindState& state, const std::string& name, const Json& body,
                                       const Context& context) {
  const int location = LocationOf(body);
  ADJOIN_RETURN_IF_ERROR(CheckWindowPlace(state, context, location));
  const NamedWindowFunction* function = FindWindowFunction(name);
  if (IsOrderedSetAggregate(name)) {
    return state.Error(sqlstate::kFeatureNotSupported,
                       absl::StrCat("OVER is not supported for ordered-set aggregate ", name),
                       location);
  }
  if (function == nullptr && !IsAggregate(name)) {
    return state.Error(sqlstate::kWrongObjectType,
                       absl::StrCat("OVER specified, but ", name,
                                    " is not a window function nor an aggregate function"),
                       location);
  }
  if (FlagOf(body, "agg_distinct")) {
    return state.Error(sqlstate::kFeatureNotSupported,
                       "DISTINCT is not implemented for window functions", location);
  }
  if (!ListOf(body, "agg_order").empty()) {
    return state.Error(sqlstate::kFeatureNotSupported,
                       "aggregate ORDER BY is not implemented for window functions", location);
  }
  Context inner = context;
  inner.in_window = true;
  std::vector<Typed> args;
  for (const Json& arg : ListOf(body, "args")) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, arg, inner));
    args.push_back(std::move(value));
  }
  std::vector<WindowUse> uses;
  const auto add = [&](WindowCall call) {
    const TypeId type = call.type;
    uses.push_back({state.NewPlaceholder(), {}, std::move(call)});
    return ParameterExpr(uses.back().placeholder, type);
  };
  ExprRef value;
  if (function != nullptr) {
    ADJOIN_ASSIGN_OR_RETURN(WindowCall call, BindFunction(state, *function, body, args));
    value = add(std::move(call));
  } else {
    const auto add_aggregate = [&](const Aggregate& aggregate) {
      WindowCall call{AsWindow(aggregate.function), {}, nullptr, aggregate.type};
      for (const ExprRef& arg : {aggregate.arg, aggregate.second}) {
        if (arg != nullptr) call.args.push_back(arg);
      }
      return add(std::move(call));
    };
    ADJOIN_ASSIGN_OR_RETURN(value, AggregateValue(state, name, body, args, add_aggregate));
  }
  ExprRef filter;
  if (Has(body, "agg_filter")) {
    inner.clause = Clause::kFilter;
    ADJOIN_ASSIGN_OR_RETURN(filter,
                            BindCondition(state, FieldOf(body, "agg_filter"), inner, "FILTER"));
  }
  ADJOIN_ASSIGN_OR_RETURN(const WindowSpec spec,
                          BindWindowDefinition(state, FieldOf(body, "over"), context));
  for (WindowUse& use : uses) {
    use.spec = spec;
    use.call.filter = filter;
    context.level->windows.push_back(std::move(use));
  }
  return value;
}

}  // namespace adjoin
