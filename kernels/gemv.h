// Matrix times vector, with the arithmetic of the tiles of gemm.simd.cc cell by cell: one chain of
// FMAs along k. So rows lie in the lanes; a matrix whose rows are contiguous is turned over on the
// way, a square at a time.
#pragma once

#include "kernels/gemm_pack.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {

// The vector of one block of k.
template <typename T>
struct Column {
  const T* x;
  int64_t step;
  int64_t k;
};

// kRows sums, each its own chain.
template <typename T, int kRows>
ADJOIN_INLINE void SumRows(const Operand<T>& a, int64_t i, const Column<T>& column, T* sums) {
  T sum[kRows] = {};
  for (int64_t p = 0; p < column.k; ++p) {
    const T x = column.x[p * column.step];
    for (int r = 0; r < kRows; ++r) sum[r] = Fma(a.x[(i + r) * a.row + p * a.col], x, sum[r]);
  }
  for (int r = 0; r < kRows; ++r) sums[r] = sum[r];
}

// Rows that are neighbours in memory: kVectors registers of them at once.
template <typename T, int kVectors>
ADJOIN_INLINE void SumContiguous(const Operand<T>& a, int64_t i, const Column<T>& column, T* sums) {
  constexpr int kW = kWidth<T>;
  Vec<T> sum[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) sum[v] = Vec<T>{};
  for (int64_t p = 0; p < column.k; ++p) {
    const Vec<T> x = Broadcast(column.x[p * column.step]);
    const T* from = a.x + i + p * a.col;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[v] = Fma(Load(from + v * kW), x, sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) Store<T>(sum[v], sums + v * kW);
}

#if defined(__AVX2__)
ADJOIN_INLINE __m256d FmaSquare(__m256d a, __m256d b, __m256d c) {
  return _mm256_fmadd_pd(a, b, c);
}
ADJOIN_INLINE __m256 FmaSquare(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }

// kSquares x kSquare rows, each contiguous along k.
template <typename T, int kSquares>
ADJOIN_INLINE void SumTurned(const Operand<T>& a, int64_t i, const Column<T>& column, T* sums) {
  constexpr int kS = kSquare<T>;
  typedef T Square __attribute__((vector_size(32)));
  typedef T Unaligned __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
  Square sum[kSquares];
#pragma GCC unroll 8
  for (int s = 0; s < kSquares; ++s) sum[s] = Square{};
  int64_t p = 0;
  for (; p + kS <= column.k; p += kS) {
#pragma GCC unroll 8
    for (int s = 0; s < kSquares; ++s) {
      Square turned[kS];
      TransposeSquare(a.x + (i + s * kS) * a.row + p, a.row, turned);
#pragma GCC unroll 8
      for (int c = 0; c < kS; ++c) {
        const Square x = column.x[(p + c) * column.step] - Square{};
        sum[s] = FmaSquare(turned[c], x, sum[s]);
      }
    }
  }
#pragma GCC unroll 8
  for (int s = 0; s < kSquares; ++s) *reinterpret_cast<Unaligned*>(sums + s * kS) = sum[s];
  for (; p < column.k; ++p) {
    const T x = column.x[p * column.step];
    for (int r = 0; r < kSquares * kS; ++r) sums[r] = Fma(a.x[(i + r) * a.row + p], x, sums[r]);
  }
}
#endif

// Sums of rows [i, m) from the widest group that fits; returns how many.
template <typename T>
ADJOIN_INLINE int64_t SumNextRows(const Operand<T>& a, int64_t i, int64_t m,
                                  const Column<T>& column, T* sums) {
  const int64_t left = m - i;
  if (a.row == 1) {
    constexpr int kW = kWidth<T>;
    if (left >= 8 * kW) return SumContiguous<T, 8>(a, i, column, sums), 8 * kW;
    if (left >= 4 * kW) return SumContiguous<T, 4>(a, i, column, sums), 4 * kW;
    if (left >= kW) return SumContiguous<T, 1>(a, i, column, sums), kW;
  }
#if defined(__AVX2__)
  if (a.col == 1) {
    constexpr int kS = kSquare<T>;
    if (left >= 4 * kS) return SumTurned<T, 4>(a, i, column, sums), 4 * kS;
    if (left >= kS) return SumTurned<T, 1>(a, i, column, sums), kS;
  }
#endif
  if (left >= 4) return SumRows<T, 4>(a, i, column, sums), 4;
  return SumRows<T, 1>(a, i, column, sums), 1;
}

// y(m) = alpha * A(m,k) x(k) [+ what lies `from` elements after y], y's elements `y_step` apart.
template <typename T>
void Gemv(const Operand<T>& matrix, int64_t m, int64_t k, const T* x, int64_t x_step, T alpha,
          bool accumulate, int64_t from, T* y, int64_t y_step) {
  T sums[8 * kWidth<T>];
  int64_t k0 = 0;
  do {
    const Column<T> column{x + k0 * x_step, x_step, k - k0 < kBlockK ? k - k0 : kBlockK};
    const Operand<T> a{matrix.x + k0 * matrix.col, matrix.row, matrix.col};
    const bool add = accumulate || k0 > 0;
    for (int64_t i = 0; i < m;) {
      const int64_t rows = SumNextRows(a, i, m, column, sums);
      for (int64_t r = 0; r < rows; ++r) {
        T* at = y + (i + r) * y_step;
        *at = add ? Fma(alpha, sums[r], at[k0 > 0 ? 0 : from]) : alpha * sums[r];
      }
      i += rows;
    }
    k0 += kBlockK;
  } while (k0 < k);
}

}  // namespace adjoin::ADJOIN_ISA
