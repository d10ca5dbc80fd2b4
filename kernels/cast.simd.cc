// Casts between the numeric types and BOOLEAN. Floats become integers by rounding half to even;
// what does not fit is kOverflow and gives 0, as does a finite DOUBLE PRECISION beyond REAL (its
// result is the infinity).
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

ADJOIN_INLINE float Rint(float x) { return __builtin_rintf(x); }
ADJOIN_INLINE double Rint(double x) { return __builtin_rint(x); }

// The kinds of conversion; each says whether a value fits and converts it.
struct Exact {
  template <typename From, typename To>
  static ADJOIN_INLINE bool Convert(From x, To* r) {
    *r = static_cast<To>(x);
    return true;
  }
};
struct ToBool {  // NaN is not zero: true
  template <typename From, typename To>
  static ADJOIN_INLINE bool Convert(From x, To* r) {
    *r = x != 0;
    return true;
  }
};
struct NarrowInteger {
  template <typename From, typename To>
  static ADJOIN_INLINE bool Convert(From x, To* r) {
    *r = static_cast<To>(x);
    return *r == x;
  }
};
struct FloatToInteger {
  template <typename From, typename To>
  static ADJOIN_INLINE bool Convert(From x, To* r) {
    // The bounds are powers of two, hence exact; the comparison is false for NaN.
    constexpr From kLimit = static_cast<From>(uint64_t{1} << (8 * sizeof(To) - 1));
    const From rounded = Rint(x);
    const bool fits = (rounded >= -kLimit) & (rounded < kLimit);
    *r = static_cast<To>(fits ? rounded : From{0});
    return fits;
  }
};
struct NarrowFloat {
  template <typename From, typename To>
  static ADJOIN_INLINE bool Convert(From x, To* r) {
    constexpr From kInfinity = __builtin_inf();
    constexpr To kNarrowInfinity = __builtin_inff();
    *r = static_cast<To>(x);
    const To narrow = *r < 0 ? -*r : *r;
    const From wide = x < 0 ? -x : x;
    return (narrow != kNarrowInfinity) | (wide == kInfinity);
  }
};

template <typename From, typename To, typename Kind>
ScalarError Cast(const void* const* args, const uint8_t* active, void* out, int64_t n) {
  const From* x = static_cast<const From*>(args[0]);
  To* r = static_cast<To*>(out);
  int32_t bad = 0;
  if (active == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      To value;
      bad |= !Kind::Convert(x[i], &value);
      r[i] = value;
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      To value;
      const bool fits = Kind::Convert(x[i], &value);
      bad |= !fits & (active[i] != 0);
      r[i] = value;
    }
  }
  return bad != 0 ? ScalarError::kOverflow : ScalarError::kNone;
}

struct Row {
  KernelTable* table;
  TypeId from;
  void Set(TypeId to, ScalarKernel kernel) const {
    table->cast[static_cast<int>(from)][static_cast<int>(to)] = kernel;
  }
};

template <typename From>
void FillFromInteger(const Row& row) {
  row.Set(TypeId::kBool, Cast<From, uint8_t, ToBool>);
  row.Set(TypeId::kInt16, Cast<From, int16_t, NarrowInteger>);
  row.Set(TypeId::kInt32, Cast<From, int32_t, NarrowInteger>);
  row.Set(TypeId::kInt64, Cast<From, int64_t, Exact>);
  row.Set(TypeId::kFloat32, Cast<From, float, Exact>);
  row.Set(TypeId::kFloat64, Cast<From, double, Exact>);
}

template <typename From>
void FillFromFloat(const Row& row) {
  row.Set(TypeId::kBool, Cast<From, uint8_t, ToBool>);
  row.Set(TypeId::kInt16, Cast<From, int16_t, FloatToInteger>);
  row.Set(TypeId::kInt32, Cast<From, int32_t, FloatToInteger>);
  row.Set(TypeId::kInt64, Cast<From, int64_t, FloatToInteger>);
  row.Set(TypeId::kFloat64, Cast<From, double, Exact>);
}

}  // namespace

void FillCasts(KernelTable* table) {
  FillFromInteger<uint8_t>({table, TypeId::kBool});
  FillFromInteger<int16_t>({table, TypeId::kInt16});
  FillFromInteger<int32_t>({table, TypeId::kInt32});
  FillFromInteger<int64_t>({table, TypeId::kInt64});
  FillFromFloat<float>({table, TypeId::kFloat32});
  FillFromFloat<double>({table, TypeId::kFloat64});
  Row{table, TypeId::kFloat32}.Set(TypeId::kFloat32, Cast<float, float, Exact>);
  Row{table, TypeId::kFloat64}.Set(TypeId::kFloat32, Cast<double, float, NarrowFloat>);
}

}  // namespace adjoin::ADJOIN_ISA
