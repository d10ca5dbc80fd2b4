// What the products of gemm.simd.cc share: the blocking, and the packing of operands into tiles'
// order.
#pragma once

#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {

// Part of the results' definition: the same for all variants and types.
constexpr int64_t kBlockK = 256;

// Rows of a register tile: its rows x 2 accumulators leave registers for two of B and one of A.
constexpr int kTileRows = kVectorBytes == 64 ? 12 : kVectorBytes == 32 ? 6 : 4;
constexpr int kTileVectors = 2;
template <typename T>
struct Operand {
  const T* x;
  int64_t row, col;
};

// Rows of the next tile of `left` rows: a short last tile shares with the one before, to keep
// enough chains going.
ADJOIN_INLINE int64_t NextRows(int64_t left) {
  if (left <= kTileRows) return left;
  return left >= 2 * kTileRows ? kTileRows : (left + 1) / 2;
}

// Row tiles of A, each with its rows side by side at every k.
template <typename T>
ADJOIN_INLINE void PackRows(int64_t rows, int64_t k, const Operand<T>& a, const T* from,
                            T* packed) {
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t r = 0; r < rows; ++r) packed[p * rows + r] = from[r * a.row + p * a.col];
  }
}
template <typename T>
void PackA(int64_t m, int64_t k, const Operand<T>& a, T* packed) {
  for (int64_t i = 0; i < m;) {
    const int64_t rows = NextRows(m - i);
    const T* from = a.x + i * a.row;
    if (rows == kTileRows) {
      PackRows(kTileRows, k, a, from, packed);
    } else {
      PackRows(rows, k, a, from, packed);
    }
    packed += rows * k;
    i += rows;
  }
}

// One panel of B whose columns are contiguous along k: squares of it are turned over in registers.
template <typename T>
ADJOIN_INLINE void PackTransposed(int64_t k, int64_t columns, const T* from, int64_t col,
                                  int64_t panel_columns, T* packed) {
  int64_t l = 0;
#if defined(__AVX2__)
  constexpr int64_t kS = kSquare<T>;
  typedef T Square __attribute__((vector_size(32)));
  typedef T Unaligned __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
  for (; l + kS <= columns; l += kS) {
    int64_t p = 0;
    for (; p + kS <= k; p += kS) {
      Square turned[kS];
      TransposeSquare(from + l * col + p, col, turned);
      for (int64_t i = 0; i < kS; ++i) {
        *reinterpret_cast<Unaligned*>(packed + (p + i) * panel_columns + l) = turned[i];
      }
    }
    for (; p < k; ++p) {
      for (int64_t i = 0; i < kS; ++i) packed[p * panel_columns + l + i] = from[(l + i) * col + p];
    }
  }
#endif
  for (; l < columns; ++l) {
    for (int64_t p = 0; p < k; ++p) packed[p * panel_columns + l] = from[l * col + p];
  }
  for (; l < panel_columns; ++l) {
    for (int64_t p = 0; p < k; ++p) packed[p * panel_columns + l] = 0;
  }
}

// Panels of kTileVectors registers' columns, padded with zeros.
template <typename T>
void PackB(int64_t k, int64_t n, const Operand<T>& b, T* packed) {
  constexpr int64_t kColumns = kTileVectors * kWidth<T>;
  for (int64_t j = 0; j < n; j += kColumns) {
    const T* from = b.x + j * b.col;
    const int64_t columns = n - j < kColumns ? n - j : kColumns;
    if (b.row == 1 && b.col != 1) {
      PackTransposed(k, columns, from, b.col, kColumns, packed);
      packed += k * kColumns;
      continue;
    }
    for (int64_t p = 0; p < k; ++p) {
      const T* row = from + p * b.row;
      if (b.col == 1 && columns == kColumns) {
        for (int v = 0; v < kTileVectors; ++v) {
          Store<T>(Load(row + v * kWidth<T>), packed + v * kWidth<T>);
        }
      } else {
        for (int64_t l = 0; l < columns; ++l) packed[l] = row[l * b.col];
        for (int64_t l = columns; l < kColumns; ++l) packed[l] = 0;
      }
      packed += kColumns;
    }
  }
}

}  // namespace adjoin::ADJOIN_ISA
