// Row-wise arithmetic, comparison, selection and bits. Plain loops that the compiler vectorises:
// each operation is one correctly rounded IEEE operation or exact, so every variant, body and tail
// give the same bits.
#include "kernels/arithmetic.h"

#include "kernels/map.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

template <typename T>
struct UnsignedOf;
template <>
struct UnsignedOf<int16_t> {
  using Type = uint16_t;
};
template <>
struct UnsignedOf<int32_t> {
  using Type = uint32_t;
};
template <>
struct UnsignedOf<int64_t> {
  using Type = uint64_t;
};
template <typename T>
using Unsigned = typename UnsignedOf<T>::Type;
template <typename T>
inline constexpr T kMin = static_cast<T>(Unsigned<T>{1} << (8 * sizeof(T) - 1));

// F::Apply writes the wrapped result and returns non-zero where it overflowed; the flags of active
// rows are ORed.
template <typename T, typename F>
ScalarError Checked1(const void* const* args, const uint8_t* active, void* out, int64_t n) {
  const T* x = static_cast<const T*>(args[0]);
  T* r = static_cast<T*>(out);
  T bad = 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T value;
    T flag = F::Apply(x[i], &value);
    if (active != nullptr) flag = active[i] != 0 ? flag : T{0};
    bad = static_cast<T>(bad | flag);
    r[i] = value;
  }
  return bad != 0 ? ScalarError::kOverflow : ScalarError::kNone;
}

template <typename T, typename F>
ScalarError Checked2(const void* const* args, const uint8_t* active, void* out, int64_t n) {
  const T* x = static_cast<const T*>(args[0]);
  const T* y = static_cast<const T*>(args[1]);
  T* r = static_cast<T*>(out);
  T bad = 0;
  if (active == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      T value;
      bad = static_cast<T>(bad | F::Apply(x[i], y[i], &value));
      r[i] = value;
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      T value;
      const T flag = F::Apply(x[i], y[i], &value);
      bad = static_cast<T>(bad | (active[i] != 0 ? flag : T{0}));
      r[i] = value;
    }
  }
  return bad != 0 ? ScalarError::kOverflow : ScalarError::kNone;
}

// F::Apply returns the error of one row; of several, the first active row's is returned.
template <typename T, typename F>
ScalarError Divided(const void* const* args, const uint8_t* active, void* out, int64_t n) {
  const T* x = static_cast<const T*>(args[0]);
  const T* y = static_cast<const T*>(args[1]);
  T* r = static_cast<T*>(out);
  ScalarError first = ScalarError::kNone;
  for (int64_t i = 0; i < n; ++i) {
    T value;
    const ScalarError error = F::Apply(x[i], y[i], &value);
    if (error != ScalarError::kNone && first == ScalarError::kNone &&
        (active == nullptr || active[i] != 0)) {
      first = error;
    }
    r[i] = value;
  }
  return first;
}

// --- Integers.

struct AddChecked {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y, T* r) {
    *r = static_cast<T>(static_cast<Unsigned<T>>(x) + static_cast<Unsigned<T>>(y));
    return static_cast<T>((x ^ *r) & (y ^ *r) & kMin<T>);
  }
};
struct SubtractChecked {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y, T* r) {
    *r = static_cast<T>(static_cast<Unsigned<T>>(x) - static_cast<Unsigned<T>>(y));
    return static_cast<T>((x ^ y) & (x ^ *r) & kMin<T>);
  }
};
// The high half must repeat the sign of the low one.
struct MultiplyChecked {
  static ADJOIN_INLINE int16_t Apply(int16_t x, int16_t y, int16_t* r) {
    const int32_t product = static_cast<int32_t>(x) * y;
    *r = static_cast<int16_t>(product);
    return static_cast<int16_t>((product >> 16) ^ (*r >> 15));
  }
  static ADJOIN_INLINE int32_t Apply(int32_t x, int32_t y, int32_t* r) {
    const int64_t product = static_cast<int64_t>(x) * y;
    *r = static_cast<int32_t>(product);
    return static_cast<int32_t>(product >> 32) ^ (*r >> 31);
  }
  static ADJOIN_INLINE int64_t Apply(int64_t x, int64_t y, int64_t* r) {
    return __builtin_mul_overflow(x, y, r);
  }
};
struct NegateChecked {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T* r) {
    *r = static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
    return x == kMin<T>;
  }
};
struct AbsChecked {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T* r) {
    const T negated = static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
    *r = x < 0 ? negated : x;
    return x == kMin<T>;
  }
};
struct DivideChecked {
  template <typename T>
  static ADJOIN_INLINE ScalarError Apply(T x, T y, T* r) {
    *r = 0;
    if (y == 0) return ScalarError::kDivisionByZero;
    if (y == -1) {
      NegateChecked::Apply(x, r);
      return x == kMin<T> ? ScalarError::kOverflow : ScalarError::kNone;
    }
    *r = static_cast<T>(x / y);
    return ScalarError::kNone;
  }
};
struct RemainderChecked {
  template <typename T>
  static ADJOIN_INLINE ScalarError Apply(T x, T y, T* r) {
    *r = 0;
    if (y == 0) return ScalarError::kDivisionByZero;
    if (y != -1) *r = static_cast<T>(x % y);  // the machine traps on kMin % -1, which is 0
    return ScalarError::kNone;
  }
};

struct BitAnd {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct BitOr {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return static_cast<T>(x | y);
  }
};
struct BitXor {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};
struct BitNot {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x) {
    return static_cast<T>(~x);
  }
};
// Counts wrap at the width the processor shifts in: 32 bits for SMALLINT too, as PostgreSQL on x86.
template <typename T>
inline constexpr int kShiftMask = sizeof(T) == 8 ? 63 : 31;
struct ShiftLeft {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return static_cast<T>(static_cast<uint64_t>(x) << (y & kShiftMask<T>));
  }
};
struct ShiftRight {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return static_cast<T>(x >> (y & kShiftMask<T>));
  }
};
struct And {
  static ADJOIN_INLINE uint8_t Apply(uint8_t x, uint8_t y) { return x & y; }
};
struct Or {
  static ADJOIN_INLINE uint8_t Apply(uint8_t x, uint8_t y) { return x | y; }
};
struct Not {
  static ADJOIN_INLINE uint8_t Apply(uint8_t x) { return x ^ 1; }
};

// --- Floats, beside those of arithmetic.h.

struct Negate {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x) {
    return -x;
  }
};
struct Abs {
  static ADJOIN_INLINE float Apply(float x) { return __builtin_fabsf(x); }
  static ADJOIN_INLINE double Apply(double x) { return __builtin_fabs(x); }
};
struct Sqrt {
  static ADJOIN_INLINE float Apply(float x) { return __builtin_sqrtf(x); }
  static ADJOIN_INLINE double Apply(double x) { return __builtin_sqrt(x); }
};
struct Floor {
  static ADJOIN_INLINE float Apply(float x) { return __builtin_floorf(x); }
  static ADJOIN_INLINE double Apply(double x) { return __builtin_floor(x); }
};
struct Ceil {
  static ADJOIN_INLINE float Apply(float x) { return __builtin_ceilf(x); }
  static ADJOIN_INLINE double Apply(double x) { return __builtin_ceil(x); }
};
struct Round {
  static ADJOIN_INLINE float Apply(float x) { return __builtin_rintf(x); }
  static ADJOIN_INLINE double Apply(double x) { return __builtin_rint(x); }
};
struct Trunc {
  static ADJOIN_INLINE float Apply(float x) { return __builtin_truncf(x); }
  static ADJOIN_INLINE double Apply(double x) { return __builtin_trunc(x); }
};

// --- Any type.

struct Identity {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x) {
    return x;
  }
};
struct Sign {  // of NaN and of either zero: 0, as PostgreSQL
  template <typename T>
  static ADJOIN_INLINE T Apply(T x) {
    return static_cast<T>((x > 0) - (x < 0));
  }
};
struct NotEqual {
  template <typename T>
  static ADJOIN_INLINE uint8_t Apply(T x, T y) {
    return !SqlEqual(x, y);
  }
};
struct Less {
  template <typename T>
  static ADJOIN_INLINE uint8_t Apply(T x, T y) {
    return SqlLess(x, y);
  }
};
struct LessEqual {
  template <typename T>
  static ADJOIN_INLINE uint8_t Apply(T x, T y) {
    return !SqlLess(y, x);
  }
};
struct Greatest {  // of equal arguments the first
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return SqlLess(x, y) ? y : x;
  }
};
struct Least {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return SqlLess(y, x) ? y : x;
  }
};

struct Column {
  KernelTable* table;
  int type;
  void Set(ScalarOp op, ScalarKernel kernel) const {
    table->scalar[static_cast<int>(op)][type] = kernel;
  }
};

template <typename T>
void FillAny(const Column& column) {
  column.Set(ScalarOp::kEqual, Map2<T, uint8_t, Equal>);
  column.Set(ScalarOp::kNotEqual, Map2<T, uint8_t, NotEqual>);
  column.Set(ScalarOp::kLess, Map2<T, uint8_t, Less>);
  column.Set(ScalarOp::kLessEqual, Map2<T, uint8_t, LessEqual>);
  column.Set(ScalarOp::kGreatest, Map2<T, T, Greatest>);
  column.Set(ScalarOp::kLeast, Map2<T, T, Least>);
  column.Set(ScalarOp::kSelect, Select<T>);
}

template <typename T>
void FillInteger(const Column& column) {
  FillAny<T>(column);
  column.Set(ScalarOp::kAdd, Checked2<T, AddChecked>);
  column.Set(ScalarOp::kSubtract, Checked2<T, SubtractChecked>);
  column.Set(ScalarOp::kMultiply, Checked2<T, MultiplyChecked>);
  column.Set(ScalarOp::kDivide, Divided<T, DivideChecked>);
  column.Set(ScalarOp::kRemainder, Divided<T, RemainderChecked>);
  column.Set(ScalarOp::kNegate, Checked1<T, NegateChecked>);
  column.Set(ScalarOp::kAbs, Checked1<T, AbsChecked>);
  column.Set(ScalarOp::kSign, Map1<T, T, Sign>);
  const ScalarOp rounding[] = {ScalarOp::kFloor, ScalarOp::kCeil, ScalarOp::kRound,
                               ScalarOp::kTrunc};
  for (ScalarOp op : rounding) {
    column.Set(op, Map1<T, T, Identity>);
  }
  column.Set(ScalarOp::kBitAnd, Map2<T, T, BitAnd>);
  column.Set(ScalarOp::kBitOr, Map2<T, T, BitOr>);
  column.Set(ScalarOp::kBitXor, Map2<T, T, BitXor>);
  column.Set(ScalarOp::kBitNot, Map1<T, T, BitNot>);
  column.Set(ScalarOp::kShiftLeft, Map2<T, T, ShiftLeft>);
  column.Set(ScalarOp::kShiftRight, Map2<T, T, ShiftRight>);
}

template <typename T>
void FillFloat(const Column& column) {
  FillAny<T>(column);
  column.Set(ScalarOp::kAdd, Map2<T, T, Add>);
  column.Set(ScalarOp::kSubtract, Map2<T, T, Subtract>);
  column.Set(ScalarOp::kMultiply, Map2<T, T, Multiply>);
  column.Set(ScalarOp::kDivide, Map2<T, T, Divide>);
  column.Set(ScalarOp::kNegate, Map1<T, T, Negate>);
  column.Set(ScalarOp::kAbs, Map1<T, T, Abs>);
  column.Set(ScalarOp::kSign, Map1<T, T, Sign>);
  column.Set(ScalarOp::kSqrt, Map1<T, T, Sqrt>);
  column.Set(ScalarOp::kFloor, Map1<T, T, Floor>);
  column.Set(ScalarOp::kCeil, Map1<T, T, Ceil>);
  column.Set(ScalarOp::kRound, Map1<T, T, Round>);
  column.Set(ScalarOp::kTrunc, Map1<T, T, Trunc>);
}

}  // namespace

void FillArithmetic(KernelTable* table) {
  const Column booleans{table, static_cast<int>(TypeId::kBool)};
  FillAny<uint8_t>(booleans);
  booleans.Set(ScalarOp::kAnd, Map2<uint8_t, uint8_t, And>);
  booleans.Set(ScalarOp::kOr, Map2<uint8_t, uint8_t, Or>);
  booleans.Set(ScalarOp::kNot, Map1<uint8_t, uint8_t, Not>);
  FillInteger<int16_t>({table, static_cast<int>(TypeId::kInt16)});
  FillInteger<int32_t>({table, static_cast<int>(TypeId::kInt32)});
  FillInteger<int64_t>({table, static_cast<int>(TypeId::kInt64)});
  FillFloat<float>({table, static_cast<int>(TypeId::kFloat32)});
  FillFloat<double>({table, static_cast<int>(TypeId::kFloat64)});
  FillAny<int32_t>({table, static_cast<int>(TypeId::kDate)});
  FillAny<int64_t>({table, static_cast<int>(TypeId::kTimestamp)});
  // TEXT is dictionary codes: they can be chosen between, comparing them is the caller's.
  const Column texts{table, static_cast<int>(TypeId::kText)};
  texts.Set(ScalarOp::kSelect, Select<int32_t>);
}

}  // namespace adjoin::ADJOIN_ISA
