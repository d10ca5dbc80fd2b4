// The oracle itself, against results worked out by hand.
#include <cmath>

#include "engine/status.h"
#include "gtest/gtest.h"
#include "plan/scalar_functions.h"
#include "tests/reference/interpreter.h"

namespace adjoin::reference {
namespace {

constexpr TypeId kI = TypeId::kInt64;
constexpr TypeId kF = TypeId::kFloat64;

ExprRef I(int64_t v) { return ConstantExpr(Value::Int(v), kI); }
ExprRef F(double v) { return ConstantExpr(Value::Float(v), kF); }
ExprRef Col(int i, TypeId type) { return ColumnExpr(i, type); }
std::optional<int64_t> None() { return std::nullopt; }

// Rows print as "1 2.5 NULL".
std::string Text(const Rows& rows) {
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (const Value& v : row) {
      if (!line.empty()) line += ' ';
      line += v.is_null() ? "NULL" : ToText(v, v.is_int() ? kI : v.is_bool() ? TypeId::kBool : kF);
    }
    out += line + ";";
  }
  return out;
}

class InterpreterTest : public testing::Test {
 protected:
  // Rows of (BIGINT key or NULL, DOUBLE).
  NodeRef Rel(const std::vector<std::pair<std::optional<int64_t>, double>>& rows) {
    Values values{{}, {kI, kF}};
    for (const auto& [key, value] : rows)
      values.rows.push_back({key.has_value() ? I(*key) : NullExpr(kI), F(value)});
    return planner_.Make(values, {}, {"k", "v"});
  }
  std::string Run(const NodeRef& node, const std::vector<Value>& params = {}) {
    const absl::StatusOr<Rows> rows = Interpret(node, {}, params);
    return rows.ok() ? Text(*rows) : SqlStateOf(rows.status());
  }
  JoinKey Keys(bool null_safe = false) { return {Col(0, kI), Col(0, kI), null_safe}; }
  std::string RunJoin(JoinKind kind, bool null_safe = false, ExprRef residual = nullptr) {
    const NodeRef left = Rel({{1, 1}, {2, 2}, {None(), 3}, {1, 4}});
    const NodeRef right = Rel({{1, 10}, {3, 30}, {1, 11}, {None(), 40}});
    return Run(planner_.Make(Join{kind, {Keys(null_safe)}, std::move(residual)}, {left, right}));
  }
  Planner planner_;
};

TEST_F(InterpreterTest, JoinsKeepLeftOrderThenRightOrder) {
  EXPECT_EQ(RunJoin(JoinKind::kInner), "1 1 1 10;1 1 1 11;1 4 1 10;1 4 1 11;");
  EXPECT_EQ(RunJoin(JoinKind::kInner, true), "1 1 1 10;1 1 1 11;NULL 3 NULL 40;1 4 1 10;1 4 1 11;");
  EXPECT_EQ(RunJoin(JoinKind::kLeft),
            "1 1 1 10;1 1 1 11;2 2 NULL NULL;NULL 3 NULL NULL;1 4 1 10;1 4 1 11;");
  EXPECT_EQ(RunJoin(JoinKind::kFull),
            "1 1 1 10;1 1 1 11;2 2 NULL NULL;NULL 3 NULL NULL;1 4 1 10;1 4 1 11;NULL NULL 3 "
            "30;NULL NULL NULL 40;");
  EXPECT_EQ(RunJoin(JoinKind::kSemi), "1 1;1 4;");
  EXPECT_EQ(RunJoin(JoinKind::kAnti), "2 2;NULL 3;");
  EXPECT_EQ(RunJoin(JoinKind::kNullAwareAnti), "");
  EXPECT_EQ(RunJoin(JoinKind::kSingle), "21000");
  const ExprRef small = CallNamed("<", {Col(3, kF), F(11)}, TypeId::kBool);
  EXPECT_EQ(RunJoin(JoinKind::kSingle, false, small),
            "1 1 1 10;2 2 NULL NULL;NULL 3 NULL NULL;1 4 1 10;");
  EXPECT_EQ(RunJoin(JoinKind::kNullAwareAnti, false, small), "2 2;");
}

TEST_F(InterpreterTest, GroupsComeInFirstSeenOrderAndNullsAreOneGroup) {
  const NodeRef rows = Rel({{2, 1}, {None(), 2}, {1, NAN}, {2, 4}, {None(), 8}});
  const auto agg = [](AggregateFunction f) {
    return Aggregate{f, ColumnExpr(1, kF), nullptr, false, kF};
  };
  EXPECT_EQ(Run(planner_.Make(
                GroupBy{{Col(0, kI)}, {agg(AggregateFunction::kSum), agg(AggregateFunction::kMax)}},
                {rows})),
            "2 5 4;NULL 10 8;1 NaN NaN;");
  EXPECT_EQ(Run(planner_.Make(GroupBy{{}, {agg(AggregateFunction::kAvg)}}, {Rel({})})), "NULL;");
}

TEST_F(InterpreterTest, AggregatesOfTwoArguments) {
  const Aggregate moment{AggregateFunction::kComoment, Col(0, kF), nullptr, false, kF, Col(1, kF)};
  const auto pairs = [&](std::vector<std::vector<ExprRef>> rows) {
    return planner_.Make(Values{std::move(rows), {kF, kF}}, {});
  };
  const NodeRef three =
      pairs({{F(1), F(2)}, {F(2), F(6)}, {NullExpr(kF), F(9)}, {F(9), NullExpr(kF)}, {F(6), F(4)}});
  EXPECT_EQ(Run(planner_.Make(GroupBy{{}, {moment}}, {three})), "2;");
  EXPECT_EQ(Run(planner_.Make(GroupBy{{}, {moment}}, {pairs({{F(1), NullExpr(kF)}})})), "NULL;");
  const auto percentile = [](AggregateFunction f) {
    return Aggregate{f, Col(0, kF), nullptr, false, kF, F(0.25)};
  };
  EXPECT_EQ(Run(planner_.Make(GroupBy{{},
                                      {percentile(AggregateFunction::kPercentileUp),
                                       percentile(AggregateFunction::kPercentileDown)}},
                              {pairs({{F(6), F(0)}, {NullExpr(kF), F(0)}, {F(1), F(0)}})})),
            "2.25 4.75;");
  EXPECT_EQ(Run(planner_.Make(GroupBy{{}, {percentile(AggregateFunction::kPercentileUp)}},
                              {pairs({{NullExpr(kF), F(0)}})})),
            "NULL;");
}

TEST_F(InterpreterTest, RecursionRunsOnTheLastRows) {
  const NodeRef working = planner_.Make(RecursionInput{1, 0, {kI}}, {});
  const NodeRef few =
      planner_.Make(Filter{CallNamed("<", {Col(0, kI), I(4)}, TypeId::kBool)}, {working});
  const NodeRef next = planner_.Make(Project{{Add(Col(0, kI), I(1))}}, {few});
  const NodeRef start = planner_.Make(Values{{{I(1)}, {I(3)}}, {kI}}, {});
  EXPECT_EQ(Run(planner_.Make(Recursion{1, next, false}, {start})), "1;3;2;4;3;4;");
  EXPECT_EQ(Run(planner_.Make(Recursion{1, next, true}, {start})), "1;3;2;4;");
}

TEST_F(InterpreterTest, IntegerSumsAreExact) {
  const ExprRef big = I(INT64_MAX);
  const NodeRef fits = planner_.Make(Values{{{big}, {big}, {I(-INT64_MAX)}}, {kI}}, {});
  const NodeRef overflows = planner_.Make(Values{{{big}, {I(1)}}, {kI}}, {});
  const GroupBy sum{{}, {{AggregateFunction::kSum, Col(0, kI), nullptr, false, kI}}};
  EXPECT_EQ(Run(planner_.Make(sum, {fits})), "9223372036854775807;");
  EXPECT_EQ(Run(planner_.Make(sum, {overflows})), "22003");
  const GroupBy avg{{}, {{AggregateFunction::kAvg, Col(0, kI), nullptr, false, kF}}};
  EXPECT_EQ(Run(planner_.Make(avg, {planner_.Make(Values{{{I(1)}, {I(2)}}, {kI}}, {})})), "1.5;");
}

TEST_F(InterpreterTest, OnlyTheTakenBranchIsEvaluated) {
  const ExprRef divides = CallNamed("/", {I(1), Col(0, kI)}, kI);
  const ExprRef is_zero = CallNamed("=", {Col(0, kI), I(0)}, TypeId::kBool);
  const NodeRef rows = Rel({{0, 1}, {1, 1}});
  EXPECT_EQ(Run(planner_.Make(Project{{CallNamed("case", {is_zero, I(7), divides}, kI)}}, {rows})),
            "7;1;");
  EXPECT_EQ(Run(planner_.Make(Project{{divides}}, {rows})), "22012");
}

TEST_F(InterpreterTest, WindowsFollowTheirFrames) {
  const NodeRef rows = Rel({{1, 1}, {2, 2}, {2, 4}, {3, 8}});
  const auto run = [&](FrameMode mode, FrameBound start, FrameBound end, FrameExclusion exclusion) {
    Window w;
    w.order = {{Col(0, kI)}};
    w.frame = {{mode, start, end, exclusion}, I(1), I(1)};
    w.calls = {{WindowFunction::kSum, {Col(1, kF)}, nullptr, kF}};
    return Run(planner_.Make(Project{{Col(2, kF)}}, {planner_.Make(w, {rows})}));
  };
  using B = FrameBound;
  using X = FrameExclusion;
  EXPECT_EQ(run(FrameMode::kRange, B::kUnboundedPreceding, B::kCurrentRow, X::kNone), "1;7;7;15;");
  EXPECT_EQ(run(FrameMode::kRows, B::kUnboundedPreceding, B::kCurrentRow, X::kNone), "1;3;7;15;");
  EXPECT_EQ(run(FrameMode::kRows, B::kPreceding, B::kFollowing, X::kCurrentRow), "2;5;10;4;");
  EXPECT_EQ(run(FrameMode::kGroups, B::kCurrentRow, B::kFollowing, X::kTies), "7;10;12;8;");
  EXPECT_EQ(run(FrameMode::kRange, B::kPreceding, B::kPreceding, X::kNone), "NULL;1;1;6;");
  EXPECT_EQ(run(FrameMode::kGroups, B::kFollowing, B::kUnboundedFollowing, X::kGroup),
            "14;8;8;NULL;");
}

TEST_F(InterpreterTest, CollectAddsNothingForNull) {
  const NodeRef left = planner_.Make(RowId{}, {Rel({{5, 1}, {6, 2}})});
  const NodeRef right = Rel({{0, 1}, {0, 2}, {9, 4}, {None(), 8}});
  EXPECT_EQ(Run(planner_.Make(Collect{2, 0, {Col(1, kF)}}, {left, right})), "5 1 0 3;6 2 1 NULL;");
}

TEST_F(InterpreterTest, ContractionIsTheGroupedSumOfProducts) {
  const NodeRef left = Rel({{1, 2}, {2, 3}, {1, 5}});
  const NodeRef right = Rel({{1, 10}, {1, 100}, {3, 7}});
  const Contraction keyed{{Keys()}, nullptr, {{1, 0}}, Col(1, kF), Col(1, kF), true};
  EXPECT_EQ(Run(planner_.Make(keyed, {left, right})), "1 770 4;");
  const Contraction empty{{Keys()}, nullptr, {}, Col(1, kF), Col(1, kF), false};
  EXPECT_EQ(Run(planner_.Make(empty, {left, Rel({})})), "NULL;");
}

TEST_F(InterpreterTest, RequireAndLimitRaiseTheirErrors) {
  const NodeRef rows = Rel({{1, 1}, {1, 2}});
  EXPECT_EQ(Run(planner_.Make(Require{Require::What::kUnique, {0}, "AD002", "m"}, {rows})),
            "AD002");
  EXPECT_EQ(Run(planner_.Make(Require{Require::What::kUnique, {0, 1}, "AD002", "m"}, {rows})),
            "1 1;1 2;");
  EXPECT_EQ(Run(planner_.Make(Require{Require::What::kOneRow, {}, "AD001", "m"}, {rows})), "AD001");
  EXPECT_EQ(Run(planner_.Make(Limit{ParameterExpr(0, kI), nullptr}, {rows}), {Value::Int(-1)}),
            "2201W");
  EXPECT_EQ(Run(planner_.Make(Limit{I(1), I(1)}, {rows})), "1 2;");
}

TEST_F(InterpreterTest, RealIsRoundedAfterEveryOperation) {
  const ExprRef tenth = ConstantExpr(Value::Float(static_cast<double>(0.1f)), TypeId::kFloat32);
  const NodeRef one = planner_.Make(Values{{{}}, {}}, {});
  const ExprRef sum = CallNamed("+", {tenth, tenth}, TypeId::kFloat32);
  EXPECT_EQ(Interpret(planner_.Make(Project{{sum}}, {one}), {}).value()[0][0].as_float(),
            static_cast<double>(0.1f + 0.1f));
}

}  // namespace
}  // namespace adjoin::reference
