#include "tests/reference/engine_run.h"

#include <exception>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "tests/reference/compare.h"

namespace adjoin::reference {
namespace {

bool HasRowId(const NodeRef& node) { return std::holds_alternative<RowId>(node->op); }

// The rows of the node as a result of its own, and what is wrong with them.
std::string CheckAlone(const NodeRef& node, const std::map<uint64_t, TableRef>& tables,
                       const EngineConfig& config, double tolerance) {
  const absl::StatusOr<Rows> expected = Interpret(node, tables);
  if (!expected.ok()) return "";
  const absl::StatusOr<Rows> actual = RunOnEngine(node, tables, config);
  if (!actual.ok()) return absl::StrCat("error ", std::string(actual.status().message()));
  return CompareRows(*expected, *actual, node->types, tolerance);
}

// The first node, inputs first, that is wrong by itself. Row ids are the engine's own, so nodes
// with them are left out.
std::string LowestFault(const NodeRef& root, const std::map<uint64_t, TableRef>& tables,
                        const EngineConfig& config, double tolerance) {
  std::vector<const Node*> numbered;
  for (const NodeRef& node : TopologicalOrder({root})) {
    bool shows_row_ids = HasRowId(node);
    for (const NodeRef& input : node->inputs) {
      const bool reshapes =
          std::holds_alternative<Project>(node->op) || std::holds_alternative<GroupBy>(node->op);
      for (const Node* n : numbered)
        shows_row_ids = shows_row_ids || (n == input.get() && !reshapes);
    }
    if (shows_row_ids) {
      numbered.push_back(node.get());
      continue;
    }
    const std::string fault = CheckAlone(node, tables, config, tolerance);
    if (!fault.empty()) return absl::StrCat("lowest wrong node (", fault, "):\n", ToString(node));
  }
  return "no node is wrong by itself\n";
}

std::string Describe(const NodeRef& root, const std::map<uint64_t, TableRef>& tables) {
  std::string text = absl::StrCat("plan:\n", ToString(root));
  for (const NodeRef& node : TopologicalOrder({root})) {
    const auto* scan = std::get_if<Scan>(&node->op);
    if (scan == nullptr) continue;
    absl::StrAppend(&text, "table ", scan->table, ":\n",
                    RowsText(RowsOf(*tables.at(scan->table_id)), node->types));
  }
  return text;
}

}  // namespace

std::vector<EngineConfig> EngineConfigs() {
  std::vector<EngineConfig> configs(1);
  configs[0].name = "default";
  const auto add = [&](const std::string& name) -> PlanOptions& {
    configs.push_back({name, {}, 1});
    return configs.back().options;
  };
  add("grid off").grid = false;
  add("contraction off").contraction = false;
  add("inline off").inline_maps = false;
  add("store off").store = RuleUse::kOff;
  PlanOptions& stored = add("share off, store forced");
  stored.share = false;
  stored.store = RuleUse::kForce;
  add("tiles forced").tile = RuleUse::kForce;
  add("stacks forced").stack = RuleUse::kForce;
  PlanOptions& plain = add("all off");
  plain.grid = plain.contraction = plain.inline_maps = false;
  PlanOptions& small = add("small batches");
  small.batch_rows = 3;
  small.morsel_rows = 5;
  PlanOptions& small_rows = add("small batches, grid off");
  small_rows = small;
  small_rows.grid = false;
  return configs;
}

namespace {

absl::StatusOr<Rows> Run(const NodeRef& root, const std::map<uint64_t, TableRef>& tables,
                         const EngineConfig& config, int runs) {
  Statement statement;
  statement.outputs.push_back({ResultSink{}, root});
  statement.result_names = root->names;
  const absl::flat_hash_map<uint64_t, TableRef> snapshot(tables.begin(), tables.end());
  RunState state;
  state.budget = std::make_shared<MemoryBudget>();
  ADJOIN_ASSIGN_OR_RETURN(const std::unique_ptr<Program> program,
                          Program::Compile(statement, snapshot, config.options, state.budget));
  TaskPool pool(config.threads);
  Rows rows;
  state.pool = &pool;
  for (int run = 0; run < runs; ++run) {
    state.tables = snapshot;
    ADJOIN_ASSIGN_OR_RETURN(const ProgramResult result, program->Run(state));
    rows = RowsOf(*result.rows);
  }
  return rows;
}

}  // namespace

absl::StatusOr<Rows> RunOnEngine(const NodeRef& root, const std::map<uint64_t, TableRef>& tables,
                                 const EngineConfig& config, int runs) {
  try {
    return Run(root, tables, config, runs);
  } catch (const std::exception& e) {
    // The connection would catch it; here it must be seen, with its plan.
    return SqlError(sqlstate::kInternalError, absl::StrCat("exception: ", e.what()));
  }
}

std::string CheckOnEngine(const NodeRef& root, const std::map<uint64_t, TableRef>& tables,
                          const Rows& expected, double tolerance) {
  for (EngineConfig config : EngineConfigs()) {
    Rows first;
    for (int threads : {1, 3}) {
      config.threads = threads;
      const absl::StatusOr<Rows> actual = RunOnEngine(root, tables, config, 2);
      std::string fault = actual.ok()
                              ? CompareRows(expected, *actual, root->types, tolerance)
                              : absl::StrCat("error ", std::string(actual.status().message()));
      if (fault.empty() && threads > 1 && *actual != first) fault = "other bits than on one thread";
      if (!fault.empty()) {
        return absl::StrCat(config.name, ", ", threads, " threads: ", fault, "\n",
                            LowestFault(root, tables, config, tolerance), Describe(root, tables));
      }
      first = *actual;
    }
  }
  return "";
}

}  // namespace adjoin::reference
