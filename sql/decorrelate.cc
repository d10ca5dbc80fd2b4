#include "sql/decorrelate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/status.h"
#include "plan/join_condition.h"
#include "sql/plan_exprs.h"

namespace adjoin {
namespace {

class Decorrelator {
 public:
  Decorrelator(BindState& state, const NodeRef& domain, const std::vector<int>& placeholders)
      : state_(state), planner_(state.planner), domain_(domain), width_(domain->width()) {
    for (size_t i = 0; i < placeholders.size(); ++i) {
      columns_.emplace(placeholders[i], ColumnExpr(static_cast<int>(i), domain->types[i]));
    }
  }

  absl::StatusOr<NodeRef> Run(const NodeRef& plan) {
    for (const NodeRef& node : TopologicalOrder({plan})) {
      if (!Depends(*node)) continue;
      ADJOIN_ASSIGN_OR_RETURN(
          NodeRef out, std::visit([&](const auto& op) { return Rewrite(op, *node); }, node->op));
      rewritten_.emplace(node.get(), std::move(out));
    }
    return Lift(plan);
  }

 private:
  bool Depends(const Node& node) const {
    for (const NodeRef& input : node.inputs) {
      if (rewritten_.contains(input.get())) return true;
    }
    bool found = false;
    VisitExprs(node.op, [&](const ExprRef& e) { found |= Reads(e); });
    return found;
  }

  bool Reads(const ExprRef& expr) const {
    bool found = false;
    static_cast<void>(MapLeaves(expr, [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
      found |= IsPlaceholder(*leaf) && columns_.contains(leaf->index);
      return leaf;
    }));
    return found;
  }

  bool Rewritten(const NodeRef& node) const { return rewritten_.contains(node.get()); }

  // The node with the domain's columns in front: as rewritten, or crossed with the domain.
  NodeRef Lift(const NodeRef& node) {
    if (auto it = rewritten_.find(node.get()); it != rewritten_.end()) return it->second;
    if (const auto* values = std::get_if<Values>(&node->op);
        values != nullptr && node->width() == 0 && values->rows.size() == 1) {
      return domain_;
    }
    return planner_.Make(Join{JoinKind::kInner, {}, nullptr}, {domain_, node});
  }

  // An expression over a node's own columns as one over its lifted form: columns move by `offset`.
  ExprRef Map(const ExprRef& expr, int offset) const {
    if (expr == nullptr) return nullptr;
    const auto map = [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
      if (leaf->kind == ExprKind::kColumn) return ColumnExpr(leaf->index + offset, leaf->type);
      const auto it = columns_.find(leaf->index);
      return it == columns_.end() ? leaf : it->second;
    };
    return *MapLeaves(expr, map);
  }
  ExprRef Map(const ExprRef& expr) const { return Map(expr, width_); }

  std::vector<ExprRef> DomainColumns(int first = 0) const {
    std::vector<ExprRef> out;
    for (int i = 0; i < width_; ++i)
      out.push_back(ColumnExpr(first + i, domain_->types[static_cast<size_t>(i)]));
    return out;
  }
  std::vector<ExprRef> AllColumns(const Node& node, int first) const {
    std::vector<ExprRef> out;
    for (int i = first; i < node.width(); ++i)
      out.push_back(ColumnExpr(i, node.types[static_cast<size_t>(i)]));
    return out;
  }
  std::vector<JoinKey> DomainKeys() const {
    std::vector<JoinKey> keys;
    for (const ExprRef& column : DomainColumns())
      keys.push_back({column, column, /*null_safe=*/true});
    return keys;
  }
  absl::Status NotSupported(std::string_view what) const {
    return state_.NotSupported(std::string(what) + " inside a correlated subquery");
  }

  absl::StatusOr<NodeRef> Rewrite(const Scan&, const Node&) {
    return SqlError(sqlstate::kInternalError, "scan");
  }
  absl::StatusOr<NodeRef> Rewrite(const Series&, const Node&) {
    return NotSupported("a generate_series of outer columns");
  }
  absl::StatusOr<NodeRef> Rewrite(const Contraction&, const Node&) {
    return NotSupported("a contraction");
  }
  absl::StatusOr<NodeRef> Rewrite(const SparseProduct&, const Node&) {
    return NotSupported("a sparse product");
  }
  absl::StatusOr<NodeRef> Rewrite(const SampledProduct&, const Node&) {
    return NotSupported("a sampled product");
  }
  absl::StatusOr<NodeRef> Rewrite(const Collect&, const Node&) {
    return NotSupported("a derivative");
  }
  absl::StatusOr<NodeRef> Rewrite(const Derivative&, const Node&) {
    return NotSupported("a derivative");
  }

  absl::StatusOr<NodeRef> Rewrite(const Recursion&, const Node&) {
    return NotSupported("WITH RECURSIVE");
  }
  absl::StatusOr<NodeRef> Rewrite(const RecursionInput&, const Node&) {
    return NotSupported("WITH RECURSIVE");
  }

  absl::StatusOr<NodeRef> Rewrite(const Values& values, const Node&) {
    std::vector<NodeRef> rows;
    for (const auto& row : values.rows) {
      Project project{DomainColumns()};
      for (const ExprRef& e : row) project.exprs.push_back(Map(e));
      rows.push_back(planner_.Make(std::move(project), {domain_}));
    }
    return rows.size() == 1 ? rows[0] : planner_.Make(UnionAll{}, rows);
  }

  //   Filter[p]          Join[p]
  //     X           =>     domain  X
  absl::StatusOr<NodeRef> Rewrite(const Filter& filter, const Node& node) {
    const ExprRef predicate = Map(filter.predicate);
    if (Rewritten(node.inputs[0])) return planner_.Make(Filter{predicate}, {Lift(node.inputs[0])});
    JoinCondition on = SplitJoinCondition(Conjuncts(predicate), width_);
    return planner_.Make(Join{JoinKind::kInner, std::move(on.keys), on.residual},
                         {domain_, node.inputs[0]});
  }

  absl::StatusOr<NodeRef> Rewrite(const Project& project, const Node& node) {
    Project out{DomainColumns()};
    for (const ExprRef& e : project.exprs) out.exprs.push_back(Map(e));
    return planner_.Make(std::move(out), {Lift(node.inputs[0])});
  }

  // Both sides for one row of the domain: the left side carries it, and the right side, where it
  // does too, must agree.
  absl::StatusOr<NodeRef> Rewrite(const Join& join, const Node& node) {
    const int left_width = node.inputs[0]->width();
    std::vector<ExprRef> conjuncts;  // over left's own columns, then right's
    for (const JoinKey& key : join.keys) {
      const ExprRef right = ShiftColumns(key.right, left_width);
      conjuncts.push_back(
          key.null_safe
              ? CallNamed("not", {CallNamed("is distinct from", {key.left, right}, TypeId::kBool)},
                          TypeId::kBool)
              : CallNamed("=", {key.left, right}, TypeId::kBool));
    }
    JoinKind kind = join.kind;
    if (kind == JoinKind::kNullAwareAnti) {
      kind = JoinKind::kAnti;
      const ExprRef false_value = ConstantExpr(Value::Bool(false), TypeId::kBool);
      conjuncts[0] = CallNamed("is distinct from", {conjuncts[0], false_value}, TypeId::kBool);
    }
    if (join.residual != nullptr) conjuncts.push_back(join.residual);
    const bool both = Rewritten(node.inputs[1]) || kind == JoinKind::kFull;
    const NodeRef left = Lift(node.inputs[0]);
    const NodeRef right = both ? Lift(node.inputs[1]) : node.inputs[1];
    for (ExprRef& c : conjuncts) c = MapSides(c, left_width, both ? width_ : 0);
    JoinCondition on = SplitJoinCondition(conjuncts, left->width());
    if (both) {
      const std::vector<JoinKey> domain_keys = DomainKeys();
      on.keys.insert(on.keys.begin(), domain_keys.begin(), domain_keys.end());
    }
    NodeRef out = planner_.Make(Join{kind, std::move(on.keys), on.residual}, {left, right});
    return both && out->width() > left->width()
               ? DropSecondDomain(out, left->width(), kind == JoinKind::kFull)
               : out;
  }

  // Left's columns move by the domain's width, right's by that and, where the right side carries
  // the domain too, again.
  ExprRef MapSides(const ExprRef& expr, int left_width, int right_offset) const {
    const auto map = [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
      if (leaf->kind != ExprKind::kColumn) return leaf;
      return ColumnExpr(leaf->index + (leaf->index < left_width ? 0 : right_offset), leaf->type);
    };
    return Map(*MapLeaves(expr, map));
  }

  NodeRef DropSecondDomain(const NodeRef& join, int left_width, bool full) {
    Project out{DomainColumns()};
    const std::vector<ExprRef> second = DomainColumns(left_width);
    for (size_t i = 0; full && i < second.size(); ++i) {
      out.exprs[i] = CallNamed("coalesce", {out.exprs[i], second[i]}, second[i]->type);
    }
    for (const ExprRef& column : AllColumns(*join, width_)) {
      if (column->index < left_width || column->index >= left_width + width_)
        out.exprs.push_back(column);
    }
    return planner_.Make(std::move(out), {join});
  }

  absl::StatusOr<NodeRef> Rewrite(const GroupBy& group, const Node& node) {
    GroupBy out{DomainColumns(), {}};
    for (const ExprRef& key : group.keys) out.keys.push_back(Map(key));
    for (Aggregate aggregate : group.aggregates) {
      aggregate.arg = Map(aggregate.arg);
      aggregate.second = Map(aggregate.second);
      aggregate.filter = Map(aggregate.filter);
      out.aggregates.push_back(std::move(aggregate));
    }
    const NodeRef groups = planner_.Make(std::move(out), {Lift(node.inputs[0])});
    return group.keys.empty() ? EveryDomainRow(groups, group) : groups;
  }

  // The single group exists also where no row reached it: COUNT is 0 there, any other aggregate
  // NULL.
  NodeRef EveryDomainRow(const NodeRef& groups, const GroupBy& group) {
    const std::vector<ExprRef> keys = DomainColumns();
    const NodeRef all = planner_.Make(Lookup{keys, keys}, {domain_, groups});
    Project out{keys};
    for (size_t i = 0; i < group.aggregates.size(); ++i) {
      const Aggregate& aggregate = group.aggregates[i];
      ExprRef value = ColumnExpr(2 * width_ + static_cast<int>(i), aggregate.type);
      if (aggregate.function == AggregateFunction::kCountStar ||
          aggregate.function == AggregateFunction::kCount) {
        value = CallNamed("coalesce", {value, ConstantExpr(Value::Int(0), aggregate.type)},
                          aggregate.type);
      }
      out.exprs.push_back(std::move(value));
    }
    return planner_.Make(std::move(out), {all});
  }

  absl::StatusOr<NodeRef> Rewrite(const Window& window, const Node& node) {
    Window out = window;
    out.partition = DomainColumns();
    for (const ExprRef& e : window.partition) out.partition.push_back(Map(e));
    for (SortKey& key : out.order) key.expr = Map(key.expr);
    out.frame.start_offset = Map(window.frame.start_offset);
    out.frame.end_offset = Map(window.frame.end_offset);
    for (WindowCall& call : out.calls) {
      for (ExprRef& arg : call.args) arg = Map(arg);
      call.filter = Map(call.filter);
    }
    return planner_.Make(std::move(out), {Lift(node.inputs[0])});
  }

  absl::StatusOr<NodeRef> Rewrite(const Sort& sort, const Node& node) {
    Sort out = sort;
    for (SortKey& key : out.keys) key.expr = Map(key.expr);
    return planner_.Make(std::move(out), {Lift(node.inputs[0])});
  }

  // The first rows of each domain row: rows come in the order of a sort below, and ROW_NUMBER
  // counts in that order.
  absl::StatusOr<NodeRef> Rewrite(const Limit& limit, const Node& node) {
    const NodeRef input = Lift(node.inputs[0]);
    Window number;
    number.partition = DomainColumns();
    number.frame.mode = FrameMode::kRows;
    number.calls.push_back({WindowFunction::kRowNumber, {}, nullptr, TypeId::kInt64});
    const NodeRef numbered = planner_.Make(std::move(number), {input});
    const ExprRef row = ColumnExpr(input->width(), TypeId::kInt64);
    const ExprRef zero = ConstantExpr(Value::Int(0), TypeId::kInt64);
    const ExprRef offset = limit.offset == nullptr ? zero : Map(limit.offset);
    std::vector<ExprRef> kept;
    if (limit.offset != nullptr) kept.push_back(CallNamed("<", {offset, row}, TypeId::kBool));
    if (limit.limit != nullptr) {
      const ExprRef last = CallNamed("+", {offset, Map(limit.limit)}, TypeId::kInt64);
      kept.push_back(
          CallNamed("<=", {row, limit.offset == nullptr ? Map(limit.limit) : last}, TypeId::kBool));
    }
    if (kept.empty()) return input;
    const NodeRef filtered = planner_.Make(Filter{AndAll(kept)}, {numbered});
    Project out{AllColumns(*input, 0)};
    return planner_.Make(std::move(out), {filtered});
  }

  absl::StatusOr<NodeRef> Rewrite(const UnionAll&, const Node& node) {
    std::vector<NodeRef> inputs;
    for (const NodeRef& input : node.inputs) inputs.push_back(Lift(input));
    return planner_.Make(UnionAll{}, std::move(inputs));
  }

  absl::StatusOr<NodeRef> Rewrite(const RowId&, const Node& node) {
    return planner_.Make(RowId{}, {Lift(node.inputs[0])});
  }

  absl::StatusOr<NodeRef> Rewrite(const Lookup& lookup, const Node& node) {
    const bool both = Rewritten(node.inputs[1]);
    Lookup out;
    if (both) out.left_keys = out.right_keys = DomainColumns();
    for (const ExprRef& e : lookup.left_keys) out.left_keys.push_back(Map(e));
    for (const ExprRef& e : lookup.right_keys) {
      if (!both && Reads(e)) return NotSupported("this lookup");
      out.right_keys.push_back(both ? Map(e) : e);
    }
    const NodeRef left = Lift(node.inputs[0]);
    const NodeRef right = both ? Lift(node.inputs[1]) : node.inputs[1];
    NodeRef made = planner_.Make(std::move(out), {left, right});
    return both ? DropSecondDomain(made, left->width(), /*full=*/false) : made;
  }

  absl::StatusOr<NodeRef> Rewrite(const Require& require, const Node& node) {
    if (require.what != Require::What::kUnique) return NotSupported("this check");
    Require out = require;
    out.columns.clear();
    for (int i = 0; i < width_; ++i) out.columns.push_back(i);
    for (int c : require.columns) out.columns.push_back(c + width_);
    return planner_.Make(std::move(out), {Lift(node.inputs[0])});
  }

  BindState& state_;
  Planner& planner_;
  const NodeRef domain_;
  const int width_;
  absl::flat_hash_map<int, ExprRef> columns_;            // placeholder -> column of the domain
  absl::flat_hash_map<const Node*, NodeRef> rewritten_;  // nodes that depend on the domain
};

}  // namespace

std::vector<int> OuterPlaceholders(const BindState& state, const NodeRef& plan, int level) {
  std::vector<int> out;
  const auto look = [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
    if (!IsPlaceholder(*leaf)) return leaf;
    const BindState::Outer* outer = state.FindOuter(leaf->index);
    const bool is_ours = outer != nullptr && outer->level == level;
    if (is_ours && std::find(out.begin(), out.end(), leaf->index) == out.end())
      out.push_back(leaf->index);
    return leaf;
  };
  for (const NodeRef& node : TopologicalOrder({plan})) {
    VisitExprs(node->op, [&](const ExprRef& e) { static_cast<void>(MapLeaves(e, look)); });
  }
  return out;
}

bool ReadsOuter(const BindState& state, const NodeRef& plan, int level) {
  return !OuterPlaceholders(state, plan, level).empty();
}

absl::StatusOr<NodeRef> Decorrelate(BindState& state, const NodeRef& plan, const NodeRef& domain,
                                    const std::vector<int>& placeholders) {
  return Decorrelator(state, domain, placeholders).Run(plan);
}

RowCount RowsOf(const NodeRef& plan) {
  bool certain = true;
  const Node* node = plan.get();
  while (true) {
    if (const auto* group = std::get_if<GroupBy>(&node->op);
        group != nullptr && group->keys.empty())
      break;
    if (const auto* values = std::get_if<Values>(&node->op); values != nullptr) {
      if (values->rows.size() > 1) return RowCount::kAny;
      certain &= values->rows.size() == 1;
      break;
    }
    if (const auto* limit = std::get_if<Limit>(&node->op); limit != nullptr) {
      certain = false;
      const bool one = limit->limit != nullptr && limit->limit->kind == ExprKind::kConstant &&
                       limit->limit->constant.is_int() && limit->limit->constant.as_int() <= 1;
      if (one) break;
    } else if (std::holds_alternative<Filter>(node->op)) {
      certain = false;
    } else if (std::holds_alternative<Join>(node->op)) {
      // Joined scalar subqueries: one row each side gives one row.
      const Join& join = std::get<Join>(node->op);
      const bool cross =
          join.keys.empty() && join.residual == nullptr && join.kind == JoinKind::kInner;
      if (!cross || RowsOf(node->inputs[1]) != RowCount::kOne) return RowCount::kAny;
    } else if (!std::holds_alternative<Project>(node->op) &&
               !std::holds_alternative<Sort>(node->op) &&
               !std::holds_alternative<Window>(node->op) &&
               !std::holds_alternative<Lookup>(node->op)) {
      return RowCount::kAny;
    }
    node = node->inputs[0].get();
  }
  return certain ? RowCount::kOne : RowCount::kAtMostOne;
}

}  // namespace adjoin
