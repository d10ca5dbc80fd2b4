#include <algorithm>
#include <map>
#include <utility>

#include "engine/status.h"
#include "ops/pipeline_run.h"

namespace adjoin {
namespace {

// A pipeline some of whose operators have no room: each of those cuts it in two, with files between
// the parts.
class SpillingRun {
 public:
  SpillingRun(const std::vector<Branch>& branches, const PipelineSink& sink, RunState& run,
              const PipelineOptions& options)
      : branches_(branches), sink_(sink), run_(run), options_(options) {}

  absl::StatusOr<TableRef> Run() {
    double sink_expansion = 1;
    {
      ADJOIN_ASSIGN_OR_RETURN(const auto state, sink_.Open(run_, options_));
      sink_expansion = state->expansion();
    }
    for (const Branch& branch : branches_) {
      for (const auto& op : branch.operators) ADJOIN_RETURN_IF_ERROR(Open(*op));
    }
    std::vector<Branch> rest;
    int64_t first_block = 0;
    for (const Branch& branch : branches_) {
      double expansion = sink_expansion;
      for (const auto& op : branch.operators) expansion *= std::max(1.0, ExpansionOf(*op));
      ADJOIN_ASSIGN_OR_RETURN(auto source,
                              OpenSource(*branch.source, expansion, sink_, run_, options_));
      const int64_t blocks = branch.source->Blocks(*source);
      Branch part{std::make_shared<OpenedSource>(*branch.source, std::move(source)), {}};
      size_t passed = 0, first = 0;  // operators so far, and before `part`
      for (const auto& op : branch.operators) {
        const State& state = states_.at(op.get());
        if (state.spilled != nullptr) part.taps = TapsOf(branch, first, passed);
        ++passed;
        if (state.spilled != nullptr) {
          first = passed;
          ADJOIN_ASSIGN_OR_RETURN(auto joined, state.spilled->Run(part, first_block, run_));
          part = {std::move(joined), {}};
        } else {
          part.operators.push_back(std::make_shared<OpenedOperator>(*op, state.open));
        }
      }
      part.taps = TapsOf(branch, first, passed);
      first_block += blocks;
      rest.push_back(std::move(part));
    }
    return RunSink(rest);
  }

 private:
  struct State {
    std::shared_ptr<const SharedState> open;
    std::unique_ptr<SpilledOperator> spilled;
  };

  // Those of the operators from `first` on that come up to `last`.
  static std::vector<Branch::Tap> TapsOf(const Branch& branch, size_t first, size_t last) {
    std::vector<Branch::Tap> taps;
    for (const Branch::Tap& tap : branch.taps) {
      if (first <= tap.operators && tap.operators <= last)
        taps.push_back({tap.operators - first, tap.node});
    }
    return taps;
  }

  absl::Status Open(const StreamOperator& op) {
    const auto [it, added] = states_.try_emplace(&op);
    if (!added) return absl::OkStatus();
    if (!run_.spill->forced) {
      absl::StatusOr<std::unique_ptr<SharedState>> open = op.Open(run_, options_);
      if (!open.ok() && !IsOutOfMemory(open.status())) return open.status();
      if (open.ok() && !run_.spill->Takes(0, *run_.budget)) {
        it->second.open = *std::move(open);
        return absl::OkStatus();
      }
    }
    ADJOIN_ASSIGN_OR_RETURN(it->second.spilled, op.OpenSpilled(run_, options_));
    if (it->second.spilled != nullptr) return absl::OkStatus();
    ADJOIN_ASSIGN_OR_RETURN(it->second.open, op.Open(run_, options_));
    return absl::OkStatus();
  }

  double ExpansionOf(const StreamOperator& op) const {
    const State& state = states_.at(&op);
    if (state.spilled != nullptr) return state.spilled->expansion();
    return state.open == nullptr ? 1 : state.open->expansion();
  }

  absl::StatusOr<TableRef> RunSink(const std::vector<Branch>& rest) {
    const bool joined = std::any_of(states_.begin(), states_.end(), [](const auto& state) {
      return state.second.spilled != nullptr;
    });
    if (!sink_.CanSpill()) return RunInMemory(rest, sink_, run_, options_);
    if (joined && !run_.spill->forced) {  // what had no room may have been the joins
      absl::StatusOr<TableRef> table = RunInMemory(rest, sink_, run_, options_);
      if (!IsOutOfMemory(table.status())) return table;
    }
    return sink_.RunSpilled(rest, run_, options_);
  }

  const std::vector<Branch>& branches_;
  const PipelineSink& sink_;
  RunState& run_;
  const PipelineOptions& options_;
  std::map<const StreamOperator*, State> states_;
};

}  // namespace

absl::StatusOr<TableRef> RunPipeline(const std::vector<Branch>& branches, const PipelineSink& sink,
                                     RunState& run, const PipelineOptions& options) {
  return RunOrSpill(
      *run.spill, /*can_spill=*/true, [&] { return RunInMemory(branches, sink, run, options); },
      [&] { return SpillingRun(branches, sink, run, options).Run(); });
}

}  // namespace adjoin
