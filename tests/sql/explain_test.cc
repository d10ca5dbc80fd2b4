// What EXPLAIN, EXPLAIN ANALYZE and traces say of plans and runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "plan/step_cost.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExplainTest : public ConnectionTest {};

// By operator: estimated and actual rows, "-" where there are none.
std::map<std::string, std::string> RowsByOperator(const std::string& json) {
  std::map<std::string, std::string> rows;
  const nlohmann::json report = nlohmann::json::parse(json);
  for (const nlohmann::json& node : report.at("Nodes")) {
    const auto text = [&](const char* key) { return node.contains(key) ? node[key].dump() : "-"; };
    rows[node.at("Operator")] = text("Plan Rows") + "/" + text("Actual Rows");
  }
  return rows;
}

TEST_F(ExplainTest, ExplainAnalyzeCountsTheRowsOfEachNode) {
  Run("CREATE TABLE a AS SELECT i AS id, i % 50 AS g, 0.5 AS v FROM generate_series(1, 5000) AS "
      "s(i);"
      "CREATE TABLE b AS SELECT i AS g, i / 10 AS h FROM generate_series(0, 39) AS s(i);"
      "CREATE TABLE w (i BIGINT PRIMARY KEY, v DOUBLE PRECISION);"
      "INSERT INTO w SELECT i, i FROM generate_series(0, 9) AS s(i); SET adjoin.batch_rows = 7");
  // Filters and joins that stream, a union, a join that is stored, and sorts, windows and limits.
  const std::string json = Rows(
      "EXPLAIN (ANALYZE, FORMAT json) SELECT h, SUM(v) AS s, RANK() OVER (ORDER BY h) FROM "
      "(SELECT g, v FROM a WHERE id <= 500 UNION ALL SELECT g, v FROM a WHERE id > 4900) AS u "
      "JOIN b ON u.g = b.g GROUP BY h ORDER BY h LIMIT 3");
  const auto rows = RowsByOperator(json);
  EXPECT_EQ(rows.at("Scan[a]"), "5000/5000");
  const std::map<std::string, std::string> actual = {{"Filter[id <= 500]", "500"},
                                                     {"Filter[4900 < id]", "100"},
                                                     {"UnionAll", "600"},
                                                     {"Join[g = g]", "480"},
                                                     {"Limit[3]", "3"}};
  for (const auto& [node, count] : actual)
    EXPECT_THAT(rows.at(node), ::testing::EndsWith("/" + count)) << node;
  for (const auto& [node, counts] : rows)
    EXPECT_EQ(counts.find('-'), std::string::npos) << node << " " << counts;
  const nlohmann::json report = nlohmann::json::parse(json);
  EXPECT_EQ(report.at("Steps").size(), report.at("Program").at("Steps"));
  double sum = 0;
  for (const nlohmann::json& step : report.at("Steps")) {
    EXPECT_GE(step.at("Start Time"), sum - 1e-9);
    sum += step.at("Time").get<double>();
  }
  EXPECT_LE(sum, report.at("Execution Time").get<double>() + 1e-9);
  EXPECT_GT(sum, 0);
  // Arrays: what has no mask has the rows of its box.
  const auto grid = RowsByOperator(
      Rows("EXPLAIN (ANALYZE, FORMAT json) WITH f AS (SELECT SUM(v * v) AS y FROM w) "
           "SELECT i, grad(f, v) AS d FROM w"));
  EXPECT_EQ(grid.at("Scan[w]"), "10/10");
  EXPECT_EQ(grid.at("GroupBy[sum(v * v)]"), "1/1");
  // Without ANALYZE nothing runs and nothing is counted.
  const auto planned = RowsByOperator(Rows("EXPLAIN (FORMAT json) SELECT * FROM b WHERE h = 3"));
  EXPECT_EQ(planned.at("Scan[b]"), "40/-");
  EXPECT_THAT(Rows("EXPLAIN ANALYZE SELECT * FROM b WHERE h = 3"),
              HasSubstr("Filter[h = 3]  (1)  rows=10  actual=10\n"));
}

// A step of arrays of every rule: shared, inlined and stored values, products, sums into them.
constexpr char kStep[] =
    "WITH h AS (SELECT x.i, w.k, tanh(SUM(x.v * w.v)) AS v FROM x JOIN w ON w.j = x.j "
    "GROUP BY x.i, w.k), l AS (SELECT SUM(v * v * exp(v)) AS y FROM h) "
    "UPDATE w SET v = v - 0.1 * grad(l, v)";
constexpr char kStepTables[] =
    "CREATE TABLE x (i BIGINT, j BIGINT, v DOUBLE PRECISION, PRIMARY KEY (i, j));"
    "CREATE TABLE w (j BIGINT, k BIGINT, v DOUBLE PRECISION, PRIMARY KEY (j, k));"
    "INSERT INTO x SELECT i, j, 0.01 * (i + j) FROM generate_series(0, 39) AS a(i) "
    "CROSS JOIN generate_series(0, 19) AS b(j);"
    "INSERT INTO w SELECT j, k, 0.02 * (j - k) FROM generate_series(0, 19) AS a(j) "
    "CROSS JOIN generate_series(0, 9) AS b(k);";

TEST_F(ExplainTest, RulesSayWhatTheyDid) {
  Run(kStepTables);
  const std::string text = Rows(std::string("EXPLAIN ") + kStep);
  for (const char* rule : {"share", "contraction", "inline", "store"})
    EXPECT_THAT(text, HasSubstr(std::string("Rule ") + rule + ": ")) << rule;
  EXPECT_THAT(text, HasSubstr("Rule contraction: 2 products  (predicted saving "));
  EXPECT_THAT(text, HasSubstr(" 1 sums into products"));
  EXPECT_THAT(text, HasSubstr(" bytes written, estimated peak "));
  const nlohmann::json planned =
      nlohmann::json::parse(Rows(std::string("EXPLAIN (FORMAT json) ") + kStep));
  EXPECT_GT(planned.at("Program").at("Bytes Written"), 0);
  EXPECT_GE(planned.at("Program").at("Estimated Peak Bytes"),
            planned.at("Program").at("Arena Bytes"));
  for (const nlohmann::json& rule : planned.at("Rules")) EXPECT_TRUE(rule.contains("Did")) << rule;
  // Predicted times stand beside measured ones.
  Run("SET adjoin.share = off; SET adjoin.inline = off; SET adjoin.contraction = off");
  const nlohmann::json ran =
      nlohmann::json::parse(Rows(std::string("EXPLAIN (ANALYZE, FORMAT json) ") + kStep));
  for (const nlohmann::json& step : ran.at("Steps")) {
    EXPECT_GT(step.at("Predicted Time"), 0.0) << step;
    EXPECT_TRUE(step.contains("Time")) << step;
  }
  for (const nlohmann::json& rule : ran.at("Rules")) {
    EXPECT_NE(rule.at("Rule"), "inline");
    EXPECT_NE(rule.at("Rule"), "contraction");
  }
}

std::string CostsFile(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/adjoin_costs.json";
  std::ofstream(path) << text;
  return path;
}

// Every constant the same: what takes longest is no longer what it was.
std::string AllCosts(double value) {
  nlohmann::json costs;
  for (const StepCostField& field : kStepCostFields) costs[field.name] = value;
  return costs.dump();
}

TEST_F(ExplainTest, CostsChangeNothingButWhatIsPredicted) {
  const auto planned = [&] {
    return nlohmann::json::parse(Rows(std::string("EXPLAIN (FORMAT json) ") + kStep));
  };
  Run(kStepTables);
  const nlohmann::json before = planned();
  Run("CREATE TABLE w0 AS SELECT * FROM w; " + std::string(kStep));
  const std::string values = Rows("SELECT v FROM w ORDER BY j, k");
  for (double value : {1e-9, 1e9}) {
    Run("SET adjoin.costs = '" + CostsFile(AllCosts(value)) + "'");
    Run("UPDATE w SET v = w0.v FROM w0 WHERE w0.j = w.j AND w0.k = w.k");
    const nlohmann::json after = planned();
    EXPECT_EQ(after.at("Program"), before.at("Program"));
    ASSERT_EQ(after.at("Steps").size(), before.at("Steps").size());
    for (size_t s = 0; s < after.at("Steps").size(); ++s) {
      EXPECT_EQ(after["Steps"][s]["Kernel"], before["Steps"][s]["Kernel"]);
      EXPECT_NE(after["Steps"][s]["Predicted Time"], before["Steps"][s]["Predicted Time"]);
    }
    Run(kStep);
    EXPECT_EQ(Rows("SELECT v FROM w ORDER BY j, k"), values);
  }
  Run("RESET adjoin.costs");
  EXPECT_EQ(Rows("SHOW adjoin.costs"), "\n");
  EXPECT_EQ(planned().at("Steps"), before.at("Steps"));
}

TEST_F(ExplainTest, FilesWithoutCostsAreErrors) {
  EXPECT_EQ(Error("SET adjoin.costs = '/no/such/costs.json'").substr(0, 5), "58P01");
  nlohmann::json costs = nlohmann::json::parse(AllCosts(2));
  const auto fault = [&](const std::string& text) -> std::string {
    const auto set = connection_.Execute("SET adjoin.costs = '" + CostsFile(text) + "'");
    return set.ok() ? "no error" : FormatError(set.status());
  };
  EXPECT_EQ(fault(costs.dump()), "no error");
  EXPECT_THAT(fault("{"), HasSubstr("It is no JSON object."));
  costs["tanh_ns"] = -1;
  EXPECT_THAT(fault(costs.dump()), HasSubstr("\"tanh_ns\" is no positive number: -1"));
  costs["tanh_ns"] = 1;
  costs["luck"] = 1;
  EXPECT_THAT(fault(costs.dump()), HasSubstr("\"luck\" is no cost."));
  costs.erase("luck");
  costs.erase("exp_ns");
  EXPECT_THAT(fault(costs.dump()), HasSubstr("\"exp_ns\" is missing."));
  EXPECT_EQ(Error("SET adjoin.costs = '" + CostsFile(costs.dump()) + "'").substr(0, 5), "22023");
  EXPECT_THAT(Rows("SHOW adjoin.costs"), HasSubstr("adjoin_costs.json"));  // the last good one
}

TEST_F(ExplainTest, FirstRowsOfPartitionsAreFoundBeforeTheWindow) {
  Run("CREATE TABLE t AS SELECT i % 5 AS g, i AS v FROM generate_series(1, 100) AS s(i)");
  const std::string top =
      "EXPLAIN SELECT g FROM (SELECT g, ROW_NUMBER() OVER (PARTITION BY g "
      "ORDER BY v) AS r FROM t) AS x WHERE r <= ";
  EXPECT_THAT(Rows(top + "2"), HasSubstr("first 2 rows by 1 keys of"));
  EXPECT_THAT(Rows(top + "1000"), ::testing::Not(HasSubstr("first ")));
  EXPECT_THAT(Rows(top + "g"), ::testing::Not(HasSubstr("first ")));
}

TEST_F(ExplainTest, PercentilesAreAggregates) {
  Run("CREATE TABLE t (g BIGINT, x DOUBLE PRECISION)");
  EXPECT_THAT(Rows("EXPLAIN SELECT g, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x), "
                   "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x DESC) FROM t GROUP BY g"),
              HasSubstr("GroupBy[g; percentile_up(x, 0.5), percentile_down(x, 0.25)]"));
}

TEST_F(ExplainTest, ATraceHasStatementsAndTheirSteps) {
  const std::string path = ::testing::TempDir() + "/adjoin_trace.json";
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION)");
  ASSERT_TRUE(connection_.Trace(path).ok());
  Run("INSERT INTO t VALUES (1, 0.5)");
  EXPECT_EQ(Rows("SELECT v FROM t WHERE k = 1"), "0.5\n");
  EXPECT_EQ(Error("SELECT 1 / (k - 1) FROM t").substr(0, 5), "22012");
  Run("UPDATE t SET v = v + 1");
  ASSERT_TRUE(connection_.Trace("").ok());
  Run("DELETE FROM t");  // no more
  std::ifstream file(path);
  const nlohmann::json events = nlohmann::json::parse(file);
  std::vector<std::string> statements;
  double begin = 0, end = 0;
  for (const nlohmann::json& event : events) {
    EXPECT_EQ(event.at("ph"), "X");
    if (event.at("cat") == "statement") {
      statements.push_back(event.at("name"));
      EXPECT_GE(event.at("ts"), end - 1);
      begin = event.at("ts");
      end = begin + event.at("dur").get<double>();
    } else {
      EXPECT_GE(event.at("ts"), begin);
      EXPECT_LE(event.at("ts").get<double>() + event.at("dur").get<double>(), end + 100);
    }
  }
  EXPECT_THAT(statements, ElementsAre("INSERT INTO t VALUES (1, 0.5)",
                                      "SELECT v FROM t WHERE k = 1", "UPDATE t SET v = v + 1"));
  EXPECT_EQ(SqlState(connection_.Trace("/no/such/folder/trace.json")), "58P01");
  std::remove(path.c_str());
}

TEST_F(ExplainTest, ExplainIsOneLineARow) {
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
  EXPECT_EQ(Error("EXPLAIN (FORMAT XML) SELECT 1").substr(0, 5), "0A000");
  Run("CREATE TABLE d (day DATE, span INTERVAL)");
  EXPECT_THAT(Rows("EXPLAIN SELECT day FROM d WHERE day < DATE '2000-01-01' AND span > '1 mon'"),
              HasSubstr("(day < '2000-01-01') and ('1 mon' < span)"));
}

}  // namespace
}  // namespace adjoin::api
