// Running programs: their memory, their steps, what a run measures, and what statements get of it.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "ops/column_file.h"
#include "plan/program_impl.h"

namespace adjoin {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsBetween(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}

bool KeepsAllRows(const Node& node) {
  return std::holds_alternative<Project>(node.op) || std::holds_alternative<Sort>(node.op) ||
         std::holds_alternative<Window>(node.op) || std::holds_alternative<RowId>(node.op) ||
         std::holds_alternative<Require>(node.op);
}

}  // namespace

absl::Status Program::Impl::AllocateScratch(RunState& state) const {
  constexpr int64_t kAlignment = 64;
  int64_t most = 0;
  for (const auto& step : steps) most = std::max(most, step->scratch_bytes());
  state.scratch_stride = (most + kAlignment - 1) / kAlignment * kAlignment;
  ADJOIN_ASSIGN_OR_RETURN(state.scratch,
                          Buffer::Allocate(state.scratch_stride * state.slots(), state.budget));
  return absl::OkStatus();
}

absl::Status Program::Impl::Prepare(RunState& state) {
  if (state.prepared_for == id && state.prepared_slots == state.slots() &&
      prepared_parameters == state.parameters) {
    return absl::OkStatus();
  }
  state.prepared_for = 0;
  ADJOIN_ASSIGN_OR_RETURN(state.arena, Buffer::Allocate(arena_bytes, state.budget));
  state.bases.assign(inputs.size() + 1 + updates.size() + result_bytes.size(), nullptr);
  state.bases[0] = state.arena->mutable_as<std::byte>();
  for (const ArrayConstant& c : constants) {
    std::byte* at = state.bases[0] + c.address.offset;
    for (int64_t i = 0; i < c.cells; ++i) {
      const int64_t v = c.origin + i;
      const int32_t narrow = static_cast<int32_t>(v);
      const int16_t narrower = static_cast<int16_t>(v);
      const int64_t width = WidthOf(c.type);
      const void* from = width == 8   ? static_cast<const void*>(&v)
                         : width == 4 ? static_cast<const void*>(&narrow)
                                      : &narrower;
      std::memcpy(at + i * width, from, static_cast<size_t>(width));
    }
  }
  state.step_states.clear();
  state.step_states.resize(steps.size());
  ADJOIN_RETURN_IF_ERROR(AllocateScratch(state));
  for (const auto& step : steps) ADJOIN_RETURN_IF_ERROR(step->Prepare(state));
  state.relations.assign(static_cast<size_t>(num_slots), nullptr);
  prepared_parameters = state.parameters;
  once_ran = false;
  state.prepared_slots = state.slots();
  state.prepared_for = id;
  return absl::OkStatus();
}

absl::Status Program::Impl::AllocateResults(RunState& state) const {
  state.results.assign(state.bases.size(), nullptr);
  for (size_t r = 0; r < result_bytes.size(); ++r) {
    const size_t base = inputs.size() + 1 + r;
    ADJOIN_ASSIGN_OR_RETURN(state.results[base], Buffer::Allocate(result_bytes[r], state.budget));
    state.bases[base] = state.results[base]->mutable_as<std::byte>();
  }
  return absl::OkStatus();
}

void Program::Impl::BindInputs(RunState& state) const {
  for (const ArrayInput& input : inputs) {
    const Column& column = input.guard >= 0
                               ? *guarded[static_cast<size_t>(input.guard)].computed
                               : *state.tables.find(input.table_id)->second->column(input.column);
    const void* data = column.data();
    if (input.valid)
      data = column.validity_buffer() == nullptr ? nullptr : column.validity_buffer()->data();
    state.bases[static_cast<size_t>(input.base)] = static_cast<std::byte*>(const_cast<void*>(data));
  }
}

absl::Status Program::Impl::RunTiles(RunState& state, const Tiling& tiling, bool timed) {
  if (!timed) return tiling.Run(steps, state, [](size_t) {});
  for (size_t s = tiling.first; s < tiling.last; ++s) measured[s].ms = 0;
  Clock::time_point last = Clock::now();
  return tiling.Run(steps, state, [&](size_t s) {
    const Clock::time_point now = Clock::now();
    measured[s].ms += MillisecondsBetween(last, now);
    last = now;
  });
}

void Program::Impl::RunStage(RunState& state, const Stage& stage, bool timed) {
  const Clock::time_point start = timed ? Clock::now() : Clock::time_point{};
  stage.Run(steps, state);
  if (!timed) return;
  // Its steps have no times of their own: each has a share after its parts.
  const double ms = MillisecondsBetween(start, Clock::now());
  double parts = 0;
  for (size_t s = stage.first; s < stage.last; ++s) parts += static_cast<double>(steps[s]->parts());
  for (size_t s = stage.first; s < stage.last; ++s)
    measured[s].ms = ms * static_cast<double>(steps[s]->parts()) / parts;
}

void Program::Impl::StartMemory(RunState& state) {
  state.budget->reset_peak();
  used_before = state.budget->used();
  peak_bytes = 0;
  state.spill->bytes = 0;
  // Operators have half of what is left to themselves.
  state.spill->reserve = state.budget->available() / 2;
}

void Program::Impl::NoteMemory(const RunState& state) {
  peak_bytes = std::max(peak_bytes, state.budget->peak() - used_before);
  spilled_bytes = state.spill->bytes;
}

// What steps [first, last), which have just run, made; they started at `start_ms`.
void Program::Impl::NoteSteps(RunState& state, size_t first, size_t last, double start_ms) {
  RunProfile& profile = *state.profile;
  for (size_t s = first; s < last; ++s) {
    measured[s].start_ms = start_ms;
    measured[s].bytes = steps[s]->written_bytes;
    const int64_t blocks = std::exchange(profile.blocks, 0);
    measured[s].parts = std::max<int64_t>({steps[s]->parts(), blocks, 1});
    start_ms += measured[s].ms;
  }
  for (const auto& [slot, node] : slot_nodes) {
    const TableRef& made = state.relations[static_cast<size_t>(slot)];
    if (made == nullptr || !profile.node_rows.try_emplace(node, made->num_rows()).second) continue;
    StepMeasure& of = measured[last - 1];
    of.rows = made->num_rows();
    for (const ColumnRef& c : made->columns()) of.bytes += of.rows * WidthOf(c->type());
  }
}

// Nodes that no step has counted: base tables, arrays, and what has the rows of its input.
void Program::Impl::NoteNodes(RunState& state) const {
  auto& rows = state.profile->node_rows;
  for (const NodeRef& node : TopologicalOrder(plans)) {
    if (rows.contains(node->id)) continue;
    if (const auto* scan = std::get_if<Scan>(&node->op)) {
      const auto table = state.tables.find(scan->table_id);
      if (table != state.tables.end() && table->second != nullptr)
        rows[node->id] = table->second->num_rows();
    } else if (const auto known = known_rows.find(node->id); known != known_rows.end()) {
      rows[node->id] = known->second;
    } else if (KeepsAllRows(*node)) {
      const auto input = rows.find(node->inputs[0]->id);
      if (input != rows.end()) rows[node->id] = int64_t{input->second};
    }
  }
}

absl::Status Program::Impl::RunSteps(RunState& state) {
  ADJOIN_RETURN_IF_ERROR(Prepare(state));
  BindInputs(state);
  // Reading the clock is 25 ns, as much as a small step: most runs are not timed.
  constexpr int64_t kTimedRuns = 4, kTimedEvery = 64;
  const bool timed = state.profile != nullptr || runs < kTimedRuns || runs % kTimedEvery == 0;
  ++runs;
  if (state.profile != nullptr) measured.clear();
  measured.resize(steps.size());
  Clock::time_point last = Clock::now();
  const Clock::time_point start = last;
  const auto note = [&](size_t first_step, size_t last_step) {
    if (state.profile != nullptr)
      NoteSteps(state, first_step, last_step, MillisecondsBetween(start, last));
  };
  auto tiling = tilings.begin();
  auto stage = stages.begin();
  for (size_t s = 0; s < steps.size(); ++s) {
    if (state.control != nullptr) {
      ADJOIN_RETURN_IF_ERROR(state.control->Check());
      if (state.control->progress &&
          !state.control->progress(static_cast<double>(s) / static_cast<double>(steps.size()))) {
        state.control->cancelled = true;
        return state.control->Check();
      }
    }
    if (tiling != tilings.end() && s == tiling->first) {
      ADJOIN_RETURN_IF_ERROR(RunTiles(state, *tiling, timed));
      note(tiling->first, tiling->last);
      s = tiling->last - 1;
      ++tiling;
      last = Clock::now();
      continue;
    }
    if (stage != stages.end() && s == stage->first) {
      const Stage& here = *stage++;
      if (here.Pays(steps, state.slots())) {
        RunStage(state, here, timed);
        note(here.first, here.last);
        s = here.last - 1;
        last = Clock::now();
        continue;
      }
    }
    if (once_ran && s < once.size() && once[s]) continue;
    if (!timed) {
      ADJOIN_RETURN_IF_ERROR(steps[s]->Run(state));
      continue;
    }
    NoteMemory(state);
    state.budget->reset_peak();
    const int64_t spilled = state.spill->bytes;
    ADJOIN_RETURN_IF_ERROR(steps[s]->Run(state));
    measured[s].peak_bytes = state.budget->peak() - used_before;
    measured[s].spilled_bytes = state.spill->bytes - spilled;
    const Clock::time_point now = Clock::now();
    measured[s].ms = MillisecondsBetween(last, now);
    note(s, s + 1);
    last = now;
  }
  if (state.profile != nullptr) {
    NoteNodes(state);
    state.profile->ms = MillisecondsBetween(start, Clock::now());
  }
  once_ran = true;
  return absl::OkStatus();
}

absl::StatusOr<ProgramResult> Program::Run(RunState& state) {
  impl_->StartMemory(state);
  absl::StatusOr<ProgramResult> result = RunOnce(state);
  impl_->NoteMemory(state);
  if (!IsOutOfMemory(result.status()) || !HintOf(result.status()).empty()) return result;
  return SqlErrorWithDetail(
      sqlstate::kOutOfMemory, ToStd(result.status().message()), DetailOf(result.status()),
      state.spill->enabled() ? "Raise memory_limit."
                             : "Raise memory_limit, or set adjoin.temp_directory to a directory "
                               "for what has no room.");
}

absl::StatusOr<ProgramResult> Program::RunOnce(RunState& state) {
  ProgramResult result;
  if (impl_->in_place) {
    ADJOIN_ASSIGN_OR_RETURN(std::span<ColumnSwap> swaps, RunInPlace(state));
    for (size_t o = 0, s = 0; o < impl_->sinks.size(); ++o) {
      const auto& sink = std::get<UpdateSink>(impl_->sinks[o]);
      const int64_t rows = impl_->affected[o];
      ColumnBuilder ids(TypeId::kInt64, state.budget);
      ADJOIN_RETURN_IF_ERROR(ids.Reserve(rows));
      for (int64_t r = 0; r < rows; ++r) ADJOIN_RETURN_IF_ERROR(ids.AppendMany(&r, nullptr, 1));
      ADJOIN_ASSIGN_OR_RETURN(ColumnRef id_column, ids.Finish());
      std::vector<ColumnRef> columns = {std::move(id_column)};
      Schema schema{{{"rowid", TypeId::kInt64, false}}, {}};
      for (size_t c = 0; c < sink.columns.size(); ++c) {
        columns.push_back(std::move(swaps[s++].column));
        schema.fields.push_back({"value", columns.back()->type(), false});
      }
      result.writes.push_back(
          {sink, Table::MakeUnchecked(std::move(schema), std::move(columns), rows)});
    }
    result.affected = impl_->affected;
    return result;
  }
  absl::Status status = impl_->Prepare(state);
  if (status.ok()) status = impl_->AllocateResults(state);
  if (status.ok()) status = impl_->RunSteps(state);
  state.results.clear();
  if (status.ok()) {
    for (size_t o = 0; o < impl_->sinks.size(); ++o) {
      TableRef table = state.relations[static_cast<size_t>(impl_->slots[o])];
      result.affected.push_back(table->num_rows());
      if (std::holds_alternative<ResultSink>(impl_->sinks[o])) {
        result.rows = std::move(table);
      } else {
        result.writes.push_back({impl_->sinks[o], std::move(table)});
      }
    }
  }
  for (TableRef& relation : state.relations) relation = nullptr;
  if (!status.ok()) return status;
  // Tables stay in memory.
  for (TableWrite& write : result.writes) {
    if (state.spill->bytes == 0) break;
    ADJOIN_ASSIGN_OR_RETURN(write.table, InMemory(write.table, state.budget));
  }
  return result;
}

bool Program::updates_in_place() const { return impl_->in_place; }
const std::vector<int64_t>& Program::affected_in_place() const { return impl_->affected; }

absl::StatusOr<std::span<ColumnSwap>> Program::RunInPlace(RunState& state) {
  for (ColumnSwap& swap : impl_->swaps) swap.column = nullptr;
  ADJOIN_RETURN_IF_ERROR(impl_->Prepare(state));
  for (size_t u = 0; u < impl_->updates.size(); ++u) {
    ColumnUpdate& update = impl_->updates[u];
    // The column that was replaced two runs ago is ours alone, unless somebody kept a result that
    // shares it.
    ColumnUpdate::Turn* turn = nullptr;
    for (ColumnUpdate::Turn& t : update.turns) {
      if (t.column != nullptr && t.column.use_count() == 1) turn = &t;
    }
    if (turn != nullptr) {
      turn->column->NewVersion();
    } else {
      turn = &update.turns[update.turns[0].column == nullptr ? 0 : 1];
      const int64_t bytes = update.rows * WidthOf(update.type);
      ADJOIN_ASSIGN_OR_RETURN(turn->buffer, Buffer::Allocate(bytes, state.budget));
      turn->column = std::make_shared<Column>(update.type, update.rows, turn->buffer, nullptr);
    }
    // Steps write it where it lies.
    state.bases[impl_->inputs.size() + 1 + u] =
        reinterpret_cast<std::byte*>(turn->buffer->mutable_data());
    impl_->swaps[u].column = turn->column;
  }
  const absl::Status status = impl_->RunSteps(state);
  if (!status.ok()) {
    for (ColumnSwap& swap : impl_->swaps) swap.column = nullptr;
    return status;
  }
  for (size_t u = 0; u < impl_->updates.size(); ++u) {
    // Two columns of the same values: the second is a copy of the first.
    const ColumnUpdate& update = impl_->updates[u];
    const size_t base = impl_->inputs.size() + 1 + u;
    if (static_cast<size_t>(update.source.base) == base) continue;
    std::memcpy(state.bases[base], update.source.In(state),
                static_cast<size_t>(update.rows * WidthOf(update.type)));
  }
  return std::span<ColumnSwap>(impl_->swaps);
}

void Program::ReleaseMemory(RunState& state) {
  state.prepared_for = 0;
  state.step_states.clear();
  state.arena = nullptr;
  state.scratch = nullptr;
  for (ColumnUpdate& update : impl_->updates) {
    for (ColumnUpdate::Turn& turn : update.turns) turn = {};
  }
}

const ProgramStats& Program::stats() const { return impl_->stats; }
const std::vector<NodeRef>& Program::plans() const { return impl_->plans; }
const std::vector<RuleReport>& Program::rules() const { return impl_->rules; }
int64_t Program::peak_bytes() const { return impl_->peak_bytes; }
int64_t Program::spilled_bytes() const { return impl_->spilled_bytes; }

std::vector<Program::StepReport> Program::Steps() const {
  std::vector<StepReport> reports;
  for (size_t i = 0; i < impl_->steps.size(); ++i) {
    StepReport report;
    report.text = absl::StrCat(impl_->steps[i]->Describe(),
                               i < impl_->once.size() && impl_->once[i] ? "  once" : "");
    for (const Tiling& t : impl_->tilings) {
      if (t.first <= i && i < t.last)
        absl::StrAppend(&report.text, "  in tiles of ", t.tile, " of ", t.extent);
    }
    for (const Stage& t : impl_->stages) {
      if (t.first < i && i < t.last) absl::StrAppend(&report.text, "  beside ", t.first);
    }
    if (i < impl_->predicted_us.size()) report.predicted_us = impl_->predicted_us[i];
    if (i < impl_->measured.size()) report.measured = impl_->measured[i];
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace adjoin
