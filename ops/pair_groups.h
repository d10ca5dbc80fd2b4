// Dense ids for (left id, right id) pairs, in first-seen order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/key_table.h"

namespace adjoin {

// A matrix of ids while it is small, a hash table beyond. Not thread-safe.
class PairGroups {
 public:
  explicit PairGroups(int64_t right_size) : right_size_(right_size) {}
  // ids[i] of the pair (left[i], right[i]), 0 <= right[i] < right_size.
  void FindOrAdd(const int64_t* left, const int64_t* right, int64_t n, int64_t* ids);
  int64_t size() const { return static_cast<int64_t>(left_.size()); }
  // Members of pair `id`.
  const std::vector<int64_t>& left() const { return left_; }
  const std::vector<int64_t>& right() const { return right_; }

 private:
  void UseHashTable();
  int64_t right_size_;
  std::vector<int32_t> matrix_;  // id + 1 at left * right_size + right
  std::unique_ptr<KeyTable> hashed_;
  std::vector<int64_t> left_, right_;
};

}  // namespace adjoin
