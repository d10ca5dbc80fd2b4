//   GroupBy[keys; SUM(x * y), COUNT(*)?]        Contraction[keys; x(left) * y(right); on, mask]
//     (Project | Filter)*                  =>      Filter[conditions of the left alone]  L
//       Join[on; residual]  L  R                   Filter[conditions of the right alone]  R
//
// Each factor may be any expression over one side. A condition between the sides becomes the mask
// where it reads only join columns and keys: what the transposes of the product still have at hand.
#include <algorithm>
#include <optional>
#include <utility>

#include "plan/rules.h"
#include "plan/rules/sum_of_product.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// Makes each join key a plain column of its side, appending a projection where one is an
// expression.
NodeRef WithKeyColumns(const NodeRef& side, const std::vector<ExprRef>& keys, Planner& planner,
                       std::vector<int>* columns) {
  Project p;
  for (int c = 0; c < side->width(); ++c)
    p.exprs.push_back(ColumnExpr(c, side->types[static_cast<size_t>(c)]));
  for (const ExprRef& key : keys) {
    if (key->kind == ExprKind::kColumn) {
      columns->push_back(key->index);
      continue;
    }
    columns->push_back(static_cast<int>(p.exprs.size()));
    p.exprs.push_back(key);
  }
  return static_cast<int>(p.exprs.size()) == side->width()
             ? side
             : planner.Make(std::move(p), {side}, side->names);
}

NodeRef Filtered(const NodeRef& side, const std::vector<ExprRef>& conditions, Planner& planner) {
  return conditions.empty() ? side : planner.Make(Filter{AndAll(conditions)}, {side});
}

}  // namespace

NodeRef RecogniseContraction(const NodeRef& node, Planner& planner,
                             const absl::flat_hash_set<const Node*>& kept) {
  const auto* group_by = std::get_if<GroupBy>(&node->op);
  if (group_by == nullptr || !OnlySum(group_by->aggregates)) return nullptr;
  auto flat = FlattenGroups(node, *group_by, kept);
  if (!flat) return nullptr;
  const SumPosition which = *OnlySum(flat->aggregates);
  const auto& join = std::get<Join>(flat->join->op);
  const NodeRef sides[2] = {flat->join->inputs[0], flat->join->inputs[1]};
  const int split = sides[0]->width();

  std::vector<ExprRef> by_side[2];
  const ExprRef& summed = flat->aggregates[static_cast<size_t>(which.sum)].arg;
  const auto both = [&](const ExprRef& e) { return SideOf(e, split) == 2; };
  for (const ExprRef& f : FactorsOf(summed, both)) {
    const int side = SideOf(f, split);
    if (side == 2) return nullptr;
    by_side[side == 1 ? 1 : 0].push_back(f);
  }
  for (const auto& own : by_side) {  // a product needs a column of each side
    if (std::none_of(own.begin(), own.end(),
                     [](const ExprRef& f) { return !ColumnsOf(f).empty(); }))
      return nullptr;
  }

  std::vector<ExprRef> own_conditions[2], mask, on[2];
  for (const ExprRef& c : flat->conditions) {
    const int side = SideOf(c, split);
    if (side == 2) {
      mask.push_back(c);
    } else {
      own_conditions[side == 1 ? 1 : 0].push_back(side == 1 ? ShiftColumns(c, -split) : c);
    }
  }
  for (const JoinKey& k : join.keys) on[0].push_back(k.left), on[1].push_back(k.right);

  Contraction c;
  c.count = which.count >= 0;
  for (const ExprRef& key : flat->keys) {
    if (key->kind != ExprKind::kColumn) return nullptr;
    c.keys.push_back(key->index < split ? ContractionKey{0, key->index}
                                        : ContractionKey{1, key->index - split});
  }
  std::vector<int> columns[2];
  NodeRef inputs[2];
  for (int s : {0, 1}) {
    inputs[s] =
        WithKeyColumns(Filtered(sides[s], own_conditions[s], planner), on[s], planner, &columns[s]);
  }
  for (const ExprRef& m : mask) {
    for (int column : ColumnsOf(m)) {
      const int side = column < split ? 0 : 1, own = side == 0 ? column : column - split;
      const bool joined =
          std::find(columns[side].begin(), columns[side].end(), own) != columns[side].end();
      const bool key = std::any_of(c.keys.begin(), c.keys.end(), [&](const ContractionKey& k) {
        return k.side == side && k.column == own;
      });
      if (!joined && !key) return nullptr;
    }
  }
  for (size_t k = 0; k < join.keys.size(); ++k) {
    c.on.push_back({ColumnExpr(columns[0][k], join.keys[k].left->type),
                    ColumnExpr(columns[1][k], join.keys[k].right->type), join.keys[k].null_safe});
  }
  const int new_split = inputs[0]->width();
  c.mask = AndAll(mask);
  if (c.mask != nullptr) {
    c.mask = MapColumns(c.mask, [&](const Expr& e) {
      return ColumnExpr(e.index < split ? e.index : e.index - split + new_split, e.type);
    });
  }
  c.left_factor = ProductOf(by_side[0]);
  c.right_factor = ShiftColumns(ProductOf(by_side[1]), -split);

  const int num_keys = static_cast<int>(c.keys.size());
  const bool in_order = which.sum == 0;
  NodeRef product = planner.Make(std::move(c), {inputs[0], inputs[1]},
                                 in_order ? node->names : std::vector<std::string>{});
  if (in_order) return product;
  Project reorder;  // COUNT(*) came first
  for (int k = 0; k < num_keys; ++k)
    reorder.exprs.push_back(ColumnExpr(k, product->types[static_cast<size_t>(k)]));
  reorder.exprs.push_back(ColumnExpr(num_keys + 1, TypeId::kInt64));
  reorder.exprs.push_back(ColumnExpr(num_keys, product->types[static_cast<size_t>(num_keys)]));
  return planner.Make(std::move(reorder), {product}, node->names);
}

}  // namespace adjoin
