// The C++ API and the execution of statements: what each does, and that a failure leaves no trace.
#include "adjoin/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ConnectionTest, TagsSayWhatHappened) {
  EXPECT_EQ(Tag("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION)"), "CREATE TABLE");
  EXPECT_EQ(Tag("INSERT INTO t VALUES (1, 0.5), (2, NULL), (3, 2)"), "INSERT 0 3");
  EXPECT_EQ(Tag("UPDATE t SET v = 1 WHERE k >= 2"), "UPDATE 2");
  EXPECT_EQ(Tag("DELETE FROM t WHERE k = 3"), "DELETE 1");
  EXPECT_EQ(Tag("SELECT * FROM t"), "SELECT 2");
  EXPECT_EQ(Tag("CREATE VIEW s AS SELECT k FROM t"), "CREATE VIEW");
  EXPECT_EQ(Tag("CREATE TABLE u AS SELECT * FROM s"), "SELECT 2");
  EXPECT_EQ(Tag("DROP VIEW s"), "DROP VIEW");
  EXPECT_EQ(Tag("TRUNCATE u"), "TRUNCATE TABLE");
  EXPECT_EQ(Tag("DROP TABLE t, u"), "DROP TABLE");
  EXPECT_EQ(Tag(""), "");
}

// Whatever comes later into the table is rounded as in the columns that it was made of.
TEST_F(ConnectionTest, CreateTableAsKeepsPrecisionAndScale) {
  Run("CREATE TABLE t (k INTEGER, p NUMERIC(8, 2), q NUMERIC(8, 2))");
  Run("CREATE TABLE u AS WITH s AS (SELECT * FROM t UNION ALL SELECT k, q, p FROM t) SELECT p, "
      "COALESCE(p, q) AS c, CAST(p AS NUMERIC(5, 1)) AS t, p * 2 AS m, MAX(p) AS x FROM s GROUP "
      "BY p, q");
  Run("INSERT INTO u VALUES (1.005, 1.005, 1.05, 1.005, 1.005)");
  EXPECT_EQ(Rows("SELECT * FROM u"), "1.01 | 1.01 | 1.1 | 1.005 | 1.005\n");
}

TEST_F(ConnectionTest, ResultsAreReadInPlace) {
  Run("CREATE TABLE t (b BOOLEAN, s SMALLINT, i INTEGER, l BIGINT, r REAL, d DOUBLE PRECISION, x "
      "TEXT)");
  Run("INSERT INTO t VALUES (TRUE, 1, 2, 3, 0.5, 0.25, 'a'), (NULL, NULL, NULL, NULL, NULL, NULL, "
      "NULL)");
  const auto result = connection_.Query("SELECT * FROM t");
  ASSERT_TRUE(result.ok()) << result.status();
  const Table& rows = result->rows;
  EXPECT_EQ(rows.num_rows(), 2);
  EXPECT_EQ((*rows.column_data<uint8_t>(0))[0], 1);
  EXPECT_EQ((*rows.column_data<int16_t>(1))[0], 1);
  EXPECT_EQ((*rows.column_data<int32_t>(2))[0], 2);
  EXPECT_EQ((*rows.column_data<int64_t>(3))[0], 3);
  EXPECT_EQ((*rows.column_data<float>(4))[0], 0.5f);
  EXPECT_EQ((*rows.column_data<double>(5))[0], 0.25);
  EXPECT_EQ(rows.text(0, 6), "a");
  EXPECT_EQ(rows.value(0, 3), Value(int64_t{3}));
  for (int c = 0; c < 7; ++c) {
    EXPECT_TRUE(rows.is_null(1, c));
    EXPECT_EQ(rows.null_count(c), 1);
    ASSERT_EQ(rows.validity(c).size(), 1u);
    EXPECT_EQ(rows.validity(c)[0] & 3, 1);
  }
  EXPECT_EQ(rows.schema().fields[5], (Field{"d", Type::kDouble, false}));
  EXPECT_FALSE(rows.column_data<double>(0).ok());
  EXPECT_EQ(rows.column_data<double>(7).status().message(), "column is outside [0, 7): 7");
}

TEST_F(ConnectionTest, KeysAndNotNullAreChecked) {
  Run("CREATE TABLE t (a INTEGER, b INTEGER NOT NULL, v REAL, PRIMARY KEY (a))");
  Run("INSERT INTO t VALUES (1, 1, 1)");
  EXPECT_EQ(Error("INSERT INTO t VALUES (2, 2, 2), (1, 5, 5)"),
            "23505 duplicate key value violates unique constraint \"t_pkey\"");
  EXPECT_EQ(Error("INSERT INTO t VALUES (NULL, 2, 2)"),
            "23502 null value in column \"a\" of relation \"t\" violates not-null constraint");
  EXPECT_EQ(Error("UPDATE t SET b = NULL"),
            "23502 null value in column \"b\" of relation \"t\" violates not-null constraint");
  Run("INSERT INTO t VALUES (2, 2, 2)");
  EXPECT_EQ(Error("UPDATE t SET a = 7"),
            "23505 duplicate key value violates unique constraint \"t_pkey\"");
  EXPECT_EQ(Rows("SELECT * FROM t ORDER BY a"), "1 | 1 | 1\n2 | 2 | 2\n");
  const auto status = connection_.Query("INSERT INTO t VALUES (1, 0, 0)").status();
  EXPECT_EQ(ErrorDetail(status), "Key (a)=(1) already exists.");
}

TEST_F(ConnectionTest, UpdatesAndDeletesSeeOneSnapshot) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER, s TEXT)");
  Run("INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL)");
  Run("UPDATE t SET v = (SELECT SUM(v) FROM t), s = 'z' WHERE k <> 2");
  EXPECT_EQ(Rows("SELECT * FROM t ORDER BY k"), "1 | 60 | z\n2 | 20 | y\n3 | 60 | z\n");
  Run("UPDATE t SET k = k + 1");
  EXPECT_EQ(Rows("SELECT k FROM t ORDER BY k"), "2\n3\n4\n");
  Run("DELETE FROM t WHERE v = 60 AND k < 4");
  EXPECT_EQ(Rows("SELECT * FROM t ORDER BY k"), "3 | 20 | y\n4 | 60 | z\n");
  Run("INSERT INTO t SELECT k + 10, v, s FROM t");
  EXPECT_EQ(Rows("SELECT * FROM t ORDER BY k"),
            "3 | 20 | y\n4 | 60 | z\n13 | 20 | y\n14 | 60 | z\n");
  Run("DELETE FROM t");
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t"), "0\n");
}

TEST_F(ConnectionTest, PartsOfAWithShareOneSnapshot) {
  Run("CREATE TABLE a (k INTEGER PRIMARY KEY, v INTEGER); CREATE TABLE b (k INTEGER PRIMARY KEY, v "
      "INTEGER);");
  Run("INSERT INTO a VALUES (1, 1), (2, 2); INSERT INTO b VALUES (1, 10), (2, 20)");
  EXPECT_EQ(
      Tag("WITH u AS (UPDATE a SET v = (SELECT SUM(v) FROM b)), d AS (DELETE FROM b WHERE k = 2) "
          "INSERT INTO b SELECT k + 5, v FROM a"),
      "INSERT 0 2");
  EXPECT_EQ(Rows("SELECT * FROM a ORDER BY k"), "1 | 30\n2 | 30\n");
  EXPECT_EQ(Rows("SELECT * FROM b ORDER BY k"), "1 | 10\n6 | 1\n7 | 2\n");
  // The second part fails: the first one's work goes too.
  EXPECT_EQ(Error("WITH u AS (UPDATE a SET v = 0) INSERT INTO b VALUES (1, 1)").substr(0, 5),
            "23505");
  EXPECT_EQ(Rows("SELECT * FROM a ORDER BY k"), "1 | 30\n2 | 30\n");
}

TEST_F(ConnectionTest, ScriptsStopAtTheFirstError) {
  const auto results = connection_.Execute("SELECT 1; SELECT 2");
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->size(), 2u);
  Run("CREATE TABLE t (v INTEGER)");
  const std::string script =
      "INSERT INTO t VALUES (1);\nINSERT INTO t VALUES (nope);\nINSERT INTO t VALUES (3)";
  const auto status = connection_.Execute(script).status();
  EXPECT_EQ(SqlState(status), "42703");
  EXPECT_EQ(ErrorPosition(status), static_cast<int>(script.find("nope")) + 1);
  EXPECT_EQ(FormatError(status, script),
            "ERROR:  column \"nope\" does not exist\n"
            "LINE 2: INSERT INTO t VALUES (nope);\n"
            "                              ^\n");
  EXPECT_EQ(Rows("SELECT * FROM t"), "1\n");
  // A syntax error anywhere: nothing runs.
  EXPECT_EQ(Error("INSERT INTO t VALUES (4); SELEC"), "42601 syntax error at or near \"SELEC\"");
  EXPECT_EQ(Rows("SELECT * FROM t"), "1\n");
}

TEST_F(ConnectionTest, TransactionsCommitOrVanish) {
  Run("CREATE TABLE t (v INTEGER)");
  EXPECT_EQ(Tag("BEGIN"), "BEGIN");
  EXPECT_EQ(connection_.transaction_status(), TransactionStatus::kActive);
  Run("INSERT INTO t VALUES (1)");
  Run("CREATE TABLE u (v INTEGER)");
  EXPECT_EQ(Rows("SELECT * FROM t"), "1\n");
  EXPECT_EQ(Tag("ROLLBACK"), "ROLLBACK");
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t"), "0\n");
  EXPECT_EQ(Error("SELECT * FROM u"), "42P01 relation \"u\" does not exist");
  Run("BEGIN; INSERT INTO t VALUES (2)");
  EXPECT_EQ(Tag("COMMIT"), "COMMIT");
  EXPECT_EQ(Rows("SELECT * FROM t"), "2\n");
}

TEST_F(ConnectionTest, AFailedTransactionRefusesEverything) {
  Run("CREATE TABLE t (v INTEGER); BEGIN; INSERT INTO t VALUES (1)");
  EXPECT_EQ(Error("SELECT 1 / 0").substr(0, 5), "22012");
  EXPECT_EQ(connection_.transaction_status(), TransactionStatus::kFailed);
  EXPECT_EQ(
      Error("SELECT 1"),
      "25P02 current transaction is aborted, commands ignored until end of transaction block");
  EXPECT_EQ(Error("CREATE TABLE u (v INTEGER)").substr(0, 5), "25P02");
  EXPECT_EQ(Tag("COMMIT"), "ROLLBACK");
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t"), "0\n");
  EXPECT_EQ(connection_.transaction_status(), TransactionStatus::kIdle);
  Run("BEGIN");
  EXPECT_EQ(Error("SELEC").substr(0, 5), "42601");
  EXPECT_EQ(connection_.transaction_status(), TransactionStatus::kFailed);
}

TEST_F(ConnectionTest, TransactionWarningsArePostgres) {
  EXPECT_THAT(connection_.Query("COMMIT")->notices,
              ElementsAre("WARNING:  there is no transaction in progress"));
  EXPECT_THAT(connection_.Query("BEGIN")->notices, IsEmpty());
  EXPECT_THAT(connection_.Query("BEGIN")->notices,
              ElementsAre("WARNING:  there is already a transaction in progress"));
  EXPECT_THAT(connection_.Query("ROLLBACK")->notices, IsEmpty());
}

TEST_F(ConnectionTest, ReadersKeepTheirSnapshotAndWritersTakeTurns) {
  Run("CREATE TABLE t (v INTEGER); INSERT INTO t VALUES (1)");
  Connection other = database_.Connect();
  RunOn(other, "BEGIN; UPDATE t SET v = 2");
  EXPECT_EQ(Rows("SELECT * FROM t"), "1\n");
  Run("SET lock_timeout = 50");
  EXPECT_EQ(Error("UPDATE t SET v = v + 10"), "55P03 canceling statement due to lock timeout");
  Run("RESET lock_timeout");
  std::thread writer([&] { Run("UPDATE t SET v = v + 10"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  RunOn(other, "COMMIT");
  writer.join();
  EXPECT_EQ(RowsOn(other, "SELECT * FROM t"), "12\n");
}

TEST_F(ConnectionTest, ConcurrentIncrementsAreNotLost) {
  constexpr int kThreads = 4;
  constexpr int kIncrements = 25;
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER); INSERT INTO t VALUES (0, 0), (1, 0)");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      Connection connection = database_.Connect();
      for (int i = 0; i < kIncrements; ++i) {
        RunOn(connection, "UPDATE t SET v = v + 1");
        const auto both = connection.Query("SELECT MAX(v) - MIN(v) FROM t");
        ASSERT_TRUE(both.ok());
        EXPECT_EQ(TextOf(both->rows), "0\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Rows("SELECT v FROM t"), "100\n100\n");
}

TEST_F(ConnectionTest, AConnectionThatGoesAwayRollsBack) {
  Run("CREATE TABLE t (v INTEGER)");
  {
    Connection other = database_.Connect();
    RunOn(other, "BEGIN; INSERT INTO t VALUES (1)");
  }
  Run("INSERT INTO t VALUES (2)");
  EXPECT_EQ(Rows("SELECT * FROM t"), "2\n");
}

TEST_F(ConnectionTest, ViewsAreProtectedAndRedefined) {
  Run("CREATE TABLE t (v INTEGER); INSERT INTO t VALUES (3)");
  Run("CREATE VIEW a (x) AS SELECT v FROM t; CREATE VIEW b AS SELECT x + 1 AS y FROM a");
  EXPECT_EQ(Rows("SELECT y FROM b"), "4\n");
  EXPECT_EQ(Error("DROP TABLE t").substr(0, 5), "2BP01");
  EXPECT_EQ(Error("DROP VIEW a").substr(0, 5), "2BP01");
  EXPECT_EQ(Error("DROP TABLE a").substr(0, 5), "42809");
  EXPECT_EQ(Error("CREATE VIEW a AS SELECT 1"), "42P07 relation \"a\" already exists");
  Run("CREATE OR REPLACE VIEW a (x) AS SELECT v * 100 FROM t");
  EXPECT_EQ(Rows("SELECT y FROM b"), "301\n");
  EXPECT_EQ(Error("CREATE OR REPLACE VIEW a AS SELECT y AS x FROM b"),
            "42P17 infinite recursion detected in rules for relation \"a\"");
  EXPECT_EQ(Rows("SELECT y FROM b"), "301\n");
  EXPECT_EQ(Error("CREATE VIEW c AS SELECT nope FROM t"), "42703 column \"nope\" does not exist");
  Run("DROP TABLE t CASCADE");
  EXPECT_EQ(Error("SELECT * FROM b"), "42P01 relation \"b\" does not exist");
}

TEST_F(ConnectionTest, IfExistsNotices) {
  EXPECT_THAT(connection_.Query("DROP TABLE IF EXISTS t")->notices,
              ElementsAre("NOTICE:  table \"t\" does not exist, skipping"));
  Run("CREATE TABLE t (v INTEGER)");
  EXPECT_THAT(connection_.Query("CREATE TABLE IF NOT EXISTS t (v INTEGER)")->notices,
              ElementsAre("NOTICE:  relation \"t\" already exists, skipping"));
  EXPECT_EQ(Error("CREATE TABLE t (v INTEGER)"), "42P07 relation \"t\" already exists");
  EXPECT_EQ(Error("DROP TABLE nope"), "42P01 table \"nope\" does not exist");
}

TEST_F(ConnectionTest, SettingsAreSetShownAndReset) {
  EXPECT_EQ(Tag("SET adjoin.grid = off"), "SET");
  EXPECT_EQ(Rows("SHOW adjoin.grid"), "off\n");
  EXPECT_EQ(Rows("SHOW work_mem"), "256MB\n");
  Run("SET work_mem = '64MB'; SET adjoin.threads TO 3; SET adjoin.float_promotion = weak; SET "
      "adjoin.batch_rows = 3");
  EXPECT_EQ(
      Rows("SHOW work_mem") + Rows("SHOW adjoin.threads") + Rows("SHOW adjoin.float_promotion"),
      "64MB\n3\nweak\n");
  Run("RESET adjoin.threads; SET work_mem TO DEFAULT");
  EXPECT_EQ(Rows("SHOW work_mem") + Rows("SHOW adjoin.threads"), "256MB\n2\n");
  Run("SET client_encoding = 'UTF8'; SET datestyle = ISO");
  EXPECT_EQ(Error("SET nope = 1"), "42704 unrecognized configuration parameter \"nope\"");
  EXPECT_EQ(Error("SHOW nope"), "42704 unrecognized configuration parameter \"nope\"");
  EXPECT_EQ(Error("SET adjoin.grid = maybe"),
            "22023 parameter \"adjoin.grid\" requires a Boolean value");
  EXPECT_EQ(Error("SET adjoin.threads = 0").substr(0, 5), "22023");
  EXPECT_EQ(Error("SET adjoin.threads = x").substr(0, 5), "22023");
  EXPECT_EQ(*connection_.Show("adjoin.batch_rows"), "3");
  EXPECT_TRUE(connection_.Set("adjoin.batch_rows", "7").ok());
  EXPECT_EQ(*connection_.Show("adjoin.batch_rows"), "7");
}

TEST_F(ConnectionTest, RollbackTakesSettingsBack) {
  Run("BEGIN; SET adjoin.grid = off; ROLLBACK");
  EXPECT_EQ(Rows("SHOW adjoin.grid"), "on\n");
  Run("BEGIN; SET LOCAL adjoin.grid = off; SET adjoin.inline = off");
  EXPECT_EQ(Rows("SHOW adjoin.grid"), "off\n");
  Run("COMMIT");
  EXPECT_EQ(Rows("SHOW adjoin.grid") + Rows("SHOW adjoin.inline"), "on\noff\n");
}

TEST_F(ConnectionTest, TheMemoryLimitHolds) {
  Run("SET memory_limit = '1MB'");
  EXPECT_EQ(Rows("SHOW memory_limit"), "1MB\n");
  EXPECT_EQ(
      Error("CREATE TABLE t AS SELECT i FROM generate_series(1, 1000000) AS s(i)").substr(0, 5),
      "53200");
  EXPECT_EQ(Error("SELECT * FROM t"), "42P01 relation \"t\" does not exist");
  const std::string endless = "WITH RECURSIVE r(v) AS (SELECT 1 UNION ALL SELECT v FROM r) ";
  EXPECT_EQ(Error(endless + "SELECT COUNT(*) FROM r").substr(0, 5), "53200");
  Run("SET memory_limit = 0; CREATE TABLE t AS SELECT i FROM generate_series(1, 1000) AS s(i)");
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t"), "1000\n");
}

TEST_F(ConnectionTest, OnlyPreparedStatementsKeepWorkingMemory) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION);"
      "INSERT INTO t SELECT i, i FROM generate_series(1, 10000) AS s(i)");
  const int64_t before = database_.memory_used();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Rows("SELECT SUM(v * v) FROM t"), i == 0 ? "333383335000\n" : "333483355000\n");
    Run("UPDATE t SET v = v + 1");
    EXPECT_EQ(database_.memory_used(), before);
  }
  // Two columns take turns: the table's, and one that the statement keeps for its next run.
  Run("PREPARE next AS UPDATE t SET v = v + 1; EXECUTE next; EXECUTE next");
  const int64_t prepared = database_.memory_used();
  Run("DEALLOCATE next");
  EXPECT_LE(database_.memory_used(), prepared - 80000);
}

// What the caller made is the caller's memory; dims are made a batch at a time, or for a caller who
// asks for all of them.
TEST_F(ConnectionTest, DimsOfAGridAreKeptWhereSomebodyAsksForThem) {
  const std::vector<float> values(3000, 1.0f);
  const auto grid = Table::Grid({"i", "j"}, {30, 100}, *ColumnData::Copy<float>(values));
  ASSERT_TRUE(grid.ok());
  ASSERT_TRUE(connection_.CreateTable("t", *grid).ok());
  Run("CREATE TABLE u (i BIGINT, j BIGINT, val REAL, PRIMARY KEY (i, j))");
  ASSERT_TRUE(connection_.ReplaceTable("u", *grid).ok());
  EXPECT_EQ(database_.memory_used(), 0);
  EXPECT_EQ(Rows("SELECT i, SUM(val) AS s FROM t GROUP BY i HAVING i = 3"), "3 | 100\n");
  EXPECT_EQ(database_.memory_used(), 0);
  EXPECT_EQ(Rows("SELECT COUNT(DISTINCT i) FROM t"), "30\n");
  EXPECT_EQ(database_.memory_used(), 0);
  const auto table = connection_.GetTable("t");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table->column_data<int64_t>(0))[2999], 29);
  EXPECT_GE(database_.memory_used(), 3000 * 8);
}

TEST_F(ConnectionTest, PrepareExecuteDeallocate) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION); INSERT INTO t VALUES (1, 0.5), "
      "(2, 1.5)");
  EXPECT_EQ(Tag("PREPARE get (INTEGER) AS SELECT v FROM t WHERE k = $1"), "PREPARE");
  EXPECT_EQ(Rows("EXECUTE get(2)"), "1.5\n");
  EXPECT_EQ(Rows("EXECUTE get(1 + 0)"), "0.5\n");
  Run("PREPARE put AS UPDATE t SET v = v + $2 WHERE k = $1");
  EXPECT_EQ(Tag("EXECUTE put(1, 0.25)"), "UPDATE 1");
  EXPECT_EQ(Rows("EXECUTE get(1)"), "0.75\n");
  EXPECT_EQ(Error("EXECUTE get"),
            "42601 wrong number of parameters for prepared statement \"get\"");
  EXPECT_EQ(Error("EXECUTE nope"), "26000 prepared statement \"nope\" does not exist");
  EXPECT_EQ(Error("PREPARE get AS SELECT 1"), "42P05 prepared statement \"get\" already exists");
  EXPECT_EQ(Error("PREPARE bad AS SELECT nope FROM t"), "42703 column \"nope\" does not exist");
  // A table made again is another table of the same name.
  Run("DROP TABLE t; CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION); INSERT INTO t "
      "VALUES (2, 9)");
  EXPECT_EQ(Rows("EXECUTE get(2)"), "9\n");
  EXPECT_EQ(Tag("DEALLOCATE get"), "DEALLOCATE");
  EXPECT_EQ(Error("EXECUTE get(1)").substr(0, 5), "26000");
  EXPECT_EQ(Tag("DEALLOCATE ALL"), "DEALLOCATE ALL");
}

TEST_F(ConnectionTest, RepeatedTextsSeeChangedTables) {
  Run("CREATE TABLE t (v INTEGER); INSERT INTO t VALUES (1)");
  EXPECT_EQ(Rows("SELECT SUM(v) FROM t"), "1\n");
  Run("INSERT INTO t VALUES (10)");
  EXPECT_EQ(Rows("SELECT SUM(v) FROM t"), "11\n");
  Run("DROP TABLE t; CREATE TABLE t (v DOUBLE PRECISION); INSERT INTO t VALUES (0.5)");
  EXPECT_EQ(Rows("SELECT SUM(v) FROM t"), "0.5\n");
  Run("DROP TABLE t; CREATE VIEW t AS SELECT 42 AS v");
  EXPECT_EQ(Rows("SELECT SUM(v) FROM t"), "42\n");
  Run("CREATE OR REPLACE VIEW t AS SELECT 43 AS v");
  EXPECT_EQ(Rows("SELECT SUM(v) FROM t"), "43\n");
  Run("DROP VIEW t");
  EXPECT_EQ(Error("SELECT SUM(v) FROM t"), "42P01 relation \"t\" does not exist");
}

TEST_F(ConnectionTest, CancelStopsAStatement) {
  connection_.SetProgressCallback([this](double) {
    connection_.Cancel();
    return true;
  });
  Run("CREATE TABLE t (v INTEGER)");
  EXPECT_EQ(Error("INSERT INTO t SELECT i FROM generate_series(1, 10) AS s(i)"),
            "57014 canceling statement due to user request");
  connection_.SetProgressCallback([](double) { return false; });
  EXPECT_EQ(Error("INSERT INTO t SELECT i FROM generate_series(1, 10) AS s(i)").substr(0, 5),
            "57014");
  connection_.SetProgressCallback(nullptr);
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t"), "0\n");
}

}  // namespace
}  // namespace adjoin::api
