#include "plan/mask_bands.h"

#include <algorithm>
#include <cmath>

namespace adjoin {
namespace {

MaskBands::Run RunOf(int64_t first, int64_t last) {
  return first < last ? MaskBands::Run{first, last} : MaskBands::Run{};
}

}  // namespace

std::optional<MaskBands> CompareBands(ScalarOp op, std::span<const double> rows,
                                      std::span<const double> columns, bool swapped) {
  const bool known = op == ScalarOp::kLess || op == ScalarOp::kLessEqual || op == ScalarOp::kEqual;
  const auto is_nan = [](double v) { return std::isnan(v); };
  if (!known || std::any_of(rows.begin(), rows.end(), is_nan) ||
      std::any_of(columns.begin(), columns.end(), is_nan) ||
      !std::is_sorted(columns.begin(), columns.end())) {
    return std::nullopt;
  }
  MaskBands out{{}, std::ssize(columns)};
  for (double row : rows) {
    // Columns below the row's value, and those not above it.
    const int64_t below = std::lower_bound(columns.begin(), columns.end(), row) - columns.begin();
    const int64_t up_to = std::upper_bound(columns.begin(), columns.end(), row) - columns.begin();
    if (op == ScalarOp::kEqual) {
      out.runs.push_back(RunOf(below, up_to));
    } else if (swapped) {
      out.runs.push_back(RunOf(0, op == ScalarOp::kLess ? below : up_to));
    } else {
      out.runs.push_back(RunOf(op == ScalarOp::kLess ? up_to : below, out.columns));
    }
  }
  return out;
}

MaskBands RowBands(std::span<const double> rows, int64_t columns) {
  MaskBands out{{}, columns};
  for (double row : rows) out.runs.push_back(RunOf(0, row != 0 ? columns : 0));
  return out;
}

std::optional<MaskBands> BandsOfCells(std::span<const double> cells, int64_t columns) {
  const auto is_true = [](double v) { return v != 0; };
  MaskBands out{{}, columns};
  for (; !cells.empty(); cells = cells.subspan(static_cast<size_t>(columns))) {
    const auto row = cells.first(static_cast<size_t>(columns));
    const auto first = std::find_if(row.begin(), row.end(), is_true);
    const auto last = std::find_if_not(first, row.end(), is_true);
    if (std::any_of(last, row.end(), is_true)) return std::nullopt;
    out.runs.push_back(RunOf(first - row.begin(), last - row.begin()));
  }
  return out;
}

std::optional<MaskBands> ColumnBands(int64_t rows, std::span<const double> columns) {
  auto out = BandsOfCells(columns, std::ssize(columns));
  if (out) out->runs.resize(static_cast<size_t>(rows), out->runs[0]);
  return out;
}

MaskBands Intersect(const MaskBands& a, const MaskBands& b) {
  MaskBands out{{}, a.columns};
  for (size_t i = 0; i < a.runs.size(); ++i) {
    out.runs.push_back(RunOf(std::max(a.runs[i].first, b.runs[i].first),
                             std::min(a.runs[i].last, b.runs[i].last)));
  }
  return out;
}

std::optional<MaskBands> Transpose(const MaskBands& bands) {
  // By column, as differences to the column before: its true cells, how many of them begin a run
  // down the column, and the sum of the rows where they do.
  const auto columns = static_cast<size_t>(bands.columns);
  std::vector<int64_t> cells(columns + 1, 0), begins(columns + 1, 0), rows(columns + 1, 0);
  const auto begin = [&](int64_t first, int64_t last, int64_t row) {
    if (first >= last) return;
    begins[static_cast<size_t>(first)] += 1, begins[static_cast<size_t>(last)] -= 1;
    rows[static_cast<size_t>(first)] += row, rows[static_cast<size_t>(last)] -= row;
  };
  MaskBands::Run above;
  for (int64_t i = 0; i < std::ssize(bands.runs); ++i) {
    const MaskBands::Run run = bands.runs[static_cast<size_t>(i)];
    cells[static_cast<size_t>(run.first)] += 1, cells[static_cast<size_t>(run.last)] -= 1;
    begin(run.first, std::min(run.last, std::max(above.first, run.first)), i);
    begin(std::max(run.first, std::min(above.last, run.last)), run.last, i);
    above = run;
  }
  MaskBands out{{}, std::ssize(bands.runs)};
  int64_t length = 0, count = 0, first = 0;
  for (size_t j = 0; j < columns; ++j) {
    length += cells[j], count += begins[j], first += rows[j];
    if (count > 1) return std::nullopt;
    out.runs.push_back(RunOf(first, first + length));
  }
  return out;
}

bool AllTrue(const MaskBands& bands) {
  return std::all_of(bands.runs.begin(), bands.runs.end(),
                     [&](const MaskBands::Run& run) { return run.length() == bands.columns; });
}

std::vector<int64_t> StairEnds(const MaskBands& bands) {
  std::vector<int64_t> ends;
  for (const MaskBands::Run& run : bands.runs) {
    if (run.first != 0 || (!ends.empty() && run.last < ends.back())) return {};
    ends.push_back(run.last);
  }
  return ends;
}

}  // namespace adjoin
