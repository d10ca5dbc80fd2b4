// Pipelines of Rows operators: a source cut into blocks, operators that batches stream through, a
// sink.
//
// Operators are const and shared between plans and threads. A run has one SharedState an operator
// (made by Open; read only while batches flow, but for the sink's, which Merge changes) and one
// LocalState an operator and worker thread. Blocks follow from the data alone, and a sink merges
// them in their order, so results never depend on threads.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ops/batch.h"
#include "ops/step.h"

namespace adjoin {

struct PipelineOptions {
  int64_t batch_rows = 4096;
  int64_t morsel_rows = 65536;
};

// Where an operator finds a table when it runs: a slot of RunState::relations, or a base table of
// the snapshot.
struct RelationRef {
  int slot = -1;
  uint64_t table_id = 0;
  // Internal where the slot or the table is missing.
  absl::StatusOr<TableRef> Resolve(const RunState& run) const;
  std::string ToString() const;
};

class SharedState {
 public:
  virtual ~SharedState() = default;
  // Rows (or pairs) that come of one row: blocks get fewer source rows where it is large. Follows
  // from the data alone.
  virtual double expansion() const { return 1; }
};
class LocalState {
 public:
  virtual ~LocalState() = default;
};

using BatchConsumer = absl::FunctionRef<absl::Status(const Batch&)>;

class Source {
 public:
  virtual ~Source() = default;
  // A state of nothing where a run shares nothing.
  virtual absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                            const PipelineOptions& options) const;
  virtual int64_t Blocks(const SharedState& shared) const = 0;
  virtual std::unique_ptr<LocalState> MakeLocal(const SharedState& shared) const = 0;
  virtual absl::Status Produce(int64_t block, const SharedState& shared, LocalState& local,
                               BatchConsumer next) const = 0;
  virtual std::string Describe() const = 0;
};

struct Branch;

// An operator whose state is in files.
class SpilledOperator {
 public:
  virtual ~SpilledOperator() = default;
  virtual double expansion() const = 0;  // what the state in memory would say
  // Runs `before`, which counts its blocks from `first_block` on, through the operator. The source
  // of what comes out has the same blocks, rows and batches as in memory.
  virtual absl::StatusOr<std::shared_ptr<const Source>> Run(const Branch& before,
                                                            int64_t first_block,
                                                            RunState& run) const = 0;
};

class StreamOperator {
 public:
  virtual ~StreamOperator() = default;
  // Null where a run shares nothing.
  virtual absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                            const PipelineOptions& options) const;
  // The same with state that memory has no room for; null where that cannot be.
  virtual absl::StatusOr<std::unique_ptr<SpilledOperator>> OpenSpilled(
      RunState& run, const PipelineOptions& options) const;
  virtual std::unique_ptr<LocalState> MakeLocal(const SharedState* shared, const RunState& run,
                                                const PipelineOptions& options) const = 0;
  // Called before the first batch of each block; `block` counts through the whole pipeline.
  virtual void StartBlock(int64_t block, LocalState& local) const;
  // Hands on any number of batches; `in` is borrowed for the call.
  virtual absl::Status Push(const Batch& in, const SharedState* shared, LocalState& local,
                            BatchConsumer next) const = 0;
  virtual std::string Describe() const = 0;
};

class PipelineSink {
 public:
  virtual ~PipelineSink() = default;
  virtual absl::StatusOr<std::unique_ptr<SharedState>> Open(
      RunState& run, const PipelineOptions& options) const = 0;
  // More blocks of a source than this are put together to larger ones.
  virtual int64_t most_blocks() const { return std::numeric_limits<int64_t>::max(); }
  virtual std::unique_ptr<LocalState> MakeBlock(const SharedState& shared) const = 0;
  virtual absl::Status Consume(const Batch& batch, const SharedState& shared,
                               LocalState& block) const = 0;
  // Blocks come in order, one at a time. `*done` set: no later block can matter.
  virtual absl::Status Merge(std::unique_ptr<LocalState> block, SharedState& shared,
                             bool* done) const = 0;
  virtual absl::StatusOr<TableRef> Finish(SharedState& shared, RunState& run) const = 0;
  // Whether RunSpilled can do all of the above with state that memory has no room for. `branches`
  // have the blocks that the sink would have had.
  virtual bool CanSpill() const { return false; }
  virtual absl::StatusOr<TableRef> RunSpilled(const std::vector<Branch>& branches, RunState& run,
                                              const PipelineOptions& options) const;
  virtual std::string Describe() const = 0;
};

// One source and what its batches go through. A pipeline has several for UNION ALL: their blocks
// follow each other.
struct Branch {
  std::shared_ptr<const Source> source;
  std::vector<std::shared_ptr<const StreamOperator>> operators;
  // What leaves the first `operators` of them are the rows of a plan's node, for RunProfile.
  struct Tap {
    size_t operators;
    int node;  // Node::id
  };
  std::vector<Tap> taps = {};
};

class PipelineStep final : public Step {
 public:
  PipelineStep(std::vector<Branch> branches, std::unique_ptr<const PipelineSink> sink, int out_slot,
               PipelineOptions options);
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;

 private:
  std::vector<Branch> branches_;
  std::unique_ptr<const PipelineSink> sink_;
  int out_slot_;
  PipelineOptions options_;
};

// Lets tables go after their last reader.
class ReleaseStep final : public Step {
 public:
  explicit ReleaseStep(std::vector<int> slots) : slots_(std::move(slots)) {}
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;

 private:
  std::vector<int> slots_;
};

}  // namespace adjoin
