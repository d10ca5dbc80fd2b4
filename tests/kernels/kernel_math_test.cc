// Transcendental kernels against the C library in long double: the bound in ulps that each
// function's comment states, on dense random samples of every range that matters, and the special
// values exactly.
#include <gtest/gtest.h>

#include "tests/kernels/kernel_testing.h"

namespace adjoin {
namespace {

using Wide = long double;

// |got - expected| in units of the spacing of T at the expected value.
template <typename T>
double UlpError(T got, Wide expected) {
  if (std::isnan(got) || std::isnan(expected))
    return std::isnan(got) && std::isnan(expected) ? 0 : 1e9;
  const T rounded = static_cast<T>(expected);
  if (got == rounded && (std::isinf(got) || got == 0)) return 0;
  if (std::isinf(got) || std::isinf(rounded)) return 1e9;
  const int exponent = std::max(std::ilogb(expected), std::numeric_limits<T>::min_exponent - 1);
  const Wide ulp = std::ldexp(Wide{1}, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(got - expected) / ulp);
}

void RecordWorst(const char* isa, const char* name, size_t bits, double worst) {
  testing::Test::RecordProperty(std::string(isa) + "_" + name + "_f" + std::to_string(bits),
                                std::to_string(worst));
}

struct Range {
  double low, high;
  bool of_logarithm = false;  // uniform in ln|x|
};

struct Function {
  const char* name;
  ScalarOp op;
  Wide (*reference)(Wide);
  double bound_f64, bound_f32;
  std::vector<Range> ranges;
};

std::vector<Function> Functions() {
  const Range positive{1e-310, 1e308, true}, near_one{0.5, 2}, around{-4, 4};
  const Range tiny{1e-30, 1e-3, true};
  return {
      {"exp", ScalarOp::kExp, std::exp, 1.0, 1.0, {around, {-745, 709}, {-104, 88}, tiny}},
      {"ln",
       ScalarOp::kLn,
       std::log,
       1.0,
       0.51,
       {positive, near_one, {0.99, 1.01}, {1e-38, 1e38, true}}},
      {"log2",
       ScalarOp::kLog2,
       std::log2,
       1.0,
       0.51,
       {positive, near_one, {0.99, 1.01}, {1e-38, 1e38, true}}},
      {"log10",
       ScalarOp::kLog10,
       std::log10,
       1.0,
       0.51,
       {positive, near_one, {0.99, 1.01}, {1e-38, 1e38, true}}},
      {"tanh", ScalarOp::kTanh, std::tanh, 1.5, 1.5, {around, {-1, 1}, {-25, 25}, tiny}},
      {"sin",
       ScalarOp::kSin,
       std::sin,
       1.0,
       0.6,
       {around, {-100, 100}, {-2e6, 2e6}, {-1e12, 1e12}, tiny}},
      {"cos",
       ScalarOp::kCos,
       std::cos,
       1.0,
       0.6,
       {around, {-100, 100}, {-2e6, 2e6}, {-1e12, 1e12}, tiny}},
      {"erf", ScalarOp::kErf, std::erf, 1.1, 0.51, {around, {-1, 1}, {-7, 7}, tiny}},
      {"erfc", ScalarOp::kErfc, std::erfc, 4.0, 0.51, {around, {-1, 1}, {-7, 27.3}, tiny}},
      {"sqrt", ScalarOp::kSqrt, std::sqrt, 0.5, 0.5, {positive, {0, 10}}},
      {"tan", ScalarOp::kTan, std::tan, 1.0, 1.5, {around, {-1e6, 1e6}}},
      {"asin", ScalarOp::kAsin, std::asin, 1.0, 1.5, {{-1, 1}}},
      {"acos", ScalarOp::kAcos, std::acos, 1.0, 1.5, {{-1, 1}}},
      {"atan", ScalarOp::kAtan, std::atan, 1.0, 1.5, {around, {-1e6, 1e6}}},
      {"sinh", ScalarOp::kSinh, std::sinh, 3.0, 3.0, {around, {-80, 80}}},
      {"cosh", ScalarOp::kCosh, std::cosh, 3.0, 3.0, {around, {-80, 80}}},
      {"asinh", ScalarOp::kAsinh, std::asinh, 3.0, 3.0, {around, {-1e6, 1e6}}},
      {"acosh", ScalarOp::kAcosh, std::acosh, 3.0, 3.0, {{1, 4}, {1, 1e6}}},
      {"atanh", ScalarOp::kAtanh, std::atanh, 3.0, 3.0, {{-1, 1}}},
      {"cbrt", ScalarOp::kCbrt, std::cbrt, 4.0, 1.5, {around, {-1e6, 1e6}}},
  };
}

template <typename T>
std::vector<T> Samples(const Range& range, int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(
      range.of_logarithm ? std::log(range.low) : range.low,
      range.of_logarithm ? std::log(range.high) : range.high);
  std::vector<T> values(n);
  for (T& value : values) {
    const double draw = uniform(random);
    value = static_cast<T>(range.of_logarithm ? std::exp(draw) : draw);
  }
  return values;
}

template <typename T>
void CheckAccuracy() {
  for (const KernelTable* table : SupportedKernels()) {
    // The portable variant computes the same bits, slowly: fewer samples.
    const int64_t n = table == SupportedKernels()[0] ? 2000 : 40000;
    for (const Function& function : Functions()) {
      const double bound = sizeof(T) == 8 ? function.bound_f64 : function.bound_f32;
      double worst = 0;
      T worst_at = 0;
      for (size_t r = 0; r < function.ranges.size(); ++r) {
        const std::vector<T> x = Samples<T>(function.ranges[r], n, r + 1);
        std::vector<T> y(n);
        const void* args[] = {x.data()};
        EXPECT_EQ(table->at(function.op, TypeOf<T>())(args, nullptr, y.data(), n),
                  ScalarError::kNone);
        for (int64_t i = 0; i < n; ++i) {
          const double error = UlpError<T>(y[i], function.reference(x[i]));
          if (error > worst) {
            worst = error;
            worst_at = x[i];
          }
        }
      }
      EXPECT_LE(worst, bound) << table->isa << " " << function.name << " of " << worst_at << " in "
                              << 8 * sizeof(T) << " bits";
      RecordWorst(table->isa, function.name, 8 * sizeof(T), worst);
    }
  }
}

TEST(MathAccuracyTest, FloatsWithinTheStatedUlps) { CheckAccuracy<float>(); }
TEST(MathAccuracyTest, DoublesWithinTheStatedUlps) { CheckAccuracy<double>(); }

// Doubles next to multiples of pi / 2, where the reduced argument loses the most digits.
TEST(MathAccuracyTest, SineNearItsZeros) {
  std::vector<double> x;
  for (int64_t k = 1; k < 1300000; k += k / 64 + 1) {
    const double at = static_cast<double>(std::acos(Wide{-1}) / 2 * k);
    for (double value : {at, std::nextafter(at, 0), std::nextafter(at, 1e9)}) {
      x.push_back(value);
      x.push_back(-value);
    }
  }
  for (const KernelTable* table : SupportedKernels()) {
    for (ScalarOp op : {ScalarOp::kSin, ScalarOp::kCos}) {
      std::vector<double> y(x.size());
      const void* args[] = {x.data()};
      table->at(op, TypeId::kFloat64)(args, nullptr, y.data(), x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        // The C library's double functions are within 0.55 ulp; its long double ones reduce with
        // too short a pi.
        const double expected = op == ScalarOp::kSin ? std::sin(x[i]) : std::cos(x[i]);
        ASSERT_LE(UlpError<double>(y[i], expected), 1.5) << table->isa << " " << x[i];
      }
    }
  }
}

template <typename T>
void CheckPower() {
  for (const KernelTable* table : SupportedKernels()) {
    const int64_t n = table == SupportedKernels()[0] ? 4000 : 60000;
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> base(-1, 1), exponent(-1, 1);
    const double limit = sizeof(T) == 8 ? 745 : 104;
    std::vector<T> x(n), y(n), out(n);
    for (int64_t i = 0; i < n; ++i) {
      if (i % 4 == 0) {  // any base, exponents up to overflow
        x[i] = static_cast<T>(std::exp(base(random) * (limit - 10)));
        y[i] = static_cast<T>(exponent(random) * limit / std::log(static_cast<double>(x[i])));
      } else if (i % 4 == 1) {  // bases near 1, large exponents
        x[i] = static_cast<T>(1 + base(random) * 1e-4);
        y[i] = static_cast<T>(exponent(random) * limit / std::log(static_cast<double>(x[i])));
      } else if (i % 4 == 2) {  // negative bases, integers
        x[i] = static_cast<T>(-std::exp(base(random) * 3));
        y[i] = static_cast<T>(std::floor(exponent(random) * 20));
      } else {
        x[i] = static_cast<T>(std::exp(base(random)));
        y[i] = static_cast<T>(exponent(random) * 4);
      }
    }
    const void* args[] = {x.data(), y.data()};
    table->at(ScalarOp::kPower, TypeOf<T>())(args, nullptr, out.data(), n);
    double worst = 0;
    for (int64_t i = 0; i < n; ++i) {
      // powl is good to about 1 of its own ulps, 2^-11 of ours.
      const double error =
          UlpError<T>(out[i], std::pow(static_cast<Wide>(x[i]), static_cast<Wide>(y[i])));
      worst = std::max(worst, error);
      ASSERT_LE(error, sizeof(T) == 8 ? 1.1 : 0.51)
          << table->isa << " power(" << x[i] << ", " << y[i] << ") = " << out[i];
    }
    RecordWorst(table->isa, "power", 8 * sizeof(T), worst);
  }
}
TEST(MathAccuracyTest, PowerWithinTheStatedUlps) {
  CheckPower<float>();
  CheckPower<double>();
}

template <typename T>
std::vector<T> Specials() {
  using L = std::numeric_limits<T>;
  return {T(0),
          T(-0.0),
          T(1),
          T(-1),
          T(2),
          T(-2),
          T(3),
          T(-3),
          T(0.5),
          T(-0.5),
          T(1.5),
          T(10),
          T(1000),
          T(1e6),
          T(-1e6),
          T(1) + L::epsilon(),
          T(1) - L::epsilon() / 2,
          L::infinity(),
          -L::infinity(),
          L::quiet_NaN(),
          L::max(),
          L::lowest(),
          L::min(),
          -L::min(),
          L::denorm_min(),
          -L::denorm_min(),
          L::min() / 4,
          T(709),
          T(710),
          T(-745.1),
          T(-746),
          T(88.7),
          T(89),
          T(-103.9),
          T(-104),
          T(28),
          T(1e20),
          T(-1e20)};
}

// What C's annex F fixes exactly: signs of zeros, infinities, NaNs. Finite results within the
// bounds.
template <typename T>
void CheckSpecials() {
  const std::vector<T> x = Specials<T>();
  const int64_t n = static_cast<int64_t>(x.size());
  for (const KernelTable* table : SupportedKernels()) {
    for (const Function& function : Functions()) {
      std::vector<T> y(n);
      const void* args[] = {x.data()};
      table->at(function.op, TypeOf<T>())(args, nullptr, y.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        const T expected = static_cast<T>(function.reference(x[i]));
        const bool is_exact = !std::isfinite(expected) || expected == 0;
        EXPECT_TRUE(is_exact ? SameBits(y[i], expected)
                             : UlpError<T>(y[i], function.reference(x[i])) <= 4)
            << table->isa << " " << function.name << "(" << x[i] << ") = " << y[i] << ", not "
            << expected;
      }
    }
  }
}
TEST(MathSpecialTest, OneArgument) {
  CheckSpecials<float>();
  CheckSpecials<double>();
}

template <typename T>
void CheckPowerSpecials() {
  for (const KernelTable* table : SupportedKernels()) {
    for (T base : Specials<T>()) {
      for (T exponent : Specials<T>()) {
        T got;
        const void* args[] = {&base, &exponent};
        table->at(ScalarOp::kPower, TypeOf<T>())(args, nullptr, &got, 1);
        const T expected = std::pow(base, exponent);
        EXPECT_TRUE(!std::isfinite(expected) || expected == 0 ? SameBits(got, expected)
                                                              : UlpError<T>(got, expected) <= 1.5)
            << table->isa << " power(" << base << ", " << exponent << ") = " << got << ", not "
            << expected;
      }
    }
  }
}
TEST(MathSpecialTest, PowerAsInC) {
  CheckPowerSpecials<float>();
  CheckPowerSpecials<double>();
}

TEST(MathSpecialTest, LogarithmsOfPowersAreExact) {
  for (const KernelTable* table : SupportedKernels()) {
    for (int k = -1074; k < 1024; ++k) {
      const double x = std::ldexp(1.0, k);
      double y;
      const void* args[] = {&x};
      table->at(ScalarOp::kLog2, TypeId::kFloat64)(args, nullptr, &y, 1);
      EXPECT_EQ(y, k) << table->isa;
    }
    double x = 1;
    for (int k = 0; k <= 22; ++k, x *= 10) {
      double y;
      const void* args[] = {&x};
      table->at(ScalarOp::kLog10, TypeId::kFloat64)(args, nullptr, &y, 1);
      EXPECT_EQ(y, k) << table->isa;
    }
  }
}

}  // namespace
}  // namespace adjoin
