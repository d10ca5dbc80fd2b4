// What a Program is made of. Internal to program.cc, which compiles it, and program_run.cc, which
// runs it.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/table_version.h"
#include "plan/array_steps.h"
#include "plan/guard.h"
#include "plan/lower_rows.h"
#include "plan/program.h"

namespace adjoin {

// One column of a table that an in-place output replaces: computed in the arena, copied to the
// column not in use.
struct ColumnUpdate {
  uint64_t table_id;
  int column;
  TypeId type;
  int64_t rows;
  ArrayAddress source;
  struct Turn {
    std::shared_ptr<Buffer> buffer;
    ColumnRef column;
  };
  Turn turns[2];
};

struct Program::Impl {
  uint64_t id = NextTableVersion();
  Planner planner;  // of what is rewritten for Rows
  std::vector<NodeRef> plans;
  std::vector<Sink> sinks;
  std::vector<int> slots;  // by output; -1: in place
  std::vector<Guard> guards;
  mutable std::vector<GuardState> guarded;  // by guard
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<ArrayInput> inputs;
  std::vector<ArrayConstant> constants;
  int num_slots = 0;
  int64_t arena_bytes = 0;
  bool in_place = false;
  std::vector<ColumnUpdate> updates;
  std::vector<int64_t> result_bytes;  // of arrays that become columns as they lie
  std::vector<ColumnSwap> swaps;
  std::vector<int64_t> affected;
  ProgramStats stats;
  std::vector<RuleReport> rules;
  std::vector<double> predicted_us;  // by step; the array steps alone, which come first
  std::vector<bool> once;            // steps that run once an arena
  std::vector<Tiling> tilings;
  std::vector<Stage> stages;
  bool once_ran = false;
  std::vector<StepMeasure> measured;                           // of the last run that was timed
  int64_t used_before = 0, peak_bytes = 0, spilled_bytes = 0;  // of the last run
  std::vector<SlotNode> slot_nodes;
  absl::flat_hash_map<int, int64_t> known_rows;  // by Node::id, of grids without a mask
  int64_t runs = 0;
  std::vector<Value> prepared_parameters;

  absl::Status Prepare(RunState& state);
  absl::Status AllocateResults(RunState& state) const;
  absl::Status AllocateScratch(RunState& state) const;
  void BindInputs(RunState& state) const;
  absl::Status RunSteps(RunState& state);
  void StartMemory(RunState& state);
  void NoteMemory(const RunState& state);
  absl::Status RunTiles(RunState& state, const Tiling& tiling, bool timed);
  void RunStage(RunState& state, const Stage& stage, bool timed);
  void NoteSteps(RunState& state, size_t first, size_t last, double start_ms);
  void NoteNodes(RunState& state) const;
};

}  // namespace adjoin
