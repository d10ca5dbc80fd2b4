#include "engine/task_pool.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/status.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace adjoin {

namespace {

// A point that one thread passes before another. oneTBB orders its tasks itself; Debian builds it
// without ThreadSanitizer, which is told here what it cannot see and would otherwise report as
// races. Nothing in other builds.
class Order {
 public:
#ifdef __SANITIZE_THREAD__
  void Before() { __tsan_release(this); }
  void After() { __tsan_acquire(this); }
#else
  void Before() {}
  void After() {}
#endif
};

}  // namespace

struct TaskPool::Impl {
  // Lets an arena have more threads than the machine has cores, which tests of determinism want.
  explicit Impl(int threads)
      : slots(static_cast<size_t>(threads)),
        parallelism(tbb::global_control::max_allowed_parallelism,
                    std::max<size_t>(static_cast<size_t>(threads),
                                     static_cast<size_t>(tbb::this_task_arena::max_concurrency()))),
        arena(threads) {}
  std::vector<Order> slots;
  tbb::global_control parallelism;
  tbb::task_arena arena;
};

namespace {

// The error of the lowest block that failed.
class FirstError {
 public:
  bool IsAfter(int64_t block) const { return block > lowest_.load(std::memory_order_relaxed); }
  void Add(int64_t block, absl::Status status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (block >= lowest_.load(std::memory_order_relaxed)) return;
    lowest_.store(block, std::memory_order_relaxed);
    status_ = std::move(status);
  }
  absl::Status Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::move(status_);
  }

 private:
  std::atomic<int64_t> lowest_{INT64_MAX};
  std::mutex mutex_;  // std's: ThreadSanitizer cannot see into Debian's Abseil
  absl::Status status_;
};

// What oneTBB copies into its tasks: unchecked, as that is oneTBB's own order. Everything behind
// its pointers is ordered by fork and join, and checked.
template <typename Body>
struct BlockTask {
  const Body* body;
  Order* fork;
  Order* join;
  Order* slots;
  [[gnu::no_sanitize_thread]] void operator()(const tbb::blocked_range<int64_t>& range) const {
    fork->After();
    const int slot = tbb::this_task_arena::current_thread_index();
    slots[slot].After();
    for (int64_t b = range.begin(); b != range.end(); ++b) (*body)(b, slot);
    slots[slot].Before();
    join->Before();
  }
};

// What the arena calls, on another thread where all of its own are taken: unchecked as BlockTask
// is.
template <typename Body>
struct ArenaTask {
  int64_t blocks;
  BlockTask<Body> task;
  [[gnu::no_sanitize_thread]] void operator()() const {
    const BlockTask<Body> own = task;  // oneTBB's own copies are checked
    tbb::parallel_for(tbb::blocked_range<int64_t>(0, blocks, 1), own, tbb::simple_partitioner());
  }
};

template <typename Body>
void RunInArena(tbb::task_arena& arena, Order* slots, int64_t blocks, const Body& body) {
  Order fork, join;
  const ArenaTask<Body> task{blocks, {&body, &fork, &join, slots}};
  fork.Before();
  arena.execute(task);
  join.After();
}

}  // namespace

TaskPool::TaskPool(int threads) : threads_(std::max(threads, 1)) {
  if (threads_ > 1) impl_ = std::make_unique<Impl>(threads_);
}
TaskPool::~TaskPool() = default;

absl::Status TaskPool::ForEachBlock(int64_t blocks,
                                    const std::function<absl::Status(int64_t)>& body) {
  if (threads_ == 1 || blocks <= 1) {
    for (int64_t b = 0; b < blocks; ++b) {
      if (absl::Status status = body(b); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  FirstError error;
  RunInArena(impl_->arena, impl_->slots.data(), blocks, [&](int64_t b, int) {
    if (error.IsAfter(b)) return;
    if (absl::Status status = body(b); !status.ok()) error.Add(b, std::move(status));
  });
  return error.Take();
}

void TaskPool::ForEachBlockNoFail(int64_t blocks,
                                  void (*body)(void* context, int64_t block, int slot),
                                  void* context) {
  if (threads_ == 1 || blocks <= 1) {
    for (int64_t b = 0; b < blocks; ++b) body(context, b, 0);
    return;
  }
  RunInArena(impl_->arena, impl_->slots.data(), blocks,
             [&](int64_t b, int slot) { body(context, b, slot); });
}

absl::Status ForEachBlock(TaskPool* pool, int64_t blocks,
                          const std::function<absl::Status(int64_t)>& body) {
  if (pool != nullptr) return pool->ForEachBlock(blocks, body);
  for (int64_t b = 0; b < blocks; ++b) ADJOIN_RETURN_IF_ERROR(body(b));
  return absl::OkStatus();
}

void ForEachRange(TaskPool* pool, int64_t n, int64_t length,
                  absl::FunctionRef<void(int64_t begin, int64_t end)> body) {
  const auto run = [&](int64_t block) { body(block * length, std::min(n, (block + 1) * length)); };
  const int64_t blocks = (n + length - 1) / length;
  if (pool == nullptr) {
    for (int64_t b = 0; b < blocks; ++b) run(b);
    return;
  }
  const auto call = [](void* of, int64_t block, int) {
    (*static_cast<const decltype(run)*>(of))(block);
  };
  pool->ForEachBlockNoFail(blocks, call, const_cast<void*>(static_cast<const void*>(&run)));
}

}  // namespace adjoin
