// A session's transaction: which version of the catalog it sees, and how its changes come into
// force.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"

namespace adjoin {

// A statement reads State() and, after Write(), changes it through the writer; FinishStatement then
// commits, keeps or undoes. A transaction reads the last committed version, its own changes
// included, until its first write; from there on it is the only writer. Not thread-safe.
class SessionTransaction {
 public:
  enum class Status : uint8_t { kIdle, kActive, kFailed };

  explicit SessionTransaction(std::shared_ptr<DatabaseState> database);
  ~SessionTransaction();  // undoes what is not committed
  SessionTransaction(const SessionTransaction&) = delete;
  SessionTransaction& operator=(const SessionTransaction&) = delete;

  Status status() const { return status_; }
  // False, and nothing done, where the state makes it pointless (psql prints a warning then).
  bool Begin();
  bool Commit();  // undoes a failed transaction
  bool Rollback();

  // What the running statement sees; valid until the next change or FinishStatement.
  const CatalogState& State();
  // Takes the write lock, waiting for it, and the writer. Idempotent.
  absl::StatusOr<CatalogWriter*> Write(const RunControl& control, int64_t lock_timeout_ms);
  // Only the lock, for a change in place outside a transaction: allocates nothing.
  absl::Status Lock(const RunControl& control, int64_t lock_timeout_ms);
  CatalogWriter* writer() const { return writer_.get(); }
  // Forgets the snapshot that State() took, so that tables may change in place.
  void DropSnapshot() { snapshot_.reset(); }

  // Outside a transaction: commits what the statement wrote, or undoes it. Inside: keeps it, or
  // fails the transaction.
  void FinishStatement(bool ok);

 private:
  void Discard();  // writer and lock
  std::shared_ptr<DatabaseState> database_;
  Status status_ = Status::kIdle;
  bool locked_ = false;
  std::unique_ptr<CatalogWriter> writer_;
  std::shared_ptr<const CatalogState> snapshot_;
};

}  // namespace adjoin
