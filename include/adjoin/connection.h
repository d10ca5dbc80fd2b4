// A session: runs SQL texts and plans, keeps settings, transactions and prepared statements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adjoin/plan.h"
#include "adjoin/prepared.h"
#include "adjoin/table.h"

namespace adjoin {
class Session;
class DatabaseState;
}  // namespace adjoin

namespace adjoin::api {

// What one statement did.
struct Result {
  bool has_rows =
      false;  // SELECT, VALUES, EXPLAIN, SHOW: `rows` is their result, which may be empty
  Table rows;
  std::string tag;            // PostgreSQL's command tag: "SELECT 3", "INSERT 0 3", "CREATE TABLE"
  int64_t affected = 0;       // the tag's row count
  int64_t peak_bytes = 0;     // the most memory that a query or change of rows took at once,
  int64_t spilled_bytes = 0;  // and what it wrote to files
  std::vector<std::string> notices;  // e.g. `WARNING:  there is no transaction in progress`
};

enum class TransactionStatus : uint8_t { kIdle, kActive, kFailed };

// One session on a database. Movable. Use from one thread at a time, except for Cancel. Prepared
// statements made by a connection share its session, which lives as long as any of them; they count
// as use of the connection.
//
// Every statement is atomic: when it fails, all tables are as they were. Outside a transaction each
// statement of a text commits by itself. In a transaction (BEGIN) the connection works on its own
// version of the database; the first write waits until no other connection is writing, and COMMIT
// publishes all of it at once.
class Connection {
 public:
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();  // rolls back an open transaction

  // Runs the statements of `sql` in order and returns the last one's result; an empty text gives an
  // empty Result. Stops at the first error; what earlier statements committed stays.
  absl::StatusOr<Result> Query(std::string_view sql);
  // The same, with one Result a statement.
  absl::StatusOr<std::vector<Result>> Execute(std::string_view sql);
  // The same, handing over each result as soon as it is there.
  absl::Status Execute(std::string_view sql, const std::function<void(Result)>& on_result);

  // Plans one SELECT, VALUES, INSERT, UPDATE or DELETE with parameters $1, $2, ...; see prepared.h.
  // Other statements: error 0A000. The plan form takes what a plan builder made.
  absl::StatusOr<Prepared> Prepare(std::string_view sql);
  absl::StatusOr<Prepared> Prepare(const Plan& plan);
  absl::StatusOr<Prepared> Prepare(
      const std::vector<Update>& updates);  // one statement: all read one snapshot

  // Runs a plan once.
  absl::StatusOr<Result> Query(const Plan& plan);

  // Makes `table` a base table without copying its columns. Its dims become the PRIMARY KEY.
  // Errors: 42P07 where the name is taken.
  absl::Status CreateTable(std::string_view name, const Table& table);
  // Replaces all rows of a base table, without copying. Errors: 42P01 for no such table; 42804
  // where the schemas differ; 23505, 23502 where rows break the table's key or NOT NULL.
  absl::Status ReplaceTable(std::string_view name, const Table& table);
  // The rows of a base table as this connection sees them now; later writes do not change them.
  absl::StatusOr<Table> GetTable(std::string_view name);

  // SET name = value, and SHOW name. Errors: 42704 for an unknown name, 22023 for an unusable
  // value.
  absl::Status Set(std::string_view name, std::string_view value);
  absl::StatusOr<std::string> Show(std::string_view name);

  // From now on writes what each statement spends its time on to a file that chrome://tracing and
  // Perfetto read; the file is whole when tracing ends: with the connection, or by an empty path.
  // Errors: 58P01, 58030 where the file cannot be written. Where it later cannot be, tracing
  // ends with a notice.
  absl::Status Trace(std::string_view path);

  // Called on the running thread between the steps of a statement with how far it is, in [0, 1];
  // returning false cancels the statement (57014). An empty function: no calls.
  void SetProgressCallback(std::function<bool(double fraction)> progress);

  // Makes the statement that now runs on this connection fail with 57014 as soon as it notices.
  // Thread-safe, and safe in a signal handler. Without a running statement: nothing.
  void Cancel();

  TransactionStatus transaction_status() const;

  // For the library itself.
  explicit Connection(std::shared_ptr<Session> session);
  Session* session() const { return session_.get(); }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace adjoin::api
