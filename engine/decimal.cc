#include "engine/decimal.h"

#include <fast_float/fast_float.h>

#include <array>
#include <cctype>
#include <charconv>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/decimal_functions.h"
#include "engine/status.h"
#include "engine/text.h"
#include "engine/uint256.h"

namespace adjoin {
namespace {

constexpr std::array<__int128, 39> kPowersOfTen = [] {
  std::array<__int128, 39> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

absl::Status InvalidSyntax(std::string_view text) {
  return SqlError(sqlstate::kInvalidTextRepresentation,
                  absl::StrCat("invalid input syntax for type numeric: \"", ToAbsl(text), "\""));
}

bool IsSpecial(std::string_view word) {
  const size_t sign = !word.empty() && (word[0] == '-' || word[0] == '+') ? 1 : 0;
  const absl::string_view name = ToAbsl(word.substr(sign));
  return absl::EqualsIgnoreCase(name, "nan") || absl::EqualsIgnoreCase(name, "inf") ||
         absl::EqualsIgnoreCase(name, "infinity");
}

// Digits and at most one point, as far as they go.
struct Mantissa {
  __int128 coefficient = 0;
  int64_t scale = 0;
  int digits = 0;      // read, zeros too
  bool cut = false;    // digits did not fit
  bool round = false;  // the first of those was 5 or more
};
Mantissa ReadMantissa(const char*& at, const char* end) {
  Mantissa m;
  bool fraction = false;
  for (; at < end; ++at) {
    if (*at == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!IsDigit(*at)) break;
    ++m.digits;
    const __int128 longer = m.coefficient * 10 + (*at - '0');
    if (!m.cut && decimal::Fits(longer)) {
      m.coefficient = longer;
      m.scale += fraction ? 1 : 0;
    } else {
      if (!m.cut) m.round = *at >= '5';
      m.cut = true;
      m.scale -= fraction ? 0 : 1;
    }
  }
  return m;
}

}  // namespace

__int128 PowerOfTen(int exponent) { return kPowersOfTen[static_cast<size_t>(exponent)]; }

int Decimal::CompareScaled(const Decimal& a, const Decimal& b) {
  if (a.scale() > b.scale()) return -CompareScaled(b, a);
  const __int128 x = a.coefficient(), y = b.coefficient();
  const int difference = b.scale() - a.scale();
  __int128 scaled;
  if (difference > 38 || __builtin_mul_overflow(x, PowerOfTen(difference), &scaled))
    return x < 0 ? -1 : (x > 0 ? 1 : (y > 0 ? -1 : (y < 0 ? 1 : 0)));
  return scaled < y ? -1 : (scaled > y ? 1 : 0);
}

Decimal::operator double() const {
  const __int128 c = coefficient();
  constexpr __int128 kExact = __int128{1} << 53;
  // Both operands are exact, so that the one division rounds as reading the text would.
  if (c < kExact && c > -kExact && scale() <= 22)
    return static_cast<double>(c) / static_cast<double>(PowerOfTen(scale()));
  const std::string text = ToText(*this);
  double out = 0;
  fast_float::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Decimal Normalized(Decimal value) {
  __int128 coefficient = value.coefficient();
  int scale = value.scale();
  if (coefficient == 0) return Decimal();
  for (; scale > 0 && coefficient % 10 == 0; --scale) coefficient /= 10;
  return Decimal::Of(coefficient, scale);
}

absl::StatusOr<Decimal> Rounded(Decimal value, NumericModifier modifier) {
  if (modifier.precision == 0) return value;
  ADJOIN_ASSIGN_OR_RETURN(const Decimal rounded, decimal::Round(value, modifier.scale));
  const __int128 limit = PowerOfTen(modifier.precision);
  if (rounded.coefficient() < limit && rounded.coefficient() > -limit) return rounded;
  const int whole = modifier.precision - modifier.scale;
  return SqlErrorWithDetail(
      sqlstate::kNumericOutOfRange, "numeric field overflow",
      absl::StrCat("A field with precision ", modifier.precision, ", scale ", modifier.scale,
                   " must round to an absolute value less than ", whole > 0 ? "10^" : "",
                   whole > 0 ? whole : 1, "."));
}

absl::StatusOr<Decimal> ParseDecimal(std::string_view text) {
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end && std::isspace(static_cast<unsigned char>(*at)) != 0) ++at;
  while (at < end && std::isspace(static_cast<unsigned char>(end[-1])) != 0) --end;
  if (IsSpecial({at, static_cast<size_t>(end - at)})) {
    return SqlError(sqlstate::kFeatureNotSupported,
                    absl::StrCat("numeric ", ToAbsl(text), " is not supported"));
  }
  const bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) ++at;
  const Mantissa m = ReadMantissa(at, end);
  int64_t scale = m.scale;
  if (m.digits == 0) return InvalidSyntax(text);
  if (at < end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at + 1 < end && *at == '+' && IsDigit(at[1])) ++at;
    int exponent = 0;
    const auto [stop, error] = std::from_chars(at, end, exponent);
    if (error != std::errc()) return InvalidSyntax(text);
    at = stop;
    scale -= exponent;
  }
  if (at != end) return InvalidSyntax(text);
  __int128 coefficient = m.coefficient + (m.round ? 1 : 0);
  if (negative) coefficient = -coefficient;
  return decimal::Fitted(coefficient, scale);
}

std::string ToText(Decimal value) {
  const __int128 coefficient = value.coefficient();
  auto left = static_cast<Uint128>(coefficient < 0 ? -coefficient : coefficient);
  char buffer[Decimal::kMaxScale + 48];
  char* const end = buffer + sizeof(buffer);
  char* at = end;
  for (int digit = 0; left != 0 || digit <= value.scale(); ++digit) {
    if (digit == value.scale() && digit > 0) *--at = '.';
    // Most values have 64 bits, which divide in a fraction of the time.
    if (left >> 64 == 0) {
      const auto small = static_cast<uint64_t>(left);
      *--at = static_cast<char>('0' + small % 10), left = small / 10;
    } else {
      *--at = static_cast<char>('0' + static_cast<int>(left % 10)), left /= 10;
    }
  }
  if (coefficient < 0) *--at = '-';
  return std::string(at, end);
}

}  // namespace adjoin
