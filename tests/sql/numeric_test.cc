// NUMERIC through the connection: tables of a program, parameters, files, errors with their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

class NumericTest : public ConnectionTest {
 protected:
  // The error as psql prints it.
  std::string Shown(std::string_view sql) {
    const auto result = connection_.Execute(sql);
    return result.ok() ? "no error" : FormatError(result.status(), sql);
  }
};

TEST_F(NumericTest, TablesOfAProgram) {
  const std::vector<Decimal> prices = {Decimal::Of(1050, 2), Decimal::Of(-12345, 4),
                                       Decimal::Of(7, 0)};
  const std::vector<int64_t> keys = {1, 2, 3};
  Field price{"price", Type::kNumeric, false, 8, 2};
  const auto table =
      Table::Make({{{"k", Type::kBigInt}, price}, {0}},
                  {*ColumnData::Copy<int64_t>(keys), *ColumnData::Copy<Decimal>(prices)});
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_TRUE(connection_.CreateTable("t", *table).ok());
  EXPECT_EQ(Rows("SELECT k, price, price * 2.50 FROM t ORDER BY k"),
            "1 | 10.50 | 26.2500\n2 | -1.23 | -3.0750\n3 | 7.00 | 17.5000\n");
  const auto result = connection_.Query("SELECT SUM(price), AVG(price) FROM t");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rows.column_type(0), Type::kNumeric);
  const Decimal sum = (*result->rows.column_data<Decimal>(0))[0];
  EXPECT_EQ(static_cast<int64_t>(sum.coefficient()), 1627);
  EXPECT_EQ(sum.scale(), 2);
  EXPECT_EQ(result->rows.value(0, 1), Value("5.4233333333333333"));
  EXPECT_FALSE(result->rows.column_data<double>(0).ok());
  EXPECT_EQ(result->rows.schema().fields[0].precision, 0);
  EXPECT_EQ(connection_.GetTable("t")->schema().fields[1], price);
  price.precision = 2;
  EXPECT_EQ(SqlState(Table::Make({{price}, {}}, {*ColumnData::Copy<Decimal>(prices)}).status()),
            "22003");
  price.precision = 1;  // below the scale
  EXPECT_EQ(SqlState(Table::Make({{price}, {}}, {*ColumnData::Copy<Decimal>(prices)}).status()),
            "22023");
}

TEST_F(NumericTest, Parameters) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, p NUMERIC(8, 2)); INSERT INTO t VALUES (1, 1.5), (2, "
      "2.25)");
  Run("PREPARE above AS SELECT k, p - $1 FROM t WHERE p > $1 ORDER BY k");
  EXPECT_EQ(Rows("EXECUTE above(1.500)"), "2 | 0.750\n");
  EXPECT_EQ(Rows("EXECUTE above('1')"), "1 | 0.50\n2 | 1.25\n");
  Run("PREPARE typed (NUMERIC) AS SELECT $1 * 2");
  EXPECT_EQ(Rows("EXECUTE typed(0.10)"), "0.20\n");
  EXPECT_EQ(Rows("EXECUTE typed(7)"), "14\n");
  Run("PREPARE put AS INSERT INTO t VALUES ($1, $2)");
  Run("EXECUTE put(3, 9.999)");
  EXPECT_EQ(Rows("SELECT p FROM t WHERE k = 3"), "10.00\n");
}

TEST_F(NumericTest, StoredValuesAreRounded) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, p NUMERIC(4, 2), q NUMERIC)");
  Run("INSERT INTO t VALUES (1, 1.005, 1.005), (2, CAST(0.3 AS DOUBLE PRECISION), 1e-3)");
  Run("UPDATE t SET p = p * 1.111, q = q * 2 WHERE k = 1");
  EXPECT_EQ(Rows("SELECT * FROM t ORDER BY k"), "1 | 1.12 | 2.010\n2 | 0.30 | 0.001\n");
  const std::string before = Rows("SELECT * FROM t ORDER BY k");
  EXPECT_EQ(Shown("UPDATE t SET p = 99.995"),
            "ERROR:  numeric field overflow\nDETAIL:  A field with precision 4, scale 2 must round "
            "to an absolute value less than 10^2.\n");
  EXPECT_EQ(Error("INSERT INTO t SELECT 3, q * 1000000, q FROM t WHERE k = 1"),
            "22003 numeric field overflow");
  EXPECT_EQ(Rows("SELECT * FROM t ORDER BY k"), before);
  Run("CREATE TABLE u AS SELECT p, p * q AS pq FROM t");
  EXPECT_EQ(Rows("SELECT * FROM u ORDER BY p"), "0.30 | 0.00030\n1.12 | 2.25120\n");
}

TEST_F(NumericTest, ErrorsPointAtTheirPlace) {
  EXPECT_EQ(Shown("SELECT CAST('1x' AS NUMERIC)"),
            "ERROR:  invalid input syntax for type numeric: \"1x\"\nLINE 1: SELECT CAST('1x' AS "
            "NUMERIC)\n                    ^\n");
  EXPECT_EQ(Shown("CREATE TABLE t (p NUMERIC(0))"),
            "ERROR:  NUMERIC precision 0 must be between 1 and 1000\nLINE 1: CREATE TABLE t (p "
            "NUMERIC(0))\n                          ^\n");
  EXPECT_EQ(Error("SELECT CAST(1 AS NUMERIC(5, 6))"), "0A000 type numeric(5,6) is not supported");
  EXPECT_EQ(Error("SELECT CAST(1 AS NUMERIC(5, 1, 1))"), "22023 invalid NUMERIC type modifier");
  EXPECT_EQ(Error("SELECT NUMERIC '1' / 0"), "22012 division by zero");
  EXPECT_EQ(Error("SELECT NUMERIC '1e30' * NUMERIC '1e30'"),
            "22003 value overflows numeric format");
  EXPECT_EQ(Error("SELECT CAST(NUMERIC '3e9' AS INTEGER)"), "22003 integer out of range");
  EXPECT_EQ(Error("SELECT CAST(TRUE AS NUMERIC)"), "42846 cannot cast type boolean to numeric");
  // Only where a row needs it.
  EXPECT_EQ(Rows("SELECT CASE WHEN v = 0 THEN 0 ELSE NUMERIC '1' / v END FROM (VALUES (0), (4)) AS "
                 "t(v) ORDER BY v"),
            "0\n0.25000000000000000000\n");
}

TEST_F(NumericTest, CsvFiles) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("adjoin_numeric_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string in = folder / "in.csv", out = folder / "out.csv";
  const auto write = [&](std::string_view text) { std::ofstream(in) << text; };
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, p NUMERIC(6, 2), q NUMERIC)");
  write("1,1.005,1.005\n2,,\n3,-7,1e3\n");
  Run("COPY t FROM '" + in + "' (FORMAT csv)");
  Run("COPY (SELECT * FROM t ORDER BY k) TO '" + out + "' (FORMAT csv)");
  std::stringstream text;
  text << std::ifstream(out).rdbuf();
  EXPECT_EQ(text.str(), "1,1.01,1.005\n2,,\n3,-7.00,1000\n");
  write("4,10000,1\n");
  EXPECT_THAT(Error("COPY t FROM '" + in + "' (FORMAT csv)"),
              testing::HasSubstr("22003 numeric field overflow"));
  write("4,1,x\n");
  EXPECT_THAT(Error("COPY t FROM '" + in + "' (FORMAT csv)"),
              testing::HasSubstr("22P02 invalid input syntax for type numeric: \"x\""));
  EXPECT_THAT(Error("COPY (SELECT k, p FROM t WHERE k = 1) TO '" + out + "' (FORMAT npy)"),
              testing::HasSubstr("column \"p\" is of type numeric"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace adjoin::api
