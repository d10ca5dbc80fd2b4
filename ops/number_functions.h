// Functions of numbers that no kernel computes.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/decimal.h"

namespace adjoin::number {

// Errors: 22003 below 0 and above 32, whose results have more digits than a NUMERIC.
absl::StatusOr<Decimal> Factorial(int64_t n);

// The greatest common divisor and the least common multiple, at the larger of the scales; never
// negative.
absl::StatusOr<Decimal> CommonDivisor(Decimal a, Decimal b);
absl::StatusOr<Decimal> CommonMultiple(Decimal a, Decimal b);

// Which of `count` equal parts from `low` to `high`, counted from 1, the value is in: 0 before the
// first, count + 1 after the last. The bounds may be the other way round. Errors: 2201G.
absl::StatusOr<int32_t> WidthBucket(double value, double low, double high, int32_t count);
absl::StatusOr<int32_t> WidthBucket(Decimal value, Decimal low, Decimal high, int32_t count);

// Of degrees, exact where the result is (sind(30) is 0.5). Errors: 22003 for infinities and for
// what no angle gives.
absl::StatusOr<double> SinDegrees(double degrees);
absl::StatusOr<double> CosDegrees(double degrees);
absl::StatusOr<double> TanDegrees(double degrees);
absl::StatusOr<double> CotDegrees(double degrees);
absl::StatusOr<double> AsinDegrees(double sine);
absl::StatusOr<double> AcosDegrees(double cosine);
double AtanDegrees(double tangent);
double Atan2Degrees(double y, double x);

}  // namespace adjoin::number
