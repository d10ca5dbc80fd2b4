// Columns and rows in temporary files.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/temp_file.h"
#include "ops/column_access.h"
#include "ops/spill.h"

namespace adjoin {

// A column that is written chunk by chunk and then read in place: values, codes and validity lie in
// files, a dictionary stays in memory: 53200 where that has no room. Not thread-safe.
class ColumnFile {
 public:
  ColumnFile(TypeId type, Spill& spill, std::shared_ptr<MemoryBudget> budget)
      : type_(type), spill_(spill), budget_(std::move(budget)) {}
  // Rows [begin, end) of the chunk; end < 0: to its end.
  absl::Status Append(const ColumnChunk& chunk, int64_t begin = 0, int64_t end = -1);
  int64_t length() const { return length_; }
  absl::StatusOr<ColumnRef> Finish();  // the last call

 private:
  absl::Status Write(std::unique_ptr<TempFile>& file, const void* data, int64_t bytes);
  absl::Status AppendCodes(const ColumnChunk& chunk, int64_t begin, int64_t n);
  absl::Status AppendValidity(const uint8_t* valid, int64_t n);
  TypeId type_;
  Spill& spill_;
  std::shared_ptr<MemoryBudget> budget_;
  int64_t length_ = 0;
  std::unique_ptr<TempFile> values_;
  std::unique_ptr<TempFile> validity_;  // made at the first NULL
  uint8_t bits_ = 0;                    // of the last rows, fewer than 8, that validity_ lacks
  std::shared_ptr<const Dictionary> borrowed_;  // while all text is of this one
  std::shared_ptr<Dictionary> dictionary_;      // afterwards
};

// Rows of some columns, appended from any thread.
class RowFile {
 public:
  RowFile(Spill& spill, std::shared_ptr<MemoryBudget> budget)
      : spill_(spill), budget_(std::move(budget)) {}
  // A chunk a column, of equal lengths and the same types always. Gives the first row's number.
  // After an error always that error: some columns may have more rows.
  absl::StatusOr<int64_t> Append(std::span<const ColumnChunk> columns);
  // All rows of a table, one after another where nobody else appends.
  absl::StatusOr<int64_t> AppendTable(const Table& table);
  // The columns in order; none where there was no row. The last call.
  absl::StatusOr<TableRef> Finish();

 private:
  absl::Status AppendTo(std::span<const ColumnChunk> columns);
  Spill& spill_;
  const std::shared_ptr<MemoryBudget> budget_;
  std::mutex mutex_;
  absl::Status status_;
  std::vector<ColumnFile> columns_;
  int64_t rows_ = 0;
};

// TakeRows of a run that may spill what it gives.
absl::StatusOr<ColumnRef> TakeRows(const Column& column, std::span<const int64_t> rows,
                                   const RunState& run);

// The table with columns that a budget counts, for one that is to stay: those of files are copied.
absl::StatusOr<TableRef> InMemory(const TableRef& table,
                                  const std::shared_ptr<MemoryBudget>& budget);

}  // namespace adjoin
