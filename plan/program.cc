// Compiling programs.
#include "plan/program.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/grid_rows.h"
#include "plan/array_epilogues.h"
#include "plan/array_pairs.h"
#include "plan/array_rewrites.h"
#include "plan/array_steps.h"
#include "plan/grid.h"
#include "plan/program_impl.h"
#include "plan/rules.h"

namespace adjoin {
namespace {

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

bool CanBeRows(const GridRelation& r) {
  for (const GridColumn& c : r.columns) {
    if (c.kind == GridColumn::Kind::kNone) return false;
  }
  return true;
}

}  // namespace

namespace {

// Compiles one statement.
class Builder {
 public:
  Builder(const Statement& statement, const TablesById& tables, const PlanOptions& options,
          const std::shared_ptr<MemoryBudget>& budget, ColumnCache* cache, Program::Impl& program)
      : statement_(statement),
        tables_(tables),
        options_(options),
        budget_(budget),
        cache_(cache),
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
  std::vector<NodeRef> WithSparseProducts(std::vector<NodeRef> roots, Cardinality& cardinality);
  void AddJoinFilters(std::vector<NodeRef>& roots, Cardinality& cardinality);
  absl::StatusOr<SharedPairs> SharePairsOf(const std::vector<NodeRef>& roots);
  std::unique_ptr<Step> MaterializeStep(const Provided& p, const ArrayProgram& arrays);
  int DenseCopy(const GridRelation& r, const AxisArray& a);

  const Statement& statement_;
  const TablesById& tables_;
  const PlanOptions& options_;
  const std::shared_ptr<MemoryBudget>& budget_;
  ColumnCache* const cache_;
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
  graph_ = ArrayGraph(options_.share);
  grid_.emplace(graph_, tables_, sources, budget_, cache_);
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
std::vector<NodeRef> Builder::WithSparseProducts(std::vector<NodeRef> roots,
                                                 Cardinality& cardinality) {
  if (options_.sparse == RuleUse::kOff) return roots;
  const bool force = options_.sparse == RuleUse::kForce;
  // Half of what is left: results and values need memory, too.
  const double most_bytes = static_cast<double>(budget_->available()) / 2;
  Replacements rewritten;
  for (const NodeRef& node : TopologicalOrder(roots)) {
    NodeRef now = OverReplacements(node, rewritten, program_.planner);
    if (grid_->Find(node) == nullptr) {
      Planner& planner = program_.planner;
      NodeRef product = MakeSampledProduct(now, planner);
      if (product == nullptr)
        product = MakeSparseProduct(now, planner, cardinality, most_bytes, force);
      if (product == nullptr)
        product = MakeProductOfSample(node, rewritten, planner, cardinality, most_bytes, force);
      if (product != nullptr) now = std::move(product);
    }
    rewritten[node.get()] = std::move(now);
  }
  for (NodeRef& root : roots) root = rewritten[root.get()];
  return roots;
}

void Builder::AddJoinFilters(std::vector<NodeRef>& roots, Cardinality& cardinality) {
  if (options_.join_filters == RuleUse::kOff) return;
  const int filters =
      FilterByJoins(roots, program_.planner, cardinality, options_.join_filters == RuleUse::kForce,
                    [this](const NodeRef& node) { return grid_->Find(node) != nullptr; });
  if (filters > 0) program_.rules.push_back({"join filters", absl::StrCat(filters, " joins")});
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

absl::StatusOr<SharedPairs> Builder::SharePairsOf(const std::vector<NodeRef>& roots) {
  const auto name_of = [&](uint64_t table_id) {
    for (const NodeRef& node : TopologicalOrder(roots)) {
      const auto* scan = std::get_if<Scan>(&node->op);
      if (scan != nullptr && scan->table_id == table_id) return scan->table;
    }
    return std::string();
  };
  const auto add_guard = [this](Guard guard) { return grid_->AddGuard(std::move(guard)); };
  return SharePairs(graph_, ArrayRoots(), options_, {tables_, name_of, add_guard, budget_, cache_});
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
  ADJOIN_ASSIGN_OR_RETURN(SharedPairs pairs, SharePairsOf(roots));
  ArrayProgram arrays =
      CompileArrays(GraphOf(pairs.rewritten, graph_), Renumbered(pairs.rewritten, ArrayRoots()),
                    outputs, options_, 0);
  NumberBack(pairs.rewritten, arrays);
  for (RuleReport& report : pairs.reports) arrays.rules.push_back(std::move(report));
  program_.steps = std::move(arrays.steps);
  program_.once = std::move(arrays.once);
  program_.tilings = std::move(arrays.tilings);
  program_.stages = std::move(arrays.stages);
  program_.rules = std::move(arrays.rules);
  program_.predicted_us = std::move(arrays.predicted_us);
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
    Cardinality cardinality([this](const Scan& scan) {
      auto it = tables_.find(scan.table_id);
      return it == tables_.end() ? nullptr : it->second;
    });
    int last_id = 0;
    for (const NodeRef& node : TopologicalOrder(roots)) last_id = std::max(last_id, node->id);
    program_.planner.NumberFrom(last_id + 1);
    roots = WithSparseProducts(std::move(roots), cardinality);
    AddJoinFilters(roots, cardinality);
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
    const std::vector<NodeRef> nodes = TopologicalOrder(roots);
    const auto products = std::count_if(nodes.begin(), nodes.end(), [](const NodeRef& node) {
      return std::holds_alternative<SparseProduct>(node->op) ||
             std::holds_alternative<SampledProduct>(node->op);
    });
    if (products > 0) program_.rules.push_back({"sparse", absl::StrCat(products, " products")});
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
  int64_t scratch = 0, columns = 0;
  for (const auto& step : program_.steps) {
    program_.stats.bytes_written += step->written_bytes;
    scratch = std::max(scratch, step->scratch_bytes());
  }
  for (const ColumnUpdate& update : program_.updates) columns += update.rows * WidthOf(update.type);
  for (int64_t bytes : program_.result_bytes) columns += bytes;
  program_.stats.estimated_peak_bytes = arrays.arena_bytes + scratch + columns;
  return absl::OkStatus();
}

}  // namespace

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::~Program() = default;

absl::StatusOr<std::unique_ptr<Program>> Program::Compile(
    const Statement& statement, const absl::flat_hash_map<uint64_t, TableRef>& tables,
    const PlanOptions& options, const std::shared_ptr<MemoryBudget>& budget, ColumnCache* cache) {
  const auto start = std::chrono::steady_clock::now();
  auto impl = std::make_unique<Impl>();
  for (const Statement::Output& output : statement.outputs) {
    impl->plans.push_back(output.plan);
    impl->sinks.push_back(output.sink);
  }
  ADJOIN_RETURN_IF_ERROR(Builder(statement, tables, options, budget, cache, *impl).Build());
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  impl->stats.plan_ms = elapsed.count();
  return std::unique_ptr<Program>(new Program(std::move(impl)));
}

bool Program::Fits(const absl::flat_hash_map<uint64_t, TableRef>& tables,
                   const std::shared_ptr<MemoryBudget>& budget, ColumnCache* cache) const {
  for (size_t g = 0; g < impl_->guards.size(); ++g) {
    if (!Holds(impl_->guards[g], tables, impl_->guarded[g], budget, cache)) return false;
  }
  return true;
}

}  // namespace adjoin
