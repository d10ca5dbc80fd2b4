// The transpose of each relational operator: small plans, gradients against central differences.
#include <algorithm>
#include <random>

#include "engine/status.h"
#include "tests/ad/gradient_check.h"

namespace adjoin {
namespace {

class TransposeRules : public GradientCheck {
 protected:
  void SetUp() override {
    t_ = AddTable("t", RandomRows(9, 4, true));
    u_ = AddTable("u", RandomRows(7, 4, true));
  }

  // Ids 0 .. n-1, groups below `groups` (some NULL where `nulls`), values in [-1, 1] (some y NULL,
  // one x NULL).
  reference::Rows RandomRows(int n, int groups, bool nulls) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    reference::Rows out;
    for (int i = 0; i < n; ++i) {
      const bool null_group = nulls && i % 6 == 4;
      out.push_back({Value::Int(i),
                     null_group ? Value() : Value::Int(static_cast<int64_t>(random_() % groups)),
                     nulls && i == 3 ? Value() : Value::Float(uniform(random_)),
                     nulls && i % 4 == 2 ? Value() : Value::Float(uniform(random_))});
    }
    return out;
  }

  Aggregate Agg(AggregateFunction f, ExprRef arg, ExprRef filter = nullptr) {
    return {f, std::move(arg), std::move(filter), false, f == AggregateFunction::kCount ? kI : kF};
  }
  ExprRef Less(const ExprRef& a, const ExprRef& b) { return CallNamed("<", {a, b}, TypeId::kBool); }
  NodeRef Map(const NodeRef& input, std::vector<ExprRef> exprs) {
    return planner_.Make(Project{std::move(exprs)}, {input});
  }
  NodeRef MakeJoin(JoinKind kind, ExprRef residual = nullptr) {
    return planner_.Make(Join{kind, {{Col(kG), Col(kG)}}, std::move(residual)}, {t_, u_});
  }
  // By x and y of both tables.
  void CheckAll(const NodeRef& loss) {
    for (int column : {kX, kY}) {
      Check(loss, t_, column);
      const std::vector<NodeRef> nodes = TopologicalOrder({loss});
      if (std::find(nodes.begin(), nodes.end(), u_) != nodes.end()) Check(loss, u_, column);
    }
  }
  // The columns of a join are t's, then u's.
  ExprRef Product() { return Mul(ColumnExpr(kX, kF), ColumnExpr(4 + kY, kF)); }

  std::mt19937_64 random_{7};
  NodeRef t_, u_;
};

TEST_F(TransposeRules, ProjectAndFilter) {
  const NodeRef kept = planner_.Make(Filter{Less(Num(-0.3), Col(kX))}, {t_});
  CheckAll(LossOf(Map(kept, {Mul(Col(kX), Add(Col(kX), Num(2)))}), 0));
  CheckAll(LossOf(Map(t_, {Mul(Col(kX), Col(kY))}), 0));
}

TEST_F(TransposeRules, EveryJoin) {
  for (JoinKind kind : {JoinKind::kInner, JoinKind::kLeft, JoinKind::kFull}) {
    SCOPED_TRACE(static_cast<int>(kind));
    CheckAll(LossOf(Map(MakeJoin(kind), {Product()}), 0));
    CheckAll(LossOf(
        Map(MakeJoin(kind),
            {CallNamed("coalesce", {ColumnExpr(4 + kX, kF), ColumnExpr(kY, kF), Num(1)}, kF)}),
        0));
    CheckAll(LossOf(Map(MakeJoin(kind, Less(Col(kId), ColumnExpr(4 + kId, kI))), {Product()}), 0));
  }
  for (JoinKind kind : {JoinKind::kSemi, JoinKind::kAnti, JoinKind::kNullAwareAnti}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const NodeRef few = planner_.Make(Filter{Less(Col(kId), Int(4))}, {u_});
    const NodeRef join = planner_.Make(Join{kind, {{Col(kG), Col(kG)}}, nullptr}, {t_, few});
    CheckAll(LossOf(Map(join, {Mul(Col(kX), Col(kX))}), 0));
  }
  const NodeRef cross = planner_.Make(Join{JoinKind::kInner, {}, nullptr}, {t_, u_});
  CheckAll(LossOf(Map(cross, {Product()}), 0));
  const NodeRef null_safe =
      planner_.Make(Join{JoinKind::kInner, {{Col(kG), Col(kG), true}}, nullptr}, {t_, u_});
  CheckAll(LossOf(Map(null_safe, {Product()}), 0));
}

TEST_F(TransposeRules, SelfJoin) {
  const NodeRef join =
      planner_.Make(Join{JoinKind::kInner, {{Col(kG), Col(kG)}}, nullptr}, {t_, t_});
  CheckAll(LossOf(Map(join, {Product()}), 0));
}

TEST_F(TransposeRules, ScalarSubquery) {
  const NodeRef mean = planner_.Make(GroupBy{{}, {Agg(AggregateFunction::kAvg, Col(kX))}}, {u_});
  const NodeRef join = planner_.Make(Join{JoinKind::kSingle, {}, nullptr}, {t_, mean});
  CheckAll(LossOf(Map(join, {Mul(Col(kX), ColumnExpr(4, kF))}), 0));
}

TEST_F(TransposeRules, EveryAggregate) {
  for (AggregateFunction f : {AggregateFunction::kSum, AggregateFunction::kAvg,
                              AggregateFunction::kMin, AggregateFunction::kMax}) {
    SCOPED_TRACE(static_cast<int>(f));
    const ExprRef e = Add(Mul(Col(kX), Col(kX)), Col(kY));
    CheckAll(LossOf(planner_.Make(GroupBy{{Col(kG)}, {Agg(f, e)}}, {t_}), 1));
    CheckAll(LossOf(planner_.Make(GroupBy{{}, {Agg(f, e)}}, {t_}), 0));
    CheckAll(LossOf(
        planner_.Make(GroupBy{{Col(kG)}, {Agg(f, Col(kX), Less(Col(kY), Num(0.5)))}}, {t_}), 1));
    const NodeRef none = planner_.Make(Filter{Less(Num(9), Col(kX))}, {t_});
    CheckAll(LossOf(planner_.Make(GroupBy{{}, {Agg(f, Col(kX))}}, {none}), 0));
  }
}

TEST_F(TransposeRules, Comoments) {
  const ExprRef square = Mul(Col(kX), Col(kX));
  for (const ExprRef& second : {square, Col(kY), Mul(Col(kX), Col(kY))}) {
    for (const ExprRef& filter : {ExprRef(), Less(Col(kY), Num(0.5))}) {
      const Aggregate moment{AggregateFunction::kComoment, square, filter, false, kF, second};
      CheckAll(LossOf(planner_.Make(GroupBy{{Col(kG)}, {moment}}, {t_}), 1));
      CheckAll(LossOf(
          planner_.Make(GroupBy{{}, {Agg(AggregateFunction::kAvg, Col(kX)), moment}}, {t_}), 1));
    }
  }
}

TEST_F(TransposeRules, Percentiles) {
  const ExprRef e = Add(Mul(Col(kX), Col(kX)), Col(kY));
  for (AggregateFunction f :
       {AggregateFunction::kPercentileUp, AggregateFunction::kPercentileDown}) {
    for (double share : {0.0, 0.3, 0.5, 1.0}) {
      for (const ExprRef& filter : {ExprRef(), Less(Col(kY), Num(0.5))}) {
        SCOPED_TRACE(share);
        const Aggregate percentile{f, e, filter, false, kF, Num(share)};
        CheckAll(LossOf(planner_.Make(GroupBy{{Col(kG)}, {percentile}}, {t_}), 1));
        CheckAll(LossOf(
            planner_.Make(GroupBy{{}, {Agg(AggregateFunction::kAvg, Col(kX)), percentile}}, {t_}),
            1));
      }
    }
  }
}

TEST_F(TransposeRules, SeveralAggregatesOfOneGroup) {
  const NodeRef groups = planner_.Make(
      GroupBy{{Col(kG)},
              {Agg(AggregateFunction::kSum, Col(kX)), Agg(AggregateFunction::kMax, Col(kX)),
               Agg(AggregateFunction::kCount, Col(kY))}},
      {t_});
  const ExprRef count = CastTo(ColumnExpr(3, kI), kF);
  CheckAll(
      LossOf(Map(groups, {Mul(Mul(ColumnExpr(1, kF), ColumnExpr(2, kF)), Add(count, Num(1)))}), 0));
}

TEST_F(TransposeRules, JoinWithItsOwnGroups) {
  const NodeRef means =
      planner_.Make(GroupBy{{Col(kG)}, {Agg(AggregateFunction::kAvg, Col(kX))}}, {t_});
  const NodeRef join =
      planner_.Make(Join{JoinKind::kInner, {{Col(kG), Col(0), true}}, nullptr}, {t_, means});
  const ExprRef deviation = Sub(Col(kX), ColumnExpr(5, kF));
  CheckAll(LossOf(Map(join, {Mul(deviation, deviation)}), 0));
}

TEST_F(TransposeRules, Contractions) {
  const JoinKey on{Col(kG), Col(kG)};
  const ExprRef mask = CallNamed("<=", {Col(kId), ColumnExpr(4 + kId, kI)}, TypeId::kBool);
  const std::vector<ContractionKey> id_and_group = {{0, kId}, {1, kG}};
  for (bool count : {false, true}) {
    CheckAll(LossOf(
        planner_.Make(Contraction{{on}, nullptr, id_and_group, Col(kX), Col(kY), count}, {t_, u_}),
        2));
    CheckAll(LossOf(
        planner_.Make(Contraction{{on}, nullptr, {{1, kId}}, Mul(Col(kX), Col(kX)), Col(kY), count},
                      {t_, u_}),
        1));
  }
  const std::vector<ContractionKey> both = {{0, kId}, {1, kId}};
  CheckAll(
      LossOf(planner_.Make(Contraction{{on}, mask, both, Col(kX), Col(kX), false}, {t_, u_}), 2));
  CheckAll(
      LossOf(planner_.Make(Contraction{{on}, nullptr, {}, Col(kX), Col(kX), false}, {t_, u_}), 0));
  CheckAll(LossOf(
      planner_.Make(Contraction{{on}, nullptr, both, Col(kX), Col(kX), false}, {t_, t_}), 2));
}

class WindowTranspose : public TransposeRules {
 protected:
  void CheckWindow(std::vector<ExprRef> partition, std::vector<SortKey> order, Frame frame,
                   WindowFunction f, std::vector<ExprRef> args, ExprRef filter = nullptr) {
    Window w{std::move(partition),
             std::move(order),
             frame,
             {{f, std::move(args), std::move(filter), kF}}};
    CheckAll(LossOf(planner_.Make(w, {t_}), 4));
  }
};

TEST_F(WindowTranspose, WholePartitions) {
  Frame whole;
  whole.end = FrameBound::kUnboundedFollowing;
  for (WindowFunction f :
       {WindowFunction::kSum, WindowFunction::kAvg, WindowFunction::kMin, WindowFunction::kMax}) {
    SCOPED_TRACE(static_cast<int>(f));
    CheckWindow({Col(kG)}, {}, whole, f, {Mul(Col(kX), Col(kX))});
    CheckWindow({}, {}, whole, f, {Col(kX)}, Less(Col(kId), Int(6)));
  }
  CheckWindow({Col(kG)}, {}, whole, WindowFunction::kComoment, {Mul(Col(kX), Col(kX)), Col(kY)});
}

TEST_F(WindowTranspose, RunningAndMovingFrames) {
  using B = FrameBound;
  const Frame frames[] = {
      {{FrameMode::kRange, B::kUnboundedPreceding, B::kCurrentRow}, nullptr, nullptr},
      {{FrameMode::kRows, B::kUnboundedPreceding, B::kCurrentRow}, nullptr, nullptr},
      {{FrameMode::kRows, B::kPreceding, B::kCurrentRow}, Int(2), nullptr},
      {{FrameMode::kRows, B::kPreceding, B::kFollowing}, Int(1), Int(2)},
      {{FrameMode::kRows, B::kFollowing, B::kFollowing}, Int(1), Int(2)},
      {{FrameMode::kRows, B::kCurrentRow, B::kUnboundedFollowing}, nullptr, nullptr}};
  for (const Frame& frame : frames) {
    for (WindowFunction f : {WindowFunction::kSum, WindowFunction::kAvg}) {
      SCOPED_TRACE(static_cast<int>(f));
      CheckWindow({}, {{Col(kId)}}, frame, f, {Mul(Col(kX), Col(kX))});
      CheckWindow({Col(kG)}, {{Col(kId), true}}, frame, f, {Col(kX)});
    }
  }
}

TEST_F(WindowTranspose, ShiftsAndEnds) {
  CheckWindow({}, {{Col(kId)}}, {}, WindowFunction::kLag, {Col(kX), Int(2), Col(kY)});
  CheckWindow({Col(kG)}, {{Col(kId)}}, {}, WindowFunction::kLead, {Mul(Col(kX), Col(kX)), Int(1)});
}

TEST_F(WindowTranspose, ConstructsWithoutARuleAreTypedErrors) {
  for (WindowFunction f : {WindowFunction::kFirstValue, WindowFunction::kLastValue}) {
    const Window w{{}, {{Col(kId)}}, {}, {{f, {Col(kX)}, nullptr, kF}}};
    const auto gradient = Gradient(LossOf(planner_.Make(w, {t_}), 4), t_, kX);
    ASSERT_FALSE(gradient.ok());
    EXPECT_EQ(SqlStateOf(gradient.status()), sqlstate::kNoDerivativeRule);
    EXPECT_EQ(gradient.status().message(),
              "cannot differentiate through FIRST_VALUE or LAST_VALUE");
  }
}

TEST_F(TransposeRules, SortLimitAndUnion) {
  const NodeRef sorted = planner_.Make(Sort{{{Col(kX), true, false}}}, {t_});
  CheckAll(LossOf(sorted, kX));
  CheckAll(LossOf(planner_.Make(Limit{Int(4), Int(1)}, {sorted}), kX));
  CheckAll(LossOf(planner_.Make(UnionAll{}, {t_, u_}), kX));
  CheckAll(LossOf(
      planner_.Make(UnionAll{}, {t_, Map(t_, {Col(kId), Col(kG), Mul(Col(kX), Col(kY)), Col(kY)})}),
      kX));
}

// The value of a group key has no gradient, also where it leaves through a union: an error, never a
// zero.
TEST_F(TransposeRules, GroupKeysAsValuesAreTypedErrors) {
  const NodeRef groups = planner_.Make(GroupBy{{Col(kX)}, {}}, {t_});
  const NodeRef both = planner_.Make(UnionAll{}, {groups, Map(u_, {Col(kX)})});
  for (const NodeRef& relation : {groups, both}) {
    const auto gradient = Gradient(LossOf(relation, 0), t_, kX);
    ASSERT_FALSE(gradient.ok()) << ToString(relation);
    EXPECT_EQ(SqlStateOf(gradient.status()), sqlstate::kNoDerivativeRule);
  }
}

TEST_F(TransposeRules, LookupCollectRowIdAndRequire) {
  const NodeRef groups =
      planner_.Make(GroupBy{{Col(kG)}, {Agg(AggregateFunction::kSum, Col(kX))}}, {u_});
  const NodeRef lookup = planner_.Make(Lookup{{Col(kG)}, {Col(0)}}, {t_, groups});
  CheckAll(LossOf(Map(lookup, {Mul(Col(kX), ColumnExpr(5, kF))}), 0));
  const NodeRef collect =
      planner_.Make(Collect{4, kG, {Mul(Col(kX), Col(kY))}}, {planner_.Make(RowId{}, {t_}), u_});
  CheckAll(LossOf(Map(collect, {Mul(Col(kX), ColumnExpr(5, kF))}), 0));
  CheckAll(LossOf(planner_.Make(Require{Require::What::kUnique, {kId}, "AD002", "m"}, {t_}), kX));
}

// A gradient is an ordinary plan, so it can be differentiated again: d/dx of the sum of squared
// gradients.
TEST_F(TransposeRules, GradientOfGradient) {
  const NodeRef join = Map(MakeJoin(JoinKind::kInner), {Col(kId), Call("sin", {Product()})});
  const NodeRef sums = planner_.Make(
      GroupBy{{ColumnExpr(0, kI)}, {Agg(AggregateFunction::kSum, ColumnExpr(1, kF))}}, {join});
  const absl::StatusOr<Statement> first = GradientStatement(LossOf(sums, 1), t_, kX);
  ASSERT_TRUE(first.ok()) << first.status();
  const NodeRef& gradient = first->outputs[0].plan;
  CheckAll(LossOf(gradient, gradient->width() - 1));
}

}  // namespace
}  // namespace adjoin
