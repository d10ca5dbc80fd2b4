#include <utility>

#include "absl/strings/str_cat.h"
#include "adjoin/connection.h"
#include "adjoin/database.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/api_types.h"
#include "tests/cases/backend.h"
#include "tests/reference/interpreter.h"

namespace adjoin::cases {
namespace {

reference::Rows RowsOfResult(const api::Result& result) {
  reference::Rows rows(static_cast<size_t>(result.rows.num_rows()));
  for (int64_t r = 0; r < result.rows.num_rows(); ++r) {
    for (int c = 0; c < result.rows.num_columns(); ++c) {
      rows[static_cast<size_t>(r)].push_back(result.rows.impl()->value(r, c));
    }
  }
  return rows;
}

class EngineBackend final : public Backend {
 public:
  EngineBackend(api::Database database, api::Connection connection)
      : database_(std::move(database)), connection_(std::move(connection)) {}

  absl::Status Set(const std::string& name, const std::string& value) {
    return connection_.Set(name, value);
  }

  absl::Status Setup(const std::string& sql) override { return connection_.Execute(sql).status(); }

  absl::Status CreateTable(const std::string& name, const Schema& schema,
                           const reference::Rows& rows) override {
    ADJOIN_ASSIGN_OR_RETURN(TableRef table, reference::TableOf(schema, rows, name));
    return connection_.CreateTable(name, api::Table(std::move(table)));
  }

  absl::Status ReplaceTable(const std::string& name, const reference::Rows& rows) override {
    ADJOIN_ASSIGN_OR_RETURN(const Schema schema, SchemaOf(name));
    ADJOIN_ASSIGN_OR_RETURN(TableRef table, reference::TableOf(schema, rows, name));
    return connection_.ReplaceTable(name, api::Table(std::move(table)));
  }

  absl::StatusOr<Schema> SchemaOf(const std::string& name) override {
    ADJOIN_ASSIGN_OR_RETURN(const api::Table table, connection_.GetTable(name));
    return table.impl()->schema();
  }

  absl::StatusOr<reference::Rows> Query(const std::string& sql) override {
    ADJOIN_ASSIGN_OR_RETURN(const api::Result result, connection_.Query(sql));
    return RowsOfResult(result);
  }

  absl::Status Prepare(const std::string& name, const std::string& sql) override {
    ADJOIN_ASSIGN_OR_RETURN(api::Prepared prepared, connection_.Prepare(sql));
    prepared_.insert_or_assign(name, std::move(prepared));
    return absl::OkStatus();
  }

  absl::StatusOr<reference::Rows> Execute(const std::string& name) override {
    ADJOIN_ASSIGN_OR_RETURN(const api::Result result, prepared_.at(name).Run());
    return RowsOfResult(result);
  }

  int64_t peak_bytes() const override { return database_.memory_peak(); }

 private:
  api::Database database_;
  api::Connection connection_;
  std::map<std::string, api::Prepared> prepared_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeEngineBackend(const Config& config, int threads,
                                                           std::optional<int64_t> memory_limit) {
  api::Options options;
  options.threads = threads;
  options.memory_limit = memory_limit.value_or(0);
  ADJOIN_ASSIGN_OR_RETURN(api::Database database, api::Database::Open(options));
  api::Connection connection = database.Connect();
  auto backend = std::make_unique<EngineBackend>(std::move(database), std::move(connection));
  for (const auto& [name, value] : config.settings)
    ADJOIN_RETURN_IF_ERROR(backend->Set(name, value));
  return backend;
}

}  // namespace adjoin::cases
