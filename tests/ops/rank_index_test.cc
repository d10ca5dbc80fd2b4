// Ids by rank against a map, and which keys are worth them.
#include "ops/rank_index.h"

#include <limits>
#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace adjoin {
namespace {

template <typename T>
void Check(TypeId type, int64_t low, int64_t values_apart, int64_t nulls_every) {
  std::mt19937_64 random(static_cast<uint64_t>(values_apart));
  const int64_t n = 3000;
  std::vector<T> values(n), asked(n);
  std::vector<uint8_t> valid(n, 1);
  const auto draw = [&](int64_t around) {
    const uint64_t step = random() % static_cast<uint64_t>(values_apart + 2 * around);
    return static_cast<T>(static_cast<uint64_t>(low) + step - static_cast<uint64_t>(around));
  };
  std::map<int64_t, int64_t> ids;
  for (int64_t r = 0; r < n; ++r) {
    values[r] = draw(0), asked[r] = draw(5);
    if (nulls_every > 0 && r % nulls_every == 0) valid[r] = 0;
    if (valid[r] != 0) ids[values[r]] = 0;
  }
  int64_t next = 0;
  for (auto& [value, id] : ids) id = next++;
  const Vector key{type, values.data(), nulls_every > 0 ? valid.data() : nullptr};
  const auto range = RankIndex::RangeOf(key, n, 0, nullptr);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->low, ids.begin()->first);
  EXPECT_EQ(range->last, static_cast<uint64_t>(ids.rbegin()->first) - range->low);
  const RankIndex index(*range, key, n);
  EXPECT_EQ(index.size(), std::ssize(ids));
  std::vector<int32_t> rows(n);
  std::vector<int64_t> found(n);
  std::vector<uint32_t> at(n);
  const int64_t m =
      index.FindMatches({type, asked.data(), nullptr}, n, rows.data(), found.data(), at.data());
  int64_t i = 0;
  for (int64_t r = 0; r < n; ++r) {
    const auto it = ids.find(asked[r]);
    if (it == ids.end()) continue;
    ASSERT_LT(i, m);
    EXPECT_EQ(rows[i], r);
    EXPECT_EQ(found[i++], it->second);
  }
  EXPECT_EQ(i, m);
}

TEST(RankIndexTest, FindsWhatAMapFinds) {
  for (int64_t apart : {1, 60, 64, 5000, 150000}) {
    for (int64_t nulls_every : {0, 3}) {
      Check<int32_t>(TypeId::kInt32, 0, apart, nulls_every);
      Check<int32_t>(TypeId::kDate, -70000, apart, nulls_every);
      Check<int64_t>(TypeId::kInt64, int64_t{1} << 50, apart, nulls_every);
      Check<int64_t>(TypeId::kTimestamp, std::numeric_limits<int64_t>::min() + 5, apart,
                     nulls_every);
    }
  }
}

TEST(RankIndexTest, KeysFarApartAreWorthItForManyRowsOrLookups) {
  const std::vector<int64_t> values = {7, 6000000};
  const Vector key{TypeId::kInt64, values.data(), nullptr};
  EXPECT_FALSE(RankIndex::RangeOf(key, 2, 0, nullptr).has_value());
  EXPECT_FALSE(RankIndex::RangeOf(key, 2, 1000, nullptr).has_value());
  const auto range = RankIndex::RangeOf(key, 2, 1e6, nullptr);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->bytes(), (5999993 / 64 + 1) * 12);
  const std::vector<int64_t> extremes = {std::numeric_limits<int64_t>::min(),
                                         std::numeric_limits<int64_t>::max()};
  EXPECT_FALSE(
      RankIndex::RangeOf({TypeId::kInt64, extremes.data(), nullptr}, 2, 1e30, nullptr).has_value());
}

TEST(RankIndexTest, OtherTypesAndNullsAloneHaveNoRange) {
  const std::vector<double> doubles = {1, 2};
  EXPECT_FALSE(
      RankIndex::RangeOf({TypeId::kFloat64, doubles.data(), nullptr}, 2, 0, nullptr).has_value());
  const std::vector<int64_t> values = {1, 2};
  const std::vector<uint8_t> valid = {0, 0};
  EXPECT_FALSE(
      RankIndex::RangeOf({TypeId::kInt64, values.data(), valid.data()}, 2, 0, nullptr).has_value());
}

}  // namespace
}  // namespace adjoin
