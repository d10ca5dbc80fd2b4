// The loops whose speed is a roof: independent chains of FMAs, and vector loads and stores.
#include "bench/roof.h"

#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

// An FMA takes four or five cycles and two start in each: twelve chains keep both units busy, and
// with the two factors they fit into 16 registers.
constexpr int kChains = 12;
constexpr int kUnroll = 8;

template <typename T>
double FmaChains(int64_t rounds) {
  Vec<T> chain[kChains];
  for (int c = 0; c < kChains; ++c) chain[c] = Broadcast(static_cast<T>(c));
  Vec<T> factor = Broadcast(T(0.5)), term = Broadcast(T(1));
  // The compiler must not know the numbers: it would compute the chains itself.
  asm volatile("" : "+m"(factor), "+m"(term));
  const Vec<T> f = factor, t = term;
  for (int64_t r = 0; r < rounds; ++r) {
    for (int u = 0; u < kUnroll; ++u) {
      for (int c = 0; c < kChains; ++c) chain[c] = Fma(chain[c], f, t);
    }
  }
  Vec<T> sum = chain[0];
  for (int c = 1; c < kChains; ++c) sum += chain[c];
  return static_cast<double>(sum[0]);
}

double Read(const double* x, int64_t n) {
  constexpr int kSums = 8;
  constexpr int64_t kStep = kSums * kWidth<double>;
  Vec<double> sum[kSums] = {};
  for (int64_t i = 0; i + kStep <= n; i += kStep) {
    for (int s = 0; s < kSums; ++s) sum[s] += Load(x + i + s * kWidth<double>);
  }
  for (int s = 1; s < kSums; ++s) sum[0] += sum[s];
  return sum[0][0];
}

void Write(double* x, int64_t n) {
  const Vec<double> one = Broadcast(1.0);
  for (int64_t i = 0; i + 64 <= n; i += 64) {
    for (int64_t s = 0; s < 64; s += kWidth<double>) Store(one, x + i + s);
  }
}

}  // namespace

void FillRoof(bench::RoofKernels* roof) {
  constexpr int64_t kFmas = int64_t{kChains} * kUnroll;
  *roof = {FmaChains<float>,
           FmaChains<double>,
           2 * kFmas * kWidth<float>,
           2 * kFmas * kWidth<double>,
           Read,
           Write};
}

}  // namespace adjoin::ADJOIN_ISA
