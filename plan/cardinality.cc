#include "plan/cardinality.h"

#include <algorithm>
#include <utility>

#include "plan/row_estimate.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// Shares of rows where nothing better is known, PostgreSQL's (DEFAULT_EQ_SEL is for columns without
// statistics, DEFAULT_INEQ_SEL, DEFAULT_MATCH_SEL times ten for patterns of a few words).
constexpr double kUnknownEqual = 0.005, kUnknownRange = 1.0 / 3, kUnknownMatch = 0.05,
                 kUnknownPredicate = 1.0 / 3, kNullShare = 0.01;

bool IsCall(const Expr& e, std::string_view name) {
  return e.kind == ExprKind::kCall && e.function->name == name;
}

// Casts keep order and tell values apart, or nearly.
const Expr& WithoutCasts(const ExprRef& expr) {
  const Expr* e = expr.get();
  while (IsCall(*e, "cast")) e = e->args[0].get();
  return *e;
}

double NumberOr(const Expr& e, double otherwise) {
  if (e.kind != ExprKind::kConstant) return otherwise;
  if (e.constant.is_int()) return static_cast<double>(e.constant.as_int());
  if (e.constant.is_decimal()) return static_cast<double>(e.constant.as_decimal());
  return e.constant.is_float() ? e.constant.as_float() : otherwise;
}

}  // namespace

double Cardinality::Rows(const NodeRef& node) {
  std::vector<NodeRef> open = {node};  // no recursion: plans may be very deep
  while (!open.empty()) {
    const NodeRef at = open.back();
    const size_t before = open.size();
    if (!rows_.contains(at.get())) {
      for (const NodeRef& input : at->inputs) {
        if (!rows_.contains(input.get())) open.push_back(input);
      }
    }
    if (open.size() > before) continue;
    open.pop_back();
    if (!rows_.contains(at.get())) {
      const double rows = OfOperator(at);
      rows_[at.get()] = rows;
    }
  }
  return rows_.at(node.get());
}

double Cardinality::OfOperator(const NodeRef& node) {
  if (const auto* scan = std::get_if<Scan>(&node->op)) {
    const TableRef table = table_of_(*scan);
    if (table != nullptr) return static_cast<double>(table->num_rows());
  }
  if (const auto* filter = std::get_if<Filter>(&node->op))
    return Rows(node->inputs[0]) * Selectivity(node->inputs[0], filter->predicate);
  if (const auto* join = std::get_if<Join>(&node->op)) return OfJoin(node, *join);
  if (const auto* group = std::get_if<GroupBy>(&node->op))
    return OfGroups(node->inputs[0], group->keys);
  if (const auto* p = std::get_if<SparseProduct>(&node->op)) return OfProduct(node, p->on, p->keys);
  if (const auto* p = std::get_if<SampledProduct>(&node->op)) {
    std::vector<ExprRef> keys;
    for (int c : p->keys)
      keys.push_back(ColumnExpr(c, node->inputs[0]->types[static_cast<size_t>(c)]));
    return OfGroups(node->inputs[0], keys);
  }
  return RowsFromInputs(*node, [&](size_t i) { return Rows(node->inputs[i]); });
}

double Cardinality::Pairs(const NodeRef& left, const NodeRef& right,
                          const std::vector<JoinKey>& keys) {
  double pairs = Rows(left) * Rows(right);
  for (const JoinKey& key : keys)
    pairs /= std::max({Distinct(left, key.left), Distinct(right, key.right), 1.0});
  return pairs;
}

double Cardinality::OfJoin(const NodeRef& node, const Join& join) {
  const NodeRef &left = node->inputs[0], &right = node->inputs[1];
  const double l = Rows(left), r = Rows(right);
  double pairs = Pairs(left, right, join.keys), matched = 1;  // of left rows that have a match
  for (const JoinKey& key : join.keys) {
    const double a = Distinct(left, key.left), b = Distinct(right, key.right);
    matched = std::min(matched, b / std::max(a, 1.0));
  }
  // Keys of several columns often determine each other.
  if (join.keys.size() > 1) pairs = std::max(pairs, std::min(l, r) * matched);
  switch (join.kind) {
    case JoinKind::kInner:
      return join.residual == nullptr ? pairs : pairs * kUnknownPredicate;
    case JoinKind::kSemi:
      return l * (join.residual == nullptr ? matched : matched / 2);
    case JoinKind::kAnti:
    case JoinKind::kNullAwareAnti:
      return l * std::max(1 - matched, kNullShare);
    case JoinKind::kLeft:
      return std::max(pairs, l);
    case JoinKind::kFull:
      return std::max({pairs, l, r});
    case JoinKind::kSingle:
      return l;
  }
  return l;
}

double Cardinality::OfGroups(const NodeRef& node, const std::vector<ExprRef>& keys) {
  double groups = 1;
  for (const ExprRef& key : keys) groups *= std::max(Distinct(node, key), 1.0);
  return keys.empty() ? 1 : std::min(groups, Rows(node));
}

double Cardinality::OfProduct(const NodeRef& node, const std::vector<JoinKey>& on,
                              const std::vector<ContractionKey>& keys) {
  double groups = 1;
  for (const ContractionKey& key : keys) {
    const NodeRef& side = node->inputs[static_cast<size_t>(key.side)];
    groups *= std::max(
        Distinct(side, ColumnExpr(key.column, side->types[static_cast<size_t>(key.column)])), 1.0);
  }
  return std::min(groups, Pairs(node->inputs[0], node->inputs[1], on));
}

// Follows a column down to the base table that it is of.
ColumnStatistics Cardinality::Statistics(const NodeRef& node, int column) const {
  const Node* at = node.get();
  while (true) {
    if (const auto* scan = std::get_if<Scan>(&at->op)) {
      const TableRef table = table_of_(*scan);
      return table == nullptr ? ColumnStatistics{} : table->column(column)->statistics();
    }
    size_t input = 0;
    if (const auto* project = std::get_if<Project>(&at->op)) {
      const Expr& e = WithoutCasts(project->exprs[static_cast<size_t>(column)]);
      if (e.kind != ExprKind::kColumn) return {};
      column = e.index;
    } else if (const auto* group = std::get_if<GroupBy>(&at->op)) {
      if (static_cast<size_t>(column) >= group->keys.size()) return {};
      const Expr& e = WithoutCasts(group->keys[static_cast<size_t>(column)]);
      if (e.kind != ExprKind::kColumn) return {};
      column = e.index;
    } else if (const auto* sparse = std::get_if<SparseProduct>(&at->op)) {
      if (static_cast<size_t>(column) >= sparse->keys.size()) return {};
      input = static_cast<size_t>(sparse->keys[static_cast<size_t>(column)].side);
      column = sparse->keys[static_cast<size_t>(column)].column;
    } else if (const auto* sampled = std::get_if<SampledProduct>(&at->op)) {
      if (static_cast<size_t>(column) >= sampled->keys.size()) return {};
      column = sampled->keys[static_cast<size_t>(column)];
    } else if (std::holds_alternative<Join>(at->op) || std::holds_alternative<Lookup>(at->op)) {
      if (column >= at->inputs[0]->width()) {
        column -= at->inputs[0]->width();
        input = 1;
      }
    } else if (std::holds_alternative<RowId>(at->op) || std::holds_alternative<Collect>(at->op)) {
      if (column >= at->inputs[0]->width()) return {};
    } else if (!std::holds_alternative<Filter>(at->op) && !std::holds_alternative<Sort>(at->op) &&
               !std::holds_alternative<Limit>(at->op)) {
      return {};
    }
    at = at->inputs[input].get();
  }
}

double Cardinality::Distinct(const NodeRef& node, const ExprRef& expr) {
  const double rows = Rows(node);
  const Expr& e = WithoutCasts(expr);
  if (e.kind != ExprKind::kColumn) {
    // As many as its columns' values make.
    double distinct = 1;
    for (int column : ColumnsOf(expr))
      distinct *= std::max(Distinct(node, ColumnExpr(column, TypeId::kInt64)), 1.0);
    return std::min(distinct, rows);
  }
  const double distinct = Statistics(node, e.index).distinct;
  return distinct == 0 ? rows : std::min(distinct, rows);
}

// The share of rows for which less < more, where one of them is a column and the other a constant.
double Cardinality::Below(const NodeRef& node, const ExprRef& less, const ExprRef& more) {
  const Expr &a = WithoutCasts(less), &b = WithoutCasts(more);
  const bool column_first = a.kind == ExprKind::kColumn;
  const double bound = NumberOr(column_first ? b : a, std::nan(""));
  if (!column_first && b.kind != ExprKind::kColumn) return kUnknownRange;
  const ColumnStatistics s = Statistics(node, (column_first ? a : b).index);
  const double share = (bound - s.low) / (s.high - s.low);
  if (std::isnan(share)) return kUnknownRange;
  return std::clamp(column_first ? share : 1 - share, 0.0, 1.0);
}

double Cardinality::OfCall(const NodeRef& node, const Expr& call) {
  const std::string_view name = call.function->name;
  const auto of = [&](size_t i) { return Selectivity(node, call.args[i]); };
  if (name == "and") return of(0) * of(1);
  if (name == "or") return 1 - (1 - of(0)) * (1 - of(1));
  if (name == "not") return 1 - of(0);
  if (name == "is null") return kNullShare;
  if (name == "is not null") return 1 - kNullShare;
  if (name == "<" || name == "<=") return Below(node, call.args[0], call.args[1]);
  if (name == "=" || name == "is distinct from" || name == "<>") {
    double values = 1;
    for (const ExprRef& side : call.args) {
      if (!ColumnsOf(side).empty()) values = std::max(values, Distinct(node, side));
    }
    const double equal = values > 1 ? 1 / values : kUnknownEqual;
    return name == "=" ? equal : 1 - equal;
  }
  if (name.starts_with("!~")) return 1 - kUnknownMatch;
  const bool matches = name.starts_with("~") || name.find("like") != std::string_view::npos;
  return matches ? kUnknownMatch : kUnknownPredicate;
}

double Cardinality::Selectivity(const NodeRef& node, const ExprRef& predicate) {
  // Of two bounds of one column the share between them, not the product.
  double product = 1;
  absl::flat_hash_map<int, double> outside;  // by column: shares that bounds leave out
  for (const ExprRef& c : Conjuncts(predicate)) {
    const double share = c->kind == ExprKind::kConstant && c->constant.is_bool()
                             ? (c->constant.as_bool() ? 1 : 0)
                         : c->kind == ExprKind::kCall ? OfCall(node, *c)
                                                      : kUnknownPredicate;
    const std::vector<int> columns = ColumnsOf(c);
    if (columns.size() == 1 && (IsCall(*c, "<") || IsCall(*c, "<="))) {
      outside[columns[0]] += 1 - share;
    } else {
      product *= share;
    }
  }
  for (const auto& [column, share] : outside) product *= std::max(1 - share, kUnknownEqual);
  return product;
}

}  // namespace adjoin
