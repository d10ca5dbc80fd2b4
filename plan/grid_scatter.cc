// Sums by position: collecting by row ids, and groups by keys that do not tell an axis' rows apart.
#include <algorithm>
#include <utility>

#include "plan/grid.h"
#include "plan/scalar_functions.h"

namespace adjoin {

// Adds the cells of `v` up in an array of the targets' axes, of those extents; axes that come from
// one that `v` does not vary along are left out.
AxisArray GridLowering::ScatterTo(const GridRelation& r, const AxisArray& v,
                                  const std::vector<ScatterTarget>& targets,
                                  const std::vector<int64_t>& extents) {
  ArrayNode s;
  s.op = ArrayOp::kScatter;
  s.type = TypeOf(v);
  std::vector<int> space = v.axes, out_axes;
  for (const ScatterTarget& target : targets)
    space.insert(space.end(), target.index.axes.begin(), target.index.axes.end());
  std::sort(space.begin(), space.end());
  space.erase(std::unique(space.begin(), space.end()), space.end());
  for (int axis : space) s.space.push_back(r.extents[static_cast<size_t>(axis)]);
  const auto position = [&](int axis) {
    return static_cast<int>(std::lower_bound(space.begin(), space.end(), axis) - space.begin());
  };
  const auto operand = [&](const AxisArray& array) {
    ArrayOperand o{array.id, {}};
    for (int axis : array.axes) o.axes.push_back(position(axis));
    return o;
  };
  s.operands.push_back(operand(v));
  for (size_t a = 0; a < targets.size(); ++a) {
    const ScatterTarget& target = targets[a];
    if (target.axis >= 0) {
      if (!HasAxis(space, target.axis)) continue;
      s.kept.push_back(position(target.axis));
    } else {
      s.operands.push_back(operand(target.index));
      s.origins.push_back(target.origin);
      s.kept.push_back(-static_cast<int>(s.origins.size()));
    }
    s.shape.push_back(extents[a]);
    out_axes.push_back(static_cast<int>(a));
  }
  return {graph_.Add(std::move(s)), std::move(out_axes)};
}

// The axis that rows are grouped on by a key that does not tell them apart: one that it was looked
// up along, so that its values are known to be there.
std::optional<GridLowering::KeyDomain> GridLowering::DomainOf(const GridColumn& column) {
  if (!column.key || !column.valid.none()) return std::nullopt;
  const GridColumn::Key& key = *column.key;
  for (size_t g = 0; g < guards_.size(); ++g) {
    const Guard& guard = guards_[g];
    KeyDomain domain;
    domain.column.type = column.type;
    domain.column.axis = key.axis;
    if (guard.kind == Guard::Kind::kPositions && guard.keys == key.values) {
      domain.index =
          ComputedInput(static_cast<int>(g), TypeId::kInt64, {key.values.count}, {key.axis});
      domain.extent = guard.labels.count;
      domain.column.key = {key.axis, guard.labels, {guard.labels.column}};
      return domain;
    }
    if (guard.kind == Guard::Kind::kInRange && column.kind == GridColumn::Kind::kArray &&
        guard.table_id == key.values.table_id && guard.column == key.values.column) {
      domain.index = column.value;
      domain.origin = guard.low;
      domain.extent = guard.high - guard.low;
      domain.column.kind = GridColumn::Kind::kCoordinate;
      domain.column.origin = guard.low;
      return domain;
    }
  }
  return std::nullopt;
}

// Whether every group has a row, so that none needs a mask. A guard says so: where a table that is
// bound later lacks a group, the program is planned once more, with a mask.
bool GridLowering::IsCovered(const GridColumn::Key& key, const KeyDomain& domain) {
  if (domain.column.kind != GridColumn::Kind::kCoordinate) return false;
  return AddGuard({.kind = Guard::Kind::kCovers,
                   .table_id = key.values.table_id,
                   .column = key.values.column,
                   .low = domain.origin,
                   .high = domain.origin + domain.extent}) >= 0;
}

// Sums and counts by every row of the axis of key column `at`, added up by that key's values.
GridLowering::Maybe GridLowering::ScatterGroups(const GridRelation& g, size_t at) {
  const auto domain = DomainOf(g.columns[at]);
  if (!domain) return std::nullopt;
  const int axis = g.columns[at].key->axis;
  GridRelation out{g.extents, {}, g.columns};
  out.extents[static_cast<size_t>(axis)] = domain->extent;
  out.columns[at] = domain->column;
  std::vector<ScatterTarget> targets(g.extents.size());
  for (size_t a = 0; a < targets.size(); ++a) targets[a].axis = static_cast<int>(a);
  targets[static_cast<size_t>(axis)] = {-1, domain->index, domain->origin};
  const AxisArray zero = Constant(Value::Float(0), TypeId::kFloat64);
  const auto reached = [&](const AxisArray& ok) {
    const AxisArray ones =
        ok.none() ? Constant(Value::Float(1), TypeId::kFloat64) : Cast(g, ok, TypeId::kFloat64);
    return Map(out, ScalarOp::kLess, TypeId::kBool,
               {zero, ScatterTo(g, ones, targets, out.extents)});
  };
  for (size_t c = 0; c < g.columns.size(); ++c) {
    GridColumn& column = out.columns[c];
    if (c == at || column.kind == GridColumn::Kind::kCoordinate) continue;
    if (column.key) {
      if (column.key->axis == axis) return std::nullopt;
      continue;
    }
    const AxisArray ok = And(g, g.mask, column.valid);
    const TypeId type = IsFloat(column.type) ? column.type : TypeId::kFloat64;
    const AxisArray kept =
        Select(g, ok, Cast(g, column.value, type), Constant(Value::Float(0), type));
    column.value = Cast(out, ScatterTo(g, kept, targets, out.extents), column.type);
    if (!column.valid.none()) column.valid = reached(ok);
  }
  if (!g.mask.none() || !IsCovered(*g.columns[at].key, *domain)) out.mask = reached(g.mask);
  return out;
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
  std::vector<ScatterTarget> targets(rank);
  std::vector<int> used;
  bool scatters = false;
  for (size_t a = 0; a < rank; ++a) {
    const GridColumn::Part& part = key.parts[a];
    if (own.parts[a].axis != static_cast<int>(a) || own.parts[a].origin != 0 ||
        part.extent != left.extents[a]) {
      return std::nullopt;
    }
    if (part.axis >= 0 && part.origin == 0 &&
        right.extents[static_cast<size_t>(part.axis)] == part.extent && !HasAxis(used, part.axis)) {
      targets[a].axis = part.axis;
      used.push_back(part.axis);
      continue;
    }
    scatters = true;
    targets[a].index = part.index;
    targets[a].origin = part.origin;
    if (part.axis >= 0) {
      GridColumn coordinate;
      coordinate.kind = GridColumn::Kind::kCoordinate;
      coordinate.axis = part.axis;
      coordinate.origin = part.origin;
      targets[a].index = ToArray(right, coordinate);
      targets[a].origin = 0;
    }
  }

  // Adds `v` up at the left's cells; output axes that it does not vary along are left out where
  // nothing scatters there.
  const auto collect = [&](const AxisArray& v, ReduceOp op) -> AxisArray {
    std::vector<int> kept = used;
    for (const ScatterTarget& target : targets) {
      for (int axis : target.index.axes) {
        if (!HasAxis(kept, axis)) kept.push_back(axis);
      }
    }
    AxisArray sum = Reduce(right, op, v, kept);
    if (!scatters) {
      for (int& axis : sum.axes) {
        const auto at = std::find_if(targets.begin(), targets.end(),
                                     [&](const ScatterTarget& t) { return t.axis == axis; });
        axis = static_cast<int>(at - targets.begin());
      }
      return sum;
    }
    return ScatterTo(right, sum, targets, left.extents);
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
