#include "plan/rows_builder.h"

#include <algorithm>
#include <numeric>

#include "engine/status.h"
#include "ops/map_rows.h"
#include "ops/materialize.h"
#include "plan/column_needs.h"
#include "plan/compile_expr.h"
#include "plan/row_estimate.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// Longer pipelines are cut by a stored relation: batches go through operators by recursion.
constexpr size_t kMaxOperators = 48;
// A stream that is computed again in each reader may grow only so many branches.
constexpr size_t kMaxBranches = 16;

// The inputs before their readers, stopping at nodes for which `stop` holds.
std::vector<NodeRef> OrderBelow(const std::vector<NodeRef>& roots,
                                const std::function<bool(const NodeRef&)>& stop) {
  std::vector<NodeRef> order;
  absl::flat_hash_map<const Node*, bool> seen;
  std::vector<std::pair<NodeRef, size_t>> stack;
  for (const NodeRef& root : roots) {
    if (!seen.emplace(root.get(), true).second) continue;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == node->inputs.size() || stop(node)) {
        order.push_back(std::move(node));
        stack.pop_back();
        continue;
      }
      const NodeRef input = node->inputs[next++];
      if (seen.emplace(input.get(), true).second) stack.emplace_back(input, 0);
    }
  }
  return order;
}

// A filter's `column <= rows`.
struct RowBound {
  int column;
  int64_t rows;
};

std::vector<RowBound> BoundsOf(const ExprRef& predicate) {
  std::vector<RowBound> bounds;
  for (const ExprRef& c : Conjuncts(predicate)) {
    if (c->kind != ExprKind::kCall || c->args.size() != 2) continue;
    const std::string_view name = c->function->name;
    const Expr *column = c->args[0].get(), *bound = c->args[1].get();
    if (name == "=" && column->kind == ExprKind::kConstant) std::swap(column, bound);
    if ((name == "<=" || name == "<" || name == "=") && column->kind == ExprKind::kColumn &&
        bound->kind == ExprKind::kConstant && bound->constant.is_int()) {
      bounds.push_back({column->index, bound->constant.as_int() - (name == "<" ? 1 : 0)});
    }
  }
  return bounds;
}

// The least k of ROW_NUMBER() <= k among bounds of a window's columns, where what it computes of a
// row follows from the rows before it; 0: there is none, or it is large.
int64_t TopOf(const Node& window, const std::vector<RowBound>& bounds) {
  constexpr int64_t kMost = 64;  // rows are found by insertion
  const std::vector<WindowCall>& calls = std::get<Window>(window.op).calls;
  const bool prefix = std::all_of(calls.begin(), calls.end(), [](const WindowCall& call) {
    return call.function == WindowFunction::kRowNumber || call.function == WindowFunction::kRank ||
           call.function == WindowFunction::kDenseRank;
  });
  if (!prefix) return 0;
  const int first_call = window.inputs[0]->width();
  int64_t top = kMost + 1;
  for (const RowBound& bound : bounds) {
    if (bound.column < first_call) continue;
    const WindowCall& call = calls[static_cast<size_t>(bound.column - first_call)];
    if (call.function == WindowFunction::kRowNumber) top = std::min(top, bound.rows);
  }
  return top > kMost ? 0 : std::max<int64_t>(top, 1);
}

}  // namespace

std::vector<int> ColumnsNeeded(const NodeState& state) {
  std::vector<int> columns;
  for (size_t c = 0; c < state.needed.size(); ++c) {
    if (state.needed[c] != 0) columns.push_back(static_cast<int>(c));
  }
  return columns;
}

Schema SchemaOf(const Node& node, const std::vector<int>& columns) {
  Schema schema;
  for (int c : columns) {
    const auto i = static_cast<size_t>(c);
    schema.fields.push_back({i < node.names.size() ? node.names[i] : "", node.types[i]});
  }
  return schema;
}

RowsBuilder::RowsBuilder(const PlanOptions& options, const std::vector<NodeRef>& roots,
                         RowsLoweringInputs inputs)
    : options_(options),
      pipeline_{options.batch_rows, options.morsel_rows},
      inputs_(std::move(inputs)) {
  std::vector<NodeRef> provided;
  const std::vector<NodeRef> order =
      OrderBelow(roots, [&](const NodeRef& n) { return IsProvided(n); });
  for (const NodeRef& node : order) {
    if (IsProvided(node)) provided.push_back(node);
  }
  const ColumnNeeds needs = FindColumnNeeds(order, roots, provided);
  const RowEstimates estimates =
      EstimateRows(order, [&](const NodeRef& n) { return KnownRows(n); });
  for (const NodeRef& node : order) {
    NodeState& state = states_[node.get()];
    state.node = node;
    state.needed = needs.at(node.get());
    state.rows = estimates.at(node.get());
  }
  for (const NodeRef& node : order) {
    if (IsProvided(node)) continue;
    for (const NodeRef& input : node->inputs) ++states_[input.get()].readers;
  }
  for (const NodeRef& root : roots) ++states_[root.get()].readers, roots_[root.get()] = true;
  for (const NodeRef& node : order) {
    const auto* filter = std::get_if<Filter>(&node->op);
    if (filter != nullptr && !IsProvided(node)) NoteTop(*node, filter->predicate);
  }
}

void RowsBuilder::NoteTop(const Node& filter, const ExprRef& predicate) {
  std::vector<RowBound> bounds = BoundsOf(predicate);
  const NodeRef* below = &filter.inputs[0];
  while (!bounds.empty() && !IsProvided(*below) && states_.at(below->get()).readers == 1) {
    const Node& node = **below;
    if (std::holds_alternative<Window>(node.op)) states_.at(&node).top = TopOf(node, bounds);
    const auto* project = std::get_if<Project>(&node.op);
    if (project == nullptr) return;
    const auto expr = [&](const RowBound& bound) -> const Expr& {
      return *project->exprs[static_cast<size_t>(bound.column)];
    };
    std::erase_if(bounds, [&](const RowBound& b) { return expr(b).kind != ExprKind::kColumn; });
    for (RowBound& bound : bounds) bound.column = expr(bound).index;
    below = &node.inputs[0];
  }
}

absl::StatusOr<int> RowsBuilder::Lower(const NodeRef& root) {
  NodeState& state = states_.at(root.get());
  if (const std::optional<int> slot = ProvidedSlot(root)) return *slot;
  if (state.root_slot >= 0) return state.root_slot;
  const auto done = [&](const NodeRef& n) { return states_.at(n.get()).lowered; };
  const auto stop = [&](const NodeRef& n) { return done(n) || IsProvided(n); };
  for (const NodeRef& node : OrderBelow({root}, stop)) {
    if (!done(node)) ADJOIN_RETURN_IF_ERROR(LowerNode(states_.at(node.get())));
  }
  return state.root_slot;
}

double RowsBuilder::KnownRows(const NodeRef& node) const {
  const double rows = inputs_.known_rows == nullptr ? -1 : inputs_.known_rows(node);
  return rows < 0 && IsProvided(node) ? 1000 : rows;
}

std::optional<int> RowsBuilder::ProvidedSlot(const NodeRef& node) const {
  return inputs_.provided_slot == nullptr ? std::nullopt : inputs_.provided_slot(node);
}

absl::Status RowsBuilder::LowerNode(NodeState& state) {
  if (const std::optional<int> slot = ProvidedSlot(state.node)) {
    SetView(state, RelationRef{*slot, 0}, state.node->width());
  } else {
    ADJOIN_RETURN_IF_ERROR(
        std::visit([&](const auto& op) { return LowerOp(op, state); }, state.node->op));
    for (size_t i = 0; i < state.node->inputs.size(); ++i) Leave(input(state, i));
  }
  state.lowered = true;
  if (roots_.contains(state.node.get()) && !IsProvided(state.node)) {
    ADJOIN_RETURN_IF_ERROR(StoreRoot(state));
  } else if (!state.stream.view.has_value() && MustStore(state)) {
    ADJOIN_RETURN_IF_ERROR(Store(state));
  }
  ReleaseUnread();
  return absl::OkStatus();
}

bool RowsBuilder::MustStore(const NodeState& state) const {
  if (state.stream.num_operators() > kMaxOperators) return true;
  if (state.readers <= 1) return false;
  double width = 1;
  for (int c : ColumnsNeeded(state)) width += static_cast<double>(WidthOf(state.node->types[c]));
  const bool fits = state.rows * width <= static_cast<double>(options_.work_mem);
  return fits || !state.stream.repeatable || state.stream.branches.size() > kMaxBranches;
}

void RowsBuilder::SetStream(NodeState& state, RowStream stream) {
  AddReferences(stream.slots);
  DropReferences(state.stream.slots);
  state.stream = std::move(stream);
  for (Branch& branch : state.stream.branches)
    branch.taps.push_back({branch.operators.size(), state.node->id});
}

void RowsBuilder::AddReferences(const std::vector<int>& slots) {
  for (int slot : slots) ++references_[slot];
}

void RowsBuilder::DropReferences(const std::vector<int>& slots) {
  for (int slot : slots) {
    auto it = references_.find(slot);
    if (it != references_.end() && --it->second == 0)
      unread_.push_back(slot), references_.erase(it);
  }
}

void RowsBuilder::Leave(NodeState& state) {
  if (--state.readers > 0) return;
  DropReferences(state.stream.slots);
  state.stream = RowStream();
}

void RowsBuilder::ReleaseUnread() {
  std::vector<int> slots;
  for (int slot : std::exchange(unread_, {})) {
    if (own_slots_.contains(slot)) slots.push_back(slot);
  }
  if (!slots.empty()) steps_.push_back(std::make_unique<ReleaseStep>(std::move(slots)));
}

int RowsBuilder::NewSlot() {
  const int slot = inputs_.new_slot();
  own_slots_[slot] = true;
  return slot;
}

RowStream RowsBuilder::View(RelationRef relation, int columns) {
  RowStream stream;
  stream.view = relation;
  stream.width = columns;
  stream.view_columns.resize(static_cast<size_t>(columns));
  std::iota(stream.view_columns.begin(), stream.view_columns.end(), 0);
  if (relation.slot >= 0) stream.slots = {relation.slot};
  return stream;
}

void RowsBuilder::SetView(NodeState& state, RelationRef relation, int columns) {
  RowStream stream = View(relation, columns);
  stream.position = stream.view_columns;
  SetStream(state, std::move(stream));
}

void RowsBuilder::SetStored(NodeState& state, int slot) {
  const std::vector<int> columns = ColumnsNeeded(state);
  RowStream stream = View(RelationRef{slot, 0}, static_cast<int>(columns.size()));
  stream.position = PositionsOf(columns, state.node->width());
  SetStream(state, std::move(stream));
  state.made_slot = slot;
  slot_nodes_.push_back({slot, state.node->id});
}

std::vector<int> RowsBuilder::PositionsOf(const std::vector<int>& columns, int width) {
  std::vector<int> position(static_cast<size_t>(width), -1);
  for (size_t i = 0; i < columns.size(); ++i)
    position[static_cast<size_t>(columns[i])] = static_cast<int>(i);
  return position;
}

absl::Status RowsBuilder::Arrange(RowStream& stream, const Node& node,
                                  const std::vector<int>& columns) {
  stream.Open();
  bool arranged = stream.width == static_cast<int>(columns.size());
  std::vector<ExprRef> picks;
  for (size_t i = 0; i < columns.size(); ++i) {
    const int at = stream.position[static_cast<size_t>(columns[i])];
    arranged = arranged && at == static_cast<int>(i);
    picks.push_back(ColumnExpr(at, node.types[static_cast<size_t>(columns[i])]));
  }
  if (!arranged) {
    ADJOIN_ASSIGN_OR_RETURN(CompiledExpr exprs, CompileExprs(picks));
    stream.Append(std::make_shared<ProjectRows>(std::move(exprs)), static_cast<int>(columns.size()),
                  true);
    stream.position = PositionsOf(columns, node.width());
  }
  return absl::OkStatus();
}

void RowsBuilder::AddPipeline(const RowStream& stream, std::unique_ptr<const PipelineSink> sink,
                              int slot) {
  for (const Branch& branch : stream.branches)
    num_operators_ += 1 + static_cast<int>(branch.operators.size());
  ++num_operators_;
  num_base_table_reads_ += stream.base_table_scans;
  steps_.push_back(
      std::make_unique<PipelineStep>(stream.branches, std::move(sink), slot, pipeline_));
}

absl::Status RowsBuilder::Store(NodeState& state) {
  if (state.stream.join != nullptr) return StorePairs(state);
  const std::vector<int> columns = ColumnsNeeded(state);
  ADJOIN_RETURN_IF_ERROR(Arrange(state.stream, *state.node, columns));
  const int slot = NewSlot();
  AddPipeline(state.stream, std::make_unique<MaterializeSink>(SchemaOf(*state.node, columns)),
              slot);
  SetStored(state, slot);
  return absl::OkStatus();
}

absl::Status RowsBuilder::StoreRoot(NodeState& state) {
  const std::vector<int> columns = ColumnsNeeded(state);  // all of them
  const Schema schema = SchemaOf(*state.node, columns);
  if (state.stream.view.has_value() && !IsWhole(state)) {
    std::vector<int> from;
    for (int c : columns) from.push_back(state.stream.table_column(c));
    state.root_slot = NewSlot();
    steps_.push_back(
        std::make_unique<ViewStep>(*state.stream.view, std::move(from), schema, state.root_slot));
    SetStored(state, state.root_slot);
  } else {
    if (!state.stream.view.has_value()) ADJOIN_RETURN_IF_ERROR(Store(state));
    state.root_slot = state.stream.view->slot;
  }
  return absl::OkStatus();
}

bool RowsBuilder::IsWhole(const NodeState& state) const {
  const int slot = state.stream.view->slot;
  return slot >= 0 && slot == state.made_slot &&
         state.stream.view_columns == state.stream.position &&
         static_cast<int>(state.stream.view_columns.size()) == state.node->width();
}

absl::StatusOr<const RowStream*> RowsBuilder::Stored(NodeState& state) {
  if (!state.stream.view.has_value()) ADJOIN_RETURN_IF_ERROR(Store(state));
  return &state.stream;
}

void RowsBuilder::NoteRead(const RowStream& view) {
  if (view.view->slot < 0) ++num_base_table_reads_;
}

}  // namespace adjoin
