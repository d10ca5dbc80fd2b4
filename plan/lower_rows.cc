#include "plan/lower_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "engine/status.h"
#include "ops/hash_aggregate.h"
#include "ops/map_rows.h"
#include "ops/materialize.h"
#include "ops/require.h"
#include "ops/scan.h"
#include "ops/sort.h"
#include "ops/top_rows.h"
#include "ops/window.h"
#include "plan/compile_expr.h"
#include "plan/rows_builder.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

void AddSortKeys(const std::vector<SortKey>& keys, std::vector<ExprRef>& exprs,
                 std::vector<SortOrder>& orders) {
  for (const SortKey& key : keys) {
    exprs.push_back(key.expr);
    orders.push_back({key.descending, key.nulls_first});
  }
}

WindowCallSpec CallSpec(const WindowCall& call, std::vector<ExprRef>& exprs,
                        std::vector<ExprRef>& guards) {
  WindowCallSpec spec;
  spec.kind = call.function;
  spec.result = call.type;
  int* const places[] = {&spec.arg, &spec.second, &spec.fallback};
  const bool shifts =
      call.function == WindowFunction::kLag || call.function == WindowFunction::kLead;
  for (size_t i = 0; i < call.args.size() && i < 3; ++i) {
    const Expr& arg = *call.args[i];
    if (shifts && i == 1 && arg.kind == ExprKind::kConstant && !arg.constant.is_null()) {
      spec.offset = arg.constant.as_int();
      continue;
    }
    *places[i] = static_cast<int>(exprs.size());
    exprs.push_back(call.args[i]);
    guards.push_back(call.filter);  // arguments are evaluated where the FILTER is TRUE
  }
  if (call.filter != nullptr) {
    spec.filter = static_cast<int>(exprs.size());
    exprs.push_back(call.filter);
    guards.emplace_back();
  }
  return spec;
}

// A predicate as conditions that each read other columns; as one where it can fail, since errors
// count in rows where what stands before is not FALSE.
absl::StatusOr<std::vector<CompiledExpr>> CompileConditions(const ExprRef& predicate,
                                                            std::span<const int> positions) {
  std::vector<CompiledExpr> conditions;
  ADJOIN_ASSIGN_OR_RETURN(conditions.emplace_back(), CompileExprs({&predicate, 1}, positions));
  if (conditions[0].can_fail()) return conditions;
  std::map<std::vector<int>, std::vector<ExprRef>> by_columns;
  for (const ExprRef& conjunct : Conjuncts(predicate))
    by_columns[ColumnsOf(conjunct)].push_back(conjunct);
  if (by_columns.size() == 1) return conditions;
  conditions.clear();
  for (const auto& [columns, conjuncts] : by_columns) {
    const ExprRef condition = AndAll(conjuncts);
    ADJOIN_ASSIGN_OR_RETURN(conditions.emplace_back(), CompileExprs({&condition, 1}, positions));
  }
  return conditions;
}

}  // namespace

absl::Status RowsBuilder::LowerOp(const Scan& scan, NodeState& state) {
  SetView(state, RelationRef{-1, scan.table_id}, state.node->width());
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const Values& values, NodeState& state) {
  std::vector<std::vector<ValuesCell>> rows;
  std::vector<ExprRef> computed;
  const std::vector<int> columns = ColumnsNeeded(state);
  for (const std::vector<ExprRef>& row : values.rows) {
    std::vector<ValuesCell>& cells = rows.emplace_back();
    for (int c : columns) {
      const ExprRef& expr = row[static_cast<size_t>(c)];
      if (expr->kind == ExprKind::kConstant) {
        cells.push_back({expr->constant, -1});
      } else {
        cells.push_back({Value(), static_cast<int>(computed.size())});
        computed.push_back(expr);
      }
    }
  }
  std::vector<TypeId> types;
  for (int c : columns) types.push_back(values.types[static_cast<size_t>(c)]);
  ADJOIN_ASSIGN_OR_RETURN(CompiledExpr exprs, CompileExprs(computed));
  SetSource(state,
            std::make_shared<ValuesSource>(std::move(rows), std::move(types), std::move(exprs)),
            columns);
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const Series& series, NodeState& state) {
  const std::vector<ExprRef> bounds = {series.start, series.stop, series.step};
  ADJOIN_ASSIGN_OR_RETURN(CompiledExpr exprs, CompileExprs(bounds));
  SetSource(state, std::make_shared<SeriesSource>(std::move(exprs), state.node->types[0]), {0});
  return absl::OkStatus();
}

void RowsBuilder::SetSource(NodeState& state, std::shared_ptr<const Source> source,
                            const std::vector<int>& columns) {
  RowStream stream;
  stream.branches = {Branch{std::move(source), {}}};
  stream.position = PositionsOf(columns, state.node->width());
  stream.width = static_cast<int>(columns.size());
  SetStream(state, std::move(stream));
}

absl::Status RowsBuilder::LowerOp(const Filter& filter, NodeState& state) {
  RowStream stream = input(state, 0).stream;
  stream.Open();
  ADJOIN_ASSIGN_OR_RETURN(std::vector<CompiledExpr> conditions,
                          CompileConditions(filter.predicate, stream.position));
  const std::vector<int> columns = ColumnsNeeded(state);
  std::vector<int> keep;
  for (int c : columns) keep.push_back(stream.position[static_cast<size_t>(c)]);
  const int width = static_cast<int>(keep.size());
  stream.Append(std::make_shared<FilterRows>(std::move(conditions), std::move(keep)), width, false);
  stream.position = PositionsOf(columns, state.node->width());
  SetStream(state, std::move(stream));
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const Project& project, NodeState& state) {
  RowStream stream = input(state, 0).stream;
  const std::vector<int> columns = ColumnsNeeded(state);
  std::vector<ExprRef> exprs;
  std::vector<int> position(static_cast<size_t>(state.node->width()), -1);
  bool picks_only = true;
  for (int c : columns) {
    const ExprRef& expr = project.exprs[static_cast<size_t>(c)];
    exprs.push_back(expr);
    picks_only = picks_only && expr->kind == ExprKind::kColumn;
    if (picks_only)
      position[static_cast<size_t>(c)] = stream.position[static_cast<size_t>(expr->index)];
  }
  if (picks_only) {
    stream.position = std::move(position);
  } else {
    stream.Open();
    ADJOIN_ASSIGN_OR_RETURN(CompiledExpr compiled, CompileExprs(exprs, stream.position));
    stream.Append(std::make_shared<ProjectRows>(std::move(compiled)),
                  static_cast<int>(columns.size()), true);
    stream.position = PositionsOf(columns, state.node->width());
  }
  SetStream(state, std::move(stream));
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const RowId&, NodeState& state) {
  NodeState& in = input(state, 0);
  const auto id = static_cast<size_t>(state.node->width()) - 1;
  // Dense row numbers serve their readers best; only what is too large to keep is numbered as it
  // streams.
  const bool fits = in.rows * 8 * (1 + in.node->width()) <= static_cast<double>(options_.work_mem);
  if (state.needed[id] != 0 && !in.stream.one_to_one && fits)
    ADJOIN_RETURN_IF_ERROR(Stored(in).status());
  RowStream stream = in.stream;
  stream.position.push_back(-1);
  if (state.needed[id] != 0) {
    stream.Open();
    stream.position[id] = stream.width;
    stream.repeatable = stream.repeatable && stream.one_to_one;
    stream.Append(std::make_shared<AppendRowIds>(stream.one_to_one), stream.width + 1, true);
  }
  SetStream(state, std::move(stream));
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const UnionAll&, NodeState& state) {
  // One union over another takes its branches over; a longer chain is stored now and then, so that
  // they are not copied as often as it is long.
  constexpr size_t kMostBranches = 256;
  const std::vector<int> columns = ColumnsNeeded(state);
  RowStream all;
  all.one_to_one = false;
  for (size_t i = 0; i < state.node->inputs.size(); ++i) {
    if (input(state, i).stream.branches.size() > kMostBranches)
      ADJOIN_RETURN_IF_ERROR(Stored(input(state, i)).status());
    RowStream stream = input(state, i).stream;
    ADJOIN_RETURN_IF_ERROR(Arrange(stream, *state.node->inputs[i], columns));
    all.branches.insert(all.branches.end(), stream.branches.begin(), stream.branches.end());
    all.slots.insert(all.slots.end(), stream.slots.begin(), stream.slots.end());
    all.base_table_scans += stream.base_table_scans;
    all.repeatable = all.repeatable && stream.repeatable;
  }
  all.position = PositionsOf(columns, state.node->width());
  all.width = static_cast<int>(columns.size());
  SetStream(state, std::move(all));
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const GroupBy& group_by, NodeState& state) {
  RowStream stream = input(state, 0).stream;
  stream.Open();
  HashAggregateSpec spec;
  std::vector<ExprRef> exprs = group_by.keys;
  spec.num_keys = static_cast<int>(exprs.size());
  std::vector<ExprRef> guards(exprs.size());  // an argument is evaluated where its FILTER is TRUE
  const auto add = [&](const ExprRef& expr, const ExprRef& guard) {
    if (expr == nullptr) return -1;
    exprs.push_back(expr);
    guards.push_back(guard);
    return static_cast<int>(exprs.size()) - 1;
  };
  std::vector<int> columns(
      group_by.keys.size());  // of the result: every key, and the aggregates that are read
  std::iota(columns.begin(), columns.end(), 0);
  for (size_t a = 0; a < group_by.aggregates.size(); ++a) {
    const size_t column = group_by.keys.size() + a;
    if (state.needed[column] == 0) continue;
    columns.push_back(static_cast<int>(column));
    const Aggregate& aggregate = group_by.aggregates[a];
    AggregateSpec call;
    call.kind = aggregate.function;
    call.arg = aggregate.function == AggregateFunction::kCountStar
                   ? -1
                   : add(aggregate.arg, aggregate.filter);
    const bool squares = aggregate.function == AggregateFunction::kComoment &&
                         SameExpr(aggregate.arg, aggregate.second);
    if (!squares) call.second = add(aggregate.second, aggregate.filter);
    call.filter = add(aggregate.filter, nullptr);
    call.distinct = aggregate.distinct && call.arg >= 0;
    call.result = aggregate.type;
    spec.aggregates.push_back(call);
  }
  for (size_t k = 0; k < group_by.keys.size(); ++k) state.needed[k] = 1;
  ADJOIN_ASSIGN_OR_RETURN(spec.exprs, CompileExprs(exprs, stream.position, guards));
  spec.schema = SchemaOf(*state.node, columns);
  spec.expected_groups = state.rows;
  const int slot = NewSlot();
  AddPipeline(stream, std::make_unique<HashAggregate>(std::move(spec)), slot);
  SetStored(state, slot);
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const Limit& limit, NodeState& state) {
  RowStream stream = input(state, 0).stream;
  const std::vector<int> columns = ColumnsNeeded(state);
  ADJOIN_RETURN_IF_ERROR(Arrange(stream, *state.node, columns));
  const ExprRef none = NullExpr(TypeId::kInt64);
  const std::vector<ExprRef> bounds = {
      limit.limit == nullptr ? none : CastTo(limit.limit, TypeId::kInt64),
      limit.offset == nullptr ? none : CastTo(limit.offset, TypeId::kInt64)};
  ADJOIN_ASSIGN_OR_RETURN(CompiledExpr compiled, CompileExprs(bounds));
  const int slot = NewSlot();
  AddPipeline(
      stream,
      std::make_unique<MaterializeSink>(SchemaOf(*state.node, columns), std::move(compiled)), slot);
  SetStored(state, slot);
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const Sort& sort, NodeState& state) {
  ADJOIN_ASSIGN_OR_RETURN(const RowStream* in, Stored(input(state, 0)));
  NoteRead(*in);
  SortSpec spec;
  spec.relation = *in->view;
  std::vector<ExprRef> keys;
  AddSortKeys(sort.keys, keys, spec.orders);
  ADJOIN_ASSIGN_OR_RETURN(spec.keys, CompileExprs(keys, in->table_columns()));
  const std::vector<int> columns = ColumnsNeeded(state);
  for (int c : columns) spec.columns.push_back(in->table_column(c));
  spec.schema = SchemaOf(*state.node, columns);
  const int slot = NewSlot();
  ++num_operators_;
  steps_.push_back(std::make_unique<SortStep>(std::move(spec), slot, pipeline_));
  SetStored(state, slot);
  return absl::OkStatus();
}

absl::Status RowsBuilder::KeepTopRows(const Window& window, int64_t top, NodeState& in) {
  const RowStream& stream = in.stream;
  TopRowsSpec spec;
  spec.relation = *stream.view;
  spec.limit = top;
  std::vector<ExprRef> exprs = window.partition;
  spec.num_partition = static_cast<int>(exprs.size());
  AddSortKeys(window.order, exprs, spec.orders);
  ADJOIN_ASSIGN_OR_RETURN(spec.exprs, CompileExprs(exprs, stream.table_columns()));
  const std::vector<int> columns = ColumnsNeeded(in);
  for (int c : columns) spec.columns.push_back(stream.table_column(c));
  spec.schema = SchemaOf(*in.node, columns);
  const int slot = NewSlot();
  ++num_operators_;
  steps_.push_back(std::make_unique<TopRowsStep>(std::move(spec), slot, pipeline_));
  RowStream rows = View(RelationRef{slot, 0}, static_cast<int>(columns.size()));
  rows.position = PositionsOf(columns, in.node->width());
  SetStream(in, std::move(rows));
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const Window& window, NodeState& state) {
  NodeState& input_state = input(state, 0);
  ADJOIN_ASSIGN_OR_RETURN(const RowStream* in, Stored(input_state));
  NoteRead(*in);
  if (state.top > 0 && input_state.readers == 1)
    ADJOIN_RETURN_IF_ERROR(KeepTopRows(window, state.top, input_state));
  WindowStepSpec spec;
  spec.relation = *in->view;
  std::vector<ExprRef> exprs = window.partition;
  spec.num_partition = static_cast<int>(window.partition.size());
  spec.num_order = static_cast<int>(window.order.size());
  AddSortKeys(window.order, exprs, spec.orders);
  const int in_width = state.node->inputs[0]->width();
  const std::vector<int> columns = ColumnsNeeded(state);
  std::vector<ExprRef> guards(exprs.size());
  for (int c : columns) {
    if (c < in_width) {
      spec.columns.push_back(in->table_column(c));
    } else {
      spec.calls.push_back(
          CallSpec(window.calls[static_cast<size_t>(c - in_width)], exprs, guards));
    }
  }
  ADJOIN_ASSIGN_OR_RETURN(spec.exprs, CompileExprs(exprs, in->table_columns(), guards));
  spec.frame = window.frame;
  std::vector<ExprRef> offsets;
  if (IsOffset(window.frame.start)) offsets.push_back(window.frame.start_offset);
  if (IsOffset(window.frame.end)) offsets.push_back(window.frame.end_offset);
  ADJOIN_ASSIGN_OR_RETURN(spec.offsets, CompileExprs(offsets, in->table_columns()));
  spec.schema = SchemaOf(*state.node, columns);
  const int slot = NewSlot();
  ++num_operators_;
  steps_.push_back(std::make_unique<WindowStep>(std::move(spec), slot, pipeline_));
  SetStored(state, slot);
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const Require& require, NodeState& state) {
  ADJOIN_ASSIGN_OR_RETURN(const RowStream* in, Stored(input(state, 0)));
  RequireSpec spec;
  spec.what = static_cast<RequireSpec::What>(require.what);
  spec.relation = *in->view;
  for (int c : require.columns) spec.columns.push_back(in->table_column(c));
  spec.sqlstate = require.sqlstate;
  spec.message = require.message;
  ++num_operators_;
  steps_.push_back(std::make_unique<RequireStep>(std::move(spec)));
  SetStream(state, *in);
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const Derivative&, NodeState&) {
  return SqlError(sqlstate::kInternalError, "a derivative was left in the plan");
}

RowsLowering::RowsLowering(const PlanOptions& options, const std::vector<NodeRef>& roots,
                           RowsLoweringInputs inputs)
    : builder_(std::make_unique<RowsBuilder>(options, roots, std::move(inputs))) {}
RowsLowering::~RowsLowering() = default;
absl::StatusOr<int> RowsLowering::Lower(const NodeRef& root) { return builder_->Lower(root); }
std::vector<std::unique_ptr<Step>> RowsLowering::TakeSteps() { return builder_->TakeSteps(); }
int RowsLowering::num_operators() const { return builder_->num_operators(); }
int RowsLowering::num_base_table_reads() const { return builder_->num_base_table_reads(); }
const std::vector<SlotNode>& RowsLowering::slot_nodes() const { return builder_->slot_nodes(); }

}  // namespace adjoin
