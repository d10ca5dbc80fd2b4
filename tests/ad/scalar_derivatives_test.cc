// The derivative of each scalar function, as its row in plan/scalar_functions.cc gives it, against
// differences.
#include <random>

#include "absl/strings/str_cat.h"
#include "engine/text.h"
#include "plan/random_functions.h"
#include "tests/ad/gradient_check.h"

namespace adjoin {
namespace {

// Where a function is smooth: arguments are drawn from [low, high].
struct Domain {
  double low, high;
};

Domain DomainOf(std::string_view name) {
  if (name == "acosh") return {1.2, 3};
  if (name == "asin" || name == "acos" || name == "atanh") return {-0.8, 0.8};
  if (name == "sin" || name == "cos" || name == "tan" || name == "tanh" || name == "exp")
    return {-1.2, 1.2};
  return {0.3, 2.7};
}

class ScalarDerivatives : public GradientCheck {
 protected:
  NodeRef RandomTable(const std::string& name, Domain domain, int rows) {
    // Away from 0, where CASE and abs have their kinks.
    const auto uniform = [&](std::mt19937_64& random) {
      std::uniform_real_distribution<double> any(domain.low, domain.high);
      double v = any(random);
      while (std::fabs(v) < 0.05) v = any(random);
      return v;
    };
    reference::Rows out;
    for (int i = 0; i < rows; ++i) {
      out.push_back({Value::Int(i), Value::Int(i % 3), Value::Float(uniform(random_)),
                     Value::Float(uniform(random_))});
    }
    return AddTable(name, out);
  }
  void CheckExpr(const ExprRef& e, const NodeRef& table, int column) {
    Check(LossOf(planner_.Make(Project{{e}}, {table}), 0), table, column);
  }
  std::mt19937_64 random_{20240521};
};

TEST_F(ScalarDerivatives, FormulasEqualDifferences) {
  int checked = 0;
  for (const ScalarFunction& f : AllFunctions()) {
    if (f.derivative_kind != DerivativeKind::kFormula) continue;
    if (IsRandomFloat(f.name)) continue;  // of integers too: 82-grad-random-numbers.test
    SCOPED_TRACE(std::string(f.name));
    const NodeRef table = RandomTable(std::string(f.name), DomainOf(f.name), 7);
    const bool unary =
        !ResolveCall(f.name == "neg" ? "-" : f.name, {Col(kX), Col(kY)}).ok() || f.name == "neg";
    const std::vector<ExprRef> args =
        unary ? std::vector<ExprRef>{Col(kX)} : std::vector<ExprRef>{Col(kX), Col(kY)};
    const ExprRef e = CallExpr(&f, args, kF);
    CheckExpr(e, table, kX);
    if (!unary) CheckExpr(e, table, kY);
    ++checked;
  }
  EXPECT_GE(checked, 25);
}

TEST_F(ScalarDerivatives, PowersAndQuotientsOfNegativeNumbers) {
  const NodeRef table = RandomTable("t", {-2, -0.5}, 9);
  for (double p : {0.0, 1.0, 2.0, 3.0, -2.0})
    CheckExpr(Call("power", {Col(kX), Num(p)}), table, kX);
  CheckExpr(Div(Col(kX), Col(kY)), table, kX);
  CheckExpr(Div(Col(kX), Col(kY)), table, kY);
  CheckExpr(Call("abs", {Col(kX)}), table, kX);
}

TEST_F(ScalarDerivatives, PiecewiseConstantFunctionsHaveNone) {
  const NodeRef table = RandomTable("t", {0.3, 0.4}, 5);
  for (const char* name : {"floor", "ceil", "round", "trunc", "sign"}) {
    SCOPED_TRACE(name);
    CheckExpr(Mul(Col(kY), Call(name, {Col(kX)})), table, kX);
    CheckExpr(Mul(Col(kY), Call(name, {Col(kX)})), table, kY);
  }
}

TEST_F(ScalarDerivatives, SelectionsFollowWhatTheyTake) {
  const NodeRef table = RandomTable("t", {-1, 1}, 20);
  const ExprRef x = Col(kX), y = Col(kY);
  const ExprRef positive = CallNamed("<", {Num(0), x}, TypeId::kBool);
  const std::vector<ExprRef> selections = {
      CaseExpr({positive, Mul(x, y), Neg(x)}),
      CaseExpr({positive, Call("ln", {Add(x, Num(0.3))}), Num(0)}),
      Call("greatest", {x, y}),
      Call("greatest", {x, Mul(x, y), Num(0.2)}),
      Call("least", {x, Mul(y, y)}),
      Call("coalesce", {Call("nullif", {Col(kX), Num(5)}), y}),
      Call("coalesce", {CaseExpr({positive, x, NullExpr(kF)}), Mul(y, x)}),
      Call("nullif", {Mul(x, x), Num(17)})};
  for (const ExprRef& e : selections) {
    SCOPED_TRACE(ToString(e, {"id", "g", "x", "y"}));
    CheckExpr(e, table, kX);
    CheckExpr(e, table, kY);
  }
}

TEST_F(ScalarDerivatives, StopGradientIsAWall) {
  const NodeRef table = RandomTable("t", {0.5, 1}, 4);
  const ExprRef e = Mul(Call("stop_gradient", {Col(kX)}), Col(kX));
  const auto gradient = Gradient(
      planner_.Make(GroupBy{{}, {{AggregateFunction::kSum, e, nullptr, false, kF}}}, {table}),
      table, kX);
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  const reference::Rows rows = reference::RowsOf(*tables_.at(1));
  for (size_t r = 0; r < rows.size(); ++r)
    EXPECT_EQ((*gradient)[r].as_float(), rows[r][kX].as_float());
}

// Expressions of random shape over both columns.
TEST_F(ScalarDerivatives, RandomCompositions) {
  const NodeRef table = RandomTable("t", {0.4, 1.6}, 6);
  const char* unary[] = {"sin", "tanh", "exp", "sqrt", "ln", "atan", "abs", "cbrt"};
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<ExprRef> pool = {Col(kX), Col(kY), Num(0.7)};
    const auto any = [&] { return pool[random_() % pool.size()]; };
    for (int step = 0; step < 6; ++step) {
      if (random_() % 2 == 0) {
        // Arguments are made positive, so that ln and sqrt are smooth.
        pool.push_back(
            Call(unary[random_() % std::size(unary)], {Add(Num(0.5), Mul(any(), any()))}));
        pool.back() = Call("tanh", {Mul(Num(0.3), pool.back())});
      } else {
        const ExprRef a = any(), b = any();
        const int op = static_cast<int>(random_() % 4);
        pool.push_back(op == 0   ? Add(a, b)
                       : op == 1 ? Sub(a, b)
                       : op == 2 ? Mul(a, b)
                                 : Div(a, Add(Num(1.5), Mul(b, b))));
      }
    }
    SCOPED_TRACE(ToString(pool.back(), {"id", "g", "x", "y"}));
    CheckExpr(pool.back(), table, kX);
    CheckExpr(pool.back(), table, kY);
  }
}

}  // namespace
}  // namespace adjoin
