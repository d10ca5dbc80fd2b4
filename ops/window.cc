#include "ops/window.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/budget_charge.h"
#include "engine/status.h"
#include "ops/column_file.h"
#include "ops/materialize.h"
#include "ops/scan.h"
#include "ops/window_call.h"
#include "ops/window_needs.h"

namespace adjoin {
namespace {

// Bytes a row of what computing the calls takes beside the values of expressions and the results:
// partitions and order; peers; ranges and the keys they are found by; validity; views of texts; the
// items of one call's frames, which may all be of one partition.
int64_t BytesARow(const WindowStepSpec& spec, std::span<const Vector> order) {
  int64_t bytes =
      24 + SortCodes::BytesARow(order) + (NeedsPeers(spec) ? 12 : 0) + (NeedsRanges(spec) ? 32 : 0);
  int64_t fold = 0;
  for (const WindowCallSpec& call : spec.calls) {
    bytes += 1;
    if (call.result == TypeId::kText) bytes += VectorWidth(call.result);
    if (IsAggregate(call.kind)) fold = 32;
  }
  return bytes + fold;
}

absl::StatusOr<std::vector<ColumnRef>> ComputeCalls(
    const WindowStepSpec& spec, const WindowFrameSpec& frame, const PartitionIds& partitions,
    const std::vector<Vector>& exprs, RunState& state, const PipelineOptions& options) {
  const auto rows = static_cast<int64_t>(partitions.ids.size());
  const auto keys = std::span<const Vector>(exprs);
  const auto order_keys =
      keys.subspan(static_cast<size_t>(spec.num_partition), static_cast<size_t>(spec.num_order));
  BudgetCharge charge(state.budget);
  ADJOIN_RETURN_IF_ERROR(charge.Add(BytesARow(spec, order_keys) * rows));
  const SortCodes codes(order_keys, spec.orders, rows);
  WindowOrder order(partitions, codes, options.morsel_rows);
  std::vector<std::unique_ptr<WindowColumn>> results;
  for (const WindowCallSpec& call : spec.calls) {
    ADJOIN_ASSIGN_OR_RETURN(std::unique_ptr<WindowColumn> result,
                            WindowColumn::Make(call, exprs, rows, state.budget));
    results.push_back(std::move(result));
  }
  const bool by_distance = NeedsRanges(spec);
  const SortCodes* peers = NeedsPeers(spec) ? &codes : nullptr;
  const auto body = [&](int64_t task) -> absl::Status {
    if (state.control != nullptr) ADJOIN_RETURN_IF_ERROR(state.control->Check());
    return order.RunTask(task, [&](const OrderedRows& rows_of) -> absl::Status {
      WindowPartition partition(rows_of, peers);
      if (by_distance) {
        ADJOIN_RETURN_IF_ERROR(
            partition.FindRanges(frame, order_keys[0], spec.orders[0].descending));
      }
      for (auto& result : results) ADJOIN_RETURN_IF_ERROR(result->Compute(frame, partition));
      return absl::OkStatus();
    });
  };
  ADJOIN_RETURN_IF_ERROR(ForEachBlock(state.pool, order.num_tasks(), body));
  std::vector<ColumnRef> columns;
  for (auto& result : results) {
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, result->Finish());
    columns.push_back(std::move(column));
  }
  return columns;
}

absl::Status CheckOffset(const std::string& which, const Value& offset, bool by_distance) {
  if (offset.is_null())
    return SqlError("22004", absl::StrCat("frame ", which, " offset must not be null"));
  // One along the key is looked at where there is a key (FindRanges).
  if (by_distance || offset.as_int() >= 0) return absl::OkStatus();
  return SqlError("22013", absl::StrCat("frame ", which, " offset must not be negative"));
}

// The frame with its offsets: those of a subquery are a column of the relation, which says nothing
// where there is no row.
absl::StatusOr<WindowFrameSpec> FrameOfRun(const WindowStepSpec& spec, const Table& table,
                                           const RunState& run) {
  WindowFrameSpec frame{spec.frame};
  const std::vector<int>& read = spec.offsets.input_columns();
  if (spec.offsets.num_outputs() == 0 || (table.num_rows() == 0 && !read.empty())) return frame;
  BatchArena arena;
  std::vector<Vector> columns(static_cast<size_t>(table.num_columns()));
  for (int c : read) columns[c] = ReadColumn(*table.column(c), 0, 1, arena);
  ExprScratch scratch;
  spec.offsets.Prepare(scratch, 1, run.parameters);
  ADJOIN_RETURN_IF_ERROR(spec.offsets.Run(scratch, columns, 1));
  const bool by_distance = IsByDistance(spec.frame);
  int output = 0;
  const auto next = [&](const std::string& which, int64_t& rows, Value& distance) -> absl::Status {
    const Value value = SingleValue(spec.offsets, scratch, output++);
    ADJOIN_RETURN_IF_ERROR(CheckOffset(which, value, by_distance));
    if (by_distance) return distance = value, absl::OkStatus();
    return rows = value.as_int(), absl::OkStatus();
  };
  if (IsOffset(frame.start))
    ADJOIN_RETURN_IF_ERROR(next("starting", frame.start_offset, frame.start_distance));
  if (IsOffset(frame.end))
    ADJOIN_RETURN_IF_ERROR(next("ending", frame.end_offset, frame.end_distance));
  return frame;
}

}  // namespace

absl::StatusOr<std::vector<ColumnRef>> ComputeWindow(const WindowStepSpec& spec,
                                                     const WindowFrameSpec& frame,
                                                     const Table& table, RunState& run,
                                                     const PipelineOptions& options) {
  const int64_t rows = table.num_rows();
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> flat,
                          EvaluateOverTable(spec.exprs, table, run, options));
  const std::vector<Vector> exprs = VectorsOf(flat);
  BudgetCharge charge(run.budget);
  ADJOIN_RETURN_IF_ERROR(charge.Add(8 * rows));
  const PartitionIds partitions =
      FindPartitions(std::span<const Vector>(exprs).first(static_cast<size_t>(spec.num_partition)),
                     rows, options.batch_rows);
  if (rows == 0 || !IsGroupBy(spec))
    return ComputeCalls(spec, frame, partitions, exprs, run, options);
  std::vector<ColumnRef> columns;
  for (const WindowCallSpec& call : spec.calls) {
    ADJOIN_ASSIGN_OR_RETURN(const ColumnRef values,
                            AggregatePartitions(call, partitions.ids, partitions.count, exprs,
                                                std::pmr::get_default_resource(), run.budget));
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, TakeRows(*values, partitions.ids, run));
    columns.push_back(std::move(column));
  }
  return columns;
}

absl::Status WindowStep::Run(RunState& state) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef table, spec_.relation.Resolve(state));
  ADJOIN_ASSIGN_OR_RETURN(const WindowFrameSpec frame, FrameOfRun(spec_, *table, state));
  ADJOIN_ASSIGN_OR_RETURN(
      const std::vector<ColumnRef> calls,
      RunOrSpill(
          *state.spill, /*can_spill=*/true,
          [&] { return ComputeWindow(spec_, frame, *table, state, options_); },
          [&] { return ComputeWindowInFiles(spec_, frame, *table, state, options_); }));
  std::vector<ColumnRef> columns;
  for (int c : spec_.columns) columns.push_back(table->column(c));
  columns.insert(columns.end(), calls.begin(), calls.end());
  SetRelation(state, out_slot_,
              Table::MakeUnchecked(spec_.schema, std::move(columns), table->num_rows()));
  return absl::OkStatus();
}

std::string WindowStep::Describe() const {
  return absl::StrCat("slot ", out_slot_, " = window ", spec_.relation.ToString(), ", ",
                      spec_.calls.size(), " calls");
}

}  // namespace adjoin
