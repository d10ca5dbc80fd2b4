// sin and cos of one value, without branches, for arguments up to kTrigonometricLimit; see
// exponential.h.
#pragma once

#include "kernels/exponential.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {

// pi / 2 in three parts. With |x| below the limit and n = x / (pi / 2) rounded, x - n * kHalfPi1 is
// exact in an FMA.
inline constexpr double kHalfPi1 = 0x1.921fb54442d18p+0;
inline constexpr double kHalfPi2 = 0x1.1a62633145c07p-54;
inline constexpr double kHalfPi3 = -0x1.f1976b7ed8fbcp-110;
inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
template <typename T>
inline constexpr T kTrigonometricLimit = sizeof(T) == 8 ? T(0x1p21) : T(0x1p28);

// cos(r) or sin(r) by `quadrant`'s lowest bit, negated by the next.
ADJOIN_INLINE double InQuadrant(uint64_t quadrant, double sine, double cosine) {
  const double y = (quadrant & 1) != 0 ? cosine : sine;
  return FromBits(BitsOf(y) ^ ((quadrant & 2) << 62));
}

// sin(x + shift * pi / 2). Within 1 ulp: the reduced argument is r + low, good to 2^-100 of 1.
ADJOIN_INLINE double SinShifted(double x, uint64_t shift) {
  constexpr double kSin[] = {-0.16666666666666666,    0.0083333333333333315,
                             -0.00019841269841264821, 2.7557319219150783e-6,
                             -2.5052106167335705e-8,  1.6058521349954986e-10,
                             -7.5860947896726206e-13};
  constexpr double kCos[] = {
      0.041666666666666664,  -0.0013888888888888887,  2.480158730158451e-5,  -2.7557319221298089e-7,
      2.0876755754879594e-9, -1.1470455178216906e-11, 4.7455370173192583e-14};
  const double rounded = Fma(x, kTwoOverPi, kRounder<double>);
  const double n = rounded - kRounder<double>;
  const double first = Fma(-n, kHalfPi1, x);
  const double second = n * kHalfPi2;
  const double r = first - second;
  const double back = first - r;
  const double lost =
      (first - (r + back)) + (back - second);  // of the difference, whichever was larger
  const double low = (lost - Fma(n, kHalfPi2, -second)) - n * kHalfPi3;
  const double z = r * r;
  // sin(r + low) = r + (r^3 S(z) + low (1 - z / 2)), cos(r + low) = 1 - z / 2 + (z^2 C(z) - r low).
  const double sine = r + Fma(r * z, Polynomial(z, kSin), Fma(-0.5 * z, low, low));
  const double half = 0.5 * z;
  const double one_less = 1 - half;
  const double cosine =
      one_less + (((1 - one_less) - half) + Fma(z * z, Polynomial(z, kCos), -r * low));
  // Adding 0 turned no sign but that of -0.
  const double y = InQuadrant(BitsOf(rounded) + shift, sine, cosine);
  return (shift == 0) & (x == 0) ? x : y;
}

// The same of a float, in double. Within 1 ulp (rounding once: about 0.501).
ADJOIN_INLINE float SinShifted(float x, uint64_t shift) {
  constexpr double kSin[] = {-0.16666666663741367, 0.0083333318306294292, -0.00019840063040804117,
                             2.7246868722877944e-6};
  constexpr double kCos[] = {0.04166666666422613, -0.0013888887635227975, 2.4800580601354642e-5,
                             -2.7298407652795173e-7};
  const double wide = x;
  const double rounded = Fma(wide, kTwoOverPi, kRounder<double>);
  const double n = rounded - kRounder<double>;
  const double r = Fma(-n, kHalfPi2, Fma(-n, kHalfPi1, wide));
  const double z = r * r;
  const double sine = Fma(r * z, Polynomial(z, kSin), r);
  const double cosine = Fma(z * z, Polynomial(z, kCos), Fma(-0.5, z, 1.0));
  const float y = static_cast<float>(InQuadrant(BitsOf(rounded) + shift, sine, cosine));
  return (shift == 0) & (x == 0) ? x : y;
}

}  // namespace adjoin::ADJOIN_ISA
