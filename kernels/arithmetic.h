// Arithmetic that kernels of cells, rows and chains share: of elements, and but for Equal of
// registers of them.
#pragma once

#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {

struct Add {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return x + y;
  }
};
struct Subtract {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return x - y;
  }
};
struct Multiply {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return x * y;
  }
};
struct Divide {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return x / y;
  }
};
struct SubtractFrom {
  template <typename T>
  static ADJOIN_INLINE T Apply(T x, T y) {
    return y - x;
  }
};
struct Equal {
  template <typename T>
  static ADJOIN_INLINE uint8_t Apply(T x, T y) {
    return SqlEqual(x, y);
  }
};

// SQL's order of floats: NaN is above every number.
struct Maximum {
  template <typename T>
  static ADJOIN_INLINE T Apply(T a, T b) {
    return ((a < b) | ((b != b) & (a == a))) ? b : a;
  }
};
struct Minimum {
  template <typename T>
  static ADJOIN_INLINE T Apply(T a, T b) {
    return ((b < a) | ((a != a) & (b == b))) ? b : a;
  }
};

}  // namespace adjoin::ADJOIN_ISA
