// Pair lists against counting.
#include "plan/pair_list.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace adjoin {
namespace {

constexpr int64_t kLow = -3, kHigh = 6;

using Rows = std::vector<std::pair<int64_t, int64_t>>;

class PairListTest : public testing::Test {
 protected:
  std::shared_ptr<const PairList> Of(const Rows& rows, ColumnCache* cache = nullptr) {
    for (int side : {0, 1}) {
      auto buffer = Buffer::Allocate(static_cast<int64_t>(rows.size() * 8), budget_).value();
      for (size_t r = 0; r < rows.size(); ++r)
        buffer->mutable_as<int64_t>()[r] = side == 0 ? rows[r].first : rows[r].second;
      columns_[side] = std::make_shared<Column>(TypeId::kInt64, static_cast<int64_t>(rows.size()),
                                                std::move(buffer), nullptr);
    }
    return PairList::Of(columns_[0], columns_[1], kLow, kHigh, budget_, cache);
  }
  static void Check(const Rows& rows, const PairList& list) {
    std::map<std::pair<int64_t, int64_t>, int> counts;
    for (const auto& [a, b] : rows) ++counts[{a, b}], --counts[{b, a}];
    const bool symmetric =
        std::all_of(counts.begin(), counts.end(), [](const auto& c) { return c.second == 0; });
    ASSERT_EQ(list.is_symmetric(), symmetric);
    if (!symmetric) {
      const auto& [a, b] = rows[static_cast<size_t>(list.lone_row())];
      EXPECT_NE((counts[{a, b}]), 0);
      return;
    }
    const auto at = [&](PairList::Part part, int64_t pair) {
      return list.part(part)->values<int32_t>()[pair];
    };
    using Part = PairList::Part;
    std::vector<int> times(rows.size(), 0);
    int32_t last = -1;
    for (int64_t p = 0; p < list.length(); ++p) {
      const int32_t row = at(Part::kRow, p), mirror = at(Part::kMirror, p);
      const auto& [a, b] = rows[static_cast<size_t>(row)];
      EXPECT_EQ(rows[static_cast<size_t>(mirror)], (std::pair(b, a)));
      EXPECT_LE(row, mirror);
      EXPECT_LT(std::exchange(last, row), row);
      ++times[static_cast<size_t>(row)];
      if (row != mirror) ++times[static_cast<size_t>(mirror)];
      EXPECT_EQ(row == mirror, a == b);
      EXPECT_EQ(at(Part::kFirst, p), a - kLow);
      EXPECT_EQ(at(Part::kSecond, p), b - kLow);
      EXPECT_EQ(at(Part::kFirstApart, p), a == b ? kHigh - kLow : a - kLow);
      EXPECT_EQ(at(Part::kSecondApart, p), a == b ? kHigh - kLow : b - kLow);
    }
    EXPECT_EQ(times, std::vector<int>(rows.size(), 1));
    EXPECT_EQ(list.keeps_order(), Sides(rows, false) == Sides(rows, list, false) &&
                                      Sides(rows, true) == Sides(rows, list, true));
  }

  std::shared_ptr<MemoryBudget> budget_ = std::make_shared<MemoryBudget>();
  ColumnRef columns_[2];

 private:
  // By the value of one column, the other's values in the order in which they are met.
  using Met = std::map<int64_t, std::vector<int64_t>>;
  static Met Sides(const Rows& rows, bool second) {
    Met met;
    for (const auto& [a, b] : rows) met[second ? b : a].push_back(second ? a : b);
    return met;
  }
  static Met Sides(const Rows& rows, const PairList& list, bool second) {
    Rows in_turn;
    for (int64_t p = 0; p < list.length(); ++p) {
      const auto row = list.part(PairList::Part::kRow)->values<int32_t>()[p];
      const auto mirror = list.part(PairList::Part::kMirror)->values<int32_t>()[p];
      in_turn.push_back(rows[static_cast<size_t>(row)]);
      if (mirror != row) in_turn.push_back(rows[static_cast<size_t>(mirror)]);
    }
    return Sides(in_turn, second);
  }
};

TEST_F(PairListTest, RandomLists) {
  std::mt19937_64 random(7);
  const auto value = [&] { return kLow + static_cast<int64_t>(random() % (kHigh - kLow)); };
  int symmetric = 0, ordered = 0;
  for (int list = 0; list < 600; ++list) {
    Rows rows;
    for (uint64_t i = random() % 20; i > 0; --i) {
      const int64_t a = value(), b = value();
      rows.emplace_back(a, b);
      if (a != b && random() % 30 != 0) rows.emplace_back(b, a);
    }
    if (list % 3 == 0) std::sort(rows.begin(), rows.end());
    if (list % 3 == 1) std::shuffle(rows.begin(), rows.end(), random);
    const auto made = Of(rows);
    ASSERT_NE(made, nullptr);
    Check(rows, *made);
    symmetric += made->is_symmetric() ? 1 : 0;
    ordered += made->is_symmetric() && made->keeps_order() ? 1 : 0;
    if (list % 3 == 0 && made->is_symmetric()) {
      EXPECT_TRUE(made->keeps_order());
    }
  }
  EXPECT_GT(symmetric, 200);
  EXPECT_GT(symmetric, ordered);
}

TEST_F(PairListTest, IsKeptWhileTheColumnsStay) {
  ColumnCache cache(budget_);
  const auto made = Of({{0, 1}, {1, 0}}, &cache);
  EXPECT_EQ(PairList::Of(columns_[0], columns_[1], kLow, kHigh, budget_, &cache), made);
  EXPECT_NE(PairList::Of(columns_[0], columns_[1], kLow, kHigh + 1, budget_, &cache), made);
}

TEST_F(PairListTest, ValuesOutOfRange) { EXPECT_EQ(Of({{0, 1}, {1, kHigh}}), nullptr); }

}  // namespace
}  // namespace adjoin
