#include "tests/reference/random_draw.h"

#include <bit>
#include <cmath>
#include <span>

namespace adjoin::reference {
namespace {

// Coefficients as bit patterns, that of the highest power first. Every operation that is no
// std::fma is rounded on its own: this file is compiled with -ffp-contract=off.
const uint32_t kCentre32[] = {0x32F16588, 0x34B84B36, 0xB66C7357, 0xB6935AC1, 0x396532DB,
                              0xBAA45408, 0xBB88E4EF, 0x3E7C8F63, 0x3FC02E2F};
const uint32_t kTail32[] = {0xB951F09B, 0x38D3B56B, 0x3AB0DC72, 0xBB70BDE7, 0x3BBC127B,
                            0xBBF9C5D7, 0x3C1AA57E, 0x3F8036DB, 0x40354F7E};
const uint32_t kNumerator32[] = {0x383DE04B, 0x3EFF40C5, 0x40D284FA, 0x41EF4B9C,
                                 0x4273CC76, 0x426473AD, 0x41A05101};
const uint32_t kDenominator32[] = {0x3F800000, 0x417101AD, 0x42A6185B, 0x435DC32D,
                                   0x439A8CA3, 0x43586D8A, 0x42707982};
const uint64_t kCentre64[] = {
    0xBBB135D2E746E627, 0xBC08DDF93324D327, 0x3C37B83EEF0B7C9F, 0x3C69BA72CD589B91,
    0xBCA33689090A6B96, 0x3C782E11898132E0, 0x3CFDE4ACFD9E26BA, 0xBD26D33EED66C487,
    0xBD36F2167040D8E2, 0x3D872A22C2D77E20, 0xBDAC8859C4E5C0AF, 0xBDCDC583D118A561,
    0x3E120F47CCF46B3C, 0xBE31A9E38DC84D60, 0xBE5F36CD6D3D46A9, 0x3E9C6B4F5D03B787,
    0xBEB6E8A5434AE8A2, 0xBEED1D1F7B8736F6, 0x3F2879C2A212F024, 0xBF4845769484FCA8,
    0xBF78B6C33114F909, 0x3FCEBD80D9B13E28, 0x3FFA755E7C99AE86};
const uint64_t kTail64[] = {
    0x3E23040F87DBD932, 0x3E785CBE52878635, 0xBE92777453DD3955, 0x3E5395ABCD554C6C,
    0x3EB936388A3790AD, 0xBED0D5DB812B5083, 0x3EC8860CD5D652F6, 0x3EEA29A0CACDFB23,
    0xBF08CEF1F80281F2, 0x3F11E684D0B9188A, 0x3EF932CD54C8A222, 0xBF37448A89EF8AA3,
    0x3F4F3CC55AD40C25, 0xBF5BA924132F38B1, 0x3F6468EECA533CF8, 0xBF6EBADABB891BBD,
    0x3F75FFCFE5B76AFC, 0x3FF0158A6D641D39, 0x4008ABCC380D5A48};
const uint64_t kFarTail64[] = {0xBDBDCEC3A7785389, 0xBDF18FEEC0E38727, 0x3E19E6BF2DDA45E3,
                               0xBE30468FB24E2F5F, 0x3E405AC6A8FBA182, 0xBE50102E495FB9C0,
                               0x3E5F4C20E1334AF8, 0xBE722D220FDF9C3E, 0x3E8EBC8BB824CB54,
                               0xBEB0A8D40EA372CC, 0x3ED2FBD29D093D2B, 0xBEF4A3497E1E0FAC,
                               0x3F13EBF4EB00938F, 0xBF2C2F36A8FC5D53, 0xBF222EA5DF04047C,
                               0x3FF02A30D1FBA0DC, 0x4013664DDD1AD7FB};
const uint64_t kNumerator64[] = {0x3F07BC0962B395CA, 0x3FDFE818A0FE1A83, 0x401A509F46F4FA53,
                                 0x403DE9738B8CB9C9, 0x404E798EB86C3351, 0x404C8E7597479A10,
                                 0x40340A202D99830A};
const uint64_t kDenominator64[] = {0x3FF0000000000000, 0x402E20359E903E37, 0x4054C30B52213498,
                                   0x406BB86590FCFB56, 0x407351945DC908A5, 0x406B0DB13E48E066,
                                   0x404E0F304466448E};

float Of(uint32_t bits) { return std::bit_cast<float>(bits); }
double Of(uint64_t bits) { return std::bit_cast<double>(bits); }

template <typename T, typename Bits>
T Horner(T x, std::span<const Bits> coefficients) {
  T sum = Of(coefficients[0]);
  for (Bits bits : coefficients.subspan(1)) sum = std::fma(sum, x, Of(bits));
  return sum;
}

float LogOf(float y) {
  int exponent = 0;
  float m = std::frexp(y, &exponent);  // in [0.5, 1)
  float e = static_cast<float>(exponent);
  float z = m - 1;
  if (m < Of(0x3F3504F3u)) {
    z = z + m;
    e = e - 1;
  }
  const float z2 = z * z, z3 = z2 * z;
  float a = std::fma(z, Of(0x3D9021BBu), Of(0xBDEBD1B8u));
  float b = std::fma(z, Of(0xBDFE5D4Fu), Of(0x3E11E9BFu));
  float d = std::fma(z, Of(0x3E4CCEACu), Of(0xBE7FFFFCu));
  a = std::fma(a, z, Of(0x3DEF251Au));
  b = std::fma(b, z, Of(0xBE2AAE50u));
  d = std::fma(d, z, Of(0x3EAAAAAAu));
  const float p = std::fma(std::fma(a, z3, b), z3, d);
  const float s = std::fma(p, z3, e * Of(0xB95E8083u));
  return std::fma(e, Of(0x3F318000u), std::fma(z2, -0.5f, z) + s);
}
double LogOf(double y) { return std::log(y); }

template <typename T, typename Bits>
T Log1p(T x, Bits limit, std::span<const Bits> numerator, std::span<const Bits> denominator) {
  if (!(std::fabs(x) < Of(limit))) return LogOf(x + 1);
  const T ratio = Horner(x, numerator) / Horner(x, denominator);
  const T x2 = x * x;
  const T cube = x * x2;
  return x + std::fma(x2, T(-0.5), cube * ratio);
}

// erf_inv(u) / u
float RatioOf(float u) {
  const float log = Log1p<float, uint32_t>(u * -u, 0x3ED413CD, kNumerator32, kDenominator32);
  if (log > -5) return Horner<float, uint32_t>(-2.5f - log, kCentre32);
  return Horner<float, uint32_t>(std::sqrt(-log) - 3, kTail32);
}
double RatioOf(double u) {
  const double log =
      Log1p<double, uint64_t>(u * -u, 0x3FDA827999FCEF32, kNumerator64, kDenominator64);
  if (log > -6.25) return Horner<double, uint64_t>(-3.125 - log, kCentre64);
  if (log > -16) return Horner<double, uint64_t>(std::sqrt(-log) - 3.25, kTail64);
  return Horner<double, uint64_t>(std::sqrt(-log) - 5, kFarTail64);
}

float UnitOf(uint32_t word) { return Of((word >> 9) | 0x3F800000u) - 1; }
double UnitOf(uint64_t word) { return Of((word >> 12) | uint64_t{0x3FF0000000000000}) - 1; }

template <typename T, typename Word>
T Uniform(T low, T high, Word word) {
  const T value = std::fma(UnitOf(word), high - low, low);
  return value < low ? low : value;
}

template <typename T, typename Word>
T Normal(T scale, Word word, T sqrt2) {
  const T u = Uniform(std::nextafter(T(-1), T(0)), T(1), word);
  const T factor = sqrt2 * scale;
  const T product = u * RatioOf(u);
  return product * factor;
}

}  // namespace

ThreefryWords Threefry(int64_t key, int64_t counter) {
  const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t k[3] = {static_cast<uint32_t>(static_cast<uint64_t>(key) >> 32),
                   static_cast<uint32_t>(key), 0};
  k[2] = k[0] ^ k[1] ^ 0x1BD11BDA;
  uint32_t x = static_cast<uint32_t>(static_cast<uint64_t>(counter) >> 32) + k[0];
  uint32_t y = static_cast<uint32_t>(counter) + k[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : rotations[group % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += k[(group + 1) % 3];
    y += k[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

float UniformOf(float low, float high, uint32_t word) { return Uniform(low, high, word); }
double UniformOf(double low, double high, uint64_t word) { return Uniform(low, high, word); }
float NormalOf(float scale, uint32_t word) { return Normal(scale, word, Of(0x3FB504F3u)); }
double NormalOf(double scale, uint64_t word) {
  return Normal(scale, word, Of(uint64_t{0x3FF6A09E667F3BCD}));
}

}  // namespace adjoin::reference
