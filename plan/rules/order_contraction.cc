//   GroupBy[keys; SUM(x * y * z)]        Contraction[keys; product * z]
//     (Project | Filter)*                  Contraction[axes that z or the keys need; x * y]
//       Join  (Join  X  Y)  Z       =>       X
//                                            Y
//                                          Z
//
// Columns that the joins equate are one axis of the product; so is each key. Where the shapes of
// the grids below tell every axis's extent, plan/contraction_order.h chooses the pairs. Sums of
// products distribute over joins, duplicates, absent rows and NULLs alike, so the order changes
// rounding alone, and where the finite terms beside an infinity cancel, its sign or whether it is
// NaN. Derivatives are taken of the pairs: twice the multiplications of the chosen order.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "plan/contraction_order.h"
#include "plan/rules.h"
#include "plan/rules/sum_of_product.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

constexpr int kMostNodes = 64;  // flattened: bounds the recursion
constexpr size_t kMostAxes = 64;

// A tree of inner joins, and what lies between them, as its leaves side by side.
class JoinTree {
 public:
  explicit JoinTree(const absl::flat_hash_set<const Node*>& kept) : kept_(kept) {}

  // Adds the node's leaves; returns its columns as expressions over the leaves' columns.
  std::vector<ExprRef> Add(const NodeRef& node) {
    if (++nodes_ > kMostNodes || !HasJoin(node)) return AddLeaf(node);
    std::vector<ExprRef> columns = Add(node->inputs[0]);
    if (const auto* filter = std::get_if<Filter>(&node->op)) {
      AddConditions(filter->predicate, columns);
    } else if (const auto* project = std::get_if<Project>(&node->op)) {
      std::vector<ExprRef> projected;
      for (const ExprRef& e : project->exprs) projected.push_back(Over(columns, e));
      columns = std::move(projected);
    } else {
      const auto& join = std::get<Join>(node->op);
      const std::vector<ExprRef> right = Add(node->inputs[1]);
      for (const JoinKey& k : join.keys)
        equal.push_back({Over(columns, k.left), Over(right, k.right), k.null_safe});
      columns.insert(columns.end(), right.begin(), right.end());
      AddConditions(join.residual, columns);
    }
    return columns;
  }

  static ExprRef Over(const std::vector<ExprRef>& columns, const ExprRef& e) {
    return MapColumns(e, [&](const Expr& c) { return columns[static_cast<size_t>(c.index)]; });
  }

  // The leaf that the expression reads; -1: none, or several.
  int LeafOf(const ExprRef& e) const {
    const std::vector<int> read = ColumnsOf(e);
    if (read.empty()) return -1;
    const int leaf = leaf_of[static_cast<size_t>(read[0])];
    const bool one = std::all_of(read.begin(), read.end(), [&](int column) {
      return leaf_of[static_cast<size_t>(column)] == leaf;
    });
    return one ? leaf : -1;
  }

  std::vector<NodeRef> leaves;
  std::vector<int> first;    // column of each leaf
  std::vector<int> leaf_of;  // each column
  std::vector<JoinKey> equal;
  std::vector<ExprRef> conditions;

 private:
  bool HasJoin(const NodeRef& node) const {
    const Node* at = node.get();
    while (!kept_.contains(at) &&
           (std::holds_alternative<Filter>(at->op) || std::holds_alternative<Project>(at->op)))
      at = at->inputs[0].get();
    const auto* join = std::get_if<Join>(&at->op);
    return join != nullptr && join->kind == JoinKind::kInner && !kept_.contains(at);
  }
  std::vector<ExprRef> AddLeaf(const NodeRef& node) {
    std::vector<ExprRef> columns;
    first.push_back(static_cast<int>(leaf_of.size()));
    for (const TypeId type : node->types) {
      columns.push_back(ColumnExpr(static_cast<int>(leaf_of.size()), type));
      leaf_of.push_back(static_cast<int>(leaves.size()));
    }
    leaves.push_back(node);
    return columns;
  }
  void AddConditions(const ExprRef& predicate, const std::vector<ExprRef>& columns) {
    for (const ExprRef& c : Conjuncts(predicate)) conditions.push_back(Over(columns, c));
  }

  const absl::flat_hash_set<const Node*>& kept_;
  int nodes_ = 0;
};

// Which columns are the same axis, and what is known of it.
struct Axes {
  std::vector<int> of_column;  // -1: none
  std::vector<int64_t> extents;
  std::vector<bool> null_safe;  // no join drops its NULLs
};

std::optional<Axes> FindAxes(const JoinTree& tree, const std::vector<ExprRef>& keys,
                             DimExtents& extents) {
  const size_t width = tree.leaf_of.size();
  std::vector<size_t> same(width);  // union-find
  std::iota(same.begin(), same.end(), size_t{0});
  const auto root = [&](size_t c) {
    while (same[c] != c) c = same[c] = same[same[c]];
    return c;
  };
  std::vector<bool> used(width, false), strict(width, false);
  for (const JoinKey& k : tree.equal) {
    if (k.left->kind != ExprKind::kColumn || k.right->kind != ExprKind::kColumn)
      return std::nullopt;
    const auto l = static_cast<size_t>(k.left->index), r = static_cast<size_t>(k.right->index);
    used[l] = used[r] = true;
    strict[l] = strict[l] || !k.null_safe;
    same[root(r)] = root(l);
  }
  for (const ExprRef& key : keys) {
    if (key->kind != ExprKind::kColumn) return std::nullopt;
    used[static_cast<size_t>(key->index)] = true;
  }
  Axes axes;
  axes.of_column.assign(width, -1);
  std::vector<int> of_root(width, -1);
  for (size_t c = 0; c < width; ++c) {
    if (!used[c]) continue;
    const auto leaf = static_cast<size_t>(tree.leaf_of[c]);
    const int64_t extent = extents.Of(tree.leaves[leaf])[c - static_cast<size_t>(tree.first[leaf])];
    if (extent == 0) return std::nullopt;
    int& axis = of_root[root(c)];
    if (axis < 0) {
      axis = static_cast<int>(axes.extents.size());
      axes.extents.push_back(extent);
      axes.null_safe.push_back(true);
    }
    axes.of_column[c] = axis;
    const auto a = static_cast<size_t>(axis);
    axes.extents[a] = std::min(axes.extents[a], extent);
    axes.null_safe[a] = axes.null_safe[a] && !strict[c];
  }
  return axes.extents.size() <= kMostAxes ? std::optional(std::move(axes)) : std::nullopt;
}

// A factor, or a product of some: a relation with a column for each of its axes.
struct Operand {
  NodeRef node;
  std::vector<int> columns;  // by axis; -1: not an axis of it
  ExprRef factor;
};

// The leaves as operands without their conditions and factors; no value where a leaf has two
// columns of one axis.
std::optional<std::vector<Operand>> OperandsOf(const JoinTree& tree, const Axes& axes) {
  std::vector<Operand> out;
  for (const NodeRef& leaf : tree.leaves)
    out.push_back({leaf, std::vector<int>(axes.extents.size(), -1), nullptr});
  for (size_t c = 0; c < tree.leaf_of.size(); ++c) {
    if (axes.of_column[c] < 0) continue;
    const auto leaf = static_cast<size_t>(tree.leaf_of[c]);
    int& column = out[leaf].columns[static_cast<size_t>(axes.of_column[c])];
    if (column >= 0) return std::nullopt;
    column = static_cast<int>(c) - tree.first[leaf];
  }
  return out;
}

// The condition over one operand's columns: of the leaf that it reads or, where it reads axes
// alone, of any that has them all. No value where there is none.
std::optional<std::pair<size_t, ExprRef>> Placed(const ExprRef& condition, const JoinTree& tree,
                                                 const Axes& axes,
                                                 const std::vector<Operand>& operands) {
  const std::vector<int> read = ColumnsOf(condition);
  if (read.empty()) return std::pair{size_t{0}, condition};
  if (const int leaf = tree.LeafOf(condition); leaf >= 0) {
    const auto l = static_cast<size_t>(leaf);
    return std::pair{l, ShiftColumns(condition, -tree.first[l])};
  }
  for (size_t l = 0; l < operands.size(); ++l) {
    const auto column = [&](int c) {
      const int axis = axes.of_column[static_cast<size_t>(c)];
      return axis < 0 ? -1 : operands[l].columns[static_cast<size_t>(axis)];
    };
    if (std::all_of(read.begin(), read.end(), [&](int c) { return column(c) >= 0; })) {
      return std::pair{l, MapColumns(condition, [&](const Expr& c) {
                         return ColumnExpr(column(c.index), c.type);
                       })};
    }
  }
  return std::nullopt;
}

// Sums over the dims that are no axis: no other factor has them.
void SumOwnDims(const std::vector<int64_t>& extents, Operand& operand, Planner& planner) {
  GroupBy sums;
  std::vector<int> columns(operand.columns.size(), -1);
  for (size_t axis = 0; axis < columns.size(); ++axis) {
    const int column = operand.columns[axis];
    if (column < 0) continue;
    columns[axis] = static_cast<int>(sums.keys.size());
    sums.keys.push_back(ColumnExpr(column, operand.node->types[static_cast<size_t>(column)]));
  }
  const auto dims = std::count_if(extents.begin(), extents.end(), [](int64_t e) { return e > 0; });
  // Without keys, no rows would become one.
  if (sums.keys.empty() || dims == std::ssize(sums.keys)) return;
  const TypeId type = operand.factor->type;
  sums.aggregates.push_back({AggregateFunction::kSum, operand.factor, nullptr, false, type});
  operand.factor = ColumnExpr(static_cast<int>(sums.keys.size()), type);
  operand.columns = std::move(columns);
  operand.node = planner.Make(std::move(sums), {operand.node});
}

// The product of two operands with these axes as keys.
Contraction Product(const Operand& left, const Operand& right, const std::vector<int>& keys,
                    const Axes& axes) {
  Contraction c;
  const auto column = [](const Operand& side, size_t axis) {
    return ColumnExpr(side.columns[axis],
                      side.node->types[static_cast<size_t>(side.columns[axis])]);
  };
  for (size_t axis = 0; axis < axes.extents.size(); ++axis) {
    if (left.columns[axis] >= 0 && right.columns[axis] >= 0)
      c.on.push_back({column(left, axis), column(right, axis), axes.null_safe[axis]});
  }
  for (const int key : keys) {
    const auto axis = static_cast<size_t>(key);
    c.keys.push_back(left.columns[axis] >= 0 ? ContractionKey{0, left.columns[axis]}
                                             : ContractionKey{1, right.columns[axis]});
  }
  c.left_factor = left.factor;
  c.right_factor = right.factor;
  return c;
}

// A product that others are still multiplied by.
Operand Multiply(const Operand& left, const Operand& right, const std::vector<int>& product_axes,
                 const Axes& axes, Planner& planner) {
  Operand out{nullptr, std::vector<int>(axes.extents.size(), -1), nullptr};
  for (size_t k = 0; k < product_axes.size(); ++k)
    out.columns[static_cast<size_t>(product_axes[k])] = static_cast<int>(k);
  Contraction c = Product(left, right, product_axes, axes);
  const int sum = static_cast<int>(product_axes.size());
  out.factor = ColumnExpr(sum, c.left_factor->type);
  c.count = product_axes.empty();
  out.node = planner.Make(std::move(c), {left.node, right.node});
  if (product_axes.empty()) {
    // One row even of no pairs: which must then stand for none.
    const ExprRef some = CallNamed(
        "<", {ConstantExpr(Value::Int(0), TypeId::kInt64), ColumnExpr(sum + 1, TypeId::kInt64)},
        TypeId::kBool);
    out.node = planner.Make(Filter{some}, {out.node});
  }
  return out;
}

// Gives each operand its factor of `summed` and its conditions; false where they do not fall apart
// by operand.
bool AddFactors(const JoinTree& tree, const Axes& axes, const ExprRef& summed, Planner& planner,
                std::vector<Operand>& operands) {
  const auto several = [&](const ExprRef& e) {
    return tree.LeafOf(e) < 0 && !ColumnsOf(e).empty();
  };
  std::vector<std::vector<ExprRef>> factors(operands.size()), conditions(operands.size());
  std::vector<bool> varies(operands.size(), false);
  for (const ExprRef& f : FactorsOf(summed, several)) {
    if (several(f)) return false;
    const auto leaf = static_cast<size_t>(std::max(tree.LeafOf(f), 0));
    factors[leaf].push_back(ShiftColumns(f, -tree.first[leaf]));
    varies[leaf] = varies[leaf] || tree.LeafOf(f) >= 0;
  }
  if (!std::all_of(varies.begin(), varies.end(), [](bool v) { return v; })) return false;
  for (const ExprRef& c : tree.conditions) {
    auto placed = Placed(c, tree, axes, operands);
    if (!placed) return false;
    conditions[placed->first].push_back(std::move(placed->second));
  }
  for (size_t l = 0; l < operands.size(); ++l) {
    operands[l].factor = ProductOf(factors[l]);
    if (!conditions[l].empty())
      operands[l].node = planner.Make(Filter{AndAll(conditions[l])}, {operands[l].node});
  }
  return true;
}

}  // namespace

NodeRef OrderContraction(const NodeRef& node, Planner& planner,
                         const absl::flat_hash_set<const Node*>& kept, DimExtents& extents) {
  const auto* group_by = std::get_if<GroupBy>(&node->op);
  if (group_by == nullptr || group_by->aggregates.size() != 1 || !OnlySum(group_by->aggregates))
    return nullptr;
  JoinTree tree(kept);
  const std::vector<ExprRef> columns = tree.Add(node->inputs[0]);
  if (tree.leaves.size() < 3) return nullptr;
  std::vector<ExprRef> keys;
  for (const ExprRef& key : group_by->keys) keys.push_back(JoinTree::Over(columns, key));
  const auto axes = FindAxes(tree, keys, extents);
  if (!axes) return nullptr;
  auto operands = OperandsOf(tree, *axes);
  const ExprRef summed = JoinTree::Over(columns, group_by->aggregates[0].arg);
  if (!operands || !AddFactors(tree, *axes, summed, planner, *operands)) return nullptr;

  ProductSum sum{axes->extents, {}, {}};
  for (size_t l = 0; l < operands->size(); ++l) {
    SumOwnDims(extents.Of(tree.leaves[l]), (*operands)[l], planner);
    sum.factors.emplace_back();
    for (size_t axis = 0; axis < axes->extents.size(); ++axis) {
      if ((*operands)[l].columns[axis] >= 0) sum.factors.back().push_back(static_cast<int>(axis));
    }
  }
  for (const ExprRef& key : keys)
    sum.kept.push_back(axes->of_column[static_cast<size_t>(key->index)]);
  std::vector<PairProduct> products = OrderProducts(sum);
  const PairProduct last = std::move(products.back());
  products.pop_back();
  const auto operand = [&](int number) { return (*operands)[static_cast<size_t>(number)]; };
  for (const PairProduct& p : products)
    operands->push_back(Multiply(operand(p.left), operand(p.right), p.axes, *axes, planner));
  const Operand left = operand(last.left), right = operand(last.right);
  return planner.Make(Product(left, right, sum.kept, *axes), {left.node, right.node}, node->names);
}

}  // namespace adjoin
