// The groups of a level: keys, grouping sets, and the aggregates over them.
#include <algorithm>
#include <utility>

#include "engine/status.h"
#include "sql/bind_query.h"
#include "sql/decorrelate.h"
#include "sql/level_plan.h"
#include "sql/window_definition.h"

namespace adjoin {
namespace {

ExprRef ColumnOf(const NodeRef& node, int column) {
  return ColumnExpr(column, node->types[static_cast<size_t>(column)]);
}

// The groups of `other`, which has the same `num_keys` keys in front, beside those of `groups`.
NodeRef BesideGroups(Planner& planner, const NodeRef& groups, const NodeRef& other, int num_keys) {
  if (num_keys == 0) return planner.Make(Join{JoinKind::kInner, {}, nullptr}, {groups, other});
  Lookup lookup;
  for (int k = 0; k < num_keys; ++k) {
    lookup.left_keys.push_back(ColumnOf(groups, k));
    lookup.right_keys.push_back(ColumnOf(other, k));
  }
  return planner.Make(std::move(lookup), {groups, other});
}

bool Reads(const ExprRef& expr, int placeholder) {
  bool found = false;
  static_cast<void>(MapLeaves(expr, [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
    found |= IsPlaceholder(*leaf) && leaf->index == placeholder;
    return leaf;
  }));
  return found;
}

}  // namespace

// Whether the primary key of the column's table is grouped by, so that each group has one value of
// it.
bool LevelPlan::DependsOnKeys(int column) const {
  const RangeVariable* owner = OwnerOf(column);
  if (!one_set_ || owner == nullptr || !owner->schema.has_value() || owner->schema->dims.empty())
    return false;
  const std::vector<int>& dims = owner->schema->dims;
  return std::all_of(dims.begin(), dims.end(), [&](int dim) {
    const ExprRef& key = owner->columns[static_cast<size_t>(dim)].expr;
    return std::any_of(keys_.begin(), keys_.end(),
                       [&](const ExprRef& k) { return SameExpr(k, key); });
  });
}

absl::Status LevelPlan::CollectKeys(const ExprRef& expr, bool of_subquery) {
  for (const ExprRef& key : keys_) {
    if (SameExpr(expr, key)) return absl::OkStatus();
  }
  if (expr->kind == ExprKind::kColumn) {
    if (!DependsOnKeys(expr->index)) return Ungrouped(expr->index, of_subquery);
    keys_.push_back(expr);
  }
  for (const ExprRef& arg : expr->args) ADJOIN_RETURN_IF_ERROR(CollectKeys(arg, of_subquery));
  return absl::OkStatus();
}

absl::Status LevelPlan::CollectAllKeys(const std::vector<ExprRef>& used) {
  for (const ExprRef& expr : used) ADJOIN_RETURN_IF_ERROR(CollectKeys(expr, /*of_subquery=*/false));
  for (const WindowUse& window : level_.windows) {
    for (const ExprRef& e : window.spec.partition) ADJOIN_RETURN_IF_ERROR(CollectKeys(e, false));
    for (const SortKey& key : window.spec.order)
      ADJOIN_RETURN_IF_ERROR(CollectKeys(key.expr, false));
    for (const ExprRef& arg : window.call.args) ADJOIN_RETURN_IF_ERROR(CollectKeys(arg, false));
    if (window.call.filter != nullptr)
      ADJOIN_RETURN_IF_ERROR(CollectKeys(window.call.filter, false));
  }
  for (const ScalarSubquery& subquery : level_.subqueries) {
    if (subquery.below_groups) continue;
    for (int outer : OuterPlaceholders(state_, subquery.plan, level_.id)) {
      ADJOIN_RETURN_IF_ERROR(CollectKeys(state_.FindOuter(outer)->expr, /*of_subquery=*/true));
    }
  }
  return absl::OkStatus();
}

// The level's aggregates over node(), by rows in one order: those that ask for it and, the first
// time, those that do not care.
struct LevelPlan::OrderedAggregates {
  std::vector<SortKey> order;
  std::vector<Aggregate> aggregates;
  std::vector<int> placeholders;
};

absl::StatusOr<std::vector<LevelPlan::OrderedAggregates>> LevelPlan::PlaceAggregates() {
  std::vector<OrderedAggregates> parts(1);
  for (const AggregateCall& call : level_.aggregates) {
    Aggregate aggregate = call.aggregate;
    for (ExprRef* part : {&aggregate.arg, &aggregate.second, &aggregate.filter}) {
      if (*part == nullptr) continue;
      ADJOIN_ASSIGN_OR_RETURN(*part, Place(*part));
    }
    std::vector<SortKey> order = call.order;
    for (SortKey& key : order) {
      ADJOIN_ASSIGN_OR_RETURN(key.expr, Place(key.expr));
    }
    auto part = parts.begin();
    if (!order.empty() && !part->order.empty()) {
      part = std::find_if(parts.begin(), parts.end(),
                          [&](const OrderedAggregates& p) { return SameOrder(p.order, order); });
      if (part == parts.end()) part = parts.insert(part, OrderedAggregates());
    }
    if (!order.empty()) part->order = std::move(order);
    part->aggregates.push_back(std::move(aggregate));
    part->placeholders.push_back(call.placeholder);
  }
  return parts;
}

// The groups of one set: every key, NULL where the set lacks it, then every aggregate.
NodeRef LevelPlan::MakeGroups(const std::vector<OrderedAggregates>& parts,
                              const std::vector<ExprRef>& keys, const std::vector<int>& set) const {
  Planner& planner = state_.planner;
  const auto num_keys = static_cast<int>(set.size());
  std::vector<ExprRef> grouped;
  for (int key : set) grouped.push_back(keys[static_cast<size_t>(key)]);
  NodeRef groups;
  std::vector<int> aggregates;  // their columns
  for (const OrderedAggregates& part : parts) {
    const NodeRef rows = part.order.empty() ? node_ : planner.Make(Sort{part.order}, {node_});
    const NodeRef more = planner.Make(adjoin::GroupBy{grouped, part.aggregates}, {rows});
    groups = groups == nullptr ? more : BesideGroups(planner, groups, more, num_keys);
    const int first = groups->width() - static_cast<int>(part.aggregates.size());
    for (int column = first; column < groups->width(); ++column) aggregates.push_back(column);
  }
  Project project;
  for (const ExprRef& key : keys) project.exprs.push_back(NullExpr(key->type));
  for (int k = 0; k < num_keys; ++k)
    project.exprs[static_cast<size_t>(set[static_cast<size_t>(k)])] = ColumnOf(groups, k);
  for (int column : aggregates) project.exprs.push_back(ColumnOf(groups, column));
  return MakeProject(planner, std::move(project.exprs), groups, {});
}

absl::StatusOr<int> LevelPlan::GroupingBits(const GroupingCall& call,
                                            const std::vector<int>& set) const {
  int bits = 0;
  for (const Typed& arg : call.args) {
    const auto key = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const ExprRef& k) { return SameExpr(k, arg.expr); });
    if (key == keys_.end()) {
      return state_.Error(
          sqlstate::kGroupingError,
          "arguments to GROUPING must be grouping expressions of the associated query level",
          arg.location);
    }
    const auto number = static_cast<int>(key - keys_.begin());
    bits = 2 * bits + (std::find(set.begin(), set.end(), number) == set.end() ? 1 : 0);
  }
  return bits;
}

absl::Status LevelPlan::GroupBy(GroupClause clause, const std::vector<ExprRef>& used) {
  keys_ = std::move(clause.keys);
  one_set_ = clause.sets.size() == 1;
  for (ScalarSubquery& subquery : level_.subqueries) {  // GROUP BY 1: a key that SELECT wrote
    for (const ExprRef& key : keys_) subquery.below_groups |= Reads(key, subquery.placeholder);
  }
  ADJOIN_RETURN_IF_ERROR(CollectAllKeys(used));
  if (one_set_) {  // with the columns that depend on its keys
    for (auto key = static_cast<int>(clause.sets[0].size()); key < std::ssize(keys_); ++key)
      clause.sets[0].push_back(key);
  }
  std::vector<ExprRef> keys;
  for (const ExprRef& key : keys_) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef expr, Place(key));
    keys.push_back(std::move(expr));
  }
  ADJOIN_RETURN_IF_ERROR(AddGroupWindows(keys, clause.sets));
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<OrderedAggregates> parts, PlaceAggregates());
  std::vector<NodeRef> branches;
  for (const std::vector<int>& set : clause.sets) {
    NodeRef groups = MakeGroups(parts, keys, set);
    std::vector<ExprRef> exprs;
    for (int column = 0; column < groups->width(); ++column)
      exprs.push_back(ColumnOf(groups, column));
    for (const GroupingCall& call : level_.groupings) {
      ADJOIN_ASSIGN_OR_RETURN(const int bits, GroupingBits(call, set));
      exprs.push_back(ConstantExpr(Value::Int(bits), TypeId::kInt32));
    }
    branches.push_back(MakeProject(state_.planner, std::move(exprs), std::move(groups), {}));
  }
  node_ = branches.size() == 1 ? branches[0] : state_.planner.Make(UnionAll{}, branches);
  grouped_ = true;
  values_.clear();
  auto column = static_cast<int>(keys_.size());
  for (const OrderedAggregates& part : parts) {
    for (int placeholder : part.placeholders)
      values_.emplace(placeholder, ColumnOf(node_, column++));
  }
  for (const GroupingCall& call : level_.groupings)
    values_.emplace(call.placeholder, ColumnOf(node_, column++));
  return absl::OkStatus();
}

// A window over each group's rows is one over the rows with equal keys: where there are several
// sets, of a set it would have to be one of its own.
absl::Status LevelPlan::AddGroupWindows(const std::vector<ExprRef>& keys,
                                        const std::vector<std::vector<int>>& sets) {
  if (level_.group_windows.empty()) return absl::OkStatus();
  if (sets.size() != 1)
    return state_.NotSupported("an ordered-set aggregate with several grouping sets");
  return AddWindows(level_.group_windows, keys);
}

}  // namespace adjoin
