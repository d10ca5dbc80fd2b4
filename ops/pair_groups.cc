#include "ops/pair_groups.h"

#include <algorithm>

namespace adjoin {
namespace {

constexpr int64_t kMatrixCells = int64_t{1} << 22;  // 16 MiB of ids

}  // namespace

void PairGroups::UseHashTable() {
  hashed_ = std::make_unique<KeyTable>(std::vector<TypeId>{TypeId::kInt64, TypeId::kInt64});
  std::vector<int64_t> ids(left_.size());
  const Vector keys[2] = {{TypeId::kInt64, left_.data(), nullptr},
                          {TypeId::kInt64, right_.data(), nullptr}};
  if (!left_.empty())
    hashed_->FindOrAdd(keys, size(), ids.data());  // the same ids again: they come in order
  matrix_ = {};
}

void PairGroups::FindOrAdd(const int64_t* left, const int64_t* right, int64_t n, int64_t* ids) {
  if (n == 0) return;
  if (hashed_ == nullptr) {
    const int64_t rows = *std::max_element(left, left + n) + 1;
    if (rows > kMatrixCells / std::max<int64_t>(1, right_size_)) {
      UseHashTable();
    } else if (rows * right_size_ > static_cast<int64_t>(matrix_.size())) {
      matrix_.resize(static_cast<size_t>(rows * right_size_));
    }
  }
  if (hashed_ != nullptr) {
    const Vector keys[2] = {{TypeId::kInt64, left, nullptr}, {TypeId::kInt64, right, nullptr}};
    hashed_->FindOrAdd(keys, n, ids);
    for (int64_t i = 0; i < n; ++i) {
      if (ids[i] == size()) left_.push_back(left[i]), right_.push_back(right[i]);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    int32_t& id = matrix_[left[i] * right_size_ + right[i]];
    if (id == 0) {
      left_.push_back(left[i]), right_.push_back(right[i]);
      id = static_cast<int32_t>(left_.size());
    }
    ids[i] = id - 1;
  }
}

}  // namespace adjoin
