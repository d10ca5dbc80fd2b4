// Plans built in code mean what their SQL means.
#include <gtest/gtest.h>

#include "adjoin/plan.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

using PlanBuilderTest = ConnectionTest;

TEST_F(PlanBuilderTest, PlansAreBuiltInCode) {
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

TEST_F(PlanBuilderTest, PlanOperatorsMeanTheirSql) {
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

}  // namespace
}  // namespace adjoin::api
