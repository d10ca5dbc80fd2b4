// Running a pipeline: in memory, or through files where memory has no room for its operators.
#pragma once

#include <memory>
#include <vector>

#include "ops/pipeline.h"

namespace adjoin {

// Runs the branches into the sink; where that is out of memory and the run may spill, again through
// files, with the same rows, order and bits, but for float sums of 32 groups and fewer.
absl::StatusOr<TableRef> RunPipeline(const std::vector<Branch>& branches, const PipelineSink& sink,
                                     RunState& run, const PipelineOptions& options);

// The same in memory alone. Operators are told block numbers from `first_block` on.
absl::StatusOr<TableRef> RunInMemory(const std::vector<Branch>& branches, const PipelineSink& sink,
                                     RunState& run, const PipelineOptions& options,
                                     int64_t first_block = 0);

// Opens a source with the blocks that a pipeline of operators that expand its rows is to have.
absl::StatusOr<std::unique_ptr<SharedState>> OpenSource(const Source& source, double expansion,
                                                        const PipelineSink& sink, RunState& run,
                                                        const PipelineOptions& options);

// A source, or an operator, with its state of a run; what it is of must live longer.
class OpenedSource final : public Source {
 public:
  OpenedSource(const Source& source, std::unique_ptr<SharedState> state)
      : source_(source), state_(std::move(state)) {}
  int64_t Blocks(const SharedState&) const override { return source_.Blocks(*state_); }
  std::unique_ptr<LocalState> MakeLocal(const SharedState&) const override {
    return source_.MakeLocal(*state_);
  }
  absl::Status Produce(int64_t block, const SharedState&, LocalState& local,
                       BatchConsumer next) const override {
    return source_.Produce(block, *state_, local, next);
  }
  std::string Describe() const override { return source_.Describe(); }

 private:
  const Source& source_;
  const std::unique_ptr<const SharedState> state_;
};

class OpenedOperator final : public StreamOperator {
 public:
  // `state` may be null.
  OpenedOperator(const StreamOperator& op, std::shared_ptr<const SharedState> state)
      : op_(op), state_(std::move(state)) {}
  std::unique_ptr<LocalState> MakeLocal(const SharedState*, const RunState& run,
                                        const PipelineOptions& options) const override {
    return op_.MakeLocal(state_.get(), run, options);
  }
  void StartBlock(int64_t block, LocalState& local) const override { op_.StartBlock(block, local); }
  absl::Status Push(const Batch& in, const SharedState*, LocalState& local,
                    BatchConsumer next) const override {
    return op_.Push(in, state_.get(), local, next);
  }
  std::string Describe() const override { return op_.Describe(); }

 private:
  const StreamOperator& op_;
  const std::shared_ptr<const SharedState> state_;
};

}  // namespace adjoin
