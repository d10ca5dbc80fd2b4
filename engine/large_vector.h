// Vectors of what a large step works on.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "engine/large_memory.h"

namespace adjoin {

// Elements start undefined unless a value is given.
template <typename T>
class LargeAllocator {
 public:
  using value_type = T;
  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>&) {}

  T* allocate(size_t n) {
    if (n * sizeof(T) < kLargeBytes) return std::allocator<T>().allocate(n);
    void* data = AllocateLarge(n * sizeof(T));
    if (data == nullptr) std::terminate();  // the machine has none
    return static_cast<T*>(data);
  }
  void deallocate(T* data, size_t n) {
    if (n * sizeof(T) < kLargeBytes) return std::allocator<T>().deallocate(data, n);
    FreeLarge(data, n * sizeof(T));
  }
  template <typename U, typename... Args>
  void construct(U* at, Args&&... args) {
    if constexpr (sizeof...(Args) == 0) {
      ::new (static_cast<void*>(at)) U;
    } else {
      ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
    }
  }
  template <typename U>
  bool operator==(const LargeAllocator<U>&) const {
    return true;
  }
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace adjoin
