// DOUBLE PRECISION as numbers that are in the order of the values.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace adjoin {

inline constexpr uint64_t kSignBit = uint64_t{1} << 63;

// -0 before 0, and NaNs, of which all are one, after everything else.
inline uint64_t OrderedBits(double v) {
  if (std::isnan(v)) v = std::numeric_limits<double>::quiet_NaN();
  const auto bits = std::bit_cast<uint64_t>(v);
  return (bits & kSignBit) != 0 && !std::isnan(v) ? ~bits : bits | kSignBit;
}
// The value again.
inline double OfOrderedBits(uint64_t bits) {
  return std::bit_cast<double>((bits & kSignBit) != 0 ? bits ^ kSignBit : ~bits);
}

}  // namespace adjoin
