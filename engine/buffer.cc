#include "engine/buffer.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/large_memory.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kPadding = 64;

// Padding is charged: many small buffers count what they take.
int64_t AllocatedBytes(int64_t bytes) {
  return (bytes + kPadding + kAlignment - 1) / kAlignment * kAlignment;
}

bool IsLarge(int64_t allocated) { return allocated >= static_cast<int64_t>(kLargeBytes); }

absl::Status OutOfMemory(int64_t bytes, std::string_view why) {
  return SqlErrorWithDetail(
      sqlstate::kOutOfMemory, "out of memory",
      absl::StrCat("Failed on request of ", bytes, " bytes", ToAbsl(why), "."));
}

}  // namespace

absl::Status MemoryBudget::Charge(int64_t bytes) {
  if (whole_ != nullptr) {
    ADJOIN_RETURN_IF_ERROR(whole_->Charge(bytes));
    NotePeak(used_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
    return absl::OkStatus();
  }
  const int64_t most = limit();
  int64_t before = used();
  do {
    Reserve* const reserve = reserve_.load(std::memory_order_acquire);
    while (bytes > most - before && reserve != nullptr &&
           reserve->GiveUp(bytes - (most - before)) > 0) {
      before = used();
    }
    if (bytes > most - before) {
      return OutOfMemory(bytes, absl::StrCat(": ", before, " of ", most, " bytes are in use"));
    }
  } while (!used_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  NotePeak(before + bytes);
  return absl::OkStatus();
}

int64_t MemoryBudget::available() const {
  if (whole_ != nullptr) return whole_->available();
  const Reserve* const reserve = reserve_.load(std::memory_order_acquire);
  return limit() - used() + (reserve == nullptr ? 0 : reserve->bytes());
}

void MemoryBudget::ChargeAnyway(int64_t bytes) {
  if (whole_ != nullptr) whole_->ChargeAnyway(bytes);
  NotePeak(used_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

void MemoryBudget::NotePeak(int64_t used) {
  int64_t highest = peak();
  while (highest < used && !peak_.compare_exchange_weak(highest, used, std::memory_order_relaxed)) {
  }
}

void MemoryBudget::Release(int64_t bytes) {
  if (whole_ != nullptr) whole_->Release(bytes);
  used_.fetch_sub(bytes, std::memory_order_relaxed);
}

absl::StatusOr<std::shared_ptr<Buffer>> Buffer::Allocate(int64_t bytes,
                                                         std::shared_ptr<MemoryBudget> budget) {
  ADJOIN_DCHECK(bytes >= 0);
  if (bytes > INT64_MAX - 2 * kPadding) return OutOfMemory(bytes, "");
  ADJOIN_RETURN_IF_ERROR(budget->Charge(AllocatedBytes(bytes)));
  std::shared_ptr<Buffer> buffer = AllocateCharged(bytes, std::move(budget));
  if (buffer == nullptr) return OutOfMemory(bytes, "");
  return buffer;
}

std::shared_ptr<Buffer> Buffer::AllocateAnyway(int64_t bytes,
                                               std::shared_ptr<MemoryBudget> budget) {
  budget->ChargeAnyway(AllocatedBytes(bytes));
  std::shared_ptr<Buffer> buffer = AllocateCharged(bytes, std::move(budget));
  if (buffer == nullptr) std::terminate();
  return buffer;
}

std::shared_ptr<Buffer> Buffer::AllocateCharged(int64_t bytes,
                                                std::shared_ptr<MemoryBudget> budget) {
  const int64_t allocated = AllocatedBytes(bytes);
  const auto whole = static_cast<size_t>(allocated);
  void* data = IsLarge(allocated) ? AllocateLarge(whole) : std::aligned_alloc(kAlignment, whole);
  if (data == nullptr) {
    budget->Release(allocated);
    return nullptr;
  }
  std::memset(static_cast<char*>(data) + bytes, 0, static_cast<size_t>(allocated - bytes));
  std::shared_ptr<Buffer> buffer(new Buffer());
  buffer->data_ = data;
  buffer->size_ = bytes;
  buffer->budget_ = std::move(budget);
  return buffer;
}

std::shared_ptr<const Buffer> Buffer::Wrap(const void* data, int64_t bytes,
                                           std::shared_ptr<const void> owner) {
  std::shared_ptr<Buffer> buffer(new Buffer());
  buffer->data_ = const_cast<void*>(data);
  buffer->size_ = bytes;
  buffer->owner_ = std::move(owner);
  return buffer;
}

Buffer::~Buffer() {
  if (budget_ == nullptr) return;
  const int64_t allocated = AllocatedBytes(size_);
  IsLarge(allocated) ? FreeLarge(data_, static_cast<size_t>(allocated)) : std::free(data_);
  budget_->Release(allocated);
}

}  // namespace adjoin
