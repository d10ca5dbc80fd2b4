#include "tests/reference_sql/reference_database.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ad/derivatives.h"
#include "engine/status.h"
#include "sql/parse.h"
#include "sql/utility.h"

namespace adjoin::reference {
namespace {

uint64_t TargetOf(const Sink& sink) {
  if (const auto* insert = std::get_if<InsertSink>(&sink)) return insert->table_id;
  if (const auto* update = std::get_if<UpdateSink>(&sink)) return update->table_id;
  if (const auto* erase = std::get_if<DeleteSink>(&sink)) return erase->table_id;
  return 0;
}

}  // namespace

absl::Status ReferenceDatabase::CreateTable(const std::string& name, const Schema& schema,
                                            const Rows& rows) {
  if (tables_.count(name) > 0) {
    return SqlError(sqlstate::kDuplicateTable,
                    absl::StrCat("relation \"", name, "\" already exists"));
  }
  ADJOIN_ASSIGN_OR_RETURN(TableRef table, TableOf(schema, rows, name));
  tables_[name] = Entry{next_id_++, std::move(table)};
  return absl::OkStatus();
}

absl::Status ReferenceDatabase::ReplaceRows(const std::string& name, const Rows& rows) {
  Entry& entry = tables_.at(name);
  ADJOIN_ASSIGN_OR_RETURN(entry.table, TableOf(entry.table->schema(), rows, name));
  return absl::OkStatus();
}

absl::StatusOr<Rows> ReferenceDatabase::Execute(std::string_view sql,
                                                const std::vector<Value>& params) {
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<ParsedStatement> statements, Parse(sql));
  Rows rows;
  for (const ParsedStatement& statement : statements) {
    ADJOIN_ASSIGN_OR_RETURN(rows, ExecuteOne(statement.tree, statement.text, params));
  }
  return rows;
}

Rows ReferenceDatabase::RowsOfTable(const std::string& name) const {
  return RowsOf(*tables_.at(name).table);
}

absl::StatusOr<Statement> ReferenceDatabase::Plan(std::string_view sql, Planner& planner) const {
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<ParsedStatement> statements, Parse(sql));
  if (statements.size() != 1)
    return SqlError(sqlstate::kSyntaxError, "one statement is planned at a time");
  return PlanTree(statements[0].tree, statements[0].text, planner);
}

absl::StatusOr<Statement> ReferenceDatabase::PlanTree(const nlohmann::json& tree,
                                                      std::string_view text,
                                                      Planner& planner) const {
  BindOptions bind = options;
  bind.text = text;
  ADJOIN_ASSIGN_OR_RETURN(Statement statement, Bind(tree, *this, bind, planner));
  ADJOIN_RETURN_IF_ERROR(ResolveDerivatives(&statement, planner));
  return statement;
}

std::map<uint64_t, TableRef> ReferenceDatabase::TablesById() const {
  std::map<uint64_t, TableRef> tables;
  for (const auto& [name, entry] : tables_) tables[entry.id] = entry.table;
  return tables;
}

absl::StatusOr<Rows> ReferenceDatabase::ExecuteOne(const nlohmann::json& tree,
                                                   std::string_view text,
                                                   const std::vector<Value>& params) {
  if (!IsBindable(tree)) {
    ADJOIN_RETURN_IF_ERROR(ExecuteUtility(tree, text));
    return Rows();
  }
  Planner planner;
  ADJOIN_ASSIGN_OR_RETURN(const Statement statement, PlanTree(tree, text, planner));
  std::vector<NodeRef> roots;
  for (const Statement::Output& output : statement.outputs) roots.push_back(output.plan);
  ADJOIN_ASSIGN_OR_RETURN(std::vector<Rows> results, InterpretAll(roots, TablesById(), params));
  std::vector<std::pair<uint64_t, TableRef>> written;
  Rows rows;
  for (size_t i = 0; i < results.size(); ++i) {
    const Sink& sink = statement.outputs[i].sink;
    if (std::holds_alternative<ResultSink>(sink)) {
      rows = std::move(results[i]);
      continue;
    }
    ADJOIN_ASSIGN_OR_RETURN(TableRef table, Written(sink, results[i]));
    written.emplace_back(TargetOf(sink), std::move(table));
  }
  for (auto& [id, table] : written) EntryOf(id).table = std::move(table);
  return rows;
}

absl::Status ReferenceDatabase::ExecuteUtility(const nlohmann::json& tree, std::string_view text) {
  ADJOIN_ASSIGN_OR_RETURN(const Utility utility, DecodeUtility(tree, text));
  if (const auto* create = std::get_if<adjoin::CreateTable>(&utility)) {
    return CreateTable(create->name, create->schema, {});
  }
  if (const auto* view = std::get_if<CreateView>(&utility)) {
    views_[view->name] = StoredView{view->query_text, view->columns};
    return absl::OkStatus();
  }
  if (const auto* drop = std::get_if<Drop>(&utility)) {
    for (const std::string& name : drop->names) tables_.erase(name);
    return absl::OkStatus();
  }
  return SqlError(sqlstate::kFeatureNotSupported,
                  "the reference database does not run this statement");
}

absl::StatusOr<TableRef> ReferenceDatabase::Written(const Sink& sink, const Rows& rows) const {
  const TableRef& table = const_cast<ReferenceDatabase*>(this)->EntryOf(TargetOf(sink)).table;
  Rows now = RowsOf(*table);
  if (std::holds_alternative<InsertSink>(sink)) now.insert(now.end(), rows.begin(), rows.end());
  if (const auto* update = std::get_if<UpdateSink>(&sink)) {
    for (const Row& row : rows) {
      for (size_t c = 0; c < update->columns.size(); ++c) {
        now[static_cast<size_t>(row[0].as_int())][static_cast<size_t>(update->columns[c])] =
            row[c + 1];
      }
    }
  }
  if (std::holds_alternative<DeleteSink>(sink)) {
    std::vector<bool> gone(now.size(), false);
    for (const Row& row : rows) gone[static_cast<size_t>(row[0].as_int())] = true;
    Rows kept;
    for (size_t r = 0; r < now.size(); ++r) {
      if (!gone[r]) kept.push_back(std::move(now[r]));
    }
    now = std::move(kept);
  }
  return TableOf(table->schema(), now, "");
}

ReferenceDatabase::Entry& ReferenceDatabase::EntryOf(uint64_t id) {
  return std::find_if(tables_.begin(), tables_.end(),
                      [&](const auto& t) { return t.second.id == id; })
      ->second;
}

std::optional<CatalogTable> ReferenceDatabase::FindTable(std::string_view name) const {
  const auto entry = tables_.find(name);
  if (entry == tables_.end()) return std::nullopt;
  return CatalogTable{entry->second.id, entry->second.table->schema()};
}

std::optional<StoredView> ReferenceDatabase::FindView(std::string_view name) const {
  const auto view = views_.find(name);
  if (view == views_.end()) return std::nullopt;
  return view->second;
}

}  // namespace adjoin::reference
