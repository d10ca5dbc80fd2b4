#include "ops/pipeline.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status.h"
#include "engine/text.h"
#include "ops/pipeline_run.h"

namespace adjoin {

absl::StatusOr<TableRef> RelationRef::Resolve(const RunState& run) const {
  if (slot >= 0) {
    if (static_cast<size_t>(slot) < run.relations.size() && run.relations[slot] != nullptr) {
      return run.relations[slot];
    }
  } else if (auto it = run.tables.find(table_id); it != run.tables.end()) {
    return it->second;
  }
  return SqlError(sqlstate::kInternalError,
                  ToStd(absl::StrCat("no relation in ", ToAbsl(ToString()))));
}

std::string RelationRef::ToString() const {
  return slot >= 0 ? absl::StrCat("slot ", slot) : absl::StrCat("table ", table_id);
}

absl::StatusOr<std::unique_ptr<SharedState>> Source::Open(RunState&, const PipelineOptions&) const {
  return std::make_unique<SharedState>();
}

absl::StatusOr<std::unique_ptr<SharedState>> StreamOperator::Open(RunState&,
                                                                  const PipelineOptions&) const {
  return std::unique_ptr<SharedState>();
}

absl::StatusOr<std::unique_ptr<SpilledOperator>> StreamOperator::OpenSpilled(
    RunState&, const PipelineOptions&) const {
  return std::unique_ptr<SpilledOperator>();
}

void StreamOperator::StartBlock(int64_t, LocalState&) const {}

absl::StatusOr<TableRef> PipelineSink::RunSpilled(const std::vector<Branch>&, RunState&,
                                                  const PipelineOptions&) const {
  return SqlError(sqlstate::kInternalError, "a sink that cannot spill");
}

PipelineStep::PipelineStep(std::vector<Branch> branches, std::unique_ptr<const PipelineSink> sink,
                           int out_slot, PipelineOptions options)
    : branches_(std::move(branches)),
      sink_(std::move(sink)),
      out_slot_(out_slot),
      options_(options) {}

absl::Status PipelineStep::Run(RunState& state) const {
  absl::StatusOr<TableRef> table = RunPipeline(branches_, *sink_, state, options_);
  if (!table.ok()) return table.status();
  if (state.relations.size() <= static_cast<size_t>(out_slot_))
    state.relations.resize(out_slot_ + 1);
  state.relations[out_slot_] = *std::move(table);
  return absl::OkStatus();
}

std::string PipelineStep::Describe() const {
  std::vector<std::string> branches;
  for (const Branch& branch : branches_) {
    std::string text = branch.source->Describe();
    for (const auto& op : branch.operators) absl::StrAppend(&text, " > ", op->Describe());
    branches.push_back(std::move(text));
  }
  return absl::StrCat("slot ", out_slot_, " = ", absl::StrJoin(branches, " ++ "), " > ",
                      sink_->Describe());
}

absl::Status ReleaseStep::Run(RunState& state) const {
  for (int slot : slots_) state.relations[slot] = nullptr;
  return absl::OkStatus();
}

std::string ReleaseStep::Describe() const {
  return absl::StrCat("release ", absl::StrJoin(slots_, ", "));
}

}  // namespace adjoin
