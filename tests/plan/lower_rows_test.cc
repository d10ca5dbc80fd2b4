// The Rows engine alone, without the optimiser or grids: every plan through RowsLowering, against
// the interpreter.
#include "plan/lower_rows.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "gtest/gtest.h"
#include "plan/scalar_functions.h"
#include "tests/reference/compare.h"
#include "tests/reference/random_plan.h"

namespace adjoin {
namespace {

using reference::CompareRows;
using reference::Interpret;
using reference::RandomPlan;
using reference::Rows;
using reference::RowsOf;
using reference::RowsText;
using Tables = std::map<uint64_t, TableRef>;

struct Setting {
  int threads;
  int64_t batch_rows, morsel_rows, work_mem;
};
constexpr Setting kSettings[] = {{1, 1024, 65536, 1 << 28},
                                 {1, 3, 5, 1 << 28},
                                 {4, 3, 5, 1 << 28},
                                 {1, 2, 7, 0},
                                 {4, 1024, 20, 0}};

// The table of `root` as the Rows engine makes it.
absl::StatusOr<TableRef> RunRows(const NodeRef& root, const Tables& tables, const Setting& setting,
                                 const std::vector<Value>& parameters = {},
                                 RunControl* control = nullptr) {
  PlanOptions options;
  options.batch_rows = setting.batch_rows;
  options.morsel_rows = setting.morsel_rows;
  options.work_mem = setting.work_mem;
  int slots = 0;
  RowsLoweringInputs inputs;
  inputs.new_slot = [&] { return slots++; };
  inputs.known_rows = [&](const NodeRef& node) -> double {
    const auto* scan = std::get_if<Scan>(&node->op);
    return scan == nullptr ? -1 : static_cast<double>(tables.at(scan->table_id)->num_rows());
  };
  RowsLowering lowering(options, {root}, inputs);
  ADJOIN_ASSIGN_OR_RETURN(const int slot, lowering.Lower(root));
  TaskPool pool(setting.threads);
  RunState state;
  state.tables = {tables.begin(), tables.end()};
  state.parameters = parameters;
  state.pool = &pool;
  state.budget = std::make_shared<MemoryBudget>();
  state.control = control;
  for (const auto& step : lowering.TakeSteps()) ADJOIN_RETURN_IF_ERROR(step->Run(state));
  // Everything but the result has been released.
  for (size_t s = 0; s < state.relations.size(); ++s) {
    EXPECT_TRUE(static_cast<int>(s) == slot || state.relations[s] == nullptr) << "slot " << s;
  }
  return state.relations[static_cast<size_t>(slot)];
}

std::string CheckRows(const NodeRef& root, const Tables& tables, const Rows& expected) {
  std::map<std::pair<int64_t, int64_t>, Rows>
      first;  // by batch and morsel: bits must not depend on threads
  for (const Setting& setting : kSettings) {
    const absl::StatusOr<TableRef> table = RunRows(root, tables, setting);
    std::string fault;
    if (!table.ok()) {
      fault = std::string(table.status().message());
    } else {
      const Rows actual = RowsOf(**table);
      fault = CompareRows(expected, actual, root->types);
      auto [it, added] = first.try_emplace({setting.batch_rows, setting.morsel_rows}, actual);
      if (fault.empty() && !added && it->second != actual) fault = "other bits with other threads";
    }
    if (!fault.empty()) {
      return absl::StrCat("threads ", setting.threads, ", batch ", setting.batch_rows,
                          ", work_mem ", setting.work_mem, ": ", fault);
    }
  }
  return "";
}

// The lowest node that is wrong by itself.
std::string Diagnose(const RandomPlan& plan) {
  for (const NodeRef& node : TopologicalOrder({plan.root().node})) {
    const absl::StatusOr<Rows> rows = Interpret(node, plan.tables());
    if (!rows.ok()) continue;
    const std::string fault = CheckRows(node, plan.tables(), *rows);
    if (fault.empty()) continue;
    std::string text = absl::StrCat(fault, "\n", ToString(node));
    for (const NodeRef& input : node->inputs) {
      const absl::StatusOr<Rows> in = Interpret(input, plan.tables());
      if (in.ok()) absl::StrAppend(&text, "input:\n", RowsText(*in, input->types));
    }
    return text;
  }
  return "no single node";
}

TEST(LowerRowsTest, SingleOperatorsMatchTheInterpreter) {
  int failures = 0;
  for (uint64_t seed = 1; seed <= 300 && failures < 3; ++seed) {
    RandomPlan plan(50000 + seed, 1);
    const std::string fault = CheckRows(plan.root().node, plan.tables(), plan.root().rows);
    EXPECT_EQ(fault, "") << "seed " << seed << "\n" << Diagnose(plan);
    failures += !fault.empty();
  }
}

TEST(LowerRowsTest, DeepPlansMatchTheInterpreter) {
  int failures = 0;
  const char* count = std::getenv("ADJOIN_ROWS_SEEDS");
  const uint64_t seeds = count == nullptr ? 120 : std::strtoull(count, nullptr, 10);
  for (uint64_t seed = 1; seed <= seeds && failures < 3; ++seed) {
    RandomPlan plan(90000 + seed, 4 + static_cast<int>(seed % 20));
    const std::string fault = CheckRows(plan.root().node, plan.tables(), plan.root().rows);
    EXPECT_EQ(fault, "") << "seed " << seed << "\n" << Diagnose(plan) << ToString(plan.root().node);
    failures += !fault.empty();
  }
}

// ---- By hand: what random plans do not reach.

ExprRef Int(int64_t v) { return ConstantExpr(Value::Int(v), TypeId::kInt64); }
ExprRef Col(int i, TypeId type = TypeId::kInt64) { return ColumnExpr(i, type); }

class LowerRowsByHand : public ::testing::Test {
 protected:
  NodeRef SeriesTo(int64_t stop) { return planner_.Make(Series{Int(1), Int(stop), Int(1)}, {}); }
  Rows Run(const NodeRef& root, const Setting& setting, const std::vector<Value>& parameters = {}) {
    const absl::StatusOr<TableRef> table = RunRows(root, {}, setting, parameters);
    EXPECT_TRUE(table.ok()) << table.status();
    return table.ok() ? RowsOf(**table) : Rows();
  }
  absl::Status Error(const NodeRef& root) { return RunRows(root, {}, kSettings[0]).status(); }
  Planner planner_;
};

TEST_F(LowerRowsByHand, ThousandsOfNodesDeep) {
  NodeRef node = SeriesTo(100);
  for (int i = 0; i < 5000; ++i) {
    node = planner_.Make(Project{{Add(Col(0), Int(1))}}, {node});
    if (i % 2 == 0) {
      node = planner_.Make(Filter{CallNamed("<", {Int(i), Col(0)}, TypeId::kBool)}, {node});
    }
  }
  const Rows rows = Run(node, kSettings[0]);
  ASSERT_EQ(rows.size(), 100u);
  EXPECT_EQ(rows[0][0], Value::Int(5001));
}

TEST_F(LowerRowsByHand, CrossJoinIsRecomputedBeyondWorkMem) {
  const NodeRef series = SeriesTo(2000);
  const NodeRef pairs = planner_.Make(Join{}, {series, series});
  const auto sum = [&](int column) {
    const Aggregate call{AggregateFunction::kSum, Col(column), nullptr, false, TypeId::kInt64};
    return planner_.Make(GroupBy{{}, {call}},
                         {planner_.Make(Project{{Col(column), Mul(Col(0), Col(1))}}, {pairs})});
  };
  const Aggregate all{AggregateFunction::kSum, Col(0), nullptr, false, TypeId::kInt64};
  const NodeRef a = planner_.Make(GroupBy{{}, {all}}, {pairs});
  const NodeRef root = planner_.Make(UnionAll{}, {a, planner_.Make(Project{{Col(0)}}, {sum(1)})});
  PlanOptions options;
  options.work_mem = 1 << 20;
  int slots = 0;
  RowsLoweringInputs inputs;
  inputs.new_slot = [&] { return slots++; };
  RowsLowering lowering(options, {root}, inputs);
  ASSERT_TRUE(lowering.Lower(root).ok());
  RunState state;
  state.budget = std::make_shared<MemoryBudget>(int64_t{4} << 20);  // the pairs would take 64 MiB
  for (const auto& step : lowering.TakeSteps()) {
    const absl::Status status = step->Run(state);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(Run(root, kSettings[0])[0][0], Value::Int(int64_t{2000} * 2001 / 2 * 2000));
}

TEST_F(LowerRowsByHand, ParametersReachEveryOperator) {
  const ExprRef p = ParameterExpr(0, TypeId::kInt64);
  NodeRef node = planner_.Make(Series{Int(1), p, Int(1)}, {});
  node = planner_.Make(Filter{CallNamed("<", {Col(0), p}, TypeId::kBool)}, {node});
  node = planner_.Make(
      UnionAll{}, {node, planner_.Make(Values{{{p}, {Add(p, Int(1))}}, {TypeId::kInt64}}, {})});
  node = planner_.Make(Limit{p, Int(1)}, {node});
  const Rows rows = Run(node, kSettings[0], {Value::Int(3)});
  EXPECT_EQ(rows, (Rows{{Value::Int(2)}, {Value::Int(3)}, {Value::Int(4)}}));
}

TEST_F(LowerRowsByHand, ErrorsHaveTheirSqlState) {
  const auto state_of = [&](const NodeRef& node) {
    const absl::Status status = Error(node);
    return status.ok() ? std::string("ok") : SqlStateOf(status);
  };
  const NodeRef series = SeriesTo(10);
  EXPECT_EQ(state_of(planner_.Make(Series{Int(1), Int(2), Int(0)}, {})), "22023");
  EXPECT_EQ(state_of(planner_.Make(Limit{Int(-1), nullptr}, {series})), "2201W");
  EXPECT_EQ(state_of(planner_.Make(Limit{nullptr, Int(-1)}, {series})), "2201X");
  EXPECT_EQ(state_of(planner_.Make(Project{{Div(Int(1), Sub(Col(0), Int(5)))}}, {series})),
            "22012");
  EXPECT_EQ(state_of(planner_.Make(Join{JoinKind::kSingle, {}, nullptr}, {series, series})),
            "21000");
  const Aggregate sum{AggregateFunction::kSum, Mul(Col(0), Int(INT64_MAX / 10)), nullptr, false,
                      TypeId::kInt64};
  EXPECT_EQ(state_of(planner_.Make(GroupBy{{}, {sum}}, {series})), "22003");
  EXPECT_EQ(state_of(planner_.Make(Require{Require::What::kOneRow, {}, "P0001", "two"}, {series})),
            "P0001");
}

TEST_F(LowerRowsByHand, LimitStopsBeforeLaterErrors) {
  const NodeRef divided =
      planner_.Make(Project{{Div(Int(1), Sub(Int(100000), Col(0)))}}, {SeriesTo(200000)});
  const NodeRef limit = planner_.Make(Limit{Int(5), nullptr}, {divided});
  for (const Setting& setting :
       {Setting{1, 1024, 1000, 1 << 28}, Setting{4, 1024, 1000, 1 << 28}}) {
    EXPECT_EQ(Run(limit, setting).size(), 5u);
  }
}

// A CASE inside a branch is also read outside of it: its value must be right in rows where the
// branch is not taken.
TEST_F(LowerRowsByHand, NestedCasesAreShared) {
  const ExprRef low = CallNamed("<", {Col(0), Int(3)}, TypeId::kBool);
  const ExprRef odd =
      CallNamed("=", {CallNamed("%", {Col(0), Int(2)}, TypeId::kInt64), Int(1)}, TypeId::kBool);
  const ExprRef inner = CaseExpr({odd, Int(1), Int(0)});
  const NodeRef node =
      planner_.Make(Project{{CaseExpr({low, inner, Int(7)}), inner}}, {SeriesTo(4)});
  const Rows expected = {{Value::Int(1), Value::Int(1)},
                         {Value::Int(0), Value::Int(0)},
                         {Value::Int(7), Value::Int(1)},
                         {Value::Int(7), Value::Int(0)}};
  EXPECT_EQ(Run(node, kSettings[0]), expected);
}

// Offsets of RANGE are distances of keys; NULL and NaN have only their peers.
TEST_F(LowerRowsByHand, RangeFramesWithOffsets) {
  const double inf = std::numeric_limits<double>::infinity();
  Values values{{}, {TypeId::kFloat64, TypeId::kInt64}};
  int64_t i = 0;
  for (const double x :
       {3.0, 1.0, std::nan(""), 1.5, 2.0, inf, -inf, 7.0, 3.0, std::nan(""), 0.0, inf}) {
    values.rows.push_back({FloatConst(x, TypeId::kFloat64), Int(i++)});
    if (i % 5 == 0) values.rows.push_back({NullExpr(TypeId::kFloat64), Int(i++)});
  }
  const NodeRef input = planner_.Make(values, {});
  const ExprRef key = Col(0, TypeId::kFloat64);
  for (const FrameBound start :
       {FrameBound::kUnboundedPreceding, FrameBound::kPreceding, FrameBound::kCurrentRow}) {
    for (const FrameBound end :
         {FrameBound::kCurrentRow, FrameBound::kFollowing, FrameBound::kUnboundedFollowing}) {
      for (int order = 0; order < 4; ++order) {
        Window window{{},
                      {{key, order % 2 == 1, order / 2 == 1}},
                      {{FrameMode::kRange, start, end},
                       FloatConst(1, TypeId::kFloat64),
                       FloatConst(2, TypeId::kFloat64)},
                      {}};
        window.calls = {{WindowFunction::kSum, {Col(1)}, nullptr, TypeId::kInt64},
                        {WindowFunction::kCountStar, {}, nullptr, TypeId::kInt64}};
        const NodeRef node = planner_.Make(window, {input});
        EXPECT_EQ(CheckRows(node, {}, *Interpret(node, {})), "") << ToString(node);
      }
    }
  }
}

TEST_F(LowerRowsByHand, CancelStopsARun) {
  RunControl control;
  control.cancelled = true;
  const absl::Status status = RunRows(SeriesTo(10), {}, kSettings[0], {}, &control).status();
  EXPECT_EQ(SqlStateOf(status), sqlstate::kQueryCanceled);
}

// A prepared plan is run again after its table grew from nothing.
TEST_F(LowerRowsByHand, TablesMayChangeBetweenRuns) {
  const Schema schema{{{"k", TypeId::kInt64}}, {}};
  const NodeRef scan = planner_.Make(Scan{"t", 7, schema}, {});
  const Aggregate count{AggregateFunction::kCountStar, nullptr, nullptr, false, TypeId::kInt64};
  const NodeRef root = planner_.Make(
      GroupBy{{}, {count}},
      {planner_.Make(Join{JoinKind::kInner, {{Col(0), Col(0)}}, nullptr}, {scan, scan})});
  int slots = 0;
  RowsLoweringInputs inputs;
  inputs.new_slot = [&] { return slots++; };
  RowsLowering lowering({}, {root}, inputs);
  const absl::StatusOr<int> slot = lowering.Lower(root);
  ASSERT_TRUE(slot.ok());
  const auto steps = lowering.TakeSteps();
  for (int64_t n : {0, 3, 100000}) {
    Rows rows;
    for (int64_t i = 0; i < n; ++i) rows.push_back({Value::Int(i / 2)});
    RunState state;
    state.budget = std::make_shared<MemoryBudget>();
    state.tables[7] = *reference::TableOf(schema, rows);
    for (const auto& step : steps) ASSERT_TRUE(step->Run(state).ok());
    EXPECT_EQ(state.relations[*slot]->value(0, 0), Value::Int(n == 3 ? 5 : 2 * n));
  }
}

}  // namespace
}  // namespace adjoin
