#include "sql/level_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_expr.h"
#include "sql/bind_gradient.h"
#include "sql/decorrelate.h"
#include "sql/plan_exprs.h"
#include "sql/window_definition.h"

namespace adjoin {
namespace {

void FlattenAnd(const Json& node, std::vector<const Json*>& out) {
  const auto [tag, body] = Unwrap(node);
  if (tag == "BoolExpr" && TextOf(*body, "boolop") == "AND_EXPR") {
    for (const Json& arg : ListOf(*body, "args")) FlattenAnd(arg, out);
  } else if (!node.is_null()) {
    out.push_back(&node);
  }
}

}  // namespace

absl::Status LevelPlan::BindFromClause(const Json& list, const TargetTable* target,
                                       const std::vector<const Json*>& expressions) {
  ADJOIN_ASSIGN_OR_RETURN(from_, BindFrom(state_, level_, list, target, {}));
  level_.names = from_.names;
  const std::vector<const Json*> calls = CollectGradientCalls(expressions);
  if (calls.empty()) return absl::OkStatus();
  ADJOIN_ASSIGN_OR_RETURN(const LeafReplacements replacements,
                          PlanGradients(state_, level_, calls));
  ADJOIN_ASSIGN_OR_RETURN(from_, BindFrom(state_, level_, list, target, replacements));
  level_.names = from_.names;
  return absl::OkStatus();
}

absl::Status LevelPlan::BindWhere(const Json& where) {
  std::vector<const Json*> conjuncts;
  FlattenAnd(where, conjuncts);
  const Context context{&level_, &level_.names, Clause::kWhere};
  for (const Json* conjunct : conjuncts) {
    if (IsMembership(*conjunct)) {
      ADJOIN_ASSIGN_OR_RETURN(Membership membership, BindMembership(state_, *conjunct, context));
      memberships_.push_back(std::move(membership));
      continue;
    }
    ADJOIN_ASSIGN_OR_RETURN(
        const ExprRef bound,
        BindCondition(state_, *conjunct, context, conjuncts.size() > 1 ? "AND" : "WHERE"));
    for (const ExprRef& c : Conjuncts(bound)) {
      bool subquery = false, outer = false;
      static_cast<void>(MapLeaves(c, [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
        if (IsPlaceholder(*leaf))
          (state_.FindOuter(leaf->index) == nullptr ? subquery : outer) = true;
        return leaf;
      }));
      (subquery ? late_ : outer ? correlated_ : pushable_).push_back(c);
    }
  }
  // As PostgreSQL has the cheap conditions first: x <> 0 keeps 1 / x from failing on its left, too.
  std::ranges::stable_partition(pushable_, [](const ExprRef& c) { return !MayFail(c); });
  return absl::OkStatus();
}

absl::Status LevelPlan::Build() {
  if (from_.tree == nullptr) {  // one row of no columns
    node_ = state_.planner.Make(Values{{{}}, {}}, {});
    if (!pushable_.empty()) node_ = state_.planner.Make(Filter{AndAll(pushable_)}, {node_});
  } else {
    node_ = BuildJoins(state_.planner, *from_.tree, pushable_);
  }
  const auto place = [this](const ExprRef& e) { return Place(e); };
  for (const Membership& m : memberships_) {
    // What is compared may read a subquery, which must be joined in before the widths are fixed.
    ADJOIN_RETURN_IF_ERROR(AttachOuters(m.plan));
    for (const ExprRef& c : m.conditions) ADJOIN_RETURN_IF_ERROR(AttachOuters(c));
    ADJOIN_RETURN_IF_ERROR(AttachMembership(state_, level_, m, place, node_));
  }
  for (const ExprRef& c : late_) ADJOIN_RETURN_IF_ERROR(AddFilter(c));
  // Last, so that an EXISTS around this query finds them on top.
  if (!correlated_.empty()) node_ = state_.planner.Make(Filter{AndAll(correlated_)}, {node_});
  return absl::OkStatus();
}

absl::Status LevelPlan::AddFilter(const ExprRef& condition) {
  ADJOIN_ASSIGN_OR_RETURN(ExprRef placed, Place(condition));
  node_ = state_.planner.Make(Filter{std::move(placed)}, {node_});
  return absl::OkStatus();
}

absl::StatusOr<ExprRef> LevelPlan::Place(const ExprRef& expr) {
  ADJOIN_RETURN_IF_ERROR(AttachSubqueries(expr));
  return Map(expr, /*of_subquery=*/false);
}

absl::Status LevelPlan::AttachOuters(const NodeRef& plan) {
  for (int outer : OuterPlaceholders(state_, plan, level_.id)) {
    ADJOIN_RETURN_IF_ERROR(AttachSubqueries(state_.FindOuter(outer)->expr));
  }
  return absl::OkStatus();
}

absl::Status LevelPlan::AttachOuters(const ExprRef& condition) {
  std::vector<ExprRef> outers;
  static_cast<void>(MapLeaves(condition, [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
    const BindState::Outer* outer = IsPlaceholder(*leaf) ? state_.FindOuter(leaf->index) : nullptr;
    if (outer != nullptr && outer->level == level_.id) outers.push_back(outer->expr);
    return leaf;
  }));
  for (const ExprRef& outer : outers) ADJOIN_RETURN_IF_ERROR(AttachSubqueries(outer));
  return absl::OkStatus();
}

// Those in `expr` that have no value yet. A group's key has one: what it read is below the groups.
void LevelPlan::FindPlaceholders(const ExprRef& expr, absl::flat_hash_set<const Expr*>& seen,
                                 std::vector<int>& found) const {
  if (!seen.insert(expr.get()).second) return;
  const bool is_key = grouped_ && std::ranges::any_of(keys_, [&](const ExprRef& key) {
                        return SameExpr(expr, key);
                      });
  if (is_key) return;
  if (IsPlaceholder(*expr) && !values_.contains(expr->index)) found.push_back(expr->index);
  for (const ExprRef& arg : expr->args) FindPlaceholders(arg, seen, found);
}

absl::Status LevelPlan::AttachSubqueries(const ExprRef& expr) {
  std::vector<int> needed;
  absl::flat_hash_set<const Expr*> seen;
  FindPlaceholders(expr, seen, needed);
  for (int placeholder : needed) {
    for (size_t i = 0; i < level_.subqueries.size(); ++i) {
      if (level_.subqueries[i].placeholder != placeholder || values_.contains(placeholder))
        continue;
      const NodeRef plan = level_.subqueries[i].plan;
      // What the subquery compares with may read another subquery.
      const auto place = [this](const ExprRef& e) -> absl::StatusOr<ExprRef> {
        return Map(e, /*of_subquery=*/true);
      };
      ADJOIN_RETURN_IF_ERROR(AttachOuters(plan));
      ExprRef guard = level_.subqueries[i].guard;
      if (guard != nullptr) {
        ADJOIN_ASSIGN_OR_RETURN(guard, Place(guard));
      }
      ADJOIN_ASSIGN_OR_RETURN(ExprRef value,
                              AttachScalar(state_, level_, plan, guard, place, node_));
      values_.emplace(placeholder, std::move(value));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ExprRef> LevelPlan::Map(const ExprRef& expr, bool of_subquery) {
  absl::flat_hash_map<const Expr*, ExprRef> memo;
  return MapShared(expr, of_subquery, memo);
}

absl::StatusOr<ExprRef> LevelPlan::MapShared(const ExprRef& expr, bool of_subquery,
                                             absl::flat_hash_map<const Expr*, ExprRef>& memo) {
  for (size_t i = 0; grouped_ && i < keys_.size(); ++i) {
    if (SameExpr(expr, keys_[i])) return ColumnExpr(static_cast<int>(i), expr->type);
  }
  if (expr->kind == ExprKind::kColumn || expr->kind == ExprKind::kParameter)
    return MapLeaf(expr, of_subquery);
  if (expr->args.empty()) return expr;
  if (const auto it = memo.find(expr.get()); it != memo.end()) return it->second;
  std::vector<ExprRef> args;
  bool changed = false;
  for (const ExprRef& arg : expr->args) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef mapped, MapShared(arg, of_subquery, memo));
    changed |= mapped != arg;
    args.push_back(std::move(mapped));
  }
  ExprRef out = changed ? CallExpr(expr->function, std::move(args), expr->type) : expr;
  memo.emplace(expr.get(), out);
  return out;
}

absl::StatusOr<ExprRef> LevelPlan::MapLeaf(const ExprRef& leaf, bool of_subquery) {
  if (leaf->kind == ExprKind::kColumn)
    return grouped_ ? absl::StatusOr<ExprRef>(Ungrouped(leaf->index, of_subquery)) : leaf;
  const auto it = values_.find(leaf->index);
  return it == values_.end() ? leaf : it->second;
}

const RangeVariable* LevelPlan::OwnerOf(int column) const {
  for (const RangeVariable& range : level_.names.ranges) {
    if (range.node == nullptr) continue;
    const int index = column - range.first_column;
    if (index >= 0 && index < range.node->width()) return &range;
  }
  return nullptr;
}

absl::Status LevelPlan::Ungrouped(int column, bool of_subquery) const {
  std::string name = "?";
  if (const RangeVariable* owner = OwnerOf(column); owner != nullptr) {
    const size_t index = static_cast<size_t>(column - owner->first_column);
    if (index < owner->columns.size()) {
      name = owner->name.empty() ? owner->columns[index].name
                                 : absl::StrCat(owner->name, ".", owner->columns[index].name);
    }
  }
  const auto& locations = of_subquery ? level_.outer_locations : level_.column_locations;
  const auto it = locations.find(column);
  const int location = it == locations.end() ? -1 : it->second;
  return state_.Error(
      sqlstate::kGroupingError,
      of_subquery
          ? absl::StrCat("subquery uses ungrouped column \"", name, "\" from outer query")
          : absl::StrCat(
                "column \"", name,
                "\" must appear in the GROUP BY clause or be used in an aggregate function"),
      location);
}

absl::Status LevelPlan::AddWindows() { return AddWindows(level_.windows, {}); }

absl::Status LevelPlan::AddWindows(const std::vector<WindowUse>& uses,
                                   const std::vector<ExprRef>& within) {
  std::vector<bool> done(uses.size(), false);
  for (size_t i = 0; i < uses.size(); ++i) {
    if (done[i]) continue;
    const WindowSpec& spec = uses[i].spec;
    Window window;
    window.frame = spec.frame;
    for (ExprRef* offset : {&window.frame.start_offset, &window.frame.end_offset}) {
      if (*offset == nullptr) continue;
      ADJOIN_ASSIGN_OR_RETURN(*offset, Place(*offset));
    }
    window.partition = within;
    for (const ExprRef& e : spec.partition) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef placed, Place(e));
      window.partition.push_back(std::move(placed));
    }
    for (const SortKey& key : spec.order) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef placed, Place(key.expr));
      window.order.push_back({std::move(placed), key.descending, key.nulls_first});
    }
    std::vector<int> placeholders;
    for (size_t j = i; j < uses.size(); ++j) {
      if (done[j] || !SameWindow(spec, uses[j].spec)) continue;
      done[j] = true;
      WindowCall call = uses[j].call;
      for (ExprRef& arg : call.args) {
        ADJOIN_ASSIGN_OR_RETURN(arg, Place(arg));
      }
      if (call.filter != nullptr) {
        ADJOIN_ASSIGN_OR_RETURN(call.filter, Place(call.filter));
      }
      window.calls.push_back(std::move(call));
      placeholders.push_back(uses[j].placeholder);
    }
    const int width = node_->width();
    const std::vector<WindowCall> calls = window.calls;
    node_ = state_.planner.Make(std::move(window), {node_});
    for (size_t k = 0; k < calls.size(); ++k) {
      values_.emplace(placeholders[k], ColumnExpr(width + static_cast<int>(k), calls[k].type));
    }
  }
  return absl::OkStatus();
}

}  // namespace adjoin
