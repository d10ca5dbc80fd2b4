// Products of many factors: their order in plans, its following the shapes, and random ones against
// plain joins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "adjoin/prepared.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

// The shapes of the program's products, in its order: "300x300*300x1 ".
std::string ProductsOf(const std::string& explain) {
  std::string out;
  for (size_t at = explain.find(": Contract "); at != std::string::npos;
       at = explain.find(": Contract ", at + 1)) {
    const std::string line = explain.substr(at, explain.find('\n', at) - at);
    const size_t shapes = line.find(" [", line.find("<-"));
    for (char c : line.substr(shapes, line.rfind(']') + 1 - shapes)) {
      if (c == ']') out += out.empty() || out.back() == ' ' ? "" : "*";
      if (c == 'x' || (c >= '0' && c <= '9')) out += c;
    }
    out.back() = ' ';
  }
  return out;
}

class ContractionPlanTest : public ConnectionTest {
 protected:
  // Dims named i0, i1, ..
  void MakeGrid(const std::string& name, const std::vector<int64_t>& extents) {
    std::vector<std::string> dims, columns, ranges;
    for (size_t d = 0; d < extents.size(); ++d) {
      dims.push_back(absl::StrCat("i", d));
      columns.push_back(absl::StrCat("i", d, " BIGINT, "));
      ranges.push_back(
          absl::StrCat("generate_series(0, ", extents[d] - 1, ") AS t", d, "(i", d, ")"));
    }
    const std::string all = absl::StrJoin(dims, ", ");
    Run(absl::StrCat("CREATE TABLE ", name, " (", absl::StrJoin(columns, ""),
                     "val DOUBLE PRECISION, PRIMARY KEY (", all, "))"));
    Fill(name, all, absl::StrJoin(ranges, " CROSS JOIN "));
  }
  void Fill(const std::string& name, const std::string& dims, const std::string& ranges) {
    std::string sum = "0";
    int weight = 3;
    for (char c : dims) {
      if (c >= '0' && c <= '9')
        absl::StrAppend(&sum, " + ", weight *= 2, " * i", std::string(1, c));
    }
    Run(absl::StrCat("INSERT INTO ", name, " SELECT ", dims, ", sin(", ++tables_, " + ", sum,
                     ") FROM ", ranges));
  }
  int tables_ = 0;
};

constexpr std::string_view kChain =
    "SELECT a.i0 AS i, SUM(a.val * b.val * c.val * v.val) AS y FROM a JOIN b ON b.i0 = a.i1 "
    "JOIN c ON c.i0 = b.i1 JOIN v ON v.i0 = c.i1 GROUP BY a.i0";

std::string GradientOf(std::string_view y, std::string_view columns, std::string_view table) {
  return absl::StrCat("WITH y AS (", std::string(y),
                      "), f AS (SELECT SUM(y * y) AS l FROM y) SELECT ", std::string(columns),
                      ", grad(f, val) AS d FROM ", std::string(table));
}

TEST_F(ContractionPlanTest, AChainToAVectorNeverMultipliesMatrices) {
  for (const std::string name : {"a", "b", "c"}) MakeGrid(name, {200, 200});
  MakeGrid("v", {200});
  const std::string down = "200x200*200x1 200x200*200x1 200x200*200x1 ";
  EXPECT_EQ(ProductsOf(Rows(absl::StrCat("EXPLAIN ", std::string(kChain)))), down);
  // 100 times fewer multiplications than A B C v from the left, and so the derivative's.
  const std::string up = "1x200*200x200 1x200*200x200 1x200*200x200 ";
  EXPECT_EQ(ProductsOf(Rows("EXPLAIN " + GradientOf(kChain, "i0", "v"))), down + up);
  EXPECT_EQ(ProductsOf(Rows("EXPLAIN " + GradientOf(kChain, "i0, i1", "c"))),
            down + "1x200*200x200 1x200*200x200 ");
}

TEST_F(ContractionPlanTest, BothNarrowEndsMeetInTheMiddle) {
  MakeGrid("a", {2, 50});
  MakeGrid("b", {50, 60});
  MakeGrid("c", {60, 3});
  MakeGrid("v", {3});
  const std::string chain =
      "SELECT a.i0 AS i, c.i1 AS j, SUM(a.val * b.val * c.val) AS y FROM a JOIN b ON b.i0 = a.i1 "
      "JOIN c ON c.i0 = b.i1 GROUP BY a.i0, c.i1";
  EXPECT_EQ(ProductsOf(Rows("EXPLAIN " + chain)), "2x50*50x60 2x60*60x3 ");
  EXPECT_EQ(ProductsOf(Rows("EXPLAIN " + GradientOf(chain, "i0, i1", "b"))),
            "2x50*50x60 2x60*60x3 2x3*3x60 60x2*2x50 ");
}

TEST_F(ContractionPlanTest, TheOrderFollowsTheTables) {
  MakeGrid("a", {40, 2});
  MakeGrid("b", {2, 40});
  MakeGrid("c", {40, 40});
  MakeGrid("v", {40});
  auto chain = connection_.Prepare(kChain);
  ASSERT_TRUE(chain.ok()) << chain.status();
  const auto first = TextOf(chain->Run()->rows);
  EXPECT_EQ(ProductsOf(chain->Explain()), "40x40*40x1 2x40*40x1 40x2*2x1 ");
  ASSERT_TRUE(chain->Run().ok());
  EXPECT_EQ(chain->stats().plans, 1);

  // The table changes its shape, or another stands in for it: a plan as if made then.
  Run("DELETE FROM a WHERE i0 >= 1");
  EXPECT_EQ(TextOf(chain->Run()->rows), Rows(kChain));
  EXPECT_EQ(chain->stats().plans, 2);
  EXPECT_EQ(ProductsOf(chain->Explain()),
            ProductsOf(Rows(absl::StrCat("EXPLAIN ", std::string(kChain)))));
  const auto stand_in = Table::Grid({"i0"}, {2}, *ColumnData::Copy<double>(std::vector{1.0, 2.0}));
  ASSERT_TRUE(chain->Bind("v", *stand_in).ok());
  const auto bound = chain->Run();
  ASSERT_TRUE(bound.ok()) << bound.status();
  chain->Reset();
  Run("DELETE FROM v WHERE i0 >= 2; UPDATE v SET val = i0 + 1");
  EXPECT_EQ(TextOf(bound->rows), Rows(kChain));
  // Tables that are no grids say nothing of their extents: as the text has it.
  Run("INSERT INTO a VALUES (7, 9, 1.0)");
  EXPECT_EQ(TextOf(chain->Run()->rows), Rows(kChain));
}

// SUM of a product over random joins of grids, as SQL, and its gradients.
struct RandomSum {
  std::string sql;
  std::vector<std::string> gradients;
};

RandomSum MakeSum(std::mt19937_64& random, const std::vector<std::vector<int64_t>>& tables) {
  const size_t factors = 3 + random() % 3;
  std::vector<std::string> from, product, keys, key_names;
  std::vector<std::string> columns[3];  // by extent: 2, 3, 4; those of earlier factors
  std::set<size_t> read;
  for (size_t f = 0; f < factors; ++f) {
    const size_t t = random() % tables.size();
    read.insert(t);
    std::vector<std::string> on;
    std::set<std::string> taken;
    for (size_t d = 0; d < tables[t].size(); ++d) {
      const std::string column = absl::StrCat("f", f, ".i", d);
      auto& equal = columns[tables[t][d] - 2];
      if (!equal.empty() && random() % 4 != 0) {
        const std::string& other = equal[random() % equal.size()];
        if (taken.insert(other).second) on.push_back(absl::StrCat(column, " = ", other));
      } else if (random() % 3 == 0) {
        keys.push_back(column);
      }
    }
    for (size_t d = 0; d < tables[t].size(); ++d)
      columns[tables[t][d] - 2].push_back(absl::StrCat("f", f, ".i", d));
    from.push_back(absl::StrCat(f == 0       ? ""
                                : on.empty() ? " CROSS JOIN "
                                             : " JOIN ",
                                "t", t, " f", f, on.empty() ? "" : " ON ",
                                absl::StrJoin(on, " AND ")));
    product.push_back(random() % 5 == 0 ? absl::StrCat("cos(f", f, ".val)")
                                        : absl::StrCat("f", f, ".val"));
  }
  RandomSum out;
  for (size_t k = 0; k < keys.size(); ++k)
    key_names.push_back(absl::StrCat(keys[k], " AS k", k, ", "));
  out.sql = absl::StrCat("SELECT ", absl::StrJoin(key_names, ""), "SUM(",
                         absl::StrJoin(product, " * "), ") AS y FROM ", absl::StrJoin(from, ""),
                         random() % 4 == 0 ? " WHERE f1.val > 0 AND f2.i0 <> 1" : "",
                         keys.empty() ? "" : " GROUP BY ", absl::StrJoin(keys, ", "));
  for (size_t t : read) {
    const std::string table = absl::StrCat("t", t);
    out.gradients.push_back(GradientOf(out.sql, tables[t].size() == 1 ? "i0" : "i0, i1", table));
  }
  return out;
}

// Rows as sorted numbers, -0 as 0 and NULL as 1e300.
std::vector<std::vector<double>> SortedRows(const Table& table) {
  std::vector<std::vector<double>> rows;
  for (int64_t r = 0; r < table.num_rows(); ++r) {
    rows.emplace_back();
    for (int c = 0; c < table.num_columns(); ++c)
      rows.back().push_back(table.is_null(r, c) ? 1e300 : std::stod(table.ToText(r, c)));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST_F(ContractionPlanTest, RandomProductsAreThoseOfPlainJoins) {
  const std::vector<std::vector<int64_t>> tables = {{2, 3}, {3, 4}, {4}, {2}, {4, 4}, {3, 2}};
  for (size_t t = 0; t < tables.size(); ++t) MakeGrid(absl::StrCat("t", t), tables[t]);
  Run("UPDATE t5 SET val = NULL WHERE i0 = 1");  // NULLs too
  Connection plain = database_.Connect();
  RunOn(plain, "SET adjoin.contraction = off");
  std::mt19937_64 random(11);
  int ordered = 0;
  for (int round = 0; round < 150; ++round) {
    RandomSum sum = MakeSum(random, tables);
    sum.gradients.push_back(sum.sql);
    for (const std::string& sql : sum.gradients) {
      const auto expected = plain.Query(sql);
      ASSERT_TRUE(expected.ok()) << expected.status() << "\n" << sql;
      for (const char* grid : {"on", "off"}) {
        Run(absl::StrCat("SET adjoin.grid = ", grid));
        const auto actual = connection_.Query(sql);
        ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << sql;
        const auto want = SortedRows(expected->rows), have = SortedRows(actual->rows);
        ASSERT_EQ(have.size(), want.size()) << sql;
        for (size_t r = 0; r < want.size(); ++r) {
          for (size_t c = 0; c < want[r].size(); ++c)
            ASSERT_NEAR(have[r][c], want[r][c], 1e-9 * (1 + std::fabs(want[r][c]))) << grid << "\n"
                                                                                    << sql;
        }
      }
    }
    const std::string plan = Rows("EXPLAIN " + sum.sql);
    ordered += plan.find("Join[", plan.find("recognised:")) == std::string::npos;
  }
  EXPECT_GT(ordered, 75);  // what the test is about
}

}  // namespace
}  // namespace adjoin::api
