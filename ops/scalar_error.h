// Words for the errors that scalar kernels report by number.
#pragma once

#include "absl/status/status.h"
#include "engine/types.h"

namespace adjoin {

// The error of a kernel whose result has type `result`, worded as PostgreSQL's: 22003 "integer out
// of range", 22012 "division by zero", 22P02.
absl::Status ScalarErrorStatus(ScalarError error, TypeId result);

}  // namespace adjoin
