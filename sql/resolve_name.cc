#include "sql/resolve_name.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/name_hint.h"

namespace adjoin {
namespace {

struct Found {
  int count = 0;
  ExprRef expr;
};

Found FindUnqualified(const Names& names, std::string_view column) {
  Found out;
  for (const VisibleColumn& c : names.columns) {
    if (c.name != column) continue;
    ++out.count;
    out.expr = c.expr;
  }
  return out;
}

Found FindQualified(const RangeVariable& range, std::string_view column) {
  Found out;
  for (const RangeColumn& c : range.columns) {
    if (c.name != column) continue;
    ++out.count;
    out.expr = c.expr;
  }
  return out;
}

absl::Status Ambiguous(BindState& state, const std::string& column, int location) {
  return state.Error(sqlstate::kAmbiguousColumn,
                     absl::StrCat("column reference \"", column, "\" is ambiguous"), location);
}

// A column found at `level`: as it is at the context's own level, a placeholder from further out.
Typed Use(BindState& state, const Context& context, Level* level, ExprRef expr, int location) {
  if (level != context.level) {
    for (int c : ColumnsOf(expr)) level->outer_locations.try_emplace(c, location);
    return {state.OuterReference(*level, expr), false, location};
  }
  if (!context.in_aggregate) {
    for (int c : ColumnsOf(expr)) context.level->column_locations.try_emplace(c, location);
  }
  return {std::move(expr), false, location};
}

const Names& NamesAt(const Context& context, const Level* level) {
  return level == context.level ? *context.names : level->names;
}

absl::StatusOr<Typed> ResolveUnqualified(BindState& state, const std::string& column,
                                         const Context& context, int location) {
  for (Level* level = context.level; level != nullptr; level = level->outer) {
    const Found found = FindUnqualified(NamesAt(context, level), column);
    if (found.count > 1) return Ambiguous(state, column, location);
    if (found.count == 1) return Use(state, context, level, found.expr, location);
  }
  for (Level* level = context.level; level != nullptr; level = level->outer) {
    if (FindRange(NamesAt(context, level), column) != nullptr) {
      return state.NotSupported(absl::StrCat("the whole row of \"", column, "\" as a value"),
                                location);
    }
  }
  return state.ErrorWithDetail(sqlstate::kUndefinedColumn,
                               absl::StrCat("column \"", column, "\" does not exist"), "",
                               SimilarColumnHint(*context.names, "", column), location);
}

absl::StatusOr<Typed> ResolveQualified(BindState& state, const std::string& range_name,
                                       const std::string& column, const Context& context,
                                       int location) {
  for (Level* level = context.level; level != nullptr; level = level->outer) {
    const RangeVariable* range = FindRange(NamesAt(context, level), range_name);
    if (range == nullptr) continue;
    const Found found = FindQualified(*range, column);
    if (found.count > 1) return Ambiguous(state, column, location);
    if (found.count == 1) return Use(state, context, level, found.expr, location);
    return state.ErrorWithDetail(
        sqlstate::kUndefinedColumn,
        absl::StrCat("column ", range_name, ".", column, " does not exist"), "",
        SimilarColumnHint(NamesAt(context, level), range_name, column), location);
  }
  return MissingRange(state, context, range_name, location);
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const RangeVariable* FindRange(const Names& names, std::string_view name) {
  for (const RangeVariable& range : names.ranges) {
    if (range.name == name && !name.empty()) return &range;
  }
  return nullptr;
}

absl::Status MissingRange(BindState& state, const Context& context, const std::string& name,
                          int location) {
  const std::string invalid =
      absl::StrCat("invalid reference to FROM-clause entry for table \"", name, "\"");
  for (Level* level = context.level; level != nullptr; level = level->outer) {
    for (const RangeVariable& range : NamesAt(context, level).ranges) {
      if (range.relation != name || range.name == name) continue;
      return state.ErrorWithDetail(
          sqlstate::kUndefinedTable, invalid, "",
          absl::StrCat("Perhaps you meant to reference the table alias \"", range.name, "\"."),
          location);
    }
  }
  for (const Level* level = context.level; level != nullptr; level = level->outer) {
    const bool beside = level->around != nullptr && Contains(level->around->from_names, name);
    if (!beside && !Contains(level->from_names, name)) continue;
    return state.ErrorWithDetail(
        sqlstate::kUndefinedTable, invalid, "",
        absl::StrCat("There is an entry for table \"", name,
                     "\", but it cannot be referenced from this part of the query."),
        location);
  }
  return state.Error(sqlstate::kUndefinedTable,
                     absl::StrCat("missing FROM-clause entry for table \"", name, "\""), location);
}

absl::StatusOr<Typed> ResolveColumn(BindState& state, const Json& column_ref,
                                    const Context& context) {
  const int location = LocationOf(column_ref);
  std::vector<std::string> path;
  for (const Json& field : ListOf(column_ref, "fields")) {
    if (Unwrap(field).tag == "A_Star") {
      return state.Error(sqlstate::kFeatureNotSupported,
                         "row expansion via \"*\" is not supported here", location);
    }
    path.push_back(StringValue(field));
  }
  if (path.size() == 1) return ResolveUnqualified(state, path[0], context, location);
  if (path.size() == 2) return ResolveQualified(state, path[0], path[1], context, location);
  if (path.size() == 3 && path[0] == "public")
    return ResolveQualified(state, path[1], path[2], context, location);
  if (path.size() == 3) return MissingRange(state, context, path[1], location);
  return state.Error(sqlstate::kSyntaxError,
                     absl::StrCat("improper qualified name (too many dotted names): ", path[0]),
                     location);
}

}  // namespace adjoin
