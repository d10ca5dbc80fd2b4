// Rows side by side: their reductions, and arithmetic of their cells with one value a row. What
// softmax, layer norm and their backwards are made of (ops/row_program.h).
#include "kernels/arithmetic.h"
#include "kernels/lanes.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

// Rows whose lanes are combined together, turned over so that each combination is of whole
// registers: 16 lanes of one row are 15 dependent scalar operations otherwise, longer than a row of
// 16 takes.
#if defined(__AVX2__)
template <typename T>
inline constexpr int kGroup = kSquare<T>;
template <typename F, typename T>
ADJOIN_INLINE void CombineGroup(const T (*lane)[kLanes], T* out) {
  typedef T Square __attribute__((vector_size(32)));
  typedef T Unaligned __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
  constexpr int kS = kSquare<T>;
  constexpr int kParts = kLanes / kS;
  Square part[kParts];
#pragma GCC unroll 4
  for (int p = 0; p < kParts; ++p) {
    Square turned[kS];
    TransposeSquare(&lane[0][p * kS], kLanes, turned);
#pragma GCC unroll 4
    for (int width = kS / 2; width > 0; width /= 2) {
#pragma GCC unroll 4
      for (int l = 0; l < width; ++l) turned[l] = F::Apply(turned[2 * l], turned[2 * l + 1]);
    }
    part[p] = turned[0];
  }
#pragma GCC unroll 4
  for (int width = kParts / 2; width > 0; width /= 2) {
#pragma GCC unroll 4
    for (int l = 0; l < width; ++l) part[l] = F::Apply(part[2 * l], part[2 * l + 1]);
  }
  *reinterpret_cast<Unaligned*>(out) = part[0];
}
#else
template <typename T>
inline constexpr int kGroup = 1;
#endif

// Calls lanes_of(row, lane) for each row and combines what it wrote.
template <typename F, typename T, typename LanesOf>
ADJOIN_INLINE void ReduceRows(int64_t rows, T* out, LanesOf&& lanes_of) {
  constexpr int kG = kGroup<T>;
  alignas(64) T lane[kG][kLanes];
  int64_t row = 0;
#if defined(__AVX2__)
  for (; row + kG <= rows; row += kG) {
    for (int g = 0; g < kG; ++g) lanes_of(row + g, lane[g]);
    CombineGroup<F>(lane, out + row);
  }
#endif
  for (; row < rows; ++row) {
    lanes_of(row, lane[0]);
    out[row] = CombineLanes<F>(lane[0]);
  }
}

template <typename T>
void SumRows(const T* x, int64_t rows, int64_t length, T* out) {
  if (length > kBlock) {
    for (int64_t r = 0; r < rows; ++r) out[r] = SumOf(SumTerms<T>{x + r * length}, length);
    return;
  }
  ReduceRows<Add>(
      rows, out, [&](int64_t row, T * lane) __attribute__((always_inline)) {
        SumLanes(SumTerms<T>{x + row * length}, 0, length, lane);
      });
}

void SumRowsF32AsF64(const float* x, int64_t rows, int64_t length, double* out) {
  if (length > kBlock) {
    for (int64_t r = 0; r < rows; ++r) out[r] = SumOf(WidenedTerms{x + r * length}, length);
    return;
  }
  ReduceRows<Add>(
      rows, out, [&](int64_t row, double* lane) __attribute__((always_inline)) {
        SumLanes(WidenedTerms{x + row * length}, 0, length, lane);
      });
}

template <typename F, typename T>
void ExtremeRows(const T* x, int64_t rows, int64_t length, T* out) {
  ReduceRows<F>(
      rows, out, [&](int64_t row, T * lane) __attribute__((always_inline)) {
        ExtremeLanes<F>(x + row * length, length, lane);
      });
}

// Eight bytes of 0 or 1 are added by one multiplication, into its highest byte.
void CountRows(const uint8_t* x, int64_t rows, int64_t length, double* out) {
  typedef uint64_t Word __attribute__((aligned(1), may_alias));
  for (int64_t r = 0; r < rows; ++r) {
    uint64_t count = 0;
    int64_t i = 0;
    for (; i + 8 <= length; i += 8) {
      count += *reinterpret_cast<const Word*>(x + i) * uint64_t{0x0101010101010101} >> 56;
    }
    for (; i < length; ++i) count += x[i];
    out[r] = static_cast<double>(count);
    x += length;
  }
}

// F::Of(cell, value of the row), or the other way round.
template <typename F, bool kRowFirst, typename T, typename R>
void MapRows(const void* cells, const void* values, int64_t rows, int64_t length, void* out) {
  const T* x = static_cast<const T*>(cells);
  const T* y = static_cast<const T*>(values);
  R* z = static_cast<R*>(out);
  for (int64_t r = 0; r < rows; ++r) {
    const T value = y[r];
#pragma GCC ivdep
    for (int64_t i = 0; i < length; ++i)
      z[i] = kRowFirst ? F::Apply(value, x[i]) : F::Apply(x[i], value);
    x += length;
    z += length;
  }
}

template <typename T>
void Spread(const void* values, int64_t rows, int64_t length, void* out) {
  const T* y = static_cast<const T*>(values);
  T* z = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r) {
    const T value = y[r];
    for (int64_t i = 0; i < length; ++i) z[i] = value;
    z += length;
  }
}

template <typename F, typename T, typename R>
void FillBinary(ScalarOp op, KernelTable* table, TypeId type) {
  auto& pair = table->by_row[static_cast<int>(op)][static_cast<int>(type)];
  pair[0] = MapRows<F, false, T, R>;
  pair[1] = MapRows<F, true, T, R>;
}

template <typename T>
void FillRowsOf(RowReductions<T>* rows, KernelTable* table, TypeId type) {
  rows->sum = SumRows<T>;
  rows->max = ExtremeRows<Maximum, T>;
  rows->min = ExtremeRows<Minimum, T>;
  table->spread[static_cast<int>(type)] = Spread<T>;
  FillBinary<Add, T, T>(ScalarOp::kAdd, table, type);
  FillBinary<Subtract, T, T>(ScalarOp::kSubtract, table, type);
  FillBinary<Multiply, T, T>(ScalarOp::kMultiply, table, type);
  FillBinary<Divide, T, T>(ScalarOp::kDivide, table, type);
  FillBinary<Equal, T, uint8_t>(ScalarOp::kEqual, table, type);
}

}  // namespace

void FillRows(KernelTable* table) {
  FillRowsOf<float>(&table->rows_f32, table, TypeId::kFloat32);
  FillRowsOf<double>(&table->rows_f64, table, TypeId::kFloat64);
  table->sum_rows_f32_as_f64 = SumRowsF32AsF64;
  table->count_rows = CountRows;
  table->spread[static_cast<int>(TypeId::kBool)] = Spread<uint8_t>;
  table->spread[static_cast<int>(TypeId::kInt16)] = Spread<int16_t>;
  table->spread[static_cast<int>(TypeId::kInt32)] = Spread<int32_t>;
  table->spread[static_cast<int>(TypeId::kInt64)] = Spread<int64_t>;
}

}  // namespace adjoin::ADJOIN_ISA
