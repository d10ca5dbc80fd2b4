// Random tables: INSERT and CREATE TABLE AS of draws over series run on arrays, with the bits that
// rows give, and what only looks like them streams.
#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "adjoin/prepared.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

constexpr int64_t kRows = 300, kColumns = 1000;

std::string Draw(const std::string& call) {
  return absl::StrCat("SELECT i, j, ", call, " AS val FROM generate_series(0, ", kRows - 1,
                      ") AS a(i) CROSS JOIN generate_series(0, ", kColumns - 1, ") AS b(j)");
}

template <typename T>
std::vector<T> ValuesOf(Connection& connection, const std::string& sql) {
  const auto result = connection.Query(sql);
  EXPECT_TRUE(result.ok()) << result.status() << "\nin " << sql;
  if (!result.ok()) return {};
  const auto values = *result->rows.column_data<T>(result->rows.num_columns() - 1);
  return {values.begin(), values.end()};
}

class RandomTable : public ConnectionTest {
 protected:
  std::string Plan(const std::string& sql) { return Rows("EXPLAIN " + sql); }
  // Whether each step is one of an array program, or hands its arrays over.
  bool IsOnArrays(const std::string& sql) { return absl::StrContains(Plan(sql), "GridRows"); }
};

constexpr char kReal[] = "random_normal(random_fold_in(42, 7), i * 1000 + j, 0.02::REAL)";
constexpr char kDouble[] = "random_normal(42, i * 1000 + j) * 0.02";

TEST_F(RandomTable, HasTheSameBitsOnArraysAndOnRows) {
  for (const int threads : {1, 2, 3}) {
    auto database = Database::Open({.threads = threads});
    Connection arrays = database->Connect(), rows = database->Connect();
    RunOn(rows, "SET adjoin.grid = off; SET adjoin.batch_rows = 37");
    EXPECT_EQ(ValuesOf<float>(arrays, Draw(kReal)), ValuesOf<float>(rows, Draw(kReal)));
    EXPECT_EQ(ValuesOf<double>(arrays, Draw(kDouble)), ValuesOf<double>(rows, Draw(kDouble)));
    EXPECT_EQ(ValuesOf<double>(arrays, Draw("random_uniform(i, j, -2, 5)")),
              ValuesOf<double>(rows, Draw("random_uniform(i, j, -2, 5)")));
  }
}

TEST_F(RandomTable, IsMadeOnArraysInTheMemoryOfItsColumn) {
  Run("CREATE TABLE w (i BIGINT, j BIGINT, val REAL, PRIMARY KEY (i, j))");
  const std::string insert = "INSERT INTO w " + Draw(kReal);
  EXPECT_TRUE(IsOnArrays(insert)) << Plan(insert);
  auto prepared = connection_.Prepare(insert);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_LT(prepared->stats().arena_bytes, kRows * kColumns);
  ASSERT_TRUE(prepared->Run().ok());
  Run("CREATE TABLE made AS " + Draw(kReal));
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM w JOIN made USING (i, j, val)"), "300000\n");
  const std::vector<float> first = ValuesOf<float>(connection_, "SELECT val FROM w");
  Run("DELETE FROM w");
  ASSERT_TRUE(prepared->Run().ok());  // into memory of its own: `first`'s table may be read still
  EXPECT_EQ(ValuesOf<float>(connection_, "SELECT val FROM w"), first);
}

// A stack of tables, with a key a slot, has the bits of one table after another.
TEST_F(RandomTable, StackedIsTableByTable) {
  Run("CREATE TABLE keys (t BIGINT PRIMARY KEY, k BIGINT);"
      "INSERT INTO keys SELECT t, random_split(0, t) FROM generate_series(0, 4) AS s(t);"
      "CREATE TABLE stack (t BIGINT, i BIGINT, j BIGINT, val REAL, PRIMARY KEY (t, i, j))");
  const std::string series =
      " FROM generate_series(0, 60) AS a(i) CROSS JOIN generate_series(0, 46) AS b(j)";
  const std::string insert =
      "INSERT INTO stack SELECT t, i, j, random_normal(k, i * 47 + j, 0.25::REAL) FROM keys CROSS "
      "JOIN (SELECT i, j" +
      series + ") AS cells";
  EXPECT_TRUE(IsOnArrays(insert)) << Plan(insert);
  Run(insert);
  for (int t = 0; t < 5; ++t) {
    EXPECT_EQ(ValuesOf<float>(connection_, absl::StrCat("SELECT val FROM stack WHERE t = ", t)),
              ValuesOf<float>(connection_, absl::StrCat("SELECT random_normal(random_split(0, ", t,
                                                        "), i * 47 + j, 0.25::REAL)", series)));
  }
}

TEST_F(RandomTable, OtherStatementsStreamTheirSeries) {
  for (const char* sql : {"SELECT COUNT(*) FROM generate_series(1, 100000000000) AS s(i)",
                          "SELECT random_bits(1, i) FROM generate_series(1, 100000000000) AS s(i) "
                          "LIMIT 3",
                          "SELECT i FROM generate_series(1, 1000) AS s(i) WHERE i % 7 = 0",
                          "SELECT i || 'x' FROM generate_series(1, 1000) AS s(i)"}) {
    EXPECT_FALSE(IsOnArrays(sql)) << Plan(sql);
  }
  EXPECT_EQ(Rows("SELECT i FROM generate_series(1, 100000000000) AS s(i) LIMIT 2"), "1\n2\n");
  EXPECT_EQ(Rows("SELECT i FROM generate_series(2, 1) AS s(i)"), "");
}

// Integers run on arrays where none can leave its type, and in rows that raise the error elsewhere.
TEST_F(RandomTable, IndicesThatMayOverflowAreChecked) {
  const auto draw = [](const std::string& index, const std::string& last) {
    return "SELECT random_bits(1, " + index + ") FROM generate_series(0, " + last + ") AS s(i)";
  };
  EXPECT_TRUE(IsOnArrays(draw("(i::BIGINT * 1000000 + 7) * 1000 - i", "1000")));
  EXPECT_FALSE(IsOnArrays(draw("i * 1000000", "1000000")));  // of INTEGER
  EXPECT_TRUE(IsOnArrays(draw("i * 1000000::BIGINT", "1000000")));
  EXPECT_FALSE(IsOnArrays(draw("i * 9223372036854775807", "1")));
  EXPECT_EQ(Rows(draw("i * 9223372036854775807", "0")), "1883912375\n");
  EXPECT_EQ(Error(draw("i * 9223372036854775807", "2")), "22003 bigint out of range");
  EXPECT_EQ(Error(draw("i * 1000000", "1000000")), "22003 integer out of range");
  EXPECT_EQ(Error("SELECT i::SMALLINT FROM generate_series(32767, 32768) AS s(i)"),
            "22003 smallint out of range");
}

TEST_F(RandomTable, ArgumentsHaveTheirTypes) {
  EXPECT_EQ(Error("SELECT random_bits(1.5, 1)"),
            "42883 function random_bits(double precision, integer) does not exist");
  EXPECT_EQ(Error("SELECT random_split(1)"), "42883 function random_split(integer) does not exist");
  EXPECT_EQ(Error("SELECT random_normal(1, 2, 3, 4)"),
            "42883 function random_normal(integer, integer, integer, integer) does not exist");
  EXPECT_EQ(Error("SELECT random_uniform(1, 2, 3)"),
            "42883 function random_uniform(integer, integer, integer) does not exist");
  EXPECT_EQ(Error("SELECT random_normal(1, 2, true)"),
            "42883 function random_normal(integer, integer, boolean) does not exist");
  const auto type = [&](const std::string& call) {
    return connection_.Query("SELECT " + call)->rows.column_type(0);
  };
  EXPECT_EQ(type("random_bits(1::SMALLINT, 2)"), Type::kBigInt);
  EXPECT_EQ(type("random_normal(1, 2)"), Type::kDouble);
  EXPECT_EQ(type("random_normal(1, 2, 3)"), Type::kDouble);
  EXPECT_EQ(type("random_normal(1, 2, 3::REAL)"), Type::kReal);
  EXPECT_EQ(type("random_uniform(1, 2, 3::REAL, 4)"), Type::kDouble);
  // A draw has its precision from its own arguments, whatever constants become.
  Run("SET adjoin.float_promotion = weak; CREATE TABLE r (x REAL); INSERT INTO r VALUES (2)");
  EXPECT_EQ(Rows("SELECT x * random_normal(1, 2) = 2 * random_normal(1, 2) FROM r"), "t\n");
}

// Tables of one statement and one shape are one step, with the bits that each has alone.
TEST_F(RandomTable, TablesOfOneShapeAreOneStep) {
  constexpr int kTables = 40;  // of two shapes, in turn
  std::string create, insert;
  for (int t = 0; t < kTables; ++t) {
    absl::StrAppend(&create, "CREATE TABLE w", t,
                    " (i BIGINT, j BIGINT, val REAL, PRIMARY KEY (i, j));");
    absl::StrAppend(&insert, t == 0 ? "WITH " : t + 1 == kTables ? "" : ", ");
    absl::StrAppend(&insert, t + 1 == kTables ? "" : absl::StrCat("s", t, " AS ("), "INSERT INTO w",
                    t, " SELECT i, j, random_normal(", 100 + t, ", i * 7 + j, ", 1 + t % 3,
                    "::REAL) FROM generate_series(0, ", t % 2 == 0 ? 60 : 50,
                    ") AS a(i) CROSS JOIN generate_series(0, 6) AS b(j)",
                    t + 1 == kTables ? "" : ")");
  }
  std::vector<std::vector<float>> alone;
  for (const char* stack : {"off", "on", "force"}) {
    for (int threads : {1, 3}) {
      auto database = Database::Open({.threads = threads});
      Connection connection = database->Connect();
      RunOn(connection, absl::StrCat(create, "SET adjoin.stack = ", stack));
      RunOn(connection, insert);
      for (int t = 0; t < kTables; ++t) {
        const auto values = ValuesOf<float>(connection, absl::StrCat("SELECT val FROM w", t));
        if (alone.size() < kTables) {
          alone.push_back(values);
        } else {
          EXPECT_EQ(values, alone[static_cast<size_t>(t)]) << t << ", stack = " << stack;
        }
      }
    }
  }
  Run(create);
  const std::string plan = Plan(insert);
  size_t stacks = 0;
  for (size_t at = plan.find(" 20 stacked"); at != std::string::npos;
       at = plan.find(" 20 stacked", at + 1))
    ++stacks;
  EXPECT_EQ(stacks, 2) << plan;
}

}  // namespace
}  // namespace adjoin::api
