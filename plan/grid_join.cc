// Joins of grids unify axes; a key on a value column becomes a gather, and collecting by row ids
// its scatter.
#include <algorithm>
#include <utility>

#include "plan/grid.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// The column that a join key is, also below a cast that widens an integer.
int KeyColumn(const ExprRef& e) {
  const Expr* at = e.get();
  while (at->kind == ExprKind::kCall && at->function->null_rule == NullRule::kCast &&
         IsInteger(at->type) && IsInteger(at->args[0]->type) && at->args[0]->type <= at->type) {
    at = at->args[0].get();
  }
  return at->kind == ExprKind::kColumn ? at->index : -1;
}

}  // namespace

// Where each axis of the right relation went: onto an axis of the joined one from `origin` on
// (right index = joined index + origin), or to the position `index` - origin.
struct GridLowering::Placement {
  struct Axis {
    int axis = -1;
    AxisArray index;
    int64_t origin = 0;
    bool placed = false;
  };
  std::vector<Axis> axes;
};

std::optional<GridLowering::Placement> GridLowering::Unify(
    GridRelation& left, const GridRelation& right, const std::vector<std::pair<int, int>>& keys,
    bool keep_left_rows) {
  Placement p;
  p.axes.resize(right.extents.size());
  using Kind = GridColumn::Kind;
  // Left index + left_origin and right index + right_origin are the same number. Each left row must
  // find its match.
  const auto along = [&](int left_axis, int64_t left_origin, int right_axis, int64_t right_origin) {
    Placement::Axis& at = p.axes[static_cast<size_t>(right_axis)];
    const int64_t offset = left_origin - right_origin;
    if (at.placed) return at.axis == left_axis && at.origin == offset;
    const int64_t left_extent = left.extents[static_cast<size_t>(left_axis)];
    if (offset < 0 || offset + left_extent > right.extents[static_cast<size_t>(right_axis)])
      return false;
    at = {left_axis, {}, offset, true};
    return true;
  };
  const auto indexed = [&](const AxisArray& index, int right_axis, int64_t origin) {
    Placement::Axis& at = p.axes[static_cast<size_t>(right_axis)];
    if (at.placed)
      return at.axis < 0 && at.index.id == index.id && at.index.axes == index.axes &&
             at.origin == origin;
    at = {-1, index, origin, true};
    return true;
  };
  for (const auto& [l, r] : keys) {
    const GridColumn& lc = left.columns[static_cast<size_t>(l)];
    const GridColumn& rc = right.columns[static_cast<size_t>(r)];
    if (!lc.valid.none() || !rc.valid.none()) return std::nullopt;
    if (lc.kind == Kind::kRowId && rc.kind == Kind::kRowId && lc.parts.size() == rc.parts.size()) {
      for (size_t i = 0; i < lc.parts.size(); ++i) {
        const GridColumn::Part &a = lc.parts[i], &b = rc.parts[i];
        if (a.extent != b.extent || b.axis < 0) return std::nullopt;
        const bool ok = a.axis >= 0 ? along(a.axis, a.origin, b.axis, b.origin)
                                    : indexed(a.index, b.axis, a.origin + b.origin);
        if (!ok) return std::nullopt;
      }
    } else if (lc.kind == Kind::kCoordinate && rc.kind == Kind::kCoordinate) {
      if (!along(lc.axis, lc.origin, rc.axis, rc.origin)) return std::nullopt;
    } else if (lc.kind == Kind::kArray && rc.kind == Kind::kCoordinate && IsInteger(lc.type)) {
      // A guard on the input column keeps every position inside, so that no row is lost.
      const ArrayNode* source = &graph_.node(lc.value.id);
      if (source->op == ArrayOp::kGather) source = &graph_.node(source->operands[0].array);
      if (source->op != ArrayOp::kInput) return std::nullopt;
      Guard guard{Guard::Kind::kInRange,
                  source->table_id,
                  source->column,
                  {},
                  rc.origin,
                  rc.origin + right.extents[static_cast<size_t>(rc.axis)]};
      if (!Holds(guard, *tables_.find(guard.table_id)->second)) return std::nullopt;
      if (!indexed(lc.value, rc.axis, rc.origin)) return std::nullopt;
      guards_.push_back(std::move(guard));
    } else {
      return std::nullopt;
    }
  }
  for (size_t b = 0; b < p.axes.size(); ++b) {
    if (p.axes[b].placed) continue;
    if (keep_left_rows) return std::nullopt;
    p.axes[b] = {static_cast<int>(left.extents.size()), {}, 0, true};
    left.extents.push_back(right.extents[b]);
  }
  return p;
}

AxisArray GridLowering::Place(const GridRelation& joined, const Placement& p,
                              const GridRelation& right, const AxisArray& a) {
  if (a.none()) return a;
  AxisArray source = a;
  // Narrower on the left: a view of the part that is met.
  ArrayNode slice;
  slice.op = ArrayOp::kSlice;
  slice.type = TypeOf(a);
  bool sliced = false, gathered = false;
  for (int axis : a.axes) {
    const Placement::Axis& at = p.axes[static_cast<size_t>(axis)];
    const int64_t extent = right.extents[static_cast<size_t>(axis)];
    gathered |= at.axis < 0;
    const int64_t met = at.axis < 0 ? extent : joined.extents[static_cast<size_t>(at.axis)];
    slice.shape.push_back(met);
    slice.origins.push_back(at.axis < 0 ? 0 : at.origin);
    sliced |= met != extent;
  }
  if (sliced) {
    ArrayOperand operand{a.id, {}};
    for (size_t k = 0; k < a.axes.size(); ++k) operand.axes.push_back(static_cast<int>(k));
    slice.operands.push_back(std::move(operand));
    source.id = graph_.Add(std::move(slice));
  }
  if (!gathered) {
    for (int& axis : source.axes) axis = p.axes[static_cast<size_t>(axis)].axis;
    return source;
  }
  std::vector<int> axes;
  for (int axis : a.axes) {
    const Placement::Axis& at = p.axes[static_cast<size_t>(axis)];
    if (at.axis >= 0) {
      axes.push_back(at.axis);
    } else {
      axes.insert(axes.end(), at.index.axes.begin(), at.index.axes.end());
    }
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  const auto position = [&](int axis) {
    return static_cast<int>(std::lower_bound(axes.begin(), axes.end(), axis) - axes.begin());
  };
  ArrayNode n;
  n.op = ArrayOp::kGather;
  n.type = TypeOf(source);
  for (int axis : axes) n.shape.push_back(joined.extents[static_cast<size_t>(axis)]);
  n.operands.push_back({source.id, {}});
  for (size_t k = 0; k < a.axes.size(); ++k) {
    const Placement::Axis& at = p.axes[static_cast<size_t>(a.axes[k])];
    n.operands[0].axes.push_back(at.axis < 0 ? -1 : position(at.axis));
    if (at.axis >= 0) continue;
    ArrayOperand index{at.index.id, {}};
    for (int axis : at.index.axes) index.axes.push_back(position(axis));
    n.indexed.push_back(static_cast<int>(k));
    n.origins.push_back(at.origin);
    n.operands.push_back(std::move(index));
  }
  return {graph_.Add(std::move(n)), std::move(axes)};
}

GridColumn GridLowering::PlaceColumn(const GridRelation& joined, const Placement& p,
                                     const GridRelation& right, const GridColumn& c) {
  GridColumn out = c;
  out.valid = Place(joined, p, right, c.valid);
  if (c.kind == GridColumn::Kind::kArray) out.value = Place(joined, p, right, c.value);
  if (c.kind == GridColumn::Kind::kCoordinate) {
    const Placement::Axis& at = p.axes[static_cast<size_t>(c.axis)];
    if (at.axis >= 0) {
      out.axis = at.axis;
      out.origin = c.origin + at.origin;
    } else {
      out.kind = GridColumn::Kind::kArray;
      out.value = Cast(joined, at.index, c.type);
    }
  }
  for (GridColumn::Part& part : out.parts) {
    if (part.axis < 0) {
      part.index = Place(joined, p, right, part.index);
      continue;
    }
    const Placement::Axis& at = p.axes[static_cast<size_t>(part.axis)];
    part.axis = at.axis;
    if (at.axis >= 0) {
      part.origin += at.origin;
    } else {
      part.index = at.index;
      part.origin = at.origin - part.origin;
    }
  }
  return out;
}

std::optional<GridRelation> GridLowering::JoinRelations(const GridRelation& left,
                                                        const GridRelation& right,
                                                        const std::vector<JoinKey>& keys,
                                                        bool keep_left_rows, Placement* placement) {
  std::vector<std::pair<int, int>> columns;
  for (const JoinKey& k : keys) {
    columns.emplace_back(KeyColumn(k.left), KeyColumn(k.right));
    if (columns.back().first < 0 || columns.back().second < 0) return std::nullopt;
  }
  GridRelation out = left;
  auto p = Unify(out, right, columns, keep_left_rows);
  if (!p) return std::nullopt;
  for (const GridColumn& c : right.columns) out.columns.push_back(PlaceColumn(out, *p, right, c));
  const AxisArray right_mask = Place(out, *p, right, right.mask);
  if (keep_left_rows) {
    for (size_t c = left.columns.size(); c < out.columns.size(); ++c) {
      out.columns[c].valid = And(out, out.columns[c].valid, right_mask);
    }
  } else {
    out.mask = And(out, out.mask, right_mask);
  }
  if (placement != nullptr) *placement = *std::move(p);
  return out;
}

// Axis order[k] becomes axis k.
void GridLowering::PermuteAxes(GridRelation& r, const std::vector<int>& order) {
  std::vector<int> to(order.size());
  std::vector<int64_t> extents;
  for (size_t k = 0; k < order.size(); ++k) {
    to[static_cast<size_t>(order[k])] = static_cast<int>(k);
    extents.push_back(r.extents[static_cast<size_t>(order[k])]);
  }
  const auto rename = [&](AxisArray& a) {
    for (int& axis : a.axes) axis = to[static_cast<size_t>(axis)];
  };
  r.extents = std::move(extents);
  rename(r.mask);
  for (GridColumn& c : r.columns) {
    if (c.kind == GridColumn::Kind::kCoordinate) c.axis = to[static_cast<size_t>(c.axis)];
    rename(c.value);
    rename(c.valid);
    for (GridColumn::Part& part : c.parts) {
      if (part.axis >= 0) part.axis = to[static_cast<size_t>(part.axis)];
      rename(part.index);
    }
  }
}

GridLowering::Maybe GridLowering::LowerJoin(const Node& n, const Join& j) {
  const GridRelation &left = in(n, 0), &right = in(n, 1);
  if (j.kind == JoinKind::kLeft || j.kind == JoinKind::kSingle) {
    // Every left row has its match where the right is complete.
    if (!right.mask.none() || j.residual != nullptr) return std::nullopt;
    return JoinRelations(left, right, j.keys, j.kind == JoinKind::kSingle);
  }
  if (j.kind != JoinKind::kInner) return std::nullopt;
  auto out = JoinRelations(left, right, j.keys, false);
  if (!out) {
    // The other way round, where the left's coordinates are the right's values or the larger range.
    std::vector<JoinKey> swapped;
    for (const JoinKey& k : j.keys) swapped.push_back({k.right, k.left, k.null_safe});
    Placement of_left;
    out = JoinRelations(right, left, swapped, false, &of_left);
    if (!out) return std::nullopt;
    std::rotate(out->columns.begin(),
                out->columns.begin() + static_cast<ptrdiff_t>(right.columns.size()),
                out->columns.end());
    // Left rows first, as the Rows join has them; an axis that became an index has no place in the
    // order.
    std::vector<int> order;
    for (const Placement::Axis& axis : of_left.axes) {
      if (axis.axis >= 0 && !HasAxis(order, axis.axis)) order.push_back(axis.axis);
    }
    for (int axis = 0; axis < static_cast<int>(out->extents.size()); ++axis) {
      if (!HasAxis(order, axis)) order.push_back(axis);
    }
    PermuteAxes(*out, order);
  }
  if (j.residual != nullptr) {
    auto t = Translate(*out, j.residual);
    if (!t) return std::nullopt;
    out->mask = And(*out, out->mask, And(*out, t->valid, t->value));
  }
  out->mask = Simplify(out->mask);
  return out;
}

GridLowering::Maybe GridLowering::LowerLookup(const Node& n, const Lookup& l) {
  std::vector<JoinKey> keys;
  for (size_t k = 0; k < l.left_keys.size(); ++k)
    keys.push_back({l.left_keys[k], l.right_keys[k], true});
  return JoinRelations(in(n, 0), in(n, 1), keys, true);
}

GridLowering::Maybe GridLowering::LowerCollect(const Node& n, const Collect& c) {
  const GridRelation &left = in(n, 0), &right = in(n, 1);
  const GridColumn& own = left.columns[static_cast<size_t>(c.left_key)];
  const GridColumn& key = right.columns[static_cast<size_t>(c.right_key)];
  if (own.kind != GridColumn::Kind::kRowId || key.kind != GridColumn::Kind::kRowId ||
      own.parts.size() != left.extents.size() || key.parts.size() != own.parts.size()) {
    return std::nullopt;
  }
  // Each left axis from an axis of the right as it is, or from an index.
  const size_t rank = own.parts.size();
  std::vector<int> direct(rank, -1), used, index_axes;
  std::vector<AxisArray> index(rank);
  std::vector<int64_t> origins(rank, 0);
  bool scatters = false;
  for (size_t a = 0; a < rank; ++a) {
    const GridColumn::Part& part = key.parts[a];
    if (own.parts[a].axis != static_cast<int>(a) || own.parts[a].origin != 0 ||
        part.extent != left.extents[a]) {
      return std::nullopt;
    }
    if (part.axis >= 0 && part.origin == 0 &&
        right.extents[static_cast<size_t>(part.axis)] == part.extent && !HasAxis(used, part.axis)) {
      direct[a] = part.axis;
      used.push_back(part.axis);
      continue;
    }
    scatters = true;
    index[a] = part.index;
    origins[a] = part.origin;
    if (part.axis >= 0) {
      GridColumn coordinate;
      coordinate.kind = GridColumn::Kind::kCoordinate;
      coordinate.axis = part.axis;
      coordinate.origin = part.origin;
      index[a] = ToArray(right, coordinate);
      origins[a] = 0;
    }
    index_axes.insert(index_axes.end(), index[a].axes.begin(), index[a].axes.end());
  }

  // Adds `v` up at the left's cells; output axes that it does not vary along are left out where
  // nothing scatters there.
  const auto collect = [&](const AxisArray& v, ReduceOp op) -> AxisArray {
    std::vector<int> kept;
    for (size_t a = 0; a < rank; ++a) {
      if (direct[a] >= 0) kept.push_back(direct[a]);
    }
    for (int axis : index_axes) {
      if (!HasAxis(kept, axis)) kept.push_back(axis);
    }
    AxisArray sum = Reduce(right, op, v, kept);
    if (!scatters) {
      for (int& axis : sum.axes) {
        axis = static_cast<int>(std::find(direct.begin(), direct.end(), axis) - direct.begin());
      }
      return sum;
    }
    ArrayNode s;
    s.op = ArrayOp::kScatter;
    std::vector<int> space = index_axes, out_axes;
    for (int axis : sum.axes) space.push_back(axis);
    std::sort(space.begin(), space.end());
    space.erase(std::unique(space.begin(), space.end()), space.end());
    const auto operand = [&](const AxisArray& array) {
      ArrayOperand o{array.id, {}};
      for (int axis : array.axes) {
        o.axes.push_back(
            static_cast<int>(std::lower_bound(space.begin(), space.end(), axis) - space.begin()));
      }
      return o;
    };
    for (int axis : space) s.space.push_back(right.extents[static_cast<size_t>(axis)]);
    s.type = TypeOf(sum);
    s.operands.push_back(operand(sum));
    for (size_t a = 0; a < rank; ++a) {
      if (direct[a] >= 0) {
        if (!HasAxis(space, direct[a])) continue;
        s.kept.push_back(static_cast<int>(std::lower_bound(space.begin(), space.end(), direct[a]) -
                                          space.begin()));
      } else {
        s.operands.push_back(operand(index[a]));
        s.origins.push_back(origins[a]);
        s.kept.push_back(-static_cast<int>(s.origins.size()));
      }
      s.shape.push_back(left.extents[a]);
      out_axes.push_back(static_cast<int>(a));
    }
    return {graph_.Add(std::move(s)), std::move(out_axes)};
  };

  GridRelation out = left;
  for (const ExprRef& e : c.values) {
    auto t = Translate(right, e);
    if (!t || !IsFloat(e->type)) return std::nullopt;
    const AxisArray ok = And(right, right.mask, And(right, t->valid, key.valid));
    const AxisArray zero = Constant(Value::Float(0), e->type);
    GridColumn column;
    column.kind = GridColumn::Kind::kArray;
    column.type = e->type;
    column.value = collect(Select(right, ok, t->value, zero), ReduceOp::kSum);
    if (scatters) {
      const AxisArray ones = ok.none() ? Constant(Value::Float(1), TypeId::kFloat64)
                                       : Cast(right, ok, TypeId::kFloat64);
      const AxisArray count = collect(ones, ReduceOp::kSum);
      column.valid = Map(left, ScalarOp::kLess, TypeId::kBool,
                         {Constant(Value::Float(0), TypeId::kFloat64), count});
      ZeroOutside outside{column.valid.id, {}};
      for (int axis : column.valid.axes) {
        const auto& axes = column.value.axes;
        const auto at = std::find(axes.begin(), axes.end(), axis);
        if (at != axes.end()) outside.axes.push_back(static_cast<int>(at - axes.begin()));
      }
      if (outside.axes.size() == column.valid.axes.size())
        zero_outside_.emplace(column.value.id, std::move(outside));
    } else if (!ok.none()) {
      column.valid = Simplify(collect(ok, ReduceOp::kAny));
    }
    out.columns.push_back(std::move(column));
  }
  return out;
}

}  // namespace adjoin
