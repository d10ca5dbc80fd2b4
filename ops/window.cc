#include "ops/window.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/key_table.h"
#include "ops/materialize.h"
#include "ops/window_call.h"

namespace adjoin {
namespace {

// Row numbers by partition, partitions in first-seen order, rows of one ascending; and where each
// begins.
struct Partitions {
  std::vector<int64_t> rows;
  std::vector<int64_t> begins;  // one more than partitions
};

Partitions MakePartitions(std::span<const Vector> keys, int64_t rows, int64_t batch_rows) {
  Partitions result;
  result.rows.resize(static_cast<size_t>(rows));
  if (keys.empty() || rows == 0) {
    std::iota(result.rows.begin(), result.rows.end(), 0);
    result.begins = {0};
    if (rows > 0) result.begins.push_back(rows);
    return result;
  }
  std::vector<TypeId> types;
  for (const Vector& key : keys) types.push_back(key.type);
  KeyTable table(types);
  std::vector<int64_t> ids(static_cast<size_t>(rows));
  std::vector<Vector> slices(keys.size());
  for (int64_t begin = 0; begin < rows; begin += batch_rows) {
    for (size_t k = 0; k < keys.size(); ++k) slices[k] = Slice(keys[k], begin);
    table.FindOrAdd(slices, std::min(batch_rows, rows - begin), ids.data() + begin);
  }
  result.begins.assign(static_cast<size_t>(table.size()) + 1, 0);
  for (int64_t id : ids) ++result.begins[id + 1];
  std::partial_sum(result.begins.begin(), result.begins.end(), result.begins.begin());
  std::vector<int64_t> next(result.begins.begin(), result.begins.end() - 1);
  for (int64_t row = 0; row < rows; ++row) result.rows[next[ids[row]]++] = row;
  return result;
}

// Ranges of partitions that are worth a task each.
std::vector<size_t> TaskBounds(const Partitions& partitions, int64_t rows_a_task) {
  std::vector<size_t> bounds = {0};
  int64_t begin = 0;
  for (size_t p = 0; p + 1 < partitions.begins.size(); ++p) {
    if (partitions.begins[p + 1] - begin < rows_a_task) continue;
    bounds.push_back(p + 1);
    begin = partitions.begins[p + 1];
  }
  if (bounds.back() + 1 < partitions.begins.size()) bounds.push_back(partitions.begins.size() - 1);
  return bounds;
}

}  // namespace

absl::Status WindowStep::Run(RunState& state) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef table, spec_.relation.Resolve(state));
  const int64_t rows = table->num_rows();
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> flat,
                          EvaluateOverTable(spec_.exprs, *table, state, options_));
  const std::vector<Vector> exprs = VectorsOf(flat);
  const std::span<const Vector> keys(exprs);
  Partitions partitions =
      MakePartitions(keys.first(spec_.num_partition), rows, options_.batch_rows);
  const SortCodes order(keys.subspan(spec_.num_partition, spec_.num_order), spec_.orders, rows);
  std::vector<std::unique_ptr<WindowColumn>> results;
  for (const WindowCallSpec& call : spec_.calls) {
    results.push_back(std::make_unique<WindowColumn>(call, exprs, rows));
  }
  const std::vector<size_t> bounds = TaskBounds(partitions, options_.morsel_rows);
  const bool by_distance = spec_.frame.mode == WindowFrameMode::kRange && spec_.num_order == 1;
  const Vector* range_key = by_distance ? &exprs[spec_.num_partition] : nullptr;
  const bool descending = by_distance && spec_.orders[0].descending;
  const auto body = [&](int64_t task) -> absl::Status {
    if (state.control != nullptr) ADJOIN_RETURN_IF_ERROR(state.control->Check());
    for (size_t p = bounds[task]; p < bounds[task + 1]; ++p) {
      const auto members =
          std::span(partitions.rows)
              .subspan(partitions.begins[p], partitions.begins[p + 1] - partitions.begins[p]);
      SortRows(order, members);
      const WindowPartition partition(members, order, range_key, descending);
      for (auto& result : results) ADJOIN_RETURN_IF_ERROR(result->Compute(spec_.frame, partition));
    }
    return absl::OkStatus();
  };
  const auto tasks = static_cast<int64_t>(bounds.size()) - 1;
  if (state.pool != nullptr) {
    ADJOIN_RETURN_IF_ERROR(state.pool->ForEachBlock(tasks, body));
  } else {
    for (int64_t task = 0; task < tasks; ++task) ADJOIN_RETURN_IF_ERROR(body(task));
  }
  std::vector<ColumnRef> columns;
  for (int c : spec_.columns) columns.push_back(table->column(c));
  for (auto& result : results) {
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, MakeColumn(result->Result(), rows, state.budget));
    columns.push_back(std::move(column));
  }
  SetRelation(state, out_slot_, Table::MakeUnchecked(spec_.schema, std::move(columns), rows));
  return absl::OkStatus();
}

std::string WindowStep::Describe() const {
  return absl::StrCat("slot ", out_slot_, " = window ", spec_.relation.ToString(), ", ",
                      spec_.calls.size(), " calls");
}

}  // namespace adjoin
