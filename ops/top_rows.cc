#include "ops/top_rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/budget_charge.h"
#include "ops/column_access.h"
#include "ops/column_file.h"
#include "ops/materialize.h"
#include "ops/spill.h"
#include "ops/window_order.h"

namespace adjoin {

absl::StatusOr<std::vector<int64_t>> TopRowsStep::Find(const Table& table, RunState& state) const {
  const int64_t rows = table.num_rows();
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> flat,
                          EvaluateOverTable(spec_.exprs, table, state, options_));
  const std::vector<Vector> keys = VectorsOf(flat);
  const auto split = static_cast<size_t>(spec_.num_partition);
  const auto order = std::span<const Vector>(keys).subspan(split);
  BudgetCharge charge(state.budget);
  ADJOIN_RETURN_IF_ERROR(charge.Add((16 + SortCodes::BytesARow(order)) * rows));
  const PartitionIds partitions =
      FindPartitions(std::span<const Vector>(keys).first(split), rows, options_.batch_rows);
  // What is kept is at most `limit` rows a partition: worth finding where that is half at most.
  if (partitions.count > rows / 2 / spec_.limit) return std::vector<int64_t>();
  const SortCodes codes(order, spec_.orders, rows);
  const auto limit = static_cast<size_t>(spec_.limit);
  std::vector<int64_t> kept(static_cast<size_t>(partitions.count) * limit);  // in order
  std::vector<size_t> sizes(static_cast<size_t>(partitions.count));
  for (int64_t row = 0; row < rows; ++row) {
    const auto p = static_cast<size_t>(partitions.ids[static_cast<size_t>(row)]);
    int64_t* const first = kept.data() + p * limit;
    size_t at = sizes[p];
    if (at == limit) {
      // Later rows come behind equal ones.
      if (!codes.Less(row, first[--at])) continue;
    } else {
      ++sizes[p];
    }
    for (; at > 0 && codes.Less(row, first[at - 1]); --at) first[at] = first[at - 1];
    first[at] = row;
  }
  std::vector<int64_t> top;
  for (size_t p = 0; p < sizes.size(); ++p) {
    const auto begin = kept.begin() + static_cast<ptrdiff_t>(p * limit);
    top.insert(top.end(), begin, begin + static_cast<ptrdiff_t>(sizes[p]));
  }
  std::sort(top.begin(), top.end());
  return top;
}

absl::Status TopRowsStep::Run(RunState& state) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef table, spec_.relation.Resolve(state));
  absl::StatusOr<std::vector<int64_t>> top = Find(*table, state);
  if (!top.ok() && !IsOutOfMemory(top.status())) return top.status();
  const bool all = !top.ok() || top->empty();
  std::vector<ColumnRef> columns;
  for (int c : spec_.columns) {
    ColumnRef column = table->column(c);
    if (!all) {
      ADJOIN_ASSIGN_OR_RETURN(column, TakeRows(*column, *top, state));
    }
    columns.push_back(std::move(column));
  }
  const int64_t rows = all ? table->num_rows() : std::ssize(*top);
  SetRelation(state, out_slot_, Table::MakeUnchecked(spec_.schema, std::move(columns), rows));
  return absl::OkStatus();
}

std::string TopRowsStep::Describe() const {
  return absl::StrCat("slot ", out_slot_, " = first ", spec_.limit, " rows by ",
                      spec_.num_partition, " keys of ", spec_.relation.ToString());
}

}  // namespace adjoin
