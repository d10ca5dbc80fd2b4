// Aggregates, one value at a time.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "plan/node.h"
#include "tests/reference/interpreter.h"

namespace adjoin::reference {

// A sum with the rounding errors carried beside it (Neumaier); infinities and NaN as IEEE adds
// them.
class CompensatedSum {
 public:
  void Add(double x);
  double Total() const;

 private:
  double sum_ = 0;
  double carry_ = 0;
};

// One aggregate over the non-NULL values given to Add. AVG of integers divides the exact sum.
class Accumulator {
 public:
  // `arg_type` is the type of the values, `type` the result's.
  Accumulator(AggregateFunction function, TypeId arg_type, TypeId type, bool distinct = false);
  // NULL is skipped but by kCountStar. `second`: the second argument where there is
  // one.
  void Add(const Value& value, const Value& second = Value());
  absl::StatusOr<Value> Result() const;

 private:
  absl::StatusOr<Value> Sum() const;
  absl::StatusOr<Value> DecimalSum() const;
  Value Comoment() const;
  Value Percentile() const;
  AggregateFunction function_;
  TypeId arg_type_, type_;
  bool distinct_;
  int64_t count_ = 0;
  __int128 integer_sum_ = 0;
  CompensatedSum float_sum_;
  absl::StatusOr<Decimal> decimal_sum_ = Decimal();
  Value extreme_;
  std::vector<std::pair<double, double>> pairs_;
  std::string text_;
  std::vector<Value> values_;  // of a percentile
  double share_ = 0;
  std::set<Row, RowLess> seen_;
};

}  // namespace adjoin::reference
