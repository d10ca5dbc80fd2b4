#include "engine/mapped_memory.h"

#include <sys/mman.h>

#include "engine/temp_file.h"

namespace adjoin {
namespace {

constexpr size_t kLeastBytes = size_t{1} << 18;  // of a file: fewer are as cheap as its pages

}  // namespace

void* MappedMemory::do_allocate(size_t bytes, size_t alignment) {
  if (bytes >= kLeastBytes && status_.ok()) {
    absl::StatusOr<void*> data = MapNewFile(directory_, bytes);
    if (data.ok()) {
      mapped_.emplace(*data, bytes);
      return *data;
    }
    status_ = data.status();
  }
  bytes_ += static_cast<int64_t>(bytes);
  return std::pmr::new_delete_resource()->allocate(bytes, alignment);
}

void MappedMemory::do_deallocate(void* data, size_t bytes, size_t alignment) {
  const auto mapped = mapped_.find(data);
  if (mapped == mapped_.end()) {
    bytes_ -= static_cast<int64_t>(bytes);
    std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
    return;
  }
  munmap(data, mapped->second);
  mapped_.erase(mapped);
}

}  // namespace adjoin
