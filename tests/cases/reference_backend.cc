#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "tests/cases/backend.h"
#include "tests/reference_sql/reference_database.h"

namespace adjoin::cases {
namespace {

class ReferenceBackend final : public Backend {
 public:
  absl::Status Setup(const std::string& sql) override { return database_.Execute(sql).status(); }
  absl::Status CreateTable(const std::string& name, const Schema& schema,
                           const reference::Rows& rows) override {
    return database_.CreateTable(name, schema, rows);
  }
  absl::Status ReplaceTable(const std::string& name, const reference::Rows& rows) override {
    return database_.ReplaceRows(name, rows);
  }
  absl::StatusOr<Schema> SchemaOf(const std::string& name) override {
    const auto table = database_.FindTable(name);
    if (!table.has_value()) return absl::NotFoundError(name);
    return table->schema;
  }
  absl::StatusOr<reference::Rows> Query(const std::string& sql) override {
    return database_.Execute(sql);
  }
  absl::Status Prepare(const std::string& name, const std::string& sql) override {
    Planner planner;
    ADJOIN_RETURN_IF_ERROR(database_.Plan(sql, planner).status());
    prepared_[name] = sql;
    return absl::OkStatus();
  }
  absl::StatusOr<reference::Rows> Execute(const std::string& name) override {
    return database_.Execute(prepared_.at(name));
  }
  int64_t peak_bytes() const override { return 0; }

 private:
  reference::ReferenceDatabase database_;
  std::map<std::string, std::string> prepared_;
};

}  // namespace

std::unique_ptr<Backend> MakeReferenceBackend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace adjoin::cases
