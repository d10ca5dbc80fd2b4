// Memory that lies in files: what a step works on where no budget has room for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"

namespace adjoin {

// Each large piece is a mapped file without a name, of which the system keeps in memory what it has
// room for; small pieces are memory. Not thread-safe. Where no file could be had, a piece is memory
// as well, and status() says so: what was done with it must be thrown away.
class MappedMemory final : public std::pmr::memory_resource {
 public:
  explicit MappedMemory(std::string directory) : directory_(std::move(directory)) {}
  // Errors: FileError's.
  const absl::Status& status() const { return status_; }
  int64_t bytes() const { return bytes_; }  // of small pieces, which are memory

 private:
  void* do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void* data, size_t bytes, size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  const std::string directory_;
  std::unordered_map<void*, size_t> mapped_;  // bytes by piece
  int64_t bytes_ = 0;
  absl::Status status_;
};

}  // namespace adjoin
