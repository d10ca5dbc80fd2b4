// exp, tanh, logarithms and power of one value, written without branches so that loops over them
// vectorise; every FMA is explicit, so all widths give the same bits. Coefficients: Chebyshev
// interpolation in 60 digits. The bounds are what tests/kernels/kernel_math_test.cc holds them to.
#pragma once

#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {

ADJOIN_INLINE uint64_t BitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
ADJOIN_INLINE uint32_t BitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
ADJOIN_INLINE double FromBits(uint64_t bits) { return __builtin_bit_cast(double, bits); }
ADJOIN_INLINE float FromBits(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// sum of c[i] x^i
template <typename T, int kCount>
ADJOIN_INLINE T Polynomial(T x, const T (&c)[kCount]) {
  T sum = c[kCount - 1];
#pragma GCC unroll 32
  for (int i = kCount - 2; i >= 0; --i) sum = Fma(sum, x, c[i]);
  return sum;
}

// Adding and taking away 1.5 * 2^(precision - 1) rounds to an integer, which the low bits of the
// sum hold.
template <typename T>
inline constexpr T kRounder = sizeof(T) == 8 ? T(0x1.8p52) : T(0x1.8p23);
// 2^n of n + kRounder, for n that is a normal number's exponent.
ADJOIN_INLINE double PowerOfTwo(double rounded) { return FromBits((BitsOf(rounded) + 1023) << 52); }
ADJOIN_INLINE float PowerOfTwo(float rounded) { return FromBits((BitsOf(rounded) + 127) << 23); }

// x 2^n of n + kRounder, in two steps, so that only the last rounds a subnormal result. Half of n
// is found in the bits: above the lowest 12 (9) they do not matter.
ADJOIN_INLINE double Scaled(double x, double rounded) {
  const uint64_t bits = BitsOf(rounded) + 2048;
  const uint64_t half = bits >> 1;  // n / 2 + 1024
  return x * FromBits((half - 1) << 52) * FromBits((bits - half - 1) << 52);
}
ADJOIN_INLINE float Scaled(float x, float rounded) {
  const uint32_t bits = BitsOf(rounded) + 256;
  const uint32_t half = bits >> 1;
  return x * FromBits((half - 1) << 23) * FromBits((bits - half - 1) << 23);
}

template <typename T>
inline constexpr T kLog2E = T(0x1.71547652b82fep+0L);
// ln 2 in two parts. The product of the first with an integer, taken from its neighbour, is exact
// with an FMA.
template <typename T>
inline constexpr T kLn2High = sizeof(T) == 8 ? T(0x1.62e42fefa39efp-1) : T(0x1.62e43p-1);
template <typename T>
inline constexpr T kLn2Low = sizeof(T) == 8 ? T(0x1.abc9e3b39803fp-56) : T(-0x1.05c61p-29);
// The same with 20 zero bits behind the first, whose product with an exponent is exact.
inline constexpr double kLn2Exact = 0x1.62e42feep-1;
inline constexpr double kLn2Rest = 0x1.a39ef35793c76p-33;

template <typename T>
struct ReducedExp {
  T rounded;  // n + kRounder, where the argument is n ln 2 + r
  T r_expm1;  // exp(r) - 1
};

// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2, to 2^-62 and 2^-32 of exp(r). Pairs of terms first:
// a loop over Horner's chain of ten waits for it, for the processor sees only five turns ahead.
ADJOIN_INLINE double ExpTail(double r) {
  constexpr double c[] = {0.5,
                          0.16666666666666671,
                          0.041666666666666671,
                          0.0083333333333260838,
                          0.0013888888888883711,
                          0.00019841269875002279,
                          2.4801587325677461e-5,
                          2.7557255170000888e-6,
                          2.7557273478718582e-7,
                          2.5105312729622103e-8,
                          2.0914755325893202e-9};
  const double r2 = r * r, r4 = r2 * r2;
  const double low = Fma(Fma(c[3], r, c[2]), r2, Fma(c[1], r, c[0]));
  const double middle = Fma(Fma(c[7], r, c[6]), r2, Fma(c[5], r, c[4]));
  const double high = Fma(c[10], r2, Fma(c[9], r, c[8]));
  return Fma(Fma(high, r4, middle), r4, low);
}
ADJOIN_INLINE float ExpTail(float r) {
  constexpr float c[] = {0.5f,           0.166666672f,   0.041666463f,
                         0.00833331048f, 0.00139337312f, 0.000198910799f};
  const float r2 = r * r;
  const float high = Fma(Fma(c[5], r, c[4]), r2, Fma(c[3], r, c[2]));
  return Fma(high, r2, Fma(c[1], r, c[0]));
}

template <typename T>
ADJOIN_INLINE ReducedExp<T> ReduceExp(T x, T low) {
  const T rounder = kRounder<T>;
  const T rounded = Fma(x, kLog2E<T>, rounder);
  const T n = rounded - rounder;
  T r = Fma(-n, kLn2High<T>, x);
  r = Fma(-n, kLn2Low<T>, r) + low;
  return {rounded, Fma(r * r, ExpTail(r), r)};
}

// exp(x + low), |low| far below 1. Within 1 ulp.
template <typename T>
ADJOIN_INLINE T ExpOfSum(T x, T low) {
  constexpr T kBound = sizeof(T) == 8 ? T(750) : T(110);  // beyond: infinity or 0 all the same
  const ReducedExp<T> reduced = ReduceExp(x, low);
  T y = Scaled(T(1) + reduced.r_expm1, reduced.rounded);
  y = x > kBound ? T(__builtin_inf()) : y;  // a NaN stays
  return x < -kBound ? T(0) : y;
}
template <typename T>
ADJOIN_INLINE T Exp(T x) {
  return ExpOfSum(x, T(-0.0));  // adding -0, unlike 0, is nothing
}

// A fraction q with tanh(x) = x + x q, for |x| < 0.625 and z = x^2 (Cephes, tanh.c and tanhf.c).
template <typename T>
struct Fraction {
  T numerator, denominator;
};
ADJOIN_INLINE Fraction<double> TanhNearZero(double z) {
  constexpr double p[] = {-1.61468768441708447952e3, -9.92877231001918586564e1,
                          -9.64399179425052238628e-1};
  constexpr double q[] = {4.84406305325125486048e3, 2.23548839060100448583e3,
                          1.12811678491632931402e2, 1};
  return {z * Polynomial(z, p), Polynomial(z, q)};
}
ADJOIN_INLINE Fraction<float> TanhNearZero(float z) {
  constexpr float p[] = {-3.33332819422e-1f, 1.33314422036e-1f, -5.37397155531e-2f,
                         2.06390887954e-2f, -5.70498872745e-3f};
  return {z * Polynomial(z, p), 1};
}

// From 0.625 on 1 - 2 / (exp(2|x|) + 1). One division serves both. Within 1.5 ulp.
template <typename T>
ADJOIN_INLINE T Tanh(T x) {
  const T a = x < 0 ? -x : x;
  const T twice = a > T(22) ? T(44) : a + a;
  const ReducedExp<T> reduced = ReduceExp(twice, T(-0.0));
  const T scale = PowerOfTwo(reduced.rounded);
  const T far = Fma(scale, reduced.r_expm1, scale + T(1));
  const Fraction<T> near = TanhNearZero(x * x);
  const bool is_near = a < T(0.625);
  const T quotient = (is_near ? near.numerator : T(-2)) / (is_near ? near.denominator : far);
  const T y = is_near ? Fma(a, quotient, a) : T(1) + quotient;
  return sizeof(T) == 8 ? T(__builtin_copysign(y, x)) : T(__builtin_copysignf(y, x));
}

// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for positive finite x.
struct Exponent {
  double k, f;
};
ADJOIN_INLINE Exponent SplitExponent(double x) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd, kBias = 1024;
  const bool is_tiny = x < 0x1p-1022;
  const uint64_t bits = BitsOf(is_tiny ? x * 0x1p54 : x);
  const uint64_t k =
      (bits - kSqrtHalf + (kBias << 52)) >> 52;  // biased, so that the shift need not be signed
  const double m = FromBits(bits - (k << 52) + (kBias << 52));
  const double shift = is_tiny ? 0x1p52 + 1024 + 54 : 0x1p52 + 1024;
  return {FromBits(k | 0x4330000000000000) - shift, m - 1};
}

// The part of ln(1 + f) beyond f - f^2 / 2: as fdlibm's e_log.c, s (f^2 / 2 + R(s^2)) with s = f /
// (2 + f).
ADJOIN_INLINE double LogTail(double f, double half_square) {
  constexpr double c[] = {0.66666666666666663, 0.40000000000000885, 0.28571428570799784,
                          0.22222222392581045, 0.18181795547521137, 0.15386244737621665,
                          0.13268638369266825, 0.13088034850927555};
  const double s = f / (2 + f);
  const double z = s * s;
  return s * Fma(z, Polynomial(z, c), half_square);
}

// ln of what is not a positive finite number; the logarithm of other x is `value`.
ADJOIN_INLINE double LogOr(double x, double value) {
  double y = x < __builtin_inf() ? value : x;  // NaN too
  y = x == 0 ? -__builtin_inf() : y;
  return x < 0 ? __builtin_nan("") : y;
}

// Within 1 ulp.
ADJOIN_INLINE double Ln(double x) {
  const Exponent e = SplitExponent(x);
  const double half_square = 0.5 * e.f * e.f;
  const double tail = LogTail(e.f, half_square);
  const double low = half_square - Fma(e.k, kLn2Rest, tail);
  return LogOr(x, Fma(e.k, kLn2Exact, e.f - low));
}

// k * unit + ln(1 + f) * (factor + factor_low), where k * unit is exact. Within 1 ulp, exact for
// powers of the base.
ADJOIN_INLINE double ScaledLog(double x, double unit, double unit_low, double factor,
                               double factor_low) {
  const Exponent e = SplitExponent(x);
  const double half = 0.5 * e.f;
  const double half_square = half * e.f;
  const double high = e.f - half_square;
  const double low =
      ((e.f - high) - half_square - Fma(half, e.f, -half_square)) + LogTail(e.f, half_square);
  const double product = high * factor;
  const double product_low =
      Fma(high, factor, -product) + Fma(low, factor, high * factor_low) + e.k * unit_low;
  const double exponent = e.k * unit;
  const double sum = exponent + product;  // the exponent is 0 or the larger
  const double sum_low = (exponent - sum) + product;
  return LogOr(x, sum + (sum_low + product_low));
}
ADJOIN_INLINE double Log2(double x) {
  return ScaledLog(x, 1, 0, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
}
ADJOIN_INLINE double Log10(double x) {
  return ScaledLog(x, 0x1.34413508p-2, 0x1.f79fef311f12bp-34, 0x1.bcb7b1526e50ep-2,
                   0x1.95355baaafad3p-57);
}

// --- power

struct Pair {  // an unevaluated sum, |low| within an ulp of |high|
  double high, low;
};
ADJOIN_INLINE Pair FastSum(double larger, double smaller) {
  const double sum = larger + smaller;
  return {sum, (larger - sum) + smaller};
}
ADJOIN_INLINE Pair Product(Pair a, Pair b) {
  const double high = a.high * b.high;
  return {high, Fma(a.high, b.high, -high) + Fma(a.high, b.low, a.low * b.high)};
}

// ln x to about 2^-65, for positive finite x: 2s + s^3 (2/3 + s^2 R(s^2)), s = f / (2 + f), with s
// and all but R in pairs.
ADJOIN_INLINE Pair LnPair(double x) {
  constexpr double c[] = {0.40000000000000002, 0.28571428571429369, 0.22222222221652765,
                          0.18181818336099848, 0.1538459488700718,  0.13334808798812339,
                          0.11706126464563398, 0.11724327060846747};
  constexpr Pair kTwoThirds = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
  const Exponent e = SplitExponent(x);
  const Pair divisor = FastSum(2, e.f);
  Pair s;
  s.high = e.f / divisor.high;
  s.low = (Fma(-s.high, divisor.high, e.f) - s.high * divisor.low) / divisor.high;
  const Pair z = Product(s, s);
  Pair q = FastSum(kTwoThirds.high, z.high * Polynomial(z.high, c));
  q.low += kTwoThirds.low;
  const Pair cubic = Product(Product(s, z), q);
  const Pair of_f = FastSum(s.high + s.high, cubic.high);
  Pair sum = FastSum(e.k * kLn2Exact, of_f.high);
  sum.low += Fma(e.k, kLn2Rest, of_f.low + (s.low + s.low + cubic.low));
  return FastSum(sum.high, sum.low);
}

// |x|^y for finite non-zero x and finite y.
ADJOIN_INLINE double PowerOfMagnitude(double a, double y) {
  const Pair log = LnPair(a);
  const double high = log.high * y;
  const double low = Fma(log.high, y, -high) + log.low * y;
  const bool is_far = (high > 800) | (high < -800);  // overflows or underflows whatever follows
  return ExpOfSum(high, is_far ? 0.0 : low);
}
// The same for what was a float: the plain logarithm has bits to spare.
ADJOIN_INLINE float PowerOfMagnitude(float a, float y) {
  return static_cast<float>(Exp(Ln(static_cast<double>(a)) * static_cast<double>(y)));
}

ADJOIN_INLINE double Truncate(double x) { return __builtin_trunc(x); }
ADJOIN_INLINE float Truncate(float x) { return __builtin_truncf(x); }

// C's pow: pow(x, 0) = pow(1, y) = 1 for any x and y, NaN for a negative base and a fractional
// exponent. Within 1 ulp.
template <typename T>
ADJOIN_INLINE T Power(T x, T y) {
  constexpr T kInfinity = __builtin_inf();
  const bool is_negative = (BitsOf(x) >> (8 * sizeof(T) - 1)) != 0;
  const T a = is_negative ? -x : x;
  const T y_size = y < 0 ? -y : y;
  T r = PowerOfMagnitude(a, y);
  r = (a == 0) | (a == kInfinity) ? ((a == 0) == (y < 0) ? kInfinity : T(0)) : r;
  r = y_size == kInfinity ? ((a > 1) == (y > 0) ? kInfinity : T(0)) : r;
  r = (a == 1) & (y_size == kInfinity) ? T(1) : r;
  const T half = y * T(0.5);
  const bool is_integer = Truncate(y) == y;  // infinities count as even integers
  const bool is_odd = is_integer & (Truncate(half) != half);
  r = is_negative & is_odd ? -r : r;
  r = is_negative & !is_integer & (a != 0) & (a != kInfinity) ? T(__builtin_nan("")) : r;
  r = (x != x) | (y != y) ? x + y : r;
  return (x == 1) | (y == 0) ? T(1) : r;
}

}  // namespace adjoin::ADJOIN_ISA
