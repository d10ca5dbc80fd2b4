#include "sql/binder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/bind_dml.h"
#include "sql/bind_expr.h"
#include "sql/bind_query.h"
#include "sql/bind_state.h"

namespace adjoin {
namespace {

class EmptyCatalog final : public CatalogView {
 public:
  std::optional<CatalogTable> FindTable(std::string_view) const override { return std::nullopt; }
  std::optional<StoredView> FindView(std::string_view) const override { return std::nullopt; }
};

absl::StatusOr<Statement> BindTree(BindState& state, std::string_view tag, const Json& body) {
  Statement out;
  std::vector<Statement::Output> modifying;
  std::unique_ptr<CteScope> scope;
  // The WITH of the statement itself may modify data; BindSelectBody would not let it.
  if (Has(body, "withClause")) {
    ADJOIN_ASSIGN_OR_RETURN(scope, BindWith(state, FieldOf(body, "withClause"), {}, &modifying));
  }
  if (tag == "SelectStmt") {
    QueryContext context;
    context.ctes = scope.get();
    context.with_is_bound = true;
    ADJOIN_ASSIGN_OR_RETURN(Query query, BindSelectBody(state, body, context));
    out.outputs.push_back({ResultSink{}, std::move(query.node)});
    for (OutputColumn& column : query.columns) out.result_names.push_back(std::move(column.name));
  } else {
    ADJOIN_ASSIGN_OR_RETURN(Statement::Output output, BindModifying(state, tag, body, scope.get()));
    out.outputs.push_back(std::move(output));
  }
  for (Statement::Output& output : modifying) out.outputs.push_back(std::move(output));
  ADJOIN_ASSIGN_OR_RETURN(out.parameters, state.ParameterTypes());
  out.first_clock = state.first_clock();
  return out;
}

}  // namespace

bool IsBindable(const nlohmann::json& tree) {
  const std::string_view tag = Unwrap(tree).tag;
  return tag == "SelectStmt" || tag == "InsertStmt" || tag == "UpdateStmt" || tag == "DeleteStmt";
}

absl::StatusOr<Statement> Bind(const nlohmann::json& tree, const CatalogView& catalog,
                               const BindOptions& options, Planner& planner) {
  BindState state(catalog, options, planner, &tree);
  if (!IsBindable(tree)) return state.NotSupported("this statement");
  const auto [tag, body] = Unwrap(tree);
  return BindTree(state, tag, *body);
}

absl::StatusOr<std::vector<ExprRef>> BindConstants(const nlohmann::json& trees,
                                                   const std::vector<std::optional<TypeId>>& types,
                                                   const BindOptions& options) {
  const EmptyCatalog catalog;
  Planner planner;
  BindState state(catalog, options, planner);
  Level level;
  level.id = state.NewLevelId();
  const Context context{&level, &level.names, Clause::kConstants};
  std::vector<ExprRef> out;
  for (const Json& tree : trees) {
    ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state, tree, context));
    const std::optional<TypeId> type = out.size() < types.size() ? types[out.size()] : std::nullopt;
    if (!type.has_value()) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef settled, Settle(state, value));
      out.push_back(std::move(settled));
      continue;
    }
    ADJOIN_ASSIGN_OR_RETURN(std::optional<ExprRef> cast, AssignmentCast(state, value, *type));
    if (!cast.has_value()) {
      return state.ErrorWithDetail(
          sqlstate::kDatatypeMismatch,
          absl::StrCat("parameter $", out.size() + 1, " of type ",
                       ToAbsl(TypeName(value.expr->type)),
                       " cannot be coerced to the expected type ", ToAbsl(TypeName(*type))),
          "", "You will need to rewrite or cast the expression.", value.location);
    }
    out.push_back(*std::move(cast));
  }
  return out;
}

}  // namespace adjoin
