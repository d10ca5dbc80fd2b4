// SQL on the reference interpreter: binder and derivatives are the engine's, execution is not.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "plan/node.h"
#include "sql/binder.h"
#include "sql/catalog_view.h"
#include "tests/reference/interpreter.h"

namespace adjoin::reference {

// Tables by name, and statements on them. Not thread-safe. Statements: what Bind takes, CREATE
// TABLE, DROP TABLE and CREATE VIEW. A failing statement changes nothing.
class ReferenceDatabase final : public CatalogView {
 public:
  // Error 42P07 where the name is taken.
  absl::Status CreateTable(const std::string& name, const Schema& schema, const Rows& rows);
  // Replaces a table's rows.
  absl::Status ReplaceRows(const std::string& name, const Rows& rows);
  // Runs the statements of `sql`; the last one's rows.
  absl::StatusOr<Rows> Execute(std::string_view sql, const std::vector<Value>& params = {});
  // The rows of a table. REQUIRES: it exists.
  Rows RowsOfTable(const std::string& name) const;
  // Binds one statement and resolves its derivatives; `planner` must outlive the result.
  absl::StatusOr<Statement> Plan(std::string_view sql, Planner& planner) const;
  std::map<uint64_t, TableRef> TablesById() const;

  std::optional<CatalogTable> FindTable(std::string_view name) const override;
  std::optional<StoredView> FindView(std::string_view name) const override;

  BindOptions options;  // text is set by each call

 private:
  struct Entry {
    uint64_t id;
    TableRef table;
  };
  absl::StatusOr<Rows> ExecuteOne(const nlohmann::json& tree, std::string_view text,
                                  const std::vector<Value>& params);
  absl::Status ExecuteUtility(const nlohmann::json& tree, std::string_view text);
  absl::StatusOr<Statement> PlanTree(const nlohmann::json& tree, std::string_view text,
                                     Planner& planner) const;
  absl::StatusOr<TableRef> Written(const Sink& sink, const Rows& rows) const;
  Entry& EntryOf(uint64_t id);

  std::map<std::string, Entry, std::less<>> tables_;
  std::map<std::string, StoredView, std::less<>> views_;
  uint64_t next_id_ = 1;
};

}  // namespace adjoin::reference
