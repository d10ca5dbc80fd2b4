// Prepared statements, and the tables that programs make and hand over.
#include "adjoin/prepared.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

using PreparedTest = ConnectionTest;

TEST_F(PreparedTest, PreparedRunsWithParametersAndCounts) {
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

// Expected values and texts are PostgreSQL 15's.
TEST_F(PreparedTest, OffsetsOfFramesAreParameters) {
  Run("CREATE TABLE t (id BIGINT, g INTEGER, x DOUBLE PRECISION, d DATE);"
      "INSERT INTO t VALUES (1, 0, 1.5, '2024-01-01'), (2, 0, 2.5, '2024-01-02'), "
      "(3, 1, 4, '2024-01-05'), (4, 1, NULL, '2024-02-01'), (5, 0, 8, '2024-02-03'), "
      "(6, 1, 16, NULL);"
      "PREPARE w (BIGINT, BIGINT) AS SELECT id, "
      "SUM(x) OVER (ORDER BY id ROWS BETWEEN $1 PRECEDING AND $2 FOLLOWING) AS a, "
      "SUM(x) OVER (ORDER BY id RANGE BETWEEN $1 + 1 PRECEDING AND $2 FOLLOWING) AS b, "
      "COUNT(*) OVER (ORDER BY g GROUPS BETWEEN $1 - 1 PRECEDING AND CURRENT ROW) AS c "
      "FROM t ORDER BY id;"
      "PREPARE v AS SELECT COUNT(*) OVER (ORDER BY d RANGE $1 PRECEDING) AS a FROM t ORDER BY id");
  EXPECT_EQ(Rows("EXECUTE w(1, 0)"),
            "1 | 1.5 | 1.5 | 3\n2 | 4 | 4 | 3\n3 | 6.5 | 8 | 3\n4 | 4 | 6.5 | 3\n"
            "5 | 8 | 12 | 3\n6 | 24 | 24 | 3\n");
  EXPECT_EQ(Rows("EXECUTE w(2, 1)"),
            "1 | 4 | 4 | 3\n2 | 8 | 8 | 3\n3 | 8 | 8 | 6\n4 | 14.5 | 16 | 6\n"
            "5 | 28 | 30.5 | 3\n6 | 24 | 28 | 6\n");
  EXPECT_EQ(Error("EXECUTE w(0, 1)"), "22013 frame starting offset must not be negative");
  EXPECT_EQ(Error("EXECUTE w(NULL, 1)"), "22004 frame starting offset must not be null");
  EXPECT_EQ(Error("EXECUTE w(1, -1)"), "22013 frame ending offset must not be negative");
  EXPECT_EQ(Rows("EXECUTE v(interval '3 days')"), "1\n2\n2\n1\n2\n1\n");
  EXPECT_EQ(Rows("EXECUTE v(interval '1 month')"), "1\n2\n3\n4\n3\n1\n");
  EXPECT_EQ(Error("EXECUTE v(NULL)"), "22004 frame starting offset must not be null");
  Run("DELETE FROM t");  // offsets are looked at where there is no row, too
  EXPECT_EQ(Rows("EXECUTE w(1, 0)"), "");
  EXPECT_EQ(Error("EXECUTE w(1, -1)"), "22013 frame ending offset must not be negative");
}

TEST_F(PreparedTest, PreparedReadsBoundTables) {
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

// What a step reads as arrays by keys that it looked up: another table's are looked up again, and
// only where it does not fit is the step planned anew.
TEST_F(PreparedTest, StepsFollowTheKeysOfBoundTables) {
  Run("CREATE TABLE p (word TEXT PRIMARY KEY, val DOUBLE PRECISION);"
      "INSERT INTO p VALUES ('a', 0), ('b', 0), ('c', 0);"
      "CREATE TABLE pair (word TEXT, k BIGINT, n DOUBLE PRECISION, PRIMARY KEY (word, k));"
      "CREATE TABLE same (word TEXT, k BIGINT, n DOUBLE PRECISION, PRIMARY KEY (word, k));"
      "CREATE TABLE more (word TEXT, k BIGINT, n DOUBLE PRECISION, PRIMARY KEY (word, k));"
      "CREATE TABLE none (word TEXT, k BIGINT, n DOUBLE PRECISION, PRIMARY KEY (word, k));"
      "INSERT INTO pair VALUES ('a', 0, 1), ('b', 5, 2), ('a', 2, 4);"
      "INSERT INTO same VALUES ('c', 0, 10), ('c', 5, 20), ('b', 2, 40);"
      "INSERT INTO more VALUES ('c', 0, 100), ('c', 5, 200), ('b', 2, 400), ('a', 0, 800);"
      "INSERT INTO none VALUES ('z', 0, 1), ('b', 5, 2), ('a', 2, 4), ('y', 2, 4)");
  auto step = connection_.Prepare(
      "WITH loss AS (SELECT SUM(pair.n * p.val) AS l FROM pair JOIN p ON p.word = pair.word) "
      "UPDATE p SET val = val - grad(loss, val)");
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_NE(step->Explain().find("in place"), std::string::npos) << step->Explain();
  const auto run = [&](const char* table) {
    if (table != nullptr) {
      EXPECT_TRUE(step->Bind("pair", *connection_.GetTable(table)).ok());
    }
    EXPECT_TRUE(step->Run().ok());
    return Rows("SELECT word, val FROM p ORDER BY word");
  };
  EXPECT_EQ(run(nullptr), "a | -5\nb | -2\nc | 0\n");
  EXPECT_EQ(run("same"), "a | -5\nb | -42\nc | -30\n");
  EXPECT_EQ(step->stats().plans, 1);
  EXPECT_EQ(run("more"), "a | -805\nb | -442\nc | -330\n");
  EXPECT_EQ(step->stats().plans, 2);
  EXPECT_EQ(run("none"), "a | -809\nb | -444\nc | -330\n");
  EXPECT_EQ(step->stats().plans, 3);
}

TEST_F(PreparedTest, StepsFollowTheHolesOfBoundTables) {
  Run("CREATE TABLE w (p BIGINT PRIMARY KEY, val DOUBLE PRECISION);"
      "INSERT INTO w VALUES (0, 0), (1, 0), (2, 0), (3, 0);"
      "CREATE TABLE x (s BIGINT, p BIGINT, val DOUBLE PRECISION, PRIMARY KEY (s, p));"
      "CREATE TABLE other (s BIGINT, p BIGINT, val DOUBLE PRECISION, PRIMARY KEY (s, p));"
      "CREATE TABLE wider (s BIGINT, p BIGINT, val DOUBLE PRECISION, PRIMARY KEY (s, p));"
      "INSERT INTO x VALUES (0, 1, 1), (0, 2, 2), (1, 2, 4);"
      "INSERT INTO other VALUES (0, 2, 10), (1, 1, 20);"
      "INSERT INTO wider VALUES (0, 2, 100), (1, 3, 200)");
  auto step = connection_.Prepare(
      "WITH loss AS (SELECT SUM(x.val * w.val) AS l FROM x JOIN w ON w.p = x.p) "
      "UPDATE w SET val = val - grad(loss, val)");
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_NE(step->Explain().find("in place"), std::string::npos) << step->Explain();
  const auto run = [&](const char* table) {
    if (table != nullptr) {
      EXPECT_TRUE(step->Bind("x", *connection_.GetTable(table)).ok());
    }
    EXPECT_TRUE(step->Run().ok());
    return Rows("SELECT val FROM w ORDER BY p");
  };
  EXPECT_EQ(run(nullptr), "0\n-1\n-6\n0\n");
  EXPECT_EQ(run("other"), "0\n-21\n-16\n0\n");
  EXPECT_EQ(step->stats().plans, 1);
  EXPECT_EQ(run("wider"), "0\n-21\n-116\n-200\n");
  EXPECT_EQ(step->stats().plans, 2);
}

TEST_F(PreparedTest, TablesMadeByThePrograms) {
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

TEST_F(PreparedTest, DatesAreNumbersOfDaysAndMicroseconds) {
  const std::vector<int32_t> days = {0, 10956};
  const std::vector<int64_t> microseconds = {-1, 946684800000000};
  const auto table =
      Table::Make({{{"d", Type::kDate, false}, {"p", Type::kTimestamp, false}}, {0}},
                  {*ColumnData::Copy<int32_t>(days), *ColumnData::Copy<int64_t>(microseconds)});
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_TRUE(connection_.CreateTable("t", *table).ok());
  EXPECT_EQ(Rows("SELECT * FROM t ORDER BY d"),
            "1970-01-01 | 1969-12-31 23:59:59.999999\n1999-12-31 | 2000-01-01 00:00:00\n");
  const auto result =
      connection_.Query("SELECT d, p, p - d AS v FROM t WHERE d > DATE '1990-01-01'");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result->rows.column_data<int32_t>(0))[0], 10956);
  EXPECT_EQ((*result->rows.column_data<int64_t>(1))[0], 946684800000000);
  EXPECT_EQ(result->rows.value(0, 0), Value("1999-12-31"));
  EXPECT_EQ(result->rows.value(0, 2), Value("1 day"));
  EXPECT_FALSE(result->rows.column_data<int64_t>(2).ok());
  EXPECT_FALSE(
      Table::Make({{{"v", Type::kInterval, false}}, {}}, {*ColumnData::Copy<int64_t>(microseconds)})
          .ok());
  Run("PREPARE on_day (DATE, INTERVAL) AS SELECT d + $2 FROM t WHERE d = $1");
  EXPECT_EQ(Rows("EXECUTE on_day('1999-12-31', '1 mon')"), "2000-01-31 00:00:00\n");
}

TEST_F(PreparedTest, GridsHaveTheirCoordinates) {
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

}  // namespace
}  // namespace adjoin::api
