// CREATE TABLE [AS], CREATE VIEW, DROP, TRUNCATE, and base tables made by the program.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/column_file.h"
#include "plan/column_modifier.h"
#include "sql/apply.h"
#include "sql/session.h"

namespace adjoin {
namespace {

absl::Status NoRelation(const std::string& name) {
  return SqlError(sqlstate::kUndefinedTable,
                  absl::StrCat("relation \"", name, "\" does not exist"));
}
absl::Status NoTable(const std::string& name) {
  return SqlError(sqlstate::kWrongObjectType, absl::StrCat("\"", name, "\" is not a table"));
}

absl::StatusOr<TableRef> EmptyTable(const Schema& schema,
                                    const std::shared_ptr<MemoryBudget>& budget,
                                    const std::string& name) {
  std::vector<ColumnRef> columns;
  for (const Field& field : schema.fields) {
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, ColumnBuilder(field.type, budget).Finish());
    columns.push_back(std::move(column));
  }
  return Table::Make(schema, std::move(columns), 0, budget, name);
}

// Output names with the leading ones replaced; an error where a name comes twice or `renames` is
// too long.
absl::StatusOr<std::vector<std::string>> OutputNames(std::vector<std::string> names,
                                                     const std::vector<std::string>& renames,
                                                     std::string_view too_many) {
  if (renames.size() > names.size()) return SqlError(sqlstate::kSyntaxError, too_many);
  std::copy(renames.begin(), renames.end(), names.begin());
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) {
      return SqlError(sqlstate::kDuplicateColumn,
                      absl::StrCat("column \"", name, "\" specified more than once"));
    }
  }
  return names;
}

// Whether reading any of `relations` would read view `name` in turn.
bool Reaches(const CatalogState& catalog, std::vector<std::string> relations,
             const std::string& name) {
  std::set<std::string> seen;
  while (!relations.empty()) {
    const std::string relation = std::move(relations.back());
    relations.pop_back();
    if (relation == name) return true;
    if (!seen.insert(relation).second) continue;
    const CatalogEntry* entry = catalog.Find(relation);
    if (entry == nullptr || !entry->is_view()) continue;
    relations.insert(relations.end(), entry->view->reads.begin(), entry->view->reads.end());
  }
  return false;
}

}  // namespace

bool Session::SkipExisting(const std::string& name, bool if_not_exists, Result* result) {
  if (!if_not_exists || transaction_.State().Find(name) == nullptr) return false;
  result->notices.push_back(
      absl::StrCat("NOTICE:  relation \"", name, "\" already exists, skipping"));
  return true;
}

absl::StatusOr<Session::Result> Session::Run(const CreateTable& s, const std::string&) {
  Result result;
  result.tag = "CREATE TABLE";
  ADJOIN_ASSIGN_OR_RETURN(CatalogWriter* const writer, Write());
  if (SkipExisting(s.name, s.if_not_exists, &result)) return result;
  ADJOIN_ASSIGN_OR_RETURN(TableRef table, EmptyTable(s.schema, database_->budget(), s.name));
  ADJOIN_RETURN_IF_ERROR(writer->CreateTable(s.name, std::move(table)).status());
  return result;
}

absl::StatusOr<Session::Result> Session::Run(const CreateTableAs& s, const std::string& text) {
  Result result;
  result.tag = "CREATE TABLE AS";
  ADJOIN_ASSIGN_OR_RETURN(CatalogWriter* const writer, Write());
  if (SkipExisting(s.name, s.if_not_exists, &result)) return result;
  PlannedStatement planned(s.query, text);
  ADJOIN_RETURN_IF_ERROR(planned.Bind(transaction_.State(), settings_));
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          OutputNames(planned.statement().result_names, s.columns,
                                      "too many column names were specified"));
  Schema schema;
  const NodeRef& plan = planned.statement().outputs[0].plan;
  for (size_t i = 0; i < names.size(); ++i) {
    schema.fields.push_back(
        {names[i], plan->types[i], false, ModifierOfColumn(plan, static_cast<int>(i))});
  }
  TableRef table;
  if (s.with_data) {
    ADJOIN_ASSIGN_OR_RETURN(const Result rows, RunPlanned(planned));
    TableRef made = rows.rows.impl();
    if (rows.spilled_bytes > 0) {
      ADJOIN_ASSIGN_OR_RETURN(made, InMemory(made, database_->budget()));
    }
    table = Table::MakeUnchecked(std::move(schema), made->columns(), made->num_rows());
    result.affected = made->num_rows();
    result.tag = absl::StrCat("SELECT ", result.affected);
  } else {
    ADJOIN_ASSIGN_OR_RETURN(table, EmptyTable(schema, database_->budget(), s.name));
  }
  ADJOIN_RETURN_IF_ERROR(writer->CreateTable(s.name, std::move(table)).status());
  return result;
}

absl::StatusOr<Session::Result> Session::Run(const CreateView& s, const std::string& text) {
  Result result;
  result.tag = "CREATE VIEW";
  ADJOIN_ASSIGN_OR_RETURN(CatalogWriter* const writer, Write());
  PlannedStatement planned(s.query, text);
  ADJOIN_RETURN_IF_ERROR(planned.Bind(transaction_.State(), settings_));
  if (!planned.statement().parameters.empty()) {
    return SqlError(sqlstate::kUndefinedParameter, "there is no parameter $1");
  }
  View view;
  view.query = s.query_text;
  view.reads = planned.relations();
  ADJOIN_ASSIGN_OR_RETURN(view.columns,
                          OutputNames(planned.statement().result_names, s.columns,
                                      "CREATE VIEW specifies more column names than columns"));
  if (Reaches(writer->state(), view.reads, s.name)) {
    return SqlError("42P17", absl::StrCat("infinite recursion detected in rules for relation \"",
                                          s.name, "\""));
  }
  ADJOIN_RETURN_IF_ERROR(writer->CreateView(s.name, std::move(view), s.or_replace));
  return result;
}

absl::StatusOr<Session::Result> Session::Run(const Drop& s, const std::string&) {
  Result result;
  const char* const kind = s.view ? "view" : "table";
  result.tag = s.view ? "DROP VIEW" : "DROP TABLE";
  ADJOIN_ASSIGN_OR_RETURN(CatalogWriter* const writer, Write());
  for (const std::string& name : s.names) {
    if (s.if_exists && writer->state().Find(name) == nullptr) {
      result.notices.push_back(
          absl::StrCat("NOTICE:  ", kind, " \"", name, "\" does not exist, skipping"));
      continue;
    }
    ADJOIN_RETURN_IF_ERROR(s.view ? writer->DropView(name, s.cascade)
                                  : writer->DropTable(name, s.cascade));
  }
  return result;
}

absl::StatusOr<Session::Result> Session::Run(const Truncate& s, const std::string&) {
  Result result;
  result.tag = "TRUNCATE TABLE";
  ADJOIN_ASSIGN_OR_RETURN(CatalogWriter* const writer, Write());
  for (const std::string& name : s.names) {
    const CatalogEntry* entry = writer->state().Find(name);
    if (entry == nullptr) {
      return NoRelation(name);
    }
    if (entry->is_view()) return NoTable(name);
    ADJOIN_ASSIGN_OR_RETURN(TableRef empty,
                            EmptyTable(entry->table->schema(), database_->budget(), name));
    writer->Replace(entry->id, std::move(empty));
  }
  return result;
}

absl::Status Session::CreateBaseTable(const std::string& name, const TableRef& table) {
  return AsStatement([&]() -> absl::StatusOr<Result> {
           ADJOIN_ASSIGN_OR_RETURN(CatalogWriter* const writer, Write());
           ADJOIN_ASSIGN_OR_RETURN(const TableRef kept,
                                   WithDistinctTexts(table, database_->budget()));
           ADJOIN_RETURN_IF_ERROR(
               writer->CreateTable(name, Table::WithComputedDims(kept, database_->budget()))
                   .status());
           return Result();
         })
      .status();
}

absl::StatusOr<Session::Result> Session::Replace(const std::string& name, const TableRef& made) {
  ADJOIN_ASSIGN_OR_RETURN(CatalogWriter* const writer, Write());
  const CatalogEntry* entry = writer->state().Find(name);
  if (entry == nullptr) return NoRelation(name);
  if (entry->is_view()) return NoTable(name);
  const Schema& schema = entry->table->schema();
  const Schema& given = made->schema();
  const bool same = std::equal(schema.fields.begin(), schema.fields.end(), given.fields.begin(),
                               given.fields.end(), [](const Field& a, const Field& b) {
                                 return a.name == b.name && a.type == b.type &&
                                        (a.modifier.precision == 0 || a.modifier == b.modifier);
                               });
  if (!same) {
    return SqlError(sqlstate::kDatatypeMismatch,
                    absl::StrCat("the columns given are not those of table \"", name, "\""));
  }
  ADJOIN_ASSIGN_OR_RETURN(const TableRef table, WithDistinctTexts(made, database_->budget()));
  if (schema == given) {
    writer->Replace(entry->id, Table::WithComputedDims(table, database_->budget()));
    return Result();
  }
  ADJOIN_ASSIGN_OR_RETURN(TableRef checked, Table::Make(schema, table->columns(), table->num_rows(),
                                                        database_->budget(), name));
  writer->Replace(entry->id, std::move(checked));
  return Result();
}

absl::Status Session::ReplaceBaseTable(const std::string& name, const TableRef& table) {
  return AsStatement([&] { return Replace(name, table); }).status();
}

absl::StatusOr<TableRef> Session::GetBaseTable(const std::string& name) {
  absl::StatusOr<TableRef> table;
  const absl::StatusOr<Result> result = AsStatement([&]() -> absl::StatusOr<Result> {
    const CatalogEntry* entry = transaction_.State().Find(name);
    if (entry == nullptr) return NoRelation(name);
    if (entry->is_view()) return NoTable(name);
    table = entry->table;
    return Result();
  });
  if (!result.ok()) return result.status();
  return table;
}

std::vector<CatalogEntry> Session::Relations() {
  const CatalogState& catalog = transaction_.State();
  std::vector<CatalogEntry> relations;
  for (const std::string& name : catalog.Names()) relations.push_back(*catalog.Find(name));
  if (transaction_.status() == SessionTransaction::Status::kIdle) transaction_.DropSnapshot();
  return relations;
}

}  // namespace adjoin
