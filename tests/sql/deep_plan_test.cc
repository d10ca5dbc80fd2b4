// Chains of 10,000 CTEs, and CTEs that are read twice 40 levels deep: no pass over a plan may
// recurse as deep as it is, nor take time or memory in more than proportion to it.
#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kLinks = 1000;  // instrumented frames are several times as large
#else
constexpr int kLinks = 10000;
#endif

// Ten rows t(i, v) with v = i, and u(i, w) with w = 0.5. Each link reads the one before it.
struct Chain {
  const char* name;
  const char* link;   // over PREVIOUS
  const char* total;  // over LAST
  double sum, derivative;
};

constexpr std::array<Chain, 9> kChains = {{
    {"Project", "SELECT i, v + 1 AS v FROM PREVIOUS", "SELECT SUM(v) FROM LAST", 45 + 10.0 * kLinks,
     1},
    {"ProjectBelowFilter", "SELECT i, v + 1 AS v FROM PREVIOUS",
     "SELECT SUM(v) FROM LAST WHERE v >= 0", 45 + 10.0 * kLinks, 1},
    {"Filter", "SELECT i, v FROM PREVIOUS WHERE v < 100 + LINK", "SELECT SUM(v) FROM LAST", 45, 1},
    {"Join", "SELECT a.i, a.v + u.w AS v FROM PREVIOUS AS a JOIN u ON a.i = u.i",
     "SELECT SUM(v) FROM LAST", 45 + 5.0 * kLinks, 1},
    {"GroupBy", "SELECT i, SUM(v) AS v FROM PREVIOUS GROUP BY i", "SELECT SUM(v) FROM LAST", 45, 1},
    {"Window", "SELECT i, 2 * v - AVG(v) OVER (PARTITION BY i) AS v FROM PREVIOUS",
     "SELECT SUM(v) FROM LAST", 45, 1},
    {"UnionAll", "SELECT i, v FROM PREVIOUS UNION ALL SELECT i, w FROM u WHERE i = 100",
     "SELECT SUM(v) FROM LAST", 45, 1},
    {"Subquery", "SELECT i, v + (SELECT MAX(w) FROM u) AS v FROM PREVIOUS",
     "SELECT SUM(v) FROM LAST", 45 + 5.0 * kLinks, 1},
    {"Product", "SELECT i, v + 1 AS v FROM PREVIOUS",
     "SELECT SUM(a.v * u.w) FROM LAST AS a JOIN u ON a.i = u.i", (45 + 10.0 * kLinks) / 2, 0.5},
}};

std::string ChainOf(const Chain& chain, int links) {
  std::string sql = "WITH c0 AS (SELECT i, v FROM t)";
  for (int k = 1; k <= links; ++k) {
    absl::StrAppend(&sql, ",\nc", k, " AS (",
                    absl::StrReplaceAll(chain.link, {{"PREVIOUS", absl::StrCat("c", k - 1)},
                                                     {"LINK", absl::StrCat(k)}}),
                    ")");
  }
  const std::string total = absl::StrReplaceAll(chain.total, {{"LAST", absl::StrCat("c", links)}});
  return absl::StrCat(sql, ",\nf(y) AS (", total, ")\n");
}

class DeepPlanTest : public ConnectionTest {
 protected:
  DeepPlanTest() {
    Run("CREATE TABLE t (i BIGINT PRIMARY KEY, v DOUBLE PRECISION);"
        "CREATE TABLE u (i BIGINT PRIMARY KEY, w DOUBLE PRECISION);"
        "INSERT INTO t SELECT i, i FROM generate_series(0, 9) AS s(i);"
        "INSERT INTO u SELECT i, 0.5 FROM generate_series(0, 9) AS s(i)");
  }
  void Expect(const std::string& ctes, double sum, double derivative) {
    for (const char* grid : {"on", "off"}) {
      SCOPED_TRACE(absl::StrCat("adjoin.grid = ", grid));
      Run(absl::StrCat("SET adjoin.grid = ", grid));
      EXPECT_EQ(Rows(ctes + "SELECT y FROM f"), absl::StrCat(sum, "\n"));
      EXPECT_EQ(Rows(ctes + "SELECT MIN(d), MAX(d) FROM (SELECT grad(f, v) AS d FROM t) AS g"),
                absl::StrCat(derivative, " | ", derivative, "\n"));
    }
  }
};

class DeepChainTest : public DeepPlanTest, public ::testing::WithParamInterface<Chain> {};

TEST_P(DeepChainTest, HasTheValueAndTheDerivative) {
  Expect(ChainOf(GetParam(), kLinks), GetParam().sum, GetParam().derivative);
}

INSTANTIATE_TEST_SUITE_P(All, DeepChainTest, ::testing::ValuesIn(kChains),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(DeepPlanTest, WhatIsReadTwiceIsPlannedOnce) {
  std::string sql = "WITH c0 AS (SELECT i, v FROM t)";
  for (int k = 1; k <= 40; ++k) {
    absl::StrAppend(&sql, ",\nc", k, " AS (SELECT a.i, (a.v + b.v) / 2 AS v FROM c", k - 1,
                    " AS a JOIN c", k - 1, " AS b ON a.i = b.i)");
  }
  sql += ",\nf(y) AS (SELECT SUM(v) FROM c40)\n";
  Expect(sql, 45, 1);
  const std::string plan = Rows("EXPLAIN " + sql + "SELECT y FROM f");
  EXPECT_LT(std::count(plan.begin(), plan.end(), '\n'), 500) << plan;
}

// Tilings look for what feeds a step through everything that it reads; without a memory of what
// was refused the 40 products below took hours. All numbers are dyadic, so that sums are exact.
TEST_F(DeepPlanTest, ProductsThatAreReadTwiceAreTiledInTime) {
  Run("CREATE TABLE token (i BIGINT PRIMARY KEY, v BIGINT NOT NULL);"
      "CREATE TABLE embedding (v BIGINT, c BIGINT, val DOUBLE PRECISION NOT NULL,"
      " PRIMARY KEY (v, c));"
      "CREATE TABLE x0 (r BIGINT, c BIGINT, val DOUBLE PRECISION NOT NULL, PRIMARY KEY (r, c));"
      "INSERT INTO token SELECT i, i * i % 5 FROM generate_series(0, 15) AS s(i);"
      "INSERT INTO embedding SELECT v, c, 0.0625 FROM generate_series(0, 4) AS a(v),"
      " generate_series(0, 3) AS b(c);"
      "INSERT INTO x0 SELECT r, c, 0.25 FROM generate_series(0, 3) AS a(r),"
      " generate_series(0, 3) AS b(c)");
  std::string sql =
      "WITH g AS (SELECT t.i, e.c, e.val FROM token AS t JOIN embedding AS e ON e.v = t.v),\n"
      "s AS (SELECT c, SUM(val) AS val FROM g GROUP BY c),\n"
      "x1 AS (SELECT x0.r, x0.c, x0.val * s.val AS val FROM x0 JOIN s ON s.c = x0.c)";
  for (int k = 2; k <= 40; ++k) {
    absl::StrAppend(&sql, ",\nx", k, " AS (SELECT a.r, b.c, SUM(a.val * b.val) AS val FROM x",
                    k - 1, " AS a JOIN x", k - 2, " AS b ON a.c = b.r GROUP BY a.r, b.c)");
  }
  sql +=
      ",\nf(y) AS (SELECT SUM(o) FROM (SELECT g.i, x40.r, SUM(g.val * x40.val) AS o"
      " FROM g JOIN x40 ON x40.c = g.c GROUP BY g.i, x40.r) AS last)\n";
  const std::string slopes = sql + "SELECT v, c, grad(f, val) FROM embedding ORDER BY v, c";
  Run("SET adjoin.tile = off");
  const std::string whole = Rows(slopes);
  EXPECT_EQ(Rows(sql + "SELECT y FROM f"), "4\n");
  Run("SET adjoin.tile = force");
  EXPECT_THAT(Rows("EXPLAIN " + sql + "SELECT y FROM f"), ::testing::HasSubstr("in tiles of"));
  EXPECT_EQ(Rows(sql + "SELECT y FROM f"), "4\n");
  EXPECT_EQ(Rows(slopes), whole);
}

}  // namespace
}  // namespace adjoin::api
