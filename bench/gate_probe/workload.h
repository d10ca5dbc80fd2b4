// What bench/gate counts: pieces of work on one thread, each of which has checked its own result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace adjoin::gate {

// One repetition of the work, with what it works on. May be called any number of times.
using Work = std::function<absl::Status()>;

struct Workload {
  std::string name;  // "kernel.exp_f32"; what stands before the point says which kind it is
  // Sets up, does the work once and checks what it gave: a wrong result is an error.
  std::function<absl::StatusOr<Work>()> make;
};

std::vector<Workload> KernelWorkloads();     // of the table that Kernels() gives
std::vector<Workload> StatementWorkloads();  // training steps, planning, Rows operators, loading

}  // namespace adjoin::gate
