#include "sql/bind_query.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_dml.h"
#include "sql/bind_expr.h"
#include "sql/bind_recursive.h"
#include "sql/bind_select.h"
#include "sql/bind_set_operation.h"
#include "sql/bind_values.h"

namespace adjoin {
namespace {

bool IsModifying(std::string_view tag) {
  return tag == "InsertStmt" || tag == "UpdateStmt" || tag == "DeleteStmt";
}

// LIMIT's or OFFSET's value: BIGINT without columns; null for NULL and ALL.
absl::StatusOr<ExprRef> BindCount(BindState& state, const Json& node, std::string_view construct,
                                  std::string_view negative_state, const CteScope* ctes) {
  if (node.is_null()) return ExprRef();
  Level level;
  level.id = state.NewLevelId();
  level.ctes = ctes;
  const Context context{&level, &level.names, Clause::kLimit};
  const int location = StartOf(node);
  if (Unwrap(node).tag == "ColumnRef") {
    return state.Error(
        sqlstate::kInvalidColumnReference,
        absl::StrCat("argument of ", std::string(construct), " must not contain variables"),
        location);
  }
  ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, node, context));
  if (!value.unknown && !IsNumeric(value.expr->type)) {
    return state.Error(
        sqlstate::kDatatypeMismatch,
        absl::StrCat("argument of ", std::string(construct), " must be type bigint, not type ",
                     std::string(TypeName(value.expr->type))),
        location);
  }
  if (const ExprRef exact = state.ExactOf(value.expr)) value.expr = exact;  // LIMIT 2.5 is 3
  ADJOIN_ASSIGN_OR_RETURN(ExprRef count, Coerce(state, value, TypeId::kInt64));
  if (IsNullConstant(*count)) return ExprRef();
  if (count->kind == ExprKind::kConstant && count->constant.as_int() < 0) {
    return SqlError(negative_state, absl::StrCat(std::string(construct), " must not be negative"));
  }
  return count;
}

std::vector<ExprRef> ColumnsOfNode(const Node& node) {
  std::vector<ExprRef> out;
  for (int c = 0; c < node.width(); ++c)
    out.push_back(ColumnExpr(c, node.types[static_cast<size_t>(c)]));
  return out;
}

// The rows past the offset whose rank is within offset and limit: `node`, sorted, goes on to the
// last of those equal to the last.
NodeRef LimitWithTies(Planner& planner, const NodeRef& node, const std::vector<SortKey>& order,
                      const ExprRef& limit, const ExprRef& offset) {
  const ExprRef zero = ConstantExpr(Value::Int(0), TypeId::kInt64);
  const ExprRef first = offset == nullptr ? zero : offset;
  Window window{{}, order, {}, {}};
  for (WindowFunction f : {WindowFunction::kRowNumber, WindowFunction::kRank})
    window.calls.push_back({f, {}, nullptr, TypeId::kInt64});
  const NodeRef ranked = planner.Make(std::move(window), {node});
  const ExprRef row = ColumnExpr(node->width(), TypeId::kInt64);
  const ExprRef rank = ColumnExpr(node->width() + 1, TypeId::kInt64);
  const ExprRef last = Add(first, limit);
  const std::vector<ExprRef> kept = {CallNamed("<", {first, row}, TypeId::kBool),
                                     CallNamed("<=", {rank, last}, TypeId::kBool),
                                     CallNamed("<", {zero, limit}, TypeId::kBool)};
  const NodeRef rows = planner.Make(Filter{AndAll(kept)}, {ranked});
  return DropLast(planner, DropLast(planner, rows));
}

// The columns of a WITH item by the names it gives.
absl::Status NameColumns(BindState& state, const Json& item, Query& query) {
  const Json& names = ListOf(item, "aliascolnames");
  if (names.size() > query.columns.size()) {
    return state.Error(
        sqlstate::kInvalidColumnReference,
        absl::StrCat("WITH query \"", TextOf(item, "ctename"), "\" has ", query.columns.size(),
                     " columns available but ", names.size(), " columns specified"),
        LocationOf(item));
  }
  for (size_t i = 0; i < names.size(); ++i) query.columns[i].name = StringValue(names[i]);
  for (OutputColumn& column : query.columns) column.unknown = column.written = false;
  return absl::OkStatus();
}

absl::StatusOr<Cte> BindCte(BindState& state, const Json& item, const QueryContext& context,
                            CteScope* scope, std::vector<Statement::Output>* modifying) {
  Cte out;
  out.name = TextOf(item, "ctename");
  const int location = LocationOf(item);
  const auto [tag, body] = Unwrap(FieldOf(item, "ctequery"));
  if (IsModifying(tag)) {
    if (modifying == nullptr) {
      return state.Error(
          sqlstate::kFeatureNotSupported,
          "WITH clause containing a data-modifying statement must be at the top level", location);
    }
    out.modifying = true;
    ADJOIN_ASSIGN_OR_RETURN(Statement::Output output, BindModifying(state, tag, *body, scope));
    modifying->push_back(std::move(output));
    return out;
  }
  if (tag != "SelectStmt") return state.NotSupported("this statement in WITH", location);
  for (const auto& [field, clause] :
       {std::pair("search_clause", "SEARCH"), {"cycle_clause", "CYCLE"}}) {
    if (Has(item, field)) return state.NotSupported(clause, LocationOf(FieldOf(item, field)));
  }
  const QueryContext inner{context.outer, context.around, scope, {}, false};
  if (scope->recursive && ReadsItself(*body, out.name)) {
    const auto name_columns = [&](Query& query) { return NameColumns(state, item, query); };
    ADJOIN_ASSIGN_OR_RETURN(out.query,
                            BindRecursive(state, item, *body, inner, *scope, name_columns));
    return out;
  }
  ADJOIN_ASSIGN_OR_RETURN(out.query, BindSelectBody(state, *body, inner));
  ADJOIN_RETURN_IF_ERROR(NameColumns(state, item, out.query));
  return out;
}

}  // namespace

absl::StatusOr<Query> BindQuery(BindState& state, const Json& select, const QueryContext& context) {
  const auto [tag, body] = Unwrap(select);
  if (tag != "SelectStmt") return state.NotSupported("this statement as a query");
  return BindSelectBody(state, *body, context);
}

absl::StatusOr<Query> BindSelectBody(BindState& state, const Json& body,
                                     const QueryContext& context) {
  const BindState::Nesting nesting(state);
  ADJOIN_RETURN_IF_ERROR(nesting.Check());
  if (!ListOf(body, "lockingClause").empty()) return state.NotSupported("SELECT FOR UPDATE");
  if (Has(body, "intoClause")) return state.NotSupported("SELECT INTO");
  QueryContext inner = context;
  std::unique_ptr<CteScope> scope;
  inner.with_is_bound = false;
  if (Has(body, "withClause") && !context.with_is_bound) {
    ADJOIN_ASSIGN_OR_RETURN(scope, BindWith(state, FieldOf(body, "withClause"), context, nullptr));
    inner.ctes = scope.get();
  }
  if (TextOf(body, "op") != "SETOP_NONE") return BindSetOperation(state, body, inner);
  if (Has(body, "valuesLists")) return BindValues(state, body, inner);
  return BindSelect(state, body, inner);
}

absl::StatusOr<std::unique_ptr<CteScope>> BindWith(BindState& state, const Json& with,
                                                   const QueryContext& context,
                                                   std::vector<Statement::Output>* modifying) {
  auto scope = std::make_unique<CteScope>();
  scope->outer = context.ctes;
  scope->recursive = FlagOf(with, "recursive");
  const Json& items = ListOf(with, "ctes");
  absl::flat_hash_set<std::string> seen;
  for (const Json& wrapped : items) {
    const Json& item = FieldOf(wrapped, "CommonTableExpr");
    std::string name = TextOf(item, "ctename");
    if (!seen.insert(name).second) {
      return state.Error(sqlstate::kDuplicateAlias,
                         absl::StrCat("WITH query name \"", name, "\" specified more than once"),
                         LocationOf(item));
    }
    scope->names.push_back(std::move(name));
  }
  for (const Json& wrapped : items) {
    ADJOIN_ASSIGN_OR_RETURN(Cte cte, BindCte(state, FieldOf(wrapped, "CommonTableExpr"), context,
                                             scope.get(), modifying));
    scope->ctes.push_back(std::move(cte));
  }
  return scope;
}

absl::StatusOr<NodeRef> ApplyLimit(BindState& state, const Json& body, NodeRef node,
                                   const std::vector<SortKey>& order, const CteScope* ctes) {
  const bool with_ties = TextOf(body, "limitOption") == "LIMIT_OPTION_WITH_TIES";
  ADJOIN_ASSIGN_OR_RETURN(ExprRef offset, BindCount(state, FieldOf(body, "limitOffset"), "OFFSET",
                                                    sqlstate::kInvalidRowCountInOffset, ctes));
  ADJOIN_ASSIGN_OR_RETURN(ExprRef limit, BindCount(state, FieldOf(body, "limitCount"), "LIMIT",
                                                   sqlstate::kInvalidRowCountInLimit, ctes));
  if (with_ties && limit == nullptr) {
    return SqlError(sqlstate::kInvalidRowCountInLimit,
                    "row count cannot be null in FETCH FIRST ... WITH TIES clause");
  }
  const bool none =
      limit != nullptr && limit->kind == ExprKind::kConstant && limit->constant.as_int() == 0;
  if (none)
    return state.planner.Make(Values{{}, node->types}, {}, node->names);  // computes nothing
  if (with_ties) return LimitWithTies(state.planner, node, order, limit, offset);
  if (limit == nullptr && offset == nullptr) return node;
  return state.planner.Make(Limit{std::move(limit), std::move(offset)}, {std::move(node)});
}

NodeRef MakeDistinct(Planner& planner, NodeRef node) {
  if (node->width() == 0) {  // equal rows, of which one stays, where there is one
    Limit one{ConstantExpr(Value::Int(1), TypeId::kInt64), nullptr};
    return planner.Make(std::move(one), {std::move(node)});
  }
  GroupBy distinct{ColumnsOfNode(*node), {}};
  return planner.Make(std::move(distinct), {std::move(node)});
}

NodeRef NumberRows(Planner& planner, const NodeRef& node, std::vector<ExprRef> keys,
                   const std::vector<SortKey>& order) {
  Window window{std::move(keys), order, {}, {}};
  window.frame.mode = FrameMode::kRows;
  window.calls.push_back({WindowFunction::kRowNumber, {}, nullptr, TypeId::kInt64});
  return planner.Make(std::move(window), {node});
}

NodeRef DropLast(Planner& planner, const NodeRef& node) {
  std::vector<ExprRef> kept = ColumnsOfNode(*node);
  kept.pop_back();
  return MakeProject(planner, std::move(kept), node, node->names);
}

NodeRef MakeProject(Planner& planner, std::vector<ExprRef> exprs, NodeRef input,
                    std::vector<std::string> names) {
  bool same = static_cast<int>(exprs.size()) == input->width();
  for (size_t i = 0; i < exprs.size() && same; ++i) {
    same = exprs[i]->kind == ExprKind::kColumn && exprs[i]->index == static_cast<int>(i);
  }
  if (same) return input;
  return planner.Make(Project{std::move(exprs)}, {std::move(input)}, std::move(names));
}

}  // namespace adjoin
