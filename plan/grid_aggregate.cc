// GROUP BY a subset of the dims is a reduction over the others; a window over whole partitions the
// same, broadcast back.
#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/grid.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

std::vector<int> Others(const GridRelation& r, const std::vector<int>& kept) {
  std::vector<int> out;
  for (int a = 0; a < static_cast<int>(r.extents.size()); ++a) {
    if (std::find(kept.begin(), kept.end(), a) == kept.end()) out.push_back(a);
  }
  return out;
}

AxisArray Renamed(AxisArray a, const std::vector<int>& to) {
  for (int& axis : a.axes) axis = to[static_cast<size_t>(axis)];
  return a;
}

}  // namespace

// Reduces `a` over the axes that are not kept. Axes it does not vary along are not looped over: for
// a sum they are a factor, for the rest nothing. The result keeps those of `kept` that `a` has, in
// their order.
AxisArray GridLowering::Reduce(const GridRelation& r, ReduceOp op, const AxisArray& a,
                               const std::vector<int>& kept) {
  std::vector<int> out_axes, reduced;
  for (int axis : kept) {
    if (HasAxis(a.axes, axis)) out_axes.push_back(axis);
  }
  int64_t repeats = 1;
  for (int axis : Others(r, kept)) {
    if (HasAxis(a.axes, axis)) {
      reduced.push_back(axis);
    } else {
      repeats *= r.extents[static_cast<size_t>(axis)];
    }
  }
  AxisArray result = a;
  const TypeId type = TypeOf(a);
  if (!reduced.empty()) {
    // Sums of REAL are accumulated in double precision.
    const bool widen = op == ReduceOp::kSum && type == TypeId::kFloat32;
    const AxisArray source = widen ? Cast(r, a, TypeId::kFloat64) : a;
    ArrayNode n;
    n.op = ArrayOp::kReduce;
    n.reduce = op;
    n.type = TypeOf(source);
    std::vector<int> order = out_axes;
    order.insert(order.end(), reduced.begin(), reduced.end());
    for (int axis : out_axes) n.shape.push_back(r.extents[static_cast<size_t>(axis)]);
    for (int axis : order) n.space.push_back(r.extents[static_cast<size_t>(axis)]);
    ArrayOperand operand{source.id, {}};
    for (int axis : source.axes) {
      operand.axes.push_back(
          static_cast<int>(std::find(order.begin(), order.end(), axis) - order.begin()));
    }
    n.operands.push_back(std::move(operand));
    result = {graph_.Add(std::move(n)), out_axes};
    if (widen) result = Cast(r, result, type);
  }
  if (op == ReduceOp::kSum && repeats != 1) {
    result = Map(r, ScalarOp::kMultiply, type,
                 {result, Constant(Value::Float(static_cast<double>(repeats)), type)});
  }
  return result;
}

// How many cells are ok along the axes not kept, as DOUBLE PRECISION (exact below 2^53); a constant
// where it is one.
AxisArray GridLowering::Count(const GridRelation& r, const AxisArray& ok,
                              const std::vector<int>& kept) {
  int64_t cells = 1;
  for (int axis : Others(r, kept)) cells *= r.extents[static_cast<size_t>(axis)];
  // A group of a mask over the kept axes alone has all of its cells or does not exist.
  const bool whole = !kept.empty() && ok.id == r.mask.id && ok.axes == r.mask.axes &&
                     std::all_of(ok.axes.begin(), ok.axes.end(), [&](int axis) {
                       return std::find(kept.begin(), kept.end(), axis) != kept.end();
                     });
  if (ok.none() || whole)
    return Constant(Value::Float(static_cast<double>(cells)), TypeId::kFloat64);
  const AxisArray count = Reduce(r, ReduceOp::kSum, Cast(r, ok, TypeId::kFloat64), kept);
  if (const auto values = graph_.Evaluate(count.id); values && !values->empty()) {
    const auto [low, high] = std::minmax_element(values->begin(), values->end());
    if (*low == *high) return Constant(Value::Float(*low), TypeId::kFloat64);
  }
  return count;
}

std::optional<GridLowering::Typed> GridLowering::ReduceAggregate(const GridRelation& r,
                                                                 const Aggregate& aggregate,
                                                                 const std::vector<int>& kept,
                                                                 bool grouped) {
  const auto& [f, arg, filter, distinct, type, second] = aggregate;
  AxisArray ok = r.mask;
  if (filter != nullptr) {
    auto t = Translate(r, filter);
    if (!t) return std::nullopt;
    ok = And(r, ok, And(r, t->valid, t->value));
  }
  if (f == AggregateFunction::kCountStar) {
    return Typed{Cast(r, Count(r, ok, kept), TypeId::kInt64), {}};
  }
  auto value = Translate(r, arg);
  if (!value) return std::nullopt;
  ok = And(r, ok, value->valid);
  if (f == AggregateFunction::kCount) return Typed{Cast(r, Count(r, ok, kept), TypeId::kInt64), {}};
  std::optional<Typed> other = value;
  if (f == AggregateFunction::kComoment) {
    if (!SameExpr(arg, second)) other = Translate(r, second);
    if (!other) return std::nullopt;
    ok = And(r, ok, other->valid);
  }
  if (!IsFloat(arg->type))
    return std::nullopt;  // exact integer sums, booleans and text: the Rows layout
  // NULL where nothing was aggregated. A group that exists has a row: only NULLs and filters can
  // leave nothing.
  AxisArray some;
  const bool whole_group = grouped && ok.id == r.mask.id && ok.axes == r.mask.axes;
  if (!ok.none() && !whole_group) some = Simplify(Reduce(r, ReduceOp::kAny, ok, kept));
  const auto masked_by = [&](const AxisArray& a, double identity) {
    return Select(r, ok, a, Constant(Value::Float(identity), arg->type));
  };
  const auto masked = [&](double identity) { return masked_by(value->value, identity); };
  switch (f) {
    case AggregateFunction::kSum:
      return Typed{Reduce(r, ReduceOp::kSum, masked(0), kept), some};
    case AggregateFunction::kAvg: {
      const AxisArray sum = Reduce(r, ReduceOp::kSum, Cast(r, masked(0), type), kept);
      return Typed{Map(r, ScalarOp::kDivide, type, {sum, Cast(r, Count(r, ok, kept), type)}), some};
    }
    case AggregateFunction::kComoment: {
      const AxisArray count = Cast(r, Count(r, ok, kept), type);
      const auto centred = [&](const AxisArray& a) {
        const AxisArray sum = Reduce(r, ReduceOp::kSum, masked_by(a, 0), kept);
        const AxisArray mean = Map(r, ScalarOp::kDivide, type, {sum, count});
        return Map(r, ScalarOp::kSubtract, type, {a, mean});
      };
      const AxisArray x = centred(value->value);
      const AxisArray y = SameExpr(arg, second) ? x : centred(other->value);
      const AxisArray product = Map(r, ScalarOp::kMultiply, type, {x, y});
      return Typed{Reduce(r, ReduceOp::kSum, masked_by(product, 0), kept), some};
    }
    case AggregateFunction::kMax:
      return Typed{Reduce(r, ReduceOp::kMax, masked(-HUGE_VAL), kept), some};
    case AggregateFunction::kMin:  // NaN is SQL's greatest value
      return Typed{Reduce(r, ReduceOp::kMin, masked(std::nan("")), kept), some};
    default:
      return std::nullopt;
  }
}

std::vector<int> GridLowering::NamedAxes(const GridRelation& r, const std::vector<int>& columns) {
  const auto column = [&](int c) -> const GridColumn& { return r.columns[static_cast<size_t>(c)]; };
  std::vector<int> axes;
  const auto add = [&](int axis) {
    if (!HasAxis(axes, axis)) axes.push_back(axis);
  };
  for (int c : columns) {
    if (column(c).kind == GridColumn::Kind::kCoordinate) add(column(c).axis);
    if (!column(c).key) continue;
    const GridColumn::Key& key = *column(c).key;
    const auto named = [&](int identifying) {
      return std::any_of(columns.begin(), columns.end(), [&](int other) {
        const auto& k = column(other).key;
        return k && k->axis == key.axis && k->values.table_id == key.values.table_id &&
               k->values.column == identifying;
      });
    };
    const std::vector<int>& all = key.identify;
    if (!all.empty() && std::all_of(all.begin(), all.end(), named)) add(key.axis);
  }
  return axes;
}

std::optional<GridLowering::GroupAxes> GridLowering::FindGroupAxes(
    const GridRelation& r, const std::vector<ExprRef>& keys) {
  std::vector<int> columns;
  for (const ExprRef& key : keys) {
    if (key->kind != ExprKind::kColumn) return std::nullopt;
    columns.push_back(key->index);
  }
  GroupAxes axes{NamedAxes(r, columns), std::nullopt};
  for (size_t k = 0; k < columns.size(); ++k) {
    const GridColumn& c = r.columns[static_cast<size_t>(columns[k])];
    if (!c.valid.none()) return std::nullopt;
    if (c.kind == GridColumn::Kind::kCoordinate || (c.key && HasAxis(axes.kept, c.key->axis)))
      continue;
    if (axes.scattered || !DomainOf(c)) return std::nullopt;
    axes.scattered = k;
    axes.kept.push_back(c.key->axis);
  }
  return axes;
}

std::optional<std::vector<int>> GridLowering::KeyAxes(const GridRelation& r,
                                                      const std::vector<ExprRef>& keys) {
  auto axes = FindGroupAxes(r, keys);
  return axes && !axes->scattered ? std::optional(std::move(axes->kept)) : std::nullopt;
}

// Groups come in first-seen order, which is the input's axis order; their arrays lie in the order
// of the keys, as the query wrote them, so that products find the layout they are read in.
std::vector<int> GridLowering::KeepAxes(const GridRelation& r, std::vector<int> kept,
                                        GridRelation& out) {
  std::sort(kept.begin(), kept.end());
  std::vector<int> to(r.extents.size(), -1);
  for (int axis : kept) {
    to[static_cast<size_t>(axis)] = static_cast<int>(out.extents.size());
    out.extents.push_back(r.extents[static_cast<size_t>(axis)]);
  }
  return to;
}

GridLowering::Maybe GridLowering::LowerGroupBy(const Node& n, const GroupBy& g) {
  const GridRelation& r = in(n, 0);
  const auto axes = FindGroupAxes(r, g.keys);
  if (!axes) return std::nullopt;
  const std::vector<int>& kept = axes->kept;
  GridRelation out;
  const std::vector<int> to = KeepAxes(r, kept, out);
  for (const ExprRef& key : g.keys) {
    out.columns.push_back(r.columns[static_cast<size_t>(key->index)]);
    RenameAxes(out.columns.back(), to);
  }
  for (const Aggregate& a : g.aggregates) {
    const bool extreme =
        a.function == AggregateFunction::kMin || a.function == AggregateFunction::kMax;
    if (a.distinct && !extreme) return std::nullopt;
    const bool adds_up = a.function == AggregateFunction::kSum ||
                         a.function == AggregateFunction::kCount ||
                         a.function == AggregateFunction::kCountStar;
    if (axes->scattered && !adds_up) return std::nullopt;
    auto value = ReduceAggregate(r, a, kept, !g.keys.empty());
    if (!value) return std::nullopt;
    GridColumn c;
    c.kind = GridColumn::Kind::kArray;
    c.type = a.type;
    c.value = Renamed(value->value, to);
    c.valid = Renamed(value->valid, to);
    out.columns.push_back(std::move(c));
  }
  // A group exists where some row does; without keys there always is one.
  if (!r.mask.none() && !g.keys.empty())
    out.mask = Renamed(Simplify(Reduce(r, ReduceOp::kAny, r.mask, kept)), to);
  if (axes->scattered) return ScatterGroups(out, *axes->scattered);
  return out;
}

GridLowering::Maybe GridLowering::LowerWindow(const Node& n, const Window& w) {
  if (!IsWholePartition(w)) return std::nullopt;
  const GridRelation& r = in(n, 0);
  const auto kept = KeyAxes(r, w.partition);
  if (!kept) return std::nullopt;
  GridRelation out = r;
  for (const WindowCall& call : w.calls) {
    AggregateFunction f;
    switch (call.function) {
      case WindowFunction::kCountStar:
        f = AggregateFunction::kCountStar;
        break;
      case WindowFunction::kCount:
        f = AggregateFunction::kCount;
        break;
      case WindowFunction::kSum:
        f = AggregateFunction::kSum;
        break;
      case WindowFunction::kAvg:
        f = AggregateFunction::kAvg;
        break;
      case WindowFunction::kMin:
        f = AggregateFunction::kMin;
        break;
      case WindowFunction::kMax:
        f = AggregateFunction::kMax;
        break;
      case WindowFunction::kComoment:
        f = AggregateFunction::kComoment;
        break;
      default:
        return std::nullopt;
    }
    const ExprRef arg = call.args.empty() ? nullptr : call.args[0];
    const ExprRef second = call.args.size() < 2 ? nullptr : call.args[1];
    const Aggregate aggregate{f, arg, call.filter, false, call.type, second};
    auto value = ReduceAggregate(r, aggregate, *kept, /*grouped=*/true);
    if (!value) return std::nullopt;
    GridColumn c;
    c.kind = GridColumn::Kind::kArray;
    c.type = call.type;
    c.value = value->value;
    c.valid = value->valid;
    out.columns.push_back(std::move(c));
  }
  return out;
}

}  // namespace adjoin
