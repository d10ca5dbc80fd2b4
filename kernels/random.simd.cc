// Threefry-2x32 with 20 rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011),
// and uniform and normal numbers of its words, with the bits that jax.random draws.
#include "kernels/inverse_error_function.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

// Two registers of keys and counters, or of results, side by side: a round waits for the one
// before, so that one register alone takes 3.3 ns a word instead of 2.3 (AVX2).
constexpr int kRegisters = 2;
constexpr int kBlockWords = kRegisters * kWidth<uint32_t>;
struct Words {
  Vec<uint32_t> high[kRegisters], low[kRegisters];
};

template <int kBits>
ADJOIN_INLINE void Round(Words* w) {
  for (int r = 0; r < kRegisters; ++r) {
    w->high[r] += w->low[r];
    w->low[r] = (w->low[r] << kBits | w->low[r] >> (32 - kBits)) ^ w->high[r];
  }
}

template <int kA, int kB, int kC, int kD>
ADJOIN_INLINE void FourRounds(Words* w) {
  Round<kA>(w);
  Round<kB>(w);
  Round<kC>(w);
  Round<kD>(w);
}

// Adds two of a key's three words and the number of the addition.
ADJOIN_INLINE void AddKey(const Vec<uint32_t>* high, const Vec<uint32_t>* low, uint32_t number,
                          Words* w) {
  for (int r = 0; r < kRegisters; ++r) {
    w->high[r] += high[r];
    w->low[r] += low[r] + number;
  }
}

ADJOIN_INLINE void Threefry(const Words& key, Words* w) {
  Vec<uint32_t> third[kRegisters];
  for (int r = 0; r < kRegisters; ++r) third[r] = key.high[r] ^ key.low[r] ^ 0x1BD11BDA;
  AddKey(key.high, key.low, 0, w);
  FourRounds<13, 15, 26, 6>(w);
  AddKey(key.low, third, 1, w);
  FourRounds<17, 29, 16, 24>(w);
  AddKey(third, key.high, 2, w);
  FourRounds<13, 15, 26, 6>(w);
  AddKey(key.high, key.low, 3, w);
  FourRounds<17, 29, 16, 24>(w);
  AddKey(key.low, third, 4, w);
  FourRounds<13, 15, 26, 6>(w);
  AddKey(third, key.high, 5, w);
}

// Keys and counters are their high word, then their low one.
ADJOIN_INLINE void LoadWords(const int64_t* x, Words* w) {
  alignas(64) uint32_t high[kBlockWords], low[kBlockWords];
  for (int i = 0; i < kBlockWords; ++i) {
    high[i] = static_cast<uint32_t>(static_cast<uint64_t>(x[i]) >> 32);
    low[i] = static_cast<uint32_t>(x[i]);
  }
  for (int r = 0; r < kRegisters; ++r) {
    w->high[r] = Load(high + r * kWidth<uint32_t>);
    w->low[r] = Load(low + r * kWidth<uint32_t>);
  }
}

// The 64-bit word, or its halves' 32 bits.
struct Whole {
  static ADJOIN_INLINE int64_t Of(uint32_t high, uint32_t low) {
    return static_cast<int64_t>(static_cast<uint64_t>(high) << 32 | low);
  }
};
struct Folded {
  static ADJOIN_INLINE int64_t Of(uint32_t high, uint32_t low) { return high ^ low; }
};

template <typename F>
ADJOIN_INLINE void DrawBlock(const int64_t* key, const int64_t* counter, int64_t* out) {
  Words keys, words;
  LoadWords(key, &keys);
  LoadWords(counter, &words);
  Threefry(keys, &words);
  alignas(64) uint32_t high[kBlockWords], low[kBlockWords];
  for (int r = 0; r < kRegisters; ++r) {
    Store<uint32_t>(words.high[r], high + r * kWidth<uint32_t>);
    Store<uint32_t>(words.low[r], low + r * kWidth<uint32_t>);
  }
  for (int i = 0; i < kBlockWords; ++i) out[i] = F::Of(high[i], low[i]);
}

template <typename F>
ScalarError DrawMap(const void* const* args, const uint8_t*, void* out, int64_t n) {
  const int64_t* key = static_cast<const int64_t*>(args[0]);
  const int64_t* counter = static_cast<const int64_t*>(args[1]);
  int64_t* r = static_cast<int64_t*>(out);
  int64_t i = 0;
  for (; i + kBlockWords <= n; i += kBlockWords) DrawBlock<F>(key + i, counter + i, r + i);
  if (i == n) return ScalarError::kNone;
  int64_t keys[kBlockWords] = {}, counters[kBlockWords] = {}, words[kBlockWords];
  for (int64_t j = i; j < n; ++j) {
    keys[j - i] = key[j];
    counters[j - i] = counter[j];
  }
  DrawBlock<F>(keys, counters, words);
  for (int64_t j = i; j < n; ++j) r[j] = words[j - i];
  return ScalarError::kNone;
}

// In [0, 1): 23 bits of a 32-bit word, 52 of one of 64.
template <typename T>
ADJOIN_INLINE T UnitOf(int64_t word);
template <>
ADJOIN_INLINE float UnitOf<float>(int64_t word) {
  return FromBits(static_cast<uint32_t>(word) >> 9 | 0x3F800000u) - 1;
}
template <>
ADJOIN_INLINE double UnitOf<double>(int64_t word) {
  return FromBits(static_cast<uint64_t>(word) >> 12 | 0x3FF0000000000000u) - 1;
}

template <typename T>
ScalarError UniformMap(const void* const* args, const uint8_t*, void* out, int64_t n) {
  const T* low = static_cast<const T*>(args[0]);
  const T* high = static_cast<const T*>(args[1]);
  const int64_t* word = static_cast<const int64_t*>(args[2]);
  T* r = static_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T value = Fma(UnitOf<T>(word[i]), high[i] - low[i], low[i]);
    r[i] = value < low[i] ? low[i] : value;
  }
  return ScalarError::kNone;
}

// In (-1, 1): of [0, 1) from the number next to -1 on.
template <typename T>
ADJOIN_INLINE T SignedUnitOf(int64_t word) {
  constexpr T kLow = sizeof(T) == 8 ? T(-0x1.fffffffffffffp-1) : T(-0x1.fffffep-1);
  return Fma(UnitOf<T>(word), T(2), kLow);
}

// (u * P) * (sqrt(2) * scale), as a compiled JAX program multiplies.
template <typename T>
inline constexpr T kSqrt2 = sizeof(T) == 8 ? T(0x1.6a09e667f3bcdp0) : T(0x1.6a09e6p0);

ScalarError NormalMapF32(const void* const* args, const uint8_t*, void* out, int64_t n) {
  const float* scale = static_cast<const float*>(args[0]);
  const int64_t* word = static_cast<const int64_t*>(args[1]);
  float* r = static_cast<float*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    r[i] = ErfInverse(SignedUnitOf<float>(word[i])) * (kSqrt2<float> * scale[i]);
  }
  return ScalarError::kNone;
}

// By blocks, as lanes far from 0 need the C library's logarithm, and a thousandth of them another
// polynomial.
ScalarError NormalMapF64(const void* const* args, const uint8_t*, void* out, int64_t n) {
  constexpr int64_t kBlock = 64;
  const double* scale = static_cast<const double*>(args[0]);
  const int64_t* word = static_cast<const int64_t*>(args[1]);
  double* r = static_cast<double*>(out);
  double u[kBlock], x[kBlock], log[kBlock], y[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = n - begin < kBlock ? n - begin : kBlock;
    for (int64_t i = 0; i < count; ++i) {
      u[i] = SignedUnitOf<double>(word[begin + i]);
      x[i] = u[i] * -u[i];
      log[i] = Log1pNearZero(x[i]);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (x[i] <= -kLog1pLimit<double>) log[i] = __builtin_log(x[i] + 1);
    }
    for (int64_t i = 0; i < count; ++i) y[i] = ErfInverseCentre(u[i], log[i]);
    for (int64_t i = 0; i < count; ++i) {
      if (log[i] <= kCentreLimit<double>) y[i] = ErfInverseTail(u[i], log[i]);
    }
    for (int64_t i = 0; i < count; ++i) {
      r[begin + i] = y[i] * (kSqrt2<double> * scale[begin + i]);
    }
  }
  return ScalarError::kNone;
}

}  // namespace

void FillRandom(KernelTable* table) {
  const auto set = [&](ScalarOp op, TypeId type, ScalarKernel kernel) {
    table->scalar[static_cast<int>(op)][static_cast<int>(type)] = kernel;
  };
  set(ScalarOp::kRandomSplit, TypeId::kInt64, DrawMap<Whole>);
  set(ScalarOp::kRandomBits, TypeId::kInt64, DrawMap<Folded>);
  set(ScalarOp::kRandomUniform, TypeId::kFloat32, UniformMap<float>);
  set(ScalarOp::kRandomUniform, TypeId::kFloat64, UniformMap<double>);
  set(ScalarOp::kRandomNormal, TypeId::kFloat32, NormalMapF32);
  set(ScalarOp::kRandomNormal, TypeId::kFloat64, NormalMapF64);
}

}  // namespace adjoin::ADJOIN_ISA
