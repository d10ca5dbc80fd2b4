#include "ops/pipeline_run.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "engine/status.h"

namespace adjoin {
namespace {

// A block of an expanding pipeline has fewer rows, so that its pairs are about as many as four
// morsels'.
PipelineOptions SourceOptions(const PipelineOptions& options, double expansion) {
  PipelineOptions result = options;
  const double rows = 4.0 * static_cast<double>(options.morsel_rows) / std::max(1.0, expansion);
  result.morsel_rows =
      std::min(options.morsel_rows, std::max<int64_t>(16, static_cast<int64_t>(rows)));
  return result;
}

struct OpenBranch {
  const Branch* branch;
  std::unique_ptr<SharedState> source;
  std::vector<const SharedState*> operators;
  int64_t first_block = 0;
  int64_t blocks = 0;
  // By number of operators passed: rows so far. Counted where a profile is asked for.
  std::vector<std::atomic<int64_t>> passed = {};
};

// One worker's states of one branch.
struct LocalBranch {
  std::unique_ptr<LocalState> source;
  std::vector<std::unique_ptr<LocalState>> operators;
};

// One run of one pipeline. Workers take blocks in order, so at most a block a thread waits to be
// merged.
class PipelineRun {
 public:
  PipelineRun(const PipelineSink& sink, const PipelineOptions& options, int64_t first_block,
              RunState& run)
      : sink_(sink), options_(options), first_block_(first_block), run_(run) {}

  absl::Status Open(const std::vector<Branch>& branches) {
    ADJOIN_ASSIGN_OR_RETURN(sink_state_, sink_.Open(run_, options_));
    for (const Branch& branch : branches) {
      OpenBranch open{&branch, nullptr, {}, blocks_, 0};
      double expansion = sink_state_->expansion();
      for (const auto& op : branch.operators) {
        auto [it, added] = shared_.try_emplace(op.get());
        if (added) {
          ADJOIN_ASSIGN_OR_RETURN(it->second, op->Open(run_, options_));
        }
        open.operators.push_back(it->second.get());
        if (it->second != nullptr) expansion *= std::max(1.0, it->second->expansion());
      }
      ADJOIN_ASSIGN_OR_RETURN(open.source,
                              OpenSource(*branch.source, expansion, sink_, run_, options_));
      open.blocks = branch.source->Blocks(*open.source);
      blocks_ += open.blocks;
      if (run_.profile != nullptr)
        open.passed = std::vector<std::atomic<int64_t>>(branch.operators.size() + 1);
      branches_.push_back(std::move(open));
    }
    return absl::OkStatus();
  }

  absl::Status RunBlocks() {
    const int64_t threads = run_.pool == nullptr ? 1 : run_.pool->threads();
    const int64_t workers = std::min(threads, blocks_);
    if (workers <= 1) {
      Work();
    } else {
      // The workers' own errors are kept by block; the pool sees none.
      ADJOIN_RETURN_IF_ERROR(run_.pool->ForEachBlock(workers, [this](int64_t) {
        Work();
        return absl::OkStatus();
      }));
    }
    // What later blocks met does not count where earlier ones were enough for the sink (LIMIT).
    return done_ && merged_ <= error_block_ ? absl::OkStatus() : error_;
  }

  absl::StatusOr<TableRef> Finish() {
    if (run_.profile != nullptr) NoteRows(*run_.profile);
    return sink_.Finish(*sink_state_, run_);
  }

 private:
  // A node's rows are those of all branches it is in. Of a node that several pipelines compute
  // again every one has the same, but one that stopped early.
  void NoteRows(RunProfile& profile) const {
    absl::flat_hash_map<int, int64_t> rows;
    for (const OpenBranch& open : branches_) {
      for (const Branch::Tap& tap : open.branch->taps) rows[tap.node] += open.passed[tap.operators];
    }
    for (const auto& [node, n] : rows) {
      int64_t& noted = profile.node_rows[node];
      noted = std::max(noted, n);
    }
    profile.blocks = blocks_;
  }

  void Work() {
    std::vector<LocalBranch> local(branches_.size());
    while (!stop_.load(std::memory_order_relaxed)) {
      const int64_t block = next_.fetch_add(1, std::memory_order_relaxed);
      if (block >= blocks_) return;
      if (absl::Status status = RunBlock(block, local); !status.ok()) RecordError(block, status);
    }
  }

  absl::Status RunBlock(int64_t block, std::vector<LocalBranch>& local) {
    if (run_.control != nullptr) ADJOIN_RETURN_IF_ERROR(run_.control->Check());
    size_t b = 0;
    while (block >= branches_[b].first_block + branches_[b].blocks) ++b;
    OpenBranch& open = branches_[b];
    MakeLocals(open, local[b]);
    std::unique_ptr<LocalState> sink_block = sink_.MakeBlock(*sink_state_);
    for (size_t i = 0; i < open.operators.size(); ++i) {
      open.branch->operators[i]->StartBlock(first_block_ + block, *local[b].operators[i]);
    }
    ADJOIN_RETURN_IF_ERROR(open.branch->source->Produce(
        block - open.first_block, *open.source, *local[b].source,
        [&](const Batch& batch) { return Push(batch, open, local[b], 0, *sink_block); }));
    return MergeInOrder(block, std::move(sink_block));
  }

  void MakeLocals(const OpenBranch& open, LocalBranch& local) const {
    if (local.source != nullptr) return;
    local.source = open.branch->source->MakeLocal(*open.source);
    for (size_t i = 0; i < open.operators.size(); ++i) {
      local.operators.push_back(
          open.branch->operators[i]->MakeLocal(open.operators[i], run_, options_));
    }
  }

  absl::Status Push(const Batch& batch, OpenBranch& open, LocalBranch& local, size_t i,
                    LocalState& sink_block) const {
    if (batch.rows == 0) return absl::OkStatus();
    if (!open.passed.empty()) open.passed[i].fetch_add(batch.rows, std::memory_order_relaxed);
    if (i == open.operators.size()) {
      if (run_.control != nullptr) ADJOIN_RETURN_IF_ERROR(run_.control->Check());
      return sink_.Consume(batch, *sink_state_, sink_block);
    }
    return open.branch->operators[i]->Push(
        batch, open.operators[i], *local.operators[i],
        [&](const Batch& out) { return Push(out, open, local, i + 1, sink_block); });
  }

  absl::Status MergeInOrder(int64_t block, std::unique_ptr<LocalState> state) {
    std::unique_lock lock(mutex_);
    waiting_.emplace(block, std::move(state));
    if (merging_) return absl::OkStatus();
    merging_ = true;
    absl::Status status;
    while (status.ok() && !done_ && !waiting_.empty() && waiting_.begin()->first == merged_) {
      std::unique_ptr<LocalState> next = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      lock.unlock();
      status = sink_.Merge(std::move(next), *sink_state_, &done_);
      lock.lock();
      ++merged_;
    }
    merging_ = done_;  // once done, nothing is merged any more
    if (done_) stop_.store(true, std::memory_order_relaxed);
    return status;
  }

  void RecordError(int64_t block, const absl::Status& status) {
    std::lock_guard lock(mutex_);
    stop_.store(true, std::memory_order_relaxed);
    // Blocks are taken in order, so every block before this one is run too: the first error is the
    // same always.
    if (error_.ok() || block < error_block_) error_ = status, error_block_ = block;
  }

  const PipelineSink& sink_;
  const PipelineOptions options_;
  const int64_t first_block_;
  RunState& run_;
  absl::flat_hash_map<const StreamOperator*, std::unique_ptr<SharedState>> shared_;
  std::vector<OpenBranch> branches_;
  std::unique_ptr<SharedState> sink_state_;
  int64_t blocks_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::map<int64_t, std::unique_ptr<LocalState>> waiting_;  // guarded by mutex_, as what follows
  int64_t merged_ = 0;
  bool merging_ = false;
  bool done_ = false;
  absl::Status error_;
  int64_t error_block_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SharedState>> OpenSource(const Source& source, double expansion,
                                                        const PipelineSink& sink, RunState& run,
                                                        const PipelineOptions& options) {
  PipelineOptions sized = SourceOptions(options, expansion);
  ADJOIN_ASSIGN_OR_RETURN(std::unique_ptr<SharedState> open, source.Open(run, sized));
  const int64_t blocks = source.Blocks(*open);
  const int64_t most = sink.most_blocks();
  if (blocks <= most) return open;
  sized.morsel_rows *= (blocks + most - 1) / most;
  return source.Open(run, sized);
}

absl::StatusOr<TableRef> RunInMemory(const std::vector<Branch>& branches, const PipelineSink& sink,
                                     RunState& run, const PipelineOptions& options,
                                     int64_t first_block) {
  PipelineRun pipeline(sink, options, first_block, run);
  ADJOIN_RETURN_IF_ERROR(pipeline.Open(branches));
  ADJOIN_RETURN_IF_ERROR(pipeline.RunBlocks());
  return pipeline.Finish();
}

}  // namespace adjoin
