// Files as the engine reads and writes them: whole, and never half-written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace adjoin {

// `could not open file "f" for reading: No such file or directory`. 58P01 where there is none,
// 53100 where the disk is full, 53000 where too many are open, 58030 for the rest.
absl::Status FileError(std::string_view before, const std::string& path, std::string_view after,
                       int error);

// The bytes of a file. Regular files are mapped: they must not shrink while this lives. Others
// (pipes) are read.
class InputFile {
 public:
  // Errors: FileError's; 42809 for a directory.
  static absl::StatusOr<std::unique_ptr<InputFile>> Open(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  std::string_view bytes() const { return bytes_; }

 private:
  InputFile() = default;
  std::string_view bytes_;
  std::string read_;  // what was read, where it is not mapped
  void* mapping_ = nullptr;
};

// A file being written under a temporary name beside its own, which it takes on Commit; until then,
// and after an error, what was there before stays. What exists and is no regular file (a device, a
// pipe) is written directly.
class OutputFile {
 public:
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path);
  ~OutputFile();  // without Commit: removes the temporary file
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  absl::Status Write(std::string_view bytes);
  absl::Status Commit();

 private:
  OutputFile() = default;
  std::string path_;       // as the caller named it
  std::string target_;     // where links lead
  std::string temporary_;  // empty: `path_` is written directly
  int descriptor_ = -1;
};

}  // namespace adjoin
