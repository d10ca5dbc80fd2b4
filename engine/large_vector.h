// Vectors of what a large step works on.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/large_memory.h"

namespace adjoin {

// Elements start undefined unless a value is given.
template <typename T>
class LargeAllocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  LargeAllocator() = default;
  // Takes all from `memory`, whatever its size; null: as the default.
  explicit LargeAllocator(std::pmr::memory_resource* memory) : memory_(memory) {}
  template <typename U>
  LargeAllocator(const LargeAllocator<U>& other) : memory_(other.memory()) {}
  std::pmr::memory_resource* memory() const { return memory_; }

  T* allocate(size_t n) {
    if (memory_ != nullptr) return static_cast<T*>(memory_->allocate(n * sizeof(T), alignof(T)));
    if (n * sizeof(T) < kLargeBytes) return std::allocator<T>().allocate(n);
    void* data = AllocateLarge(n * sizeof(T));
    if (data == nullptr) std::terminate();  // the machine has none
    return static_cast<T*>(data);
  }
  void deallocate(T* data, size_t n) {
    if (memory_ != nullptr) return memory_->deallocate(data, n * sizeof(T), alignof(T));
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
  bool operator==(const LargeAllocator<U>& other) const {
    return memory_ == other.memory();
  }

 private:
  std::pmr::memory_resource* memory_ = nullptr;
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace adjoin
