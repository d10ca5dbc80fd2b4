// The clock of the benchmarks.
#pragma once

#include <chrono>

namespace adjoin::bench {

using Clock = std::chrono::steady_clock;

inline double Milliseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace adjoin::bench
