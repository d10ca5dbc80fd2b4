// Aligned memory counted against a budget.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"

namespace adjoin {

// Bytes in use and their limit for one database. Thread-safe. Outlives every buffer charged to it.
class MemoryBudget {
 public:
  // Holds memory that nobody needs. Thread-safe.
  class Reserve {
   public:
    virtual ~Reserve() = default;
    virtual int64_t bytes() const = 0;
    // Lets go of `bytes` or more, where there are so many; returns how many went.
    virtual int64_t GiveUp(int64_t bytes) = 0;
  };
  explicit MemoryBudget(int64_t limit_bytes = INT64_MAX) : limit_(limit_bytes) {}
  // A part of `whole`, which has the limit: what is charged here is charged there too, so that one
  // statement's bytes are known while others run.
  explicit MemoryBudget(std::shared_ptr<MemoryBudget> whole)
      : limit_(INT64_MAX), whole_(std::move(whole)) {}
  // ResourceExhausted (53200) when `bytes` more would pass the limit; then nothing is charged.
  absl::Status Charge(int64_t bytes);
  // Past the limit if need be: what is charged next is refused.
  void ChargeAnyway(int64_t bytes);
  void Release(int64_t bytes);
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  void reset_peak() { peak_.store(used(), std::memory_order_relaxed); }
  int64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // What may still be charged.
  int64_t available() const;
  // Asked before a charge is refused; null: none. Outlives the budget, or is taken away while
  // nothing is charged.
  void set_reserve(Reserve* reserve) { reserve_.store(reserve, std::memory_order_release); }
  void set_limit(int64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> used_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> limit_;
  std::atomic<Reserve*> reserve_{nullptr};
  const std::shared_ptr<MemoryBudget> whole_;  // may be null
  void NotePeak(int64_t used);
};

// 64-byte-aligned memory with 64 readable bytes of padding after its end. Contents start undefined.
// Arrow-compatible.
class Buffer {
 public:
  static absl::StatusOr<std::shared_ptr<Buffer>> Allocate(int64_t bytes,
                                                          std::shared_ptr<MemoryBudget> budget);
  // Past the limit if need be, for callers that cannot fail. Where the machine has none, the
  // process ends.
  static std::shared_ptr<Buffer> AllocateAnyway(int64_t bytes,
                                                std::shared_ptr<MemoryBudget> budget);
  // Memory of somebody else (mapped files, Arrow imports); `owner` keeps it alive. Not charged,
  // read-only.
  static std::shared_ptr<const Buffer> Wrap(const void* data, int64_t bytes,
                                            std::shared_ptr<const void> owner);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  int64_t size() const { return size_; }
  bool is_charged() const { return budget_ != nullptr; }
  const void* data() const { return data_; }
  void* mutable_data() { return data_; }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }
  template <typename T>
  T* mutable_as() {
    return static_cast<T*>(data_);
  }

 private:
  Buffer() = default;
  // Of memory that is charged already; null where there is none.
  static std::shared_ptr<Buffer> AllocateCharged(int64_t bytes,
                                                 std::shared_ptr<MemoryBudget> budget);
  void* data_ = nullptr;
  int64_t size_ = 0;
  std::shared_ptr<MemoryBudget> budget_;  // null for wrapped memory
  std::shared_ptr<const void> owner_;     // null for own memory
};

}  // namespace adjoin
