#include "sql/order_output.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/window_definition.h"

namespace adjoin {
namespace {

absl::StatusOr<int> FindOutput(BindState& state, const Json& node, std::string_view construct,
                               const Query& query) {
  const auto [tag, body] = Unwrap(node);
  const int location = LocationOf(*body);
  if (tag == "A_Const" && Has(*body, "ival")) {
    const int64_t position = NumberOf(FieldOf(*body, "ival"), "ival");
    if (position >= 1 && position <= static_cast<int64_t>(query.columns.size()))
      return static_cast<int>(position - 1);
    return state.Error(sqlstate::kInvalidColumnReference,
                       absl::StrCat("ORDER BY position ", position, " is not in select list"),
                       location);
  }
  if (tag == "A_Const")
    return state.Error(sqlstate::kSyntaxError, "non-integer constant in ORDER BY", location);
  if (tag == "ColumnRef" && ListOf(*body, "fields").size() == 1) {
    const std::string name = StringValue(ListOf(*body, "fields")[0]);
    int found = -1;
    for (size_t i = 0; i < query.columns.size(); ++i) {
      if (query.columns[i].name != name) continue;
      if (found >= 0) {
        return state.Error(sqlstate::kAmbiguousColumn,
                           absl::StrCat("ORDER BY \"", name, "\" is ambiguous"), location);
      }
      found = static_cast<int>(i);
    }
    if (found >= 0) return found;
    return state.Error(sqlstate::kUndefinedColumn,
                       absl::StrCat("column \"", name, "\" does not exist"), location);
  }
  if (construct == "VALUES")
    return state.NotSupported("ORDER BY an expression above VALUES", StartOf(node));
  return state.ErrorWithDetail(
      sqlstate::kFeatureNotSupported, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
      "Only result column names can be used, not expressions or functions.",
      "Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
      StartOf(node));
}

}  // namespace

absl::Status OrderOutput(BindState& state, const Json& body, std::string_view construct,
                         const CteScope* ctes, Query& query) {
  std::vector<SortKey> order;
  for (const Json& item : ListOf(body, "sortClause")) {
    const Json& sort = FieldOf(item, "SortBy");
    ADJOIN_ASSIGN_OR_RETURN(const int output,
                            FindOutput(state, FieldOf(sort, "node"), construct, query));
    order.push_back(
        MakeSortKey(ColumnExpr(output, query.columns[static_cast<size_t>(output)].type), sort));
  }
  if (!order.empty()) query.node = state.planner.Make(Sort{order}, {query.node});
  ADJOIN_ASSIGN_OR_RETURN(query.node, ApplyLimit(state, body, query.node, order, ctes));
  return absl::OkStatus();
}

}  // namespace adjoin
