#include "ops/step.h"

#include <algorithm>

#include "engine/status.h"

namespace adjoin {

absl::Status RunControl::Check() const {
  if (!cancelled.load(std::memory_order_relaxed)) return absl::OkStatus();
  return SqlError(sqlstate::kQueryCanceled, "canceling statement due to user request");
}

void RunState::RunParts(int64_t parts, void (*body)(void* context, int64_t part, int slot),
                        void* context) const {
  if (pool != nullptr) return pool->ForEachBlockNoFail(parts, body, context);
  for (int64_t p = 0; p < parts; ++p) body(context, p, 0);
}

int64_t PartsFor(double work, double fewest, double a_part) {
  return work < fewest ? 1 : std::min(static_cast<int64_t>(work / a_part), kMostParts);
}

absl::Status Step::Prepare(RunState&) const { return absl::OkStatus(); }

void Step::RunTile(RunState&, int64_t, int64_t) const { ADJOIN_DCHECK(false); }

}  // namespace adjoin
