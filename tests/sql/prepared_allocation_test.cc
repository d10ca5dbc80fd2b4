// A prepared training step allocates nothing once it is warm: counted by replacing the global
// operator new.
#include <gtest/gtest.h>

#include "adjoin/connection.h"
#include "adjoin/database.h"
#include "tests/sql/counted_allocations.h"

namespace adjoin::api {
namespace {

constexpr const char* kTables =
    "CREATE TABLE x (n BIGINT, i BIGINT, val DOUBLE PRECISION, PRIMARY KEY (n, i));"
    "INSERT INTO x SELECT n, i, sin(n * 7 + i * 3) FROM generate_series(0, 31) AS a(n), "
    "generate_series(0, 7) AS b(i);"
    "CREATE TABLE y (n BIGINT PRIMARY KEY, val DOUBLE PRECISION);"
    "INSERT INTO y SELECT n, cos(n) FROM generate_series(0, 31) AS a(n);"
    "CREATE TABLE w (i BIGINT PRIMARY KEY, val DOUBLE PRECISION);"
    "INSERT INTO w SELECT i, 0.0 FROM generate_series(0, 7) AS a(i);"
    "CREATE TABLE b (one BIGINT PRIMARY KEY, val DOUBLE PRECISION); INSERT INTO b VALUES (0, 0.0)";

constexpr const char* kStep =
    "WITH p AS (SELECT x.n, SUM(x.val * w.val) AS val FROM x JOIN w ON w.i = x.i GROUP BY x.n),"
    "     e AS (SELECT p.n, p.val + b.val - y.val AS val FROM p JOIN y ON y.n = p.n CROSS JOIN b),"
    "     loss AS (SELECT AVG(val * val) AS val FROM e),"
    "     u AS (UPDATE w SET val = val - 0.1 * grad(loss, val))"
    "UPDATE b SET val = val - 0.1 * grad(loss, val)";

constexpr const char* kLoss =
    "WITH p AS (SELECT x.n, SUM(x.val * w.val) AS val FROM x JOIN w ON w.i = x.i GROUP BY x.n)"
    "SELECT AVG((p.val + b.val - y.val) * (p.val + b.val - y.val)) FROM p JOIN y ON y.n = p.n "
    "CROSS JOIN b";

double Loss(Connection& connection) {
  const auto result = connection.Query(kLoss);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? (*result->rows.column_data<double>(0))[0] : 0;
}

TEST(PreparedAllocationTest, AWarmStepAllocatesNothing) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "a sanitizer owns operator new";
  const Database database = *Database::Open({.threads = 1, .memory_limit = 0});
  Connection connection = database.Connect();
  const auto made = connection.Execute(kTables);
  ASSERT_TRUE(made.ok()) << made.status();
  auto step = connection.Prepare(kStep);
  ASSERT_TRUE(step.ok()) << step.status();
  const double before = Loss(connection);
  constexpr int kWarmUp = 4;
  for (int i = 0; i < kWarmUp; ++i) {
    const auto result = step->Run();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->tag, "UPDATE 1");
  }
  const double warm = Loss(connection);
  EXPECT_LT(warm, before);
  const int64_t start = g_allocations.load();
  for (int i = 0; i < 100; ++i) {
    if (!step->Run().ok()) FAIL();
  }
  EXPECT_EQ(g_allocations.load() - start, 0);
  EXPECT_LT(Loss(connection), warm);
  EXPECT_EQ(step->stats().plans, 1);
}

TEST(PreparedAllocationTest, AResultKeepsItsValuesWhileStepsRun) {
  const Database database = *Database::Open({.threads = 1, .memory_limit = 0});
  Connection connection = database.Connect();
  ASSERT_TRUE(connection.Execute(kTables).ok());
  auto step = connection.Prepare(kStep);
  ASSERT_TRUE(step.ok()) << step.status();
  ASSERT_TRUE(step->Run().ok());
  const Table kept = *connection.GetTable("w");
  const std::span<const double> values = *kept.column_data<double>(1);
  const std::vector<double> copy(values.begin(), values.end());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(step->Run().ok());
  EXPECT_TRUE(std::equal(values.begin(), values.end(), copy.begin()));
  const Table now = *connection.GetTable("w");
  EXPECT_NE((*now.column_data<double>(1))[0], copy[0]);
}

TEST(PreparedAllocationTest, StepsInATransactionCanBeUndone) {
  const Database database = *Database::Open({.threads = 1, .memory_limit = 0});
  Connection connection = database.Connect();
  ASSERT_TRUE(connection.Execute(kTables).ok());
  auto step = connection.Prepare(kStep);
  ASSERT_TRUE(step.ok()) << step.status();
  ASSERT_TRUE(step->Run().ok());
  const double before = Loss(connection);
  ASSERT_TRUE(connection.Query("BEGIN").ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(step->Run().ok());
  EXPECT_LT(Loss(connection), before);
  Connection reader = database.Connect();
  EXPECT_EQ(Loss(reader), before);
  ASSERT_TRUE(connection.Query("ROLLBACK").ok());
  EXPECT_EQ(Loss(connection), before);
  ASSERT_TRUE(step->Run().ok());
  EXPECT_LT(Loss(connection), before);
}

}  // namespace
}  // namespace adjoin::api
