// Gradients of random plans: by differences where the plan is smooth, and on the engine against the
// interpreter.
#include <cmath>
#include <cstdlib>

#include "ad/derivatives.h"
#include "engine/status.h"
#include "gtest/gtest.h"
#include "plan/scalar_functions.h"
#include "tests/reference/engine_run.h"
#include "tests/reference/random_plan.h"

namespace adjoin::reference {
namespace {

constexpr TypeId kF = TypeId::kFloat64;

// A scalar over a random plan, and a DOUBLE column of a table that it reads.
struct Question {
  NodeRef loss;
  NodeRef scan;
  int column;
};

std::vector<Question> QuestionsOf(RandomPlan& plan) {
  const NodeRef root = plan.root().node;
  NodeRef loss;
  for (int c = 0; c < root->width(); ++c) {
    if (root->types[static_cast<size_t>(c)] != kF) continue;
    const ExprRef v = ColumnExpr(c, kF);
    const ExprRef e = adjoin::Add(CallNamed("sin", {v}, kF), Mul(v, FloatConst(0.5, kF)));
    const Aggregate sum{AggregateFunction::kSum, e, nullptr, false, kF};
    loss = plan.planner().Make(GroupBy{{}, {sum}}, {root}, {"l"});
  }
  std::vector<Question> questions;
  if (loss == nullptr) return questions;
  for (const NodeRef& node : TopologicalOrder({root})) {
    const auto* scan = std::get_if<Scan>(&node->op);
    for (int c = 0; scan != nullptr && c < node->width(); ++c) {
      if (node->types[static_cast<size_t>(c)] == kF) questions.push_back({loss, node, c});
    }
  }
  return questions;
}

absl::StatusOr<NodeRef> GradientPlan(const Question& q, Planner& planner) {
  Statement statement;
  statement.outputs.push_back(
      {ResultSink{}, planner.Make(Derivative{{q.column}, {}}, {q.loss, q.scan})});
  ADJOIN_RETURN_IF_ERROR(ResolveDerivatives(&statement, planner));
  return statement.outputs[0].plan;
}

double LossAt(const Question& q, std::map<uint64_t, TableRef> tables, size_t row, double step) {
  TableRef& table = tables.at(std::get<Scan>(q.scan->op).table_id);
  Rows rows = RowsOf(*table);
  Value& cell = rows[row][static_cast<size_t>(q.column)];
  cell = Value::Float(cell.as_float() + step);
  table = TableOf(table->schema(), rows).value();
  const absl::StatusOr<Rows> loss = Interpret(q.loss, tables);
  if (!loss.ok() || (*loss)[0][0].is_null()) return NAN;
  return (*loss)[0][0].as_float();
}

// The slope of the loss by one cell, where it is smooth there: both sides and two step sizes agree.
std::optional<double> SmoothSlope(const Question& q, const std::map<uint64_t, TableRef>& tables,
                                  size_t row) {
  const auto at = [&](double step) { return LossAt(q, tables, row, step); };
  constexpr double kStep = 1e-4;
  const double here = at(0), right = (at(kStep) - here) / kStep, left = (here - at(-kStep)) / kStep;
  const double central = (right + left) / 2, half = (at(kStep / 2) - at(-kStep / 2)) / kStep;
  const double scale = 1 + std::fabs(central);
  if (!std::isfinite(central) || !(std::fabs(right - left) < 1e-2 * scale)) return std::nullopt;
  if (!(std::fabs(half - central) < 1e-5 * scale)) return std::nullopt;
  return half;
}

std::pair<uint64_t, uint64_t> Seeds() {
  const char* seeds = std::getenv("ADJOIN_SEEDS");
  if (seeds == nullptr) return {1, 120};
  char* end = nullptr;
  const uint64_t from = std::strtoull(seeds, &end, 10);
  return {from, *end == ',' ? std::strtoull(end + 1, nullptr, 10) : 1};
}

// Calls check(seed, plan, question, gradient plan) for every question that has an answer; how many
// there were.
template <typename Check>
int ForEachGradient(const Check& check) {
  const auto [from, count] = Seeds();
  int answered = 0;
  for (uint64_t seed = from; seed < from + count && !testing::Test::HasFailure(); ++seed) {
    RandomPlan plan(5000 + seed, 3 + static_cast<int>(seed % 10), /*float_keys=*/false);
    for (const Question& q : QuestionsOf(plan)) {
      const absl::StatusOr<NodeRef> gradient = GradientPlan(q, plan.planner());
      if (!gradient.ok()) {
        EXPECT_EQ(SqlStateOf(gradient.status()), sqlstate::kNoDerivativeRule)
            << gradient.status() << " seed " << seed;
        continue;
      }
      SCOPED_TRACE("seed " + std::to_string(seed) + ", column " + std::to_string(q.column) +
                   " of " + std::get<Scan>(q.scan->op).table);
      check(plan, q, *gradient);
      ++answered;
    }
  }
  return answered;
}

TEST(RandomGradientTest, EqualsDifferencesWhereSmooth) {
  int compared = 0;
  ForEachGradient([&](RandomPlan& plan, const Question& q, const NodeRef& gradient) {
    const absl::StatusOr<Rows> rows = Interpret(gradient, plan.tables());
    ASSERT_TRUE(rows.ok()) << rows.status() << "\n" << ToString(gradient);
    const Rows table = RowsOf(*plan.tables().at(std::get<Scan>(q.scan->op).table_id));
    ASSERT_EQ(rows->size(), table.size());
    for (size_t r = 0; r < table.size(); ++r) {
      const Value& value = table[r][static_cast<size_t>(q.column)];
      const Value& slope = (*rows)[r].back();
      ASSERT_EQ(slope.is_null(), value.is_null()) << ToString(q.loss);
      if (value.is_null() || !std::isfinite(value.as_float()) || r >= 6) continue;
      const std::optional<double> expected = SmoothSlope(q, plan.tables(), r);
      if (!expected.has_value()) continue;
      ++compared;
      EXPECT_NEAR(slope.as_float(), *expected, 1e-4 * (1 + std::fabs(*expected)))
          << "row " << r << "\n"
          << ToString(q.loss);
    }
  });
  if (std::getenv("ADJOIN_SEEDS") == nullptr) {
    EXPECT_GT(compared, 100);
  }
}

TEST(RandomGradientTest, EngineAgreesWithInterpreter) {
  const int answered =
      ForEachGradient([&](RandomPlan& plan, const Question&, const NodeRef& gradient) {
        const absl::StatusOr<Rows> expected = Interpret(gradient, plan.tables());
        ASSERT_TRUE(expected.ok()) << expected.status() << "\n" << ToString(gradient);
        const std::string fault = CheckOnEngine(gradient, plan.tables(), *expected);
        EXPECT_TRUE(fault.empty()) << fault;
      });
  if (std::getenv("ADJOIN_SEEDS") == nullptr) {
    EXPECT_GT(answered, 50);
  }
}

}  // namespace
}  // namespace adjoin::reference
