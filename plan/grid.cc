#include "plan/grid.h"

#include <algorithm>
#include <utility>

#include "plan/scalar_functions.h"

namespace adjoin {

const GridRelation* GridLowering::Find(const NodeRef& node) const {
  auto it = relations_.find(node.get());
  return it != relations_.end() && it->second ? &*it->second : nullptr;
}

GridLowering::Maybe GridLowering::LowerValues(const Node& n, const Values& v) {
  if (v.rows.size() != 1) return LowerCountedValues(n, v);
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

// A dim in another integer type that holds it is that dim.
std::optional<GridColumn> GridLowering::CastCoordinate(const GridRelation& r, const ExprRef& e) {
  if (e->kind == ExprKind::kColumn) return r.columns[static_cast<size_t>(e->index)];
  if (e->kind != ExprKind::kCall || e->function->null_rule != NullRule::kCast) return std::nullopt;
  std::optional<GridColumn> c = CastCoordinate(r, e->args[0]);
  if (!c || c->kind != GridColumn::Kind::kCoordinate || !CastStaysInRange(e->type, ToArray(r, *c)))
    return std::nullopt;
  c->type = e->type;
  return c;
}

GridLowering::Maybe GridLowering::LowerProject(const Node& n, const Project& p) {
  const GridRelation& r = in(n, 0);
  GridRelation out{r.extents, r.mask, {}};
  for (const ExprRef& e : p.exprs) {
    if (auto column = CastCoordinate(r, e)) {
      out.columns.push_back(*std::move(column));
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
  Maybe operator()(const Series& s) { return g.LowerSeries(n, s); }
  Maybe operator()(const Filter& f) { return g.LowerFilter(n, f); }
  Maybe operator()(const Project& p) { return g.LowerProject(n, p); }
  Maybe operator()(const Join& j) { return g.LowerJoin(n, j); }
  Maybe operator()(const GroupBy& b) { return g.LowerGroupBy(n, b); }
  Maybe operator()(const Window& w) { return g.LowerWindow(n, w); }
  Maybe operator()(const Sort&) { return std::nullopt; }
  Maybe operator()(const Limit&) { return std::nullopt; }
  Maybe operator()(const UnionAll&) { return std::nullopt; }
  Maybe operator()(const Contraction& c) { return g.LowerContraction(n, c); }
  Maybe operator()(const SparseProduct&) { return std::nullopt; }
  Maybe operator()(const SampledProduct&) { return std::nullopt; }
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
    const auto named = g.NamedAxes(input, r.columns);
    if (named.size() != input.extents.size()) return std::nullopt;
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
