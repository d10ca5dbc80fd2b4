#include "sql/transaction.h"

#include <utility>

#include "engine/status.h"

namespace adjoin {

SessionTransaction::SessionTransaction(std::shared_ptr<DatabaseState> database)
    : database_(std::move(database)) {}

SessionTransaction::~SessionTransaction() { Discard(); }

void SessionTransaction::Discard() {
  writer_.reset();
  if (std::exchange(locked_, false)) database_->write_lock().Release();
}

bool SessionTransaction::Begin() {
  if (status_ != Status::kIdle) return false;
  status_ = Status::kActive;
  return true;
}

bool SessionTransaction::Commit() {
  if (status_ == Status::kActive && writer_ != nullptr) writer_->Commit();
  return Rollback();
}

bool SessionTransaction::Rollback() {
  Discard();
  return std::exchange(status_, Status::kIdle) != Status::kIdle;
}

const CatalogState& SessionTransaction::State() {
  if (writer_ != nullptr) return writer_->state();
  if (snapshot_ == nullptr) snapshot_ = database_->catalog().Snapshot();
  return *snapshot_;
}

absl::Status SessionTransaction::Lock(const RunControl& control, int64_t lock_timeout_ms) {
  if (locked_) return absl::OkStatus();
  ADJOIN_RETURN_IF_ERROR(database_->write_lock().Acquire(control, lock_timeout_ms));
  locked_ = true;
  snapshot_.reset();  // somebody may have committed while we waited
  return absl::OkStatus();
}

absl::StatusOr<CatalogWriter*> SessionTransaction::Write(const RunControl& control,
                                                         int64_t lock_timeout_ms) {
  ADJOIN_RETURN_IF_ERROR(Lock(control, lock_timeout_ms));
  if (writer_ == nullptr) writer_ = database_->catalog().BeginWrite();
  snapshot_.reset();
  return writer_.get();
}

void SessionTransaction::FinishStatement(bool ok) {
  snapshot_.reset();
  if (status_ == Status::kIdle) {
    if (ok && writer_ != nullptr) writer_->Commit();
    Discard();
  } else if (!ok) {
    status_ = Status::kFailed;
    Discard();
  }
}

}  // namespace adjoin
