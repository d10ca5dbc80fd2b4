// Checks gradients of plans, made by ad/ and run by the reference interpreter, against central
// differences.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ad/derivatives.h"
#include "gtest/gtest.h"
#include "plan/node.h"
#include "plan/scalar_functions.h"
#include "tests/reference/interpreter.h"

namespace adjoin {

// Tables of (id BIGINT, g BIGINT, x DOUBLE, y DOUBLE), and plans over them. `id` is distinct.
class GradientCheck : public testing::Test {
 protected:
  static constexpr int kId = 0, kG = 1, kX = 2, kY = 3;
  static constexpr TypeId kI = TypeId::kInt64, kF = TypeId::kFloat64;

  static Schema TableSchema() { return {{{"id", kI, true}, {"g", kI}, {"x", kF}, {"y", kF}}, {0}}; }
  NodeRef AddTable(const std::string& name, const reference::Rows& rows) {
    const uint64_t id = tables_.size() + 1;
    tables_[id] = reference::TableOf(TableSchema(), rows).value();
    return planner_.Make(Scan{name, id, TableSchema()}, {}, {"id", "g", "x", "y"});
  }

  static ExprRef Col(int i) { return ColumnExpr(i, i % 4 < 2 ? kI : kF); }
  static ExprRef Call(const std::string& name, std::vector<ExprRef> args) {
    return ResolveCall(name, std::move(args)).value();
  }
  static ExprRef Num(double v) { return FloatConst(v, kF); }
  static ExprRef Int(int64_t v) { return ConstantExpr(Value::Int(v), kI); }

  // A smooth scalar of column `column`: the sum of sin(v) + v*v/2, so that every row's cotangent is
  // another.
  NodeRef LossOf(const NodeRef& relation, int column) {
    const ExprRef v = ColumnExpr(column, kF);
    const ExprRef e = Add(Call("sin", {v}), Mul(Num(0.5), Mul(v, v)));
    const Aggregate sum{AggregateFunction::kSum, e, nullptr, false, kF};
    return planner_.Make(GroupBy{{}, {sum}}, {relation}, {"l"});
  }

  double Evaluate(const NodeRef& loss) {
    const absl::StatusOr<reference::Rows> rows = reference::Interpret(loss, tables_);
    EXPECT_TRUE(rows.ok()) << rows.status() << "\n" << ToString(loss);
    if (!rows.ok() || rows->size() != 1 || (*rows)[0][0].is_null()) return 0;
    return (*rows)[0][0].as_float();
  }

  // The statement that computes d(loss)/d(column) for the rows of `wrt`, derivatives resolved.
  absl::StatusOr<Statement> GradientStatement(const NodeRef& loss, const NodeRef& wrt, int column) {
    Statement statement;
    statement.outputs.push_back(
        {ResultSink{}, planner_.Make(Derivative{{column}, {}}, {loss, wrt})});
    absl::Status resolved = ResolveDerivatives(&statement, planner_);
    if (!resolved.ok()) return resolved;
    return statement;
  }

  absl::StatusOr<std::vector<Value>> Gradient(const NodeRef& loss, const NodeRef& wrt, int column) {
    absl::StatusOr<Statement> statement = GradientStatement(loss, wrt, column);
    if (!statement.ok()) return statement.status();
    absl::StatusOr<reference::Rows> rows =
        reference::Interpret(statement->outputs[0].plan, tables_);
    if (!rows.ok()) return rows.status();
    std::vector<Value> out;
    for (reference::Row& row : *rows) out.push_back(std::move(row.back()));
    return out;
  }

  // Fourth-order central difference of `loss` by one cell of the table that `wrt` scans.
  double Difference(const NodeRef& loss, const NodeRef& wrt, int column, size_t row, double h) {
    TableRef& table = tables_.at(std::get<Scan>(wrt->op).table_id);
    const TableRef original = table;
    const auto at = [&](double step) {
      reference::Rows rows = reference::RowsOf(*original);
      Value& cell = rows[row][static_cast<size_t>(column)];
      cell = Value::Float(cell.as_float() + step);
      table = reference::TableOf(original->schema(), rows).value();
      return Evaluate(loss);
    };
    const double slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    table = original;
    return slope;
  }

  // Every row of `wrt`: the gradient equals the central difference; NULL where the value is NULL.
  void Check(const NodeRef& loss, const NodeRef& wrt, int column, double tolerance = 1e-7) {
    const absl::StatusOr<std::vector<Value>> gradient = Gradient(loss, wrt, column);
    ASSERT_TRUE(gradient.ok()) << gradient.status() << "\n" << ToString(loss);
    const reference::Rows rows = reference::RowsOf(*tables_.at(std::get<Scan>(wrt->op).table_id));
    ASSERT_EQ(gradient->size(), rows.size());
    for (size_t r = 0; r < rows.size(); ++r) {
      const Value& value = rows[r][static_cast<size_t>(column)];
      ASSERT_EQ((*gradient)[r].is_null(), value.is_null()) << "row " << r << "\n" << ToString(loss);
      if (value.is_null()) continue;
      const double expected = Difference(loss, wrt, column, r, 1e-3);
      EXPECT_NEAR((*gradient)[r].as_float(), expected, tolerance * (1 + std::fabs(expected)))
          << "row " << r << "\n"
          << ToString(loss);
    }
  }

  Planner planner_;
  std::map<uint64_t, TableRef> tables_;
};

}  // namespace adjoin
