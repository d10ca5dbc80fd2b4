// Joins copy a row into each match, so their transposes sum over the copies: by row id, for each
// side.
#include "ad/reverse.h"
#include "engine/status.h"
#include "plan/scalar_functions.h"

namespace adjoin {

// J(x, y) over matching pairs: x' = sum of J' over the pairs of x, and so for y. Unmatched rows of
// an outer join have no row id on the other side: they pass nothing there. The condition has no
// derivative.
absl::Status Transposer::operator()(const Join&) {
  PassColumns(0, 0, 0, false);
  if (node->width() > input(0)->width()) {
    PassColumns(1, input(0)->width(), reverse.ViewOf(input(0)).node->width(), false);
  }
  return absl::OkStatus();
}

// Each left row fetched at most one right row: the left keeps its rows, the right sums over who
// fetched it.
absl::Status Transposer::operator()(const Lookup&) {
  PassColumns(0, 0, 0, true);
  PassColumns(1, input(0)->width(), reverse.ViewOf(input(0)).node->width(), false);
  return absl::OkStatus();
}

// s(l) = sum of v(r) over right rows r with r.key = l.key: v'(r) = s'(the left row of that key).
absl::Status Transposer::operator()(const Collect& c) {
  PassColumns(0, 0, 0, true);
  if (!reverse.IsActive(input(1))) return absl::OkStatus();
  const RowView left = reverse.ViewOf(input(0));
  const RowView right = reverse.ViewOf(input(1));

  Project small;  // the left row's key, then the cotangents of the sums
  small.exprs.push_back(BaseColumn(ct.base, left.columns[static_cast<size_t>(c.left_key)]));
  std::vector<size_t> values;
  for (size_t v = 0; v < c.values.size(); ++v) {
    auto it = ct.cotangents.find(input(0)->width() + static_cast<int>(v));
    if (it == ct.cotangents.end()) continue;
    values.push_back(v);
    small.exprs.push_back(it->second);
  }
  if (values.empty()) return absl::OkStatus();
  const NodeRef sums = planner().Make(std::move(small), {ct.base});
  const ExprRef key = BaseColumn(right.node, right.columns[static_cast<size_t>(c.right_key)]);
  const NodeRef base = planner().Make(Lookup{{key}, {BaseColumn(sums, 0)}}, {right.node, sums});

  const ColumnActivity activity = reverse.ViewActivity(input(1), right);
  ColumnCotangents by_view;
  for (size_t i = 0; i < values.size(); ++i) {
    const ExprRef value = reverse.Remap(c.values[values[i]], right);
    const ExprRef d = BaseColumn(base, right.node->width() + 1 + static_cast<int>(i));
    ADJOIN_RETURN_IF_ERROR(Backpropagate(value, WhenTrue(IsNotNull(value), d), activity, &by_view));
  }
  ContributeByView(1, right, base, by_view);
  return absl::OkStatus();
}

// Each branch takes its own rows, told by the branch number that the augmented union carries.
absl::Status Transposer::operator()(const UnionAll&) {
  const int tag = node->width(), rowid = node->width() + 1;
  for (int i = 0; i < static_cast<int>(node->inputs.size()); ++i) {
    if (!reverse.IsActive(input(i))) continue;
    const ExprRef is_branch =
        CallNamed("=", {BaseColumn(ct.base, tag), ConstantExpr(Value::Int(i), TypeId::kInt64)},
                  TypeId::kBool);
    Contribution out;
    out.base = planner().Make(Filter{is_branch}, {ct.base});
    out.key = rowid;
    const ColumnActivity& activity = reverse.ActivityOf(input(i));
    for (const auto& [column, d] : ct.cotangents) {
      if (activity[static_cast<size_t>(column)].active) out.cotangents[column] = d;
    }
    reverse.Contribute(input(i), std::move(out));
  }
  return absl::OkStatus();
}

}  // namespace adjoin
