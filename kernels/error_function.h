// erf and erfc of one value, without branches; see exponential.h.
#pragma once

#include "kernels/exponential.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {

// erf(x) for |x| < 1: x + x P(x^2).
ADJOIN_INLINE double ErfNearZero(double x) {
  constexpr double c[] = {0.12837916709551259,    -0.37612638903183748,   0.11283791670954879,
                          -0.026866170645076792,  0.0052239776248180145,  -0.000854832698083379,
                          0.0001205533111164271,  -1.4925595266831182e-5, 1.6461000484121368e-6,
                          -1.6350312701054695e-7, 1.4659775274047436e-8,  -1.1372848856791674e-9,
                          5.9571761477489113e-11};
  return Fma(x, Polynomial(x * x, c), x);
}

// erfc(a) for 0 <= a <= 28: (1 + 2a) exp(a^2) erfc(a) is smooth in t = (a - 4) / (a + 4) (Shepherd
// and Laframboise, Chebyshev approximation of (1 + 2x) exp(x^2) erfc x, 1981).
ADJOIN_INLINE double ErfcOfPositive(double a) {
  constexpr double c[] = {1.2329951186255526,     -0.13962111684056253,    0.015379652102620116,
                          0.06809705425469291,    -0.10103906603632995,    0.093732834998338038,
                          -0.066330365811531247,  0.037167515537799449,    -0.016197734067248316,
                          0.0050319699729344585,  -0.00075777321286011484, -0.00019925664646754061,
                          0.00015062130110753144, -2.4399495777810008e-5,  -1.122086257538319e-5,
                          5.7107597639176427e-6,  2.9155416563374625e-7,   -8.277775385953806e-7,
                          7.7157076075400456e-8,  1.133487240893955e-7,    -1.9190732586141095e-8,
                          -1.6688713944251729e-8, 1.7003915023925467e-9,   2.1373288199601603e-9,
                          3.0088552127970107e-10};
  const double t = (a - 4) / (a + 4);
  const double square = a * a;
  const double power = ExpOfSum(-square, -Fma(a, a, -square));
  return power * (Polynomial(t, c) / Fma(2.0, a, 1.0));
}

ADJOIN_INLINE double BoundedMagnitude(double x) {
  const double a = x < 0 ? -x : x;
  return a > 28 ? 28 : a;
}

// Within 1.1 ulp.
ADJOIN_INLINE double Erf(double x) {
  const double a = BoundedMagnitude(x);
  const double far = __builtin_copysign(1 - ErfcOfPositive(a), x);
  return a < 1 ? ErfNearZero(x) : far;
}

// Within 4 ulp.
ADJOIN_INLINE double Erfc(double x) {
  const double a = BoundedMagnitude(x);
  const double of_positive = ErfcOfPositive(a);
  const double far = x < 0 ? 2 - of_positive : of_positive;
  return a < 0.5 ? 1 - ErfNearZero(x) : far;
}

}  // namespace adjoin::ADJOIN_ISA
