#include "sql/database.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "adjoin/database.h"
#include "engine/status.h"
#include "sql/session.h"

namespace adjoin {

absl::Status WriteLock::Acquire(const RunControl& control, int64_t timeout_ms) {
  // Cancel may come from a signal handler, which cannot wake a waiter: look for it now and then.
  constexpr std::chrono::milliseconds kLook(20);
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!released_.wait_for(lock, kLook, [this] { return !held_; })) {
    ADJOIN_RETURN_IF_ERROR(control.Check());
    const auto waited = std::chrono::steady_clock::now() - start;
    if (timeout_ms > 0 && waited >= std::chrono::milliseconds(timeout_ms)) {
      return SqlError("55P03", "canceling statement due to lock timeout");
    }
  }
  held_ = true;
  return absl::OkStatus();
}

void WriteLock::Release() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = false;
  }
  released_.notify_one();
}

DatabaseState::DatabaseState(int threads, int64_t memory_limit, std::string temp_directory)
    : threads_(threads),
      temp_directory_(std::move(temp_directory)),
      budget_(std::make_shared<MemoryBudget>(memory_limit > 0 ? memory_limit : INT64_MAX)),
      column_cache_(budget_),
      pool_(std::make_shared<TaskPool>(threads)) {}

}  // namespace adjoin

namespace adjoin::api {

Database::Database(std::shared_ptr<DatabaseState> state) : state_(std::move(state)) {}

absl::StatusOr<Database> Database::Open(const Options& options) {
  constexpr int kMostThreads = 1024;
  if (options.threads < 0 || options.threads > kMostThreads) {
    return SqlError(sqlstate::kInvalidParameterValue,
                    absl::StrCat("threads is outside [0, ", kMostThreads, "]: ", options.threads));
  }
  if (options.memory_limit < 0) {
    return SqlError(sqlstate::kInvalidParameterValue,
                    absl::StrCat("memory_limit must not be negative: ", options.memory_limit));
  }
  const int processors =
      std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
  const int threads = options.threads > 0 ? options.threads : processors;
  return Database(
      std::make_shared<DatabaseState>(threads, options.memory_limit, options.temp_directory));
}

Connection Database::Connect() const { return Connection(std::make_shared<Session>(state_)); }
int64_t Database::memory_used() const { return state_->budget()->used(); }
int64_t Database::memory_peak() const { return state_->budget()->peak(); }
void Database::ResetPeak() const { state_->budget()->reset_peak(); }

}  // namespace adjoin::api
