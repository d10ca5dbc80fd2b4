// Evaluates expressions one row at a time, by definition. Shares nothing with the engine's
// vectorised evaluation.
#pragma once

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "plan/expr.h"

namespace adjoin::reference {

using Row = std::vector<Value>;
using Rows = std::vector<Row>;

// Rounds to float where `type` is REAL; everything else is returned as it is.
Value RoundTo(TypeId type, const Value& value);

// A cast of a non-NULL value, with PostgreSQL's rounding, range checks and texts.
absl::StatusOr<Value> CastValue(const Value& value, TypeId from, TypeId to);

// Checks that `value` fits the integer type `type`; 22003 otherwise.
absl::StatusOr<Value> CheckedInt(__int128 value, TypeId type);

// One binary or unary operation on non-NULL arguments of type `arg_type`.
absl::StatusOr<Value> ApplyStrict(const Expr& call, TypeId arg_type,
                                  const std::vector<Value>& args);

// Evaluates a list of expressions over rows. A subexpression that several parents share is
// evaluated once a row, and only when it is needed, so that a CASE evaluates its taken branch
// alone.
class Evaluator {
 public:
  // `parameters` must outlive the evaluator. Null expressions are allowed and give NULL.
  Evaluator(std::vector<ExprRef> exprs, const std::vector<Value>* parameters);

  // Starts a row: `left`'s columns, then `right`'s (may be null). Both must outlive the calls of
  // Get.
  void SetRow(const Row* left, const Row* right = nullptr);
  absl::StatusOr<Value> Get(int i);
  // All expressions of the row.
  absl::StatusOr<Row> GetAll();
  // Whether expression i is TRUE; true where it is null.
  absl::StatusOr<bool> IsTrue(int i);

 private:
  struct Cell {
    int64_t row = 0;  // the row of which `value` is
    Value value;
  };
  absl::StatusOr<Value> Eval(const Expr& expr);
  absl::StatusOr<Value> Call(const Expr& expr);
  absl::StatusOr<Value> Logic(const Expr& expr, bool absorbing);
  absl::StatusOr<Value> Case(const Expr& expr);
  absl::StatusOr<Value> Extreme(const Expr& expr, int sign);
  absl::StatusOr<Value> Column(int index) const;

  std::vector<ExprRef> exprs_;
  const std::vector<Value>* parameters_;
  std::map<const Expr*, Cell> cells_;
  const Row* left_ = nullptr;
  const Row* right_ = nullptr;
  int64_t row_ = 0;
};

}  // namespace adjoin::reference
