#include "tests/reference/accumulator.h"

#include <algorithm>
#include <cmath>

#include "engine/decimal_functions.h"
#include "engine/status.h"

namespace adjoin::reference {

void CompensatedSum::Add(double x) {
  const double total = sum_ + x;
  if (std::isfinite(total)) {
    carry_ += std::fabs(sum_) >= std::fabs(x) ? (sum_ - total) + x : (x - total) + sum_;
  }
  sum_ = total;
}

double CompensatedSum::Total() const { return std::isfinite(sum_) ? sum_ + carry_ : sum_; }

Accumulator::Accumulator(AggregateFunction function, TypeId arg_type, TypeId type, bool distinct)
    : function_(function), arg_type_(arg_type), type_(type), distinct_(distinct) {}

void Accumulator::Add(const Value& value, const Value& second) {
  if (function_ == AggregateFunction::kCountStar) {
    ++count_;
    return;
  }
  if (value.is_null() || (function_ == AggregateFunction::kComoment && second.is_null())) return;
  if (distinct_ && !seen_.insert({value, second}).second) return;
  ++count_;
  switch (function_) {
    case AggregateFunction::kSum:
    case AggregateFunction::kAvg:
      if (value.is_int()) integer_sum_ += value.as_int();
      if (value.is_float()) float_sum_.Add(value.as_float());
      if (value.is_decimal() && decimal_sum_.ok())
        decimal_sum_ = decimal::Add(*decimal_sum_, value.as_decimal());
      break;
    case AggregateFunction::kMin:
      if (extreme_.is_null() || CompareValues(value, extreme_) < 0) extreme_ = value;
      break;
    case AggregateFunction::kMax:
      if (extreme_.is_null() || CompareValues(value, extreme_) > 0) extreme_ = value;
      break;
    case AggregateFunction::kBoolAnd:
      extreme_ = Value::Bool((extreme_.is_null() || extreme_.as_bool()) && value.as_bool());
      break;
    case AggregateFunction::kBoolOr:
      extreme_ = Value::Bool((!extreme_.is_null() && extreme_.as_bool()) || value.as_bool());
      break;
    case AggregateFunction::kComoment:
      pairs_.emplace_back(value.as_float(), second.as_float());
      break;
    case AggregateFunction::kStringAgg:
      if (count_ > 1 && !second.is_null()) text_ += second.as_text();
      text_ += value.as_text();
      break;
    case AggregateFunction::kPercentileUp:
    case AggregateFunction::kPercentileDown:
      values_.push_back(value);
      share_ = second.as_float();
      break;
    default:
      break;
  }
}

// In two passes over what was kept.
Value Accumulator::Comoment() const {
  long double x = 0, y = 0, sum = 0;
  for (const auto& [a, b] : pairs_) x += a, y += b;
  x /= static_cast<long double>(count_), y /= static_cast<long double>(count_);
  for (const auto& [a, b] : pairs_) sum += (a - x) * (b - y);
  return Value::Float(static_cast<double>(sum));
}

Value Accumulator::Percentile() const {
  std::vector<Value> sorted = values_;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Value& a, const Value& b) {
    return function_ == AggregateFunction::kPercentileUp ? CompareValues(a, b) < 0
                                                         : CompareValues(b, a) < 0;
  });
  const double place = share_ * (static_cast<double>(count_) - 1);
  const auto below = static_cast<size_t>(place);
  const double low = sorted[below].as_float();
  const double rest = place - static_cast<double>(below);
  if (rest == 0) return Value::Float(low);
  return Value::Float(low + rest * (sorted[below + 1].as_float() - low));
}

absl::StatusOr<Value> Accumulator::DecimalSum() const {
  if (!decimal_sum_.ok()) return decimal_sum_.status();
  if (function_ == AggregateFunction::kSum) return Value::Of(*decimal_sum_);
  const absl::StatusOr<Decimal> average =
      decimal::Divide(*decimal_sum_, decimal::FromInteger(count_));
  if (!average.ok()) return average.status();
  return Value::Of(*average);
}

absl::StatusOr<Value> Accumulator::Sum() const {
  if (IsFloat(arg_type_)) return RoundTo(type_, Value::Float(float_sum_.Total()));
  if (IsFloat(type_)) return RoundTo(type_, Value::Float(static_cast<double>(integer_sum_)));
  return CheckedInt(integer_sum_, type_);
}

absl::StatusOr<Value> Accumulator::Result() const {
  if (function_ == AggregateFunction::kCountStar || function_ == AggregateFunction::kCount) {
    return Value::Int(count_);
  }
  if (count_ == 0) return Value();
  const bool adds = function_ == AggregateFunction::kSum || function_ == AggregateFunction::kAvg;
  if (adds && arg_type_ == TypeId::kDecimal) return DecimalSum();
  if (function_ == AggregateFunction::kSum) return Sum();
  if (function_ == AggregateFunction::kComoment) return Comoment();
  if (!values_.empty()) return Percentile();
  if (function_ == AggregateFunction::kStringAgg) return Value::Text(text_);
  if (function_ == AggregateFunction::kAvg) {
    const double sum = IsFloat(arg_type_) ? float_sum_.Total() : static_cast<double>(integer_sum_);
    return RoundTo(type_, Value::Float(sum / static_cast<double>(count_)));
  }
  return extreme_;
}

}  // namespace adjoin::reference
