// Sparse products: steps over two stored relations.
#include <algorithm>

#include "engine/status.h"
#include "ops/sparse_product.h"
#include "plan/compile_expr.h"
#include "plan/rows_builder.h"

namespace adjoin {
namespace {

// The columns that keys of a side are computed of.
std::vector<int> KeyColumns(const SparseKeys& keys) {
  std::vector<int> columns = keys.on.exprs.input_columns();
  const std::vector<int>& groups = keys.groups.input_columns();
  columns.insert(columns.end(), groups.begin(), groups.end());
  return columns;
}

}  // namespace

absl::Status RowsBuilder::LowerOp(const SparseProduct& product, NodeState& state) {
  SparseProductSpec spec;
  SparseKeys* const keys[] = {&spec.left, &spec.right};
  CompiledExpr* const factors[] = {&spec.left_factors, &spec.right_factors};
  int num_keys[] = {0, 0};
  for (size_t side : {0, 1}) {
    ADJOIN_ASSIGN_OR_RETURN(const RowStream* view, Stored(input(state, side)));
    NoteRead(*view);
    SparseKeys& own = *keys[side];
    own.relation = *view->view;
    std::vector<ExprRef> on, groups;
    for (const JoinKey& key : product.on) {
      on.push_back(side == 0 ? key.left : key.right);
      own.on.null_safe.push_back(key.null_safe);
    }
    for (const ContractionKey& key : product.keys) {
      if (static_cast<size_t>(key.side) == side)
        groups.push_back(ColumnExpr(
            key.column, state.node->inputs[side]->types[static_cast<size_t>(key.column)]));
    }
    const std::vector<int> columns = view->table_columns();
    ADJOIN_ASSIGN_OR_RETURN(own.on.exprs, CompileExprs(on, columns));
    ADJOIN_ASSIGN_OR_RETURN(own.groups, CompileExprs(groups, columns));
    own.columns = KeyColumns(own);
    ADJOIN_ASSIGN_OR_RETURN(
        *factors[side],
        CompileExprs(side == 0 ? product.left_factors : product.right_factors, columns));
  }
  for (const ContractionKey& key : product.keys)
    spec.keys.push_back({key.side, num_keys[key.side]++});
  for (const SparseProduct::Sum& sum : product.sums) spec.sums.push_back({sum.left, sum.right});
  const auto is_real = [](const std::vector<ExprRef>& of) {
    return !of.empty() && of[0]->type == TypeId::kFloat32;
  };
  spec.real = is_real(product.left_factors) || is_real(product.right_factors);
  std::fill(state.needed.begin(), state.needed.end(), 1);
  spec.schema = SchemaOf(*state.node, ColumnsNeeded(state));
  const int slot = NewSlot();
  ++num_operators_;
  steps_.push_back(std::make_unique<SparseProductStep>(std::move(spec), slot, pipeline_));
  SetStored(state, slot);
  return absl::OkStatus();
}

}  // namespace adjoin
