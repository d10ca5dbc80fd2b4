// Every cast on every variant against arithmetic in long double, which holds all of the types'
// values.
#include <gtest/gtest.h>

#include "tests/kernels/kernel_testing.h"

namespace adjoin {
namespace {

template <typename From, typename To>
bool Convert(From x, To* r) {
  if constexpr (std::is_same_v<To, uint8_t>) {
    *r = x != 0;
    return true;
  } else if constexpr (std::is_integral_v<To>) {
    if (std::isnan(static_cast<long double>(x))) return false;
    const long double rounded = std::nearbyint(static_cast<long double>(x));
    if (rounded < static_cast<long double>(std::numeric_limits<To>::min()) ||
        rounded > static_cast<long double>(std::numeric_limits<To>::max())) {
      return false;
    }
    *r = static_cast<To>(rounded);
    return true;
  } else {
    *r = static_cast<To>(x);
    return !std::isinf(*r) || std::isinf(static_cast<long double>(x));
  }
}

template <typename From, typename To>
void CheckCast() {
  for (const KernelTable* table : SupportedKernels()) {
    const ScalarKernel cast =
        table->cast[static_cast<int>(TypeOf<From>())][static_cast<int>(TypeOf<To>())];
    ASSERT_NE(cast, nullptr);
    for (int64_t n : TestSizes()) {
      std::vector<From> x = TestValues<From>(n, n);
      // Halves and the limits of integers, where rounding and range meet.
      if constexpr (std::is_floating_point_v<From>) {
        const double edges[] = {32767.5,
                                32767.4,
                                -32768.5,
                                -32768.6,
                                2147483647.5,
                                2147483647.4,
                                9223372036854775807.0,
                                -9223372036854775808.0,
                                2.5,
                                3.5,
                                -2.5};
        for (int64_t i = 0; i < n && i < 11; ++i) x[n - 1 - i] = static_cast<From>(edges[i]);
      }
      const std::vector<uint8_t> active = TestValues<uint8_t>(n, 9);
      std::vector<To> expected(n);
      std::vector<uint8_t> valid(n);
      bool all = true, of_active = true;
      for (int64_t i = 0; i < n; ++i) {
        valid[i] = Convert(x[i], &expected[i]);
        all &= valid[i] != 0;
        of_active &= valid[i] != 0 || active[i] == 0;
      }
      Unaligned<From> in(x);
      Unaligned<To> out(std::vector<To>(n), 3);
      const void* args[] = {in.data()};
      const auto error = [](bool ok) { return ok ? ScalarError::kNone : ScalarError::kOverflow; };
      EXPECT_EQ(cast(args, active.data(), out.data(), n), error(of_active)) << table->isa;
      EXPECT_EQ(cast(args, valid.data(), out.data(), n), ScalarError::kNone) << table->isa;
      EXPECT_EQ(cast(args, nullptr, out.data(), n), error(all)) << table->isa << " n " << n;
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_TRUE(!valid[i] || SameBits(out.data()[i], expected[i]))
            << table->isa << " of " << +x[i] << ": " << +out.data()[i];
      }
      EXPECT_TRUE(out.Intact());
      if (sizeof(To) > sizeof(From)) continue;  // in place, where the result fits
      cast(args, nullptr, in.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_TRUE(SameBits(reinterpret_cast<To*>(in.data())[i], out.data()[i])) << table->isa;
      }
    }
  }
}

template <typename From>
void CheckCastsFrom() {
  CheckCast<From, uint8_t>();
  CheckCast<From, int16_t>();
  CheckCast<From, int32_t>();
  CheckCast<From, int64_t>();
  CheckCast<From, float>();
  CheckCast<From, double>();
}

TEST(CastTest, FromBoolean) { CheckCastsFrom<uint8_t>(); }
TEST(CastTest, FromSmallint) { CheckCastsFrom<int16_t>(); }
TEST(CastTest, FromInteger) { CheckCastsFrom<int32_t>(); }
TEST(CastTest, FromBigint) { CheckCastsFrom<int64_t>(); }
TEST(CastTest, FromReal) { CheckCastsFrom<float>(); }
TEST(CastTest, FromDoublePrecision) { CheckCastsFrom<double>(); }

}  // namespace
}  // namespace adjoin
