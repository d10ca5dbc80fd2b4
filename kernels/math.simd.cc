// Row-wise transcendental functions. REAL's logarithms, sin, cos, erf, erfc and power are computed
// in double and rounded once; its exp and tanh, which models call most, in single precision.
#include "kernels/error_function.h"
#include "kernels/exponential.h"
#include "kernels/map.h"
#include "kernels/simd.h"
#include "kernels/trigonometric.h"

namespace adjoin::ADJOIN_ISA {
namespace {

struct ExpOf {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x) {
    return Exp(x);
  }
};
struct TanhOf {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x) {
    return Tanh(x);
  }
};
struct PowerOf {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return Power(x, y);
  }
};
// A function of double, for floats too.
template <double (*kFunction)(double)>
struct InDouble {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x) {
    return static_cast<T>(kFunction(static_cast<double>(x)));
  }
};

ADJOIN_INLINE float LibmSin(float x, uint64_t shift) {
  return shift == 0 ? __builtin_sinf(x) : __builtin_cosf(x);
}
ADJOIN_INLINE double LibmSin(double x, uint64_t shift) {
  return shift == 0 ? __builtin_sin(x) : __builtin_cos(x);
}

// Rows beyond the limit go to the C library one by one. Whether a block holds any is found before
// it is written, for `out` may be the argument.
template <typename T, uint64_t kShift>
ScalarError SinMap(const void* const* args, const uint8_t*, void* out, int64_t n) {
  constexpr int64_t kBlock = 256;
  const T* x = static_cast<const T*>(args[0]);
  T* r = static_cast<T*>(out);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = n - begin < kBlock ? n : begin + kBlock;
    int32_t far = 0;
    for (int64_t i = begin; i < end; ++i) {
      far |= !((x[i] < kTrigonometricLimit<T>)&(x[i] > -kTrigonometricLimit<T>));
    }
    if (far == 0) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) r[i] = SinShifted(x[i], kShift);
      continue;
    }
    for (int64_t i = begin; i < end; ++i) {
      const bool is_near = x[i] < kTrigonometricLimit<T> && x[i] > -kTrigonometricLimit<T>;
      r[i] = is_near ? SinShifted(x[i], kShift) : LibmSin(x[i], kShift);
    }
  }
  return ScalarError::kNone;
}

template <typename T>
void FillOf(KernelTable* table, TypeId type) {
  const auto set = [&](ScalarOp op, ScalarKernel kernel) {
    table->scalar[static_cast<int>(op)][static_cast<int>(type)] = kernel;
  };
  set(ScalarOp::kExp, Map1<T, T, ExpOf>);
  set(ScalarOp::kTanh, Map1<T, T, TanhOf>);
  set(ScalarOp::kLn, Map1<T, T, InDouble<Ln>>);
  set(ScalarOp::kLog2, Map1<T, T, InDouble<Log2>>);
  set(ScalarOp::kLog10, Map1<T, T, InDouble<Log10>>);
  set(ScalarOp::kErf, Map1<T, T, InDouble<Erf>>);
  set(ScalarOp::kErfc, Map1<T, T, InDouble<Erfc>>);
  set(ScalarOp::kPower, Map2<T, T, PowerOf>);
  set(ScalarOp::kSin, SinMap<T, 0>);
  set(ScalarOp::kCos, SinMap<T, 1>);
}

}  // namespace

void FillMath(KernelTable* table) {
  FillOf<float>(table, TypeId::kFloat32);
  FillOf<double>(table, TypeId::kFloat64);
}

}  // namespace adjoin::ADJOIN_ISA
