#include "ops/sort.h"

#include "absl/strings/str_cat.h"
#include "engine/budget_charge.h"
#include "engine/status.h"
#include "ops/column_file.h"
#include "ops/materialize.h"

namespace adjoin {

absl::StatusOr<TableRef> SortStep::SortInMemory(const Table& table, RunState& state) const {
  const int64_t rows = table.num_rows();
  BudgetCharge charge(state.budget);  // of the row numbers and the codes
  ADJOIN_RETURN_IF_ERROR(charge.Add(16 * rows));
  std::vector<int64_t> order;
  {
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> keys,
                            EvaluateOverTable(spec_.keys, table, state, options_));
    const std::vector<Vector> vectors = VectorsOf(keys);
    ADJOIN_RETURN_IF_ERROR(charge.Add(SortCodes::BytesARow(vectors) * rows));
    const SortCodes codes(vectors, spec_.orders, rows);
    ADJOIN_ASSIGN_OR_RETURN(order, SortAllRows(codes, rows, state, options_));
    charge.Release((SortCodes::BytesARow(vectors) + 8) * rows);
  }
  std::vector<ColumnRef> columns;
  for (int c : spec_.columns) {
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, TakeRows(*table.column(c), order, state));
    columns.push_back(std::move(column));
  }
  return Table::MakeUnchecked(spec_.schema, std::move(columns), rows);
}

absl::Status SortStep::Run(RunState& state) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef table, spec_.relation.Resolve(state));
  ADJOIN_ASSIGN_OR_RETURN(
      TableRef sorted,
      RunOrSpill(
          *state.spill, /*can_spill=*/true, [&] { return SortInMemory(*table, state); },
          [&] { return SortInFiles(spec_, *table, state, options_); }));
  SetRelation(state, out_slot_, std::move(sorted));
  return absl::OkStatus();
}

std::string SortStep::Describe() const {
  return absl::StrCat("slot ", out_slot_, " = sort ", spec_.relation.ToString(), " by ",
                      spec_.orders.size(), " keys");
}

}  // namespace adjoin
