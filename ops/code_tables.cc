#include "ops/code_tables.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace adjoin {
namespace {

uint32_t HashText(std::string_view text) {
  const size_t hash = absl::Hash<absl::string_view>{}(absl::string_view(text.data(), text.size()));
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

size_t TextTable::Slot(std::string_view text, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const uint64_t slot = slots_[i];
    if (slot == 0) return i;
    if (static_cast<uint32_t>(slot >> 32) == hash &&
        entries_[static_cast<uint32_t>(slot) - 1] == text)
      return i;
  }
}

int32_t TextTable::Find(std::string_view text) const {
  if (slots_.empty()) return -1;
  return static_cast<int32_t>(static_cast<uint32_t>(slots_[Slot(text, HashText(text))])) - 1;
}

int32_t TextTable::FindOrAdd(std::string_view text) {
  if (recent_.empty()) recent_.resize(1024);
  Recent& recent = recent_[(reinterpret_cast<uintptr_t>(text.data()) * 0x9E3779B97F4A7C15u) >> 54];
  if (recent.code >= 0 && recent.text == text.data() && at(recent.code) == text) return recent.code;
  if (entries_.size() * 2 >= slots_.size()) Grow();
  const uint32_t hash = HashText(text);
  uint64_t& slot = slots_[Slot(text, hash)];
  if (slot == 0) {
    entries_.push_back(arena_.Copy(text));
    slot = uint64_t{hash} << 32 | entries_.size();
  }
  recent = {text.data(), static_cast<int32_t>(static_cast<uint32_t>(slot)) - 1};
  return recent.code;
}

void TextTable::Grow() {
  std::vector<uint64_t> old(std::max<size_t>(64, slots_.size() * 2), 0);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (uint64_t slot : old) {
    if (slot == 0) continue;
    size_t i = (slot >> 32) & mask;
    while (slots_[i] != 0) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

}  // namespace adjoin
