// Folds of window frames: sums and extremes of ranges of a partition, from the rows in the range
// alone.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <utility>
#include <vector>

namespace adjoin {

// Answers Fold(begin, end) over a fixed list of items with an associative `Combine` (floats: nearly
// so). A range is folded from its own items only, never by taking away from a larger one: a range
// that starts at 0 reads a running fold from the left, one that ends at the end a running fold from
// the right, a short one is folded item by item, one of `fixed` items is the end of one block of as
// many and the start of the next (van Herk 1992), others by a tree. Lists are made on first use.
// Equal ranges give equal bits.
template <typename Item, typename Combine>
class RangeFold {
 public:
  // Shorter ranges are folded item by item, which costs less than a walk through the tree.
  static constexpr int64_t kShort = 32;

  // Further lists are memory of where `items` are.
  explicit RangeFold(std::pmr::vector<Item> items, int64_t fixed = -1)
      : items_(std::move(items)),
        left_(items_.get_allocator()),
        right_(items_.get_allocator()),
        tree_(items_.get_allocator()),
        fixed_(fixed),
        starts_(items_.get_allocator()),
        ends_(items_.get_allocator()) {}

  // REQUIRES: begin < end.
  Item Fold(int64_t begin, int64_t end) {
    const auto n = static_cast<int64_t>(items_.size());
    if (begin == 0) return FromLeft(end);
    if (end == n) return FromRight(begin);
    if (end - begin <= kShort) {
      Item result = items_[begin];
      for (int64_t i = begin + 1; i < end; ++i) result = Combine()(result, items_[i]);
      return result;
    }
    return end - begin == fixed_ ? FromBlocks(begin, end) : FromTree(begin, end);
  }

 private:
  Item FromBlocks(int64_t begin, int64_t end) {
    if (starts_.empty()) {
      const auto n = static_cast<int64_t>(items_.size());
      starts_ = items_, ends_ = items_;
      for (int64_t i = 1; i < n; ++i) {
        if (i % fixed_ != 0) starts_[i] = Combine()(starts_[i - 1], starts_[i]);
      }
      for (int64_t i = n - 2; i >= 0; --i) {
        if ((i + 1) % fixed_ != 0) ends_[i] = Combine()(ends_[i], ends_[i + 1]);
      }
    }
    return begin % fixed_ == 0 ? ends_[begin] : Combine()(ends_[begin], starts_[end - 1]);
  }
  const Item& FromLeft(int64_t end) {
    if (left_.empty()) {
      left_ = items_;
      for (size_t i = 1; i < left_.size(); ++i) left_[i] = Combine()(left_[i - 1], left_[i]);
    }
    return left_[end - 1];
  }
  const Item& FromRight(int64_t begin) {
    if (right_.empty()) {
      right_ = items_;
      for (size_t i = right_.size() - 1; i > 0; --i)
        right_[i - 1] = Combine()(right_[i - 1], right_[i]);
    }
    return right_[begin];
  }
  // A tree of pairs, leaves at [n, 2n). A range is folded from its left parts and right parts
  // towards the middle.
  Item FromTree(int64_t begin, int64_t end) {
    const auto n = static_cast<int64_t>(items_.size());
    if (tree_.empty()) {
      tree_.resize(static_cast<size_t>(2 * n));
      for (int64_t i = 0; i < n; ++i) tree_[n + i] = items_[i];
      for (int64_t i = n - 1; i > 0; --i) tree_[i] = Combine()(tree_[2 * i], tree_[2 * i + 1]);
    }
    std::optional<Item> left, right;
    int64_t low = begin + n;
    int64_t high = end + n;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) left = left ? Combine()(*left, tree_[low]) : tree_[low], ++low;
      if (high % 2 == 1) --high, right = right ? Combine()(tree_[high], *right) : tree_[high];
    }
    if (!left) return *right;
    return right ? Combine()(*left, *right) : *left;
  }

  std::pmr::vector<Item> items_, left_, right_, tree_;
  const int64_t fixed_;
  std::pmr::vector<Item> starts_, ends_;  // folds of a block's items up to one, and from one on
};

}  // namespace adjoin
