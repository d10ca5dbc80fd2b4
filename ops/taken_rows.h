// The rows of a batch that count for an aggregate.
#pragma once

#include <cstdint>

#include "ops/vector.h"

namespace adjoin {

// Calls f(row, group) for the rows that count: where `arg` (null: there is none) is not NULL and
// take[row] != 0 (null: everywhere). Without `groups` all are of group 0.
template <typename F>
void ForEachTaken(const Vector* arg, const uint8_t* take, const int64_t* groups, int64_t n, F&& f) {
  const uint8_t* valid = arg == nullptr ? nullptr : arg->valid;
  if (valid == nullptr && take == nullptr) {
    for (int64_t r = 0; r < n; ++r) f(r, groups == nullptr ? 0 : groups[r]);
    return;
  }
  for (int64_t r = 0; r < n; ++r) {
    if ((valid != nullptr && valid[r] == 0) || (take != nullptr && take[r] == 0)) continue;
    f(r, groups == nullptr ? 0 : groups[r]);
  }
}

}  // namespace adjoin
