// Hashes of keys by their values, whatever columns they are from: what rows are cut into parts by.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "engine/column.h"
#include "ops/vector.h"

namespace adjoin {

// Remembers the hashes of a dictionary's strings: worth keeping. One a thread.
class KeyHasher {
 public:
  // Equal keys (NULLs are equal, NaN is one value, -0 is 0) have equal hashes.
  void Hash(std::span<const Vector> keys, int64_t n, uint64_t* hashes);

 private:
  struct Strings {
    std::shared_ptr<const Dictionary> dictionary;
    std::vector<uint64_t> hashes;  // by code; 0: not asked so far
  };
  void FindBits(const Vector& key, int64_t n, Strings& strings);
  std::vector<uint64_t> bits_;
  std::vector<Strings> strings_;  // by key
};

// Hashers that one block leaves to the next. Thread-safe.
class KeyHashers {
 public:
  std::unique_ptr<KeyHasher> Take();
  void Return(std::unique_ptr<KeyHasher> hasher);

 private:
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<KeyHasher>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace adjoin
