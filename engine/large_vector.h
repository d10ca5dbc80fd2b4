// Vectors of what a large step works on.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace adjoin {

// Elements start undefined unless a value is given. What malloc would ask the system for each time
// (glibc: from 32 MiB on) is of huge pages, which are touched first at several times the speed of
// small ones; smaller memory is malloc's, which has it from the last run: in huge pages of its own
// AVG OVER (PARTITION BY ...) of 1e6 rows took 15 ms and not 11.
template <typename T>
class LargeAllocator {
 public:
  using value_type = T;
  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>&) {}

  T* allocate(size_t n) {
    const size_t bytes = n * sizeof(T);
    if (bytes < kLarge) return std::allocator<T>().allocate(n);
    const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* data = ::operator new (whole, std::align_val_t{kHugePage});
    madvise(data, whole, MADV_HUGEPAGE);  // advice
    return static_cast<T*>(data);
  }
  void deallocate(T* data, size_t n) {
    if (n * sizeof(T) < kLarge) return std::allocator<T>().deallocate(data, n);
    ::operator delete (data, std::align_val_t{kHugePage});
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

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
  static constexpr size_t kLarge = size_t{32} << 20;
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace adjoin
