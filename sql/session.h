// A session: what one connection runs, statement by statement.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "adjoin/connection.h"
#include "sql/database.h"
#include "sql/parse.h"
#include "sql/planned_statement.h"
#include "sql/settings.h"
#include "sql/trace.h"
#include "sql/transaction.h"
#include "sql/utility.h"

namespace adjoin {

// One thread at a time, except for Cancel. Nothing here throws: what std or TBB throw becomes a
// status (53200, XX000), and a failing statement leaves all tables as they were.
class Session {
 public:
  using Result = api::Result;

  explicit Session(std::shared_ptr<DatabaseState> database);

  // Runs the statements of `sql` in order, up to the first error; positions count from the start of
  // `sql`.
  absl::Status RunScript(std::string_view sql, const std::function<void(Result)>& on_result);
  // Plans one bindable statement for RunPrepared.
  absl::StatusOr<std::unique_ptr<PlannedStatement>> Prepare(std::string_view sql);
  // Runs it with the parameters set in it, as one statement of this session.
  absl::StatusOr<Result> RunPrepared(PlannedStatement& planned);

  absl::Status CreateBaseTable(const std::string& name, const TableRef& table);
  absl::Status ReplaceBaseTable(const std::string& name, const TableRef& table);
  absl::StatusOr<TableRef> GetBaseTable(const std::string& name);
  // All tables and views as the next statement sees them, by name.
  std::vector<CatalogEntry> Relations();
  void RollbackOpen() { transaction_.Rollback(); }

  absl::Status SetSetting(std::string_view name, const std::optional<std::string>& value);
  absl::StatusOr<std::string> ShowSetting(std::string_view name);

  // See Connection::Trace.
  absl::Status SetTrace(const std::string& path);

  void set_progress(std::function<bool(double)> progress) {
    control_.progress = std::move(progress);
  }
  void Cancel() { control_.cancelled.store(true); }
  SessionTransaction::Status transaction_status() const { return transaction_.status(); }

 private:
  struct CachedStatement {
    std::string sql;
    std::unique_ptr<PlannedStatement> planned;
    uint64_t last_use = 0;
  };

  // Runs `body` as one statement: refuses in a failed transaction unless `ends_transaction`, turns
  // exceptions into statuses, then commits or undoes.
  absl::StatusOr<Result> AsStatement(const std::function<absl::StatusOr<Result>()>& body,
                                     bool ends_transaction = false);
  absl::StatusOr<Result> RunStatement(ParsedStatement statement, std::string_view cache_key);
  absl::StatusOr<Result> RunPlanned(PlannedStatement& planned);
  absl::StatusOr<Result> RunUnprepared(PlannedStatement& planned);
  absl::StatusOr<Result> RunWithTables(PlannedStatement& planned);
  absl::StatusOr<Result> RunTraced(PlannedStatement& planned, Trace::Clock::time_point start);
  absl::StatusOr<Result> RunProgram(PlannedStatement& planned);
  absl::StatusOr<Result> RunInPlace(PlannedStatement& planned);
  absl::StatusOr<Result> FinishRun(PlannedStatement& planned, ProgramResult result);
  absl::StatusOr<CatalogWriter*> Write() {
    return transaction_.Write(control_, settings_.lock_timeout_ms);
  }
  // What now(), statement_timestamp() and clock_timestamp() are.
  ClockTimes Times() const;
  void PrepareState(PlannedStatement& planned);
  // The rows of a SELECT inside another statement.
  absl::StatusOr<TableRef> RunQuery(const nlohmann::json& tree, std::string_view text);

  PlannedStatement* FindCached(std::string_view sql);
  void Cache(std::string_view sql, std::unique_ptr<PlannedStatement> planned);

  absl::StatusOr<Result> RunUtility(const ParsedStatement& statement);
  // ddl.cc
  absl::StatusOr<Result> Run(const CreateTable& s, const std::string& text);
  absl::StatusOr<Result> Run(const CreateTableAs& s, const std::string& text);
  absl::StatusOr<Result> Run(const CreateView& s, const std::string& text);
  absl::StatusOr<Result> Run(const Drop& s, const std::string& text);
  absl::StatusOr<Result> Run(const Truncate& s, const std::string& text);
  absl::StatusOr<Result> Replace(const std::string& name, const TableRef& table);
  bool SkipExisting(const std::string& name, bool if_not_exists, Result* result);
  // copy.cc
  absl::StatusOr<Result> Run(const Copy& s, const std::string& text);
  absl::StatusOr<Result> CopyFrom(const Copy& s);
  absl::StatusOr<Result> CopyTo(const Copy& s, const std::string& text);
  // session_commands.cc
  absl::StatusOr<Result> Run(const SetVariable& s, const std::string& text);
  absl::StatusOr<Result> Run(const Show& s, const std::string& text);
  absl::StatusOr<Result> Run(const PrepareStatement& s, const std::string& text);
  absl::StatusOr<Result> Run(const Execute& s, const std::string& text);
  absl::StatusOr<Result> Run(const Deallocate& s, const std::string& text);
  absl::StatusOr<Result> Run(const Transaction& s, const std::string& text);
  absl::StatusOr<PlannedStatement*> FindPrepared(const std::string& name);
  absl::Status SetArguments(PlannedStatement& planned, const Execute& s, const std::string& text);
  absl::StatusOr<ExprRef> Evaluate(const ExprRef& expr);
  // explain.cc
  absl::StatusOr<Result> Run(const Explain& s, const std::string& text);

  std::shared_ptr<DatabaseState> database_;
  std::shared_ptr<TaskPool> pool_;
  Settings defaults_;
  Settings settings_;
  Settings settings_at_begin_;  // what ROLLBACK goes back to
  std::map<std::string, std::optional<std::string>>
      local_settings_;  // SET LOCAL: what COMMIT goes back to
  RunControl control_;
  std::unique_ptr<Trace> trace_;  // null: none is written
  SessionTransaction transaction_;
  std::map<std::string, std::unique_ptr<PlannedStatement>> prepared_;
  std::vector<CachedStatement> cache_;
  uint64_t clock_ = 0;
  Timestamp transaction_began_, statement_began_;
};

// A result of one text column, a line a row.
absl::StatusOr<TableRef> TextRows(std::string_view column, const std::vector<std::string>& lines,
                                  const std::shared_ptr<MemoryBudget>& budget);

}  // namespace adjoin
