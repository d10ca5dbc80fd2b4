// Semi-joins that the planner adds: where they go, and that they leave results alone.
#include <gtest/gtest.h>

#include <string>

#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

// 40,000 lines of 4,000 parts, of which 40 are green; stock of each part in 10 places. No grids.
constexpr char kTables[] =
    "CREATE TABLE parts AS SELECT i AS p, CASE WHEN i % 100 = 0 THEN 'green' ELSE 'red' || i % 97 "
    "END AS name "
    "FROM generate_series(1, 4000) AS s(i) WHERE i <> 7;"
    "CREATE TABLE lines AS SELECT i % 4001 AS p, i % 10 AS place, i % 97 AS n "
    "FROM generate_series(1, 40000) AS s(i) WHERE i <> 7;"
    "CREATE TABLE stock AS SELECT 1 + i / 10 AS p, i % 10 AS place, i % 89 AS cost "
    "FROM generate_series(0, 39999) AS s(i) WHERE i <> 7;";

constexpr char kStock[] =
    "SELECT SUM(n * cost) FROM lines JOIN parts ON lines.p = parts.p "
    "LEFT JOIN stock ON stock.p = lines.p AND stock.place = lines.place WHERE name = 'green'";

class JoinFiltersTest : public ConnectionTest {
 protected:
  JoinFiltersTest() { Run(kTables); }

  // The plan of the last stage; "" where no join got a filter.
  std::string PlanOf(const std::string& sql) {
    auto prepared = connection_.Prepare(sql);
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    if (!prepared.ok() || !prepared->Run().ok()) return "error";
    const std::string text = prepared->Explain();
    const size_t begin = text.find("Sparse products and join filters:");
    const size_t end = text.find("Program:");
    return begin == std::string::npos ? "" : text.substr(begin, end - begin);
  }

  // Results with the rule as it is, forced and off are the same.
  void ExpectSameResults(const std::string& sql) {
    const std::string on = Rows(sql);
    Run("SET adjoin.join_filters = force");
    EXPECT_EQ(Rows(sql), on) << sql;
    Run("SET adjoin.join_filters = off");
    EXPECT_EQ(Rows(sql), on) << sql;
    EXPECT_EQ(PlanOf(sql), "") << sql;
    Run("SET adjoin.join_filters = on");
  }
};

TEST_F(JoinFiltersTest, ARelationThatWasJoinedFiltersTheNextBuildSide) {
  const std::string plan = PlanOf(kStock);
  const size_t semi = plan.find("Join semi[p = p]");
  ASSERT_NE(semi, std::string::npos) << plan;
  const size_t stock = plan.find("Scan[stock]", semi);
  EXPECT_EQ(plan.find("Scan[", semi), stock) << plan;
  ExpectSameResults(kStock);
}

TEST_F(JoinFiltersTest, TheLeftSideFiltersWhatARightSideGroups) {
  const std::string sql =
      "SELECT parts.p, l.n FROM parts LEFT JOIN (SELECT p, SUM(n) AS n FROM lines GROUP BY p) AS l "
      "ON l.p = parts.p WHERE name = 'green' ORDER BY 1";
  const std::string plan = PlanOf(sql);
  const size_t group = plan.find("GroupBy["), semi = plan.find("Join semi[");
  ASSERT_NE(semi, std::string::npos) << plan;
  EXPECT_LT(group, semi) << plan;
  ExpectSameResults(sql);
}

TEST_F(JoinFiltersTest, TheRightSideFiltersBelowAWindowOfItsPartitions) {
  const std::string sql =
      "SELECT w.p, w.r FROM (SELECT p, n, ROW_NUMBER() OVER (PARTITION BY p ORDER BY n) AS r "
      "FROM lines) AS w JOIN parts ON w.p = parts.p WHERE name = 'green' ORDER BY 1, 2";
  const std::string plan = PlanOf(sql);
  const size_t window = plan.find("Window["), semi = plan.find("Join semi[");
  ASSERT_NE(semi, std::string::npos) << plan;
  EXPECT_LT(window, semi) << plan;
  ExpectSameResults(sql);
}

TEST_F(JoinFiltersTest, OneOfAWindowOverOtherPartitionsStaysAbove) {
  const std::string sql =
      "SELECT w.p, w.r FROM (SELECT p, n, ROW_NUMBER() OVER (PARTITION BY n ORDER BY p) AS r "
      "FROM lines) AS w JOIN parts ON w.p = parts.p WHERE name = 'green' ORDER BY 1, 2";
  const std::string plan = PlanOf(sql);
  const size_t window = plan.find("Window["), semi = plan.find("Join semi[");
  EXPECT_TRUE(semi == std::string::npos || semi < window) << plan;
  ExpectSameResults(sql);
}

TEST_F(JoinFiltersTest, AllKeysOfALeftSideFilterTogether) {
  // By each key alone most rows of the right would stay: p has few values here, place ten.
  Run("CREATE TABLE asked AS SELECT 1 + i AS p, i % 10 AS place FROM generate_series(0, 3999) AS "
      "s(i) "
      "WHERE i <> 7");
  const std::string sql =
      "SELECT asked.p, SUM(s.cost) FROM asked LEFT JOIN (SELECT p, place, SUM(cost) AS cost FROM "
      "stock "
      "GROUP BY p, place) AS s ON s.p = asked.p AND s.place = asked.place GROUP BY asked.p ORDER "
      "BY 1";
  ExpectSameResults(sql);
}

TEST_F(JoinFiltersTest, SidesThatKeepAllTheirRowsAreLeftAlone) {
  EXPECT_EQ(PlanOf("SELECT COUNT(*) FROM lines JOIN parts ON lines.p = parts.p"), "");
  EXPECT_EQ(PlanOf("SELECT COUNT(*) FROM lines LEFT JOIN stock ON stock.p = lines.p"), "");
}

TEST_F(JoinFiltersTest, RowsThatCountWithoutAPartnerStay) {
  ExpectSameResults(
      "SELECT COUNT(*), COUNT(name) FROM (SELECT p, COUNT(*) AS c FROM lines GROUP BY p) AS l "
      "LEFT JOIN (SELECT * FROM parts WHERE name = 'green') AS g ON l.p = g.p");
  ExpectSameResults(
      "SELECT COUNT(*), COUNT(l.p) FROM (SELECT p, COUNT(*) AS c FROM lines GROUP BY p) AS l "
      "FULL JOIN (SELECT * FROM parts WHERE name = 'green') AS g ON l.p = g.p");
  ExpectSameResults(
      "SELECT COUNT(*) FROM parts WHERE name = 'green' AND p NOT IN (SELECT p FROM lines)");
  ExpectSameResults(
      "SELECT COUNT(*) FROM parts WHERE NOT EXISTS (SELECT 1 FROM lines WHERE lines.p = parts.p)");
  ExpectSameResults(
      "SELECT COUNT(*) FROM (SELECT p FROM lines ORDER BY n LIMIT 50) AS l "
      "JOIN parts ON l.p = parts.p WHERE name = 'green'");
}

}  // namespace
}  // namespace adjoin::api
