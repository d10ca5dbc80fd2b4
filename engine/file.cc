#include "engine/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"

namespace adjoin {
namespace {

std::string_view SqlStateOfErrno(int error) {
  switch (error) {
    case ENOENT:
      return sqlstate::kUndefinedFile;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return sqlstate::kDiskFull;
    case EMFILE:
    case ENFILE:
      return sqlstate::kInsufficientResources;
    default:
      return sqlstate::kIoError;
  }
}

// Closes a descriptor where its owner gives up.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

absl::Status FileError(std::string_view before, const std::string& path, std::string_view after,
                       int error) {
  std::string message;
  message.append(before).append(" \"").append(path).append("\"").append(after).append(": ");
  message += std::generic_category().message(error);
  return SqlError(SqlStateOfErrno(error), message);
}

absl::StatusOr<std::unique_ptr<InputFile>> InputFile::Open(const std::string& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info;
  if (file.fd < 0 || fstat(file.fd, &info) != 0) {
    return FileError("could not open file", path, " for reading", errno);
  }
  if (S_ISDIR(info.st_mode)) {
    return SqlError(sqlstate::kWrongObjectType, absl::StrCat("\"", path, "\" is a directory"));
  }
  std::unique_ptr<InputFile> input(new InputFile());
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (mapping == MAP_FAILED) return FileError("could not read file", path, "", errno);
    madvise(mapping, size, MADV_SEQUENTIAL);
    input->mapping_ = mapping;
    input->bytes_ = std::string_view(static_cast<const char*>(mapping), size);
    return input;
  }
  char block[1 << 16];
  for (ssize_t n; (n = read(file.fd, block, sizeof(block))) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("could not read file", path, "", errno);
    input->read_.append(block, static_cast<size_t>(n));
  }
  input->bytes_ = input->read_;
  return input;
}

InputFile::~InputFile() {
  if (mapping_ != nullptr) munmap(mapping_, bytes_.size());
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  std::unique_ptr<OutputFile> output(new OutputFile());
  output->path_ = path;
  output->target_ = path;
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    output->descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    if (char* real = exists ? realpath(path.c_str(), nullptr) : nullptr; real != nullptr) {
      output->target_ = real;
      std::free(real);
    }
    output->temporary_ =
        absl::StrCat(output->target_, ".", getpid(), "-", count.fetch_add(1), ".part");
    output->descriptor_ =
        open(output->temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  if (output->descriptor_ < 0) {
    const int error = errno;
    output->temporary_.clear();
    return FileError("could not open file", path, " for writing", error);
  }
  // The new file stands in for the old one; where that cannot keep its mode, the default is good
  // enough.
  if (exists && !output->temporary_.empty() &&
      fchmod(output->descriptor_, info.st_mode & 07777) != 0) {
    errno = 0;
  }
  return output;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status OutputFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("could not write to file", path_, "", errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  if (close(std::exchange(descriptor_, -1)) != 0) {
    return FileError("could not close file", path_, "", errno);
  }
  if (temporary_.empty()) return absl::OkStatus();
  if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    return FileError("could not rename to file", path_, "", errno);
  }
  temporary_.clear();
  return absl::OkStatus();
}

}  // namespace adjoin
