#include "ops/step.h"

#include <algorithm>
#include <span>

#include "engine/status.h"

namespace adjoin {

absl::Status RunControl::Check() const {
  if (!cancelled.load(std::memory_order_relaxed)) return absl::OkStatus();
  return SqlError(sqlstate::kQueryCanceled, "canceling statement due to user request");
}

void RunState::RunParts(int64_t parts, void (*body)(void* context, int64_t part, int slot),
                        void* context) const {
  if (pool != nullptr) return pool->ForEachBlockNoFail(parts, body, context);
  for (int64_t p = 0; p < parts; ++p) body(context, p, 0);
}

int64_t PartsFor(double work, double fewest, double a_part) {
  return work < fewest ? 1 : std::min(static_cast<int64_t>(work / a_part), kMostParts);
}

absl::Status Step::Prepare(RunState&) const { return absl::OkStatus(); }

void Step::RunPart(RunState&, int64_t, int) const { ADJOIN_DCHECK(false); }

void Step::RunAllParts(RunState& state) const {
  struct Context {
    const Step* step;
    RunState* state;
  } context{this, &state};
  const auto run = [](void* of, int64_t part, int slot) {
    const auto& [step, run_state] = *static_cast<Context*>(of);
    step->RunPart(*run_state, part, slot);
  };
  state.RunParts(parts(), run, &context);
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
  struct Context {
    std::span<const std::unique_ptr<Step>> members;
    RunState* state;
  } context{std::span(steps).subspan(first, last - first), &state};
  int64_t parts = 0;
  for (const auto& step : context.members) parts += step->parts();
  const auto run = [](void* of, int64_t part, int slot) {
    const auto& [members, run_state] = *static_cast<Context*>(of);
    size_t m = 0;
    for (; part >= members[m]->parts(); ++m) part -= members[m]->parts();
    members[m]->RunPart(*run_state, part, slot);
  };
  state.RunParts(parts, run, &context);
  for (const auto& step : context.members) step->Finish(state);
}

}  // namespace adjoin
