// Matrix products. Every C cell is alpha * an fma chain over k in order, started anew each kBlockK,
// whatever the tile, the packing or the register width: so a product has the same bits alone,
// stacked with others, or split among threads.
//
// Measured by bench/kernels_bench.cc: AVX2, one thread of an EPYC Milan at 3.2 GHz, whose FMA peak
// is 102.7 GFLOP/s in f32 and 51.3 in f64. GFLOP/s of products with row-major operands:
//
//   m x n x k   768x512x128  512^3  256x64x64  128x128x32  16x16x16  16x16x8  1x512x512  512x1x512
//   f32                  93     93         93          87        62       57         30         10
//   f64                  46     46         47          40        39       29         12          6
//
// An 8x8x8 product takes 37 ns in f32 and 47 ns in f64, most of which is the call.
#include "kernels/gemm_pack.h"
#include "kernels/gemv.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

// A block of A packed for L2, and of B for L3.
constexpr int64_t kBlockM = 96;
constexpr int64_t kBlockN = 1024;

// Up to this many rows B is read where it lies: packing it would cost more than it saves.
constexpr int64_t kDirectRows = 4 * kTileRows;

// How the tiles of a panel reach C. Passed by reference and its fields set one by one: copies of
// such a struct, made in wider moves than its fields were stored in, stall for longer than a small
// tile takes.
template <typename T>
struct Output {
  int64_t row, col;
  int64_t columns;  // of the panel
  T alpha;
  bool add;  // to what C holds, else overwrite
};

// Writes `rows` x `columns` of a tile's sums, `width` elements a row, to any strides of C. Out of
// line, so that the sums of whole tiles stay in registers.
template <typename T>
__attribute__((noinline)) void StoreCells(const T* sums, int64_t width, int64_t rows, T* c,
                                          const Output<T>& out) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < out.columns; ++i) {
      T* at = c + r * out.row + i * out.col;
      const T sum = sums[r * width + i];
      *at = out.add ? Fma(out.alpha, sum, *at) : out.alpha * sum;
    }
  }
}

// One tile of C: kRows x columns, where columns fill all kVectors registers but, if kPartial, the
// last one.
template <typename T, int kRows, int kVectors, bool kPartial>
ADJOIN_INLINE void TileBody(int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b,
                            int64_t b_row, T* c, const Output<T>& out) {
  constexpr int kW = kWidth<T>;
  Vec<T> sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[r][v] = Vec<T>{};
  }
  const FirstLanes<T> last(kPartial ? out.columns - (kVectors - 1) * kW : 1);
  for (int64_t p = 0; p < k; ++p) {
    Vec<T> bv[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      bv[v] = kPartial && v == kVectors - 1 ? Load(b + v * kW, last) : Load(b + v * kW);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vec<T> av = Broadcast(a[r * a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = Fma(av, bv[v], sum[r][v]);
    }
    a += a_col;
    b += b_row;
  }
  if (kPartial || out.col != 1) {
    T cells[kRows * kVectors * kW];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) Store<T>(sum[r][v], cells + (r * kVectors + v) * kW);
    }
    StoreCells(cells, kVectors * kW, kRows, c, out);
    return;
  }
  const Vec<T> alpha = Broadcast(out.alpha);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const Vec<T> value = out.add ? Fma(alpha, sum[r][v], Load(c + v * kW)) : alpha * sum[r][v];
      Store<T>(value, c + v * kW);
    }
    c += out.row;
  }
}

template <typename T, int kRows, int kVectors, bool kPartial>
void MultiplyTile(int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row,
                  T* c, const Output<T>& out) {
  TileBody<T, kRows, kVectors, kPartial>(k, a, a_row, a_col, b, b_row, c, out);
}

template <typename T>
using TileFunction = void (*)(int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b,
                              int64_t b_row, T* c, const Output<T>& out);

template <typename T>
struct TileTable {
  TileFunction<T> at[kTileRows][kTileVectors][2];
};
template <typename T, int kRows>
constexpr void FillTiles(TileTable<T>* table) {
  table->at[kRows - 1][0][0] = MultiplyTile<T, kRows, 1, false>;
  table->at[kRows - 1][0][1] = MultiplyTile<T, kRows, 1, true>;
  table->at[kRows - 1][1][0] = MultiplyTile<T, kRows, 2, false>;
  table->at[kRows - 1][1][1] = MultiplyTile<T, kRows, 2, true>;
  if constexpr (kRows > 1) FillTiles<T, kRows - 1>(table);
}
template <typename T>
constexpr TileTable<T> MakeTiles() {
  TileTable<T> table = {};
  FillTiles<T, kTileRows>(&table);
  return table;
}
template <typename T>
constexpr TileTable<T> kTiles = MakeTiles<T>();

// All row tiles over the columns of one panel of B. `packed` says that `a` is the panels that PackA
// made.
template <typename T, int kVectors, bool kPartial>
__attribute__((noinline)) void PanelRows(int64_t m, int64_t k, const T* a, int64_t a_row,
                                         int64_t a_col, bool packed, const T* b, int64_t b_row,
                                         T* c, const Output<T>& out) {
  const int64_t step = packed ? k : a_row;
  if (packed) a_row = 1;
  while (m > 0) {
    const int64_t rows = NextRows(m);
    if (packed) a_col = rows;
    if (rows == kTileRows) {
      TileBody<T, kTileRows, kVectors, kPartial>(k, a, a_row, a_col, b, b_row, c, out);
    } else {
      kTiles<T>.at[rows - 1][kVectors - 1][kPartial](k, a, a_row, a_col, b, b_row, c, out);
    }
    a += rows * step;
    c += rows * out.row;
    m -= rows;
  }
}

template <typename T>
ADJOIN_INLINE void MultiplyPanel(int64_t m, int64_t k, const Operand<T>& a, bool packed, const T* b,
                                 int64_t b_row, T* c, const Output<T>& out) {
  constexpr int64_t kW = kWidth<T>;
  if (out.columns == 2 * kW) {
    PanelRows<T, 2, false>(m, k, a.x, a.row, a.col, packed, b, b_row, c, out);
  } else if (out.columns > kW) {
    PanelRows<T, 2, true>(m, k, a.x, a.row, a.col, packed, b, b_row, c, out);
  } else if (out.columns == kW) {
    PanelRows<T, 1, false>(m, k, a.x, a.row, a.col, packed, b, b_row, c, out);
  } else {
    PanelRows<T, 1, true>(m, k, a.x, a.row, a.col, packed, b, b_row, c, out);
  }
}

// A product small enough to read both operands where they lie. REQUIRES: b_col == 1, k within one
// block.
template <typename T>
ADJOIN_INLINE void MultiplyDirect(const GemmArgs<T>& g) {
  constexpr int64_t kColumns = kTileVectors * kWidth<T>;
  Output<T> out;
  out.row = g.c_row;
  out.col = g.c_col;
  out.alpha = g.alpha;
  out.add = g.accumulate;
  const Operand<T> a{g.a, g.a_row, g.a_col};
  const T* b = g.b;
  T* c = g.c;
  for (int64_t left = g.n; left > 0; left -= kColumns) {
    out.columns = left < kColumns ? left : kColumns;
    MultiplyPanel(g.m, g.k, a, false, b, g.b_row, c, out);
    b += kColumns;
    c += kColumns * g.c_col;
  }
}

template <typename T>
void Gemm(const GemmArgs<T>& args) {
  constexpr int64_t kColumns = kTileVectors * kWidth<T>;
  if (args.m <= 0 || args.n <= 0) return;
  if (args.n == 1) {
    Gemv<T>({args.a, args.a_row, args.a_col}, args.m, args.k, args.b, args.b_row, args.alpha,
            args.accumulate, args.c, args.c_row);
    return;
  }
  if (args.m == 1) {
    Gemv<T>({args.b, args.b_col, args.b_row}, args.n, args.k, args.a, args.a_col, args.alpha,
            args.accumulate, args.c, args.c_col);
    return;
  }
  if (args.b_col == 1 && args.c_col == 1 && args.m <= kDirectRows && args.k <= kBlockK &&
      args.n <= 8 * kColumns) {
    MultiplyDirect(args);
    return;
  }
  GemmArgs<T> g = args;
  if (g.c_col != 1 && g.c_row == 1) {  // C' = B' A'
    g = {args.n,     args.m,     args.k,     args.b,          args.b_col,
         args.b_row, args.a,     args.a_col, args.a_row,      args.c,
         args.c_col, args.c_row, args.alpha, args.accumulate, args.scratch};
  }
  T* scratch = static_cast<T*>(g.scratch);
  Output<T> out;
  out.row = g.c_row;
  out.col = g.c_col;
  out.alpha = g.alpha;
  int64_t k0 = 0;
  do {
    const int64_t k = g.k - k0 < kBlockK ? g.k - k0 : kBlockK;
    out.add = g.accumulate || k0 > 0;
    for (int64_t j0 = 0; j0 < g.n; j0 += kBlockN) {
      const int64_t n = g.n - j0 < kBlockN ? g.n - j0 : kBlockN;
      const Operand<T> b{g.b + k0 * g.b_row + j0 * g.b_col, g.b_row, g.b_col};
      const bool direct = g.b_col == 1 && g.m <= kDirectRows;
      if (!direct) PackB(k, n, b, scratch);
      T* packed_a = scratch + (n + kColumns) * k;
      for (int64_t i0 = 0; i0 < g.m; i0 += kBlockM) {
        const int64_t m = g.m - i0 < kBlockM ? g.m - i0 : kBlockM;
        Operand<T> a{g.a + i0 * g.a_row + k0 * g.a_col, g.a_row, g.a_col};
        const bool pack_a = n > 8 * kColumns;
        if (pack_a) {
          PackA(m, k, a, packed_a);
          a.x = packed_a;
        }
        for (int64_t j = 0; j < n; j += kColumns) {
          const int64_t columns = n - j < kColumns ? n - j : kColumns;
          T* c = g.c + i0 * g.c_row + (j0 + j) * g.c_col;
          out.columns = columns;
          const T* panel = direct ? b.x + j : scratch + j * k;
          MultiplyPanel(m, k, a, pack_a, panel, direct ? g.b_row : kColumns, c, out);
        }
      }
    }
    k0 += kBlockK;
  } while (k0 < g.k);
}

}  // namespace

void FillGemm(KernelTable* table) {
  table->f32.gemm = Gemm<float>;
  table->f64.gemm = Gemm<double>;
}

}  // namespace adjoin::ADJOIN_ISA
