#include "ops/window_order.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "gtest/gtest.h"

namespace adjoin {
namespace {

// Orders of every form (packed, one code of 64 bits, several, none) against a stable sort.
TEST(WindowOrderTest, MatchesAStableSort) {
  std::mt19937_64 random(5);
  for (const int64_t rows : {0, 1, 40, 3000}) {
    for (const int64_t partitions : {1, 7, 900}) {
      for (const char* form : {"narrow", "wide", "two", "none", "sorted"}) {
        const std::string name = form;
        PartitionIds ids;
        std::vector<int64_t> narrow, sorted;
        std::vector<double> wide;
        for (int64_t r = 0; r < rows; ++r) {
          ids.ids.push_back(r < partitions ? r : static_cast<int64_t>(random() % partitions));
          narrow.push_back(static_cast<int64_t>(random() % 100) - 50);
          wide.push_back(static_cast<double>(random()) * (random() % 2 == 0 ? 1 : -1));
          if (random() % 4 == 0) wide.back() = 1.0 + 1e-16 * static_cast<double>(random() % 9);
          sorted.push_back(r);
        }
        ids.count = std::min(rows, partitions);
        std::vector<Vector> keys;
        if (name == "narrow" || name == "two") keys.push_back({TypeId::kInt64, narrow.data()});
        if (name == "wide" || name == "two") keys.push_back({TypeId::kFloat64, wide.data()});
        if (name == "sorted") keys.push_back({TypeId::kInt64, sorted.data()});
        const SortOrder orders[] = {{/*descending=*/true, false}, {}};
        const SortCodes codes(keys, orders, rows);
        std::vector<int64_t> expected(static_cast<size_t>(rows));
        std::iota(expected.begin(), expected.end(), 0);
        const auto before = [&](int64_t a, int64_t b) {
          if (ids.ids[a] != ids.ids[b]) return ids.ids[a] < ids.ids[b];
          if (name == "sorted") return a > b;
          const bool first = name == "narrow" || name == "two";
          if (first && narrow[a] != narrow[b]) return narrow[a] > narrow[b];
          if (name == "two") return wide[a] < wide[b];
          return name == "wide" && wide[a] > wide[b];
        };
        std::stable_sort(expected.begin(), expected.end(), before);
        for (const int64_t rows_a_task : {1, 500, 100000}) {
          WindowOrder order(ids, codes, rows_a_task);
          std::vector<int64_t> got;
          for (int64_t task = 0; task < order.num_tasks(); ++task) {
            ASSERT_TRUE(order
                            .RunTask(task,
                                     [&](const OrderedRows& of) {
                                       for (size_t i = 1; i < of.keys.size(); ++i) {
                                         EXPECT_EQ(of.keys[i - 1] == of.keys[i],
                                                   codes.Equal(of.rows[i - 1], of.rows[i]));
                                       }
                                       got.insert(got.end(), of.rows.begin(), of.rows.end());
                                       return absl::OkStatus();
                                     })
                            .ok());
          }
          ASSERT_EQ(got, expected) << form << " " << rows << " " << partitions;
        }
      }
    }
  }
}

}  // namespace
}  // namespace adjoin
