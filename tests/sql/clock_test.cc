// The functions of the clock: one moment a statement or transaction, of the run and not of the
// plan.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "adjoin/prepared.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

using ClockTest = ConnectionTest;

void Wait() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

TEST_F(ClockTest, IsTheTimeOfTheMachineInUtc) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double seen = std::stod(Rows("SELECT date_part('epoch', now())"));
  EXPECT_NEAR(seen, now, 60);
}

TEST_F(ClockTest, StandsStillWithinAStatement) {
  EXPECT_EQ(Rows("SELECT now() = CURRENT_TIMESTAMP, now() = transaction_timestamp(), now() = "
                 "LOCALTIMESTAMP, now() = statement_timestamp(), CURRENT_DATE = now()::date, "
                 "clock_timestamp() >= now(), age(now()::date) = '0'::interval, "
                 "LOCALTIMESTAMP(0) = date_trunc('second', LOCALTIMESTAMP(0))"),
            "t | t | t | t | t | t | t | t\n");
  Run("CREATE TABLE t AS SELECT i, now() AS at FROM generate_series(1, 20000) AS s(i)");
  EXPECT_EQ(Rows("SELECT COUNT(DISTINCT at), MAX(at) < now() FROM t"), "1 | t\n");
}

TEST_F(ClockTest, StandsStillWithinATransaction) {
  Run("CREATE TABLE t (k INTEGER, at TIMESTAMP); BEGIN; INSERT INTO t VALUES (1, now())");
  Wait();
  EXPECT_EQ(Rows("SELECT now() = at, statement_timestamp() > at FROM t"), "t | t\n");
  Run("COMMIT");
  EXPECT_EQ(Rows("SELECT now() > at FROM t"), "t\n");
}

// The same text is the same plan, a prepared one is kept, and so is a column's dictionary.
TEST_F(ClockTest, MovesOnBetweenRunsOfOnePlan) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, at TIMESTAMP); INSERT INTO t VALUES (1, now());"
      "CREATE VIEW v AS SELECT k, now() AS at FROM t;"
      "PREPARE later (INTEGER) AS UPDATE t SET at = now() WHERE k = $1 AND at < now()");
  for (const char* query :
       {"SELECT now()", "SELECT at FROM v", "SELECT CURRENT_TIMESTAMP FROM t"}) {
    const std::string first = Rows(query);
    Wait();
    EXPECT_NE(Rows(query), first) << query;
  }
  std::string last = Rows("SELECT at FROM t");
  for (int run = 0; run < 3; ++run) {
    Wait();
    Run("EXECUTE later(1)");
    const std::string now = Rows("SELECT at FROM t");
    EXPECT_GT(now, last);
    last = now;
  }
}

TEST_F(ClockTest, StandsBehindTheParametersOfTheStatement) {
  auto prepared = connection_.Prepare("SELECT $2 + 1, $1 * 2, now() > TIMESTAMP '2020-01-01'");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->num_parameters(), 2);
  for (int64_t i = 1; i < 4; ++i) {
    const auto run = prepared->Run({i, 10 * i});
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(TextOf(run->rows),
              std::to_string(10 * i + 1) + " | " + std::to_string(2 * i) + " | t\n");
  }
  Run("PREPARE p (TIMESTAMP, INTEGER) AS SELECT $1 <= now()");
  EXPECT_EQ(Rows("EXECUTE p(now(), 1)"), "t\n");
  EXPECT_EQ(Rows("EXECUTE p(CURRENT_DATE + INTERVAL '2 days', 1)"), "f\n");
}

TEST_F(ClockTest, SaysWhatThereIsNot) {
  EXPECT_EQ(Error("SELECT now(1)"), "42883 function now(integer) does not exist");
  EXPECT_EQ(Error("SELECT CURRENT_TIME").substr(0, 5), "0A000");
  EXPECT_EQ(Error("SELECT CURRENT_USER").substr(0, 5), "0A000");
}

}  // namespace
}  // namespace adjoin::api
