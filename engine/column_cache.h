// What was computed of columns alone, kept for the next statement that asks for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/buffer.h"
#include "engine/column.h"

namespace adjoin {

// Immutable; charges its own bytes to a budget.
class CachedValue {
 public:
  virtual ~CachedValue() = default;
  virtual int64_t bytes() const = 0;
};

// One a database. An entry holds no column: it is for those versions, and goes when one of them
// does. Those that nobody uses also go, the least recently used first, where the budget has no room
// or all take more than kMostBytes. Thread-safe.
class ColumnCache final : public MemoryBudget::Reserve {
 public:
  static constexpr int64_t kMostBytes = int64_t{1} << 30;

  explicit ColumnCache(std::shared_ptr<MemoryBudget> budget);
  ~ColumnCache() override;
  ColumnCache(const ColumnCache&) = delete;
  ColumnCache& operator=(const ColumnCache&) = delete;

  // What was kept as `what` of these columns; null where there is nothing.
  std::shared_ptr<const CachedValue> Find(std::string_view what,
                                          std::span<const ColumnRef> columns);
  void Keep(std::string_view what, std::span<const ColumnRef> columns,
            std::shared_ptr<const CachedValue> value);
  // Lets go of entries whose columns have gone. Asked after every statement: while there is no
  // entry it only looks at a number.
  void DropStale();

  int64_t bytes() const override { return bytes_.load(std::memory_order_relaxed); }
  int64_t GiveUp(int64_t bytes) override;

 private:
  struct Entry {
    std::shared_ptr<const CachedValue> value;
    std::vector<std::weak_ptr<const Column>> columns;
    std::vector<uint64_t> versions;
    int64_t bytes = 0;
    uint64_t last_use = 0;
    bool IsStale() const;
  };
  using Entries = absl::flat_hash_map<std::string, Entry>;
  using Values = std::vector<std::shared_ptr<const CachedValue>>;
  // What goes is freed by the caller, when mutex_ is free again.
  void Remove(Entries::iterator at, Values& gone);
  int64_t RemoveUnused(int64_t bytes, Values& gone);
  void RemoveStale(Values& gone);

  const std::shared_ptr<MemoryBudget> budget_;
  std::atomic<int64_t> bytes_{0};
  std::mutex mutex_;
  Entries entries_;     // under mutex_, and so is the rest
  uint64_t clock_ = 0;  // uses so far
};

}  // namespace adjoin
