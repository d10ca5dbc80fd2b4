// Matrix products. Every C cell is alpha * an fma chain over k in order, started anew each kBlockK,
// whatever the tile, the packing or the register width: so a product has the same bits alone,
// stacked with others, or split among threads.
//
// Measured by bench/kernels_bench.cc: AVX2, one thread of an EPYC Milan at 3.2 GHz, whose FMA peak
// is 102.7 GFLOP/s in f32 and 51.3 in f64. GFLOP/s of products with row-major operands:
//
//   m x n x k   768x512x128  512^3  256x64x64  128x128x32  16x16x16  16x16x8  1x512x512  512x1x512
//   f32                  94     95         94          88        71        50         30         10
//   f64                  46     46         47          44        37        28         12          6
//
// The other products of the base GPT, A' a transposed left: [768 x 512] [512 x 128] 97 and 45,
// [128 x 768]' [768 x 512] 93 and 45, [512 x 768]' [768 x 128] 92 and 43, [64 x 32] [32 x 64]' 83
// and 41, [64 x 64] [64 x 32] 93 and 45, [768 x 128] [128 x 65] 84 and 45: a last register of
// columns that is nearly empty costs as much as a full one. An 8x8x8 product takes 44 ns in f32 and
// 50 ns in f64, most of which is the call.
#include "kernels/gemm_pack.h"
#include "kernels/gemv.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

// A block of A stays in L2 while the panels of B pass, and a panel of B in L1 while the tiles of A
// pass; packed panels up to kBlockN columns wait in L3 at worst.
constexpr int64_t kBlockM = 96;
constexpr int64_t kBlockN = 1024;

// Up to this many rows B is read where it lies: packing it would cost more than it saves.
constexpr int64_t kDirectRows = 4 * kTileRows;

// From more columns than this on an A whose rows are neighbours is packed: GFLOP/s of a
// [512 x 768]' [768 x 128] product in f64 are 43 instead of 35, but of a [64 x 64]' [64 x 32] one
// 39 instead of 43.
template <typename T>
constexpr int64_t kPackColumns = 4 * kTileVectors* kWidth<T>;

// How many rows of B a packing tile asks for in advance: B's rows are often pages apart, where the
// processor does not foresee them.
constexpr int64_t kPackAhead = 16;

// How the tiles of a panel reach C. Passed by reference and its fields set one by one: copies of
// such a struct, made in wider moves than its fields were stored in, stall for longer than a small
// tile takes.
template <typename T>
struct Output {
  int64_t row, col;
  int64_t columns;  // of the panel
  T alpha;
  bool add;      // to what lies there, else overwrite
  int64_t from;  // what is added lies so many elements after C
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
      *at = out.add ? Fma(out.alpha, sum, at[out.from]) : out.alpha * sum;
    }
  }
}

// One tile of C: kRows x columns, where columns fill all kVectors registers but, if kPartial, the
// last one. If kPack, what is read of B is written to `packed` on the way, row after row.
template <typename T, int kRows, int kVectors, bool kPartial, bool kPack = false>
ADJOIN_INLINE void TileBody(int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b,
                            int64_t b_row, T* c, const Output<T>& out, T* packed = nullptr) {
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
      if (kPack) Store<T>(bv[v], packed + v * kW);
    }
    if (kPack) {
      __builtin_prefetch(b + kPackAhead * b_row);
      packed += kVectors * kW;
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
  if (out.col != 1) {
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
      if (kPartial && v == kVectors - 1) {
        const Vec<T> value =
            out.add ? Fma(alpha, sum[r][v], Load(c + out.from + v * kW, last)) : alpha * sum[r][v];
        Store(value, c + v * kW, last);
      } else {
        const Vec<T> value =
            out.add ? Fma(alpha, sum[r][v], Load(c + out.from + v * kW)) : alpha * sum[r][v];
        Store<T>(value, c + v * kW);
      }
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

// The tiles of fewer rows, which end a panel.
template <typename T, int kVectors, bool kPartial>
struct TileTable {
  TileFunction<T> of_rows[kMostRows<kVectors>];
};
template <typename T, int kVectors, bool kPartial, int kRows>
constexpr void FillTiles(TileTable<T, kVectors, kPartial>* table) {
  table->of_rows[kRows - 1] = MultiplyTile<T, kRows, kVectors, kPartial>;
  if constexpr (kRows > 1) FillTiles<T, kVectors, kPartial, kRows - 1>(table);
}
template <typename T, int kVectors, bool kPartial>
constexpr TileTable<T, kVectors, kPartial> MakeTiles() {
  TileTable<T, kVectors, kPartial> table = {};
  FillTiles<T, kVectors, kPartial, kMostRows<kVectors>>(&table);
  return table;
}
template <typename T, int kVectors, bool kPartial>
constexpr TileTable<T, kVectors, kPartial> kTiles = MakeTiles<T, kVectors, kPartial>();

// What all row tiles of a block do with one panel of B.
template <typename T>
struct Panel {
  Operand<T> a;
  bool a_packed;  // PackA's tiles
  const T* b;
  int64_t b_row;
  T* pack_to;  // where the first tile packs the panel, or null
};

template <typename T, int kVectors, bool kPartial>
__attribute__((noinline)) void PanelRows(int64_t m, int64_t k, const Panel<T>& panel, T* c,
                                         const Output<T>& out) {
  // Tiles of PackA have kTileRows rows.
  constexpr int kMost = kMostRows<kVectors>;
  const T* a = panel.a.x;
  const T* b = panel.b;
  int64_t b_row = panel.b_row, a_row = panel.a.row, a_col = panel.a.col;
  const int64_t step = panel.a_packed ? k : a_row;
  if (panel.a_packed) a_row = 1, a_col = kTileRows;
  if (panel.pack_to != nullptr) {
    TileBody<T, kTileRows, kVectors, kPartial, true>(k, a, a_row, a_col, b, b_row, c, out,
                                                     panel.pack_to);
    b = panel.pack_to;
    b_row = kVectors * kWidth<T>;
    a += kTileRows * step;
    c += kTileRows * out.row;
    m -= kTileRows;
  }
  while (m > 0) {
    const int64_t rows = panel.a_packed ? NextRows(m, kTileRows) : NextRows(m, kMost);
    if (panel.a_packed) a_col = rows;
    if (rows == kMost) {
      TileBody<T, kMost, kVectors, kPartial>(k, a, a_row, a_col, b, b_row, c, out);
    } else {
      kTiles<T, kVectors, kPartial>.of_rows[rows - 1](k, a, a_row, a_col, b, b_row, c, out);
    }
    a += rows * step;
    c += rows * out.row;
    m -= rows;
  }
}

template <typename T>
ADJOIN_INLINE void MultiplyPanel(int64_t m, int64_t k, const Panel<T>& panel, T* c,
                                 const Output<T>& out) {
  constexpr int64_t kW = kWidth<T>;
  if (out.columns == 2 * kW) {
    PanelRows<T, 2, false>(m, k, panel, c, out);
  } else if (out.columns > kW) {
    PanelRows<T, 2, true>(m, k, panel, c, out);
  } else if (out.columns == kW) {
    PanelRows<T, 1, false>(m, k, panel, c, out);
  } else {
    PanelRows<T, 1, true>(m, k, panel, c, out);
  }
}

// Up to kBlockM x kBlockN cells of C, of one block of k. PackTiles left A in `a_packed`, if that is
// not null; `b_packed` says that an earlier block of rows left B's panels in `scratch`.
template <typename T>
ADJOIN_INLINE void MultiplyBlock(int64_t m, int64_t n, int64_t k, const Operand<T>& a,
                                 const T* a_packed, const Operand<T>& b, bool b_packed, T* scratch,
                                 T* c, Output<T>& out) {
  constexpr int64_t kW = kWidth<T>, kColumns = kTileVectors * kW;
  Panel<T> panel;
  panel.a.x = a_packed != nullptr ? a_packed : a.x;
  panel.a.row = a.row;
  panel.a.col = a.col;
  panel.a_packed = a_packed != nullptr;
  for (int64_t j = 0; j < n; j += kColumns) {
    out.columns = n - j < kColumns ? n - j : kColumns;
    panel.b = scratch + j * k;
    panel.b_row = out.columns > kW ? kColumns : kW;
    panel.pack_to = nullptr;
    if (b.col == 1 && !b_packed) {
      panel.b = b.x + j;
      panel.b_row = b.row;
      if (m > kDirectRows) panel.pack_to = scratch + j * k;
    } else if (!b_packed) {
      PackPanel<T>(k, out.columns, {b.x + j * b.col, b.row, b.col}, panel.b_row, scratch + j * k);
    }
    MultiplyPanel(m, k, panel, c + j * out.col, out);
  }
}

// One product. REQUIRES: neither C's rows nor its columns are a single one.
template <typename T>
void Multiply(const GemmArgs<T>& g) {
  constexpr int64_t kColumns = kTileVectors * kWidth<T>;
  T* scratch = static_cast<T*>(g.scratch);
  Output<T> out;
  out.row = g.c_row;
  out.col = g.c_col;
  out.alpha = g.alpha;
  if (g.m <= kDirectRows && g.n <= kBlockN && g.k <= kBlockK) {  // spares small ones 10 ns
    out.add = g.accumulate;
    out.from = g.from;
    const T* unpacked = nullptr;
    MultiplyBlock(g.m, g.n, g.k, {g.a, g.a_row, g.a_col}, unpacked, {g.b, g.b_row, g.b_col}, false,
                  scratch, g.c, out);
    return;
  }
  int64_t k0 = 0;
  do {
    const int64_t k = g.k - k0 < kBlockK ? g.k - k0 : kBlockK;
    out.add = g.accumulate || k0 > 0;
    out.from = k0 > 0 ? 0 : g.from;
    for (int64_t j0 = 0; j0 < g.n; j0 += kBlockN) {
      const int64_t n = g.n - j0 < kBlockN ? g.n - j0 : kBlockN;
      const Operand<T> b{g.b + k0 * g.b_row + j0 * g.b_col, g.b_row, g.b_col};
      T* packed_a = scratch + (n + kColumns) * k;
      for (int64_t i0 = 0; i0 < g.m; i0 += kBlockM) {
        const int64_t m = g.m - i0 < kBlockM ? g.m - i0 : kBlockM;
        const Operand<T> a{g.a + i0 * g.a_row + k0 * g.a_col, g.a_row, g.a_col};
        const bool pack_a = a.row == 1 && n > kPackColumns<T> && m > kDirectRows;
        if (pack_a) PackTiles(m, k, a, packed_a);
        MultiplyBlock(m, n, k, a, pack_a ? packed_a : nullptr, b, i0 > 0, scratch,
                      g.c + i0 * g.c_row + j0 * g.c_col, out);
      }
    }
    k0 += kBlockK;
  } while (k0 < g.k);
}

template <typename T>
void Gemm(const GemmArgs<T>& args) {
  if (args.m <= 0 || args.n <= 0) return;
  if (args.n == 1) {
    Gemv<T>({args.a, args.a_row, args.a_col}, args.m, args.k, args.b, args.b_row, args.alpha,
            args.accumulate, args.from, args.c, args.c_row);
    return;
  }
  if (args.m == 1) {
    Gemv<T>({args.b, args.b_col, args.b_row}, args.n, args.k, args.a, args.a_col, args.alpha,
            args.accumulate, args.from, args.c, args.c_col);
    return;
  }
  if (args.c_col != 1 && args.c_row == 1) {  // C' = B' A'
    Multiply<T>({args.n, args.m, args.k, args.b, args.b_col, args.b_row, args.a, args.a_col,
                 args.a_row, args.c, args.c_col, args.c_row, args.alpha, args.accumulate,
                 args.scratch, args.from});
    return;
  }
  Multiply(args);
}

}  // namespace

void FillGemm(KernelTable* table) {
  table->f32.gemm = Gemm<float>;
  table->f64.gemm = Gemm<double>;
}

}  // namespace adjoin::ADJOIN_ISA
