#include "engine/decimal_functions.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "engine/status.h"
#include "engine/uint256.h"

namespace adjoin {
namespace decimal {
namespace {

absl::Status Overflow() {
  return SqlError(sqlstate::kNumericOutOfRange, "value overflows numeric format");
}
absl::Status DivisionByZero() { return SqlError(sqlstate::kDivisionByZero, "division by zero"); }

Uint128 Magnitude(__int128 v) { return v < 0 ? -static_cast<Uint128>(v) : static_cast<Uint128>(v); }
__int128 WithSign(Uint128 magnitude, bool negative) {
  const auto v = static_cast<__int128>(magnitude);
  return negative ? -v : v;
}

int CountDigits(Uint128 v) {
  int digits = 0;
  for (; v >= 10'000'000'000; v /= 10'000'000'000) digits += 10;
  for (auto rest = static_cast<uint64_t>(v); rest > 0; rest /= 10) ++digits;
  return digits;
}

// The coefficient without its last `digits` digits, rounded half away from zero.
__int128 WithoutDigits(__int128 coefficient, int64_t digits) {
  if (digits > 38) return 0;
  const auto divisor = static_cast<Uint128>(PowerOfTen(static_cast<int>(digits)));
  return WithSign(DivideRounded({0, Magnitude(coefficient)}, divisor), coefficient < 0);
}

// PostgreSQL's digits have base 10000: the place of a value's first one, and that digit.
struct FirstDigit {
  int weight = 0, digit = 0;
};
FirstDigit FirstDigitOf(__int128 coefficient, int scale) {
  const Uint128 c = Magnitude(coefficient);
  if (c == 0) return {};
  const int exponent = CountDigits(c) - 1 - scale;
  const int weight = exponent >= 0 ? exponent / 4 : -((3 - exponent) / 4);
  const int shift = scale + 4 * weight;
  if (shift >= 0) return {weight, static_cast<int>(c / static_cast<Uint128>(PowerOfTen(shift)))};
  return {weight, static_cast<int>(c) * static_cast<int>(PowerOfTen(-shift))};
}

// PostgreSQL's select_div_scale.
int QuotientScale(__int128 a, int scale_a, __int128 b, int scale_b) {
  const FirstDigit x = FirstDigitOf(a, scale_a), y = FirstDigitOf(b, scale_b);
  const int weight = x.weight - y.weight - (x.digit <= y.digit ? 1 : 0);
  return std::max({16 - 4 * weight, scale_a, scale_b, 0});
}

absl::StatusOr<Decimal> Quotient(__int128 a, int scale_a, __int128 b, int scale_b) {
  if (b == 0) return DivisionByZero();
  const int digits = CountDigits(Magnitude(a)) - CountDigits(Magnitude(b)) + scale_b - scale_a;
  // `digits` stand before the point of the quotient, or one more.
  const int scale = std::min(
      {QuotientScale(a, scale_a, b, scale_b), Decimal::kMaxScale, Decimal::kMaxDigits - digits});
  if (scale < 0) return Overflow();
  int up = scale + scale_b - scale_a;
  Uint128 dividend = Magnitude(a), divisor = Magnitude(b);
  if (up < 0) {  // only where the scale was cut
    dividend = Magnitude(WithoutDigits(a, -up));
    up = 0;
  }
  if (up > 38) {
    dividend *= static_cast<Uint128>(PowerOfTen(up - 38));
    up = 38;
  }
  const Uint256 wide = MultiplyWide(dividend, static_cast<Uint128>(PowerOfTen(up)));
  return Fitted(WithSign(DivideRounded(wide, divisor), (a < 0) != (b < 0)), scale);
}

// Sums of different scales. Where both do not fit beside each other the last digits are lost.
absl::StatusOr<Decimal> AddScaled(Decimal a, Decimal b) {
  if (a.scale() > b.scale()) std::swap(a, b);
  __int128 x = a.coefficient(), y = b.coefficient();
  int scale = b.scale();
  const int digits = CountDigits(Magnitude(x));
  if (x != 0 && digits + scale - a.scale() > Decimal::kMaxDigits + 1) {
    const int kept = a.scale() + Decimal::kMaxDigits + 1 - digits;
    y = WithoutDigits(y, scale - kept);
    scale = kept;
  }
  if (x != 0) x *= PowerOfTen(scale - a.scale());
  return Fitted(x + y, scale);
}

template <bool kUp>
Decimal ToWhole(Decimal a) {
  if (a.scale() == 0) return a;
  if (a.scale() > 38)
    return Decimal::Of((a.coefficient() > 0) == kUp && a.coefficient() != 0 ? (kUp ? 1 : -1) : 0,
                       0);
  const __int128 unit = PowerOfTen(a.scale());
  const __int128 rest = a.coefficient() % unit;
  const __int128 whole = a.coefficient() / unit;
  if (kUp) return Decimal::Of(whole + (rest > 0 ? 1 : 0), 0);
  return Decimal::Of(whole - (rest < 0 ? 1 : 0), 0);
}

// `value` with `digits` after the point, by `cut` of a coefficient and the digits to leave out.
template <typename Cut>
absl::StatusOr<Decimal> WithScale(Decimal value, int32_t digits, Cut&& cut) {
  const int scale = std::clamp(digits, -Decimal::kMaxDigits - 1, Decimal::kMaxScale);
  const int dropped = value.scale() - scale;
  if (dropped == 0) return value;
  if (dropped > 0) {
    const __int128 kept = cut(value.coefficient(), dropped);
    return scale >= 0 ? Decimal::Of(kept, scale) : Fitted(kept, scale);
  }
  if (value.coefficient() == 0) return Decimal::Of(0, scale);
  __int128 longer;
  if (-dropped > 38 || __builtin_mul_overflow(value.coefficient(), PowerOfTen(-dropped), &longer) ||
      !Fits(longer))
    return Overflow();
  return Decimal::Of(longer, scale);
}

}  // namespace

absl::StatusOr<Decimal> Fitted(__int128 coefficient, int64_t scale) {
  if (coefficient == 0)
    return Decimal::Of(0, static_cast<int>(std::clamp<int64_t>(scale, 0, Decimal::kMaxScale)));
  if (scale < 0) {
    if (scale < -Decimal::kMaxDigits ||
        __builtin_mul_overflow(coefficient, PowerOfTen(static_cast<int>(-scale)), &coefficient))
      return Overflow();
    scale = 0;
  }
  int64_t dropped = std::max<int64_t>(scale - Decimal::kMaxScale, 0);
  if (!Fits(coefficient)) {
    dropped = std::max<int64_t>(dropped, CountDigits(Magnitude(coefficient)) - Decimal::kMaxDigits);
  }
  if (dropped == 0) return Decimal::Of(coefficient, static_cast<int>(scale));
  if (dropped > scale) return Overflow();
  // Rounding may have made a digit more, which is a zero.
  return Fitted(WithoutDigits(coefficient, dropped), scale - dropped);
}

absl::StatusOr<Decimal> Add(Decimal a, Decimal b) {
  Decimal sum;
  return QuickAdd(a, b, &sum) ? sum : AddScaled(a, b);
}
absl::StatusOr<Decimal> Subtract(Decimal a, Decimal b) { return Add(a, Negate(b)); }

absl::StatusOr<Decimal> Multiply(Decimal a, Decimal b) {
  Decimal quick;
  if (QuickMultiply(a, b, &quick)) return quick;
  const bool negative = (a.coefficient() < 0) != (b.coefficient() < 0);
  const Uint256 product = MultiplyWide(Magnitude(a.coefficient()), Magnitude(b.coefficient()));
  const int scale = a.scale() + b.scale();
  if (product.high == 0 && product.low < static_cast<Uint128>(kLimit))
    return Fitted(WithSign(product.low, negative), scale);
  // Up to 72 digits: half of them tell how many there are.
  const auto half = static_cast<Uint128>(kLimit);
  const int dropped = CountDigits(DivideWide(product, half).value);
  if (dropped > scale) return Overflow();
  const Uint128 kept = DivideRounded(product, static_cast<Uint128>(PowerOfTen(dropped)));
  return Fitted(WithSign(kept, negative), scale - dropped);
}

absl::StatusOr<Decimal> Divide(Decimal a, Decimal b) {
  return Quotient(a.coefficient(), a.scale(), b.coefficient(), b.scale());
}

absl::StatusOr<Decimal> Remainder(Decimal a, Decimal b) {
  if (b.coefficient() == 0) return DivisionByZero();
  const int scale = std::max(a.scale(), b.scale());
  __int128 divisor = b.coefficient();
  const int up = scale - b.scale();
  if (up > 38 || __builtin_mul_overflow(divisor, PowerOfTen(up), &divisor)) return a;
  // Digit by digit, so that nothing has to hold the dividend at the divisor's scale.
  const Uint128 modulus = Magnitude(divisor);
  Uint128 rest = Magnitude(a.coefficient()) % modulus;
  for (int digit = a.scale(); digit < scale; ++digit)
    rest = DivideWide(MultiplyWide(rest, 10), modulus).remainder;
  return Fitted(WithSign(rest, a.coefficient() < 0), scale);
}

absl::StatusOr<Decimal> WholeQuotient(Decimal a, Decimal b) {
  ADJOIN_ASSIGN_OR_RETURN(const Decimal rest, Remainder(a, b));
  ADJOIN_ASSIGN_OR_RETURN(const Decimal multiple, Subtract(a, rest));
  ADJOIN_ASSIGN_OR_RETURN(const Decimal quotient, Divide(multiple, b));
  return Round(quotient, 0);
}

Decimal Negate(Decimal a) { return Decimal::Of(-a.coefficient(), a.scale()); }
Decimal Absolute(Decimal a) { return a.coefficient() < 0 ? Negate(a) : a; }
Decimal Sign(Decimal a) {
  return Decimal::Of(a.coefficient() > 0 ? 1 : (a.coefficient() < 0 ? -1 : 0), 0);
}
Decimal Floor(Decimal a) { return ToWhole<false>(a); }
Decimal Ceil(Decimal a) { return ToWhole<true>(a); }

absl::StatusOr<Decimal> Round(Decimal a, int32_t digits) {
  return WithScale(a, digits, WithoutDigits);
}

absl::StatusOr<Decimal> Truncate(Decimal a, int32_t digits) {
  return WithScale(a, digits, [](__int128 coefficient, int dropped) {
    return dropped > 38 ? 0 : coefficient / PowerOfTen(dropped);
  });
}

Decimal FromInteger(int64_t value) { return Decimal::Of(value, 0); }

absl::StatusOr<Decimal> FromFloat(double value) {
  char text[40];
  const int length = std::snprintf(text, sizeof(text), "%.15g", value);
  return ParseDecimal({text, static_cast<size_t>(length)});
}
absl::StatusOr<Decimal> FromFloat(float value) {
  char text[40];
  const int length = std::snprintf(text, sizeof(text), "%.6g", double{value});
  return ParseDecimal({text, static_cast<size_t>(length)});
}

float NearestFloat(Decimal value) {
  const std::string text = ToText(value);
  float out = 0;
  fast_float::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

absl::StatusOr<int64_t> IntegerOf(Decimal value) {
  const __int128 whole = WithoutDigits(value.coefficient(), value.scale());
  if (whole != static_cast<int64_t>(whole))
    return SqlError(sqlstate::kNumericOutOfRange, "bigint out of range");
  return static_cast<int64_t>(whole);
}

}  // namespace decimal

void DecimalSum::AddScaled(__int128 coefficient, int scale) {
  const int common = std::max(scale, scale_);
  const auto raise = [&](__int128& number, int from) {
    if (number == 0 || from == common) return;
    overflows_ |=
        common - from > 38 || __builtin_mul_overflow(number, PowerOfTen(common - from), &number);
  };
  raise(coefficient, scale);
  raise(sum_, scale_);
  overflows_ |= __builtin_add_overflow(sum_, coefficient, &sum_);
  scale_ = common;
}

absl::StatusOr<Decimal> DecimalSum::Total() const {
  if (overflows_) return decimal::Overflow();
  return decimal::Fitted(sum_, scale_);
}

absl::StatusOr<Decimal> DecimalSum::Average(int64_t count) const {
  if (overflows_) return decimal::Overflow();
  return decimal::Quotient(sum_, scale_, count, 0);
}

}  // namespace adjoin
