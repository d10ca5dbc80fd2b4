#include "ops/spill.h"

#include "engine/status.h"

namespace adjoin {

bool IsOutOfMemory(const absl::Status& status) {
  return !status.ok() && SqlStateOf(status) == sqlstate::kOutOfMemory;
}

}  // namespace adjoin
