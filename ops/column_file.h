// Columns and rows in temporary files.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/temp_file.h"
#include "ops/column_access.h"
#include "ops/spill.h"

namespace adjoin {

// Strings of a dictionary that lie in files. They get codes in the order in which they come, equal
// ones too: finding those would take memory for all.
class DictionaryFile {
 public:
  explicit DictionaryFile(Spill& spill) : spill_(spill) {}
  absl::StatusOr<int32_t> Add(std::string_view text);  // its code
  absl::Status AddAll(const Dictionary& from);
  absl::StatusOr<std::shared_ptr<const Dictionary>> Finish();  // the last call

 private:
  absl::Status Write();
  Spill& spill_;
  int32_t size_ = 0;
  int64_t end_ = 0;
  std::string new_letters_;  // that are not written
  std::vector<int64_t> new_offsets_ = {0};
  std::unique_ptr<TempFile> letters_;
  std::unique_ptr<TempFile> offsets_;
};

// Writes the texts of a vector and finds their codes, some for NULLs too; texts that follow each
// other at one address are one.
absl::StatusOr<std::shared_ptr<const Dictionary>> WriteTexts(const Vector& texts, int64_t n,
                                                             Spill& spill, int32_t* codes);

// A column that is written chunk by chunk and then read in place: values, codes and validity lie in
// files, a dictionary too where memory has no room for it. Not thread-safe.
class ColumnFile {
 public:
  ColumnFile(TypeId type, Spill& spill, std::shared_ptr<MemoryBudget> budget)
      : type_(type), spill_(spill), budget_(std::move(budget)) {}
  // Rows [begin, end) of the chunk; end < 0: to its end.
  absl::Status Append(const ColumnChunk& chunk, int64_t begin = 0, int64_t end = -1);
  int64_t length() const { return length_; }
  absl::StatusOr<ColumnRef> Finish();  // the last call

 private:
  absl::Status AppendCodes(const ColumnChunk& chunk, int64_t begin, int64_t n);
  absl::Status OwnTexts();
  absl::StatusOr<int32_t> AddText(std::string_view text);
  absl::Status KeepTexts(int64_t before);
  absl::StatusOr<std::shared_ptr<const Dictionary>> FinishTexts();
  absl::Status AppendValidity(const uint8_t* valid, int64_t n);
  TypeId type_;
  Spill& spill_;
  std::shared_ptr<MemoryBudget> budget_;
  int64_t length_ = 0;
  std::unique_ptr<TempFile> values_;
  std::unique_ptr<TempFile> validity_;  // made at the first NULL
  uint8_t bits_ = 0;                    // of the last rows, fewer than 8, that validity_ lacks
  std::shared_ptr<const Dictionary> borrowed_;  // while all text is of this one
  std::shared_ptr<Dictionary> dictionary_;      // afterwards, while memory has room
  std::unique_ptr<DictionaryFile> texts_;       // then
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

// The table with dictionaries in memory in place of those of files.
absl::StatusOr<TableRef> WithDistinctTexts(const TableRef& table,
                                           const std::shared_ptr<MemoryBudget>& budget);

// The table with columns that a budget counts, for one that is to stay: those of files are copied,
// strings too.
absl::StatusOr<TableRef> InMemory(const TableRef& table,
                                  const std::shared_ptr<MemoryBudget>& budget);

}  // namespace adjoin
