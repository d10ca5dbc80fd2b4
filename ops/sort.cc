#include "ops/sort.h"

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/materialize.h"

namespace adjoin {

absl::Status SortStep::Run(RunState& state) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef table, spec_.relation.Resolve(state));
  std::vector<int64_t> order;
  {
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> keys,
                            EvaluateOverTable(spec_.keys, *table, state, options_));
    const SortCodes codes(VectorsOf(keys), spec_.orders, table->num_rows());
    ADJOIN_ASSIGN_OR_RETURN(order, SortAllRows(codes, table->num_rows(), state, options_));
  }
  std::vector<ColumnRef> columns;
  for (int c : spec_.columns) {
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, TakeRows(*table->column(c), order, state.budget));
    columns.push_back(std::move(column));
  }
  SetRelation(state, out_slot_,
              Table::MakeUnchecked(spec_.schema, std::move(columns), table->num_rows()));
  return absl::OkStatus();
}

std::string SortStep::Describe() const {
  return absl::StrCat("slot ", out_slot_, " = sort ", spec_.relation.ToString(), " by ",
                      spec_.orders.size(), " keys");
}

}  // namespace adjoin
