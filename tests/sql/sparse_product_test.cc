// Sparse products: when programs have them, what they keep between runs, and random ones against
// hash joins and group-bys.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "adjoin/prepared.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

class SparseProductTest : public ConnectionTest {
 protected:
  // A matrix with about `share` per cent of its cells, in no order; `name`(r, c, v), no grid. Its
  // sums of products are exact.
  void MakeMatrix(const std::string& name, int rows, int columns, int share) {
    Run(absl::StrCat("CREATE TABLE ", name, " AS SELECT i * 7 % ", rows, " AS r, j * 11 % ",
                     columns, " AS c, (i * 3 + j) % 23 / 8.0 - 1.0 AS v FROM generate_series(1, ",
                     rows, ") AS s(i) CROSS JOIN generate_series(1, ", columns,
                     ") AS t(j) WHERE (i * 31 + j * 17) % 100 < ", share));
  }
  // Lines in no order.
  std::multiset<std::string> Bag(const std::string& sql) {
    std::multiset<std::string> lines;
    for (auto line : absl::StrSplit(Rows(sql), '\n')) lines.emplace(line);
    return lines;
  }
  bool IsSparse(const std::string& sql) {
    return Rows("EXPLAIN " + sql).find("SparseProduct[") != std::string::npos;
  }
};

constexpr char kProduct[] =
    "SELECT a.r, b.c, SUM(a.v * b.v) AS s FROM a JOIN b ON a.c = b.r GROUP BY a.r, b.c";

TEST_F(SparseProductTest, ProductsOfBaseTablesByManyGroupsAreSparse) {
  MakeMatrix("a", 100, 80, 30);
  MakeMatrix("b", 80, 90, 20);
  MakeMatrix("few", 10, 80, 30);
  EXPECT_TRUE(IsSparse(kProduct));
  EXPECT_TRUE(
      IsSparse("SELECT a.r, SUM(a.v * b.v), SUM(b.v), COUNT(*) FROM a JOIN b ON a.c = b.r "
               "GROUP BY a.r"));
  EXPECT_TRUE(IsSparse("SELECT b.c, SUM(a.v * b.v) FROM a JOIN b ON a.c = b.r GROUP BY b.c"));
  const std::string of_few =
      "SELECT few.r, SUM(few.v * b.v) FROM few JOIN b ON few.c = b.r GROUP BY few.r";
  EXPECT_FALSE(IsSparse(of_few));
  // The keys of rows that are computed do not stay: that pays where many pairs share them, and
  // where the rows are stored anyway.
  const auto joined = [](const std::string& rows, const std::string& with) {
    return absl::StrCat("SELECT q.r, SUM(q.v * p.v) FROM (", rows, ") AS q JOIN ", with,
                        " AS p ON q.c = p.r GROUP BY q.r");
  };
  const std::string grouped = "SELECT r, c, MAX(v) AS v FROM a GROUP BY r, c";
  const std::string filtered = "SELECT * FROM a WHERE v > 0";
  Run("CREATE TABLE once AS SELECT r, MAX(v) AS v FROM b GROUP BY r");
  EXPECT_TRUE(IsSparse(joined(grouped, "b")));
  EXPECT_FALSE(IsSparse(joined(grouped, "once")));
  EXPECT_FALSE(IsSparse(joined(filtered, "b")));
  Run("SET adjoin.sparse = force");
  EXPECT_TRUE(IsSparse(of_few));
  EXPECT_TRUE(IsSparse(joined(filtered, "once")));
  Run("SET adjoin.sparse = off");
  EXPECT_FALSE(IsSparse(kProduct));
}

TEST_F(SparseProductTest, WhatIsNoPlainSumOfProductsIsLeftAlone) {
  MakeMatrix("a", 100, 80, 30);
  MakeMatrix("b", 80, 90, 20);
  Run("SET adjoin.sparse = force");
  const std::string from = " FROM a JOIN b ON a.c = b.r GROUP BY a.r";
  for (const char* sum :
       {"SUM(a.v + b.v)", "AVG(a.v * b.v)", "SUM(a.v * b.v) FILTER (WHERE b.v > 0)",
        "SUM(DISTINCT a.v)", "SUM(a.c * b.c)", "MAX(a.v)", "SUM(a.v * (1 / b.c))"}) {
    EXPECT_FALSE(IsSparse(absl::StrCat("SELECT a.r, ", std::string(sum), from))) << sum;
  }
  EXPECT_FALSE(IsSparse("SELECT SUM(a.v * b.v) FROM a JOIN b ON a.c = b.r"));
  EXPECT_FALSE(IsSparse("SELECT a.r, SUM(a.v * b.v) FROM a LEFT JOIN b ON a.c = b.r GROUP BY a.r"));
  EXPECT_FALSE(
      IsSparse("SELECT a.r, SUM(a.v * b.v) FROM a JOIN b ON a.c = b.r AND a.v < b.v GROUP BY a.r"));
}

TEST_F(SparseProductTest, StructureFollowsTheKeysAndSumsTheValues) {
  MakeMatrix("a", 100, 80, 30);
  MakeMatrix("b", 80, 90, 20);
  auto product = connection_.Prepare(kProduct);
  ASSERT_TRUE(product.ok()) << product.status();
  const auto hashed = [&] {
    Run("SET adjoin.sparse = off");
    const auto rows = Bag(kProduct);
    Run("SET adjoin.sparse = on");
    return rows;
  };
  const auto now = [&] {
    const auto result = product->Run();
    EXPECT_TRUE(result.ok()) << result.status();
    std::multiset<std::string> lines;
    for (auto line : absl::StrSplit(TextOf(result->rows), '\n')) lines.emplace(line);
    return lines;
  };
  EXPECT_EQ(now(), hashed());
  EXPECT_EQ(now(), hashed());
  for (const char* change :
       {"UPDATE b SET v = v * 2", "UPDATE a SET v = NULL WHERE r < 20", "UPDATE a SET r = 99 - r",
        "DELETE FROM b WHERE c % 3 = 1", "INSERT INTO a VALUES (7, 3, 0.5), (1000, 3, 0.25)",
        "UPDATE b SET c = NULL WHERE c > 70", "UPDATE a SET c = 5"}) {
    Run(change);
    EXPECT_EQ(now(), hashed()) << change;
  }
  EXPECT_NE(product->Explain().find("sparse product"), std::string::npos);
}

// What the cache holds is seen in the database's memory: results are freed at once.
TEST_F(SparseProductTest, StatementsShareStructuresWhileTheKeysStay) {
  MakeMatrix("a", 100, 80, 30);
  MakeMatrix("b", 80, 90, 20);
  const auto used = [&] { return database_.memory_used(); };
  const int64_t before = used();
  Rows(kProduct);
  const int64_t structure = used() - before;
  EXPECT_GT(structure, 4 * 100 * 80 * 30 / 100);
  for (const char* same : {kProduct,
                           "SELECT p.r, q.c, SUM(p.v * 2.0 * q.v) AS twice, COUNT(*) "
                           "FROM a p JOIN b q ON q.r = p.c GROUP BY p.r, q.c"}) {
    Rows(same);
    EXPECT_EQ(used(), before + structure) << same;
  }
  Connection other = database_.Connect();
  RowsOn(other, kProduct);
  EXPECT_EQ(used(), before + structure);
  Run("UPDATE b SET v = v + 1");  // not a key
  Rows(kProduct);
  EXPECT_EQ(used(), before + structure);
  Rows("SELECT a.r, SUM(a.v * b.v) FROM a JOIN b ON a.c = b.r GROUP BY a.r");
  EXPECT_GT(used(), before + structure);
  Run("UPDATE b SET r = r");
  EXPECT_EQ(used(), before);
  Rows(kProduct);
  EXPECT_EQ(used(), before + structure);
  Run("DROP TABLE b");
  EXPECT_LT(used(), before);
  Run("DROP TABLE a");
  EXPECT_EQ(used(), 0);
}

TEST_F(SparseProductTest, ParametersAndConstantsOfKeysTellStructuresApart) {
  MakeMatrix("a", 100, 80, 30);
  MakeMatrix("b", 80, 90, 20);
  const auto shifted = [](const std::string& by) {
    return "SELECT a.r, SUM(a.v * b.v) AS s FROM a JOIN b ON a.c = b.r + " + by + " GROUP BY a.r";
  };
  Run("PREPARE shifted(BIGINT) AS " + shifted("$1"));
  std::vector<std::multiset<std::string>> bags;
  for (const char* by : {"3", "4", "3"}) {
    bags.push_back(Bag(absl::StrCat("EXECUTE shifted(", by, ")")));
    EXPECT_EQ(Bag(shifted(by)), bags.back());
    Run("SET adjoin.sparse = off");
    EXPECT_EQ(Bag(shifted(by)), bags.back());
    Run("SET adjoin.sparse = on");
  }
  EXPECT_NE(bags[0], bags[1]);
  EXPECT_EQ(bags[0], bags[2]);
}

// Training steps write new values into a column's old memory.
TEST_F(SparseProductTest, KeysThatAreUpdatedInPlaceAreAnotherVersion) {
  MakeMatrix("a", 100, 80, 50);
  Run("CREATE TABLE g (i BIGINT PRIMARY KEY, k DOUBLE PRECISION, w DOUBLE PRECISION);"
      "INSERT INTO g SELECT i, i, i % 7 FROM generate_series(0, 79) AS s(i);"
      "CREATE TABLE d AS SELECT r, CAST(c AS DOUBLE PRECISION) AS k, v FROM a;"
      "PREPARE step AS UPDATE g SET k = 79 - k + i % 2");
  const std::string product =
      "SELECT d.r, SUM(d.v * g.w) AS s FROM d JOIN g ON d.k = g.k GROUP BY d.r";
  EXPECT_TRUE(IsSparse(product));
  for (int step = 0; step < 6; ++step) {
    const auto rows = Bag(product);
    Run("SET adjoin.sparse = off");
    EXPECT_EQ(Bag(product), rows) << step;
    Run("SET adjoin.sparse = on; EXECUTE step");
  }
}

TEST_F(SparseProductTest, TransactionsSeeTheirOwnKeys) {
  MakeMatrix("a", 100, 80, 30);
  MakeMatrix("b", 80, 90, 20);
  Connection other = database_.Connect();
  const std::string before = Rows(kProduct);
  Run("BEGIN; DELETE FROM b WHERE c < 50");
  const std::string inside = Rows(kProduct);
  EXPECT_NE(inside, before);
  EXPECT_EQ(RowsOn(other, kProduct), before);
  EXPECT_EQ(Rows(kProduct), inside);
  Run("ROLLBACK");
  EXPECT_EQ(Rows(kProduct), before);
}

TEST_F(SparseProductTest, ConnectionsRunSideBySide) {
  MakeMatrix("a", 100, 80, 30);
  MakeMatrix("b", 80, 90, 20);
  // Whatever the keys of b are, its values follow from them.
  const std::string wrong =
      "SELECT COUNT(*) FROM (SELECT a.r, SUM(b.r * 1.0) AS s, SUM(a.c * 1.0) AS t FROM a JOIN b ON "
      "a.c = b.r GROUP BY a.r) AS q WHERE s <> t";
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      Connection own = database_.Connect();
      for (int i = 0; i < 40; ++i) EXPECT_EQ(RowsOn(own, wrong), "0\n");
    });
  }
  for (int i = 0; i < 40; ++i) Run("UPDATE b SET r = 79 - r");
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SparseProductTest, StructuresGiveWayToWhatNeedsTheMemory) {
  MakeMatrix("a", 400, 200, 50);
  MakeMatrix("b", 200, 300, 50);
  const int64_t before = database_.memory_used();
  const std::string product = Rows(kProduct);
  const int64_t structure = database_.memory_used() - before;
  const std::string sorted = "SELECT SUM(n) FROM (SELECT r * c AS n FROM a ORDER BY v, r) AS q";
  const std::string expected = Rows(sorted);
  Run(absl::StrCat("SET memory_limit = ", before + structure + 100000));
  EXPECT_EQ(Rows(sorted), expected);
  EXPECT_LT(database_.memory_used(), before + structure);
  Run("RESET memory_limit");
  EXPECT_EQ(Rows(kProduct), product);
}

// Of values whose sums are exact in any order.
TEST_F(SparseProductTest, RandomProductsAreWhatHashTablesGive) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::vector<std::string> of) { return of[random() % of.size()]; };
  for (int round = 0; round < 60; ++round) {
    const auto size = [&] { return absl::StrCat(1 + random() % 12); };
    const std::string type = pick({"DOUBLE PRECISION", "REAL"});
    for (const std::string name : {"l", "m"}) {
      const std::string some = absl::StrCat(20 + random() % 60);
      Run(absl::StrCat("DROP TABLE IF EXISTS ", name, "; CREATE TABLE ", name,
                       " AS SELECT n * 7 % ", size(), " AS g, CASE WHEN n % 9 <> 4 THEN n * 5 % ",
                       size(), " END AS k, 'w' || CAST(n * 3 % ", size(),
                       " AS TEXT) AS word, CAST(CASE WHEN n % ", pick({"5", "1000"}),
                       " <> 3 THEN n * 11 % 29 / 8.0 - 1.5 END AS ", type, ") AS x, CAST(n % 7 AS ",
                       type, ") AS y FROM generate_series(0, ", some, ") AS s(n)"));
    }
    const std::string on = pick({"l.k = m.k", "l.k IS NOT DISTINCT FROM m.k", "l.word = m.word",
                                 "l.k = m.k AND l.word = m.word", "l.k = m.g + 1"});
    std::vector<std::string> keys = {pick({"l.g", "m.g", "l.word", "m.k"})};
    if (random() % 2 == 0) keys.push_back(pick({"l.k", "m.word", "m.g"}));
    std::vector<std::string> sums;
    for (size_t s = 0; s < 1 + random() % 3; ++s)
      sums.push_back(pick({"SUM(l.x * m.x)", "SUM(l.y * m.x)", "SUM(m.y)", "SUM(l.x)", "COUNT(*)",
                           "SUM(l.x * m.y * -1.0)"}));
    const std::string sql =
        absl::StrCat("SELECT ", absl::StrJoin(keys, ", "), ", ", absl::StrJoin(sums, ", "),
                     " FROM l JOIN m ON ", on, " GROUP BY ", absl::StrJoin(keys, ", "));
    Run("SET adjoin.sparse = off; SET adjoin.contraction = off");
    const auto expected = Bag(sql);
    Run("SET adjoin.sparse = force; SET adjoin.contraction = on");
    EXPECT_EQ(Bag(sql), expected) << sql;
  }
}

}  // namespace
}  // namespace adjoin::api
