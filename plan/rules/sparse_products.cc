//   GroupBy[keys; SUM(x * y), ..., COUNT(*)?]      SparseProduct[keys; x(left) * y(right), ...; on]
//     (Project | Filter)*                     =>     L
//       Join[on]  L  R                               R
//
// and the same of a Contraction without a mask. Each factor may be any expression over one side
// that raises no error, as it is computed of rows without a match, too.
#include <algorithm>
#include <optional>
#include <utility>

#include "plan/rules.h"
#include "plan/rules/sum_of_product.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// Of 200,000 rows that meet one row each a hash table takes 2.3 ms by 4 to 256 groups and 2.7 by
// 4096; a sparse product 5.5 at first, then 0.2 to 0.5 and 0.65. A product has a part for each
// range of groups, so that few groups leave threads idle.
constexpr double kFewestGroups = 64;

// A slot adds up one row of the product in as many cells at most: 32 MiB.
constexpr double kMostCells = 1 << 22;

// A structure that does not stay is paid for by every run: about 25 ns a row, as above, and 1.6 ns
// a pair, where a hash table of groups takes 12 a row and 25 a pair of many to a row (bench/olap's
// spmm_long).
constexpr double kPairsOfRow = 4;

// A base table's columns: rows whose keys have a version.
bool IsBaseTable(const NodeRef& node) {
  const Node* at = node.get();
  while (const auto* project = std::get_if<Project>(&at->op)) {
    for (const ExprRef& e : project->exprs) {
      if (e->kind != ExprKind::kColumn) return false;
    }
    at = at->inputs[0].get();
  }
  return std::holds_alternative<Scan>(at->op);
}

// Rows that lie in memory anyway, or expressions over those. A join would have to be stored first,
// whose rows may be many more than those it is of.
bool IsStored(const NodeRef& node) {
  const Node* at = node.get();
  while (std::holds_alternative<Project>(at->op)) at = at->inputs[0].get();
  return std::holds_alternative<Scan>(at->op) || std::holds_alternative<GroupBy>(at->op) ||
         std::holds_alternative<Contraction>(at->op) ||
         std::holds_alternative<SparseProduct>(at->op) ||
         std::holds_alternative<SampledProduct>(at->op);
}

struct Candidate {
  SparseProduct product;
  NodeRef sides[2];

  int FactorNumber(int side, const ExprRef& factor) {
    auto& factors = side == 0 ? product.left_factors : product.right_factors;
    for (size_t f = 0; f < factors.size(); ++f) {
      if (SameExpr(factors[f], factor)) return static_cast<int>(f);
    }
    factors.push_back(factor);
    return static_cast<int>(factors.size()) - 1;
  }

  void Swap() {
    for (JoinKey& key : product.on) std::swap(key.left, key.right);
    for (ContractionKey& key : product.keys) key.side = 1 - key.side;
    std::swap(product.left_factors, product.right_factors);
    for (SparseProduct::Sum& sum : product.sums) std::swap(sum.left, sum.right);
    std::swap(sides[0], sides[1]);
  }

  bool HasKeys(int side) const {
    return std::any_of(product.keys.begin(), product.keys.end(),
                       [&](const ContractionKey& k) { return k.side == side; });
  }
};

std::optional<Candidate> OfContraction(const Node& node, const Contraction& c) {
  if (c.mask != nullptr) return std::nullopt;
  Candidate out{{c.on, c.keys, {c.left_factor}, {c.right_factor}, {{0, 0}}},
                {node.inputs[0], node.inputs[1]}};
  if (c.count) out.product.sums.push_back({});
  return out;
}

bool AddSum(const Aggregate& aggregate, int split, TypeId& type, Candidate& out) {
  if (aggregate.filter != nullptr || aggregate.distinct) return false;
  if (aggregate.function == AggregateFunction::kCountStar) {
    out.product.sums.push_back({});
    return true;
  }
  if (aggregate.function != AggregateFunction::kSum || !IsFloat(aggregate.type)) return false;
  if (!out.product.left_factors.empty() || !out.product.right_factors.empty()) {
    if (aggregate.type != type) return false;
  }
  type = aggregate.type;
  std::vector<ExprRef> by_side[2];
  const auto both = [&](const ExprRef& e) { return SideOf(e, split) == 2; };
  for (const ExprRef& factor : FactorsOf(aggregate.arg, both)) {
    const int side = SideOf(factor, split);
    if (side == 2) return false;
    by_side[side == 1 ? 1 : 0].push_back(factor);
  }
  const ExprRef left = ProductOf(by_side[0]), right = ProductOf(by_side[1]);
  SparseProduct::Sum sum;
  if (left != nullptr) sum.left = out.FactorNumber(0, left);
  if (right != nullptr) sum.right = out.FactorNumber(1, ShiftColumns(right, -split));
  out.product.sums.push_back(sum);
  return true;
}

std::optional<Candidate> OfGroups(const NodeRef& node, const GroupBy& group_by) {
  const auto flat = FlattenGroups(node, group_by, {});
  if (!flat || !flat->conditions.empty()) return std::nullopt;
  const auto& join = std::get<Join>(flat->join->op);
  Candidate out{{join.keys, {}, {}, {}, {}}, {flat->join->inputs[0], flat->join->inputs[1]}};
  const int split = out.sides[0]->width();
  for (const ExprRef& key : flat->keys) {
    if (key->kind != ExprKind::kColumn) return std::nullopt;
    out.product.keys.push_back(key->index < split ? ContractionKey{0, key->index}
                                                  : ContractionKey{1, key->index - split});
  }
  TypeId type = TypeId::kFloat64;
  for (const Aggregate& aggregate : flat->aggregates) {
    if (!AddSum(aggregate, split, type, out)) return std::nullopt;
  }
  return out;
}

// What the choice rests on.
class Shape {
 public:
  Shape(const Candidate& candidate, Cardinality& cardinality)
      : candidate_(candidate), cardinality_(cardinality) {}

  double Groups(int side) {
    const NodeRef& of = candidate_.sides[side];
    double groups = 1;
    for (const ContractionKey& key : candidate_.product.keys) {
      if (key.side == side)
        groups *= std::max(1.0, Distinct(of, ColumnExpr(key.column, TypeOf(of, key.column))));
    }
    return std::min(groups, std::max(1.0, cardinality_.Rows(of)));
  }

  // The share of cells of a side's matrix, join keys by groups, that have a row.
  double Density(int side) {
    const NodeRef& of = candidate_.sides[side];
    double cells = Groups(side);
    for (const JoinKey& key : candidate_.product.on)
      cells *= std::max(1.0, Distinct(of, side == 0 ? key.left : key.right));
    return cardinality_.Rows(of) / cells;
  }

  double Rows() {
    return cardinality_.Rows(candidate_.sides[0]) + cardinality_.Rows(candidate_.sides[1]);
  }
  double Pairs() {
    return cardinality_.Pairs(candidate_.sides[0], candidate_.sides[1], candidate_.product.on);
  }

  // Of the structure (see SparseStructure): rows of both sides, and the product's groups.
  double KeptBytes() {
    const double key_bytes = 8.0 * static_cast<double>(candidate_.product.keys.size());
    return 24 * Rows() + (4 + key_bytes) * std::min(Pairs(), Groups(0) * Groups(1));
  }

 private:
  double Distinct(const NodeRef& of, const ExprRef& expr) {
    return cardinality_.Distinct(of, expr);
  }
  static TypeId TypeOf(const NodeRef& node, int column) {
    return node->types[static_cast<size_t>(column)];
  }
  const Candidate& candidate_;
  Cardinality& cardinality_;
};

}  // namespace

NodeRef MakeSparseProduct(const NodeRef& node, Planner& planner, Cardinality& cardinality,
                          double most_bytes, bool force, bool of_join) {
  std::optional<Candidate> found;
  if (const auto* c = std::get_if<Contraction>(&node->op)) found = OfContraction(*node, *c);
  if (const auto* g = std::get_if<GroupBy>(&node->op)) found = OfGroups(node, *g);
  if (!found || found->product.on.empty() || found->product.sums.empty()) return nullptr;
  const auto& [product, sides] = *found;
  if (!force && !of_join && !(IsStored(sides[0]) && IsStored(sides[1]))) return nullptr;
  if (MayRaise(product.left_factors) || MayRaise(product.right_factors)) return nullptr;
  if (!found->HasKeys(0)) found->Swap();
  if (!found->HasKeys(0)) return nullptr;
  Shape shape(*found, cardinality);
  // Rows of the right that have all groups are added as they lie.
  if (found->HasKeys(1) && shape.Density(0) > shape.Density(1)) found->Swap();
  const bool stays = IsBaseTable(sides[0]) && IsBaseTable(sides[1]);
  const bool pays = (stays || shape.Pairs() >= kPairsOfRow * shape.Rows()) &&
                    shape.Groups(0) >= kFewestGroups &&
                    shape.Groups(1) * static_cast<double>(product.sums.size()) <= kMostCells &&
                    shape.KeptBytes() <= most_bytes;
  if (!pays && !force) return nullptr;
  return planner.Make(std::move(found->product), {found->sides[0], found->sides[1]}, node->names);
}

}  // namespace adjoin
