// Shared by the kernel tests: seeded data, unaligned storage, and comparison of bits (any NaN
// equals any NaN: which operand's payload survives an addition is the compiler's choice).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/kernel_table.h"

namespace adjoin {

template <typename T>
constexpr TypeId TypeOf() {
  if constexpr (std::is_same_v<T, uint8_t>) return TypeId::kBool;
  if constexpr (std::is_same_v<T, int16_t>) return TypeId::kInt16;
  if constexpr (std::is_same_v<T, int32_t>) return TypeId::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return TypeId::kInt64;
  if constexpr (std::is_same_v<T, float>) return TypeId::kFloat32;
  return TypeId::kFloat64;
}

template <typename T>
bool SameBits(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Sizes that meet every tail of every width.
inline std::vector<int64_t> TestSizes() {
  std::vector<int64_t> sizes;
  for (int64_t n = 0; n <= 70; ++n) sizes.push_back(n);
  sizes.insert(sizes.end(), {127, 128, 129, 1000, 1023, 1024, 1037});
  return sizes;
}

// Values of which many are special or at a limit.
template <typename T>
std::vector<T> TestValues(int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<size_t>(n));
  using Limits = std::numeric_limits<T>;
  for (T& value : values) {
    const uint64_t draw = random();
    if constexpr (std::is_same_v<T, uint8_t>) {
      value = draw % 2;
    } else if constexpr (std::is_integral_v<T>) {
      const T special[] = {0, 1, -1, 2, Limits::min(), Limits::max(), Limits::min() + 1, 7, -7};
      value = draw % 4 == 0 ? special[draw / 4 % 9] : static_cast<T>(draw >> 20);
    } else {
      const T special[] = {T(0),
                           T(-0.0),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::denorm_min(),
                           Limits::max(),
                           Limits::lowest(),
                           T(0.5),
                           T(1.5),
                           T(2.5),
                           T(-0.5),
                           T(1),
                           T(-1)};
      const T plain = static_cast<T>((static_cast<double>(random() >> 11) * 0x1p-52 - 1) *
                                     std::ldexp(1.0, static_cast<int>(draw / 64 % 20) - 8));
      value = draw % 4 == 0 ? special[draw / 4 % 14] : plain;
    }
  }
  return values;
}

// n elements at an address that is a multiple of the element's size alone.
template <typename T>
class Unaligned {
 public:
  explicit Unaligned(const std::vector<T>& values, int64_t offset = 1)
      : storage_(values.size() + 16), offset_(offset) {
    std::copy(values.begin(), values.end(), data());
    // What lies behind the end must stay.
    for (int i = 0; i < 8; ++i) data()[values.size() + i] = T(77);
    size_ = values.size();
  }
  T* data() { return storage_.data() + offset_; }
  bool Intact() {
    for (int i = 0; i < 8; ++i) {
      if (data()[size_ + i] != T(77)) return false;
    }
    return true;
  }

 private:
  std::vector<T> storage_;
  int64_t offset_;
  size_t size_;
};

}  // namespace adjoin
