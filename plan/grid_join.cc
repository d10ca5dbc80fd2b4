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
  AxisArray inside;  // where a left row has its match, none: everywhere
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
    const int64_t right_extent = right.extents[static_cast<size_t>(right_axis)];
    if (offset >= 0 && offset + left_extent <= right_extent) {
      at = {left_axis, {}, offset, true};
      return true;
    }
    if (!keep_left_rows) return false;
    // Left rows beyond the right's range have no match: they look up the first, under a mask.
    GridColumn position;
    position.kind = GridColumn::Kind::kCoordinate;
    position.type = TypeId::kInt64;
    position.axis = left_axis;
    position.origin = offset;
    const AxisArray index = ToArray(left, position),
                    first = Constant(Value::Int(0), TypeId::kInt64);
    const AxisArray end = Constant(Value::Int(right_extent), TypeId::kInt64);
    const AxisArray in_range =
        And(left, Map(left, ScalarOp::kLessEqual, TypeId::kBool, {first, index}),
            Map(left, ScalarOp::kLess, TypeId::kBool, {index, end}));
    p.inside = And(left, p.inside, in_range);
    at = {-1, Select(left, in_range, index, first), 0, true};
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
  std::vector<int> left_named, right_named;  // columns of keys that are the same table's
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
    } else if (lc.key && rc.key && lc.key->values == rc.key->values) {
      left_named.push_back(l);
      right_named.push_back(r);
    } else if (lc.key && rc.key && rc.key->identify.size() == 1) {
      const auto positions = PositionsAlong(*lc.key, *rc.key);
      if (!positions || !indexed(*positions, rc.key->axis, 0)) return std::nullopt;
    } else if (lc.kind == Kind::kArray && rc.kind == Kind::kCoordinate && IsInteger(lc.type)) {
      // A guard on the input column keeps every position inside, so that no row is lost.
      const ArrayNode* source = &graph_.node(lc.value.id);
      if (source->op == ArrayOp::kGather) source = &graph_.node(source->operands[0].array);
      if (source->op != ArrayOp::kInput || source->guard >= 0) return std::nullopt;
      Guard guard{Guard::Kind::kInRange,
                  source->table_id,
                  source->column,
                  {},
                  rc.origin,
                  rc.origin + right.extents[static_cast<size_t>(rc.axis)],
                  {},
                  {}};
      if (!indexed(lc.value, rc.axis, rc.origin) || AddGuard(std::move(guard)) < 0)
        return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  // Rows of one table meet where what identifies them does.
  const std::vector<int> named = NamedAxes(right, right_named);
  for (size_t k = 0; k < right_named.size(); ++k) {
    const GridColumn::Key& lk = *left.columns[static_cast<size_t>(left_named[k])].key;
    const GridColumn::Key& rk = *right.columns[static_cast<size_t>(right_named[k])].key;
    if (!HasAxis(named, rk.axis) || !along(lk.axis, 0, rk.axis, 0)) return std::nullopt;
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
  if (c.key) {
    const Placement::Axis& at = p.axes[static_cast<size_t>(c.key->axis)];
    const bool whole = at.axis >= 0 && joined.extents[static_cast<size_t>(at.axis)] ==
                                           right.extents[static_cast<size_t>(c.key->axis)];
    out.key->axis = at.axis;
    if (!whole) out.key.reset();
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
  // TEXT by a key that was looked up is the text that it was looked up by.
  for (const auto& [l, r] : columns) {
    GridColumn& c = out.columns[left.columns.size() + static_cast<size_t>(r)];
    if (c.kind == GridColumn::Kind::kNone && !c.key) c = out.columns[static_cast<size_t>(l)];
  }
  const AxisArray right_mask = And(out, p->inside, Place(out, *p, right, right.mask));
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

// The position of each key's value among the labels, which a guard keeps found.
std::optional<AxisArray> GridLowering::PositionsAlong(const GridColumn::Key& keys,
                                                      const GridColumn::Key& labels) {
  const int guard =
      AddGuard({.kind = Guard::Kind::kPositions, .keys = keys.values, .labels = labels.values});
  if (guard < 0) return std::nullopt;
  return ComputedInput(guard, TypeId::kInt64, {keys.values.count}, {keys.axis});
}

// Axis a becomes axis to[a].
void GridLowering::RenameAxes(GridColumn& c, const std::vector<int>& to) {
  const auto rename = [&](AxisArray& a) {
    for (int& axis : a.axes) axis = to[static_cast<size_t>(axis)];
  };
  if (c.kind == GridColumn::Kind::kCoordinate) c.axis = to[static_cast<size_t>(c.axis)];
  if (c.key) c.key->axis = to[static_cast<size_t>(c.key->axis)];
  rename(c.value);
  rename(c.valid);
  for (GridColumn::Part& part : c.parts) {
    if (part.axis >= 0) part.axis = to[static_cast<size_t>(part.axis)];
    rename(part.index);
  }
}

// Axis order[k] becomes axis k.
void GridLowering::PermuteAxes(GridRelation& r, const std::vector<int>& order) {
  std::vector<int> to(order.size());
  std::vector<int64_t> extents;
  for (size_t k = 0; k < order.size(); ++k) {
    to[static_cast<size_t>(order[k])] = static_cast<int>(k);
    extents.push_back(r.extents[static_cast<size_t>(order[k])]);
  }
  r.extents = std::move(extents);
  for (int& axis : r.mask.axes) axis = to[static_cast<size_t>(axis)];
  for (GridColumn& c : r.columns) RenameAxes(c, to);
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

}  // namespace adjoin
