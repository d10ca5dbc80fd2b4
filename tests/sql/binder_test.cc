// Plans that SQL texts bind to, and their output columns and parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/container/flat_hash_set.h"
#include "tests/sql/binder_testing.h"

namespace adjoin {
namespace {

using ::testing::ElementsAre;

const TestCatalog& Catalog() {
  static const TestCatalog catalog(R"(
      CREATE TABLE t (id BIGINT, x INTEGER, y DOUBLE PRECISION, s TEXT);
      CREATE TABLE u (id BIGINT, x INTEGER);
      CREATE TABLE o (id BIGINT, k BIGINT);
      CREATE TABLE d (k BIGINT, v DOUBLE PRECISION);
      CREATE TABLE w (i BIGINT PRIMARY KEY, val DOUBLE PRECISION, r REAL);
      CREATE TABLE n (i BIGINT, val DOUBLE PRECISION);
      CREATE VIEW big(a, b) AS SELECT id, x FROM t WHERE x > 100;)");
  return catalog;
}

std::string PlanOf(std::string_view sql) { return PlanText(sql, Catalog()); }

TEST(BinderTest, SelectGoesFromScanToProject) {
  EXPECT_EQ(PlanOf("SELECT id, x + 1 AS z FROM t WHERE y > 1.5 ORDER BY z LIMIT 3"),
            "Limit[3]\n"
            "  Sort[z]\n"
            "    Project[id, z = x + 1]\n"
            "      Filter[1.5 < y]\n"
            "        Scan[t]\n");
  EXPECT_EQ(PlanOf("SELECT * FROM t"), "Scan[t]\n");
}

TEST(BinderTest, SortColumnsOutsideTheSelectListAreHidden) {
  EXPECT_EQ(PlanOf("SELECT y FROM t ORDER BY id DESC"),
            "Project[y]\n"
            "  Sort[id DESC]\n"
            "    Project[y, id]\n"
            "      Scan[t]\n");
}

TEST(BinderTest, ConditionsGoAsLowAsOuterJoinsAllow) {
  EXPECT_EQ(PlanOf("SELECT 1 AS c FROM t JOIN u ON t.id = u.id AND t.x > 15 LEFT JOIN o ON o.id = "
                   "u.id AND o.k = 1 "
                   "AND t.y > 2 WHERE u.x < 4 AND o.k IS NULL"),
            "Project[c = 1]\n"
            "  Filter[k is null]\n"
            "    Join left[id = id; 2 < y]\n"
            "      Join[id = id]\n"
            "        Filter[15 < x]\n"
            "          Scan[t]\n"
            "        Filter[x < 4]\n"
            "          Scan[u]\n"
            "      Filter[k = 1]\n"
            "        Scan[o]\n");
}

TEST(BinderTest, CommaJoinsTakeTheirKeysFromWhere) {
  // d comes before u: an equality connects it with t, and u only with d.
  EXPECT_EQ(PlanOf("SELECT t.id FROM t, u, d WHERE t.y = d.v AND d.k = u.id"),
            "Project[id]\n"
            "  Project[id, x, y, s, id, x, k, v]\n"
            "    Join[k = id]\n"
            "      Join[y = v]\n"
            "        Scan[t]\n"
            "        Scan[d]\n"
            "      Scan[u]\n");
}

TEST(BinderTest, JoinKeysHaveEqualTypes) {
  EXPECT_EQ(PlanOf("SELECT 1 AS c FROM t JOIN o ON t.x = o.k"),
            "Project[c = 1]\n"
            "  Join[CAST(x AS bigint) = k]\n"
            "    Scan[t]\n"
            "    Scan[o]\n");
}

TEST(BinderTest, UsingMergesColumns) {
  EXPECT_EQ(PlanOf("SELECT * FROM u FULL JOIN o USING (id)"),
            "Project[id = coalesce(id, id), x, k]\n"
            "  Join full[id = id]\n"
            "    Scan[u]\n"
            "    Scan[o]\n");
  EXPECT_EQ(PlanOf("SELECT * FROM u RIGHT JOIN o USING (id)"),
            "Project[id, x, k]\n"
            "  Join left[id = id]\n"
            "    Scan[o]\n"
            "    Scan[u]\n");
}

TEST(BinderTest, GroupsThenHavingThenWindows) {
  EXPECT_EQ(PlanOf("SELECT x, SUM(y) / SUM(SUM(y)) OVER () FROM t GROUP BY x HAVING COUNT(*) > 1"),
            "Project[x, ?column? = sum / sum]\n"
            "  Window[sum(sum)]\n"
            "    Filter[1 < count(*)]\n"
            "      GroupBy[x; sum(y), count(*)]\n"
            "        Scan[t]\n");
}

TEST(BinderTest, EqualAggregatesAndWindowsAreSharedOncePerLevel) {
  EXPECT_EQ(PlanOf("SELECT SUM(y) + 1 AS a, SUM(y) * 2 AS b FROM t"),
            "Project[a = sum + 1, b = sum * 2]\n"
            "  GroupBy[sum(y)]\n"
            "    Scan[t]\n");
  EXPECT_EQ(PlanOf("SELECT SUM(y) OVER w AS a, MAX(y) OVER w AS b FROM t WINDOW w AS (PARTITION BY "
                   "x ORDER BY id)"),
            "Project[a = sum, b = max]\n"
            "  Window[sum(y), max(y); partition x; order id; RANGE BETWEEN UNBOUNDED PRECEDING AND "
            "CURRENT ROW]\n"
            "    Scan[t]\n");
}

TEST(BinderTest, ColumnsOfAGroupedPrimaryKeyNeedNoGrouping) {
  EXPECT_EQ(PlanOf("SELECT i, val, COUNT(*) FROM w GROUP BY i"),
            "GroupBy[i, val; count(*)]\n"
            "  Scan[w]\n");
}

TEST(BinderTest, EveryReferenceOfAWithItemIsOneNode) {
  Planner planner;
  const auto statement = BindText(
      "WITH c AS (SELECT id, SUM(y) AS s FROM t GROUP BY id) "
      "SELECT a.id FROM c a JOIN c b ON a.id = b.id",
      Catalog(), planner);
  ASSERT_TRUE(statement.ok()) << statement.status();
  const Node& join = *statement->outputs[0].plan->inputs[0];
  EXPECT_EQ(join.inputs[0], join.inputs[1]);
}

TEST(BinderTest, ExistsAndInAreSemiJoins) {
  EXPECT_EQ(PlanOf("SELECT id FROM o WHERE EXISTS (SELECT 1 FROM d WHERE d.k = o.k AND v > 1)"),
            "Project[id]\n"
            "  Join semi[k = k]\n"
            "    Scan[o]\n"
            "    Filter[1 < v]\n"
            "      Scan[d]\n");
  EXPECT_EQ(PlanOf("SELECT id FROM o WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.k = o.k)"),
            "Project[id]\n"
            "  Join anti[k = k]\n"
            "    Scan[o]\n"
            "    Scan[d]\n");
  EXPECT_EQ(PlanOf("SELECT id FROM o WHERE k NOT IN (SELECT k FROM d)"),
            "Project[id]\n"
            "  Join null-aware anti[k = k]\n"
            "    Scan[o]\n"
            "    Project[k]\n"
            "      Scan[d]\n");
}

TEST(BinderTest, CorrelatedAggregatesAreLookedUp) {
  EXPECT_EQ(PlanOf("SELECT id, (SELECT SUM(v) FROM d WHERE d.k = o.k) FROM o"),
            "Project[id, sum]\n"
            "  Lookup[k <=> k]\n"
            "    Scan[o]\n"
            "    Project[k, sum]\n"
            "      Lookup[k <=> k]\n"
            "        GroupBy[k]\n"
            "          Scan[o]\n"
            "        GroupBy[k; sum(v)]\n"
            "          Join[k = k]\n"
            "            ^4\n"
            "            Scan[d]\n");
}

TEST(BinderTest, NoPlaceholderIsLeft) {
  for (const char* sql : {"SELECT id, (SELECT COUNT(*) FROM d WHERE d.k IN (SELECT x FROM u WHERE "
                          "u.id = o.id)) FROM o",
                          "SELECT id, k > ALL (SELECT k FROM d WHERE d.v > o.id) FROM o",
                          "SELECT k, (SELECT MAX(v) FROM d WHERE d.k = o.k) FROM o GROUP BY k "
                          "HAVING COUNT(*) IN (SELECT k FROM d)"}) {
    EXPECT_THAT(PlanOf(sql), ::testing::Not(::testing::HasSubstr("$1048"))) << sql;
  }
}

TEST(BinderTest, GradStandsInThePlaceOfItsTable) {
  EXPECT_EQ(PlanOf("WITH f AS (SELECT SUM(val * val) AS l FROM w) SELECT i, val - 0.1 * grad(f, "
                   "val) AS v FROM w"),
            "Project[i, v = val - (0.1 * dval)]\n"
            "  Derivative[val]\n"
            "    GroupBy[sum(val * val)]\n"
            "      Scan[w]\n"
            "    Scan[w]\n");
}

TEST(BinderTest, UpdateDifferentiatesOverRowIds) {
  EXPECT_EQ(PlanOf("WITH f AS (SELECT SUM(val * r) AS l FROM w) "
                   "UPDATE w SET val = val - grad(f, val), r = grad(f, w.r)"),
            "Project[rowid, val - dval, dr]\n"
            "  Derivative[val, r]\n"
            "    GroupBy[sum(val * CAST(r AS double precision))]\n"
            "      Scan[w]\n"
            "    RowId\n"
            "      Scan[w]\n");
}

TEST(BinderTest, TwoLossesAreTwoDerivativesOverRowIds) {
  EXPECT_EQ(PlanOf("WITH f AS (SELECT SUM(val) AS l FROM w), g AS (SELECT AVG(val) AS l FROM w) "
                   "SELECT grad(f, val) AS a, grad(g, val) AS b FROM w"),
            "Project[a = dval, b = dval]\n"
            "  Lookup[rowid <=> rowid]\n"
            "    Derivative[val]\n"
            "      GroupBy[sum(val)]\n"
            "        Scan[w]\n"
            "      RowId\n"
            "        Scan[w]\n"
            "    Project[rowid, dval]\n"
            "      Derivative[val]\n"
            "        GroupBy[avg(val)]\n"
            "          Scan[w]\n"
            "        ^3\n");
}

TEST(BinderTest, ATableWithoutKeyMustBeIdentifiedByItsOtherColumns) {
  EXPECT_EQ(PlanOf("WITH f AS (SELECT SUM(val) AS l FROM n) SELECT i, grad(f, val) AS d FROM n"),
            "Project[i, d = dval]\n"
            "  Require[unique i]\n"
            "    Derivative[val]\n"
            "      GroupBy[sum(val)]\n"
            "        Scan[n]\n"
            "      Scan[n]\n");
}

TEST(BinderTest, VjpHasTheCotangentAsItsThirdInput) {
  EXPECT_EQ(
      PlanOf("WITH h AS (SELECT i, val * val AS y FROM w) SELECT i, vjp(h, val, n) AS d FROM w"),
      "Project[i, d = dval]\n"
      "  Derivative[val]\n"
      "    Project[i, y = val * val]\n"
      "      Scan[w]\n"
      "    Scan[w]\n"
      "    Scan[n]\n");
}

TEST(BinderTest, ModifyingItemsOfWithAreOutputsOfTheirOwn) {
  Planner planner;
  const auto statement = BindText(
      "WITH a AS (UPDATE w SET val = 0), b AS (DELETE FROM n WHERE i > 3) "
      "INSERT INTO u (x) SELECT x FROM t",
      Catalog(), planner);
  ASSERT_TRUE(statement.ok()) << statement.status();
  ASSERT_EQ(statement->outputs.size(), 3u);
  EXPECT_EQ(std::get<InsertSink>(statement->outputs[0].sink).table, "u");
  EXPECT_THAT(std::get<UpdateSink>(statement->outputs[1].sink).columns, ElementsAre(1));
  EXPECT_EQ(std::get<DeleteSink>(statement->outputs[2].sink).table, "n");
}

TEST(BinderTest, InsertFillsColumnsThatAreNotListed) {
  EXPECT_EQ(PlanOf("INSERT INTO u (x) SELECT y FROM t"),
            "Project[id = NULL, x = CAST(y AS integer)]\n"
            "  Project[y]\n"
            "    Scan[t]\n");
}

TEST(BinderTest, UpdateFromTakesTheFirstMatch) {
  EXPECT_EQ(PlanOf("UPDATE u SET x = t.x FROM t WHERE t.id = u.id"),
            "Project[rowid, x]\n"
            "  Filter[row_number = 1]\n"
            "    Window[row_number(); partition rowid]\n"
            "      Join[id = id]\n"
            "        RowId\n"
            "          Scan[u]\n"
            "        Scan[t]\n");
}

TEST(BinderTest, ViewsAreBoundInPlace) {
  EXPECT_EQ(PlanOf("SELECT a FROM big"),
            "Project[a = id]\n"
            "  Project[id, x]\n"
            "    Filter[100 < x]\n"
            "      Scan[t]\n");
}

TEST(BinderTest, SetOperationsBringOperandsToOneType) {
  EXPECT_EQ(PlanOf("SELECT x FROM t UNION ALL SELECT y FROM t UNION ALL SELECT NULL"),
            "UnionAll\n"
            "  Project[x = CAST(x AS double precision)]\n"
            "    Project[x]\n"
            "      Scan[t]\n"
            "  Project[y]\n"
            "    Scan[t]\n"
            "  Project[?column? = NULL]\n"
            "    Values[1 rows]\n");
  EXPECT_EQ(PlanOf("SELECT x FROM t EXCEPT SELECT x FROM u"),
            "GroupBy[x]\n"
            "  Join anti[x <=> x]\n"
            "    Project[x]\n"
            "      Scan[t]\n"
            "    Project[x]\n"
            "      Scan[u]\n");
}

TEST(BinderTest, OutputNamesAreThoseOfPostgreSql) {
  Planner planner;
  const auto statement = BindText(
      "SELECT x, t.y, 1, SUM(id), x::text, CASE WHEN true THEN 1 ELSE x END, COALESCE(x, 1), "
      "NULLIF(x, 1), GREATEST(x, 1), EXISTS (SELECT 1), (SELECT y AS q), CASE WHEN true THEN 1 "
      "END, 1::bigint, -x FROM t GROUP BY x, y",
      Catalog(), planner);
  ASSERT_TRUE(statement.ok()) << statement.status();
  EXPECT_THAT(statement->result_names,
              ElementsAre("x", "y", "?column?", "sum", "x", "x", "coalesce", "nullif", "greatest",
                          "exists", "q", "case", "int8", "?column?"));
}

TEST(BinderTest, ParametersTakeTheTypeOfTheirPlace) {
  Planner planner;
  const auto statement = BindText(
      "SELECT $1 + y, s || $2 FROM t WHERE x = $3 AND id IN ($4, 7) LIMIT $5", Catalog(), planner);
  ASSERT_TRUE(statement.ok()) << statement.status();
  EXPECT_THAT(statement->parameters, ElementsAre(TypeId::kFloat64, TypeId::kText, TypeId::kInt32,
                                                 TypeId::kInt64, TypeId::kInt64));
}

TEST(BinderTest, DeclaredParametersKeepTheirType) {
  Planner planner;
  BindOptions options;
  options.parameter_types = {TypeId::kInt32, std::nullopt};
  const auto statement = BindText("SELECT $1 + y FROM t WHERE y < $2", Catalog(), planner, options);
  ASSERT_TRUE(statement.ok()) << statement.status();
  EXPECT_THAT(statement->parameters, ElementsAre(TypeId::kInt32, TypeId::kFloat64));
}

TEST(BinderTest, WeakFloatsStayReal) {
  BindOptions options;
  options.weak_real = true;
  EXPECT_EQ(PlanText("SELECT r * 0.5 AS a, AVG(r) OVER () AS b FROM w", Catalog(), options),
            "Project[a = r * 0.5, b = avg]\n"
            "  Window[avg(r)]\n"
            "    Scan[w]\n");
  EXPECT_EQ(PlanOf("SELECT r * 0.5 AS a FROM w"),
            "Project[a = CAST(r AS double precision) * 0.5]\n"
            "  Scan[w]\n");
}

TEST(BinderTest, NotesTheRelationsOfTheTextItself) {
  std::vector<std::string> relations;
  BindOptions options;
  options.relations = &relations;
  PlanText("WITH c AS (SELECT * FROM u) SELECT * FROM big, c, u", Catalog(), options);
  EXPECT_THAT(relations, ElementsAre("u", "big"));
}

TEST(BinderTest, ChainsOfWithItemsNeedNoStack) {
  std::string sql = "WITH c0 AS (SELECT id, y FROM t)";
  for (int i = 1; i < 2000; ++i) {
    absl::StrAppend(&sql, ", c", i, " AS (SELECT a.id, a.y + b.y AS y FROM c", i - 1, " a JOIN c",
                    i - 1, " b ON a.id = b.id)");
  }
  absl::StrAppend(&sql, " SELECT SUM(y) FROM c1999");
  Planner planner;
  const auto statement = BindText(sql, Catalog(), planner);
  ASSERT_TRUE(statement.ok()) << statement.status();
  EXPECT_EQ(TopologicalOrder({statement->outputs[0].plan}).size(), 2u * 2000 + 1);
}

TEST(BinderTest, BindsConstantsToParameterTypes) {
  const auto parsed = Parse("EXECUTE p (1, '2.5', NULL, 1 + 1)");
  const auto utility = DecodeUtility((*parsed)[0].tree, (*parsed)[0].text);
  const auto& execute = std::get<Execute>(*utility);
  BindOptions options;
  options.text = (*parsed)[0].text;
  const auto values = BindConstants(
      execute.args, {TypeId::kFloat64, TypeId::kFloat32, TypeId::kText, std::nullopt}, options);
  ASSERT_TRUE(values.ok()) << values.status();
  ASSERT_EQ(values->size(), 4u);
  EXPECT_EQ((*values)[0]->constant.as_float(), 1.0);
  EXPECT_EQ((*values)[1]->constant.as_float(), 2.5);
  EXPECT_TRUE(IsNullConstant(*(*values)[2]));
  EXPECT_EQ((*values)[3]->type, TypeId::kInt32);
  const auto wrong = BindConstants(execute.args, {TypeId::kBool}, options);
  EXPECT_EQ(
      ErrorText(wrong.status()),
      "42804 at 12: parameter $1 of type integer cannot be coerced to the expected type boolean\n"
      "HINT: You will need to rewrite or cast the expression.");
}

}  // namespace
}  // namespace adjoin
