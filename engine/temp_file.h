// Files for what memory has no room for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/buffer.h"

namespace adjoin {

// Written from start to end, then read in place. It has no name from the start, so that nothing is
// left of it however the process ends. Not thread-safe.
class TempFile {
 public:
  // Errors: FileError's, as those of the rest.
  static absl::StatusOr<std::unique_ptr<TempFile>> Create(const std::string& directory);
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  absl::Status Append(const void* data, int64_t bytes);
  int64_t size() const { return size_; }
  // What was written, mapped: pages of the file, which the system may drop and read again, so that
  // no budget counts them. The file's storage lives as long as the buffer. REQUIRES: the last call.
  absl::StatusOr<std::shared_ptr<const Buffer>> Map();

 private:
  friend absl::StatusOr<void*> MapNewFile(const std::string& directory, size_t bytes);
  TempFile() = default;
  std::string path_;  // that it had
  int descriptor_ = -1;
  int64_t size_ = 0;
};

// Zeros of a new file, mapped, to be written and read; its storage, which the disk has room for,
// lives until munmap. Errors: as above.
absl::StatusOr<void*> MapNewFile(const std::string& directory, size_t bytes);

}  // namespace adjoin
