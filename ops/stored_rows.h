// A relation that is stored row by row: in memory while that has room, else in files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/budget_charge.h"
#include "ops/column_access.h"
#include "ops/column_file.h"
#include "ops/merge_runs.h"

namespace adjoin {

// Not thread-safe. Where a run may not spill, what does not fit is an error (53200).
class StoredRows {
 public:
  // Keeps `limit` rows after the first `skip`; -1: all.
  StoredRows(const Schema& schema, const RunState& run, int64_t skip = 0, int64_t limit = -1);
  // A chunk of `n` rows a column.
  absl::Status Add(std::vector<ColumnChunk> columns, int64_t n);
  int64_t rows() const { return rows_; }  // added so far
  // Those of a column so far, where all are in memory.
  std::span<const ColumnChunk> chunks(size_t column) const { return memory_[column].chunks(); }
  bool in_memory() const { return files_.empty(); }
  absl::StatusOr<TableRef> Finish();  // the last call

 private:
  absl::Status Keep(std::vector<ColumnChunk>& columns);
  absl::Status LeaveMemory();
  absl::Status AddToFile(size_t column, const ColumnChunk& chunk, int64_t first_row);
  absl::StatusOr<ColumnRef> FinishColumn(size_t column);

  const Schema& schema_;
  const RunState& run_;
  const int64_t skip_, limit_;
  BudgetCharge charge_;  // of the chunks
  std::vector<ColumnAssembler> memory_;
  std::vector<ColumnFile> files_;  // empty while memory has room
  int64_t rows_ = 0;
};

// Adds the given rows of a table, columns in order.
absl::Status AddRows(const Table& table, std::span<const int64_t> rows,
                     std::span<const int> columns, StoredRows& stored);

// Adds the rows of runs, each of which is sorted, in their order (MergeRuns).
template <typename Less>
absl::Status MergeInto(const Table& table, const std::vector<RowRun>& runs, Less&& less,
                       std::span<const int> columns, const RunState& run, StoredRows& stored) {
  std::vector<RunList> lists;
  for (const RowRun& of : runs) lists.emplace_back(&of, 1);
  constexpr size_t kPiece = 4096;
  std::vector<int64_t> rows;
  absl::Status status = MergeRuns(std::move(lists), less, [&](int64_t row) -> absl::Status {
    rows.push_back(row);
    if (rows.size() < kPiece) return absl::OkStatus();
    absl::Status added = AddRows(table, rows, columns, stored);
    rows.clear();
    return added.ok() && run.control != nullptr ? run.control->Check() : added;
  });
  return status.ok() && !rows.empty() ? AddRows(table, rows, columns, stored) : status;
}

}  // namespace adjoin
