#include "engine/task_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace adjoin {
namespace {

TEST(TaskPoolTest, RunsEveryBlockOnce) {
  for (int threads : {1, 2, 8}) {
    TaskPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    std::vector<std::atomic<int>> runs(1000);
    ASSERT_TRUE(pool.ForEachBlock(1000,
                                  [&](int64_t b) {
                                    ++runs[static_cast<size_t>(b)];
                                    return absl::OkStatus();
                                  })
                    .ok());
    for (const auto& count : runs) ASSERT_EQ(count, 1);
    ASSERT_TRUE(pool.ForEachBlock(0, [](int64_t) { return absl::InternalError("no block"); }).ok());
  }
}

TEST(TaskPoolTest, FirstErrorByBlock) {
  for (int threads : {1, 4}) {
    TaskPool pool(threads);
    for (int round = 0; round < 20; ++round) {
      const absl::Status status = pool.ForEachBlock(500, [](int64_t b) {
        return b % 100 == 37 ? absl::InternalError(std::to_string(b)) : absl::OkStatus();
      });
      EXPECT_EQ(status.message(), "37");
    }
  }
}

TEST(TaskPoolTest, UsesItsThreadsBeyondTheCores) {
  TaskPool pool(4);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::atomic<int> waiting{0};
  // Blocks wait for each other: four must run at once. The time limit only serves a broken pool.
  ASSERT_TRUE(pool.ForEachBlock(4,
                                [&](int64_t) {
                                  ++waiting;
                                  const auto limit =
                                      std::chrono::steady_clock::now() + std::chrono::seconds(20);
                                  while (waiting < 4 && std::chrono::steady_clock::now() < limit)
                                    std::this_thread::yield();
                                  const std::lock_guard<std::mutex> lock(mutex);
                                  ids.insert(std::this_thread::get_id());
                                  return absl::OkStatus();
                                })
                  .ok());
  EXPECT_EQ(ids.size(), 4u);
}

TEST(TaskPoolTest, OneThreadRunsInOrderOnTheCaller) {
  TaskPool pool(1);
  struct Seen {
    std::vector<int64_t> blocks;
    std::thread::id thread;
  } seen;
  seen.blocks.reserve(10);
  pool.ForEachBlockNoFail(
      10,
      [](void* context, int64_t b, int slot) {
        EXPECT_EQ(slot, 0);
        auto* s = static_cast<Seen*>(context);
        s->blocks.push_back(b);
        s->thread = std::this_thread::get_id();
      },
      &seen);
  EXPECT_EQ(seen.blocks, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(seen.thread, std::this_thread::get_id());
}

TEST(TaskPoolTest, NoTwoRunningBodiesHaveOneSlot) {
  TaskPool pool(3);
  struct Seen {
    std::atomic<int> running[3] = {};
    std::atomic<int> clashes{0};
    int64_t blocks[3] = {};  // nobody else's while a body runs
  } seen;
  for (int run = 0; run < 20; ++run) {
    pool.ForEachBlockNoFail(
        200,
        [](void* context, int64_t, int slot) {
          auto* s = static_cast<Seen*>(context);
          if (s->running[slot].fetch_add(1) != 0) ++s->clashes;
          ++s->blocks[slot];
          s->running[slot].fetch_sub(1);
        },
        &seen);
  }
  EXPECT_EQ(seen.clashes, 0);
  EXPECT_EQ(seen.blocks[0] + seen.blocks[1] + seen.blocks[2], 20 * 200);
}

TEST(TaskPoolTest, NestsAndServesSeveralCallers) {
  TaskPool pool(3);
  std::atomic<int64_t> sum{0};
  const auto work = [&] {
    return pool.ForEachBlock(20, [&](int64_t a) {
      return pool.ForEachBlock(20, [&](int64_t b) {
        sum += a * 20 + b;
        return absl::OkStatus();
      });
    });
  };
  std::thread other([&] { EXPECT_TRUE(work().ok()); });
  EXPECT_TRUE(work().ok());
  other.join();
  EXPECT_EQ(sum, 2 * 399 * 400 / 2);
}

}  // namespace
}  // namespace adjoin
