// What EXPLAIN says of a planned statement, as text and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "nlohmann/json.hpp"
#include "plan/node.h"
#include "plan/program.h"

namespace adjoin {

// Borrows the program and the profile.
struct PlanReport {
  struct Stage {
    std::string_view heading;
    std::vector<NodeRef> plans;
  };
  std::vector<Stage> stages;       // the plan after each stage that changed it; the last one runs
  std::vector<std::string> sinks;  // what each of its outputs does with its rows; empty: a result
  const Program* program = nullptr;
  std::vector<RuleReport> rules;                    // that did something
  absl::flat_hash_map<int, double> estimated_rows;  // by Node::id, where there are any
  const RunProfile* profile = nullptr;              // of a run with ANALYZE; null: none
  double plan_ms = 0;
};

// Every stage and the program's steps; `times`: of the last run, where no profile has them.
std::string ToText(const PlanReport& report, bool times);

// {"Nodes": [...], "Outputs": [...], "Program": {...}, "Steps": [...], times}: nodes refer to their
// inputs by "Node Id", as a plan is no tree.
nlohmann::json ToJson(const PlanReport& report);

}  // namespace adjoin
