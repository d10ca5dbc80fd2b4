// Tasks over fixed blocks. Thread count decides who runs a block, never what a block is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace adjoin {

// A oneTBB arena of `threads` slots. Thread-safe.
class TaskPool {
 public:
  explicit TaskPool(int threads);
  ~TaskPool();
  int threads() const { return threads_; }
  // Runs body(b) for every b in [0, blocks), in any order, on up to threads() threads, and waits.
  // One block, or one thread: on the caller, in order. The first error by block number is returned;
  // later blocks may be skipped.
  absl::Status ForEachBlock(int64_t blocks, const std::function<absl::Status(int64_t)>& body);
  // The same for bodies that cannot fail and do not wait for others; no allocation on one thread.
  // `slot`, below threads(), is no other running body's: what a body needs only while it runs can
  // be one a slot.
  void ForEachBlockNoFail(int64_t blocks, void (*body)(void* context, int64_t block, int slot),
                          void* context);

 private:
  struct Impl;
  int threads_;
  std::unique_ptr<Impl> impl_;
};

// pool->ForEachBlock; where the pool is null, on the caller, in order, up to the first error.
absl::Status ForEachBlock(TaskPool* pool, int64_t blocks,
                          const std::function<absl::Status(int64_t)>& body);

// body(begin, end) for [0, n) cut into ranges of `length`, for bodies that cannot fail.
void ForEachRange(TaskPool* pool, int64_t n, int64_t length,
                  absl::FunctionRef<void(int64_t begin, int64_t end)> body);

}  // namespace adjoin
