// What the products of gemm.simd.cc share: the blocking, and the packing of operands into tiles'
// order.
#pragma once

#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {

constexpr int64_t kBlockK = kGemmBlockK;

// Rows of a register tile: its rows x 2 accumulators leave registers for two of B and one of A.
constexpr int kTileRows = kVectorBytes == 64 ? 12 : kVectorBytes == 32 ? 6 : 4;
constexpr int kTileVectors = 2;
template <typename T>
struct Operand {
  const T* x;
  int64_t row, col;
};

// The most rows of a tile: as many sums whether it has two registers' columns or one.
template <int kVectors>
inline constexpr int kMostRows = kTileRows* kTileVectors / kVectors;

// Rows of the next tile of `left` rows: a short last tile shares with the one before, to keep
// enough chains going.
ADJOIN_INLINE int64_t NextRows(int64_t left, int64_t most) {
  if (left <= most) return left;
  return left >= 2 * most ? most : (left + 1) / 2;
}

// `rows` neighbours in memory at each of k steps, side by side. Whole registers are written, over
// what comes next, but for the last step.
template <typename T>
ADJOIN_INLINE void PackTile(int64_t rows, int64_t k, const T* from, int64_t col, T* packed) {
  constexpr int64_t kW = kWidth<T>;
  const int64_t whole = (rows - 1) / kW;
  const FirstLanes<T> rest(rows - whole * kW);
  for (int64_t p = 0; p + 1 < k; ++p) {
    for (int64_t v = 0; v < whole; ++v) Store<T>(Load(from + v * kW), packed + v * kW);
    Store<T>(Load(from + whole * kW, rest), packed + whole * kW);
    from += col;
    packed += rows;
  }
  for (int64_t r = 0; r < rows; ++r) packed[r] = from[r];
}

// Row tiles of an A whose rows are neighbours in memory, each with its rows side by side at every
// k. A few k of all tiles at a time, since tiles share lines.
template <typename T>
void PackTiles(int64_t m, int64_t k, const Operand<T>& a, T* packed) {
  constexpr int64_t kAtOnce = 16;
  for (int64_t p = 0; p < k; p += kAtOnce) {
    const int64_t depth = k - p < kAtOnce ? k - p : kAtOnce;
    for (int64_t i = 0; i < m;) {
      const int64_t rows = NextRows(m - i, kTileRows);
      const T* from = a.x + i + p * a.col;
      T* to = packed + i * k + p * rows;
      if (rows == kTileRows) {
        PackTile(kTileRows, depth, from, a.col, to);
      } else {
        PackTile(rows, depth, from, a.col, to);
      }
      i += rows;
    }
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

// The same of columns at any strides.
template <typename T>
void PackPanel(int64_t k, int64_t columns, const Operand<T>& b, int64_t panel_columns, T* packed) {
  if (b.row == 1) {
    PackTransposed(k, columns, b.x, b.col, panel_columns, packed);
    return;
  }
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t l = 0; l < columns; ++l) packed[l] = b.x[p * b.row + l * b.col];
    for (int64_t l = columns; l < panel_columns; ++l) packed[l] = 0;
    packed += panel_columns;
  }
}

}  // namespace adjoin::ADJOIN_ISA
