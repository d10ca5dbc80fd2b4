#include "ops/number_functions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/decimal_functions.h"
#include "engine/status.h"

namespace adjoin::number {
namespace {

absl::Status Overflow() {
  return SqlError(sqlstate::kNumericOutOfRange, "value overflows numeric format");
}

__int128 GreatestDivisor(__int128 a, __int128 b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

// Both as coefficients of one scale.
struct Pair {
  __int128 a, b;
  int scale;
};
absl::StatusOr<Pair> AtOneScale(Decimal a, Decimal b) {
  Pair out{a.coefficient(), b.coefficient(), std::max(a.scale(), b.scale())};
  const auto grows = [&](__int128& coefficient, int from) {
    const int digits = out.scale - from;
    if (digits > Decimal::kMaxDigits && coefficient != 0) return true;
    return coefficient != 0 &&
           __builtin_mul_overflow(coefficient, PowerOfTen(digits), &coefficient);
  };
  if (grows(out.a, a.scale()) || grows(out.b, b.scale())) return Overflow();
  return out;
}

absl::StatusOr<Decimal> Checked(__int128 coefficient, int scale) {
  if (!decimal::Fits(coefficient)) return Overflow();
  return Decimal::Of(coefficient, scale);
}

}  // namespace

absl::StatusOr<Decimal> Factorial(int64_t n) {
  constexpr int64_t kMost = 32;
  if (n < 0)
    return SqlError(sqlstate::kNumericOutOfRange, "factorial of a negative number is undefined");
  if (n > kMost) return Overflow();
  __int128 product = 1;
  for (int64_t i = 2; i <= n; ++i) product *= i;
  return Decimal::Of(product, 0);
}

absl::StatusOr<Decimal> CommonDivisor(Decimal a, Decimal b) {
  ADJOIN_ASSIGN_OR_RETURN(const Pair pair, AtOneScale(a, b));
  return Checked(GreatestDivisor(pair.a, pair.b), pair.scale);
}

absl::StatusOr<Decimal> CommonMultiple(Decimal a, Decimal b) {
  ADJOIN_ASSIGN_OR_RETURN(const Pair pair, AtOneScale(a, b));
  if (pair.a == 0 || pair.b == 0) return Decimal::Of(0, pair.scale);
  __int128 multiple;
  if (__builtin_mul_overflow(pair.a / GreatestDivisor(pair.a, pair.b), pair.b, &multiple))
    return Overflow();
  return Checked(multiple < 0 ? -multiple : multiple, pair.scale);
}

namespace {

absl::Status InvalidBucket(std::string_view message) { return SqlError("2201G", message); }

absl::StatusOr<int32_t> PastTheLast(int32_t count) {
  if (count == INT32_MAX) return SqlError(sqlstate::kNumericOutOfRange, "integer out of range");
  return count + 1;
}

template <typename T>
absl::Status CheckBuckets(const T& low, const T& high, int32_t count) {
  if (count <= 0) return InvalidBucket("count must be greater than zero");
  if (low == high) return InvalidBucket("lower bound cannot equal upper bound");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int32_t> WidthBucket(double value, double low, double high, int32_t count) {
  if (count <= 0) return InvalidBucket("count must be greater than zero");
  if (std::isnan(value) || std::isnan(low) || std::isnan(high))
    return InvalidBucket("operand, lower bound, and upper bound cannot be NaN");
  if (std::isinf(low) || std::isinf(high))
    return InvalidBucket("lower and upper bounds must be finite");
  ADJOIN_RETURN_IF_ERROR(CheckBuckets(low, high, count));
  const bool rising = low < high;
  if (rising ? value < low : value > low) return 0;
  if (rising ? value >= high : value <= high) return PastTheLast(count);
  const double share = std::isinf(high - low) ? (value / 2 - low / 2) / (high / 2 - low / 2)
                       : rising               ? (value - low) / (high - low)
                                              : (low - value) / (low - high);
  // The share may round to 1.
  return std::min(static_cast<int32_t>(std::min<double>(count * share, count)), count - 1) + 1;
}

absl::StatusOr<int32_t> WidthBucket(Decimal value, Decimal low, Decimal high, int32_t count) {
  ADJOIN_RETURN_IF_ERROR(CheckBuckets(low, high, count));
  const bool rising = low < high;
  if (rising ? value < low : value > low) return 0;
  if (rising ? value >= high : value <= high) return PastTheLast(count);
  const Decimal parts = decimal::FromInteger(count);
  ADJOIN_ASSIGN_OR_RETURN(Decimal share, decimal::Subtract(value, low));
  ADJOIN_ASSIGN_OR_RETURN(share, decimal::Multiply(share, parts));
  ADJOIN_ASSIGN_OR_RETURN(const Decimal width, decimal::Subtract(high, low));
  ADJOIN_ASSIGN_OR_RETURN(share, decimal::Divide(share, width));
  if (share >= parts) return count;  // rounded up
  ADJOIN_ASSIGN_OR_RETURN(const int64_t whole, decimal::IntegerOf(decimal::Floor(share)));
  return static_cast<int32_t>(whole) + 1;
}

namespace {

constexpr double kRadian = M_PI / 180;  // per degree

// Computed, not written down, so that f(30 degrees) divided by it is 1 exactly.
double OfDegrees(double (*f)(double), double degrees) { return f(degrees * kRadian); }

double SinTo30(double x) { return OfDegrees(std::sin, x) / OfDegrees(std::sin, 30) / 2; }
double CosTo60(double x) {
  return 1 - (1 - OfDegrees(std::cos, x)) / (1 - OfDegrees(std::cos, 60)) / 2;
}
// Of the first quadrant.
double QuadrantSin(double x) { return x <= 30 ? SinTo30(x) : CosTo60(90 - x); }
double QuadrantCos(double x) { return x <= 60 ? CosTo60(x) : SinTo30(90 - x); }

absl::Status OutOfRange() {
  return SqlError(sqlstate::kNumericOutOfRange, "input is out of range");
}

struct Angle {
  double degrees;  // 0 to 90
  int sign_of_sine = 1, sign_of_cosine = 1;
};
// The angle of the first quadrant with the same sine and cosine but for their signs.
absl::StatusOr<Angle> Reduced(double degrees) {
  if (std::isinf(degrees)) return OutOfRange();
  Angle out{std::fmod(degrees, 360)};
  if (out.degrees < 0) out.degrees = -out.degrees, out.sign_of_sine = -1;
  if (out.degrees > 180) out.degrees = 360 - out.degrees, out.sign_of_sine = -out.sign_of_sine;
  if (out.degrees > 90) out.degrees = 180 - out.degrees, out.sign_of_cosine = -1;
  return out;
}

// PostgreSQL has no negative zeros here.
double Unsigned0(double v) { return v == 0 ? 0 : v; }

double QuadrantTan(double x) { return QuadrantSin(x) / QuadrantCos(x); }
double QuadrantCot(double x) { return QuadrantCos(x) / QuadrantSin(x); }

// Of 0 to 1.
double AsinTo90(double x) {
  return x <= 0.5 ? std::asin(x) / std::asin(0.5) * 30 : 90 - std::acos(x) / std::acos(0.5) * 60;
}
double AcosTo90(double x) {
  return x <= 0.5 ? 90 - std::asin(x) / std::asin(0.5) * 30 : std::acos(x) / std::acos(0.5) * 60;
}

}  // namespace

absl::StatusOr<double> SinDegrees(double degrees) {
  ADJOIN_ASSIGN_OR_RETURN(const Angle angle, Reduced(degrees));
  return angle.sign_of_sine * QuadrantSin(angle.degrees);
}

absl::StatusOr<double> CosDegrees(double degrees) {
  ADJOIN_ASSIGN_OR_RETURN(const Angle angle, Reduced(degrees));
  return angle.sign_of_cosine * QuadrantCos(angle.degrees);
}

absl::StatusOr<double> TanDegrees(double degrees) {
  ADJOIN_ASSIGN_OR_RETURN(const Angle angle, Reduced(degrees));
  const int sign = angle.sign_of_sine * angle.sign_of_cosine;
  return Unsigned0(sign * (QuadrantTan(angle.degrees) / QuadrantTan(45)));
}

absl::StatusOr<double> CotDegrees(double degrees) {
  ADJOIN_ASSIGN_OR_RETURN(const Angle angle, Reduced(degrees));
  const int sign = angle.sign_of_sine * angle.sign_of_cosine;
  return Unsigned0(sign * (QuadrantCot(angle.degrees) / QuadrantCot(45)));
}

absl::StatusOr<double> AsinDegrees(double sine) {
  if (sine < -1 || sine > 1) return OutOfRange();
  return sine >= 0 || std::isnan(sine) ? AsinTo90(sine) : -AsinTo90(-sine);
}

absl::StatusOr<double> AcosDegrees(double cosine) {
  if (cosine < -1 || cosine > 1) return OutOfRange();
  return cosine >= 0 || std::isnan(cosine) ? AcosTo90(cosine) : 90 + AsinTo90(-cosine);
}

double AtanDegrees(double tangent) { return std::atan(tangent) / std::atan(1.0) * 45; }

double Atan2Degrees(double y, double x) { return std::atan2(y, x) / std::atan(1.0) * 45; }

}  // namespace adjoin::number
