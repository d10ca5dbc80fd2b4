// a(g) = aggregate of e over the rows of group g: every row that took part fetches its group's
// cotangent.
#include "ad/reverse.h"
#include "engine/status.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

ExprRef And(const ExprRef& a, const ExprRef& b) {
  return a == nullptr ? b : b == nullptr ? a : CallNamed("and", {a, b}, TypeId::kBool);
}

// Where the group's cotangent of one aggregate, and its value or its means, are in the looked-up
// base.
struct Fetched {
  const Aggregate* aggregate;
  int cotangent = -1, value = -1, mean = -1, second_mean = -1;
};

// What a group's cotangent `d` of a percentile of `e` is for the row of number `row` among the
// `count` that are `taken`: the percentile is low + rest * (high - low), of the rows that are
// `place` behind the first one, rounded down and up.
ExprRef PercentileShare(const Aggregate& aggregate, const ExprRef& taken, const ExprRef& row,
                        const ExprRef& count, const ExprRef& d) {
  const TypeId type = aggregate.second->type;
  const ExprRef one = FloatConst(1, type);
  const ExprRef place = Mul(aggregate.second, Sub(CastTo(count, type), one));
  const ExprRef before = Sub(CastTo(row, type), one);
  const ExprRef low = CallNamed("floor", {place}, type);
  const ExprRef high = CallNamed("ceil", {place}, type);
  const ExprRef of_high = Mul(d, CastTo(Sub(place, low), d->type));
  const auto at = [&](const ExprRef& which) {
    return And(taken, CallNamed("=", {before, which}, TypeId::kBool));
  };
  const ExprRef alone = And(at(low), CallNamed("=", {low, high}, TypeId::kBool));
  return CaseExpr({alone, d, at(low), Sub(d, of_high), at(high), of_high, NullExpr(d->type)});
}

}  // namespace

//   SUM: e' = a'   AVG: e' = a' / COUNT(e)   MIN, MAX: e' = a' / ties where e = a     rows with
//   NULL e, or that the FILTER dropped, get nothing
//   SUM((x - mean) * (y - mean)): x' = a' * (y - mean of y), and y' the other way round
//   percentiles: e' = a' in proportion for the one or two rows that it is between
absl::Status Transposer::operator()(const GroupBy& g) {
  const RowView view = reverse.ViewOf(input(0));
  const int num_keys = static_cast<int>(g.keys.size());

  // The groups: keys, then what the rows need of each aggregate.
  Project groups;
  for (int k = 0; k < num_keys; ++k) groups.exprs.push_back(BaseColumn(ct.base, k));
  std::vector<Fetched> fetched;
  int next_behind = node->width();  // the augmented node appends the count of an AVG, two means
  const auto fetch = [&](const ExprRef& e) {
    groups.exprs.push_back(e);
    return view.node->width() + static_cast<int>(groups.exprs.size()) - 1;
  };
  for (size_t a = 0; a < g.aggregates.size(); ++a) {
    const Aggregate& aggregate = g.aggregates[a];
    const bool averages = aggregate.function == AggregateFunction::kAvg;
    const bool centres = aggregate.function == AggregateFunction::kComoment;
    const int behind = next_behind;
    next_behind += averages ? 1 : centres ? 2 : 0;
    auto it = ct.cotangents.find(num_keys + static_cast<int>(a));
    if (it == ct.cotangents.end()) continue;
    Fetched f{&aggregate};
    if (averages) {
      f.cotangent = fetch(Div(it->second, CastTo(BaseColumn(ct.base, behind), it->second->type)));
    } else {
      f.cotangent = fetch(it->second);
    }
    if (aggregate.function == AggregateFunction::kMin ||
        aggregate.function == AggregateFunction::kMax) {
      f.value = fetch(BaseColumn(ct.base, num_keys + static_cast<int>(a)));
    }
    if (centres) {
      f.mean = fetch(BaseColumn(ct.base, behind));
      f.second_mean = fetch(BaseColumn(ct.base, behind + 1));
    }
    fetched.push_back(f);
  }
  const NodeRef right = planner().Make(std::move(groups), {ct.base});
  Lookup lookup{reverse.Remap(g.keys, view), {}};
  for (int k = 0; k < num_keys; ++k) lookup.right_keys.push_back(BaseColumn(right, k));
  const std::vector<ExprRef> keys = lookup.left_keys;
  NodeRef base = planner().Make(std::move(lookup), {view.node, right});

  const ColumnActivity activity = reverse.ViewActivity(input(0), view);
  ColumnCotangents by_view;
  for (const Fetched& f : fetched) {
    const ExprRef e = reverse.Remap(f.aggregate->arg, view);
    const ExprRef filter = reverse.Remap(f.aggregate->filter, view);
    ExprRef d = BaseColumn(base, f.cotangent);
    if (f.mean >= 0) {
      const ExprRef y = reverse.Remap(f.aggregate->second, view);
      const ExprRef pair = And(And(filter, IsNotNull(e)), IsNotNull(y));
      const ExprRef dx = Mul(d, Sub(y, BaseColumn(base, f.second_mean)));
      const ExprRef dy = Mul(d, Sub(e, BaseColumn(base, f.mean)));
      ADJOIN_RETURN_IF_ERROR(Backpropagate(y, WhenTrue(pair, dy), activity, &by_view));
      d = WhenTrue(pair, dx);
    } else if (IsPercentile(f.aggregate->function)) {
      const bool down = f.aggregate->function == AggregateFunction::kPercentileDown;
      const ExprRef taken = And(filter, IsNotNull(e));
      const Window numbers{keys,
                           {{taken, /*descending=*/true, false}, {e, down, false}},
                           {{.end = FrameBound::kUnboundedFollowing}, nullptr, nullptr},
                           {{WindowFunction::kRowNumber, {}, nullptr, TypeId::kInt64},
                            {WindowFunction::kCountStar, {}, taken, TypeId::kInt64}}};
      base = planner().Make(numbers, {base});
      d = PercentileShare(*f.aggregate, taken, BaseColumn(base, base->width() - 2),
                          BaseColumn(base, base->width() - 1), d);
    } else if (f.value < 0) {
      d = WhenTrue(And(filter, IsNotNull(e)), d);
    } else {
      const ExprRef hit =
          And(filter, CallNamed("=", {e, BaseColumn(base, f.value)}, TypeId::kBool));
      Window ties{keys, {}, Frame{}, {{WindowFunction::kCountStar, {}, hit, TypeId::kInt64}}};
      base = planner().Make(std::move(ties), {base});
      d = WhenTrue(hit, Div(d, CastTo(BaseColumn(base, base->width() - 1), d->type)));
    }
    ADJOIN_RETURN_IF_ERROR(Backpropagate(e, NearestTo(d, e->type), activity, &by_view));
  }
  ContributeByView(0, view, base, by_view);
  return absl::OkStatus();
}

}  // namespace adjoin
