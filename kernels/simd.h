// The only header a *.simd.cc includes: vectors of this build's width, and the tables to fill. No
// standard library function may be called from a *.simd.cc: its inline copy, compiled for AVX,
// could be the one the linker keeps for the whole program. Everything here lives in the build's own
// namespace for the same reason.
#pragma once

#include <stdint.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/kernel_table.h"

#ifndef ADJOIN_ISA
#error "ADJOIN_ISA names the instruction set's namespace: see kernels/CMakeLists.txt"
#endif
#define ADJOIN_INLINE inline __attribute__((always_inline))

namespace adjoin::ADJOIN_ISA {

// The families of kernels; each sets its fields of the table.
void FillArithmetic(KernelTable* table);
void FillCasts(KernelTable* table);
void FillMath(KernelTable* table);
void FillReductions(KernelTable* table);
void FillRows(KernelTable* table);
void FillChains(KernelTable* table);
void FillGemm(KernelTable* table);
void FillRandom(KernelTable* table);
void FillSelection(KernelTable* table);

// Lanes of every reduction, at every register width.
inline constexpr int kLanes = 16;

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <typename T>
struct VecOf {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
};
template <typename T>
using Vec = typename VecOf<T>::Type;
template <typename T>
inline constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

template <typename T>
ADJOIN_INLINE Vec<T> Load(const T* x) {
  return *reinterpret_cast<const typename VecOf<T>::Unaligned*>(x);
}
template <typename T>
ADJOIN_INLINE void Store(const Vec<T>& v, T* out) {
  *reinterpret_cast<typename VecOf<T>::Unaligned*>(out) = v;
}
template <typename T>
ADJOIN_INLINE Vec<T> Broadcast(T x) {
  return x - Vec<T>{};  // x - 0 is x, -0 included
}
ADJOIN_INLINE float Fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ADJOIN_INLINE double Fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

#if defined(__AVX512F__)
ADJOIN_INLINE __m512 Fma(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
ADJOIN_INLINE __m512d Fma(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__AVX2__)
ADJOIN_INLINE __m256 Fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
ADJOIN_INLINE __m256d Fma(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
#else
ADJOIN_INLINE Vec<float> Fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  Vec<float> r;
  for (int i = 0; i < kWidth<float>; ++i) r[i] = Fma(a[i], b[i], c[i]);
  return r;
}
ADJOIN_INLINE Vec<double> Fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  Vec<double> r;
  for (int i = 0; i < kWidth<double>; ++i) r[i] = Fma(a[i], b[i], c[i]);
  return r;
}
#endif

// The first `count` lanes, 0 < count <= width, of memory that may end there; loads give zeros
// behind.
#if defined(__AVX512F__)
template <typename T>
struct FirstLanes {
  uint32_t mask;
  explicit ADJOIN_INLINE FirstLanes(int64_t count) : mask((1u << count) - 1) {}
};
ADJOIN_INLINE Vec<float> Load(const float* x, const FirstLanes<float>& lanes) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes.mask), x);
}
ADJOIN_INLINE Vec<double> Load(const double* x, const FirstLanes<double>& lanes) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes.mask), x);
}
ADJOIN_INLINE void Store(const Vec<float>& v, float* out, const FirstLanes<float>& lanes) {
  _mm512_mask_storeu_ps(out, static_cast<__mmask16>(lanes.mask), v);
}
ADJOIN_INLINE void Store(const Vec<double>& v, double* out, const FirstLanes<double>& lanes) {
  _mm512_mask_storeu_pd(out, static_cast<__mmask8>(lanes.mask), v);
}
#elif defined(__AVX2__)
template <typename T>
struct FirstLanes {
  typedef int32_t Ints __attribute__((vector_size(32)));
  Ints mask;
  int64_t count;
  explicit ADJOIN_INLINE FirstLanes(int64_t lanes) : count(lanes) {
    const int32_t ints = static_cast<int32_t>(count * static_cast<int64_t>(sizeof(T)) / 4);
    mask = (Ints{0, 1, 2, 3, 4, 5, 6, 7} < ints);
  }
};
ADJOIN_INLINE Vec<float> Load(const float* x, const FirstLanes<float>& lanes) {
  return _mm256_maskload_ps(x, reinterpret_cast<__m256i>(lanes.mask));
}
ADJOIN_INLINE Vec<double> Load(const double* x, const FirstLanes<double>& lanes) {
  return _mm256_maskload_pd(x, reinterpret_cast<__m256i>(lanes.mask));
}
// By halves, for a masked store is 18 operations or more on AMD's processors.
ADJOIN_INLINE void Store(const Vec<float>& v, float* out, const FirstLanes<float>& lanes) {
  if (lanes.count == kWidth<float>) return Store<float>(v, out);
  __m128 part = _mm256_castps256_ps128(v);
  if ((lanes.count & 4) != 0) {
    _mm_storeu_ps(out, part);
    part = _mm256_extractf128_ps(v, 1);
    out += 4;
  }
  if ((lanes.count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(out), part);
    part = _mm_movehl_ps(part, part);
    out += 2;
  }
  if ((lanes.count & 1) != 0) _mm_store_ss(out, part);
}
ADJOIN_INLINE void Store(const Vec<double>& v, double* out, const FirstLanes<double>& lanes) {
  if (lanes.count == kWidth<double>) return Store<double>(v, out);
  __m128d part = _mm256_castpd256_pd128(v);
  if ((lanes.count & 2) != 0) {
    _mm_storeu_pd(out, part);
    part = _mm256_extractf128_pd(v, 1);
    out += 2;
  }
  if ((lanes.count & 1) != 0) _mm_store_sd(out, part);
}
#else
template <typename T>
struct FirstLanes {
  int64_t count;
  explicit ADJOIN_INLINE FirstLanes(int64_t lanes) : count(lanes) {}
};
template <typename T>
ADJOIN_INLINE Vec<T> Load(const T* x, const FirstLanes<T>& lanes) {
  Vec<T> v = {};
  for (int64_t i = 0; i < lanes.count; ++i) v[i] = x[i];
  return v;
}
template <typename T>
ADJOIN_INLINE void Store(const Vec<T>& v, T* out, const FirstLanes<T>& lanes) {
  for (int64_t i = 0; i < lanes.count; ++i) out[i] = v[i];
}
#endif

// Turns a square of elements over: column j of in, whose rows are `in_row` apart, becomes row j of
// out.
#if defined(__AVX2__)
template <typename T>
inline constexpr int kSquare = 32 / static_cast<int>(sizeof(T));
ADJOIN_INLINE void TransposeSquare(const double* in, int64_t in_row, __m256d (&out)[4]) {
  const __m256d r0 = _mm256_loadu_pd(in), r1 = _mm256_loadu_pd(in + in_row);
  const __m256d r2 = _mm256_loadu_pd(in + 2 * in_row), r3 = _mm256_loadu_pd(in + 3 * in_row);
  const __m256d t0 = _mm256_unpacklo_pd(r0, r1), t1 = _mm256_unpackhi_pd(r0, r1);
  const __m256d t2 = _mm256_unpacklo_pd(r2, r3), t3 = _mm256_unpackhi_pd(r2, r3);
  out[0] = _mm256_permute2f128_pd(t0, t2, 0x20);
  out[1] = _mm256_permute2f128_pd(t1, t3, 0x20);
  out[2] = _mm256_permute2f128_pd(t0, t2, 0x31);
  out[3] = _mm256_permute2f128_pd(t1, t3, 0x31);
}
ADJOIN_INLINE void TransposeSquare(const float* in, int64_t in_row, __m256 (&out)[8]) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(in + i * in_row);
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    out[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
    out[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
  }
}
#endif

// SQL's order of floats: NaN equals NaN and is above every number. For integers the plain order.
template <typename T>
ADJOIN_INLINE bool SqlLess(T a, T b) {
  return (a < b) | ((b != b) & (a == a));
}
template <typename T>
ADJOIN_INLINE bool SqlEqual(T a, T b) {
  return (a == b) | ((a != a) & (b != b));
}

}  // namespace adjoin::ADJOIN_ISA
