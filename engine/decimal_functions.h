// Arithmetic of NUMERIC, with the scales of PostgreSQL's results.
//
// A result whose exact value takes more than 36 digits loses the last ones of its fraction, rounded
// half away from zero; where its whole part takes more: 22003 `value overflows numeric format`.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/decimal.h"

namespace adjoin {
namespace decimal {

constexpr __int128 kLimit =
    static_cast<__int128>(1'000'000'000'000'000'000) * 1'000'000'000'000'000'000;  // 10^36
constexpr bool Fits(__int128 coefficient) { return coefficient < kLimit && coefficient > -kLimit; }

// coefficient / 10^scale, which may be below 0.
absl::StatusOr<Decimal> Fitted(__int128 coefficient, int64_t scale);

absl::StatusOr<Decimal> Add(Decimal a, Decimal b);
absl::StatusOr<Decimal> Subtract(Decimal a, Decimal b);
absl::StatusOr<Decimal> Multiply(Decimal a, Decimal b);
// At least 16 significant digits. Errors: 22012.
absl::StatusOr<Decimal> Divide(Decimal a, Decimal b);
// Of the sign of `a`. Errors: 22012.
absl::StatusOr<Decimal> Remainder(Decimal a, Decimal b);
// div(): the quotient's whole part. Errors: 22012.
absl::StatusOr<Decimal> WholeQuotient(Decimal a, Decimal b);
Decimal Negate(Decimal a);
Decimal Absolute(Decimal a);
Decimal Sign(Decimal a);
Decimal Floor(Decimal a);
Decimal Ceil(Decimal a);
// To `digits` after the point, or before it where negative.
absl::StatusOr<Decimal> Round(Decimal a, int32_t digits);
absl::StatusOr<Decimal> Truncate(Decimal a, int32_t digits);

// The same where that is quick: operands of one scale, or of 64 bits. False: ask the function
// above.
bool QuickAdd(Decimal a, Decimal b, Decimal* out);
bool QuickSubtract(Decimal a, Decimal b, Decimal* out);
bool QuickMultiply(Decimal a, Decimal b, Decimal* out);

Decimal FromInteger(int64_t value);
// Of 15 significant digits, 6 of a float. Errors: as ParseDecimal.
absl::StatusOr<Decimal> FromFloat(double value);
absl::StatusOr<Decimal> FromFloat(float value);
float NearestFloat(Decimal value);
// The nearest integer. Errors: 22003 `bigint out of range`.
absl::StatusOr<int64_t> IntegerOf(Decimal value);

// ---- Inline, for loops over batches.

inline bool QuickAdd(Decimal a, Decimal b, Decimal* out) {
  const __int128 sum = a.coefficient() + b.coefficient();
  if (a.scale() != b.scale() || !Fits(sum)) return false;
  *out = Decimal::Of(sum, a.scale());
  return true;
}

inline bool QuickSubtract(Decimal a, Decimal b, Decimal* out) {
  const __int128 difference = a.coefficient() - b.coefficient();
  if (a.scale() != b.scale() || !Fits(difference)) return false;
  *out = Decimal::Of(difference, a.scale());
  return true;
}

inline bool QuickMultiply(Decimal a, Decimal b, Decimal* out) {
  const __int128 x = a.coefficient(), y = b.coefficient();
  const auto x64 = static_cast<int64_t>(x), y64 = static_cast<int64_t>(y);
  const int scale = a.scale() + b.scale();
  if (x64 != x || y64 != y || scale > Decimal::kMaxScale) return false;
  const __int128 product = static_cast<__int128>(x64) * y64;
  if (!Fits(product)) return false;
  *out = Decimal::Of(product, scale);
  return true;
}

}  // namespace decimal

// A sum of any number of values, exact and so the same in any order. Errors: 22003 where it, or a
// part of it, takes more than 38 digits at the largest of the scales.
class DecimalSum {
 public:
  void Add(Decimal value) {
    __int128 sum;
    if (value.scale() == scale_ && !__builtin_add_overflow(sum_, value.coefficient(), &sum)) {
      sum_ = sum;
    } else {
      AddScaled(value.coefficient(), value.scale());
    }
  }
  void Add(const DecimalSum& other) {
    overflows_ |= other.overflows_;
    AddScaled(other.sum_, other.scale_);
  }
  absl::StatusOr<Decimal> Total() const;
  absl::StatusOr<Decimal> Average(int64_t count) const;

 private:
  void AddScaled(__int128 coefficient, int scale);
  __int128 sum_ = 0;
  int scale_ = 0;
  bool overflows_ = false;
};

}  // namespace adjoin
