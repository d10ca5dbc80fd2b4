// The constants of a machine (plan/step_cost.h) as a JSON file: what `adjoin calibrate` writes and
// SET adjoin.costs reads.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "plan/step_cost.h"

namespace adjoin {

// {"call_ns": 31, ...}: every constant, a positive number, and nothing else. Errors: FileError's;
// 22023 that names the file and what is wrong with it.
absl::StatusOr<StepCosts> ReadCosts(const std::string& path);

// The text of such a file.
std::string CostsToJson(const StepCosts& costs);

}  // namespace adjoin
