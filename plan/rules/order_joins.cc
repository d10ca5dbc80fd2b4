// Joins in the cheapest order: dynamic programming over the subsets of a run of inner joins
// (Selinger et al. 1979; bushy trees and cross products take part), with rows from the statistics
// of base tables. Semi- and anti-joins above the run filter their relation before it is joined
// where that is cheaper.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "plan/join_condition.h"
#include "plan/rules.h"
#include "plan/rules/join_run.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// A row that is hashed into a table costs about two that are looked up in one or go out (h2o
// joins).
constexpr double kBuildCost = 2, kStoreCost = 1;

// Estimates are off by more than this, and another order may give sums of floats other last bits.
constexpr double kLeastGain = 1.25;

// Orders one run, whose relations are there already.
class JoinOrder {
 public:
  JoinOrder(Planner& planner, Cardinality& cardinality, const JoinRun& run)
      : planner_(planner), cardinality_(cardinality), run_(run), pushed_(run.filters.size()) {
    for (const JoinRun::Relation& r : run.relations) relations_.push_back(r.node);
    conditions_ = run.conditions;
    for (JoinRun::Condition& c : conditions_) {
      if (!std::has_single_bit(c.reads)) continue;
      NodeRef& node = relations_[Only(c.reads)];
      node = planner.Make(Filter{Local(c.expr, Only(c.reads))}, {node});
      cardinality.Rows(node);
    }
    std::erase_if(conditions_,
                  [](const JoinRun::Condition& c) { return std::has_single_bit(c.reads); });
    EstimateConditions();
  }

  // The plan of the run; nothing where its own order is about as good.
  std::optional<NodeRef> Best(bool force, const std::vector<std::string>& names) {
    double cost = Search();
    const double now = CostOfPlan();
    // Each filter on its relation, if that is cheaper than above all joins.
    for (size_t f = 0; f < run_.filters.size(); ++f) {
      if (!std::has_single_bit(run_.filters[f].reads)) continue;
      pushed_[f] = true;
      const double with = Search();
      pushed_[f] = with < cost;
      cost = std::min(cost, with);
    }
    if (!force && cost * kLeastGain >= now) return std::nullopt;
    Search();
    return Build(names);
  }

 private:
  static size_t Only(RelationSet set) { return static_cast<size_t>(std::countr_zero(set)); }
  RelationSet All() const { return (RelationSet{1} << relations_.size()) - 1; }
  ExprRef Local(const ExprRef& expr, size_t relation) const {
    return ShiftColumns(expr, -run_.relations[relation].begin);
  }

  // A relation with the filters that have been pushed down to it.
  NodeRef Filtered(size_t relation) {
    NodeRef node = relations_[relation];
    for (size_t f = 0; f < run_.filters.size(); ++f) {
      const JoinRun::FilterJoin& filter = run_.filters[f];
      if (!pushed_[f] || filter.reads != RelationSet{1} << relation) continue;
      const int begin = run_.relations[relation].begin;
      node = FilterBy(filter, node, [&](int column) { return column - begin; });
    }
    return node;
  }

  template <typename F>
  NodeRef FilterBy(const JoinRun::FilterJoin& filter, const NodeRef& node, F&& position) {
    const int width = node->width();
    const auto place = [&](const ExprRef& expr) {
      return MapColumns(expr, [&](const Expr& c) {
        return ColumnExpr(c.index >= kRight ? width + c.index - kRight : position(c.index), c.type);
      });
    };
    Join join = filter.join;
    for (JoinKey& key : join.keys) key.left = place(key.left);
    if (join.residual != nullptr) join.residual = place(join.residual);
    NodeRef made = planner_.Make(std::move(join), {node, filter.right});
    cardinality_.Rows(made);
    return made;
  }

  // Rows that the unfiltered relation has.
  double WholeRows(size_t relation) {
    NodeRef at = run_.relations[relation].node;
    while (std::holds_alternative<Filter>(at->op)) at = at->inputs[0];
    return cardinality_.Rows(at);
  }

  // The two relations that an equality is between; nothing where it is none.
  struct Equality {
    RelationSet sides;
    double values;
  };
  std::optional<Equality> EqualityOf(const JoinRun::Condition& c) {
    if (std::popcount(c.reads) != 2 || c.expr->kind != ExprKind::kCall ||
        c.expr->function != Function("=")) {
      return std::nullopt;
    }
    double values = 1;
    for (const ExprRef& side : c.expr->args) {
      const RelationSet set = run_.Reads(side);
      if (!std::has_single_bit(set)) return std::nullopt;
      values =
          std::max(values, cardinality_.Distinct(relations_[Only(set)], Local(side, Only(set))));
    }
    return Equality{c.reads, values};
  }

  // Which share of pairs of relations each condition lets through.
  void EstimateConditions() {
    absl::flat_hash_map<RelationSet, std::pair<double, int>> equalities;  // values, columns
    for (const JoinRun::Condition& c : conditions_) {
      if (const auto equality = EqualityOf(c)) {
        auto& [values, columns] = equalities.try_emplace(equality->sides, 1.0, 0).first->second;
        values *= equality->values;
        ++columns;
      } else {
        shares_.emplace_back(c.reads, kOtherShare);
      }
    }
    for (auto& [sides, of] : equalities) {
      auto& [values, columns] = of;
      const size_t a = Only(sides), b = Only(sides & (sides - 1));
      // Columns of one key determine each other: no more values than the smaller side has rows.
      if (columns > 1)
        values = std::min(values, std::max(1.0, std::min(WholeRows(a), WholeRows(b))));
      shares_.emplace_back(sides, 1 / values);
    }
    std::sort(shares_.begin(), shares_.end());
  }

  // Rows of every set of relations, with the filters that are pushed.
  void EstimateSets() {
    std::vector<double> rows;
    filter_cost_ = 0;
    for (size_t r = 0; r < relations_.size(); ++r) {
      const NodeRef node = Filtered(r);
      rows.push_back(std::max(cardinality_.Rows(node), 1.0));
      if (node != relations_[r]) filter_cost_ += cardinality_.Rows(relations_[r]);
    }
    rows_.assign(All() + 1, 1);
    for (RelationSet set = 1; set <= All(); ++set) {
      for (size_t r = 0; r < rows.size(); ++r) rows_[set] *= (set >> r & 1) != 0 ? rows[r] : 1;
      for (const auto& [reads, share] : shares_) rows_[set] *= (reads & ~set) == 0 ? share : 1;
    }
  }

  double CostOf(RelationSet left, RelationSet right) const {
    return rows_[left] +
           rows_[right] * (std::has_single_bit(right) ? kBuildCost : kBuildCost + kStoreCost) +
           rows_[left | right];
  }

  // Filters that stay above all joins look up each of their rows.
  double CostOfFiltersAbove() const {
    double cost = 0;
    for (size_t f = 0; f < pushed_.size(); ++f) cost += pushed_[f] ? 0 : rows_[All()];
    return cost;
  }

  double CostOfPlan() {
    double cost = CostOfFiltersAbove();
    for (const auto& [left, right] : run_.joins) cost += CostOf(left, right);
    return cost;
  }

  // Leaves the best split of each set in left_of_.
  double Search() {
    EstimateSets();
    std::vector<double> cost(All() + 1, 0);
    left_of_.assign(All() + 1, 0);
    for (RelationSet set = 1; set <= All(); ++set) {
      if (std::has_single_bit(set)) continue;
      cost[set] = std::numeric_limits<double>::infinity();
      for (RelationSet left = (set - 1) & set; left != 0; left = (left - 1) & set) {
        const RelationSet right = set & ~left;
        const double with = cost[left] + cost[right] + CostOf(left, right);
        if (with < cost[set]) cost[set] = with, left_of_[set] = left;
      }
    }
    return cost[All()] + filter_cost_ + CostOfFiltersAbove();
  }

  // ---- The plan.

  struct Built {
    NodeRef node;
    std::vector<int> columns;  // the run's, in the node's order
  };

  std::vector<int> Positions(const std::vector<int>& columns) const {
    std::vector<int> position(static_cast<size_t>(run_.width), -1);
    for (size_t i = 0; i < columns.size(); ++i)
      position[static_cast<size_t>(columns[i])] = static_cast<int>(i);
    return position;
  }

  Built BuildSet(RelationSet set) {
    if (std::has_single_bit(set)) {
      const JoinRun::Relation& r = run_.relations[Only(set)];
      Built leaf{Filtered(Only(set)), {}};
      for (int c = 0; c < r.node->width(); ++c) leaf.columns.push_back(r.begin + c);
      return leaf;
    }
    const RelationSet left_set = left_of_[set], right_set = set & ~left_set;
    Built left = BuildSet(left_set);
    const Built right = BuildSet(right_set);
    const int width = left.node->width();
    left.columns.insert(left.columns.end(), right.columns.begin(), right.columns.end());
    const std::vector<int> position = Positions(left.columns);
    std::vector<ExprRef> on;
    for (const JoinRun::Condition& c : conditions_) {
      const bool here =
          (c.reads & ~set) == 0 && (c.reads & left_set) != 0 && (c.reads & right_set) != 0;
      if (here) on.push_back(OverColumns(c.expr, position));
    }
    JoinCondition split = SplitJoinCondition(on, width);
    left.node = planner_.Make(Join{JoinKind::kInner, std::move(split.keys), split.residual},
                              {left.node, right.node});
    cardinality_.Rows(left.node);
    return left;
  }

  NodeRef Build(const std::vector<std::string>& names) {
    Built all = BuildSet(All());
    const std::vector<int> position = Positions(all.columns);
    std::vector<ExprRef> constant;  // conditions that read no relation
    for (const JoinRun::Condition& c : conditions_) {
      if (c.reads == 0) constant.push_back(c.expr);
    }
    if (!constant.empty()) all.node = planner_.Make(Filter{AndAll(constant)}, {all.node});
    cardinality_.Rows(all.node);
    for (size_t f = 0; f < run_.filters.size(); ++f) {
      if (pushed_[f]) continue;
      all.node = FilterBy(run_.filters[f], all.node,
                          [&](int column) { return position[static_cast<size_t>(column)]; });
    }
    Project restored;
    for (int c : run_.output) {
      const int at = position[static_cast<size_t>(c)];
      restored.exprs.push_back(ColumnExpr(at, all.node->types[static_cast<size_t>(at)]));
    }
    NodeRef made = planner_.Make(std::move(restored), {all.node}, names);
    cardinality_.Rows(made);
    return made;
  }

  static constexpr double kOtherShare = 1.0 / 3;  // of pairs that any other condition lets through

  Planner& planner_;
  Cardinality& cardinality_;
  const JoinRun& run_;
  std::vector<NodeRef> relations_;
  std::vector<JoinRun::Condition> conditions_;  // those between relations
  std::vector<bool> pushed_;                    // by filter: on its relation
  std::vector<std::pair<RelationSet, double>> shares_;
  std::vector<double> rows_;          // by set
  double filter_cost_ = 0;            // of pushed filters
  std::vector<RelationSet> left_of_;  // by set
};

// By the node that each ends in.
absl::flat_hash_map<const Node*, JoinRun> TakeRuns(const std::vector<NodeRef>& roots,
                                                   const std::vector<NodeRef>& order) {
  absl::flat_hash_map<const Node*, int> readers;
  for (const NodeRef& root : roots) ++readers[root.get()];
  for (const NodeRef& node : order) {
    for (const NodeRef& input : node->inputs) ++readers[input.get()];
  }
  absl::flat_hash_map<const Node*, JoinRun> runs;
  absl::flat_hash_set<const Node*> taken;
  for (size_t i = order.size(); i-- > 0;) {
    const NodeRef& node = order[i];
    if (taken.contains(node.get())) continue;
    if (auto run = TakeJoinRun(node, readers, taken)) runs.emplace(node.get(), *std::move(run));
  }
  return runs;
}

// Arrays have an order of their own.
void EraseRunsOnGrids(const std::vector<NodeRef>& order, const ShapeOf& shape_of,
                      absl::flat_hash_map<const Node*, JoinRun>& runs) {
  absl::flat_hash_set<const Node*> on_grids;
  for (const NodeRef& node : order) {
    const auto* scan = std::get_if<Scan>(&node->op);
    const bool is = scan != nullptr
                        ? shape_of(*scan).has_value()
                        : std::all_of(node->inputs.begin(), node->inputs.end(),
                                      [&](const NodeRef& n) { return on_grids.contains(n.get()); });
    if (!is) continue;
    on_grids.insert(node.get());
    runs.erase(node.get());
  }
}

// What runs are made of and all below: only there it is worth reading statistics.
absl::flat_hash_set<const Node*> Below(const absl::flat_hash_map<const Node*, JoinRun>& runs,
                                       const std::vector<NodeRef>& order) {
  absl::flat_hash_set<const Node*> below;
  for (size_t i = order.size(); i-- > 0;) {
    const Node* node = order[i].get();
    if (const auto it = runs.find(node); it != runs.end()) {
      for (const JoinRun::Relation& r : it->second.relations) below.insert(r.node.get());
      for (const JoinRun::FilterJoin& f : it->second.filters) below.insert(f.right.get());
    } else if (below.contains(node)) {
      for (const NodeRef& input : node->inputs) below.insert(input.get());
    }
  }
  return below;
}

}  // namespace

void OrderJoins(Statement* statement, Planner& planner, const PlanOptions& options,
                const ShapeOf& shape_of, TableOf table_of) {
  if (options.join_order == RuleUse::kOff) return;
  std::vector<NodeRef> roots;
  for (const Statement::Output& output : statement->outputs) roots.push_back(output.plan);
  const std::vector<NodeRef> order = TopologicalOrder(roots);
  const auto is_derivative = [](const NodeRef& n) {
    return std::holds_alternative<Derivative>(n->op);
  };
  if (std::any_of(order.begin(), order.end(), is_derivative)) return;
  absl::flat_hash_map<const Node*, JoinRun> runs = TakeRuns(roots, order);
  if (options.grid && !runs.empty()) EraseRunsOnGrids(order, shape_of, runs);
  if (runs.empty()) return;

  const absl::flat_hash_set<const Node*> estimated = Below(runs, order);
  Cardinality cardinality(std::move(table_of));
  Replacements rewritten;
  for (const NodeRef& node : order) {
    NodeRef now = OverReplacements(node, rewritten, planner);
    if (const auto it = runs.find(node.get()); it != runs.end()) {
      JoinRun& run = it->second;
      for (JoinRun::Relation& r : run.relations) r.node = rewritten[r.node.get()];
      for (JoinRun::FilterJoin& f : run.filters) f.right = rewritten[f.right.get()];
      JoinOrder best(planner, cardinality, run);
      if (auto ordered = best.Best(options.join_order == RuleUse::kForce, node->names))
        now = *std::move(ordered);
    }
    if (estimated.contains(node.get())) cardinality.Rows(now);
    rewritten[node.get()] = std::move(now);
  }
  for (Statement::Output& output : statement->outputs) output.plan = rewritten[output.plan.get()];
}

}  // namespace adjoin
