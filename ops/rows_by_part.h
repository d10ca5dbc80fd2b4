// Rows sorted by counting: those of each part, in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "ops/arena.h"

namespace adjoin {

// In memory of an arena.
class RowsByPart {
 public:
  // parts[r]: of row r, below `num_parts`.
  RowsByPart(const uint8_t* parts, int64_t n, int num_parts, BatchArena& arena)
      : rows_(arena.Make<int32_t>(n)), begins_(static_cast<size_t>(num_parts) + 1) {
    for (int64_t r = 0; r < n; ++r) ++begins_[parts[r] + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    std::vector<int32_t> next(begins_.begin(), begins_.end() - 1);
    for (int64_t r = 0; r < n; ++r) rows_[next[parts[r]]++] = static_cast<int32_t>(r);
  }
  std::span<const int32_t> Of(size_t part) const {
    return {rows_ + begins_[part], static_cast<size_t>(begins_[part + 1] - begins_[part])};
  }

 private:
  int32_t* rows_;
  std::vector<int32_t> begins_;  // by part, and the end
};

}  // namespace adjoin
