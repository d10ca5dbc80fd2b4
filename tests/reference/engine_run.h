// Runs plans on the engine itself, for comparison with the interpreter.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/program.h"
#include "tests/reference/interpreter.h"

namespace adjoin::reference {

struct EngineConfig {
  std::string name;
  PlanOptions options;
  int threads = 1;
};

// Settings that must not change a result: grid, contraction and inlining on and off, small batches
// and morsels.
std::vector<EngineConfig> EngineConfigs();

// Compiles `root` as a statement's only output and runs it `runs` times; the rows of the last run.
absl::StatusOr<Rows> RunOnEngine(const NodeRef& root, const std::map<uint64_t, TableRef>& tables,
                                 const EngineConfig& config, int runs = 1);

// Where the engine's result differs from `expected`: the configuration, the difference, and the
// lowest node of the plan whose result is wrong when it is run alone. Empty where all
// configurations agree, with the same bits at one thread and at three.
std::string CheckOnEngine(const NodeRef& root, const std::map<uint64_t, TableRef>& tables,
                          const Rows& expected, double tolerance = 1e-9);

}  // namespace adjoin::reference
