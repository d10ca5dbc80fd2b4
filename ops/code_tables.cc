#include "ops/code_tables.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "engine/text.h"

namespace adjoin {
namespace {

uint32_t HashText(std::string_view text) {
  const size_t hash = absl::Hash<absl::string_view>{}(absl::string_view(text.data(), text.size()));
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

std::pair<uint64_t, int64_t> SpanOf(Interval value) {
  const __int128 span = value.span();
  return {static_cast<uint64_t>(span), static_cast<int64_t>(span >> 64)};
}

}  // namespace

void Rehash(LargeVector<uint64_t>& slots, size_t size) {
  LargeVector<uint64_t> old(size, 0);
  old.swap(slots);
  const size_t mask = size - 1;
  for (uint64_t slot : old) {
    if (slot == 0) continue;
    size_t i = (slot >> 32) & mask;
    while (slots[i] != 0) i = (i + 1) & mask;
    slots[i] = slot;
  }
}

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
    entries_.push_back(borrows_ ? text : arena_.Copy(text));
    slot = uint64_t{hash} << 32 | entries_.size();
  }
  recent = {text.data(), static_cast<int32_t>(static_cast<uint32_t>(slot)) - 1};
  return recent.code;
}

void TextTable::Grow() { Rehash(slots_, std::max<size_t>(64, slots_.size() * 2)); }

int32_t IntervalTable::Find(Interval value) const {
  const auto found = codes_.find(SpanOf(value));
  return found == codes_.end() ? -1 : found->second;
}

int32_t IntervalTable::FindOrAdd(Interval value) {
  const auto [at, added] = codes_.emplace(SpanOf(value), static_cast<int32_t>(entries_.size()));
  if (added) entries_.push_back(value);
  return at->second;
}

int32_t DecimalTable::Find(Decimal value) const {
  auto found = codes_.find({value.low, value.high});
  if (found != codes_.end()) return found->second;
  const Decimal shared = Normalized(value);
  found = codes_.find({shared.low, shared.high});
  return found == codes_.end() ? -1 : found->second;
}

int32_t DecimalTable::FindOrAdd(Decimal value) {
  if (const auto found = codes_.find({value.low, value.high}); found != codes_.end())
    return found->second;
  const Decimal shared = Normalized(value);
  const auto [at, added] =
      codes_.emplace(Bits{shared.low, shared.high}, static_cast<int32_t>(entries_.size()));
  const int32_t code = at->second;
  if (added) entries_.push_back(value);
  codes_.emplace(Bits{value.low, value.high}, code);
  return code;
}

}  // namespace adjoin
