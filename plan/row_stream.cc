#include "plan/row_stream.h"

#include <algorithm>

#include "ops/scan.h"

namespace adjoin {

std::vector<int> RowStream::table_columns() const {
  std::vector<int> columns = position;
  for (int& c : columns) c = c < 0 ? -1 : view_columns[static_cast<size_t>(c)];
  return columns;
}

size_t RowStream::num_operators() const {
  size_t most = 0;
  for (const Branch& branch : branches) most = std::max(most, branch.operators.size());
  return most;
}

void RowStream::Open() {
  if (!view.has_value()) return;
  std::vector<int> scanned;                         // table columns
  std::vector<int> moved(view_columns.size(), -1);  // by old position
  for (int& at : position) {
    if (at < 0) continue;
    int& to = moved[static_cast<size_t>(at)];
    if (to < 0) {
      to = static_cast<int>(scanned.size());
      scanned.push_back(view_columns[static_cast<size_t>(at)]);
    }
    at = to;
  }
  width = static_cast<int>(scanned.size());
  base_table_scans = view->slot < 0 ? 1 : 0;
  branches = {Branch{std::make_shared<ScanSource>(*view, std::move(scanned)), {}}};
  view.reset();
  view_columns.clear();
}

void RowStream::Append(std::shared_ptr<const StreamOperator> op, int new_width, bool keeps_rows) {
  Open();
  join.reset();
  for (Branch& branch : branches) branch.operators.push_back(op);
  width = new_width;
  one_to_one = one_to_one && keeps_rows;
}

}  // namespace adjoin
