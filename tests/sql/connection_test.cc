// The C++ API and the execution of statements: what each does, and that a failure leaves no trace.
#include "adjoin/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include "adjoin/database.h"
#include "adjoin/error.h"

namespace adjoin::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "1 | a\n2 | NULL\n"
std::string TextOf(const Table& table) {
  std::string out;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    for (int c = 0; c < table.num_columns(); ++c) {
      if (c > 0) out += " | ";
      out += table.is_null(row, c) ? "NULL" : table.ToText(row, c);
    }
    out += "\n";
  }
  return out;
}

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest()
      : database_(*Database::Open({.threads = 2, .memory_limit = 0})),
        connection_(database_.Connect()) {}

  void Run(std::string_view sql) { RunOn(connection_, sql); }
  static void RunOn(Connection& connection, std::string_view sql) {
    const auto results = connection.Execute(sql);
    ASSERT_TRUE(results.ok()) << results.status() << "\nin " << sql;
  }
  std::string Rows(std::string_view sql) { return RowsOn(connection_, sql); }
  static std::string RowsOn(Connection& connection, std::string_view sql) {
    const auto result = connection.Query(sql);
    if (!result.ok()) return FormatError(result.status(), sql);
    return TextOf(result->rows);
  }
  std::string Tag(std::string_view sql) {
    const auto result = connection_.Query(sql);
    return result.ok() ? result->tag : FormatError(result.status(), sql);
  }
  // "42P01 relation "x" does not exist"
  std::string Error(std::string_view sql) { return ErrorOn(connection_, sql); }
  static std::string ErrorOn(Connection& connection, std::string_view sql) {
    const auto result = connection.Execute(sql);
    if (result.ok()) return "no error";
    return SqlState(result.status()) + " " + std::string(result.status().message());
  }

  Database database_;
  Connection connection_;
};

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
  Run("SET memory_limit = 0; CREATE TABLE t AS SELECT i FROM generate_series(1, 1000) AS s(i)");
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t"), "1000\n");
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

TEST_F(ConnectionTest, ExplainIsOneLineARow) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION); INSERT INTO t VALUES (1, 0.5)");
  const auto plan = connection_.Query("EXPLAIN SELECT SUM(v) FROM t");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->rows.column_name(0), "QUERY PLAN");
  EXPECT_GT(plan->rows.num_rows(), 1);
  EXPECT_THAT(TextOf(plan->rows), HasSubstr("Scan"));
  // ANALYZE runs the statement, EXPLAIN alone does not.
  Run("EXPLAIN UPDATE t SET v = 7");
  EXPECT_EQ(Rows("SELECT v FROM t"), "0.5\n");
  Run("EXPLAIN (ANALYZE) UPDATE t SET v = 7");
  EXPECT_EQ(Rows("SELECT v FROM t"), "7\n");
  Run("PREPARE q (INTEGER) AS SELECT v FROM t WHERE k = $1");
  EXPECT_THAT(Rows("EXPLAIN EXECUTE q(1)"), HasSubstr("Scan"));
  EXPECT_EQ(Error("EXPLAIN (FORMAT JSON) SELECT 1").substr(0, 5), "0A000");
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

TEST_F(ConnectionTest, PreparedRunsWithParametersAndCounts) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION); INSERT INTO t VALUES (1, 0.5), "
      "(2, 1.5)");
  auto prepared = connection_.Prepare("SELECT k, v * $1 AS y FROM t WHERE k < $2 ORDER BY k");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->num_parameters(), 2);
  ASSERT_EQ(prepared->result_fields().size(), 2u);
  EXPECT_EQ(prepared->result_fields()[1].name, "y");
  EXPECT_EQ(prepared->result_fields()[1].type, Type::kDouble);
  const auto two = prepared->Run({2.0, int64_t{5}});
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(TextOf(two->rows), "1 | 1\n2 | 3\n");
  EXPECT_EQ(TextOf(prepared->Run({int64_t{10}, int64_t{2}})->rows), "1 | 5\n");
  EXPECT_EQ(TextOf(prepared->Run({std::monostate(), int64_t{2}})->rows), "1 | NULL\n");
  EXPECT_EQ(SqlState(prepared->Run().status()), "08P01");
  EXPECT_EQ(SqlState(prepared->Run({2.0, int64_t{1} << 40}).status()), "22003");
  EXPECT_EQ(prepared->stats().plans, 1);
  EXPECT_FALSE(prepared->Explain().empty());
  EXPECT_EQ(SqlState(connection_.Prepare("SELECT 1; SELECT 2").status()), "0A000");
  EXPECT_EQ(SqlState(connection_.Prepare("CREATE TABLE u (v INTEGER)").status()), "0A000");
}

TEST_F(ConnectionTest, PreparedReadsBoundTables) {
  Run("CREATE TABLE t (i BIGINT PRIMARY KEY, val DOUBLE PRECISION); INSERT INTO t VALUES (0, 1), "
      "(1, 2)");
  auto sum = connection_.Prepare("SELECT SUM(val) FROM t");
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(TextOf(sum->Run()->rows), "3\n");
  const std::vector<double> values = {10, 20, 30};
  auto owner = std::make_shared<std::vector<double>>(values);
  owner->resize(16);  // readable past the end
  const auto grid =
      Table::Grid({"i"}, {3}, ColumnData::Borrow(std::span<const double>(owner->data(), 3), owner));
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ(grid->grid_extents(), std::vector<int64_t>{3});
  EXPECT_EQ(grid->column_data<double>(1)->data(), owner->data());
  ASSERT_TRUE(sum->Bind("t", *grid).ok());
  EXPECT_EQ(TextOf(sum->Run()->rows), "60\n");
  EXPECT_EQ(Rows("SELECT SUM(val) FROM t"), "3\n");
  sum->Reset();
  EXPECT_EQ(TextOf(sum->Run()->rows), "3\n");
  EXPECT_EQ(SqlState(sum->Bind("u", *grid)), "42P01");
  const auto other = Table::Grid({"j"}, {3}, *ColumnData::Copy<double>(values));
  EXPECT_EQ(SqlState(sum->Bind("t", *other)), "42804");
  auto update = connection_.Prepare("UPDATE t SET val = val + 1");
  EXPECT_EQ(SqlState(update->Bind("t", *grid)), "0A000");
  EXPECT_EQ(update->Run()->tag, "UPDATE 2");
  EXPECT_EQ(update->Run()->tag, "UPDATE 2");
  EXPECT_EQ(TextOf(sum->Run()->rows), "7\n");
}

TEST_F(ConnectionTest, TablesMadeByThePrograms) {
  const std::vector<int64_t> k = {2, 0, 1};
  const std::vector<double> v = {0.2, 0.0, 0.1};
  const std::vector<std::string_view> s = {"b", "", "a"};
  const std::vector<uint8_t> valid = {1, 0, 1};
  const auto table = Table::Make(
      {{{"k", Type::kBigInt, false}, {"v", Type::kDouble, false}, {"s", Type::kText, false}}, {0}},
      {*ColumnData::Copy<int64_t>(k), *ColumnData::Copy<double>(v),
       *ColumnData::CopyText(s, valid)});
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_TRUE(connection_.CreateTable("t", *table).ok());
  EXPECT_EQ(SqlState(connection_.CreateTable("t", *table)), "42P07");
  EXPECT_EQ(Rows("SELECT * FROM t ORDER BY k"), "0 | 0 | NULL\n1 | 0.1 | a\n2 | 0.2 | b\n");
  EXPECT_EQ(Error("INSERT INTO t VALUES (2, 0, '')").substr(0, 5), "23505");
  const auto kept = connection_.GetTable("t");
  Run("DELETE FROM t WHERE k = 0");
  EXPECT_EQ(kept->num_rows(), 3);
  EXPECT_EQ(connection_.GetTable("t")->num_rows(), 2);
  ASSERT_TRUE(connection_.ReplaceTable("t", *table).ok());
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t"), "3\n");
  EXPECT_EQ(SqlState(connection_.GetTable("nope").status()), "42P01");
  const std::vector<int64_t> twice = {1, 1, 1};
  EXPECT_EQ(SqlState(Table::Make({{{"k", Type::kBigInt, false}}, {0}},
                                 {*ColumnData::Copy<int64_t>(twice)})
                         .status()),
            "23505");
  EXPECT_EQ(Table::Grid({"i", "j"}, {2, 2}, *ColumnData::Copy<double>(v)).status().message(),
            "the extents hold 4 values, and there are 3");
}

TEST_F(ConnectionTest, GridsHaveTheirCoordinates) {
  std::vector<float> values(6);
  std::iota(values.begin(), values.end(), 0.0f);
  const auto grid = Table::Grid({"i", "j"}, {2, 3}, *ColumnData::Copy<float>(values));
  ASSERT_TRUE(connection_.CreateTable("g", *grid).ok());
  EXPECT_EQ(Rows("SELECT * FROM g ORDER BY i, j"),
            "0 | 0 | 0\n0 | 1 | 1\n0 | 2 | 2\n1 | 0 | 3\n1 | 1 | 4\n1 | 2 | 5\n");
  const auto empty = Table::Grid({"i", "j"}, {0, 3}, *ColumnData::Copy<float>({}));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->num_rows(), 0);
}

TEST_F(ConnectionTest, PlansAreBuiltInCode) {
  Run("CREATE TABLE w (i INTEGER PRIMARY KEY, v DOUBLE PRECISION); INSERT INTO w VALUES (0, 1), "
      "(1, 2)");
  Run("CREATE TABLE x (n INTEGER, i INTEGER, v DOUBLE PRECISION, PRIMARY KEY (n, i));"
      "INSERT INTO x VALUES (0, 0, 1), (0, 1, 1), (1, 0, 2), (1, 1, 0)");
  Plan w = Plan::Scan("w");
  Plan x = Plan::Scan("x");
  Plan y = x.Join(w, JoinKind::kInner, Left("i") == Right("i"),
                  {{"n", Left("n")}, {"p", Left("v") * Right("v")}})
               .GroupBy({"n"}, {{"p", Sum(Col("p"))}});
  Plan loss = y.Aggregate({{"l", Sum(Col("p") * Col("p"))}});
  EXPECT_EQ(TextOf(connection_.Query(y.Sort({{Col("n")}}))->rows), "0 | 3\n1 | 2\n");
  EXPECT_EQ(TextOf(connection_.Query(loss)->rows), "13\n");
  // d/dw of (w0 + w1)^2 + (2 w0)^2
  const auto gradient = connection_.Query(Plan::Grad(loss, w, {"v"}).Sort({{Col("i")}}));
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ(TextOf(gradient->rows), "0 | 1 | 14\n1 | 2 | 6\n");
  auto step = connection_.Prepare({{"w", {{"v", Col("v") - 0.5 * Gradient(loss, "v")}}}});
  ASSERT_TRUE(step.ok()) << step.status();
  ASSERT_TRUE(step->Run().ok());
  EXPECT_EQ(Rows("SELECT v FROM w ORDER BY i"), "-6\n-1\n");
  EXPECT_EQ(SqlState(connection_.Query(w.Filter(Col("nope") > 1)).status()), "42703");
}

TEST_F(ConnectionTest, PlanOperatorsMeanTheirSql) {
  Plan s = Plan::Series(1, 6);
  EXPECT_EQ(
      TextOf(
          connection_
              .Query(
                  s.Filter(Col("i") % 2 == 0 || Col("i") == 1).With({{"j", -Col("i")}}).Limit(2, 1))
              ->rows),
      "2 | -2\n4 | -4\n");
  EXPECT_EQ(TextOf(connection_
                       .Query(s.With({{"r", Over(Sum(Col("i")),
                                                 {{},
                                                  {{Col("i"), true}},
                                                  "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"})}})
                                  .Sort({{Col("i")}})
                                  .Limit(2))
                       ->rows),
            "1 | 3\n2 | 5\n");
  EXPECT_EQ(TextOf(connection_
                       .Query(s.UnionAll(s).Distinct().Aggregate(
                           {{"n", CountStar()}, {"m", Max(Col("i"))}}))
                       ->rows),
            "6 | 6\n");
  EXPECT_EQ(
      TextOf(connection_
                 .Query(s.Project({{"c", Case({{Col("i") < 2, Text("it's")}}, Null())}}).Limit(2))
                 ->rows),
      "it's\nNULL\n");
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

class CopyTest : public ConnectionTest {
 protected:
  CopyTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "adjoin_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~CopyTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void WriteFile(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }
  std::string ReadFile(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(Path(name)).rdbuf();
    return text.str();
  }
  std::filesystem::path folder_;
};

TEST_F(CopyTest, CsvInAndOut) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION, s TEXT)");
  WriteFile("in.csv", "k;v;s\n1;0.1;a\n2;;\"x;y\"\n");
  EXPECT_EQ(Tag("COPY t FROM '" + Path("in.csv") + "' WITH (FORMAT csv, HEADER, DELIMITER ';')"),
            "COPY 2");
  EXPECT_EQ(Rows("SELECT * FROM t ORDER BY k"), "1 | 0.1 | a\n2 | NULL | x;y\n");
  EXPECT_EQ(Tag("COPY (SELECT s, k FROM t ORDER BY k DESC) TO '" + Path("out.csv") +
                "' (FORMAT csv, HEADER, NULL 'none')"),
            "COPY 2");
  EXPECT_EQ(ReadFile("out.csv"), "s,k\nx;y,2\na,1\n");
  WriteFile("some.csv", "3\n4\n");
  Run("COPY t (k) FROM '" + Path("some.csv") + "' CSV");
  EXPECT_EQ(Rows("SELECT * FROM t WHERE k > 2 ORDER BY k"), "3 | NULL | NULL\n4 | NULL | NULL\n");
}

TEST_F(CopyTest, FailedCopiesChangeNothing) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION); INSERT INTO t VALUES (1, 1)");
  WriteFile("bad.csv", "2,2\n3,x\n");
  const std::string from = "COPY t FROM '" + Path("bad.csv") + "' (FORMAT csv)";
  EXPECT_THAT(Error(from),
              HasSubstr("22P02 invalid input syntax for type double precision: \"x\""));
  EXPECT_THAT(Error(from), HasSubstr("line 2, column 2"));
  WriteFile("bad.csv", "2,2\n1,3\n");
  EXPECT_EQ(Error(from).substr(0, 5), "23505");
  WriteFile("bad.csv", "2,2,2\n");
  EXPECT_EQ(Error(from).substr(0, 5), "22P04");
  EXPECT_THAT(
      Error("COPY t FROM '/nowhere/x.csv' (FORMAT csv)"),
      HasSubstr(
          "58P01 could not open file \"/nowhere/x.csv\" for reading: No such file or directory"));
  EXPECT_EQ(Error("COPY nope FROM '" + Path("bad.csv") + "' (FORMAT csv)"),
            "42P01 relation \"nope\" does not exist");
  EXPECT_EQ(Error("COPY t (nope) FROM '" + Path("bad.csv") + "' (FORMAT csv)"),
            "42703 column \"nope\" of relation \"t\" does not exist");
  EXPECT_EQ(Error("COPY t FROM '" + Path("bad.csv") + "'").substr(0, 5), "0A000");
  EXPECT_EQ(Error("COPY t TO '" + Path("o") + "' (FORMAT csv, NOPE 1)"),
            "42601 option \"nope\" not recognized");
  EXPECT_EQ(Error("COPY t TO '" + Path("o") + "' (FORMAT csv, DELIMITER 'ab')"),
            "0A000 COPY delimiter must be a single one-byte character");
  WriteFile("keep.csv", "kept");
  EXPECT_EQ(Error("COPY (SELECT 1 / (k - 1) FROM t) TO '" + Path("keep.csv") + "' (FORMAT csv)")
                .substr(0, 5),
            "22012");
  EXPECT_EQ(ReadFile("keep.csv"), "kept");
  EXPECT_EQ(Rows("SELECT * FROM t"), "1 | 1\n");
}

TEST_F(CopyTest, NpyIsAGrid) {
  Run("CREATE TABLE g (i BIGINT, j BIGINT, val DOUBLE PRECISION, PRIMARY KEY (i, j))");
  Run("INSERT INTO g VALUES (0, 0, 1), (0, 1, 2), (1, 0, 3), (1, 1, 4)");
  EXPECT_EQ(Tag("COPY g TO '" + Path("g.npy") + "' (FORMAT npy)"), "COPY 4");
  Run("CREATE TABLE h (i BIGINT, j BIGINT, val REAL, PRIMARY KEY (i, j))");
  EXPECT_EQ(Tag("COPY h FROM '" + Path("g.npy") + "' (FORMAT npy)"), "COPY 4");
  EXPECT_EQ(Rows("SELECT * FROM h ORDER BY i, j"), "0 | 0 | 1\n0 | 1 | 2\n1 | 0 | 3\n1 | 1 | 4\n");
  EXPECT_EQ(connection_.GetTable("h")->grid_extents(), (std::vector<int64_t>{2, 2}));
  std::filesystem::resize_file(Path("g.npy"), std::filesystem::file_size(Path("g.npy")) - 3);
  Run("DELETE FROM h");
  EXPECT_EQ(Error("COPY h FROM '" + Path("g.npy") + "' (FORMAT npy)").substr(0, 5), "22P04");
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM h"), "0\n");
}

}  // namespace
}  // namespace adjoin::api
