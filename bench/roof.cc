#include "bench/roof.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/kernel_table.h"

#define ADJOIN_DECLARE_ROOF(ISA)           \
  namespace ISA {                          \
  void FillRoof(bench::RoofKernels* roof); \
  }

namespace adjoin {
ADJOIN_DECLARE_ROOF(portable)
#if defined(ADJOIN_HAS_X86_VARIANTS)
ADJOIN_DECLARE_ROOF(avx2)
ADJOIN_DECLARE_ROOF(avx512)
#endif

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSearchSeconds = 0.2;  // long enough to find a moment without noise

double Seconds(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Of the instruction set whose kernels are used.
const RoofKernels& Roof() {
  static const RoofKernels roof = [] {
    RoofKernels kernels = {};
    portable::FillRoof(&kernels);
#if defined(ADJOIN_HAS_X86_VARIANTS)
    const std::string_view isa = Kernels().isa;
    if (isa == "avx2") avx2::FillRoof(&kernels);
    if (isa == "avx512") avx512::FillRoof(&kernels);
#endif
    return kernels;
  }();
  return roof;
}

// Keeps what was computed.
void Use(double value) { asm volatile("" : : "x"(value)); }

// The fewest seconds of many calls of `run`.
template <typename Run>
double Fastest(const Run& run) {
  double best = 1e300;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    run();
    best = std::min(best, Seconds(start));
  } while (Seconds(begin) < kSearchSeconds);
  return best;
}

template <typename Pass>
double Bandwidth(int64_t bytes, const Pass& pass) {
  // A cache line's alignment: a load that crosses two lines takes twice as long.
  const std::unique_ptr<double, decltype(&std::free)> buffer(
      static_cast<double*>(std::aligned_alloc(64, static_cast<size_t>(bytes))), &std::free);
  std::fill_n(buffer.get(), bytes / 8, 1.0);
  // Many passes over a small buffer, so that the clock does not count.
  const int64_t passes = std::max<int64_t>(1, (int64_t{1} << 22) / bytes);
  const double seconds = Fastest([&] {
    for (int64_t i = 0; i < passes; ++i) {
      pass(buffer.get(), bytes / 8);
      asm volatile("" : : : "memory");
    }
  });
  return static_cast<double>(passes * bytes) / seconds * 1e-9;
}

template <typename Pass>
double BandwidthOnce(std::map<int64_t, double>& known, int64_t bytes, const Pass& pass) {
  const int64_t rounded =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(bytes, 1024))));
  const auto [at, is_new] = known.try_emplace(rounded, 0);
  if (is_new) at->second = Bandwidth(rounded, pass);
  return at->second;
}

}  // namespace

double FmaPeak(int64_t element_bytes, int threads) {
  const RoofKernels& roof = Roof();
  const bool f32 = element_bytes == 4;
  const auto chains = f32 ? roof.fma_f32 : roof.fma_f64;
  const int64_t flops = f32 ? roof.flops_per_round_f32 : roof.flops_per_round_f64;
  constexpr int64_t kRounds = 20'000;  // less than a millisecond
  // Each thread takes its own best moment while the others run too: they need not have theirs at
  // once, which on a busy machine would hardly happen.
  std::vector<double> rates(static_cast<size_t>(threads));
  {
    std::vector<std::jthread> all;
    all.reserve(rates.size());
    for (double& rate : rates) {
      all.emplace_back([&] {
        rate = static_cast<double>(kRounds * flops) / Fastest([&] { Use(chains(kRounds)); }) * 1e-9;
      });
    }
  }
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

double ReadBandwidth(int64_t bytes) {
  static std::map<int64_t, double> known;
  return BandwidthOnce(known, bytes, [](double* x, int64_t n) { Use(Roof().read(x, n)); });
}

double WriteBandwidth(int64_t bytes) {
  static std::map<int64_t, double> known;
  return BandwidthOnce(known, bytes, [](double* x, int64_t n) { Roof().write(x, n); });
}

}  // namespace bench
}  // namespace adjoin
