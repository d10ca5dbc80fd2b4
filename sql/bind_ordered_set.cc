#include "sql/bind_ordered_set.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_aggregate.h"
#include "sql/bind_call.h"
#include "sql/bind_expr.h"
#include "sql/window_definition.h"

namespace adjoin {
namespace {

constexpr TypeId kDouble = TypeId::kFloat64;

ExprRef And(const ExprRef& a, const ExprRef& b) { return CallNamed("and", {a, b}, TypeId::kBool); }
ExprRef Equal(const ExprRef& a, const ExprRef& b) { return CallNamed("=", {a, b}, TypeId::kBool); }
ExprRef Round(std::string_view how, const ExprRef& a) { return CallNamed(how, {a}, kDouble); }

// The rows of a group that count, in order: `value` is NULL elsewhere.
class OrderedSet {
 public:
  OrderedSet(BindState& state, Level& level, ExprRef value, const Json& sort_by)
      : state_(state),
        level_(level),
        value_(std::move(value)),
        taken_(CallNamed("is not null", {value_}, TypeId::kBool)),
        key_(MakeSortKey(value_, sort_by)) {}

  // The value at the place `p` of the way from the first row to the last, between two rows in
  // proportion.
  ExprRef Continuous(double p) {
    const auto function =
        key_.descending ? AggregateFunction::kPercentileDown : AggregateFunction::kPercentileUp;
    return AddCall({function, value_, nullptr, false, kDouble, FloatConst(p, kDouble)});
  }
  // NULL, of each group.
  ExprRef Nothing() { return Pick(ConstantExpr(Value::Bool(false), TypeId::kBool)); }
  // The first value that at least the share `p` of the rows do not come after.
  ExprRef Discrete(double p) {
    const ExprRef last = Round("ceil", Mul(FloatConst(p, kDouble), CastTo(Count(), kDouble)));
    return Pick(Equal(Number(), CallNamed("greatest", {last, FloatConst(1, kDouble)}, kDouble)));
  }
  // The first of the values that most rows have.
  ExprRef MostFrequent() {
    WindowSpec peers = Ordered();
    peers.frame.start = peers.frame.end = FrameBound::kCurrentRow;
    const ExprRef times =
        AddWindow(peers, {WindowFunction::kCountStar, {}, nullptr, TypeId::kInt64});
    WindowSpec by_times = Ordered();
    by_times.order.insert(by_times.order.begin() + 1, {times, /*descending=*/true, false});
    const ExprRef row =
        AddWindow(by_times, {WindowFunction::kRowNumber, {}, nullptr, TypeId::kInt64});
    return Pick(Equal(row, ConstantExpr(Value::Int(1), TypeId::kInt64)));
  }

 private:
  // The rows that count first.
  WindowSpec Ordered() const { return {{}, {{taken_, /*descending=*/true, false}, key_}, {}}; }
  WindowSpec Whole() const {
    WindowSpec spec = Ordered();
    spec.frame.end = FrameBound::kUnboundedFollowing;
    return spec;
  }
  ExprRef Number() {
    return CastTo(AddWindow(Whole(), {WindowFunction::kRowNumber, {}, nullptr, TypeId::kInt64}),
                  kDouble);
  }
  ExprRef Count() {
    return AddWindow(Whole(), {WindowFunction::kCountStar, {}, taken_, TypeId::kInt64});
  }
  ExprRef AddWindow(const WindowSpec& spec, const WindowCall& call) {
    for (const WindowUse& use : level_.group_windows) {
      const bool same_filter = call.filter == nullptr ? use.call.filter == nullptr
                                                      : use.call.filter != nullptr &&
                                                            SameExpr(use.call.filter, call.filter);
      if (use.call.function == call.function && same_filter && SameWindow(use.spec, spec))
        return ParameterExpr(use.placeholder, call.type);
    }
    level_.group_windows.push_back({state_.NewPlaceholder(), spec, call});
    return ParameterExpr(level_.group_windows.back().placeholder, call.type);
  }
  ExprRef AddCall(Aggregate aggregate) {
    level_.aggregates.push_back({state_.NewPlaceholder(), std::move(aggregate), {}});
    const AggregateCall& call = level_.aggregates.back();
    return ParameterExpr(call.placeholder, call.aggregate.type);
  }
  ExprRef Pick(const ExprRef& condition) {
    return AddCall(
        {AggregateFunction::kMax, value_, And(taken_, condition), false, value_->type, nullptr});
  }

  BindState& state_;
  Level& level_;
  const ExprRef value_, taken_;
  const SortKey key_;
};

// The direct argument of a percentile; no value: NULL.
absl::StatusOr<std::optional<double>> BindShare(BindState& state, const Json& arg,
                                                const Context& context) {
  ADJOIN_ASSIGN_OR_RETURN(const Typed typed, BindExpr(state, arg, context));
  ADJOIN_ASSIGN_OR_RETURN(const ExprRef share, Coerce(state, typed, kDouble));
  if (share->kind != ExprKind::kConstant)
    return state.NotSupported("a percentile that is not a constant", typed.location);
  if (share->constant.is_null()) return std::optional<double>();
  const double p = share->constant.as_float();
  if (std::isnan(p) || p < 0 || p > 1) {
    return SqlError(sqlstate::kNumericOutOfRange,
                    absl::StrCat("percentile value ", std::isnan(p) ? "NaN" : absl::StrCat(p),
                                 " is not between 0 and 1"));
  }
  return p;
}

}  // namespace

bool IsOrderedSetAggregate(std::string_view name) {
  return name == "percentile_cont" || name == "percentile_disc" || name == "mode";
}

absl::StatusOr<ExprRef> BindOrderedSetAggregate(BindState& state, const std::string& name,
                                                const Json& body, const Context& context) {
  const int location = LocationOf(body);
  const Json& direct = ListOf(body, "args");
  const Json& order = ListOf(body, "agg_order");
  std::vector<Typed> typed;
  for (const Json& arg : direct) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, arg, context));
    typed.push_back(std::move(value));
  }
  for (const Json& item : order) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value,
                            BindExpr(state, FieldOf(FieldOf(item, "SortBy"), "node"), context));
    typed.push_back(std::move(value));
  }
  const bool is_mode = name == "mode";
  const bool within_group = FlagOf(body, "agg_within_group");
  if (!within_group && direct.size() == (is_mode ? 1 : 2)) {
    return state.Error(sqlstate::kWrongObjectType,
                       absl::StrCat("WITHIN GROUP is required for ordered-set aggregate ", name),
                       location);
  }
  if (!IsOrderedSetAggregate(name) && direct.empty()) {
    return state.Error(
        sqlstate::kWrongObjectType,
        absl::StrCat(name, " is not an ordered-set aggregate, so it cannot have WITHIN GROUP"),
        location);
  }
  if (!within_group || !IsOrderedSetAggregate(name) || order.size() != 1 ||
      direct.size() != (is_mode ? 0 : 1))
    return NoSuchFunction(state, name, typed, location);
  const Json& sort_by = FieldOf(order[0], "SortBy");
  const bool continuous = name == "percentile_cont";
  if (continuous && !typed.back().unknown && !IsNumeric(typed.back().expr->type))
    return NoSuchFunction(state, name, typed, location);
  ADJOIN_ASSIGN_OR_RETURN(ExprRef value, continuous ? Coerce(state, typed.back(), kDouble)
                                                    : Settle(state, typed.back()));
  if (Has(body, "agg_filter")) {
    Context inner = context;
    inner.clause = Clause::kFilter;
    ADJOIN_ASSIGN_OR_RETURN(const ExprRef filter,
                            BindCondition(state, FieldOf(body, "agg_filter"), inner, "FILTER"));
    value = CaseExpr({filter, value, NullExpr(value->type)});
  }
  OrderedSet rows(state, *context.level, std::move(value), sort_by);
  if (is_mode) return rows.MostFrequent();
  ADJOIN_ASSIGN_OR_RETURN(const std::optional<double> share, BindShare(state, direct[0], context));
  if (!share.has_value()) return rows.Nothing();
  return continuous ? rows.Continuous(*share) : rows.Discrete(*share);
}

}  // namespace adjoin
