// Scratch memory that is handed out in order and taken back all at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/large_vector.h"

namespace adjoin {

// Memory of one batch. Reset keeps the chunks, so a warm arena never allocates. Not thread-safe.
class BatchArena {
 public:
  BatchArena() = default;
  BatchArena(const BatchArena&) = delete;
  BatchArena& operator=(const BatchArena&) = delete;

  // 64-byte-aligned memory with undefined contents, valid until Reset.
  void* Allocate(int64_t bytes) {
    bytes = (bytes + 63) & ~int64_t{63};
    while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].size) NextChunk();
    if (chunk_ == chunks_.size()) AddChunk(bytes);
    std::byte* result = chunks_[chunk_].begin + used_;
    used_ += bytes;
    return result;
  }
  template <typename T>
  T* Make(int64_t n) {
    return static_cast<T*>(Allocate(n * static_cast<int64_t>(sizeof(T))));
  }
  std::string_view Copy(std::string_view text) {
    if (text.empty()) return {};
    char* copy = Make<char>(static_cast<int64_t>(text.size()));
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }
  void Reset() { chunk_ = 0, used_ = 0; }

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    std::byte* begin;
    int64_t size;
  };
  void NextChunk() { ++chunk_, used_ = 0; }
  void AddChunk(int64_t bytes) {
    const int64_t size = bytes > kChunkBytes ? bytes : kChunkBytes;
    Chunk chunk;
    chunk.memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(size + 64));
    const auto address = reinterpret_cast<uintptr_t>(chunk.memory.get());
    chunk.begin = chunk.memory.get() + ((64 - address % 64) % 64);
    chunk.size = size;
    chunks_.push_back(std::move(chunk));
    used_ = 0;
  }
  static constexpr int64_t kChunkBytes = 64 << 10;
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;
  int64_t used_ = 0;
};

// Strings kept until the arena dies, packed without padding. Not thread-safe.
class TextArena {
 public:
  TextArena() = default;
  // In chunks of `memory`.
  explicit TextArena(std::pmr::memory_resource* memory) : memory_(memory) {}
  TextArena(TextArena&&) = default;
  TextArena& operator=(TextArena&&) = default;
  std::string_view Copy(std::string_view text) {
    if (text.empty()) return {};
    char* copy = Allocate(text.size());
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }
  // Undefined letters.
  char* Allocate(size_t bytes) {
    if (bytes > left_) Grow(bytes);
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }
  int64_t bytes() const { return bytes_; }

 private:
  void Grow(size_t bytes) {
    left_ = bytes > size_ ? bytes : size_;
    if (size_ < (size_t{1} << 20)) size_ *= 2;
    chunks_.emplace_back(left_, LargeAllocator<char>(memory_));
    next_ = chunks_.back().data();
    bytes_ += static_cast<int64_t>(left_);
  }
  std::pmr::memory_resource* memory_ = nullptr;
  std::vector<LargeVector<char>> chunks_;
  size_t size_ = 1024;
  int64_t bytes_ = 0;
  char* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace adjoin
