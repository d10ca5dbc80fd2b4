#include "ops/sort_codes.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace adjoin {
namespace {

std::vector<int64_t> Sorted(const std::vector<Decimal>& values, const std::vector<uint8_t>& valid,
                            SortOrder order) {
  const auto rows = static_cast<int64_t>(values.size());
  const Vector key{TypeId::kDecimal, values.data(), valid.data()};
  const SortCodes codes({&key, 1}, {&order, 1}, rows);
  std::vector<int64_t> sorted(values.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  SortRows(codes, sorted);
  return sorted;
}

// One scale and 64 bits are codes as they are; other values are ranked.
TEST(SortCodesTest, DecimalsSortByTheirValues) {
  const std::vector<Decimal> of_one_scale = {Decimal::Of(250, 2), Decimal::Of(-1, 2), Decimal(),
                                             Decimal::Of(-300, 2), Decimal::Of(250, 2)};
  const std::vector<Decimal> of_several = {Decimal::Of(25, 1), Decimal::Of(-1, 2), Decimal(),
                                           Decimal::Of(-3, 0), Decimal::Of(2500, 3)};
  const __int128 large = __int128{1} << 100;
  const std::vector<Decimal> of_many_bits = {Decimal::Of(large, 2), Decimal::Of(-1, 2), Decimal(),
                                             Decimal::Of(-large, 2), Decimal::Of(large, 2)};
  const std::vector<uint8_t> valid = {1, 1, 0, 1, 1};
  for (const auto& values : {of_one_scale, of_several, of_many_bits}) {
    EXPECT_EQ(Sorted(values, valid, {}), (std::vector<int64_t>{3, 1, 0, 4, 2}));
    EXPECT_EQ(Sorted(values, valid, {.descending = true, .nulls_first = true}),
              (std::vector<int64_t>{2, 0, 4, 1, 3}));
  }
}

}  // namespace
}  // namespace adjoin
