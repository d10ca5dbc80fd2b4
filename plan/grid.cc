#include "plan/grid.h"

#include <algorithm>
#include <utility>

#include "plan/scalar_functions.h"

namespace adjoin {

bool Holds(const Guard& guard, const Table& table) {
  switch (guard.kind) {
    case Guard::Kind::kGrid:
      return table.grid().has_value() && *table.grid() == guard.shape;
    case Guard::Kind::kOneRow:
      return table.num_rows() == 1;
    case Guard::Kind::kNoNulls:
      return !table.column(guard.column)->has_nulls();
    case Guard::Kind::kInRange: {
      const Column& c = *table.column(guard.column);
      if (c.has_nulls()) return false;
      const auto in_range = [&](auto zero) {
        const auto* v = c.values<decltype(zero)>();
        bool ok = true;
        for (int64_t i = 0; i < c.length(); ++i) ok &= v[i] >= guard.low && v[i] < guard.high;
        return ok;
      };
      if (c.type() == TypeId::kInt64) return in_range(int64_t{});
      if (c.type() == TypeId::kInt32) return in_range(int32_t{});
      return c.type() == TypeId::kInt16 && in_range(int16_t{});
    }
  }
  return false;
}

const GridRelation* GridLowering::Find(const NodeRef& node) const {
  auto it = relations_.find(node.get());
  return it != relations_.end() && it->second ? &*it->second : nullptr;
}

// A table's dims are its axes; a table of one row and no dims is a grid of no axes.
GridLowering::Maybe GridLowering::LowerScan(const Node&, const Scan& s) {
  auto it = tables_.find(s.table_id);
  if (it == tables_.end()) return std::nullopt;
  const Table& table = *it->second;
  const bool one_row = table.schema().dims.empty() && table.num_rows() == 1;
  if (table.num_rows() == 0 || (!table.grid() && !one_row)) return std::nullopt;
  GridRelation out;
  Guard guard;
  guard.kind = one_row ? Guard::Kind::kOneRow : Guard::Kind::kGrid;
  guard.table_id = s.table_id;
  if (!one_row) {
    guard.shape = *table.grid();
    out.extents = guard.shape.extents;
  }
  std::vector<int> axis_of(table.schema().fields.size(), -1);
  for (size_t d = 0; d < out.extents.size(); ++d)
    axis_of[static_cast<size_t>(table.schema().dims[d])] = static_cast<int>(d);
  guards_.push_back(guard);
  std::vector<int> all_axes;
  for (size_t d = 0; d < out.extents.size(); ++d) all_axes.push_back(static_cast<int>(d));
  for (int i = 0; i < table.num_columns(); ++i) {
    GridColumn c;
    c.type = table.column(i)->type();
    const int axis = axis_of[static_cast<size_t>(i)];
    if (axis >= 0) {
      c.kind = GridColumn::Kind::kCoordinate;
      c.axis = axis;
      c.origin = guard.shape.origins[static_cast<size_t>(axis)];
    } else if (c.type != TypeId::kText) {
      ArrayNode n;
      n.op = ArrayOp::kInput;
      n.type = c.type;
      n.shape = out.extents;
      n.table_id = s.table_id;
      n.column = i;
      c.kind = GridColumn::Kind::kArray;
      c.value = {graph_.Add(n), all_axes};
      if (table.column(i)->has_nulls()) {
        n.type = TypeId::kBool;
        n.valid = true;
        c.valid = {graph_.Add(std::move(n)), all_axes};
      } else {
        guards_.push_back({Guard::Kind::kNoNulls, s.table_id, i, {}, 0, 0});
      }
    }
    out.columns.push_back(std::move(c));
  }
  return out;
}

GridLowering::Maybe GridLowering::LowerValues(const Node&, const Values& v) {
  if (v.rows.size() != 1) return std::nullopt;
  GridRelation out;
  for (const ExprRef& e : v.rows[0]) {
    GridColumn c;
    c.type = e->type;
    if (auto t = Translate(out, e)) {
      c.kind = GridColumn::Kind::kArray;
      c.value = t->value;
      c.valid = t->valid;
    }
    out.columns.push_back(std::move(c));
  }
  return out;
}

GridLowering::Maybe GridLowering::LowerProject(const Node& n, const Project& p) {
  const GridRelation& r = in(n, 0);
  GridRelation out{r.extents, r.mask, {}};
  for (const ExprRef& e : p.exprs) {
    if (e->kind == ExprKind::kColumn) {
      out.columns.push_back(r.columns[static_cast<size_t>(e->index)]);
      continue;
    }
    auto t = Translate(r, e);
    if (!t) return std::nullopt;
    GridColumn c;
    c.kind = GridColumn::Kind::kArray;
    c.type = e->type;
    c.value = t->value;
    c.valid = t->valid;
    out.columns.push_back(std::move(c));
  }
  return out;
}

GridLowering::Maybe GridLowering::LowerFilter(const Node& n, const Filter& f) {
  GridRelation out = in(n, 0);
  auto t = Translate(out, f.predicate);
  if (!t) return std::nullopt;
  out.mask = Simplify(And(out, out.mask, And(out, t->valid, t->value)));
  return out;
}

// One overload an operator; what has none needs an order or unknown sizes, and runs on Rows.
struct GridLowerer {
  GridLowering& g;
  const Node& n;
  using Maybe = std::optional<GridRelation>;

  Maybe operator()(const Scan& s) { return g.LowerScan(n, s); }
  Maybe operator()(const Values& v) { return g.LowerValues(n, v); }
  Maybe operator()(const Series&) { return std::nullopt; }
  Maybe operator()(const Filter& f) { return g.LowerFilter(n, f); }
  Maybe operator()(const Project& p) { return g.LowerProject(n, p); }
  Maybe operator()(const Join& j) { return g.LowerJoin(n, j); }
  Maybe operator()(const GroupBy& b) { return g.LowerGroupBy(n, b); }
  Maybe operator()(const Window& w) { return g.LowerWindow(n, w); }
  Maybe operator()(const Sort&) { return std::nullopt; }
  Maybe operator()(const Limit&) { return std::nullopt; }
  Maybe operator()(const UnionAll&) { return std::nullopt; }
  Maybe operator()(const Contraction& c) { return g.LowerContraction(n, c); }
  Maybe operator()(const RowId&) {
    GridRelation out = g.in(n, 0);
    GridColumn c;
    c.kind = GridColumn::Kind::kRowId;
    for (size_t a = 0; a < out.extents.size(); ++a)
      c.parts.push_back({static_cast<int>(a), {}, 0, out.extents[a]});
    out.columns.push_back(std::move(c));
    return out;
  }
  Maybe operator()(const Lookup& l) { return g.LowerLookup(n, l); }
  Maybe operator()(const Collect& c) { return g.LowerCollect(n, c); }
  Maybe operator()(const Require& r) {
    const GridRelation& input = g.in(n, 0);
    if (r.what != Require::What::kUnique) {
      return input.extents.empty() && input.mask.none() ? Maybe(input) : std::nullopt;
    }
    for (size_t a = 0; a < input.extents.size(); ++a) {
      const bool named = std::any_of(r.columns.begin(), r.columns.end(), [&](int c) {
        const GridColumn& column = input.columns[static_cast<size_t>(c)];
        return column.kind == GridColumn::Kind::kCoordinate && column.axis == static_cast<int>(a);
      });
      if (!named) return std::nullopt;
    }
    return input;
  }
  Maybe operator()(const Derivative&) { return std::nullopt; }
  Maybe operator()(const Recursion&) { return std::nullopt; }
  Maybe operator()(const RecursionInput&) { return std::nullopt; }
};

const GridRelation* GridLowering::Lower(const NodeRef& node) {
  auto it = relations_.find(node.get());
  if (it == relations_.end()) {
    const bool inputs_on_grid = std::all_of(node->inputs.begin(), node->inputs.end(),
                                            [&](const NodeRef& i) { return Find(i) != nullptr; });
    std::optional<GridRelation> relation;
    if (inputs_on_grid) relation = std::visit(GridLowerer{*this, *node}, node->op);
    relations_.emplace(node.get(), std::move(relation));
  }
  return Find(node);
}

}  // namespace adjoin
