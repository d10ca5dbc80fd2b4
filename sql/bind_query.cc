#include "sql/bind_query.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_dml.h"
#include "sql/bind_expr.h"
#include "sql/bind_select.h"
#include "sql/bind_set_operation.h"
#include "sql/bind_values.h"

namespace adjoin {
namespace {

bool IsModifying(std::string_view tag) {
  return tag == "InsertStmt" || tag == "UpdateStmt" || tag == "DeleteStmt";
}

absl::StatusOr<Cte> BindCte(BindState& state, const Json& item, const QueryContext& context,
                            const CteScope* scope, std::vector<Statement::Output>* modifying) {
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
  ADJOIN_ASSIGN_OR_RETURN(
      out.query, BindSelectBody(state, *body, {context.outer, context.around, scope, {}, false}));
  const Json& names = ListOf(item, "aliascolnames");
  if (names.size() > out.query.columns.size()) {
    return state.Error(sqlstate::kInvalidColumnReference,
                       absl::StrCat("WITH query \"", out.name, "\" has ", out.query.columns.size(),
                                    " columns available but ", names.size(), " columns specified"),
                       location);
  }
  for (size_t i = 0; i < names.size(); ++i) out.query.columns[i].name = StringValue(names[i]);
  for (OutputColumn& column : out.query.columns) column.unknown = false;
  return out;
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
  ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state, node, context));
  if (!value.unknown && !IsNumeric(value.expr->type)) {
    return state.Error(
        sqlstate::kDatatypeMismatch,
        absl::StrCat("argument of ", std::string(construct), " must be type bigint, not type ",
                     std::string(TypeName(value.expr->type))),
        location);
  }
  ADJOIN_ASSIGN_OR_RETURN(ExprRef count, Coerce(state, value, TypeId::kInt64));
  if (IsNullConstant(*count)) return ExprRef();
  if (count->kind == ExprKind::kConstant && count->constant.as_int() < 0) {
    return SqlError(negative_state, absl::StrCat(std::string(construct), " must not be negative"));
  }
  return count;
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
                                   const CteScope* ctes) {
  if (TextOf(body, "limitOption") == "LIMIT_OPTION_WITH_TIES")
    return state.NotSupported("WITH TIES");
  ADJOIN_ASSIGN_OR_RETURN(ExprRef offset, BindCount(state, FieldOf(body, "limitOffset"), "OFFSET",
                                                    sqlstate::kInvalidRowCountInOffset, ctes));
  ADJOIN_ASSIGN_OR_RETURN(ExprRef limit, BindCount(state, FieldOf(body, "limitCount"), "LIMIT",
                                                   sqlstate::kInvalidRowCountInLimit, ctes));
  if (limit == nullptr && offset == nullptr) return node;
  return state.planner.Make(Limit{std::move(limit), std::move(offset)}, {std::move(node)});
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
