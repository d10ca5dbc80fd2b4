// A prepared program: a statement's plans compiled once to a flat list of steps, run many times.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "engine/catalog.h"
#include "ops/step.h"
#include "plan/node.h"
#include "plan/step_cost.h"

namespace adjoin {

// How a rule of the planner is used: not at all, where it pays, wherever it can be.
enum class RuleUse : uint8_t { kOff, kOn, kForce };

// What a session can set; `SET adjoin.grid = off` is options.grid = false.
struct PlanOptions {
  bool grid = true;                   // array programs for Grid tables; off: everything on Rows
  bool contraction = true;            // recognise products
  bool inline_maps = true;            // fuse a map into its only reader
  bool share = true;                  // equal subtrees are computed once
  RuleUse store = RuleUse::kOn;       // maps that are read more than once reach memory
  RuleUse tile = RuleUse::kOn;        // steps that share large arrays run together, tile by tile
  RuleUse join_order = RuleUse::kOn;  // joins of Rows in the cheapest order
  // Rows that meet nothing in a join are dropped where they come from.
  RuleUse join_filters = RuleUse::kOn;
  RuleUse sparse = RuleUse::kOn;  // joins + SUM(product) of Rows as sparse products
  RuleUse stack = RuleUse::kOn;   // steps of one shape become one
  RuleUse stage = RuleUse::kOn;   // independent steps run side by side
  // Of lists of pairs that hold both orders one is computed; kForce: those that do not are errors.
  RuleUse pairs = RuleUse::kOn;
  int64_t work_mem =
      int64_t{256} << 20;  // bytes a stored intermediate may take before it is recomputed instead
  // Rows a batch (tests use 3). Queries of TPC-H at scale factor 1 took 0.81 to 0.95 of their time
  // with 4096 instead of 1024, those of h2o 0.9 to 1.0.
  int64_t batch_rows = 4096;
  int64_t morsel_rows = 65536;  // rows a block
  StepCosts costs;              // of reports alone
  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

// What the statement did to one table; the caller installs it in the catalog.
struct TableWrite {
  Sink sink;
  TableRef table;  // Insert: rows to append; Update: row id + new values; Delete: row ids
};
struct ProgramResult {
  TableRef rows;  // null where the statement returns none
  std::vector<TableWrite> writes;
  std::vector<int64_t> affected;  // rows of each output of the statement, in its order
};

struct ProgramStats {  // counts that tests and gates pin exactly
  int steps = 0, operators = 0, base_table_reads = 0, contractions = 0;
  int64_t arena_bytes = 0, bytes_between_steps = 0;
  int64_t bytes_written = 0, estimated_peak_bytes = 0;  // of array steps
  double plan_ms = 0;
};

// What a rule did to a program.
struct RuleReport {
  std::string rule, did;                // "inline", "12 values inside their readers"
  std::optional<double> saved_us = {};  // predicted, of a run; negative: it costs
};

class Program {
 public:
  // Compiles for tables as they are in `tables` (by catalog id). Which layout, keys and extents
  // they have is assumed; Fits says whether other tables still match, and computes for them what
  // the program keeps of their keys, charged to `budget`; `cache` (may be null) has what others
  // found out about them. 23514: a list of pairs that options.pairs declares is not symmetric.
  static absl::StatusOr<std::unique_ptr<Program>> Compile(
      const Statement& statement, const absl::flat_hash_map<uint64_t, TableRef>& tables,
      const PlanOptions& options, const std::shared_ptr<MemoryBudget>& budget,
      ColumnCache* cache = nullptr);
  ~Program();

  bool Fits(const absl::flat_hash_map<uint64_t, TableRef>& tables,
            const std::shared_ptr<MemoryBudget>& budget, ColumnCache* cache = nullptr) const;
  // Runs on state.tables. On error nothing has happened. One run of one Program at a time.
  absl::StatusOr<ProgramResult> Run(RunState& state);
  // The fast path of a training step: every output is an UpdateSink of whole value columns, and
  // all steps are arrays.
  bool updates_in_place() const;
  // Computes the new columns, to be installed by the caller (Catalog::SwapColumns), which then
  // drops what it got back. Allocates nothing once warm: two columns take turns, while nobody else
  // holds the replaced one. The swaps are the program's, valid until the next run. On error nothing
  // has happened. REQUIRES: updates_in_place().
  absl::StatusOr<std::span<ColumnSwap>> RunInPlace(RunState& state);
  // Lets go of the memory that runs keep for the next one, which then makes it again.
  void ReleaseMemory(RunState& state);
  // Rows that each output of an in-place program updates, in the statement's order.
  const std::vector<int64_t>& affected_in_place() const;

  const ProgramStats& stats() const;
  // By output: what it runs, the statement's plan with what only programs have (SparseProduct).
  const std::vector<NodeRef>& plans() const;
  // Of the last run: the most memory it took at once, beside what the one before it left; and what
  // it wrote to files.
  int64_t peak_bytes() const;
  int64_t spilled_bytes() const;
  struct StepReport {
    std::string text;                    // the kernel, its slots or shape, how it is run
    std::optional<double> predicted_us;  // of array steps
    StepMeasure measured;                // in the last run that was timed
  };
  std::vector<StepReport> Steps() const;
  const std::vector<RuleReport>& rules() const;  // that did something

  struct Impl;  // program_impl.h

 private:
  absl::StatusOr<ProgramResult> RunOnce(RunState& state);
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace adjoin
