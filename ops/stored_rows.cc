#include "ops/stored_rows.h"

#include <algorithm>
#include <utility>

#include "engine/status.h"

namespace adjoin {

StoredRows::StoredRows(const Schema& schema, const RunState& run, int64_t skip, int64_t limit)
    : schema_(schema), run_(run), skip_(skip), limit_(limit), charge_(run.budget) {
  for (const Field& field : schema.fields) memory_.emplace_back(field.type);
}

absl::Status StoredRows::Add(std::vector<ColumnChunk> columns, int64_t n) {
  if (files_.empty()) {
    absl::Status kept = Keep(columns);
    if (kept.ok()) {
      rows_ += n;
      return kept;
    }
    if (!IsOutOfMemory(kept) || !run_.spill->enabled()) return kept;
    ADJOIN_RETURN_IF_ERROR(LeaveMemory());
  }
  for (size_t c = 0; c < columns.size(); ++c)
    ADJOIN_RETURN_IF_ERROR(AddToFile(c, columns[c], rows_));
  rows_ += n;
  return absl::OkStatus();
}

absl::Status StoredRows::Keep(std::vector<ColumnChunk>& columns) {
  int64_t bytes = 0;
  for (const ColumnChunk& column : columns) bytes += column.bytes();
  if (run_.spill->Takes(bytes, *run_.budget)) {
    return SqlError(sqlstate::kOutOfMemory, "out of memory");
  }
  ADJOIN_RETURN_IF_ERROR(charge_.Add(bytes));
  for (size_t c = 0; c < columns.size(); ++c) memory_[c].Add(std::move(columns[c]));
  return absl::OkStatus();
}

absl::Status StoredRows::LeaveMemory() {
  for (size_t c = 0; c < memory_.size(); ++c) {
    files_.emplace_back(schema_.fields[c].type, *run_.spill, run_.budget);
    const int64_t bytes = memory_[c].bytes();
    int64_t first_row = 0;
    for (const ColumnChunk& chunk : memory_[c].TakeChunks()) {
      ADJOIN_RETURN_IF_ERROR(AddToFile(c, chunk, first_row));
      first_row += chunk.length();
    }
    charge_.Release(bytes);
  }
  return absl::OkStatus();
}

absl::Status StoredRows::AddToFile(size_t column, const ColumnChunk& chunk, int64_t first_row) {
  const int64_t n = chunk.length();
  const int64_t begin = std::clamp<int64_t>(skip_ - first_row, 0, n);
  const int64_t most = limit_ < 0 ? n : limit_ - std::max<int64_t>(first_row - skip_, 0);
  return files_[column].Append(chunk, begin, std::min(n, begin + std::max<int64_t>(most, 0)));
}

absl::StatusOr<ColumnRef> StoredRows::FinishColumn(size_t column) {
  if (!files_.empty()) return files_[column].Finish();
  const int64_t bytes = memory_[column].bytes();
  absl::StatusOr<ColumnRef> kept = memory_[column].Finish(run_.budget, skip_, limit_);
  if (!kept.ok()) return kept;
  charge_.Release(bytes);
  return kept;
}

absl::StatusOr<TableRef> StoredRows::Finish() {
  int64_t rows = std::max<int64_t>(0, rows_ - skip_);
  if (limit_ >= 0) rows = std::min(rows, limit_);
  std::vector<ColumnRef> columns;
  for (size_t c = 0; c < memory_.size(); ++c) {
    absl::StatusOr<ColumnRef> column = FinishColumn(c);
    // A column takes twice its bytes while it is put together.
    if (IsOutOfMemory(column.status()) && run_.spill->enabled()) {
      ADJOIN_RETURN_IF_ERROR(LeaveMemory());
      column = FinishColumn(c);
    }
    if (!column.ok()) return column.status();
    columns.push_back(*std::move(column));
  }
  return Table::MakeUnchecked(schema_, std::move(columns), rows);
}

absl::Status AddRows(const Table& table, std::span<const int64_t> rows,
                     std::span<const int> columns, StoredRows& stored) {
  const auto n = static_cast<int64_t>(rows.size());
  std::vector<ColumnChunk> chunks;
  BatchArena arena;
  for (int c : columns) {
    const Column& column = *table.column(c);
    chunks.emplace_back(column.type());
    chunks.back().Append(GatherColumn(column, rows.data(), n, /*outer=*/false, arena), n);
    arena.Reset();
  }
  return stored.Add(std::move(chunks), n);
}

}  // namespace adjoin
