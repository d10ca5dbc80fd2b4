// What this machine can do at most, measured: the roofs that benchmarks compare themselves with.
#pragma once

#include <cstdint>

namespace adjoin::bench {

// Loops of one instruction set that do nothing but one thing, in bench/roof.simd.cc.
struct RoofKernels {
  double (*fma_f32)(int64_t rounds);  // flops_per_round_f32 a round; returns any number
  double (*fma_f64)(int64_t rounds);
  int64_t flops_per_round_f32, flops_per_round_f64;
  double (*read)(const double* x, int64_t n);  // n: a multiple of 64
  void (*write)(double* x, int64_t n);
};

// GFLOP/s of fused multiply-adds on `threads` threads at once: the best of several tries.
double FmaPeak(int64_t element_bytes, int threads);

// GB/s of a single thread that only reads, or only writes, a buffer of `bytes`: the best of several
// tries. Measured once for each power of two.
double ReadBandwidth(int64_t bytes);
double WriteBandwidth(int64_t bytes);

}  // namespace adjoin::bench
