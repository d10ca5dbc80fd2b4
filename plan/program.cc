#include "plan/program.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/table_version.h"
#include "engine/text.h"
#include "ops/column_file.h"
#include "ops/grid_rows.h"
#include "plan/array_epilogues.h"
#include "plan/array_steps.h"
#include "plan/grid.h"
#include "plan/lower_rows.h"
#include "plan/rules.h"

namespace adjoin {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

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

bool IsIdentity(const GridColumn& c, const std::vector<int64_t>& extents) {
  if (c.kind != GridColumn::Kind::kRowId || c.parts.size() != extents.size()) return false;
  for (size_t a = 0; a < extents.size(); ++a) {
    const GridColumn::Part& part = c.parts[a];
    if (part.axis != static_cast<int>(a) || part.origin != 0 || part.extent != extents[a])
      return false;
  }
  return true;
}

bool IsTrainingStep(const Statement& statement, const std::vector<NodeRef>& roots) {
  const auto& outputs = statement.outputs;
  if (!std::all_of(outputs.begin(), outputs.end(), [](const Statement::Output& output) {
        return std::holds_alternative<UpdateSink>(output.sink);
      })) {
    return false;
  }
  const std::vector<NodeRef> nodes = TopologicalOrder(roots);
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const NodeRef& node) { return std::holds_alternative<Collect>(node->op); });
}

bool KeepsAllRows(const Node& node) {
  return std::holds_alternative<Project>(node.op) || std::holds_alternative<Sort>(node.op) ||
         std::holds_alternative<Window>(node.op) || std::holds_alternative<RowId>(node.op) ||
         std::holds_alternative<Require>(node.op);
}

bool CanBeRows(const GridRelation& r) {
  for (const GridColumn& c : r.columns) {
    if (c.kind == GridColumn::Kind::kNone) return false;
  }
  return true;
}

}  // namespace

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
  std::vector<bool> once;  // steps that run once an arena
  std::vector<Tiling> tilings;
  std::vector<Stage> stages;
  bool once_ran = false;
  std::vector<double> step_ms;  // of the last run that was timed
  struct StepMemory {
    int64_t peak = 0, spilled = 0;
  };
  std::vector<StepMemory> step_memory;                         // of the same
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
  void NoteSteps(RunState& state, size_t first, size_t last, double start_ms) const;
  void NoteNodes(RunState& state) const;
};

namespace {

// Compiles one statement.
class Builder {
 public:
  Builder(const Statement& statement, const TablesById& tables, const PlanOptions& options,
          const std::shared_ptr<MemoryBudget>& budget, Program::Impl& program)
      : statement_(statement),
        tables_(tables),
        options_(options),
        budget_(budget),
        program_(program) {}

  absl::Status Build();

 private:
  struct Provided {
    NodeRef node;
    int slot;
  };
  void LowerGrids(const std::vector<NodeRef>& roots, GridSources sources);
  bool PlanInPlace();
  std::optional<std::vector<int>> UpdateArrays(const Statement::Output& output);
  void FindFrontier(const std::vector<NodeRef>& roots);
  std::vector<int> ResultArrays() const;
  std::vector<int> ArrayRoots() const;
  std::vector<NodeRef> WithSparseProducts(std::vector<NodeRef> roots);
  std::unique_ptr<Step> MaterializeStep(const Provided& p, const ArrayProgram& arrays);
  int DenseCopy(const GridRelation& r, const AxisArray& a);

  const Statement& statement_;
  const TablesById& tables_;
  const PlanOptions& options_;
  const std::shared_ptr<MemoryBudget>& budget_;
  Program::Impl& program_;
  ArrayGraph graph_;
  std::optional<GridLowering> grid_;
  std::vector<std::vector<int>> update_arrays_;  // by output of an in-place program, by column
  std::vector<Provided> provided_;
  absl::flat_hash_map<const Node*, int> provided_slots_;
  struct MaterializedColumn {
    AxisArray value, valid;
  };
  std::vector<std::vector<MaterializedColumn>> provided_columns_;
};

void Builder::LowerGrids(const std::vector<NodeRef>& roots, GridSources sources) {
  graph_ = {};
  grid_.emplace(graph_, tables_, sources, budget_);
  if (!options_.grid) return;
  for (const NodeRef& node : TopologicalOrder(roots)) grid_->Lower(node);
}

// The array as a dense one over all axes of the relation in order, copying where it is not.
int Builder::DenseCopy(const GridRelation& r, const AxisArray& a) {
  std::vector<int> all;
  for (int i = 0; i < static_cast<int>(r.extents.size()); ++i) all.push_back(i);
  const ArrayOp op = graph_.node(a.id).op;
  if (a.axes == all && op != ArrayOp::kInput && op != ArrayOp::kSlice && op != ArrayOp::kIndex)
    return a.id;
  ArrayNode n;
  n.op = ArrayOp::kMap;
  n.type = graph_.node(a.id).type;
  n.shape = r.extents;
  n.operands.push_back({a.id, a.axes});
  return graph_.Add(std::move(n));
}

std::optional<std::vector<int>> Builder::UpdateArrays(const Statement::Output& output) {
  const auto* sink = std::get_if<UpdateSink>(&output.sink);
  const GridRelation* r = grid_->Find(output.plan);
  if (sink == nullptr || r == nullptr || !r->mask.none()) return std::nullopt;
  const TableRef& table = tables_.find(sink->table_id)->second;
  if (table->num_rows() != CellsOf(r->extents) || !IsIdentity(r->columns[0], r->extents))
    return std::nullopt;
  std::vector<int> arrays;
  for (size_t i = 0; i < sink->columns.size(); ++i) {
    const int column = sink->columns[i];
    const std::vector<int>& dims = table->schema().dims;
    const GridColumn& c = r->columns[i + 1];
    const bool plain = c.kind == GridColumn::Kind::kArray && c.valid.none() &&
                       c.type == table->column(column)->type();
    if (!plain || std::find(dims.begin(), dims.end(), column) != dims.end()) return std::nullopt;
    arrays.push_back(DenseCopy(*r, c.value));
  }
  return arrays;
}

bool Builder::PlanInPlace() {
  absl::flat_hash_set<uint64_t> written;
  for (const Statement::Output& output : statement_.outputs) {
    auto arrays = UpdateArrays(output);
    if (!arrays || !written.insert(std::get<UpdateSink>(output.sink).table_id).second) return false;
    update_arrays_.push_back(*std::move(arrays));
  }
  return !update_arrays_.empty();
}

// The grid relations that Rows operators or results read. Base tables are scanned as they are.
void Builder::FindFrontier(const std::vector<NodeRef>& roots) {
  absl::flat_hash_set<const Node*> seen;
  std::vector<NodeRef> stack(roots.rbegin(), roots.rend());
  while (!stack.empty()) {
    const NodeRef node = stack.back();
    stack.pop_back();
    if (!seen.insert(node.get()).second) continue;
    const GridRelation* r = grid_->Find(node);
    const bool trivial = std::holds_alternative<Scan>(node->op) ||
                         std::holds_alternative<Values>(node->op) ||
                         std::holds_alternative<Series>(node->op);
    if (r != nullptr && CanBeRows(*r) && !trivial) {
      const int slot = program_.num_slots++;
      provided_.push_back({node, slot});
      provided_slots_.emplace(node.get(), slot);
      std::vector<MaterializedColumn> columns;
      for (const GridColumn& c : r->columns) {
        MaterializedColumn m;
        if (c.kind != GridColumn::Kind::kCoordinate) m.value = grid_->ToArray(*r, c);
        m.valid = c.valid;
        columns.push_back(std::move(m));
      }
      provided_columns_.push_back(std::move(columns));
      continue;
    }
    for (size_t i = node->inputs.size(); i-- > 0;) stack.push_back(node->inputs[i]);
  }
}

// Columns of relations without a mask, where an array of their very cells is made.
std::vector<int> Builder::ResultArrays() const {
  std::vector<int> arrays;
  for (size_t p = 0; p < provided_.size(); ++p) {
    const GridRelation& r = *grid_->Find(provided_[p].node);
    if (!r.mask.none()) continue;
    for (const MaterializedColumn& c : provided_columns_[p]) {
      if (c.value.none() || !c.valid.none()) continue;
      const ArrayOp op = graph_.node(c.value.id).op;
      const bool made = op == ArrayOp::kMap || op == ArrayOp::kReduce || op == ArrayOp::kContract ||
                        op == ArrayOp::kGather || op == ArrayOp::kScatter;
      const bool whole = ArrayOperand{c.value.id, c.value.axes}.IsWhole(r.extents.size());
      const bool known = std::find(arrays.begin(), arrays.end(), c.value.id) != arrays.end();
      if (made && whole && !known) arrays.push_back(c.value.id);
    }
  }
  return arrays;
}

std::vector<int> Builder::ArrayRoots() const {
  std::vector<int> roots = ResultArrays();
  for (const auto& arrays : update_arrays_) roots.insert(roots.end(), arrays.begin(), arrays.end());
  for (size_t p = 0; p < provided_.size(); ++p) {
    const GridRelation& r = *grid_->Find(provided_[p].node);
    if (!r.mask.none()) roots.push_back(r.mask.id);
    for (const MaterializedColumn& c : provided_columns_[p]) {
      if (!c.value.none()) roots.push_back(c.value.id);
      if (!c.valid.none()) roots.push_back(c.valid.id);
    }
  }
  return roots;
}

// What is left for Rows, with sparse products in it.
std::vector<NodeRef> Builder::WithSparseProducts(std::vector<NodeRef> roots) {
  if (options_.sparse == RuleUse::kOff) return roots;
  Cardinality cardinality([this](const Scan& scan) {
    auto it = tables_.find(scan.table_id);
    return it == tables_.end() ? nullptr : it->second;
  });
  const bool force = options_.sparse == RuleUse::kForce;
  // Half of what is left: results and values need memory, too.
  const double most_bytes = static_cast<double>(budget_->limit() - budget_->used()) / 2;
  const std::vector<NodeRef> order = TopologicalOrder(roots);
  int last_id = 0;
  for (const NodeRef& node : order) last_id = std::max(last_id, node->id);
  program_.planner.NumberFrom(last_id + 1);
  Replacements rewritten;
  for (const NodeRef& node : order) {
    NodeRef now = OverReplacements(node, rewritten, program_.planner);
    if (grid_->Find(node) == nullptr) {
      NodeRef product = MakeSparseProduct(now, program_.planner, cardinality, most_bytes, force);
      if (product != nullptr) now = std::move(product);
    }
    rewritten[node.get()] = std::move(now);
  }
  for (NodeRef& root : roots) root = rewritten[root.get()];
  return roots;
}

std::unique_ptr<Step> Builder::MaterializeStep(const Provided& p, const ArrayProgram& arrays) {
  const GridRelation& r = *grid_->Find(p.node);
  const auto strides = [&](const AxisArray& a) {
    std::vector<int64_t> out(r.extents.size(), 0);
    const ArrayView& view = arrays.views.find(a.id)->second;
    for (size_t k = 0; k < a.axes.size(); ++k)
      out[static_cast<size_t>(a.axes[k])] += view.strides[k];
    return out;
  };
  const auto address = [&](const AxisArray& a) { return arrays.views.find(a.id)->second.address; };
  GridRowsStep::Mask mask;
  if (!r.mask.none()) mask = {true, address(r.mask), strides(r.mask)};
  std::vector<GridRowsColumn> columns;
  Schema schema;
  const size_t at = static_cast<size_t>(&p - provided_.data());
  for (size_t c = 0; c < r.columns.size(); ++c) {
    const GridColumn& from = r.columns[c];
    const MaterializedColumn& m = provided_columns_[at][c];
    GridRowsColumn column;
    column.type = p.node->types[c];
    if (from.kind == GridColumn::Kind::kCoordinate) {
      column.axis = from.axis;
      column.origin = from.origin;
    } else {
      column.address = address(m.value);
      column.strides = strides(m.value);
    }
    if (!m.valid.none()) {
      column.nullable = true;
      column.valid = address(m.valid);
      column.valid_strides = strides(m.valid);
    }
    columns.push_back(std::move(column));
    schema.fields.push_back({p.node->names[c], p.node->types[c], false});
  }
  return std::make_unique<GridRowsStep>(
      r.extents, std::move(mask), std::move(columns), std::move(schema), p.slot,
      absl::StrCat("GridRows -> slot ", p.slot, "  ", DescribeOperator(*p.node)));
}

absl::Status Builder::Build() {
  std::vector<NodeRef> roots;
  for (const Statement::Output& output : statement_.outputs) roots.push_back(output.plan);
  // Training steps read tables that are no grids as arrays, too, where they are arrays as a whole:
  // half on Rows they would read such tables as they are anyway, and see row ids of a box.
  LowerGrids(roots, {IsTrainingStep(statement_, roots), MakesBoxes(roots)});
  program_.in_place = PlanInPlace();
  const bool half_on_rows =
      grid_->has_keyed_tables() || (grid_->has_series() && !grid_->HasBoxes(roots));
  if (!program_.in_place && half_on_rows) LowerGrids(roots, {});
  if (!program_.in_place) {
    update_arrays_.clear();
    FindFrontier(roots);
  }
  if (options_.inline_maps) FuseEpilogues(ArrayRoots(), graph_);
  const std::vector<int> results = ResultArrays();
  for (int id : results) {
    const ArrayNode& n = graph_.node(id);
    program_.result_bytes.push_back(CellsOf(n.shape) * WidthOf(n.type));
  }
  size_t outputs = results.size();
  for (const auto& update : update_arrays_) outputs += update.size();
  ArrayProgram arrays = CompileArrays(graph_, ArrayRoots(), outputs, options_, 0);
  program_.steps = std::move(arrays.steps);
  program_.once = std::move(arrays.once);
  program_.tilings = std::move(arrays.tilings);
  program_.stages = std::move(arrays.stages);
  for (const Provided& p : provided_) program_.steps.push_back(MaterializeStep(p, arrays));

  if (program_.in_place) {
    for (size_t o = 0; o < statement_.outputs.size(); ++o) {
      const auto& sink = std::get<UpdateSink>(statement_.outputs[o].sink);
      const TableRef& table = tables_.find(sink.table_id)->second;
      for (size_t c = 0; c < sink.columns.size(); ++c) {
        const TypeId type = table->column(sink.columns[c])->type();
        program_.updates.push_back({sink.table_id,
                                    sink.columns[c],
                                    type,
                                    table->num_rows(),
                                    arrays.views.find(update_arrays_[o][c])->second.address,
                                    {}});
        program_.swaps.push_back({sink.table_id, sink.columns[c], nullptr});
      }
      program_.affected.push_back(table->num_rows());
      program_.slots.push_back(-1);
    }
  } else {
    RowsLoweringInputs inputs;
    inputs.provided_slot = [this](const NodeRef& node) -> std::optional<int> {
      auto it = provided_slots_.find(node.get());
      return it == provided_slots_.end() ? std::nullopt : std::optional(it->second);
    };
    inputs.new_slot = [this] { return program_.num_slots++; };
    inputs.known_rows = [this](const NodeRef& node) -> double {
      if (const auto* scan = std::get_if<Scan>(&node->op)) {
        auto it = tables_.find(scan->table_id);
        return it == tables_.end() ? -1 : static_cast<double>(it->second->num_rows());
      }
      const GridRelation* r = grid_->Find(node);
      return r == nullptr ? -1 : static_cast<double>(CellsOf(r->extents));
    };
    roots = WithSparseProducts(std::move(roots));
    program_.plans = roots;
    RowsLowering rows(options_, roots, std::move(inputs));
    for (const NodeRef& root : roots) {
      ADJOIN_ASSIGN_OR_RETURN(int slot, rows.Lower(root));
      program_.slots.push_back(slot);
      for (std::unique_ptr<Step>& step : rows.TakeSteps())
        program_.steps.push_back(std::move(step));
    }
    program_.slot_nodes = rows.slot_nodes();
    program_.stats.base_table_reads += rows.num_base_table_reads();
  }
  for (const Provided& p : provided_) program_.slot_nodes.push_back({p.slot, p.node->id});
  for (const NodeRef& node : TopologicalOrder(roots)) {
    const GridRelation* r = grid_->Find(node);
    if (r != nullptr && r->mask.none()) program_.known_rows[node->id] = CellsOf(r->extents);
  }
  program_.inputs = std::move(arrays.inputs);
  program_.constants = std::move(arrays.constants);
  program_.arena_bytes = arrays.arena_bytes;
  if (!program_.inputs.empty() || program_.in_place || !provided_.empty())
    program_.guards = grid_->guards();
  if (!program_.guards.empty()) program_.guarded = grid_->guard_states();
  program_.stats.steps = static_cast<int>(program_.steps.size());
  program_.stats.operators = static_cast<int>(TopologicalOrder(roots).size());
  program_.stats.base_table_reads += arrays.base_reads;
  program_.stats.contractions = arrays.contractions;
  program_.stats.arena_bytes = arrays.arena_bytes;
  program_.stats.bytes_between_steps = arrays.bytes_between_steps;
  return absl::OkStatus();
}

}  // namespace

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::~Program() = default;

absl::StatusOr<std::unique_ptr<Program>> Program::Compile(
    const Statement& statement, const absl::flat_hash_map<uint64_t, TableRef>& tables,
    const PlanOptions& options, const std::shared_ptr<MemoryBudget>& budget) {
  const Clock::time_point start = Clock::now();
  auto impl = std::make_unique<Impl>();
  for (const Statement::Output& output : statement.outputs) {
    impl->plans.push_back(output.plan);
    impl->sinks.push_back(output.sink);
  }
  ADJOIN_RETURN_IF_ERROR(Builder(statement, tables, options, budget, *impl).Build());
  impl->stats.plan_ms = MillisecondsSince(start);
  return std::unique_ptr<Program>(new Program(std::move(impl)));
}

bool Program::Fits(const absl::flat_hash_map<uint64_t, TableRef>& tables,
                   const std::shared_ptr<MemoryBudget>& budget) const {
  for (size_t g = 0; g < impl_->guards.size(); ++g) {
    if (!Holds(impl_->guards[g], tables, impl_->guarded[g], budget)) return false;
  }
  return true;
}

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
  state.slot_states.clear();
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
  std::fill(step_ms.begin() + static_cast<ptrdiff_t>(tiling.first),
            step_ms.begin() + static_cast<ptrdiff_t>(tiling.last), 0);
  Clock::time_point last = Clock::now();
  return tiling.Run(steps, state, [&](size_t s) {
    const Clock::time_point now = Clock::now();
    step_ms[s] += std::chrono::duration<double, std::milli>(now - last).count();
    last = now;
  });
}

void Program::Impl::RunStage(RunState& state, const Stage& stage, bool timed) {
  const Clock::time_point start = timed ? Clock::now() : Clock::time_point{};
  stage.Run(steps, state);
  if (!timed) return;
  // Its steps have no times of their own: each has a share after its parts.
  const double ms = MillisecondsSince(start);
  double parts = 0;
  for (size_t s = stage.first; s < stage.last; ++s) parts += static_cast<double>(steps[s]->parts());
  for (size_t s = stage.first; s < stage.last; ++s)
    step_ms[s] = ms * static_cast<double>(steps[s]->parts()) / parts;
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
void Program::Impl::NoteSteps(RunState& state, size_t first, size_t last, double start_ms) const {
  RunProfile& profile = *state.profile;
  for (size_t s = first; s < last; ++s) {
    RunProfile::Measured& measured = profile.steps[s];
    measured.start_ms = start_ms;
    measured.ms = step_ms[s];
    measured.bytes = steps[s]->written_bytes;
    const int64_t blocks = std::exchange(profile.blocks, 0);
    measured.parts = std::max<int64_t>({steps[s]->parts(), blocks, 1});
    start_ms += step_ms[s];
  }
  for (const auto& [slot, node] : slot_nodes) {
    const TableRef& made = state.relations[static_cast<size_t>(slot)];
    if (made == nullptr || !profile.node_rows.try_emplace(node, made->num_rows()).second) continue;
    RunProfile::Measured& measured = profile.steps[last - 1];
    measured.rows = made->num_rows();
    for (const ColumnRef& c : made->columns())
      measured.bytes += made->num_rows() * WidthOf(c->type());
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
  step_ms.resize(steps.size());
  step_memory.resize(steps.size());
  Clock::time_point last = Clock::now();
  const Clock::time_point start = last;
  if (state.profile != nullptr) state.profile->steps.assign(steps.size(), {});
  const auto note = [&](size_t first_step, size_t last_step) {
    if (state.profile == nullptr) return;
    NoteSteps(state, first_step, last_step,
              std::chrono::duration<double, std::milli>(last - start).count());
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
    const int64_t spilled = state.spill->bytes;
    if (timed) {
      NoteMemory(state);
      state.budget->reset_peak();
    }
    ADJOIN_RETURN_IF_ERROR(steps[s]->Run(state));
    if (!timed) continue;
    step_memory[s] = {state.budget->peak() - used_before, state.spill->bytes - spilled};
    const Clock::time_point now = Clock::now();
    step_ms[s] = std::chrono::duration<double, std::milli>(now - last).count();
    note(s, s + 1);
    last = now;
  }
  if (state.profile != nullptr) {
    NoteNodes(state);
    state.profile->ms = MillisecondsSince(start);
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
  // Tables stay in memory.
  for (TableWrite& write : result.writes) {
    if (state.spill->bytes == 0) break;
    ADJOIN_ASSIGN_OR_RETURN(write.table, InMemory(write.table, state.budget));
  }
  for (TableRef& relation : state.relations) relation = nullptr;
  if (!status.ok()) return status;
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
    if (turn == nullptr) {
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
  state.slot_states.clear();
  state.arena = nullptr;
  state.scratch = nullptr;
  for (ColumnUpdate& update : impl_->updates) {
    for (ColumnUpdate::Turn& turn : update.turns) turn = {};
  }
}

const ProgramStats& Program::stats() const { return impl_->stats; }
const std::vector<NodeRef>& Program::plans() const { return impl_->plans; }
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
    if (i < impl_->step_ms.size()) report.ms = impl_->step_ms[i];
    if (i < impl_->step_memory.size()) {
      report.peak_bytes = impl_->step_memory[i].peak;
      report.spilled_bytes = impl_->step_memory[i].spilled;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace adjoin
