// What all connections of one database share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "engine/buffer.h"
#include "engine/catalog.h"
#include "engine/column_cache.h"
#include "engine/large_memory.h"
#include "engine/task_pool.h"
#include "ops/step.h"

namespace adjoin {

// The right to write, held by one session from its first write to the end of its transaction.
// Belongs to a session, not a thread. Taking and giving it allocates nothing.
class WriteLock {
 public:
  // Waits until it is free. Errors: 57014 when `control` is cancelled, 55P03 after `timeout_ms` (0:
  // never).
  absl::Status Acquire(const RunControl& control, int64_t timeout_ms);
  void Release();

 private:
  std::mutex mutex_;  // not Abseil's, which Debian builds without what ThreadSanitizer needs
  std::condition_variable released_;
  bool held_ = false;  // under mutex_
};

// Thread-safe.
class DatabaseState {
 public:
  DatabaseState(int threads, int64_t memory_limit, std::string temp_directory);
  int threads() const { return threads_; }
  const std::string& temp_directory() const { return temp_directory_; }
  Catalog& catalog() { return catalog_; }
  WriteLock& write_lock() { return write_lock_; }
  const std::shared_ptr<TaskPool>& pool() const { return pool_; }
  const std::shared_ptr<MemoryBudget>& budget() const { return budget_; }
  ColumnCache& column_cache() { return column_cache_; }

 private:
  // The first member goes last, when the tables are freed.
  struct FreedMemory {
    ~FreedMemory() { ReleaseLarge(); }
  } freed_memory_;
  int threads_;
  std::string temp_directory_;
  std::shared_ptr<MemoryBudget> budget_;
  ColumnCache column_cache_;
  std::shared_ptr<TaskPool> pool_;
  Catalog catalog_;
  WriteLock write_lock_;
};

}  // namespace adjoin
