#include "sql/bind_dml.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/bind_expr.h"
#include "sql/bind_values.h"
#include "sql/level_plan.h"

namespace adjoin {
namespace {

class ModifyingBinder {
 public:
  ModifyingBinder(BindState& state, const Json& body, const CteScope* ctes)
      : state_(state), body_(body), ctes_(ctes) {
    level_.id = state.NewLevelId();
    level_.ctes = ctes;
  }

  absl::StatusOr<Statement::Output> Insert() {
    ADJOIN_RETURN_IF_ERROR(BindTarget("insert into", /*with_row_id=*/false));
    if (Has(body_, "onConflictClause")) return state_.NotSupported("ON CONFLICT");
    if (TextOf(body_, "override") != "OVERRIDING_NOT_SET") return state_.NotSupported("OVERRIDING");
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<int> columns, InsertColumns());
    const Json& select = FieldOf(body_, "selectStmt");
    const Json& query = FieldOf(select, "SelectStmt");
    const bool plain_values = Has(query, "valuesLists") && !Has(query, "sortClause") &&
                              !Has(query, "limitCount") && !Has(query, "limitOffset") &&
                              !Has(query, "withClause");
    NodeRef plan;
    if (select.is_null()) {  // DEFAULT VALUES
      ADJOIN_ASSIGN_OR_RETURN(plan, MakeValues(state_, level_, {Row({}, {})}, Types()));
    } else if (plain_values) {
      ADJOIN_ASSIGN_OR_RETURN(plan, InsertValues(query, columns));
    } else {
      ADJOIN_ASSIGN_OR_RETURN(plan, InsertQuery(select, columns));
    }
    return Statement::Output{InsertSink{target_.table.id, target_.name}, std::move(plan)};
  }

  absl::StatusOr<Statement::Output> Update() {
    ADJOIN_RETURN_IF_ERROR(BindTarget("update", /*with_row_id=*/true));
    LevelPlan plan(state_, level_);
    ADJOIN_RETURN_IF_ERROR(
        plan.BindFromClause(ListOf(body_, "fromClause"), &target_,
                            {&FieldOf(body_, "targetList"), &FieldOf(body_, "whereClause")}));
    UpdateSink sink{target_.table.id, target_.name, {}};
    std::vector<ExprRef> values;
    for (const Json& item : ListOf(body_, "targetList")) {
      const Json& target = FieldOf(item, "ResTarget");
      ADJOIN_ASSIGN_OR_RETURN(const int column, FindColumn(target));
      if (std::find(sink.columns.begin(), sink.columns.end(), column) != sink.columns.end()) {
        return SqlError(
            sqlstate::kSyntaxError,
            absl::StrCat("multiple assignments to same column \"", TextOf(target, "name"), "\""));
      }
      ADJOIN_ASSIGN_OR_RETURN(ExprRef value, BindAssignment(FieldOf(target, "val"), column));
      sink.columns.push_back(column);
      values.push_back(std::move(value));
    }
    ADJOIN_RETURN_IF_ERROR(plan.BindWhere(FieldOf(body_, "whereClause")));
    ADJOIN_RETURN_IF_ERROR(plan.Build());
    Project project{{RowIdColumn()}};
    for (const ExprRef& value : values) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef placed, plan.Place(value));
      project.exprs.push_back(std::move(placed));
    }
    NodeRef node = ListOf(body_, "fromClause").empty() ? plan.node() : FirstMatches(plan.node());
    node = state_.planner.Make(std::move(project), {std::move(node)});
    return Statement::Output{std::move(sink), std::move(node)};
  }

  absl::StatusOr<Statement::Output> Delete() {
    ADJOIN_RETURN_IF_ERROR(BindTarget("delete from", /*with_row_id=*/true));
    LevelPlan plan(state_, level_);
    const Json& others = ListOf(body_, "usingClause");
    ADJOIN_RETURN_IF_ERROR(plan.BindFromClause(others, &target_, {&FieldOf(body_, "whereClause")}));
    ADJOIN_RETURN_IF_ERROR(plan.BindWhere(FieldOf(body_, "whereClause")));
    ADJOIN_RETURN_IF_ERROR(plan.Build());
    NodeRef node = others.empty()
                       ? state_.planner.Make(Project{{RowIdColumn()}}, {plan.node()})
                       : state_.planner.Make(adjoin::GroupBy{{RowIdColumn()}, {}}, {plan.node()});
    return Statement::Output{DeleteSink{target_.table.id, target_.name}, std::move(node)};
  }

 private:
  const Schema& schema() const { return target_.table.schema; }

  absl::Status BindTarget(std::string_view verb, bool with_row_id) {
    const Json& relation = FieldOf(body_, "relation");
    const int location = LocationOf(relation);
    target_.name = TextOf(relation, "relname");
    target_.alias = TextOf(FieldOf(relation, "alias"), "aliasname");
    if (!ListOf(body_, "returningList").empty()) return state_.NotSupported("RETURNING");
    const std::string table_schema = TextOf(relation, "schemaname");
    std::optional<CatalogTable> table;
    if (table_schema.empty() || table_schema == "public")
      table = state_.catalog.FindTable(target_.name);
    if (!table.has_value()) return NoTarget(verb, location);
    state_.NoteRelation(target_.name);
    target_.table = *std::move(table);
    target_.node = state_.planner.Make(Scan{target_.name, target_.table.id, schema()}, {});
    if (with_row_id) target_.node = state_.planner.Make(RowId{}, {target_.node});
    return absl::OkStatus();
  }

  absl::Status NoTarget(std::string_view verb, int location) const {
    for (const CteScope* scope = ctes_; scope != nullptr; scope = scope->outer) {
      for (const Cte& cte : scope->ctes) {
        if (cte.name != target_.name) continue;
        return state_.Error(sqlstate::kFeatureNotSupported,
                            absl::StrCat("relation \"", target_.name,
                                         "\" cannot be the target of a modifying statement"),
                            location);
      }
    }
    if (state_.catalog.FindView(target_.name).has_value()) {
      return state_.Error(sqlstate::kFeatureNotSupported,
                          absl::StrCat("cannot ", ToAbsl(verb), " view \"", target_.name, "\""),
                          location);
    }
    return state_.Error(sqlstate::kUndefinedTable,
                        absl::StrCat("relation \"", target_.name, "\" does not exist"), location);
  }

  // The row id is the last column of leaf 0's node as it was without gradients.
  ExprRef RowIdColumn() const {
    return ColumnExpr(static_cast<int>(schema().fields.size()), TypeId::kInt64);
  }

  // One row a row id, where a join may have found several: the first.
  NodeRef FirstMatches(const NodeRef& node) {
    Window number;
    number.partition = {RowIdColumn()};
    number.frame.mode = FrameMode::kRows;
    number.calls.push_back({WindowFunction::kRowNumber, {}, nullptr, TypeId::kInt64});
    const NodeRef numbered = state_.planner.Make(std::move(number), {node});
    const ExprRef first = CallNamed(
        "=",
        {ColumnExpr(node->width(), TypeId::kInt64), ConstantExpr(Value::Int(1), TypeId::kInt64)},
        TypeId::kBool);
    return state_.planner.Make(Filter{first}, {numbered});
  }

  absl::StatusOr<int> FindColumn(const Json& target) const {
    const std::string name = TextOf(target, "name");
    if (!ListOf(target, "indirection").empty())
      return state_.NotSupported("assigning to a part of a column", LocationOf(target));
    const int column = schema().Find(name);
    if (column >= 0) return column;
    return state_.Error(
        sqlstate::kUndefinedColumn,
        absl::StrCat("column \"", name, "\" of relation \"", target_.name, "\" does not exist"),
        LocationOf(target));
  }

  absl::StatusOr<std::vector<int>> InsertColumns() const {
    std::vector<int> out;
    for (const Json& item : ListOf(body_, "cols")) {
      const Json& target = FieldOf(item, "ResTarget");
      ADJOIN_ASSIGN_OR_RETURN(const int column, FindColumn(target));
      if (std::find(out.begin(), out.end(), column) != out.end()) {
        return state_.Error(
            sqlstate::kDuplicateColumn,
            absl::StrCat("column \"", TextOf(target, "name"), "\" specified more than once"),
            LocationOf(target));
      }
      out.push_back(column);
    }
    if (!out.empty()) return out;
    for (int i = 0; i < static_cast<int>(schema().fields.size()); ++i) out.push_back(i);
    return out;
  }

  // How many columns the query gives: fewer than the table has will do where no columns are listed.
  absl::Status CheckCount(size_t columns, size_t values, int value_location) const {
    if (values > columns) {
      return state_.Error(sqlstate::kSyntaxError, "INSERT has more expressions than target columns",
                          value_location);
    }
    const Json& listed = ListOf(body_, "cols");
    if (values == columns || listed.empty()) return absl::OkStatus();
    return state_.Error(sqlstate::kSyntaxError, "INSERT has more target columns than expressions",
                        LocationOf(FieldOf(listed[values], "ResTarget")));
  }

  std::vector<TypeId> Types() const {
    std::vector<TypeId> out;
    for (const Field& field : schema().fields) out.push_back(field.type);
    return out;
  }

  // All columns of the table: values for those listed, NULL for the others.
  std::vector<ExprRef> Row(const std::vector<int>& columns, std::vector<ExprRef> values) const {
    std::vector<ExprRef> out;
    for (const Field& field : schema().fields) out.push_back(NullExpr(field.type));
    for (size_t i = 0; i < values.size(); ++i)
      out[static_cast<size_t>(columns[i])] = std::move(values[i]);
    return out;
  }

  absl::StatusOr<ExprRef> Assign(const Typed& value, int column) {
    const Field& field = schema().fields[static_cast<size_t>(column)];
    ADJOIN_ASSIGN_OR_RETURN(std::optional<ExprRef> cast, AssignmentCast(state_, value, field.type));
    if (cast.has_value()) return WithModifier(*std::move(cast), field.modifier);
    return state_.ErrorWithDetail(
        sqlstate::kDatatypeMismatch,
        absl::StrCat("column \"", field.name, "\" is of type ", ToAbsl(TypeName(field.type)),
                     " but expression is of type ", ToAbsl(TypeName(value.expr->type))),
        "", "You will need to rewrite or cast the expression.", value.location);
  }

  absl::StatusOr<NodeRef> InsertValues(const Json& query, const std::vector<int>& columns) {
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<std::vector<Typed>> cells,
                            BindValuesLists(state_, query, level_, /*allow_default=*/true));
    ADJOIN_RETURN_IF_ERROR(
        CheckCount(columns.size(), cells[0].size(),
                   cells[0].size() > columns.size() ? cells[0][columns.size()].location : -1));
    std::vector<std::vector<ExprRef>> rows;
    rows.reserve(cells.size());
    for (const std::vector<Typed>& row : cells) {
      std::vector<ExprRef> values;
      for (size_t i = 0; i < row.size(); ++i) {
        ADJOIN_ASSIGN_OR_RETURN(ExprRef value, Assign(row[i], columns[i]));
        values.push_back(std::move(value));
      }
      rows.push_back(Row(columns, std::move(values)));
    }
    return MakeValues(state_, level_, std::move(rows), Types());
  }

  absl::StatusOr<NodeRef> InsertQuery(const Json& select, const std::vector<int>& columns) {
    QueryContext context;
    context.ctes = ctes_;
    for (int column : columns)
      context.wanted.push_back(schema().fields[static_cast<size_t>(column)].type);
    ADJOIN_ASSIGN_OR_RETURN(const Query query, BindQuery(state_, select, context));
    const Json& targets = ListOf(FieldOf(select, "SelectStmt"), "targetList");
    const auto location = [&](size_t i) { return i < targets.size() ? StartOf(targets[i]) : -1; };
    ADJOIN_RETURN_IF_ERROR(
        CheckCount(columns.size(), query.columns.size(), location(columns.size())));
    std::vector<ExprRef> values;
    for (size_t i = 0; i < query.columns.size(); ++i) {
      const Typed value{ColumnExpr(static_cast<int>(i), query.columns[i].type), false, location(i)};
      ADJOIN_ASSIGN_OR_RETURN(ExprRef assigned, Assign(value, columns[i]));
      values.push_back(std::move(assigned));
    }
    std::vector<std::string> names;
    for (const Field& field : schema().fields) names.push_back(field.name);
    return MakeProject(state_.planner, Row(columns, std::move(values)), query.node,
                       std::move(names));
  }

  absl::StatusOr<ExprRef> BindAssignment(const Json& node, int column) {
    const Context context{&level_, &level_.names, Clause::kUpdate};
    const auto [tag, body] = Unwrap(node);
    const Field& field = schema().fields[static_cast<size_t>(column)];
    if (tag == "SetToDefault") return NullExpr(field.type);
    if (tag == "MultiAssignRef") {  // (a, b) = (x, y): this is one of the columns
      const auto [source_tag, source] = Unwrap(FieldOf(*body, "source"));
      if (source_tag != "RowExpr")
        return state_.NotSupported("assigning a subquery to several columns");
      const Json& items = ListOf(*source, "args");
      if (static_cast<int64_t>(items.size()) != NumberOf(*body, "ncolumns")) {
        return state_.Error(sqlstate::kSyntaxError,
                            "number of columns does not match number of values",
                            LocationOf(*source));
      }
      return BindAssignment(items[static_cast<size_t>(NumberOf(*body, "colno") - 1)], column);
    }
    ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state_, node, context));
    return Assign(value, column);
  }

  BindState& state_;
  const Json& body_;
  const CteScope* ctes_;
  Level level_;
  TargetTable target_;
};

}  // namespace

absl::StatusOr<Statement::Output> BindModifying(BindState& state, std::string_view tag,
                                                const Json& body, const CteScope* ctes) {
  ModifyingBinder binder(state, body, ctes);
  if (tag == "InsertStmt") return binder.Insert();
  if (tag == "UpdateStmt") return binder.Update();
  return binder.Delete();
}

absl::StatusOr<std::optional<ExprRef>> AssignmentCast(BindState& state, const Typed& value,
                                                      TypeId target) {
  const TypeId from = value.expr->type;
  const auto is_moment = [](TypeId t) { return t == TypeId::kDate || t == TypeId::kTimestamp; };
  const bool allowed = value.unknown || from == target || (is_moment(from) && is_moment(target)) ||
                       (IsNumeric(from) && IsNumeric(target)) || target == TypeId::kText;
  if (!allowed) return std::optional<ExprRef>();
  ADJOIN_ASSIGN_OR_RETURN(ExprRef out, Coerce(state, value, target));
  return std::optional<ExprRef>(std::move(out));
}

}  // namespace adjoin
