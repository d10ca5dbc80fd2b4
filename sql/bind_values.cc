#include "sql/bind_values.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_expr.h"
#include "sql/level_plan.h"
#include "sql/order_output.h"

namespace adjoin {
namespace {

bool IsLiteral(const ExprRef& e) {
  return e->kind == ExprKind::kConstant || (e->kind == ExprKind::kParameter && !IsPlaceholder(*e));
}

// The type of one column: that of the cells, or the one wanted where they leave it open.
absl::StatusOr<CommonTyping> ColumnType(BindState& state,
                                        const std::vector<std::vector<Typed>>& rows, size_t column,
                                        const QueryContext& context) {
  std::vector<Typed> cells;
  for (const std::vector<Typed>& row : rows) cells.push_back(row[column]);
  ADJOIN_ASSIGN_OR_RETURN(CommonTyping out, CommonTypeOf(state, cells, "VALUES"));
  if (const std::optional<TypeId> wanted = context.WantedAt(column);
      TakesType(out.open, out.written, wanted))
    out.type = *wanted;
  return out;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<Typed>>> BindValuesLists(BindState& state, const Json& body,
                                                                Level& level, bool allow_default) {
  const Context context{&level, &level.names, Clause::kValues};
  std::vector<std::vector<Typed>> rows;
  for (const Json& list : ListOf(body, "valuesLists")) {
    std::vector<Typed> row;
    for (const Json& cell : ListOf(FieldOf(list, "List"), "items")) {
      if (allow_default && Unwrap(cell).tag == "SetToDefault") {
        row.push_back({NullExpr(TypeId::kText), true, -1});
        continue;
      }
      ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, cell, context));
      row.push_back(std::move(value));
    }
    if (!rows.empty() && rows[0].size() != row.size()) {
      const int location = row.empty() ? -1 : row[0].location;
      return state.Error(sqlstate::kSyntaxError, "VALUES lists must all be the same length",
                         location);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

absl::StatusOr<NodeRef> MakeValues(BindState& state, Level& level,
                                   std::vector<std::vector<ExprRef>> rows,
                                   std::vector<TypeId> types) {
  Planner& planner = state.planner;
  bool literal = true;
  for (const auto& row : rows) {
    for (const ExprRef& e : row) literal &= IsLiteral(e);
  }
  if (literal) return planner.Make(Values{std::move(rows), std::move(types)}, {});
  std::vector<NodeRef> parts;
  for (const auto& row : rows) {
    LevelPlan plan(state, level);
    ADJOIN_RETURN_IF_ERROR(plan.Build());
    Project project;
    for (const ExprRef& e : row) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef placed, plan.Place(e));
      project.exprs.push_back(std::move(placed));
    }
    parts.push_back(planner.Make(std::move(project), {plan.node()}));
  }
  return parts.size() == 1 ? parts[0] : planner.Make(UnionAll{}, std::move(parts));
}

absl::StatusOr<Query> BindValues(BindState& state, const Json& body, const QueryContext& context) {
  Level level;
  level.id = state.NewLevelId();
  level.outer = context.outer;
  level.around = context.around;
  level.ctes = context.ctes;
  ADJOIN_ASSIGN_OR_RETURN(std::vector<std::vector<Typed>> cells,
                          BindValuesLists(state, body, level, /*allow_default=*/false));
  Query out;
  std::vector<TypeId> types;
  for (size_t column = 0; column < cells[0].size(); ++column) {
    ADJOIN_ASSIGN_OR_RETURN(const CommonTyping common, ColumnType(state, cells, column, context));
    types.push_back(common.type);
    out.columns.push_back(
        {absl::StrCat("column", column + 1), common.type, common.open, common.written});
  }
  std::vector<std::vector<ExprRef>> rows;
  for (const std::vector<Typed>& row : cells) {
    std::vector<ExprRef> exprs;
    for (size_t column = 0; column < row.size(); ++column) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef expr, Coerce(state, row[column], types[column]));
      exprs.push_back(std::move(expr));
    }
    rows.push_back(std::move(exprs));
  }
  ADJOIN_ASSIGN_OR_RETURN(out.node, MakeValues(state, level, std::move(rows), std::move(types)));
  ADJOIN_RETURN_IF_ERROR(OrderOutput(state, body, "VALUES", context.ctes, out));
  return out;
}

}  // namespace adjoin
