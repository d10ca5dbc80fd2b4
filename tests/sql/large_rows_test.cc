// Queries over more rows than the cases have: what only happens in later batches and blocks, or
// where a thread has a part of the rows.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

class LargeRowsTest : public ConnectionTest {
 protected:
  // 600,000 rows: i, a few groups, i spread over 0 to 999, a value with NULLs.
  LargeRowsTest() {
    Run("CREATE TABLE t (i BIGINT NOT NULL, few INTEGER, spread BIGINT, x DOUBLE PRECISION);"
        "INSERT INTO t SELECT i, i % 5, i * 7919::BIGINT % 1000,"
        " CASE WHEN i % 3 = 0 THEN NULL ELSE i % 128 END FROM generate_series(0, 599999) AS s(i)");
  }
};

// Conditions on other columns each, of which any may come first once the first batches are through.
TEST_F(LargeRowsTest, EveryOrderOfConditionsLeavesTheSameRows) {
  const std::string_view conditions[] = {"spread < 20", "few = 3", "x > 5", "i >= 1000"};
  // The same as values: no condition decides which rows another is asked about.
  std::string all = "TRUE";
  for (const std::string_view condition : conditions)
    absl::StrAppend(&all, " AND COALESCE(", absl::string_view(condition.data(), condition.size()),
                    ", FALSE)");
  const std::string kept = Rows(absl::StrCat("SELECT SUM(k), SUM(k * i) FROM (SELECT i, CASE WHEN ",
                                             all, " THEN 1 ELSE 0 END AS k FROM t) AS s"));
  EXPECT_EQ(kept, "1547 | 464691621\n");
  for (size_t first = 0; first < 4; ++first) {
    std::string where;
    for (size_t k = 0; k < 4; ++k) {
      const std::string_view condition = conditions[(first + k) % 4];
      absl::StrAppend(&where, k == 0 ? "" : " AND ",
                      absl::string_view(condition.data(), condition.size()));
    }
    for (const char* rows : {"3", "1000", "4096"}) {
      Run(absl::StrCat("SET adjoin.batch_rows = ", rows));
      EXPECT_EQ(Rows(absl::StrCat("SELECT COUNT(*), SUM(i) FROM t WHERE ", where)), kept) << where;
    }
  }
}

// Integer keys are found by rank, their texts by hash: unique and not, in order and not, NULLs on
// either side, and all kinds of joins.
TEST_F(LargeRowsTest, IntegerKeysJoinAsTheirTextsDo) {
  Run("CREATE TABLE l (k BIGINT, d DATE, v BIGINT); CREATE TABLE r (k BIGINT, d DATE, w BIGINT);"
      "INSERT INTO l SELECT CASE WHEN i % 50 = 0 THEN NULL ELSE i * 7919::BIGINT % 30011 - 900 END,"
      " DATE '2000-01-01' + CAST(i * 7919::BIGINT % 30011 AS INTEGER), i"
      " FROM generate_series(1, 20000) AS s(i)");
  for (const char* keys : {"i", "30011 - i", "i * 31::BIGINT % 20011", "i % 700",
                           "CASE WHEN i % 40 = 0 THEN NULL ELSE i * 31::BIGINT % 20011 END"}) {
    Run(absl::StrCat("DELETE FROM r; INSERT INTO r SELECT ", keys, ", DATE '2000-01-01' + CAST(",
                     keys, " AS INTEGER), i FROM generate_series(1, 9000) AS s(i)"));
    for (const char* key : {"k", "d"}) {
      const std::string by_rank = absl::StrCat("l.", key, " = r.", key);
      const std::string by_hash = absl::StrCat("l.", key, "::TEXT = r.", key, "::TEXT");
      for (const char* query :
           {"SELECT COUNT(*), SUM(v * w), SUM(v), SUM(w) FROM l JOIN r ON $",
            "SELECT COUNT(*), SUM(v * COALESCE(w, 3)), COUNT(w) FROM l LEFT JOIN r ON $",
            "SELECT COUNT(*), SUM(COALESCE(v, 5) * COALESCE(w, 3)), COUNT(w) FROM l FULL JOIN r ON "
            "$",
            "SELECT COUNT(*), SUM(v * w) FROM l JOIN r ON $ AND v % 3 = w % 3",
            "SELECT COUNT(*), SUM(v) FROM l WHERE EXISTS (SELECT 1 FROM r WHERE $)",
            "SELECT COUNT(*), SUM(v) FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE $)",
            "SELECT COUNT(*), SUM(v) FROM l WHERE EXISTS (SELECT 1 FROM r WHERE $ AND w % 2 = v % "
            "2)"}) {
        EXPECT_EQ(Rows(absl::StrReplaceAll(query, {{"$", by_rank}})),
                  Rows(absl::StrReplaceAll(query, {{"$", by_hash}})))
            << query << keys;
      }
    }
    EXPECT_EQ(Rows("SELECT COUNT(*), SUM(v) FROM l WHERE k NOT IN (SELECT k FROM r)"),
              Rows("SELECT COUNT(*), SUM(v) FROM l WHERE k::TEXT NOT IN (SELECT k::TEXT FROM r)"));
  }
}

// A condition that can fail is asked about rows that those before it left, and no others.
TEST_F(LargeRowsTest, AConditionThatFailsIsAskedInOrder) {
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t WHERE few <> 0 AND 10 / few > 3 AND spread < 500"),
            "120000\n");
  EXPECT_EQ(Error("SELECT COUNT(*) FROM t WHERE spread < 500 AND 10 / few > 3"),
            "22012 division by zero");
}

TEST_F(LargeRowsTest, AFewGroups) {
  EXPECT_EQ(Rows("SELECT few, COUNT(*), COUNT(x), SUM(x), AVG(x), SUM(spread),"
                 " SUM(i) FILTER (WHERE spread < 500) FROM t GROUP BY few HAVING few < 2"
                 " ORDER BY few"),
            "0 | 120000 | 80000 | 5079680 | 63.496 | 59700000 | 18000150000\n"
            "1 | 120000 | 80000 | 5079616 | 63.4952 | 60180000 | 17999910000\n");
}

// Blocks of few groups, and of many.
TEST_F(LargeRowsTest, DistinctValuesOfGroupsInSeveralBlocks) {
  for (const int threads : {1, 2}) {
    Run(absl::StrCat("SET adjoin.threads = ", threads));
    EXPECT_EQ(Rows("SELECT few, COUNT(DISTINCT spread), SUM(DISTINCT spread) FROM t GROUP BY few"
                   " HAVING few < 2 ORDER BY few"),
              "0 | 200 | 99500\n1 | 200 | 100300\n");
    EXPECT_EQ(Rows("SELECT COUNT(*), SUM(n), SUM(s), SUM(d) FROM (SELECT i % 400000 AS g,"
                   " COUNT(*) AS n, SUM(DISTINCT few) AS s, COUNT(DISTINCT spread) AS d FROM t"
                   " GROUP BY i % 400000) AS groups"),
              "400000 | 600000 | 800000 | 400000\n");
    // In the order in which they came first.
    EXPECT_EQ(Rows("SELECT few FROM (SELECT few, COUNT(*) FROM t GROUP BY few) AS g"),
              "0\n1\n2\n3\n4\n");
  }
}

// Ten blocks, whose sums depend on the order in which they are added, but not on who adds them.
TEST_F(LargeRowsTest, SumsHaveTheSameBitsAtEveryThreadCount) {
  const std::string_view sums =
      "SELECT few, SUM(1 / (i + 0.3)), AVG(sqrt(i)), COUNT(*) FROM t GROUP BY few ORDER BY few";
  Run("SET adjoin.threads = 1");
  const std::string expected = Rows(sums);
  EXPECT_NE(expected.find("0 | 5.7"), std::string::npos) << expected;
  Run("SET adjoin.threads = 2");
  for (int run = 0; run < 5; ++run) EXPECT_EQ(Rows(sums), expected);
}

// Few of many possible keys, some of which are not there, out of range or NULL.
TEST_F(LargeRowsTest, MostKeysOfAJoinAreAbsent) {
  Run("CREATE TABLE u (k BIGINT, y BIGINT);"
      "INSERT INTO u SELECT i * 1000, i FROM generate_series(0, 599) AS s(i);"
      "INSERT INTO u VALUES (NULL, -1), (-5, -2)");
  EXPECT_EQ(Rows("SELECT COUNT(*), SUM(u.y), MIN(t.i), MAX(t.i) FROM t JOIN u ON u.k = t.i"),
            "600 | 179700 | 0 | 599000\n");
  EXPECT_EQ(Rows("SELECT COUNT(*), COUNT(u.k) FROM t LEFT JOIN u ON u.k = t.i"), "600000 | 600\n");
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t WHERE i + 700000 IN (SELECT k FROM u)"), "0\n");
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.i)"),
            "599400\n");
  // Every row has a key of its own.
  Run("DELETE FROM u WHERE k IS NULL");
  EXPECT_EQ(Rows("SELECT COUNT(*), SUM(u.y), MIN(k), MAX(k) FROM (SELECT CASE WHEN i % 3 = 0 THEN"
                 " NULL ELSE i END AS j FROM t) AS s JOIN u ON u.k = s.j"),
            "400 | 120000 | 1000 | 599000\n");
  EXPECT_EQ(Rows("SELECT COUNT(*), SUM(u.y) FROM t JOIN u ON u.k = t.i - 7"), "601 | 179698\n");
  EXPECT_EQ(Rows("SELECT COUNT(*), SUM(u.y) FROM t LEFT JOIN u ON u.k = t.i - 7"),
            "600000 | 179698\n");
}

// The first rows of partitions, found in a part of the rows a thread: equal ones in row order.
TEST_F(LargeRowsTest, TheFirstRowsOfPartitions) {
  const std::string_view top =
      "SELECT COUNT(*), SUM(i), SUM(i * r) FROM (SELECT i, ROW_NUMBER() OVER"
      " (PARTITION BY spread ORDER BY few DESC) AS r FROM t) AS s WHERE r ";
  const auto query = [&](std::string_view condition) {
    return Rows(std::string(top) + std::string(condition));
  };
  // Not `<=` a constant: all rows are sorted.
  const std::string expected = query("* r <= 4");
  EXPECT_EQ(query("<= 2"), expected);
  auto other = Database::Open({.threads = 5});
  Connection many = other->Connect();
  RunOn(many, "CREATE TABLE t (i BIGINT NOT NULL, few INTEGER, spread BIGINT)");
  RunOn(many,
        "INSERT INTO t SELECT i, i % 5, i * 7919::BIGINT % 1000 FROM"
        " generate_series(0, 1999999) AS s(i)");
  const std::string all = RowsOn(many, std::string(top) + "* r <= 4");
  EXPECT_EQ(RowsOn(many, std::string(top) + "<= 2"), all);
}

}  // namespace
}  // namespace adjoin::api
