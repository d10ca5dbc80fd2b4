// The random functions by their definition: threefry-2x32 as jax.random uses it, one word at a
// time.
#pragma once

#include <cstdint>

namespace adjoin::reference {

struct ThreefryWords {
  uint32_t first, second;
};
ThreefryWords Threefry(int64_t key, int64_t counter);

float UniformOf(float low, float high, uint32_t word);
double UniformOf(double low, double high, uint64_t word);
float NormalOf(float scale, uint32_t word);
double NormalOf(double scale, uint64_t word);

}  // namespace adjoin::reference
