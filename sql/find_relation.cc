#include "sql/find_relation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_query.h"
#include "sql/parse.h"

namespace adjoin {
namespace {

absl::StatusOr<Query> BindView(BindState& state, const std::string& name, const StoredView& view) {
  if (const auto it = state.views.find(name); it != state.views.end()) return it->second;
  const BindState::Nesting nesting(state);
  ADJOIN_RETURN_IF_ERROR(nesting.Check());
  const BindState::ViewBody body(state);
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<ParsedStatement> parsed, Parse(view.query));
  if (parsed.size() != 1)
    return SqlError(sqlstate::kInternalError, absl::StrCat("view \"", name, "\" is not one query"));
  ADJOIN_ASSIGN_OR_RETURN(Query query, BindQuery(state, parsed[0].tree, {}));
  for (size_t i = 0; i < view.columns.size() && i < query.columns.size(); ++i)
    query.columns[i].name = view.columns[i];
  state.views.emplace(name, query);
  return query;
}

// 42P01; where a later WITH item has the name, PostgreSQL says so.
absl::Status NoSuchRelation(BindState& state, const std::string& name, const CteScope* ctes,
                            int location) {
  std::string detail, hint;
  for (; ctes != nullptr; ctes = ctes->outer) {
    if (!ComesLater(*ctes, name)) continue;
    detail = absl::StrCat("There is a WITH item named \"", name,
                          "\", but it cannot be referenced from this part of the query.");
    hint = "Use WITH RECURSIVE, or re-order the WITH items to remove forward references.";
  }
  return state.ErrorWithDetail(sqlstate::kUndefinedTable,
                               absl::StrCat("relation \"", name, "\" does not exist"), detail, hint,
                               location);
}

}  // namespace

bool ComesLater(const CteScope& scope, std::string_view name) {
  const auto first = scope.names.begin() + static_cast<std::ptrdiff_t>(scope.ctes.size());
  return std::find(first, scope.names.end(), name) != scope.names.end();
}

absl::StatusOr<Relation> FindRelation(BindState& state, const std::string& name,
                                      const CteScope* ctes, int location) {
  for (const CteScope* scope = ctes; scope != nullptr; scope = scope->outer) {
    // Backwards: an item mostly reads the ones just before it.
    for (size_t i = scope->ctes.size(); i-- > 0;) {
      const Cte& cte = scope->ctes[i];
      if (cte.name != name) continue;
      if (!cte.modifying) return Relation{cte.query, std::nullopt};
      return state.Error(sqlstate::kFeatureNotSupported,
                         absl::StrCat("WITH query \"", name, "\" does not have a RETURNING clause"),
                         location);
    }
    if (scope->recursive && ComesLater(*scope, name))
      return state.NotSupported("a forward reference in WITH RECURSIVE", location);
  }
  if (std::optional<CatalogTable> table = state.catalog.FindTable(name); table.has_value()) {
    state.NoteRelation(name);
    Query query{state.planner.Make(Scan{name, table->id, table->schema}, {}), {}};
    for (const Field& field : table->schema.fields)
      query.columns.push_back({field.name, field.type, false});
    return Relation{std::move(query), std::move(table->schema)};
  }
  if (const std::optional<StoredView> view = state.catalog.FindView(name); view.has_value()) {
    state.NoteRelation(name);
    ADJOIN_ASSIGN_OR_RETURN(Query query, BindView(state, name, *view));
    return Relation{std::move(query), std::nullopt};
  }
  return NoSuchRelation(state, name, ctes, location);
}

}  // namespace adjoin
