#include "sql/bind_subquery.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "plan/join_condition.h"
#include "sql/bind_expr.h"
#include "sql/bind_query.h"
#include "sql/bind_row.h"
#include "sql/branch_guard.h"
#include "sql/decorrelate.h"
#include "sql/plan_exprs.h"

namespace adjoin {
namespace {

absl::StatusOr<Query> BindInner(BindState& state, const Json& sublink, const Context& context) {
  const int location = LocationOf(sublink);
  switch (context.clause) {
    case Clause::kJoin:
      return state.NotSupported("a subquery in the condition of an outer join", location);
    case Clause::kLimit:
      return state.NotSupported("a subquery in LIMIT", location);
    case Clause::kFromFunction:
      return state.NotSupported("a subquery in a function in FROM", location);
    case Clause::kConstants:
      return state.Error(sqlstate::kFeatureNotSupported, "cannot use subquery in EXECUTE parameter",
                         location);
    default:
      break;
  }
  return BindQuery(state, FieldOf(sublink, "subselect"),
                   {context.level, nullptr, context.level->ctes, {}, false});
}

bool BelowGroups(const Context& context) {
  return context.in_aggregate || context.clause == Clause::kWhere ||
         context.clause == Clause::kGroupBy;
}

ExprRef Boolean(bool value) { return ConstantExpr(Value::Bool(value), TypeId::kBool); }

bool MayFail(const NodeRef& plan, absl::flat_hash_set<const Node*>& seen) {
  if (!seen.insert(plan.get()).second) return false;
  bool fails = false;
  VisitExprs(plan->op, [&](const ExprRef& expr) { fails |= MayFail(expr); });
  return fails || std::ranges::any_of(plan->inputs,
                                      [&](const NodeRef& input) { return MayFail(input, seen); });
}

ExprRef AddScalar(BindState& state, const Context& context, NodeRef plan) {
  const TypeId type = plan->types[0];
  absl::flat_hash_set<const Node*> seen;
  const bool fails =
      context.branch != nullptr && (RowsOf(plan) == RowCount::kAny || MayFail(plan, seen));
  const ExprRef guard = fails ? GuardOf(context.branch) : nullptr;
  for (ScalarSubquery& s : context.level->subqueries) {
    const bool is_key = context.clause == Clause::kGroupBy;  // then a value of SELECT may be it
    if (s.plan != plan || (s.below_groups != BelowGroups(context) && !is_key)) continue;
    s.below_groups |= is_key;
    if (s.guard != nullptr) s.guard = guard == nullptr ? nullptr : Combine("or", {s.guard, guard});
    return ParameterExpr(s.placeholder, type);
  }
  const int placeholder = state.NewPlaceholder();
  context.level->subqueries.push_back(
      {placeholder, std::move(plan), BelowGroups(context), false, guard});
  return ParameterExpr(placeholder, type);
}

ExprRef Zero() { return ConstantExpr(Value::Int(0), TypeId::kInt64); }
ExprRef IsPositive(ExprRef count) {
  return CallNamed("<", {Zero(), std::move(count)}, TypeId::kBool);
}

Aggregate CountRows(ExprRef filter) {
  return {AggregateFunction::kCountStar, nullptr, std::move(filter), false, TypeId::kInt64};
}

// EXISTS as a value: COUNT(*) > 0.
NodeRef ExistsValue(Planner& planner, const NodeRef& plan) {
  const NodeRef count = planner.Make(GroupBy{{}, {CountRows(nullptr)}}, {plan});
  return planner.Make(Project{{IsPositive(ColumnExpr(0, TypeId::kInt64))}}, {count});
}

// ANY as a value: TRUE where the condition holds for some row, else NULL where it is NULL for some
// row, else FALSE.
NodeRef AnyValue(Planner& planner, const NodeRef& plan, const ExprRef& condition) {
  const ExprRef is_null = CallNamed("is null", {condition}, TypeId::kBool);
  const NodeRef counts =
      planner.Make(GroupBy{{}, {CountRows(condition), CountRows(is_null)}}, {plan});
  const ExprRef held = IsPositive(ColumnExpr(0, TypeId::kInt64)),
                unknown = IsPositive(ColumnExpr(1, TypeId::kInt64));
  const ExprRef value =
      CaseExpr({held, Boolean(true), unknown, NullExpr(TypeId::kBool), Boolean(false)});
  return planner.Make(Project{{value}}, {counts});
}

// The two sides of a comparison with a subquery's rows: the level's expressions become
// placeholders.
struct Sides {
  Operand left, right;
};
absl::StatusOr<Sides> SidesOf(BindState& state, const Json& test, const Query& query,
                              const Context& context, int location) {
  Sides out;
  ADJOIN_ASSIGN_OR_RETURN(out.left, BindOperand(state, test, context));
  std::vector<Typed>& values = out.left.values;
  if (values.size() != query.columns.size()) {
    return state.Error(sqlstate::kSyntaxError,
                       values.size() < query.columns.size() ? "subquery has too many columns"
                                                            : "subquery has too few columns",
                       location);
  }
  out.right.is_row = out.left.is_row;
  for (size_t i = 0; i < values.size(); ++i) {
    Typed& left = values[i];
    const TypeId type = query.columns[i].type;
    if (left.unknown) {
      ADJOIN_ASSIGN_OR_RETURN(left.expr, Coerce(state, left, type));
    }
    left.unknown = false;
    if (left.expr->kind != ExprKind::kConstant)
      left.expr = state.OuterReference(*context.level, left.expr);
    out.right.values.push_back({ColumnExpr(static_cast<int>(i), type), false, location});
  }
  return out;
}

// left op right over the subquery's columns, as conditions that all must hold: one a column for =.
absl::StatusOr<std::vector<ExprRef>> Comparisons(BindState& state, const Json& sublink,
                                                 const Query& query, const Context& context) {
  const int location = LocationOf(sublink);
  ADJOIN_ASSIGN_OR_RETURN(const Sides sides,
                          SidesOf(state, FieldOf(sublink, "testexpr"), query, context, location));
  const std::string op = Has(sublink, "operName") ? LastName(ListOf(sublink, "operName")) : "=";
  std::vector<ExprRef> out;
  if (op != "=") {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef test, Compare(state, op, sides.left, sides.right, location));
    return std::vector<ExprRef>{std::move(test)};
  }
  for (size_t i = 0; i < sides.left.values.size(); ++i) {
    ADJOIN_ASSIGN_OR_RETURN(
        ExprRef test,
        ResolveTyped(state, op, {sides.left.values[i], sides.right.values[i]}, location));
    out.push_back(std::move(test));
  }
  return out;
}

absl::StatusOr<ExprRef> BindQuantified(BindState& state, const Json& sublink,
                                       const Context& context, bool all) {
  ADJOIN_ASSIGN_OR_RETURN(const Query query, BindInner(state, sublink, context));
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<ExprRef> tests,
                          Comparisons(state, sublink, query, context));
  ExprRef condition = Combine("and", tests);
  if (all)
    condition = CallNamed("not", {condition}, TypeId::kBool);  // x op ALL is NOT (NOT (x op y)) ANY
  ExprRef value = AddScalar(state, context, AnyValue(state.planner, query.node, condition));
  return all ? CallNamed("not", {std::move(value)}, TypeId::kBool) : value;
}

// What is left of an EXISTS plan when operators that cannot empty it are gone: `input`, and
// predicates on it.
struct Peeled {
  NodeRef input;
  std::vector<ExprRef> conjuncts;
};
Peeled PeelFilters(const BindState& state, NodeRef plan, int level) {
  Peeled out;
  while (const auto* filter = std::get_if<Filter>(&plan->op)) {
    if (!HasPlaceholder(filter->predicate)) break;
    for (const ExprRef& c : Conjuncts(filter->predicate)) out.conjuncts.push_back(c);
    plan = plan->inputs[0];
  }
  out.input = plan;
  if (ReadsOuter(state, plan, level)) out.input = nullptr;
  return out;
}

// The conditions over what is below the plan's projections, so that filters on outer columns
// surface.
NodeRef PeelProjections(NodeRef plan, std::vector<ExprRef>& conditions) {
  while (true) {
    if (const auto* project = std::get_if<Project>(&plan->op); project != nullptr) {
      for (ExprRef& c : conditions) {
        c = MapColumns(c, [&](const Expr& column) {
          return project->exprs[static_cast<size_t>(column.index)];
        });
      }
    } else if (!std::holds_alternative<Sort>(plan->op)) {
      return plan;
    }
    plan = plan->inputs[0];
  }
}

class Attacher {
 public:
  Attacher(BindState& state, const Level& level, const ExprMap& to_node)
      : state_(state), level_(level), to_node_(to_node) {}

  // The value of an outer placeholder of this level, over the node. Others stay.
  absl::StatusOr<ExprRef> Resolve(int placeholder) const {
    return to_node_(state_.FindOuter(placeholder)->expr);
  }
  bool IsOurs(const Expr& leaf) const {
    const BindState::Outer* outer = IsPlaceholder(leaf) ? state_.FindOuter(leaf.index) : nullptr;
    return outer != nullptr && outer->level == level_.id;
  }

  // A predicate over a plan's columns as one over the node's columns and then, from `offset`, the
  // plan's.
  absl::StatusOr<ExprRef> OverBoth(const ExprRef& predicate, int offset) const {
    return MapLeaves(predicate, [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
      if (leaf->kind == ExprKind::kColumn) return ColumnExpr(leaf->index + offset, leaf->type);
      return IsOurs(*leaf) ? Resolve(leaf->index) : absl::StatusOr<ExprRef>(leaf);
    });
  }

  // The plan for every distinct value of the outer expressions it reads, those values first; `keys`
  // over the node.
  absl::StatusOr<NodeRef> ForEach(const NodeRef& plan, const std::vector<int>& placeholders,
                                  NodeRef node, std::vector<ExprRef>& keys,
                                  const ExprRef& guard = nullptr) const {
    if (guard != nullptr) node = state_.planner.Make(Filter{guard}, {node});
    for (int placeholder : placeholders) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef key, Resolve(placeholder));
      keys.push_back(std::move(key));
    }
    const NodeRef domain = state_.planner.Make(GroupBy{keys, {}}, {node});
    return Decorrelate(state_, plan, domain, placeholders);
  }

 private:
  BindState& state_;
  const Level& level_;
  const ExprMap& to_node_;
};

std::vector<JoinKey> NullSafeKeys(const std::vector<ExprRef>& left) {
  std::vector<JoinKey> keys;
  for (size_t i = 0; i < left.size(); ++i) {
    keys.push_back({left[i], ColumnExpr(static_cast<int>(i), left[i]->type), /*null_safe=*/true});
  }
  return keys;
}

}  // namespace

absl::StatusOr<ExprRef> BindSubqueryExpr(BindState& state, const Json& sublink,
                                         const Context& context) {
  const std::string type = TextOf(sublink, "subLinkType");
  const int location = LocationOf(sublink);
  if (type == "ANY_SUBLINK") return BindQuantified(state, sublink, context, /*all=*/false);
  if (type == "ALL_SUBLINK") return BindQuantified(state, sublink, context, /*all=*/true);
  if (type != "EXPR_SUBLINK" && type != "EXISTS_SUBLINK")
    return state.NotSupported("an ARRAY subquery", location);
  ADJOIN_ASSIGN_OR_RETURN(const Query query, BindInner(state, sublink, context));
  if (type == "EXISTS_SUBLINK")
    return AddScalar(state, context, ExistsValue(state.planner, query.node));
  if (query.columns.size() != 1) {
    return state.Error(sqlstate::kSyntaxError, "subquery must return only one column", location);
  }
  return AddScalar(state, context, query.node);
}

bool IsRowBesideSubquery(const Json& left, const Json& right) {
  const TreeNode sublink = Unwrap(right);
  return Unwrap(left).tag == "RowExpr" && sublink.tag == "SubLink" &&
         TextOf(*sublink.body, "subLinkType") == "EXPR_SUBLINK";
}

absl::StatusOr<ExprRef> BindRowSubquery(BindState& state, std::string_view name, const Json& row,
                                        const Json& sublink, const Context& context, int location) {
  ADJOIN_ASSIGN_OR_RETURN(const Query query, BindInner(state, sublink, context));
  ADJOIN_ASSIGN_OR_RETURN(const Sides sides, SidesOf(state, row, query, context, location));
  ADJOIN_ASSIGN_OR_RETURN(ExprRef test, Compare(state, name, sides.left, sides.right, location));
  return AddScalar(state, context, state.planner.Make(Project{{std::move(test)}}, {query.node}));
}

bool IsMembership(const Json& conjunct) {
  const auto [tag, body] = Unwrap(conjunct);
  if (tag == "BoolExpr" && TextOf(*body, "boolop") == "NOT_EXPR") {
    const Json& inner = ListOf(*body, "args").at(0);
    return Unwrap(inner).tag == "SubLink" && IsMembership(inner);
  }
  if (tag != "SubLink") return false;
  const std::string type = TextOf(*body, "subLinkType");
  return type == "EXISTS_SUBLINK" || type == "ANY_SUBLINK";
}

absl::StatusOr<Membership> BindMembership(BindState& state, const Json& conjunct,
                                          const Context& context) {
  Membership out;
  TreeNode node = Unwrap(conjunct);
  if (node.tag == "BoolExpr") {
    out.negated = true;
    node = Unwrap(ListOf(*node.body, "args").at(0));
  }
  ADJOIN_ASSIGN_OR_RETURN(const Query query, BindInner(state, *node.body, context));
  out.plan = query.node;
  if (TextOf(*node.body, "subLinkType") == "ANY_SUBLINK") {
    ADJOIN_ASSIGN_OR_RETURN(out.conditions, Comparisons(state, *node.body, query, context));
    out.null_aware = out.negated;
  }
  return out;
}

absl::StatusOr<ExprRef> AttachScalar(BindState& state, const Level& level, const NodeRef& plan,
                                     const ExprRef& guard, const ExprMap& to_node, NodeRef& node) {
  const int width = node->width();
  const TypeId type = plan->types[0];
  const std::vector<int> placeholders = OuterPlaceholders(state, plan, level.id);
  const RowCount rows = RowsOf(plan);
  if (placeholders.empty()) {
    const JoinKind kind = rows == RowCount::kOne         ? JoinKind::kInner
                          : rows == RowCount::kAtMostOne ? JoinKind::kLeft
                                                         : JoinKind::kSingle;
    NodeRef value = plan;
    if (guard != nullptr && kind == JoinKind::kSingle) {  // two rows are as wrong as many
      const ExprRef two = ConstantExpr(Value::Int(2), TypeId::kInt64);
      value = state.planner.Make(Limit{two, nullptr}, {plan});
    }
    const ExprRef on = kind == JoinKind::kSingle ? guard : nullptr;
    node = state.planner.Make(Join{kind, {}, on}, {node, value});
    return ColumnExpr(width, type);
  }
  std::vector<ExprRef> keys;
  ADJOIN_ASSIGN_OR_RETURN(
      const NodeRef values,
      Attacher(state, level, to_node).ForEach(plan, placeholders, node, keys, guard));
  const int value_column = width + static_cast<int>(keys.size());
  if (rows == RowCount::kAny) {
    node = state.planner.Make(Join{JoinKind::kSingle, NullSafeKeys(keys), nullptr}, {node, values});
  } else {
    Lookup lookup{keys, {}};
    for (const JoinKey& key : NullSafeKeys(keys)) lookup.right_keys.push_back(key.right);
    node = state.planner.Make(std::move(lookup), {node, values});
  }
  return ColumnExpr(value_column, type);
}

absl::Status AttachMembership(BindState& state, const Level& level, const Membership& membership,
                              const ExprMap& to_node, NodeRef& node) {
  const Attacher attacher(state, level, to_node);
  const int width = node->width();
  const bool plain_not_in = membership.null_aware && membership.conditions.size() == 1 &&
                            membership.conditions[0]->kind == ExprKind::kCall &&
                            membership.conditions[0]->function == Function("=");
  if (plain_not_in && !ReadsOuter(state, membership.plan, level.id)) {
    const ExprRef& equality = membership.conditions[0];
    ADJOIN_ASSIGN_OR_RETURN(const ExprRef left, attacher.OverBoth(equality->args[0], width));
    node = state.planner.Make(
        Join{JoinKind::kNullAwareAnti, {{left, equality->args[1], false}}, nullptr},
        {node, membership.plan});
    return absl::OkStatus();
  }
  std::vector<ExprRef> tests = membership.conditions;
  if (membership.null_aware) {  // dropped also where the comparison is NULL: where it is anything
                                // but FALSE
    const ExprRef all = Combine("and", tests);
    tests = {CallNamed("is distinct from", {all, Boolean(false)}, TypeId::kBool)};
  }
  NodeRef right = PeelProjections(membership.plan, tests);
  Peeled peeled = PeelFilters(state, right, level.id);
  std::vector<JoinKey> domain_keys;
  if (peeled.input == nullptr) {  // the subquery reads outer columns deeper down
    tests = membership.conditions;
    if (membership.null_aware) {
      tests = {
          CallNamed("is distinct from", {Combine("and", tests), Boolean(false)}, TypeId::kBool)};
    }
    std::vector<ExprRef> keys;
    const std::vector<int> placeholders = OuterPlaceholders(state, membership.plan, level.id);
    ADJOIN_ASSIGN_OR_RETURN(peeled.input,
                            attacher.ForEach(membership.plan, placeholders, node, keys));
    peeled.conjuncts.clear();
    domain_keys = NullSafeKeys(keys);
    for (ExprRef& t : tests) t = ShiftColumns(t, static_cast<int>(keys.size()));
  }
  std::vector<ExprRef> conjuncts;
  for (const std::vector<ExprRef>* list : {&tests, &peeled.conjuncts}) {
    for (const ExprRef& c : *list) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef mapped, attacher.OverBoth(c, width));
      conjuncts.push_back(std::move(mapped));
    }
  }
  JoinCondition on = SplitJoinCondition(conjuncts, width);
  on.keys.insert(on.keys.begin(), domain_keys.begin(), domain_keys.end());
  const JoinKind kind = membership.negated ? JoinKind::kAnti : JoinKind::kSemi;
  node = state.planner.Make(Join{kind, std::move(on.keys), on.residual}, {node, peeled.input});
  return absl::OkStatus();
}

}  // namespace adjoin
