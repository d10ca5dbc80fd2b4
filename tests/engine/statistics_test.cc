#include "engine/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/column.h"

namespace adjoin {
namespace {

template <typename T>
ColumnRef MakeColumn(TypeId type, const std::vector<T>& values, const std::vector<uint8_t>& valid) {
  ColumnBuilder builder(type, std::make_shared<MemoryBudget>());
  EXPECT_TRUE(builder
                  .AppendMany(values.data(), valid.empty() ? nullptr : valid.data(),
                              static_cast<int64_t>(values.size()))
                  .ok());
  auto column = builder.Finish();
  EXPECT_TRUE(column.ok());
  return *column;
}

void Expect(const ColumnStatistics& s, double distinct, double low, double high) {
  EXPECT_EQ(s.distinct, distinct);
  EXPECT_EQ(s.low, low);
  EXPECT_EQ(s.high, high);
}

TEST(StatisticsTest, NullsAndNansDoNotCount) {
  Expect(MakeColumn<int32_t>(TypeId::kInt32, {5, -9, 5, 7}, {1, 0, 1, 1})->statistics(), 2, 5, 7);
  const double nan = std::nan("");
  Expect(MakeColumn<double>(TypeId::kFloat64, {nan, 2, -3.5, 2}, {})->statistics(), 2, -3.5, 2);
  const ColumnStatistics none = MakeColumn<double>(TypeId::kFloat64, {nan}, {})->statistics();
  EXPECT_EQ(none.distinct, 0);
  EXPECT_TRUE(std::isnan(none.low));
}

// Neighbours that doubles do not tell apart.
TEST(StatisticsTest, NumbersAtTheEndsOfTheirType) {
  const int64_t most = std::numeric_limits<int64_t>::max(), least = -most - 1;
  EXPECT_EQ(
      MakeColumn<int64_t>(TypeId::kInt64, {most, most - 1, most - 3}, {})->statistics().distinct,
      3);
  EXPECT_EQ(MakeColumn<int64_t>(TypeId::kInt64, {least, least + 1}, {})->statistics().distinct, 2);
  const double both =
      MakeColumn<int64_t>(TypeId::kInt64, {least, most, 0}, {})->statistics().distinct;
  EXPECT_NEAR(both, 3, 0.01);
}

TEST(StatisticsTest, ManyValuesAreEstimated) {
  for (int64_t n : {100, 100'000, 3'000'000}) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(i * 1'000'003);
    const double distinct = MakeColumn(TypeId::kInt64, values, {})->statistics().distinct;
    EXPECT_NEAR(distinct / static_cast<double>(n), 1, 0.02) << n;
  }
}

TEST(StatisticsTest, CoordinatesFollowFromTheirShape) {
  const Column dim(TypeId::kInt64, 60, Column::Coordinates{3, 10, 2},
                   std::make_shared<MemoryBudget>());
  Expect(dim.statistics(), 10, 3, 12);
  EXPECT_FALSE(dim.is_stored());
}

}  // namespace
}  // namespace adjoin
