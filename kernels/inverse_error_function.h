// erf_inv(u) of |u| < 1 (Giles, Approximating the erfinv function, 2012), with the operations, and
// so the bits, of JAX's on a processor with FMA: u times a polynomial of L = log(1 - u^2), Horner's
// form. 1 - u^2 is rounded, hence normal numbers are as near as tests/kernels/kernel_random_test.cc
// holds them to: 4.1 ulp below 2.5 and 92 beyond for REAL, 30 and 7.1e5 (1.6e-10) for DOUBLE
// PRECISION.
#pragma once

#include "kernels/exponential.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {

// From the coefficient of the highest power on, unlike Polynomial.
template <typename T, int kCount>
ADJOIN_INLINE T Horner(T x, const T (&c)[kCount]) {
  T sum = c[0];
#pragma GCC unroll 32
  for (int i = 1; i < kCount; ++i) sum = Fma(sum, x, c[i]);
  return sum;
}

// log(1 + x) is a rational function of x below this |x|, sqrt(2) - 1, and a logarithm from it on.
template <typename T>
inline constexpr T kLog1pLimit = sizeof(T) == 8 ? T(0x1.a827999fcef32p-2) : T(0x1.a8279ap-2);
// Down to this logarithm one polynomial serves, in -log; below others, in sqrt(-log).
template <typename T>
inline constexpr T kCentreLimit = sizeof(T) == 8 ? T(-6.25) : T(-5);

ADJOIN_INLINE float Log1pRatio(float x) {
  constexpr float n[] = {0x1.7bc096p-15f, 0x1.fe818ap-2f, 0x1.a509f4p2f, 0x1.de9738p4f,
                         0x1.e798ecp5f,   0x1.c8e75ap5f,  0x1.40a202p4f};
  constexpr float d[] = {0x1p0f,        0x1.e2035ap3f, 0x1.4c30b6p6f, 0x1.bb865ap7f,
                         0x1.351946p8f, 0x1.b0db14p7f, 0x1.e0f304p5f};
  return Horner(x, n) / Horner(x, d);
}
ADJOIN_INLINE double Log1pRatio(double x) {
  constexpr double n[] = {0x1.7bc0962b395cap-15, 0x1.fe818a0fe1a83p-2, 0x1.a509f46f4fa53p2,
                          0x1.de9738b8cb9c9p4,   0x1.e798eb86c3351p5,  0x1.c8e7597479a1p5,
                          0x1.40a202d99830ap4};
  constexpr double d[] = {0x1p0,
                          0x1.e20359e903e37p3,
                          0x1.4c30b52213498p6,
                          0x1.bb86590fcfb56p7,
                          0x1.351945dc908a5p8,
                          0x1.b0db13e48e066p7,
                          0x1.e0f304466448ep5};
  return Horner(x, n) / Horner(x, d);
}

template <typename T>
ADJOIN_INLINE T Log1pNearZero(T x) {
  const T square = x * x;
  return x + Fma(square, T(-0.5), (x * square) * Log1pRatio(x));
}

// log(y) of a normal y > 0 (Cephes, logf.c).
ADJOIN_INLINE float LogOfNormal(float y) {
  const uint32_t bits = BitsOf(y);
  const float half = FromBits((bits & 0x7FFFFFu) | 0x3F000000u);  // y's mantissa in [0.5, 1)
  const bool small = half < 0x1.6a09e6p-1f;
  const float exponent = static_cast<float>(static_cast<int32_t>(bits >> 23) - 126);
  const float e = small ? exponent - 1 : exponent;
  const float below_one = half - 1;
  const float z = small ? below_one + half : below_one;
  const float z2 = z * z, z3 = z2 * z;
  const float a = Fma(Fma(z, 0x1.204376p-4f, -0x1.d7a37p-4f), z, 0x1.de4a34p-4f);
  const float b = Fma(Fma(z, -0x1.fcba9ep-4f, 0x1.23d37ep-3f), z, -0x1.555cap-3f);
  const float d = Fma(Fma(z, 0x1.999d58p-3f, -0x1.fffff8p-3f), z, 0x1.555554p-2f);
  const float tail = Fma(Fma(Fma(a, z3, b), z3, d), z3, e * -0x1.bd0106p-13f);
  return Fma(e, 0x1.63p-1f, Fma(z2, -0.5f, z) + tail);
}

ADJOIN_INLINE float ErfInverse(float u) {
  constexpr float centre[] = {0x1.e2cb1p-26f,   0x1.70966cp-22f, -0x1.d8e6aep-19f,
                              -0x1.26b582p-18f, 0x1.ca65b6p-13f, -0x1.48a81p-10f,
                              -0x1.11c9dep-8f,  0x1.f91ec6p-3f,  0x1.805c5ep0f};
  constexpr float tail[] = {-0x1.a3e136p-13f, 0x1.a76ad6p-14f, 0x1.61b8e4p-10f,
                            -0x1.e17bcep-9f,  0x1.7824f6p-8f,  -0x1.f38baep-8f,
                            0x1.354afcp-7f,   0x1.006db6p0f,   0x1.6a9efcp1f};
  const float x = u * -u;
  const float near = Log1pNearZero(x), far = LogOfNormal(x + 1);  // x + 1 is 2^-23 at least
  const float log = x > -kLog1pLimit<float> ? near : far;
  const float in_centre = Horner(-2.5f - log, centre);
  const float in_tail = Horner(__builtin_sqrtf(-log) - 3, tail);
  return u * (log > kCentreLimit<float> ? in_centre : in_tail);
}

// Of DOUBLE PRECISION in parts, for the caller chooses: `log` is log(1 - u^2).
ADJOIN_INLINE double ErfInverseCentre(double u, double log) {
  constexpr double c[] = {-0x1.135d2e746e627p-68, -0x1.8ddf93324d327p-63, 0x1.7b83eef0b7c9fp-60,
                          0x1.9ba72cd589b91p-57,  -0x1.33689090a6b96p-53, 0x1.82e11898132ep-56,
                          0x1.de4acfd9e26bap-48,  -0x1.6d33eed66c487p-45, -0x1.6f2167040d8e2p-44,
                          0x1.72a22c2d77e2p-39,   -0x1.c8859c4e5c0afp-37, -0x1.dc583d118a561p-35,
                          0x1.20f47ccf46b3cp-30,  -0x1.1a9e38dc84d6p-28,  -0x1.f36cd6d3d46a9p-26,
                          0x1.c6b4f5d03b787p-22,  -0x1.6e8a5434ae8a2p-20, -0x1.d1d1f7b8736f6p-17,
                          0x1.879c2a212f024p-13,  -0x1.845769484fca8p-11, -0x1.8b6c33114f909p-8,
                          0x1.ebd80d9b13e28p-3,   0x1.a755e7c99ae86p0};
  return u * Horner(-3.125 - log, c);
}
// From kCentreLimit down.
ADJOIN_INLINE double ErfInverseTail(double u, double log) {
  constexpr double kFar = -16;
  constexpr double near[] = {0x1.3040f87dbd932p-29, 0x1.85cbe52878635p-24,  -0x1.2777453dd3955p-22,
                             0x1.395abcd554c6cp-26, 0x1.936388a3790adp-20,  -0x1.0d5db812b5083p-18,
                             0x1.8860cd5d652f6p-19, 0x1.a29a0cacdfb23p-17,  -0x1.8cef1f80281f2p-15,
                             0x1.1e684d0b9188ap-14, 0x1.932cd54c8a222p-16,  -0x1.7448a89ef8aa3p-12,
                             0x1.f3cc55ad40c25p-11, -0x1.ba924132f38b1p-10, 0x1.468eeca533cf8p-9,
                             -0x1.ebadabb891bbdp-9, 0x1.5ffcfe5b76afcp-8,   0x1.0158a6d641d39p0,
                             0x1.8abcc380d5a48p1};
  constexpr double far[] = {-0x1.dcec3a7785389p-36, -0x1.18feec0e38727p-32, 0x1.9e6bf2dda45e3p-30,
                            -0x1.0468fb24e2f5fp-28, 0x1.05ac6a8fba182p-27,  -0x1.0102e495fb9cp-26,
                            0x1.f4c20e1334af8p-26,  -0x1.22d220fdf9c3ep-24, 0x1.ebc8bb824cb54p-23,
                            -0x1.0a8d40ea372ccp-20, 0x1.2fbd29d093d2bp-18,  -0x1.4a3497e1e0facp-16,
                            0x1.3ebf4eb00938fp-14,  -0x1.c2f36a8fc5d53p-13, -0x1.22ea5df04047cp-13,
                            0x1.02a30d1fba0dcp0,    0x1.3664ddd1ad7fbp2};
  const double root = __builtin_sqrt(-log);
  return u * (log > kFar ? Horner(root - 3.25, near) : Horner(root - 5, far));
}

}  // namespace adjoin::ADJOIN_ISA
