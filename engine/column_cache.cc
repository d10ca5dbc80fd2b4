#include "engine/column_cache.h"

#include <algorithm>
#include <utility>

namespace adjoin {
namespace {

std::string KeyOf(std::string_view what, std::span<const ColumnRef> columns) {
  std::string key(what);
  for (const ColumnRef& column : columns) {
    const uint64_t version = column->version();
    key.append(reinterpret_cast<const char*>(&version), sizeof(version));
  }
  return key;
}

}  // namespace

bool ColumnCache::Entry::IsStale() const {
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnRef column = columns[i].lock();
    if (column == nullptr || column->version() != versions[i]) return true;
  }
  return false;
}

ColumnCache::ColumnCache(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {
  budget_->set_reserve(this);
}

ColumnCache::~ColumnCache() { budget_->set_reserve(nullptr); }

std::shared_ptr<const CachedValue> ColumnCache::Find(std::string_view what,
                                                     std::span<const ColumnRef> columns) {
  const std::string key = KeyOf(what, columns);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  found->second.last_use = ++clock_;
  return found->second.value;
}

void ColumnCache::Keep(std::string_view what, std::span<const ColumnRef> columns,
                       std::shared_ptr<const CachedValue> value) {
  std::string key = KeyOf(what, columns);
  Entry entry{value, {columns.begin(), columns.end()}, {}, std::max<int64_t>(value->bytes(), 1), 0};
  for (const ColumnRef& column : columns) entry.versions.push_back(column->version());
  if (entry.bytes > kMostBytes) return;
  Values gone;
  const std::lock_guard<std::mutex> lock(mutex_);
  RemoveStale(gone);
  if (const int64_t over = bytes() + entry.bytes - kMostBytes; over > 0) RemoveUnused(over, gone);
  entry.last_use = ++clock_;
  const int64_t added = entry.bytes;
  if (entries_.try_emplace(std::move(key), std::move(entry)).second) bytes_ += added;
}

void ColumnCache::DropStale() {
  if (bytes() == 0) return;
  Values gone;
  const std::lock_guard<std::mutex> lock(mutex_);
  RemoveStale(gone);
}

int64_t ColumnCache::GiveUp(int64_t bytes) {
  Values gone;
  const std::lock_guard<std::mutex> lock(mutex_);
  return RemoveUnused(bytes, gone);
}

void ColumnCache::Remove(Entries::iterator at, Values& gone) {
  bytes_ -= at->second.bytes;
  gone.push_back(std::move(at->second.value));
  entries_.erase(at);
}

int64_t ColumnCache::RemoveUnused(int64_t bytes, Values& gone) {
  int64_t removed = 0;
  while (removed < bytes) {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      const bool older = oldest == entries_.end() || at->second.last_use < oldest->second.last_use;
      if (at->second.value.use_count() == 1 && older) oldest = at;
    }
    if (oldest == entries_.end()) break;
    removed += oldest->second.bytes;
    Remove(oldest, gone);
  }
  return removed;
}

void ColumnCache::RemoveStale(Values& gone) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    if (at->second.IsStale()) Remove(at, gone);
    at = next;
  }
}

}  // namespace adjoin
