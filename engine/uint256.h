// Products of 128-bit numbers, and their quotients.
#pragma once

#include <cstdint>

namespace adjoin {

using Uint128 = unsigned __int128;

struct Uint256 {
  Uint128 high = 0, low = 0;
};

inline Uint256 MultiplyWide(Uint128 a, Uint128 b) {
  constexpr Uint128 kHalf = ~uint64_t{0};
  const Uint128 low = (a & kHalf) * (b & kHalf);
  const Uint128 one = (a >> 64) * (b & kHalf) + (low >> 64);
  const Uint128 two = (a & kHalf) * (b >> 64) + (one & kHalf);
  return {(a >> 64) * (b >> 64) + (one >> 64) + (two >> 64), two << 64 | (low & kHalf)};
}

struct Quotient {
  Uint128 value, remainder;
};
// REQUIRES: a.high < b, so that the quotient has 128 bits.
inline Quotient DivideWide(Uint256 a, Uint128 b) {
  if (a.high == 0) return {a.low / b, a.low % b};
  Uint128 remainder = a.high, quotient = 0;
  for (int bit = 127; bit >= 0; --bit) {
    const bool carry = remainder >> 127 != 0;
    remainder = remainder << 1 | (a.low >> bit & 1);
    quotient <<= 1;
    if (carry || remainder >= b) remainder -= b, quotient |= 1;
  }
  return {quotient, remainder};
}

// The quotient rounded half up.
inline Uint128 DivideRounded(Uint256 a, Uint128 b) {
  const Quotient q = DivideWide(a, b);
  return q.value + (q.remainder >= b - q.remainder ? 1 : 0);
}

}  // namespace adjoin
