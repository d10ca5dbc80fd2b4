// Reductions of one array, and the moves of values that array programs are made of.
#include "kernels/lanes.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

template <typename T>
T Sum(const T* x, int64_t n) {
  return SumOf(SumTerms<T>{x}, n);
}
template <typename T>
T Dot(const T* x, const T* y, int64_t n) {
  return SumOf(DotTerms<T>{x, y}, n);
}
double SumF32AsF64(const float* x, int64_t n) { return SumOf(WidenedTerms{x}, n); }

template <typename F, typename T>
T Extreme(const T* x, int64_t n) {
  T lane[kLanes];
  ExtremeLanes<F>(x, n, lane);
  return CombineLanes<F>(lane);
}

template <typename T>
void AddTo(const T* x, T* acc, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) acc[i] += x[i];
}
template <typename F, typename T>
void ExtremeTo(const T* x, T* acc, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) acc[i] = F::Apply(acc[i], x[i]);
}
template <typename T>
void Fill(T value, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = value;
}

// Loads one by one: gather instructions are slower on the processors at hand.
#define ADJOIN_SCALAR_LOOP __attribute__((optimize("no-tree-vectorize")))
template <typename T>
ADJOIN_SCALAR_LOOP void LoadStrided(const T* x, int64_t stride, T* out, int64_t n) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) out[i] = x[i * stride];
}
template <typename T>
ADJOIN_SCALAR_LOOP void ScatterAdd(const int64_t* index, const T* x, T* acc, int64_t n) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) acc[index[i]] += x[i];
}
template <typename T>
ADJOIN_SCALAR_LOOP void Gather(const T* x, const int64_t* index, T* out, int64_t n) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) out[i] = x[index[i]];
}

// MurmurHash3's 64-bit finaliser, after a golden-ratio offset so that 0 does not stay 0.
ADJOIN_INLINE uint64_t Mix(uint64_t h) {
  h += 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 33);
}
void HashU64(const uint64_t* in, bool combine, uint64_t* out, int64_t n) {
  if (combine) {
    // The old hash is rotated so that equal columns do not cancel.
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = Mix(in[i] ^ ((out[i] << 23) | (out[i] >> 41)));
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = Mix(in[i]);
  }
}

template <typename T>
void FillOf(ReduceKernels<T>* kernels) {
  kernels->sum = Sum<T>;
  kernels->dot = Dot<T>;
  kernels->max = Extreme<Maximum, T>;
  kernels->min = Extreme<Minimum, T>;
  kernels->add_to = AddTo<T>;
  kernels->max_to = ExtremeTo<Maximum, T>;
  kernels->min_to = ExtremeTo<Minimum, T>;
  kernels->fill = Fill<T>;
  kernels->load_strided = LoadStrided<T>;
  kernels->scatter_add = ScatterAdd<T>;
  kernels->gather = Gather<T>;
}

}  // namespace

void FillReductions(KernelTable* table) {
  FillOf<float>(&table->f32);
  FillOf<double>(&table->f64);
  table->sum_f32_as_f64 = SumF32AsF64;
  table->hash_u64 = HashU64;
}

}  // namespace adjoin::ADJOIN_ISA
