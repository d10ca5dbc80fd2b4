// Where a run puts rows that memory has no room for.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "engine/buffer.h"

namespace adjoin {

struct Spill {
  std::string directory;  // empty: nowhere
  bool allowed = true;
  bool forced = false;  // whatever fits
  // What a run must leave unused of the budget for its operators when it keeps relations.
  int64_t reserve = 0;
  std::atomic<int64_t> bytes{0};  // written so far

  bool enabled() const { return allowed && !directory.empty(); }
  // Whether a relation of `bytes` more goes to a file.
  bool Takes(int64_t relation_bytes, const MemoryBudget& budget) const {
    return enabled() && (forced || budget.available() - relation_bytes < reserve);
  }
};

bool IsOutOfMemory(const absl::Status& status);

// What in_memory() gives, a StatusOr; what in_files() does where that is out of memory, or files
// are forced. `can_spill`: whether in_files may be called.
template <typename InMemory, typename InFiles>
auto RunOrSpill(const Spill& spill, bool can_spill, InMemory&& in_memory, InFiles&& in_files)
    -> decltype(in_memory()) {
  const bool spills = can_spill && spill.enabled();
  if (spills && spill.forced) return in_files();
  auto result = in_memory();
  return spills && IsOutOfMemory(result.status()) ? in_files() : std::move(result);
}

}  // namespace adjoin
