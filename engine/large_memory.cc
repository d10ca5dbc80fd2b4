#include "engine/large_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace adjoin {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t MostKept() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;  // so that what is used after it was freed is seen
#else
  static const size_t most = static_cast<size_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) / 16 *
                             static_cast<size_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  return most;
#endif
}

// Whole huge pages, four sizes a doubling: blocks fit those who ask next, and a quarter is left
// over at most, which is not touched.
size_t BlockBytes(size_t bytes) {
  const size_t step = std::max(kHugePage, std::bit_floor(bytes - 1) / 4);
  return (bytes + step - 1) / step * step;
}

class Kept {
 public:
  void* Take(size_t bytes) {
    std::lock_guard lock(mutex_);
    for (size_t i = blocks_.size(); i-- > 0;) {
      if (blocks_[i].bytes != bytes) continue;
      void* data = blocks_[i].data;
      blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(i));
      bytes_ -= bytes;
      return data;
    }
    return nullptr;
  }
  void Keep(void* data, size_t bytes) {
    const size_t most = MostKept();
    if (bytes > most) return std::free(data);
    std::vector<Block> oldest;  // they go where these have no room
    {
      std::lock_guard lock(mutex_);
      size_t n = 0;
      while (bytes_ + bytes > most) bytes_ -= blocks_[n++].bytes;
      oldest.assign(blocks_.begin(), blocks_.begin() + static_cast<ptrdiff_t>(n));
      blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<ptrdiff_t>(n));
      blocks_.push_back({data, bytes});
      bytes_ += bytes;
    }
    for (const Block& block : oldest) std::free(block.data);
  }
  void Release() {
    std::vector<Block> all;
    {
      std::lock_guard lock(mutex_);
      all.swap(blocks_);
      bytes_ = 0;
    }
    for (const Block& block : all) std::free(block.data);
  }

 private:
  struct Block {
    void* data;
    size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Block> blocks_;  // in the order in which they came
  size_t bytes_ = 0;
};

Kept& TheKept() {
  static Kept& kept = *new Kept();  // outlives all that frees into it
  return kept;
}

}  // namespace

void* AllocateLarge(size_t bytes) {
  const size_t whole = BlockBytes(bytes);
  if (void* kept = TheKept().Take(whole)) return kept;
  void* data = std::aligned_alloc(kHugePage, whole);
  if (data != nullptr) madvise(data, whole, MADV_HUGEPAGE);  // advice
  return data;
}

void FreeLarge(void* data, size_t bytes) { TheKept().Keep(data, BlockBytes(bytes)); }

void ReleaseLarge() { TheKept().Release(); }

}  // namespace adjoin
