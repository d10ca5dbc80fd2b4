#include "engine/temp_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "engine/file.h"
#include "engine/status.h"

namespace adjoin {
namespace {

// Readable bytes after a buffer's end (engine/buffer.h).
constexpr char kPadding[64] = {};

struct Mapping {
  void* data;
  size_t bytes;
  ~Mapping() { munmap(data, bytes); }
};

}  // namespace

absl::StatusOr<std::unique_ptr<TempFile>> TempFile::Create(const std::string& directory) {
  static std::atomic<int64_t> next{0};
  std::unique_ptr<TempFile> file(new TempFile());
  file->path_ = absl::StrCat(directory, "/adjoin.", getpid(), ".", next.fetch_add(1), ".tmp");
  file->descriptor_ =
      open(file->path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file->descriptor_ < 0) {
    return FileError("could not create temporary file", file->path_, "", errno);
  }
  unlink(file->path_.c_str());
  return file;
}

TempFile::~TempFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status TempFile::Append(const void* data, int64_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(descriptor_, from, static_cast<size_t>(bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("could not write to file", path_, "", errno);
    from += written;
    bytes -= written;
    size_ += written;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Buffer>> TempFile::Map() {
  const int64_t size = size_;
  ADJOIN_RETURN_IF_ERROR(Append(kPadding, sizeof(kPadding)));
  const auto mapped = static_cast<size_t>(size_);
  void* data = mmap(nullptr, mapped, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (data == MAP_FAILED) return FileError("could not map file", path_, "", errno);
  return Buffer::Wrap(data, size, std::make_shared<const Mapping>(data, mapped));
}

absl::StatusOr<void*> MapNewFile(const std::string& directory, size_t bytes) {
  ADJOIN_ASSIGN_OR_RETURN(const std::unique_ptr<TempFile> file, TempFile::Create(directory));
  // A page that the disk has no room for would end the process when it is written.
  const int error = posix_fallocate(file->descriptor_, 0, static_cast<off_t>(bytes));
  if (error != 0) return FileError("could not extend file", file->path_, "", error);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor_, 0);
  if (data == MAP_FAILED) return FileError("could not map file", file->path_, "", errno);
  return data;
}

}  // namespace adjoin
