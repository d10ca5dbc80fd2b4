// Operands of the kernels' benchmarks and workloads.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace adjoin::bench {

// Uniform over [low, high); the same for a seed.
template <typename T>
std::vector<T> RandomValues(int64_t n, uint64_t seed, double low = -1, double high = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = static_cast<T>(uniform(random));
  return values;
}

}  // namespace adjoin::bench
