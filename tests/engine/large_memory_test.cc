#include "engine/large_memory.h"

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/large_vector.h"
#include "gtest/gtest.h"

namespace adjoin {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeeps = false;
#else
constexpr bool kKeeps = true;
#endif

constexpr size_t kMiB = size_t{1} << 20;

TEST(LargeMemoryTest, WhatIsFreedServesTheNext) {
  ReleaseLarge();
  void* first = AllocateLarge(10 * kMiB);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % (2 * kMiB), 0u);
  std::memset(first, 1, 10 * kMiB);
  FreeLarge(first, 10 * kMiB);
  void* other = AllocateLarge(40 * kMiB);  // another size
  EXPECT_NE(other, first);
  void* same = AllocateLarge(10 * kMiB - 5);
  if (kKeeps) {
    EXPECT_EQ(same, first);
  }
  FreeLarge(same, 10 * kMiB - 5);
  FreeLarge(other, 40 * kMiB);
  ReleaseLarge();
}

// What is kept is bounded: the oldest goes, and what is larger than the bound is not kept at all.
TEST(LargeMemoryTest, TheOldestGoes) {
  ReleaseLarge();
  std::vector<void*> blocks;
  for (int i = 0; i < 9; ++i) blocks.push_back(AllocateLarge(64 * kMiB));
  for (void* block : blocks) FreeLarge(block, 64 * kMiB);  // the first no longer has room
  std::vector<void*> again;
  for (int i = 0; i < 8; ++i) again.push_back(AllocateLarge(64 * kMiB));
  if (kKeeps) {
    EXPECT_EQ(again, std::vector<void*>(blocks.rbegin(), blocks.rend() - 1));
  }
  for (void* block : again) FreeLarge(block, 64 * kMiB);
  void* huge = AllocateLarge(600 * kMiB);
  ASSERT_NE(huge, nullptr);
  FreeLarge(huge, 600 * kMiB);
  ReleaseLarge();
}

TEST(LargeMemoryTest, ThreadsTakeTurns) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        const size_t bytes = (2 + static_cast<size_t>(i) % 3) * kMiB;
        auto* data = static_cast<char*>(AllocateLarge(bytes));
        data[0] = data[bytes - 1] = static_cast<char>(t);
        std::this_thread::yield();
        ASSERT_EQ(data[0], t);
        ASSERT_EQ(data[bytes - 1], t);
        FreeLarge(data, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ReleaseLarge();
}

TEST(LargeVectorTest, GrowsFromSmallToLarge) {
  LargeVector<int64_t> numbers;
  for (int64_t i = 0; i < 1'000'000; ++i) numbers.push_back(i);
  LargeVector<int64_t> copy = numbers;
  numbers.assign(2'000'000, 7);
  for (int64_t i = 0; i < 1'000'000; ++i) ASSERT_EQ(copy[static_cast<size_t>(i)], i);
  for (int64_t number : numbers) ASSERT_EQ(number, 7);
}

}  // namespace
}  // namespace adjoin
