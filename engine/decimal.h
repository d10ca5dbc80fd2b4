// NUMERIC values: decimal numbers that carry their own scale, as PostgreSQL's do.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace adjoin {

// coefficient / 10^scale, of up to 36 digits: 122 bits of a coefficient and 6 of a scale in one
// 128-bit number, so that values of one scale, as a column of NUMERIC(p, s) has, compare and add as
// that number. The scale is what a value prints with: 1.10 equals 1.1 and is another value.
struct Decimal {
  uint64_t low = 0;
  int64_t high = 0;

  static constexpr int kMaxDigits = 36;
  static constexpr int kMaxScale = 60;
  static constexpr int kScaleBits = 6;
  static constexpr int kScaleMask = (1 << kScaleBits) - 1;

  // REQUIRES: a coefficient of at most kMaxDigits digits, 0 <= scale <= kMaxScale.
  static constexpr Decimal Of(__int128 coefficient, int scale) {
    return FromBits(coefficient * (1 << kScaleBits) + scale);
  }
  static constexpr Decimal FromBits(__int128 bits) {
    return {static_cast<uint64_t>(bits), static_cast<int64_t>(bits >> 64)};
  }
  constexpr __int128 bits() const { return static_cast<__int128>(high) << 64 | low; }
  constexpr __int128 coefficient() const { return bits() >> kScaleBits; }
  constexpr int scale() const { return static_cast<int>(low & kScaleMask); }
  explicit operator double() const;  // the nearest

  friend bool operator==(const Decimal& a, const Decimal& b) {
    return a.scale() == b.scale() ? a.bits() == b.bits() : CompareScaled(a, b) == 0;
  }
  friend std::strong_ordering operator<=>(const Decimal& a, const Decimal& b) {
    return a.scale() == b.scale() ? a.bits() <=> b.bits() : CompareScaled(a, b) <=> 0;
  }

 private:
  static int CompareScaled(const Decimal& a, const Decimal& b);
};

// 10^exponent. REQUIRES: 0 <= exponent <= 38.
__int128 PowerOfTen(int exponent);

// The equal value without zeros at the end of its fraction: one for all that are equal.
Decimal Normalized(Decimal value);

// A column's NUMERIC(precision, scale). Precision 0: plain NUMERIC, which takes any value.
struct NumericModifier {
  static constexpr int kMaxPrecision = 38;
  int16_t precision = 0, scale = 0;
  friend bool operator==(const NumericModifier&, const NumericModifier&) = default;
};
// The value rounded, half away from zero, to the modifier's scale. Errors: 22003 `numeric field
// overflow`.
absl::StatusOr<Decimal> Rounded(Decimal value, NumericModifier modifier);

// Text such as -12.50, .5 or 1e6, white space around it ignored; digits past the 36th of a fraction
// are rounded away. Errors: 22P02 `invalid input syntax for type numeric: "x"`; 22003 `value
// overflows numeric format`; 0A000 for NaN and infinities.
absl::StatusOr<Decimal> ParseDecimal(std::string_view text);
std::string ToText(Decimal value);

}  // namespace adjoin
