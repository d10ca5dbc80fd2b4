#include "ops/window_fold.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"
#include "ops/window_frame.h"

namespace adjoin {
namespace {

// An associative operation that is not commutative shows every item and their order.
struct Concat {
  std::string operator()(const std::string& a, const std::string& b) const { return a + b; }
};

TEST(RangeFoldTest, EveryRangeHoldsItsItemsInOrder) {
  for (const size_t n : {1u, 2u, 33u, 100u, 129u}) {
    std::pmr::vector<std::string> items(n);
    for (size_t i = 0; i < n; ++i) items[i] = std::string(1, static_cast<char>('!' + i % 90));
    for (const int64_t fixed : {-1, 33, 40}) {
      RangeFold<std::string, Concat> fold(items, fixed);
      for (size_t begin = 0; begin < n; ++begin) {
        std::string expected;
        for (size_t end = begin + 1; end <= n; ++end) {
          expected += items[end - 1];
          ASSERT_EQ(fold.Fold(static_cast<int64_t>(begin), static_cast<int64_t>(end)), expected);
        }
      }
    }
  }
}

TEST(WindowPartitionTest, FramesStayInThePartition) {
  const std::vector<int64_t> order_values = {1, 1, 2, 3, 3};
  const Vector key{TypeId::kInt64, order_values.data(), nullptr};
  const SortCodes codes({&key, 1}, {}, 5);
  const std::vector<int64_t> rows = {0, 1, 2, 3, 4};
  const WindowPartition partition({rows}, &codes);
  WindowFrameSpec spec;
  const auto frame = [&](int64_t i) {
    const PositionRange range = partition.FrameOf(spec, i);
    return std::pair(range.begin, range.end);
  };
  EXPECT_EQ(frame(0), std::pair(int64_t{0}, int64_t{2}));  // peers count
  spec.mode = WindowFrameMode::kRows;
  EXPECT_EQ(frame(0), std::pair(int64_t{0}, int64_t{1}));
  spec.start = WindowFrameBound::kFollowing;
  spec.end = WindowFrameBound::kFollowing;
  spec.start_offset = 1;
  spec.end_offset = INT64_MAX;
  EXPECT_EQ(frame(3), std::pair(int64_t{4}, int64_t{5}));
  EXPECT_EQ(frame(4), std::pair(int64_t{5}, int64_t{5}));
  spec.mode = WindowFrameMode::kGroups;
  EXPECT_EQ(frame(1), std::pair(int64_t{2}, int64_t{5}));
  PositionRange parts[3];
  spec = {WindowFrameMode::kRows, WindowFrameBound::kUnboundedPreceding,
          WindowFrameBound::kUnboundedFollowing};
  spec.exclusion = WindowFrameExclusion::kTies;
  ASSERT_EQ(partition.FrameParts(spec, 3, parts), 2);
  EXPECT_EQ(parts[0].end, 3);
  EXPECT_EQ(parts[1].begin, 3);
  EXPECT_EQ(parts[1].end, 4);
}

}  // namespace
}  // namespace adjoin
