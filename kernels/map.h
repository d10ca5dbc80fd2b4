// Loops of row-wise kernels that cannot fail.
#pragma once

#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {

// `out` is an argument itself or overlaps none, so iterations never depend on each other: hence
// ivdep.
template <typename T, typename R, typename F>
ScalarError Map1(const void* const* args, const uint8_t*, void* out, int64_t n) {
  const T* x = static_cast<const T*>(args[0]);
  R* r = static_cast<R*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = F::Apply(x[i]);
  return ScalarError::kNone;
}

template <typename T, typename R, typename F>
ScalarError Map2(const void* const* args, const uint8_t*, void* out, int64_t n) {
  const T* x = static_cast<const T*>(args[0]);
  const T* y = static_cast<const T*>(args[1]);
  R* r = static_cast<R*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = F::Apply(x[i], y[i]);
  return ScalarError::kNone;
}

template <typename T>
ScalarError Select(const void* const* args, const uint8_t*, void* out, int64_t n) {
  const uint8_t* condition = static_cast<const uint8_t*>(args[0]);
  const T* x = static_cast<const T*>(args[1]);
  const T* y = static_cast<const T*>(args[2]);
  T* r = static_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T a = x[i], b = y[i];
    r[i] = condition[i] != 0 ? a : b;
  }
  return ScalarError::kNone;
}

}  // namespace adjoin::ADJOIN_ISA
