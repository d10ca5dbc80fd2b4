// The 16 virtual lanes of reductions, shared by those of one array and those of rows. Sums use 16
// lanes within blocks of 1024 elements whatever the register width, then neighbouring lanes
// pairwise, then the blocks pairwise.
#pragma once

#include "kernels/arithmetic.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

constexpr int64_t kBlock = 1024;
constexpr int kMaxLevels = 64;

// The 16 lanes of a reduction in as many registers as this build needs.
template <typename T>
struct Lanes {
  static constexpr int kWidthUsed = kWidth<T> < kLanes ? kWidth<T> : kLanes;
  static constexpr int kRegisters = kLanes / kWidthUsed;
  Vec<T> r[kRegisters];

  ADJOIN_INLINE void Clear() {
    for (int i = 0; i < kRegisters; ++i) r[i] = Vec<T>{};
  }
  ADJOIN_INLINE void Read(const T* x) {
    for (int i = 0; i < kRegisters; ++i) r[i] = Load(x + i * kWidthUsed);
  }
  ADJOIN_INLINE void Write(T* x) const {
    for (int i = 0; i < kRegisters; ++i) Store<T>(r[i], x + i * kWidthUsed);
  }
};
static_assert(kWidth<float> <= kLanes);

// Neighbouring lanes pairwise, until one is left.
template <typename F, typename T>
ADJOIN_INLINE T CombineLanes(const T* lane) {
  T value[kLanes];
  for (int l = 0; l < kLanes; ++l) value[l] = lane[l];
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) value[l] = F::Apply(value[2 * l], value[2 * l + 1]);
  }
  return value[0];
}

// Sums of blocks, combined as the bits of a counter carry: block 2i with 2i + 1, then pairs with
// pairs.
template <typename T>
struct BlockSums {
  T level[kMaxLevels];
  int64_t count = 0;

  ADJOIN_INLINE void Push(T sum) {
    int64_t carry = count++;
    int depth = 0;
    for (; (carry & 1) != 0; carry >>= 1) sum = level[depth++] + sum;
    level[depth] = sum;
  }
  ADJOIN_INLINE T Total() const {
    T total = 0;
    bool any = false;
    for (int depth = 0; depth < kMaxLevels && (count >> depth) != 0; ++depth) {
      if (((count >> depth) & 1) == 0) continue;
      total = any ? level[depth] + total : level[depth];
      any = true;
    }
    return total;
  }
};

template <typename T>
struct SumTerms {
  using Type = T;
  const T* x;
  ADJOIN_INLINE void Add(int64_t i, Lanes<T>* sum) const {
    for (int r = 0; r < Lanes<T>::kRegisters; ++r) {
      sum->r[r] = sum->r[r] + Load(x + i + r * Lanes<T>::kWidthUsed);
    }
  }
  ADJOIN_INLINE T AddOne(int64_t i, T sum) const { return sum + x[i]; }
};

template <typename T>
struct DotTerms {
  using Type = T;
  const T* x;
  const T* y;
  ADJOIN_INLINE void Add(int64_t i, Lanes<T>* sum) const {
    for (int r = 0; r < Lanes<T>::kRegisters; ++r) {
      const int64_t at = i + r * Lanes<T>::kWidthUsed;
      sum->r[r] = Fma(Load(x + at), Load(y + at), sum->r[r]);
    }
  }
  ADJOIN_INLINE T AddOne(int64_t i, T sum) const { return Fma(x[i], y[i], sum); }
};

struct WidenedTerms {
  using Type = double;
  const float* x;
  ADJOIN_INLINE void Add(int64_t i, Lanes<double>* sum) const {
    for (int r = 0; r < Lanes<double>::kRegisters; ++r) {
      const float* from = x + i + r * Lanes<double>::kWidthUsed;
      typedef float Half __attribute__((vector_size(kVectorBytes / 2), aligned(4), may_alias));
      const Half half = *reinterpret_cast<const Half*>(from);
      sum->r[r] = sum->r[r] + __builtin_convertvector(half, Vec<double>);
    }
  }
  ADJOIN_INLINE double AddOne(int64_t i, double sum) const { return sum + x[i]; }
};

// The lanes' sums of terms [begin, end).
template <typename Terms>
ADJOIN_INLINE void SumLanes(const Terms& terms, int64_t begin, int64_t end,
                            typename Terms::Type* lane) {
  Lanes<typename Terms::Type> sum;
  sum.Clear();
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) terms.Add(i, &sum);
  sum.Write(lane);
  for (int l = 0; i + l < end; ++l) lane[l] = terms.AddOne(i + l, lane[l]);
}

template <typename Terms>
ADJOIN_INLINE typename Terms::Type SumBlock(const Terms& terms, int64_t begin, int64_t end) {
  typename Terms::Type lane[kLanes];
  SumLanes(terms, begin, end, lane);
  return CombineLanes<Add>(lane);
}

// Sums kGroup whole blocks side by side: one block alone would wait for its own additions.
template <int kGroup, typename Terms>
ADJOIN_INLINE void SumBlocks(const Terms& terms, int64_t begin, typename Terms::Type* sums) {
  using T = typename Terms::Type;
  Lanes<T> sum[kGroup];
  for (int g = 0; g < kGroup; ++g) sum[g].Clear();
  for (int64_t i = begin; i < begin + kBlock; i += kLanes) {
    for (int g = 0; g < kGroup; ++g) terms.Add(i + g * kBlock, &sum[g]);
  }
  for (int g = 0; g < kGroup; ++g) {
    T lane[kLanes];
    sum[g].Write(lane);
    sums[g] = CombineLanes<Add>(lane);
  }
}

template <typename Terms>
ADJOIN_INLINE typename Terms::Type SumOf(const Terms& terms, int64_t n) {
  using T = typename Terms::Type;
  if (n <= kBlock) return SumBlock(terms, 0, n);
  // As many chains as hide the latency of addition and fit the registers.
  constexpr int kGroup = Lanes<T>::kRegisters >= 4 ? 2 : Lanes<T>::kRegisters == 2 ? 4 : 8;
  BlockSums<T> blocks;
  int64_t i = 0;
  for (; i + kGroup * kBlock <= n; i += kGroup * kBlock) {
    T sums[kGroup];
    SumBlocks<kGroup>(terms, i, sums);
    for (int g = 0; g < kGroup; ++g) blocks.Push(sums[g]);
  }
  for (; i < n; i += kBlock) blocks.Push(SumBlock(terms, i, i + kBlock < n ? i + kBlock : n));
  return blocks.Total();
}

// The lanes' extremes. Which of two zeros, or NaNs, wins follows from the lanes and not from the
// register width.
template <typename F, typename T>
ADJOIN_INLINE void ExtremeLanes(const T* x, int64_t n, T* lane) {
  if (n < kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] = x[l < n ? l : 0];
    return;
  }
  Lanes<T> extreme;
  extreme.Read(x);
  int64_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 8
    for (int r = 0; r < Lanes<T>::kRegisters; ++r) {
      extreme.r[r] = F::Apply(extreme.r[r], Load(x + i + r * Lanes<T>::kWidthUsed));
    }
  }
  extreme.Write(lane);
  for (int l = 0; i + l < n; ++l) lane[l] = F::Apply(lane[l], x[i + l]);
}

}  // namespace
}  // namespace adjoin::ADJOIN_ISA
