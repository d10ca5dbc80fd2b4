// Selection, picking and sums by group on every variant, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/kernel_testing.h"

namespace adjoin {
namespace {

// Bytes of which about `percent` are 1.
std::vector<uint8_t> Flags(int64_t n, int percent, std::mt19937_64& random) {
  std::vector<uint8_t> flags(static_cast<size_t>(n));
  for (uint8_t& flag : flags) flag = static_cast<int>(random() % 100) < percent ? 1 : 0;
  return flags;
}

TEST(SelectionTest, SelectGivesTheRowsThatHold) {
  std::mt19937_64 random(1);
  for (int64_t n : TestSizes()) {
    for (int percent : {0, 3, 50, 98, 100}) {
      const std::vector<uint8_t> holds = Flags(n, percent, random), valid = Flags(n, 80, random);
      for (const uint8_t* validity : {static_cast<const uint8_t*>(nullptr), valid.data()}) {
        std::vector<int32_t> expected;
        for (int64_t r = 0; r < n; ++r) {
          if (holds[r] != 0 && (validity == nullptr || validity[r] != 0))
            expected.push_back(static_cast<int32_t>(r));
        }
        for (const KernelTable* table : SupportedKernels()) {
          std::vector<int32_t> rows(static_cast<size_t>(n));
          rows.resize(static_cast<size_t>(table->select(holds.data(), validity, n, rows.data())));
          EXPECT_EQ(rows, expected) << table->isa << " " << n;
        }
      }
    }
  }
}

// Rows with gaps, runs and repetitions, up to the last value there is.
TEST(SelectionTest, TakePicksRowsThatNeverFall) {
  std::mt19937_64 random(2);
  for (int64_t n : TestSizes()) {
    for (int most_step : {0, 1, 2, 3, 30}) {
      std::vector<int32_t> rows(static_cast<size_t>(n));
      int32_t row = static_cast<int32_t>(random() % 3);
      for (int32_t& r : rows) {
        r = row;
        row += most_step == 1 ? 1 : static_cast<int32_t>(random() % (most_step + 1));
      }
      const size_t size = n == 0 ? 0 : static_cast<size_t>(rows.back()) + 1;
      std::vector<int32_t> narrow(size), narrow_out(rows.size()), narrow_expected;
      std::vector<int64_t> wide(size), wide_out(rows.size()), wide_expected;
      for (int32_t& x : narrow) x = static_cast<int32_t>(random());
      for (int64_t& x : wide) x = static_cast<int64_t>(random());
      for (int32_t r : rows) narrow_expected.push_back(narrow[r]), wide_expected.push_back(wide[r]);
      for (const KernelTable* table : SupportedKernels()) {
        table->take_4(narrow.data(), rows.data(), n, narrow_out.data());
        table->take_8(wide.data(), rows.data(), n, wide_out.data());
        EXPECT_EQ(narrow_out, narrow_expected) << table->isa << " " << n << " " << most_step;
        EXPECT_EQ(wide_out, wide_expected) << table->isa << " " << n << " " << most_step;
      }
    }
  }
}

template <typename T, typename Select>
void CheckMarked(Select KernelTable::*select, int64_t low, uint32_t last, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> marks(last / 64 + 1);
  for (uint64_t& word : marks) word = random() & random();
  for (int64_t n : TestSizes()) {
    std::vector<T> x(static_cast<size_t>(n));
    const T special[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 0,
                         static_cast<T>(low), static_cast<T>(low + last)};
    for (T& value : x) {
      const uint64_t draw = random();
      value = draw % 8 == 0
                  ? special[draw / 8 % 5]
                  : static_cast<T>(static_cast<uint64_t>(low) + draw / 8 % (last + 40ull) - 20);
    }
    std::vector<int32_t> expected_rows;
    std::vector<uint32_t> expected_at;
    std::vector<int64_t> expected_ranks;
    for (int64_t r = 0; r < n; ++r) {
      const __int128 bit = static_cast<__int128>(x[r]) - low;
      if (bit < 0 || bit > last || (marks[bit / 64] >> (bit % 64) & 1) == 0) continue;
      int64_t rank = 0;
      for (int64_t b = 0; b < bit; ++b) rank += static_cast<int64_t>(marks[b / 64] >> (b % 64) & 1);
      expected_rows.push_back(static_cast<int32_t>(r));
      expected_at.push_back(static_cast<uint32_t>(bit));
      expected_ranks.push_back(rank);
    }
    std::vector<uint32_t> before(marks.size());
    for (size_t w = 1; w < marks.size(); ++w)
      before[w] = before[w - 1] + static_cast<uint32_t>(__builtin_popcountll(marks[w - 1]));
    for (const KernelTable* table : SupportedKernels()) {
      std::vector<int32_t> rows(static_cast<size_t>(n));
      std::vector<uint32_t> at(static_cast<size_t>(n));
      const int64_t m =
          (table->*select)(x.data(), n, low, last, marks.data(), rows.data(), at.data());
      rows.resize(static_cast<size_t>(m)), at.resize(static_cast<size_t>(m));
      EXPECT_EQ(rows, expected_rows) << table->isa << " " << n << " " << low;
      EXPECT_EQ(at, expected_at) << table->isa << " " << n << " " << low;
      std::vector<int64_t> ranks(static_cast<size_t>(m));
      table->rank(marks.data(), before.data(), at.data(), m, ranks.data());
      EXPECT_EQ(ranks, expected_ranks) << table->isa << " " << n << " " << low;
    }
  }
}

TEST(SelectionTest, MarkedValuesAreFoundAndRanked) {
  for (uint32_t last : {0u, 62u, 63u, 64u, 700u}) {
    for (int64_t low :
         {int64_t{INT32_MIN}, int64_t{-300}, int64_t{0}, int64_t{17}, int64_t{INT32_MAX} - last}) {
      CheckMarked<int32_t>(&KernelTable::select_marked_4, low, last, 3);
      CheckMarked<int64_t>(&KernelTable::select_marked_8, low, last, 4);
    }
    for (int64_t low : {INT64_MIN, INT64_MAX - last, int64_t{1} << 40})
      CheckMarked<int64_t>(&KernelTable::select_marked_8, low, last, 5);
  }
}

TEST(SelectionTest, SumsByGroupAreThoseOfTheirLanes) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  for (int64_t n : TestSizes()) {
    for (int64_t groups = 1; groups <= kMostGroupLanes; ++groups) {
      std::vector<double> x(static_cast<size_t>(n));
      std::vector<int64_t> group(static_cast<size_t>(n));
      for (double& value : x) value = random() % 9 == 0 ? -0.0 : normal(random);
      if (n > 30) x[5] = INFINITY, x[7] = NAN;
      for (int64_t& g : group) g = static_cast<int64_t>(random() % static_cast<uint64_t>(groups));
      GroupLanes expected[kMostGroupLanes] = {};
      for (int64_t r = 0; r < n; ++r) {
        expected[group[r]].sum[r % kGroupLanes] += x[r];
        ++expected[group[r]].count[r % kGroupLanes];
      }
      for (const KernelTable* table : SupportedKernels()) {
        GroupLanes lanes[kMostGroupLanes] = {};
        table->sum_by_group(x.data(), group.data(), n, groups, lanes);
        for (int64_t g = 0; g < groups; ++g) {
          for (int l = 0; l < kGroupLanes; ++l) {
            EXPECT_TRUE(SameBits(lanes[g].sum[l], expected[g].sum[l])) << table->isa << " " << n;
            EXPECT_EQ(lanes[g].count[l], expected[g].count[l]) << table->isa << " " << n;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace adjoin
