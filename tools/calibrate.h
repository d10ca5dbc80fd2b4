// The constants of this machine that steps are predicted by.
#pragma once

#include "absl/status/statusor.h"
#include "plan/step_cost.h"

namespace adjoin {

// Measures them, in about two seconds: each is the best of many tries, so that other work on the
// machine counts little.
absl::StatusOr<StepCosts> MeasureCosts();

}  // namespace adjoin
