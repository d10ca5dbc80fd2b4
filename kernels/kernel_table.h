// One table of function pointers an instruction set; Kernels() picks the best that this processor
// runs, once. Every variant gives the same bits: 16 virtual lanes in reductions, FMA in the same
// places, one polynomial a function.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/element_type.h"

namespace adjoin {

// Row-wise functions. Operands have the type that indexes the table; comparisons give uint8_t, the
// rest that type.
enum class ScalarOp : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kNegate,
  kAbs,
  kSign,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,  // floats: NaN equals NaN and is above every number, 0 equals -0
  kAnd,
  kOr,
  kNot,  // uint8_t 0 or 1, no NULLs (three-valued logic is the caller's)
  kGreatest,
  kLeast,   // of two, in SQL's order
  kSelect,  // args: uint8_t condition, a, b
  kSqrt,
  kCbrt,
  kExp,
  kLn,
  kLog10,
  kLog2,
  kPower,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kAtan2,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  kFloor,
  kCeil,
  kRound,
  kTrunc,  // kRound: half to even for floats, as PostgreSQL
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kShiftLeft,
  kShiftRight,
  // Threefry-2x32, of BIGINTs: a key (its two words, or a seed) and an index. kRandomSplit gives
  // the 64-bit word, which is a key again; kRandomBits a 32-bit one, from 0 on.
  kRandomSplit,
  kRandomBits,
  // Of such a word, which is the last argument, 32 bits for REAL and 64 for DOUBLE PRECISION;
  // floats the others. kRandomUniform: from low on, below high. kRandomNormal: a scale, which one
  // constant in the type's precision takes in.
  kRandomUniform,
  kRandomNormal,
  kCount
};
inline constexpr int kNumScalarOps = static_cast<int>(ScalarOp::kCount);

// out[i] = f(args[0][i], ...) for i in [0, n). Every lane is computed; errors are raised only for
// lanes where active[i] != 0 (null: all), of several that of the first lane. Elements: uint8_t,
// int16/32/64_t, float, double. `out` may be an argument whose elements are as wide as its own or
// wider, else it overlaps none. A lane's bits depend on its arguments alone, not on neighbours, n
// or variant, but for which of the NaNs a NaN is. Casts of floats to integers round half to even.
// Kernels hold no state: any number of threads may call them.
using ScalarKernel = ScalarError (*)(const void* const* args, const uint8_t* active, void* out,
                                     int64_t n);

// C(m,n) = alpha * A(m,k) B(k,n) [+ what lies `from` elements after each cell of C]; strides in
// elements, any of them, nothing is copied to transpose but into packed tiles in `scratch`
// (GemmScratchBytes, 64-byte aligned). Each C cell sums k in order within fixed K blocks.
inline constexpr int64_t kGemmBlockK =
    256;  // part of the results' definition, for all variants and types
template <typename T>
struct GemmArgs {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row, b_col;
  T* c;
  int64_t c_row, c_col;
  T alpha;
  bool accumulate;
  void* scratch;
  int64_t from = 0;  // with `accumulate`; 0: C itself
};

template <typename T>
struct ReduceKernels {
  T (*sum)(const T* x, int64_t n);  // 16 lanes, 1024-element blocks, pairwise
  T (*dot)(const T* x, const T* y, int64_t n);
  T (*max)(const T* x, int64_t n);  // SQL's order; n >= 1
  T (*min)(const T* x, int64_t n);
  void (*add_to)(const T* x, T* acc, int64_t n);  // acc[i] += x[i]
  void (*max_to)(const T* x, T* acc, int64_t n);
  void (*min_to)(const T* x, T* acc, int64_t n);
  void (*fill)(T value, T* out, int64_t n);
  void (*load_strided)(const T* x, int64_t stride, T* out, int64_t n);  // out[i] = x[i * stride]
  void (*scatter_add)(const int64_t* index, const T* x, T* acc,
                      int64_t n);  // acc[index[i]] += x[i], in order
  void (*gather)(const T* x, const int64_t* index, T* out, int64_t n);
  void (*gemm)(const GemmArgs<T>& args);
};

// out[r] = the reduction of the `length` cells of row r, with the bits of ReduceKernels; length
// >= 1.
template <typename T>
struct RowReductions {
  void (*sum)(const T* x, int64_t rows, int64_t length, T* out);
  void (*max)(const T* x, int64_t rows, int64_t length, T* out);
  void (*min)(const T* x, int64_t rows, int64_t length, T* out);
};

// out[r * length + i] = f(cells[r * length + i], values[r]) or f(values[r], cells[...]); `out` may
// be `cells` where it is no wider.
using RowKernel = void (*)(const void* cells, const void* values, int64_t rows, int64_t length,
                           void* out);

// out[i] = (x[i] first y[i]) second z[i], x over cells, y and z over cells or one value a row
// (`y_step` 0: the same for every row). `out` may be any of them that is over cells.
enum class ChainOp : uint8_t { kAdd, kSubtract, kSubtractFrom, kMultiply };  // kSubtractFrom: b - a
inline constexpr int kNumChainOps = 4;
struct ChainArgs {
  const void* x;
  const void* y;
  const void* z;
  int64_t y_step, z_step;
};
using ChainKernel = void (*)(const ChainArgs& args, int64_t rows, int64_t length, void* out);

// Sums and numbers of the rows of one group, row r in lane r % kGroupLanes. Sums are never -0.
inline constexpr int kGroupLanes = 8;
inline constexpr int64_t kMostGroupLanes = 8;  // groups
struct GroupLanes {
  double sum[kGroupLanes];
  int64_t count[kGroupLanes];
};

struct KernelTable {
  const char* isa;                                // "portable", "avx2", "avx512"
  ScalarKernel scalar[kNumScalarOps][kNumTypes];  // null: no such kernel
  ScalarKernel cast[kNumTypes][kNumTypes];        // [from][to]; text not here
  double (*sum_f32_as_f64)(const float* x, int64_t n);
  // out[i] = a mix of in[i] (64-bit finaliser) combined with the hash already in out[i] where
  // `combine`.
  void (*hash_u64)(const uint64_t* in, bool combine, uint64_t* out, int64_t n);
  // The rows, ascending, where holds[r] is 1, and valid[r] if `valid` is not null; returns how
  // many. `rows` has room for n.
  int64_t (*select)(const uint8_t* holds, const uint8_t* valid, int64_t n, int32_t* rows);
  // out[i] = from[rows[i]], of 4 and 8 bytes; rows never fall.
  void (*take_4)(const void* from, const int32_t* rows, int64_t n, void* out);
  void (*take_8)(const void* from, const int32_t* rows, int64_t n, void* out);
  // The rows, ascending, where bit x[r] - low of `marks` is set; returns how many. at[i] is that
  // bit of the i-th such row. Bits beyond `last` are not asked; `low` is a value of x's type.
  int64_t (*select_marked_4)(const int32_t* x, int64_t n, int64_t low, uint32_t last,
                             const uint64_t* marks, int32_t* rows, uint32_t* at);
  int64_t (*select_marked_8)(const int64_t* x, int64_t n, int64_t low, uint32_t last,
                             const uint64_t* marks, int32_t* rows, uint32_t* at);
  // ranks[i] = how many of `marks` are set before bit at[i]; before[w]: before word w.
  void (*rank)(const uint64_t* marks, const uint32_t* before, const uint32_t* at, int64_t n,
               int64_t* ranks);
  // Adds rows to the lanes of their groups, which are below `groups` <= kMostGroupLanes; `lanes`
  // are kMostGroupLanes.
  void (*sum_by_group)(const double* x, const int64_t* group, int64_t n, int64_t groups,
                       GroupLanes* lanes);
  ReduceKernels<float> f32;
  ReduceKernels<double> f64;
  RowReductions<float> rows_f32;
  RowReductions<double> rows_f64;
  void (*sum_rows_f32_as_f64)(const float* x, int64_t rows, int64_t length, double* out);
  void (*count_rows)(const uint8_t* x, int64_t rows, int64_t length, double* out);  // of 0s and 1s
  // [op][type of the operands][1: the row's value comes first]; null: no such kernel.
  RowKernel by_row[kNumScalarOps][kNumTypes][2];
  // [first][second][y over cells][z over cells].
  ChainKernel chain_f32[kNumChainOps][kNumChainOps][2][2];
  ChainKernel chain_f64[kNumChainOps][kNumChainOps][2][2];
  // out[r * length + i] = values[r].
  void (*spread[kNumTypes])(const void* values, int64_t rows, int64_t length, void* out);
  template <typename T>
  const ReduceKernels<T>& reduce() const;
  ScalarKernel at(ScalarOp op, TypeId type) const {
    return scalar[static_cast<int>(op)][static_cast<int>(type)];
  }
};
template <>
inline const ReduceKernels<float>& KernelTable::reduce<float>() const {
  return f32;
}
template <>
inline const ReduceKernels<double>& KernelTable::reduce<double>() const {
  return f64;
}

int64_t GemmScratchBytes(int64_t m, int64_t n, int64_t k, int64_t element_bytes);

const KernelTable& Kernels();  // ADJOIN_ISA=portable|avx2|avx512 overrides
std::span<const KernelTable* const> SupportedKernels();  // those this processor can run

}  // namespace adjoin
