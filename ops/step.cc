#include "ops/step.h"

#include <algorithm>
#include <span>

#include "engine/status.h"

namespace adjoin {

absl::Status RunControl::Check() const {
  if (!cancelled.load(std::memory_order_relaxed)) return absl::OkStatus();
  return SqlError(sqlstate::kQueryCanceled, "canceling statement due to user request");
}

void RunState::RunParts(int64_t parts, absl::FunctionRef<void(int64_t, int)> body) const {
  if (pool == nullptr) {
    for (int64_t p = 0; p < parts; ++p) body(p, 0);
    return;
  }
  const auto run = [](void* of, int64_t part, int slot) {
    (*static_cast<absl::FunctionRef<void(int64_t, int)>*>(of))(part, slot);
  };
  pool->ForEachBlockNoFail(parts, run, &body);
}

int64_t PartsFor(double work, double fewest, double a_part) {
  return work < fewest ? 1 : std::min(static_cast<int64_t>(work / a_part), kMostParts);
}

absl::Status Step::Prepare(RunState&) const { return absl::OkStatus(); }

void Step::RunPart(RunState&, int64_t, int) const { ADJOIN_DCHECK(false); }

void Step::RunAllParts(RunState& state) const {
  state.RunParts(parts(), [&](int64_t part, int slot) { RunPart(state, part, slot); });
  Finish(state);
}

void Step::RunTile(RunState&, int64_t, int64_t) const { ADJOIN_DCHECK(false); }

bool Stage::Pays(const std::vector<std::unique_ptr<Step>>& steps, int slots) const {
  const auto rounds = [slots](int64_t parts) { return (parts + slots - 1) / slots; };
  int64_t alone = 0, parts = 0;
  for (size_t s = first; s < last; ++s) {
    alone += rounds(steps[s]->parts());
    parts += steps[s]->parts();
  }
  return rounds(parts) < alone;
}

void Stage::Run(const std::vector<std::unique_ptr<Step>>& steps, RunState& state) const {
  const auto members = std::span(steps).subspan(first, last - first);
  int64_t parts = 0;
  for (const auto& step : members) parts += step->parts();
  state.RunParts(parts, [&](int64_t part, int slot) {
    size_t m = 0;
    for (; part >= members[m]->parts(); ++m) part -= members[m]->parts();
    members[m]->RunPart(state, part, slot);
  });
  for (const auto& step : members) step->Finish(state);
}

}  // namespace adjoin
