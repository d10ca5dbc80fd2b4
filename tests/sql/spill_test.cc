// Statements that have no room in memory: through files with the same rows, or a clear error.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "engine/status.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kTable =
    "CREATE TABLE t AS SELECT i AS k, (i * 7919) % 30011 AS g, random_normal(7, i) AS v, "
    "'name ' || i % 1000 AS s, CASE WHEN i % 17 <> 0 THEN i % 5000 END AS n "
    "FROM generate_series(1, 60000) AS r(i)";

class SpillTest : public ConnectionTest {
 protected:
  SpillTest()
      : directory_(std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
                   ".tmp") {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
    Run(kTable);
    Run("SET adjoin.contraction = off");  // a contraction keeps its right side in memory
  }
  ~SpillTest() override {
    EXPECT_TRUE(std::filesystem::is_empty(directory_));
    std::filesystem::remove_all(directory_);
  }

  void UseDirectory() { Run("SET adjoin.temp_directory = '" + directory_.string() + "'"); }
  // Runs the query in memory, then with `budget` bytes and in files for all that can be; all give
  // the same rows, and nothing is left.
  void ExpectSameInFiles(const std::string& sql, int64_t budget) {
    Run("RESET memory_limit; RESET adjoin.temp_directory; RESET adjoin.spill; "
        "RESET adjoin.threads");
    const std::string expected = Rows(sql);
    UseDirectory();
    for (const int threads : {1, 2}) {
      Run("SET adjoin.threads = " + std::to_string(threads));
      Leave(budget);
      database_.ResetPeak();
      const auto result = connection_.Query(sql);
      ASSERT_TRUE(result.ok()) << FormatError(result.status(), sql) << sql;
      EXPECT_TRUE(TextOf(result->rows) == expected) << sql;
      EXPECT_GT(result->spilled_bytes, 0) << sql;
      EXPECT_LE(result->peak_bytes, budget) << sql;
      Run("RESET memory_limit; SET adjoin.spill = force");
      EXPECT_TRUE(Rows(sql) == expected) << sql;
      Run("RESET adjoin.spill");
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory_));
  }

  // Leaves `bytes` beside what the tables take.
  void Leave(int64_t bytes) {
    Run("SET memory_limit = " + std::to_string(database_.memory_used() + bytes));
  }

  const std::filesystem::path directory_;
};

TEST_F(SpillTest, RowsAndBitsAreThoseOfMemory) {
  constexpr int64_t kBudget = 640 << 10;  // less than any of these takes
  const char* const kQueries[] = {
      "SELECT k, COUNT(*) AS c, SUM(v) AS x, MIN(s) AS m, AVG(n) AS a FROM t GROUP BY k",
      "SELECT g, s, SUM(v) AS x, STDDEV(v) AS d, COUNT(DISTINCT n) AS c, MAX(n) AS m FROM t "
      "GROUP BY g, s",
      "SELECT g, PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY v) AS p, PERCENTILE_CONT(0.5) WITHIN "
      "GROUP (ORDER BY n DESC) AS q FROM t GROUP BY g",
      "SELECT v, n, COUNT(*) FILTER (WHERE n > 100) AS c FROM t GROUP BY v, n",
      "SELECT SUM(a.v * b.v) AS x, COUNT(*) AS c FROM t AS a JOIN t AS b ON a.k = b.g",
      "SELECT a.k, b.k, a.v + b.v AS x, b.s FROM t AS a LEFT JOIN t AS b ON a.k = b.g AND a.v > "
      "b.v",
      "SELECT a.k, b.k AS c, b.s FROM t AS a FULL JOIN t AS b ON a.k = b.g + 50000",
      "SELECT a.k, b.s, b.v FROM t AS a JOIN t AS b ON a.k = b.k",
      "SELECT k, s FROM t WHERE k IN (SELECT g + v::BIGINT FROM t)",
      "SELECT k, v FROM t AS a WHERE NOT EXISTS (SELECT 1 FROM t AS b WHERE a.k = b.g)",
      "SELECT k FROM t WHERE k NOT IN (SELECT g FROM t)",
      "SELECT k FROM t WHERE k NOT IN (SELECT n FROM t)",
      "SELECT a.g, SUM(b.v) AS x FROM t AS a JOIN t AS b ON a.k = b.g JOIN t AS c ON c.k = b.k "
      "GROUP BY a.g",
      "SELECT k, v, s FROM t ORDER BY s DESC, v",
      "SELECT * FROM t ORDER BY n NULLS FIRST, g DESC",
      "SELECT k, SUM(v) OVER (PARTITION BY n ORDER BY k) AS x, RANK() OVER (PARTITION BY n ORDER "
      "BY "
      "v DESC) AS r, LAG(s) OVER (PARTITION BY g ORDER BY k) AS l FROM t",
      "SELECT k, AVG(v) OVER (PARTITION BY g) AS a FROM t",
      "SELECT DISTINCT g, n, s FROM t",
      "SELECT k, v FROM t UNION SELECT g, v FROM t",
      "SELECT k FROM t INTERSECT SELECT g FROM t",
      "WITH c AS (SELECT g, SUM(v) AS x FROM t GROUP BY g) SELECT a.g, b.x FROM c AS a JOIN c AS b "
      "ON a.g = b.g + 1 ORDER BY a.x",
      "SELECT k, v, s FROM t ORDER BY v LIMIT 10 OFFSET 20000",
      "SELECT k, v FROM t ORDER BY repeat(s, 20), k DESC",
      "SELECT COUNT(DISTINCT v) AS c, SUM(DISTINCT v) AS s, SUM(v) AS x, MIN(s) AS m, "
      "COUNT(DISTINCT g) FILTER (WHERE v > 0) AS f, AVG(DISTINCT n) AS a FROM t",
      "SELECT PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY v) AS p, AVG(v) AS a, "
      "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n DESC) AS q, "
      "PERCENTILE_CONT(1) WITHIN GROUP (ORDER BY g) FILTER (WHERE v > 100) AS z FROM t",
  };
  for (const char* sql : kQueries) {
    for (const int threads : {1, 2}) {
      Run("RESET memory_limit; RESET adjoin.temp_directory; SET adjoin.threads = " +
          std::to_string(threads));
      const std::string expected = Rows(sql);
      UseDirectory();
      Leave(kBudget);
      database_.ResetPeak();
      const auto result = connection_.Query(sql);
      ASSERT_TRUE(result.ok()) << FormatError(result.status(), sql) << sql;
      EXPECT_TRUE(TextOf(result->rows) == expected) << sql;
      EXPECT_GT(result->spilled_bytes, 0) << sql;
      EXPECT_GT(result->peak_bytes, 0) << sql;
      EXPECT_LE(result->peak_bytes, kBudget) << sql;
    }
  }
}

// 42000 rows are of one partition, which has no room; what is kept of each has.
TEST_F(SpillTest, FirstRowsOfAPartitionThatHasNoRoom) {
  const char* const kOrders[] = {"v DESC, k", "n DESC, k", "n NULLS FIRST, v",
                                 "s, v DESC", "v * 2, n",  "(k % 100)::NUMERIC(6, 2), s DESC, v"};
  for (const char* partitions : {"k % 10 / 7", "CASE WHEN k % 10 < 7 THEN 0 ELSE k / 2 END"}) {
    for (const char* order : kOrders) {
      const std::string sql = std::string("SELECT k, r FROM (SELECT k, ROW_NUMBER() OVER ") +
                              "(PARTITION BY " + partitions + " ORDER BY " + order +
                              ") AS r FROM t) AS w WHERE r <= 2";
      Run("RESET memory_limit; RESET adjoin.temp_directory; RESET adjoin.spill");
      const std::string expected = Rows(sql);
      Leave(int64_t{1} << 20);
      const bool few = partitions[0] == 'k';
      if (!few) UseDirectory();  // what goes out has no room
      EXPECT_TRUE(Rows(sql) == expected) << sql;
      UseDirectory();
      Run("SET adjoin.spill = force");
      EXPECT_TRUE(Rows(sql) == expected) << sql;
    }
  }
}

// Sums of groups that are few in their parts do not depend on how rows were cut.
TEST_F(SpillTest, FloatSumsInFilesAreTheSameHoweverRowsAreCut) {
  const std::string sql =
      "SELECT g % 100 AS h, SUM(v / 3) AS x, AVG(SQRT(ABS(v))) AS y FROM t GROUP BY g % 100";
  const std::string expected = Rows(sql);
  UseDirectory();
  Run("SET adjoin.spill = force");
  for (const int threads : {1, 2}) {
    Run("SET adjoin.threads = " + std::to_string(threads));
    for (const int64_t bytes : {int64_t{1} << 20, int64_t{300} << 10}) {
      Leave(bytes);
      EXPECT_TRUE(Rows(sql) == expected) << threads << " " << bytes;
      Run("RESET memory_limit");
    }
  }
}

// 54000 rows are of one group, beside 6000 groups or 60.
TEST_F(SpillTest, AGroupThatHasNoRoomIsAggregatedInFiles) {
  constexpr int64_t kBudget = 640 << 10;
  const char* const kAggregates[] = {
      "COUNT(DISTINCT k) AS c, SUM(DISTINCT v) AS x, SUM(v) AS y, COUNT(*) AS n",
      "AVG(DISTINCT v) FILTER (WHERE n > 10) AS x, COUNT(DISTINCT s) AS c, MIN(s) AS m, "
      "STDDEV(DISTINCT g) AS d",
      "PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY v) AS p, PERCENTILE_CONT(0.5) WITHIN GROUP "
      "(ORDER BY n DESC) FILTER (WHERE k > 100) AS q, SUM(v) AS x",
      "MODE() WITHIN GROUP (ORDER BY n) AS m, PERCENTILE_DISC(0.4) WITHIN GROUP (ORDER BY v) AS p, "
      "COUNT(DISTINCT v) AS c",
      "SUM(DISTINCT k::NUMERIC(12, 2)) AS d, COUNT(DISTINCT v) FILTER (WHERE k % 10 = 9) AS c",
      "STRING_AGG(s || v, ';' ORDER BY v) AS t, COUNT(*) AS c",
  };
  const char* const kKeys[] = {
      "CASE WHEN k % 10 < 9 THEN 0 ELSE k END",
      "CASE WHEN k % 10 < 9 THEN NULL ELSE s END",
      "CASE WHEN k % 10 < 9 THEN 0 ELSE k % 1000 END, CASE WHEN k % 10 < 9 THEN 'hot' ELSE s END",
  };
  for (const char* keys : kKeys) {
    for (const char* aggregates : kAggregates) {
      ExpectSameInFiles(std::string("SELECT ") + aggregates + " FROM t GROUP BY " + keys, kBudget);
    }
  }
  // Without a directory the error says what to set.
  Run("RESET adjoin.temp_directory");
  Leave(kBudget);
  const auto result =
      connection_.Query("SELECT COUNT(DISTINCT k) FROM t GROUP BY k % 60001 / 9000");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(FormatError(result.status()), HasSubstr("set adjoin.temp_directory"));
}

// The right side has 60000 rows, and what the old index of them took was 240 KB and more.
TEST_F(SpillTest, JoinsWithoutKeysReadTheirRightSideWhereItIs) {
  const std::string right =
      "(SELECT g + k % 3 AS h, v * 2 AS w, s || '.' AS z, n FROM t WHERE v < 9 GROUP BY 1, 2, 3, "
      "4)";
  const std::string left = "(SELECT * FROM t WHERE k % 1200 = 7)";
  const std::string joins[] = {
      "SELECT a.k, SUM(b.w / a.k) AS x, COUNT(b.n) AS c, MAX(b.z) AS z FROM " + left +
          " AS a CROSS JOIN " + right + " AS b GROUP BY a.k",
      "SELECT a.k, b.h, b.w, b.z FROM " + left + " AS a JOIN " + right +
          " AS b ON b.h < a.g / 50 AND b.w > a.v",
      "SELECT a.k, b.h, b.z FROM " + left + " AS a LEFT JOIN " + right +
          " AS b ON b.h < a.g - 29000 AND b.n < 100",
      "SELECT a.k, a.s FROM " + left + " AS a WHERE EXISTS (SELECT 1 FROM " + right +
          " AS b WHERE b.h < a.g - 25000 AND b.n < a.k / 7000)",
      "SELECT a.k, a.s FROM " + left + " AS a WHERE NOT EXISTS (SELECT 1 FROM " + right +
          " AS b WHERE b.h < a.g - 25000 AND b.n < a.k / 7000)",
      "SELECT a.k FROM " + left + " AS a WHERE EXISTS (SELECT 1 FROM " + right + " AS b)",
      "SELECT a.k, (SELECT MIN(b.w) FROM " + right + " AS b WHERE b.h < a.g) AS m FROM " + left +
          " AS a",
  };
  for (const std::string& sql : joins) ExpectSameInFiles(sql, 200 << 10);
  // A table is read in place, whatever is left.
  Run("RESET adjoin.temp_directory; SET adjoin.threads = 1");
  const std::string sql = "SELECT COUNT(*) FROM t AS a, t AS b WHERE a.k < 20 AND a.v > b.v";
  const std::string expected = Rows(sql);
  Leave(100 << 10);
  EXPECT_EQ(Rows(sql), expected);
}

TEST_F(SpillTest, TextsOfStringAggGoToFiles) {
  const char* const kQueries[] = {
      "SELECT STRING_AGG(repeat(s, 20), ',') AS x, COUNT(*) AS c FROM t",
      "SELECT STRING_AGG(repeat(s, 20), NULL) FILTER (WHERE k < 0) AS x, STRING_AGG(repeat(s, 19), "
      "s) AS y FROM t",
      "SELECT k % 2 AS p, STRING_AGG(repeat(s, 20), s ORDER BY v) AS x FROM t GROUP BY k % 2",
      // A few texts are large, of groups that have few rows.
      "SELECT CASE WHEN k % 1000 = 0 THEN 0 ELSE k END AS p, STRING_AGG(repeat(s, 5000), '') "
      "FILTER (WHERE k % 1000 = 0) AS x FROM t GROUP BY 1",
      "SELECT STRING_AGG(s, ',') OVER (ORDER BY k) AS x FROM t WHERE k <= 1500",
      "SELECT k, STRING_AGG(s, s) FILTER (WHERE n < 4000) OVER (PARTITION BY k % 2 ORDER BY v, k "
      "ROWS BETWEEN 20 PRECEDING AND 1 PRECEDING) AS x, SUM(v) OVER (PARTITION BY k % 2 ORDER BY "
      "v, k) AS y FROM t",
      "SELECT k, LENGTH(x) AS l FROM (SELECT k, STRING_AGG(repeat(s, 200), ',') OVER () AS x FROM "
      "t "
      "WHERE k % 60 = 0) AS w",
  };
  for (const char* sql : kQueries) ExpectSameInFiles(sql, 640 << 10);
}

TEST_F(SpillTest, ADiskWithoutRoomForTextsOrValuesIsAnError) {
  UseDirectory();
  Leave(640 << 10);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 20, before.rlim_max};
  const char* const kQueries[] = {
      "SELECT STRING_AGG(s, ',') OVER (ORDER BY k) AS x FROM t WHERE k <= 1500",
      "SELECT STRING_AGG(repeat(s, 20), ',') AS x FROM t",
      "SELECT PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY v) AS p FROM (SELECT v FROM t UNION ALL "
      "SELECT v FROM t UNION ALL SELECT v FROM t) AS t GROUP BY v < 1e9",
  };
  for (const char* sql : kQueries) {
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string error = Error(sql);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_THAT(error, ::testing::ContainsRegex("File too large")) << sql;
    EXPECT_TRUE(std::filesystem::is_empty(directory_));
  }
  std::signal(SIGXFSZ, handler);
}

TEST_F(SpillTest, StringsThatAQueryMakesCount) {
  // Each makes more than 8 MB of strings and of anything else far less.
  const char* const kQueries[] = {
      "SELECT STRING_AGG(repeat(s, 100), ',') AS x FROM t",
      "SELECT MAX(repeat(s, 40)) AS x FROM t GROUP BY k",
      "SELECT DISTINCT repeat(k || ' ', 40) AS x FROM t WHERE k <= 30000",
      "SELECT STRING_AGG(s, ',') OVER (ORDER BY k) AS x FROM t WHERE k <= 2000",
      "SELECT a.k FROM t AS a JOIN t AS b ON repeat(a.k || ' ', 40) = repeat(b.k || ' ', 40)",
      "SELECT k, repeat(k || ' ', 40) AS x FROM t",
  };
  const int64_t tables = database_.memory_used();
  for (const char* sql : kQueries) {
    Run("RESET memory_limit");
    {
      const auto result = connection_.Query(sql);
      ASSERT_TRUE(result.ok()) << FormatError(result.status(), sql) << sql;
      EXPECT_GT(result->peak_bytes, int64_t{8} << 20) << sql;
    }
    EXPECT_EQ(database_.memory_used(), tables) << sql;
    Leave(int64_t{6} << 20);
    EXPECT_THAT(Error(sql), StartsWith("53200")) << sql;
  }
  Run("RESET memory_limit; CREATE TABLE u AS SELECT repeat(k || ' ', 40) AS x FROM t");
  EXPECT_GT(database_.memory_used() - tables, int64_t{8} << 20);
  Run("UPDATE u SET x = x || '.'");
  EXPECT_GT(database_.memory_used() - tables, int64_t{8} << 20);
  Run("DROP TABLE u");
  EXPECT_EQ(database_.memory_used(), tables);
}

TEST_F(SpillTest, StringsWithoutRoomGoToFiles) {
  // Each has more than 8 MB of distinct strings.
  const char* const kQueries[] = {
      "SELECT 'a long text, longer than others ' || repeat(k || ' ', 40) AS x, COUNT(*) AS c, "
      "SUM(v) AS s FROM t GROUP BY x",
      "SELECT DISTINCT repeat(k / 2 || ' ', 60) AS x FROM t",
      "SELECT n, MAX(repeat(k || ' ', 40)) AS x FROM t GROUP BY n, k",
      "SELECT a.k, a.x, b.v FROM (SELECT k, repeat(k || ' ', 40) AS x FROM t) AS a "
      "JOIN (SELECT v, repeat(g || ' ', 40) AS x FROM t) AS b ON a.x = b.x",
      "SELECT k, repeat(k || ' ', 40) AS x FROM t ORDER BY x DESC",
      "SELECT x, ROW_NUMBER() OVER (PARTITION BY x ORDER BY v) AS r FROM "
      "(SELECT v, repeat(k / 2 || ' ', 60) AS x FROM t) AS t",
      "SELECT repeat(k || ' ', 40) AS x FROM t UNION SELECT repeat(g || ' ', 40) FROM t",
      "WITH c AS (SELECT k % 100 AS k, repeat(k || ' ', 40) AS x FROM t) "
      "SELECT x, COUNT(DISTINCT k) AS c FROM (SELECT * FROM c UNION ALL SELECT * FROM c) AS c "
      "GROUP BY x",
  };
  constexpr int64_t kBudget = int64_t{3} << 20;
  for (const char* sql : kQueries) {
    Run("RESET memory_limit; RESET adjoin.temp_directory");
    const std::string expected = Rows(sql);
    Leave(kBudget);
    EXPECT_THAT(Error(sql), StartsWith("53200")) << sql;
    UseDirectory();
    for (const int threads : {1, 2}) {
      Run("SET adjoin.threads = " + std::to_string(threads));
      const auto result = connection_.Query(sql);
      ASSERT_TRUE(result.ok()) << FormatError(result.status(), sql) << sql;
      EXPECT_TRUE(TextOf(result->rows) == expected) << sql;
      EXPECT_GT(result->spilled_bytes, int64_t{8} << 20) << sql;
      EXPECT_LE(result->peak_bytes, kBudget) << sql;
    }
  }
  // A table's strings are in memory, once each.
  const std::string make = "CREATE TABLE u AS SELECT repeat(k / 2 || ' ', 60) AS x FROM t";
  EXPECT_THAT(Error(make), StartsWith("53200"));
  Leave(int64_t{64} << 20);
  Run("SET adjoin.spill = force; " + make +
      "; INSERT INTO u SELECT repeat(k / 2 || ' ', 60) FROM t");
  EXPECT_EQ(Rows("SELECT COUNT(*) AS n, COUNT(DISTINCT x) AS d FROM u"),
            Rows("SELECT 2 * COUNT(*) AS n, COUNT(DISTINCT k / 2) AS d FROM t"));
  // A result's too, once it is a table.
  const auto made = connection_.Query("SELECT repeat(k / 2 || ' ', 60) AS x FROM t");
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(connection_.ReplaceTable("u", made->rows).ok());
  Run("INSERT INTO u SELECT repeat(k / 2 || ' ', 60) FROM t");
  EXPECT_EQ(Rows("SELECT COUNT(*) AS n, COUNT(DISTINCT x) AS d FROM u"),
            Rows("SELECT 2 * COUNT(*) AS n, COUNT(DISTINCT k / 2) AS d FROM t"));
  Run("DROP TABLE u");
}

TEST_F(SpillTest, SparseProductsWithoutRoomAreJoins) {
  Run("CREATE TABLE m AS SELECT k % 499 AS r, k * 7 % 401 AS c, k % 8 / 4.0 AS x FROM t");
  const std::string sql =
      "SELECT a.r, b.c, SUM(a.x * b.x) AS s FROM m AS a JOIN m AS b ON a.c = b.r "
      "WHERE a.r < 100 GROUP BY a.r, b.c ORDER BY 1, 2";
  Run("SET adjoin.sparse = force");
  ASSERT_THAT(Rows("EXPLAIN " + sql), HasSubstr("SparseProduct["));
  const std::string expected = Rows(sql);
  auto prepared = connection_.Prepare(sql);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  Leave(int64_t{1} << 20);
  EXPECT_THAT(Error(sql), StartsWith("53200"));
  UseDirectory();
  for (int run = 0; run < 2; ++run) {
    const auto result = prepared->Run();
    ASSERT_TRUE(result.ok()) << FormatError(result.status(), sql);
    EXPECT_TRUE(TextOf(result->rows) == expected);
    EXPECT_GT(result->spilled_bytes, 0);
  }
  EXPECT_THAT(prepared->Explain(), Not(HasSubstr("sparse product")));
  Run("RESET memory_limit");
  ASSERT_TRUE(prepared->Run().ok());
  EXPECT_THAT(prepared->Explain(), HasSubstr("sparse product"));
}

TEST_F(SpillTest, WithoutADirectoryTheErrorSaysWhatToSet) {
  Leave(int64_t{1} << 20);
  const auto result = connection_.Query("SELECT k, SUM(v) FROM t GROUP BY k");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(SqlState(result.status()), "53200");
  EXPECT_EQ(result.status().message(), "out of memory");
  EXPECT_THAT(FormatError(result.status()), HasSubstr("DETAIL:  Failed on request of "));
  EXPECT_THAT(FormatError(result.status()),
              HasSubstr("HINT:  Raise memory_limit, or set adjoin.temp_directory to a directory"));
  UseDirectory();
  Run("SET adjoin.spill = off");
  EXPECT_THAT(Error("SELECT k, SUM(v) FROM t GROUP BY k"), StartsWith("53200"));
  Run("SET adjoin.spill = on");
  Run("SELECT k, SUM(v) FROM t GROUP BY k");
}

TEST_F(SpillTest, ADirectoryThatCannotBeUsedIsAnError) {
  Leave(int64_t{1} << 20);
  Run("SET adjoin.temp_directory = '/no/such/directory'");
  EXPECT_THAT(
      Error("SELECT k, SUM(v) FROM t GROUP BY k"),
      ::testing::MatchesRegex("58P01 could not create temporary file "
                              "\"/no/such/directory/adjoin.*\": No such file or directory"));
  const std::string file = directory_ / "file";
  std::ofstream(file) << "x";
  Run("SET adjoin.temp_directory = '" + file + "'");
  EXPECT_THAT(Error("SELECT * FROM t ORDER BY v"),
              ::testing::MatchesRegex("58030 could not create temporary file .*: Not a directory"));
  std::filesystem::remove(file);
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t"), "60000\n");
}

TEST_F(SpillTest, AFullDiskIsAnErrorAndChangesNothing) {
  UseDirectory();
  Run("CREATE TABLE u (k BIGINT, x DOUBLE PRECISION)");
  Leave(int64_t{1} << 20);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{64 << 10, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = Error("INSERT INTO u SELECT k, SUM(v) FROM t GROUP BY k");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, ::testing::MatchesRegex("53100 could not write to file .*: File too large"));
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM u"), "0\n");
}

TEST_F(SpillTest, AnErrorHalfWayLeavesTablesAndNoFiles) {
  UseDirectory();
  Run("CREATE TABLE u (k BIGINT, x DOUBLE PRECISION); INSERT INTO u VALUES (1, 2)");
  Leave(int64_t{1} << 20);
  EXPECT_EQ(Error("INSERT INTO u SELECT a.k, b.v FROM t AS a JOIN t AS b ON a.k = b.g "
                  "WHERE 1 / (a.k - 30000) < 2"),
            "22012 division by zero");
  EXPECT_EQ(Error("WITH d AS (SELECT k, SUM(v) AS x FROM t GROUP BY k) INSERT INTO u "
                  "SELECT 1 / (k - 59999), x FROM d ORDER BY x"),
            "22012 division by zero");
  EXPECT_EQ(Rows("SELECT * FROM u"), "1 | 2\n");
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(SpillTest, RowsOfOneKeyMustFit) {
  UseDirectory();
  Leave(int64_t{1} << 20);
  const auto result =
      connection_.Query("SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.k / 60001 = b.k / 60001");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(FormatError(result.status()), HasSubstr("out of memory"));
  EXPECT_THAT(FormatError(result.status()), HasSubstr("60000 rows of one key"));
  EXPECT_THAT(FormatError(result.status()), HasSubstr("HINT:  Raise memory_limit."));
}

TEST_F(SpillTest, TablesStayInMemory) {
  UseDirectory();
  Leave(int64_t{1} << 20);
  EXPECT_THAT(Error("CREATE TABLE u AS SELECT a.* FROM t AS a JOIN t AS b ON a.k = b.k"),
              StartsWith("53200"));
  EXPECT_THAT(Error("SELECT * FROM u"), StartsWith("42P01"));
  const int64_t before = database_.memory_used();
  Run("CREATE TABLE u AS SELECT k, SUM(v) AS x FROM t GROUP BY k HAVING SUM(v) > 1");
  EXPECT_GT(database_.memory_used(), before + 100000);
  Run("CREATE TABLE w (k BIGINT, x DOUBLE PRECISION)");
  const int64_t made = database_.memory_used();
  Run("INSERT INTO w SELECT k, SUM(v) AS x FROM t GROUP BY k HAVING SUM(v) > 2");
  EXPECT_GT(database_.memory_used(), made + 10000);
}

TEST_F(SpillTest, ExplainAnalyzeSaysWhatARunTook) {
  UseDirectory();
  EXPECT_THAT(Rows("EXPLAIN ANALYZE SELECT g, SUM(v) FROM t GROUP BY g"),
              ::testing::ContainsRegex("Memory: peak [1-9][0-9]* bytes, 0 in files\n"));
  Leave(int64_t{1} << 20);
  const std::string plan = Rows("EXPLAIN ANALYZE SELECT k, SUM(v) FROM t GROUP BY k");
  EXPECT_THAT(plan, ::testing::ContainsRegex(
                        "aggregate 1 by 1 keys  \\([0-9.]+ ms, peak [1-9][0-9]* bytes, "
                        "[1-9][0-9]* in files\\)  rows=60000\n"));
  EXPECT_THAT(plan, ::testing::ContainsRegex("Memory: peak [1-9][0-9]* bytes, [1-9][0-9]* in "
                                             "files\n"));
}

TEST_F(SpillTest, TheDatabaseNamesADirectoryForItsConnections) {
  const Database database = *Database::Open({.threads = 1, .temp_directory = "/tmp"});
  Connection connection = database.Connect();
  EXPECT_EQ(RowsOn(connection, "SHOW adjoin.temp_directory"), "/tmp\n");
  RunOn(connection, "SET adjoin.temp_directory = ''");
  EXPECT_EQ(RowsOn(connection, "SHOW adjoin.temp_directory"), "\n");
  RunOn(connection, "RESET adjoin.temp_directory");
  EXPECT_EQ(RowsOn(connection, "SHOW adjoin.temp_directory"), "/tmp\n");
}

}  // namespace
}  // namespace adjoin::api
