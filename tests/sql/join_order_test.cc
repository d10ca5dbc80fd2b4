// Which order joins are taken in, and when that is decided anew.
#include <gtest/gtest.h>

#include <string>

#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

using JoinOrderTest = ConnectionTest;

// Many lines of few orders of fewer clients; no table is a grid.
constexpr char kTables[] =
    "CREATE TABLE clients AS SELECT i AS c, i % 5 AS n FROM generate_series(1, 100) AS s(i) "
    "WHERE i % 7 <> 3;"
    "CREATE TABLE orders AS SELECT i AS o, i % 100 AS c FROM generate_series(1, 2000) AS s(i) "
    "WHERE i % 7 <> 3;"
    "CREATE TABLE lines AS SELECT i % 2000 AS o, i AS x FROM generate_series(1, 20000) AS s(i) "
    "WHERE i % 7 <> 3;";

constexpr char kQuery[] =
    "SELECT SUM(x) FROM clients, orders, lines "
    "WHERE clients.c = orders.c AND orders.o = lines.o AND n = 1";

std::string Ordered(const std::string& plan) {
  const size_t from = plan.find("Joins ordered:");
  return from == std::string::npos ? "" : plan.substr(from, plan.find("Program:") - from);
}

TEST_F(JoinOrderTest, TheLargestRelationProbesTheOthers) {
  Run(kTables);
  auto prepared = connection_.Prepare(kQuery);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  ASSERT_TRUE(prepared->Run().ok());
  const std::string plan = Ordered(prepared->Explain());
  const size_t lines = plan.find("Scan[lines]"), orders = plan.find("Scan[orders]");
  const size_t clients = plan.find("Scan[clients]");
  EXPECT_LT(lines, orders) << plan;
  EXPECT_LT(orders, clients) << plan;
}

TEST_F(JoinOrderTest, ASemiJoinFiltersItsRelationFirst) {
  Run(kTables);
  auto prepared = connection_.Prepare(std::string(kQuery) +
                                      " AND orders.o IN (SELECT o FROM lines WHERE x < 20)");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  ASSERT_TRUE(prepared->Run().ok());
  const std::string plan = Ordered(prepared->Explain());
  const size_t semi = plan.find("Join semi");
  ASSERT_NE(semi, std::string::npos) << plan;
  EXPECT_NE(plan.rfind("Join[", semi), std::string::npos) << plan;
}

TEST_F(JoinOrderTest, OffLeavesTheTextsOrder) {
  Run(kTables);
  Run("SET adjoin.join_order = off");
  auto prepared = connection_.Prepare(kQuery);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  ASSERT_TRUE(prepared->Run().ok());
  EXPECT_EQ(Ordered(prepared->Explain()), "");
  Run("SET adjoin.join_order = on");
  ASSERT_TRUE(prepared->Run().ok());
  EXPECT_NE(Ordered(prepared->Explain()), "");
}

TEST_F(JoinOrderTest, PatternsAreTakenToMatchFewRows) {
  Run("CREATE TABLE t AS SELECT 'name ' || i AS name FROM generate_series(1, 1000) AS s(i)");
  const auto rows = [&](const std::string& condition, const std::string& estimated) {
    const std::string plan = Rows("EXPLAIN SELECT name FROM t WHERE " + condition);
    EXPECT_NE(plan.find("  rows=" + estimated + "\n"), std::string::npos) << condition << plan;
  };
  rows("name LIKE '%7%'", "50");
  rows("name ILIKE '%7%'", "50");
  rows("name ~ '7'", "50");
  rows("name !~ '7'", "950");
  rows("name NOT LIKE '%7%'", "950");
}

TEST_F(JoinOrderTest, JoinsAreOrderedAnewWhenTablesHaveGrown) {
  Run("CREATE TABLE a AS SELECT i AS k, i AS v FROM generate_series(1, 40) AS s(i) WHERE i <> 3;"
      "CREATE TABLE b AS SELECT i AS k, i AS w FROM generate_series(1, 9000) AS s(i) WHERE i <> 3");
  auto prepared = connection_.Prepare("SELECT SUM(v * w + v) FROM a, b WHERE a.k = b.k");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  ASSERT_TRUE(prepared->Run().ok());
  EXPECT_NE(Ordered(prepared->Explain()), "");
  Run("INSERT INTO a SELECT i, 1 FROM generate_series(41, 90000) AS s(i) WHERE i % 7 <> 3");
  ASSERT_TRUE(prepared->Run().ok());
  EXPECT_EQ(Ordered(prepared->Explain()), "");  // the text's order is good now
}

}  // namespace
}  // namespace adjoin::api
