// Merging sorted runs of a stored table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace adjoin {

// Rows [first, first + rows) of a table, which came of one block of a pipeline.
struct RowRun {
  int64_t block = 0, first = 0, rows = 0;
};

// Runs whose rows ascend all the way through.
using RunList = std::span<const RowRun>;

// Calls take(row) for the rows of all lists in ascending order; equal ones by list. less(a, b)
// compares rows of the table; `take` returns a Status, and the first error ends the merge.
template <typename Less, typename Take>
absl::Status MergeRuns(std::vector<RunList> lists, Less&& less, Take&& take) {
  struct Cursor {
    size_t list;
    RunList left;  // after the run that `row` is in
    int64_t row, end;
  };
  std::vector<Cursor> heap;
  for (size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].empty()) continue;
    const RowRun& run = lists[i][0];
    heap.push_back({i, lists[i].subspan(1), run.first, run.first + run.rows});
  }
  const auto after = [&](const Cursor& a, const Cursor& b) {
    if (less(b.row, a.row)) return true;
    return !less(a.row, b.row) && b.list < a.list;
  };
  std::make_heap(heap.begin(), heap.end(), after);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), after);
    Cursor& next = heap.back();
    // While it stays the least of all, its rows need no heap.
    do {
      if (absl::Status status = take(next.row); !status.ok()) return status;
      if (++next.row < next.end) continue;
      if (next.left.empty()) break;
      next.row = next.left[0].first;
      next.end = next.row + next.left[0].rows;
      next.left = next.left.subspan(1);
    } while (heap.size() == 1 || !after(next, heap.front()));
    if (next.row < next.end) {
      std::push_heap(heap.begin(), heap.end(), after);
    } else {
      heap.pop_back();
    }
  }
  return absl::OkStatus();
}

}  // namespace adjoin
