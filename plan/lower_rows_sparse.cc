// Sparse and sampled products: steps over stored relations.
#include <algorithm>

#include "engine/status.h"
#include "ops/sampled_product.h"
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

absl::Status RowsBuilder::LowerOp(const SampledProduct& product, NodeState& state) {
  SampledProductSpec spec;
  const RowStream* views[3];
  for (size_t i : {0, 1, 2}) {
    ADJOIN_ASSIGN_OR_RETURN(views[i], Stored(input(state, i)));
    NoteRead(*views[i]);
  }
  const auto compile = [&](const std::vector<ExprRef>& exprs, size_t i) {
    return CompileExprs(exprs, views[i]->table_columns());
  };
  spec.sample = *views[0]->view;
  std::vector<ExprRef> keys;
  for (int c : product.keys)
    keys.push_back(ColumnExpr(c, state.node->inputs[0]->types[static_cast<size_t>(c)]));
  ADJOIN_ASSIGN_OR_RETURN(spec.keys, compile(keys, 0));
  std::vector<ExprRef> factor;
  if (product.factor != nullptr) factor.push_back(product.factor);
  ADJOIN_ASSIGN_OR_RETURN(spec.sample_factor, compile(factor, 0));
  for (size_t s : {0, 1}) {
    SampledProductSpec::Side& side = spec.sides[s];
    side.relation = *views[s + 1]->view;
    std::vector<ExprRef> on, sample_on, between;
    for (const JoinKey& key : s == 0 ? product.on_left : product.on_right) {
      sample_on.push_back(key.left);
      on.push_back(key.right);
      side.on.null_safe.push_back(key.null_safe);
    }
    for (const JoinKey& key : product.between) between.push_back(s == 0 ? key.left : key.right);
    ADJOIN_ASSIGN_OR_RETURN(side.on.exprs, compile(on, s + 1));
    ADJOIN_ASSIGN_OR_RETURN(side.sample_on, compile(sample_on, 0));
    ADJOIN_ASSIGN_OR_RETURN(side.between, compile(between, s + 1));
    ADJOIN_ASSIGN_OR_RETURN(side.factor,
                            compile({s == 0 ? product.left_factor : product.right_factor}, s + 1));
  }
  for (const JoinKey& key : product.between) spec.null_safe.push_back(key.null_safe);
  spec.real = product.left_factor->type == TypeId::kFloat32;
  std::fill(state.needed.begin(), state.needed.end(), 1);
  spec.schema = SchemaOf(*state.node, ColumnsNeeded(state));
  const int slot = NewSlot();
  ++num_operators_;
  steps_.push_back(std::make_unique<SampledProductStep>(std::move(spec), slot, pipeline_));
  SetStored(state, slot);
  return absl::OkStatus();
}

}  // namespace adjoin
