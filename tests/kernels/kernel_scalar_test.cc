// Every row-wise kernel that is exact or correctly rounded, on every variant, against an obvious
// reference.
#include <gtest/gtest.h>

#include <array>

#include "tests/kernels/kernel_testing.h"

namespace adjoin {
namespace {

template <typename R>
struct Expected {
  R value;
  ScalarError error = ScalarError::kNone;
};

// --- The reference: integers in 128 bits, floats as the C library has them, order by cases.

template <typename T>
int Compare(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) - std::isnan(b);
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

template <typename T>
Expected<T> Fit(__int128 value) {
  const bool fits =
      value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
  return {static_cast<T>(value), fits ? ScalarError::kNone : ScalarError::kOverflow};
}

template <typename T>
Expected<T> IntegerReference(ScalarOp op, T a, T b) {
  const __int128 x = a, y = b;
  const int mask = sizeof(T) == 8 ? 63 : 31;
  switch (op) {
    case ScalarOp::kAdd:
      return Fit<T>(x + y);
    case ScalarOp::kSubtract:
      return Fit<T>(x - y);
    case ScalarOp::kMultiply:
      return Fit<T>(x * y);
    case ScalarOp::kDivide:
      if (y == 0) return {0, ScalarError::kDivisionByZero};
      return Fit<T>(x / y);
    case ScalarOp::kRemainder:
      if (y == 0) return {0, ScalarError::kDivisionByZero};
      return Fit<T>(x % y);
    case ScalarOp::kNegate:
      return Fit<T>(-x);
    case ScalarOp::kAbs:
      return Fit<T>(x < 0 ? -x : x);
    case ScalarOp::kSign:
      return {static_cast<T>(x < 0 ? -1 : x > 0 ? 1 : 0)};
    case ScalarOp::kBitAnd:
      return {static_cast<T>(a & b)};
    case ScalarOp::kBitOr:
      return {static_cast<T>(a | b)};
    case ScalarOp::kBitXor:
      return {static_cast<T>(a ^ b)};
    case ScalarOp::kBitNot:
      return {static_cast<T>(~a)};
    case ScalarOp::kShiftLeft:
      return {static_cast<T>(static_cast<uint64_t>(a) << (b & mask))};
    case ScalarOp::kShiftRight:
      return {static_cast<T>(static_cast<int64_t>(a) >> (b & mask))};
    default:
      return {a};  // floor, ceil, round, trunc
  }
}

template <typename T>
Expected<T> FloatReference(ScalarOp op, T a, T b) {
  switch (op) {
    case ScalarOp::kAdd:
      return {a + b};
    case ScalarOp::kSubtract:
      return {a - b};
    case ScalarOp::kMultiply:
      return {a * b};
    case ScalarOp::kDivide:
      return {a / b};
    case ScalarOp::kRemainder:
      return {std::fmod(a, b)};
    case ScalarOp::kNegate:
      return {-a};
    case ScalarOp::kAbs:
      return {std::fabs(a)};
    case ScalarOp::kSign:
      return {static_cast<T>(a > 0 ? 1 : a < 0 ? -1 : 0)};
    case ScalarOp::kSqrt:
      return {std::sqrt(a)};
    case ScalarOp::kFloor:
      return {std::floor(a)};
    case ScalarOp::kCeil:
      return {std::ceil(a)};
    case ScalarOp::kRound:
      return {std::nearbyint(a)};
    default:
      return {std::trunc(a)};
  }
}

template <typename T>
Expected<T> Reference(ScalarOp op, T a, T b) {
  if (op == ScalarOp::kGreatest) return {Compare(b, a) > 0 ? b : a};
  if (op == ScalarOp::kLeast) return {Compare(b, a) < 0 ? b : a};
  if constexpr (std::is_same_v<T, uint8_t>) {
    if (op == ScalarOp::kAnd) return {static_cast<uint8_t>(a != 0 && b != 0)};
    if (op == ScalarOp::kOr) return {static_cast<uint8_t>(a != 0 || b != 0)};
    return {static_cast<uint8_t>(a == 0)};
  } else if constexpr (std::is_integral_v<T>) {
    return IntegerReference(op, a, b);
  } else {
    return FloatReference(op, a, b);
  }
}

template <typename T>
Expected<uint8_t> ComparisonReference(ScalarOp op, T a, T b) {
  const int order = Compare(a, b);
  switch (op) {
    case ScalarOp::kEqual:
      return {order == 0};
    case ScalarOp::kNotEqual:
      return {order != 0};
    case ScalarOp::kLess:
      return {order < 0};
    default:
      return {order <= 0};
  }
}

// Runs a kernel on unaligned copies, into a third buffer and in place, and compares values, errors
// and what follows.
template <typename T, typename R, typename F>
void Check(const KernelTable& table, ScalarOp op, const F& reference) {
  const ScalarKernel kernel = table.at(op, TypeOf<T>());
  ASSERT_NE(kernel, nullptr) << table.isa << " op " << static_cast<int>(op);
  for (int64_t n : TestSizes()) {
    const std::vector<T> a = TestValues<T>(n, 1 + n), b = TestValues<T>(n, 1000 + n);
    const std::vector<uint8_t> active = TestValues<uint8_t>(n, 2000 + n);
    std::vector<R> expected(n);
    ScalarError of_all = ScalarError::kNone, of_active = ScalarError::kNone;
    std::vector<uint8_t> valid(n, 1);
    for (int64_t i = 0; i < n; ++i) {
      const Expected<R> e = reference(op, a[i], b[i]);
      expected[i] = e.value;
      valid[i] = e.error == ScalarError::kNone;
      if (of_all == ScalarError::kNone) of_all = e.error;
      if (of_active == ScalarError::kNone && active[i]) of_active = e.error;
    }
    for (int pass = 0; pass < 4; ++pass) {
      Unaligned<T> x(a), y(b, 3);
      Unaligned<R> r(std::vector<R>(n), 2);
      void* out = pass % 2 == 0 ? static_cast<void*>(r.data()) : x.data();
      const void* args[] = {x.data(), y.data()};
      const ScalarError error = kernel(args, pass < 2 ? active.data() : nullptr, out, n);
      EXPECT_EQ(error, pass < 2 ? of_active : of_all)
          << table.isa << " op " << static_cast<int>(op) << " n " << n;
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_TRUE(!valid[i] || SameBits(static_cast<R*>(out)[i], expected[i]))
            << table.isa << " op " << static_cast<int>(op) << " type "
            << static_cast<int>(TypeOf<T>()) << " of " << +a[i] << ", " << +b[i] << ": "
            << +static_cast<R*>(out)[i] << " is not " << +expected[i];
      }
      EXPECT_TRUE(r.Intact());
    }
    // Active rows without errors raise none, whatever the others hold.
    Unaligned<T> x(a), y(b);
    const void* args[] = {x.data(), y.data()};
    EXPECT_EQ(kernel(args, valid.data(), x.data(), n), ScalarError::kNone);
  }
}

template <typename T>
class ScalarTest : public testing::Test {};
using Types = testing::Types<uint8_t, int16_t, int32_t, int64_t, float, double>;
TYPED_TEST_SUITE(ScalarTest, Types);

TYPED_TEST(ScalarTest, ArithmeticMatchesReference) {
  std::vector<ScalarOp> ops = {ScalarOp::kGreatest, ScalarOp::kLeast};
  if (std::is_same_v<TypeParam, uint8_t>) {
    ops.insert(ops.end(), {ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kNot});
  } else {
    ops.insert(ops.end(),
               {ScalarOp::kAdd, ScalarOp::kSubtract, ScalarOp::kMultiply, ScalarOp::kDivide,
                ScalarOp::kRemainder, ScalarOp::kNegate, ScalarOp::kAbs, ScalarOp::kSign,
                ScalarOp::kFloor, ScalarOp::kCeil, ScalarOp::kRound, ScalarOp::kTrunc});
    if (std::is_integral_v<TypeParam>) {
      ops.insert(ops.end(), {ScalarOp::kBitAnd, ScalarOp::kBitOr, ScalarOp::kBitXor,
                             ScalarOp::kBitNot, ScalarOp::kShiftLeft, ScalarOp::kShiftRight});
    } else {
      ops.push_back(ScalarOp::kSqrt);
    }
  }
  for (const KernelTable* table : SupportedKernels()) {
    for (ScalarOp op : ops) {
      Check<TypeParam, TypeParam>(*table, op, Reference<TypeParam>);
    }
  }
}

TYPED_TEST(ScalarTest, ComparisonsFollowSqlOrder) {
  for (const KernelTable* table : SupportedKernels()) {
    for (ScalarOp op :
         {ScalarOp::kEqual, ScalarOp::kNotEqual, ScalarOp::kLess, ScalarOp::kLessEqual}) {
      Check<TypeParam, uint8_t>(*table, op, ComparisonReference<TypeParam>);
    }
  }
}

TYPED_TEST(ScalarTest, SelectTakesOneOfTwo) {
  for (const KernelTable* table : SupportedKernels()) {
    for (int64_t n : TestSizes()) {
      const auto a = TestValues<TypeParam>(n, 1), b = TestValues<TypeParam>(n, 2);
      const std::vector<uint8_t> condition = TestValues<uint8_t>(n, 3);
      for (int target = 0; target < 3; ++target) {
        Unaligned<TypeParam> x(a), y(b), r(std::vector<TypeParam>(n), 3);
        const void* args[] = {condition.data(), x.data(), y.data()};
        TypeParam* out = target == 0 ? r.data() : target == 1 ? x.data() : y.data();
        table->at(ScalarOp::kSelect, TypeOf<TypeParam>())(args, nullptr, out, n);
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_TRUE(SameBits(out[i], condition[i] ? a[i] : b[i])) << table->isa << " row " << i;
        }
        EXPECT_TRUE(r.Intact() && x.Intact() && y.Intact());
      }
    }
  }
}

// A value's bits do not depend on where in the array it stands, nor on the variant; for all kernels
// of floats, those of the C library included.
template <typename T>
void CheckNeighbours() {
  const int64_t n = 1037;
  const std::vector<T> a = TestValues<T>(n, 5), b = TestValues<T>(n, 6);
  const std::vector<uint8_t> condition(n, 1);
  for (int op = 0; op < kNumScalarOps; ++op) {
    const ScalarKernel first = SupportedKernels()[0]->at(static_cast<ScalarOp>(op), TypeOf<T>());
    if (first == nullptr || op == static_cast<int>(ScalarOp::kSelect)) continue;
    if (op >= static_cast<int>(ScalarOp::kRandomSplit)) continue;  // kernel_random_test.cc
    const void* args[] = {a.data(), b.data()};
    std::vector<T> expected(n);
    first(args, nullptr, expected.data(), n);
    const bool is_comparison =
        op >= static_cast<int>(ScalarOp::kEqual) && op <= static_cast<int>(ScalarOp::kLessEqual);
    if (is_comparison) continue;  // exact, and compared above
    for (const KernelTable* table : SupportedKernels()) {
      const ScalarKernel kernel = table->at(static_cast<ScalarOp>(op), TypeOf<T>());
      std::vector<T> all(n);
      kernel(args, nullptr, all.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        T alone;
        const void* one[] = {&a[i], &b[i]};
        kernel(one, nullptr, &alone, 1);
        ASSERT_TRUE(SameBits(all[i], expected[i]) && SameBits(alone, expected[i]))
            << table->isa << " op " << op << " of " << a[i] << ", " << b[i] << ": " << all[i]
            << " alone " << alone << " portable " << expected[i];
      }
    }
  }
}
TEST(FloatKernelTest, RowsDoNotDependOnNeighboursOrVariant) {
  CheckNeighbours<float>();
  CheckNeighbours<double>();
}

TEST(KernelTableTest, MissingKernelsAreNull) {
  for (const KernelTable* table : SupportedKernels()) {
    EXPECT_EQ(table->at(ScalarOp::kAnd, TypeId::kFloat64), nullptr);
    EXPECT_EQ(table->at(ScalarOp::kSqrt, TypeId::kInt32), nullptr);
    EXPECT_EQ(table->at(ScalarOp::kBitAnd, TypeId::kFloat32), nullptr);
    EXPECT_EQ(table->at(ScalarOp::kAdd, TypeId::kText), nullptr);
    EXPECT_EQ(table->cast[static_cast<int>(TypeId::kText)][0], nullptr);
  }
}

TEST(KernelTableTest, PortableComesFirstAndTheChosenIsSupported) {
  EXPECT_STREQ(SupportedKernels()[0]->isa, "portable");
  bool found = false;
  for (const KernelTable* table : SupportedKernels()) found |= table == &Kernels();
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace adjoin
