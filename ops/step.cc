#include "ops/step.h"

#include "engine/status.h"

namespace adjoin {

absl::Status RunControl::Check() const {
  if (!cancelled.load(std::memory_order_relaxed)) return absl::OkStatus();
  return SqlError(sqlstate::kQueryCanceled, "canceling statement due to user request");
}

absl::Status Step::Prepare(RunState&) const { return absl::OkStatus(); }

}  // namespace adjoin
