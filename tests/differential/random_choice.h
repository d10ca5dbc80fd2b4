// Seeded choices of the generators.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace adjoin {

class RandomChoice {
 public:
  explicit RandomChoice(uint64_t seed) : engine_(seed) {}

  int Below(int n) { return static_cast<int>(engine_() % static_cast<uint64_t>(n)); }
  int Between(int low, int high) { return low + Below(high - low + 1); }
  bool Chance(int percent) { return Below(100) < percent; }
  template <typename T>
  const T& Of(const std::vector<T>& items) {
    return items[static_cast<size_t>(Below(static_cast<int>(items.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace adjoin
