// A step of a program: immutable once planned; all state of a run is in RunState.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/buffer.h"
#include "engine/column_cache.h"
#include "engine/table.h"
#include "engine/task_pool.h"
#include "ops/spill.h"

namespace adjoin {

// How far a run is, and whether to stop it. `cancelled` may be set from any thread.
struct RunControl {
  std::atomic<bool> cancelled{false};
  std::function<bool(double fraction)>
      progress;                // false: cancel. Called on the running thread between steps.
  absl::Status Check() const;  // 57014 "canceling statement due to user request"
};

// What a step keeps between runs of one program; made by Step::Prepare.
class StepState {
 public:
  virtual ~StepState() = default;
};

// What a step took in a run that was timed.
struct StepMeasure {
  double ms = -1;                             // -1: it did not run
  int64_t peak_bytes = 0, spilled_bytes = 0;  // the run's peak meanwhile; what it wrote to files
  // In a run with a profile:
  double start_ms = 0;  // after the run's start
  int64_t rows = -1;    // of the relation it made; -1: it made none
  int64_t bytes = 0;    // written for later steps
  int64_t parts = 1;    // blocks or parts it was cut into
};

// What a run measures beside that, where EXPLAIN ANALYZE or a trace asks for it.
struct RunProfile {
  absl::flat_hash_map<int, int64_t> node_rows;  // by Node::id; nodes that no step counts are absent
  int64_t blocks = 0;                           // of the pipeline that ran last
  double ms = 0;                                // of the whole run
};

struct RunState {
  absl::flat_hash_map<uint64_t, TableRef> tables;  // the snapshot, by catalog id
  std::vector<Value> parameters;
  std::vector<TableRef> relations;  // by slot: what Rows steps have made
  // What array steps read and write: 0 is the arena, laid out when the program was compiled; then
  // input columns, then arrays that become columns as they lie.
  std::vector<std::byte*> bases;
  std::vector<std::shared_ptr<Buffer>> results;  // by base: the latter's memory in a run; else null
  std::vector<std::unique_ptr<StepState>> step_states;  // by step number
  std::shared_ptr<Buffer> arena;
  std::shared_ptr<Buffer> scratch;  // Step::scratch_bytes of each of the pool's slots
  int64_t scratch_stride = 0;       // from slot to slot
  int64_t tile_first = 0;           // while tiled steps run: their tile's first index
  uint64_t prepared_for = 0;        // the program whose memory and step states these are
  int prepared_slots = 0;           // for how many
  TaskPool* pool = nullptr;
  std::shared_ptr<MemoryBudget> budget;
  ColumnCache* cache = nullptr;  // may be null: nothing is kept between runs
  std::unique_ptr<Spill> spill = std::make_unique<Spill>();
  RunControl* control = nullptr;  // may be null
  RunProfile* profile = nullptr;  // to be filled; null: nobody asks

  // Calls body(part, slot) for each part, on the pool where there is one. Allocates nothing on one
  // thread.
  void RunParts(int64_t parts, absl::FunctionRef<void(int64_t part, int slot)> body) const;
  int slots() const { return pool == nullptr ? 1 : pool->threads(); }
  std::byte* Scratch(int slot) const {
    return scratch->mutable_as<std::byte>() + slot * scratch_stride;
  }
};

// How many parts a step is cut into. They follow from its work alone, so that results are the same
// on any number of threads: one below `fewest`, of `a_part` each above it.
inline constexpr int64_t kMostParts = 16;
int64_t PartsFor(double work, double fewest, double a_part);

class Step {
 public:
  virtual ~Step() = default;
  // What each task slot needs while the step runs, 64-byte aligned. Steps run one after another, so
  // a program has it once: a copy in each product of GPT deep f32 took 1.37 GB.
  virtual int64_t scratch_bytes() const { return 0; }
  // Makes what runs of this step keep, under its number in state.step_states; once a program,
  // parameters and number of slots.
  virtual absl::Status Prepare(RunState& state) const;
  virtual absl::Status Run(RunState& state) const = 0;
  // Of a step whose work is parts, run in any order and on any slots, that cannot fail: how many.
  // 0: it runs as a whole only.
  virtual int64_t parts() const { return 0; }
  virtual void RunPart(RunState& state, int64_t part, int slot) const;
  virtual void Finish(RunState&) const {}  // after all parts
  // Of a step that is tiled (Tiling): computes what indices [first, last) of its tiled axis add to
  // its outputs. Tiles come in order; the first also sets what all of them add to.
  virtual void RunTile(RunState& state, int64_t first, int64_t last) const;
  virtual std::string Describe() const = 0;  // one line for EXPLAIN: kernel, slots, estimates
  int64_t written_bytes = 0;                 // of array steps, known when they are planned

 protected:
  void RunAllParts(RunState& state) const;
};

// Steps [first, last) of a program that run together, tile by tile: all of them on indices [0,
// tile) of an axis of `extent`, then on the next. What only they read has memory for one tile.
struct Tiling {
  size_t first = 0, last = 0;
  int64_t extent = 0, tile = 0;

  // Runs them; calls ran(step's number) after each of a tile's.
  template <typename Ran>
  absl::Status Run(const std::vector<std::unique_ptr<Step>>& steps, RunState& state,
                   Ran&& ran) const {
    absl::Status status;
    for (int64_t at = 0; at < extent && status.ok(); at += tile) {
      state.tile_first = at;
      for (size_t s = first; s < last; ++s) {
        steps[s]->RunTile(state, at, std::min(at + tile, extent));
        ran(s);
      }
      if (state.control != nullptr) status = state.control->Check();
    }
    state.tile_first = 0;
    return status;
  }
};

// Steps [first, last) of a program that store nothing any of them reads: the parts of all of them
// can run side by side.
struct Stage {
  size_t first = 0, last = 0;
  // Whether fewer rounds of parts, one a slot, run all of them together than run each alone. Where
  // each has parts for all slots that is better: on two processors with nothing else to do, a step
  // of GPT base took 0.6 (f64) to 0.9% (f32) longer in stages of such steps.
  bool Pays(const std::vector<std::unique_ptr<Step>>& steps, int slots) const;
  void Run(const std::vector<std::unique_ptr<Step>>& steps, RunState& state) const;
};

}  // namespace adjoin
