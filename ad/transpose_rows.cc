// Operators that keep the rows of their input, or some of them: the cotangent of a row is that of
// the row it came from.
#include "ad/reverse.h"
#include "engine/status.h"

namespace adjoin {

void Transposer::PassColumns(int i, int first_column, int offset, bool aligned) {
  const NodeRef& in = input(i);
  if (!reverse.IsActive(in)) return;
  const RowView view = reverse.ViewOf(in);
  Contribution out;
  out.base = ct.base;
  out.key = aligned && !reverse.NeedsRowId(in) ? -1 : offset + view.rowid;
  const ColumnActivity& activity = reverse.ActivityOf(in);
  for (const auto& [column, d] : ct.cotangents) {
    const int own = column - first_column;
    if (own < 0 || own >= in->width() || !activity[static_cast<size_t>(own)].active) continue;
    out.cotangents[own] = d;
  }
  reverse.Contribute(in, std::move(out));
}

absl::Status Transposer::operator()(const Filter&) {
  return PassColumns(0, 0, 0, false), absl::OkStatus();
}
absl::Status Transposer::operator()(const Sort&) {
  return PassColumns(0, 0, 0, false), absl::OkStatus();
}
absl::Status Transposer::operator()(const Limit&) {
  return PassColumns(0, 0, 0, false), absl::OkStatus();
}
absl::Status Transposer::operator()(const RowId&) {
  return PassColumns(0, 0, 0, true), absl::OkStatus();
}
absl::Status Transposer::operator()(const Require&) {
  return PassColumns(0, 0, 0, true), absl::OkStatus();
}

// y = f(x): x_i' = sum over the expressions of y' * df/dx_i, row by row.
absl::Status Transposer::operator()(const Project& p) {
  const RowView view = reverse.ViewOf(input(0));
  const ColumnActivity activity = reverse.ViewActivity(input(0), view);
  ColumnCotangents by_view;
  for (const auto& [column, d] : ct.cotangents) {
    const ExprRef expr = reverse.Remap(p.exprs[static_cast<size_t>(column)], view);
    ADJOIN_RETURN_IF_ERROR(Backpropagate(expr, d, activity, &by_view));
  }
  ContributeByView(0, view, ct.base, by_view);
  return absl::OkStatus();
}

void Transposer::ContributeByView(int i, const RowView& view, const NodeRef& base,
                                  const ColumnCotangents& by_view) {
  Contribution out;
  out.base = base;
  out.key = reverse.NeedsRowId(input(i)) ? view.rowid : -1;
  for (size_t c = 0; c < view.columns.size(); ++c) {
    auto it = by_view.find(view.columns[c]);
    if (it != by_view.end()) out.cotangents[static_cast<int>(c)] = it->second;
  }
  reverse.Contribute(input(i), std::move(out));
}

}  // namespace adjoin
