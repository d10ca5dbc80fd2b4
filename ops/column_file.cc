#include "ops/column_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/status.h"
#include "ops/unnamed_table.h"

namespace adjoin {

namespace {

constexpr int64_t kPiece = 16384;  // rows that are copied at once

absl::Status WriteTo(std::unique_ptr<TempFile>& file, Spill& spill, const void* data,
                     int64_t bytes) {
  if (file == nullptr) {
    ADJOIN_ASSIGN_OR_RETURN(file, TempFile::Create(spill.directory));
  }
  spill.bytes.fetch_add(bytes, std::memory_order_relaxed);
  return file->Append(data, bytes);
}

}  // namespace

absl::StatusOr<int32_t> DictionaryFile::Add(std::string_view text) {
  constexpr size_t kBytesAWrite = 1 << 16;
  if (size_ == std::numeric_limits<int32_t>::max()) {
    return SqlError(sqlstate::kProgramLimitExceeded, "too many strings in a temporary file");
  }
  end_ += std::ssize(text);
  new_offsets_.push_back(end_);
  if (text.size() >= kBytesAWrite) {  // which may have no room twice
    ADJOIN_RETURN_IF_ERROR(Write());
    ADJOIN_RETURN_IF_ERROR(WriteTo(letters_, spill_, text.data(), std::ssize(text)));
  } else {
    new_letters_.append(text);
    if (new_letters_.size() + new_offsets_.size() * sizeof(int64_t) >= kBytesAWrite)
      ADJOIN_RETURN_IF_ERROR(Write());
  }
  return size_++;
}

absl::Status DictionaryFile::AddAll(const Dictionary& from) {
  for (int32_t c = 0; c < from.size(); ++c) ADJOIN_RETURN_IF_ERROR(Add(from.at(c)).status());
  return absl::OkStatus();
}

absl::Status DictionaryFile::Write() {
  ADJOIN_RETURN_IF_ERROR(WriteTo(letters_, spill_, new_letters_.data(), std::ssize(new_letters_)));
  ADJOIN_RETURN_IF_ERROR(
      WriteTo(offsets_, spill_, new_offsets_.data(), std::ssize(new_offsets_) * int64_t{8}));
  new_letters_.clear(), new_offsets_.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Dictionary>> DictionaryFile::Finish() {
  ADJOIN_RETURN_IF_ERROR(Write());
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<const Buffer> letters, letters_->Map());
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<const Buffer> offsets, offsets_->Map());
  return std::make_shared<const Dictionary>(std::move(letters), std::move(offsets), size_);
}

absl::StatusOr<std::shared_ptr<const Dictionary>> WriteTexts(const Vector& texts, int64_t n,
                                                             Spill& spill, int32_t* codes) {
  DictionaryFile file(spill);
  std::string_view last;
  ADJOIN_ASSIGN_OR_RETURN(int32_t code, file.Add(last));  // under every NULL
  for (int64_t i = 0; i < n; ++i) {
    const std::string_view text = texts.is_null(i) ? last : texts.as<std::string_view>()[i];
    if (text.data() != last.data() || text.size() != last.size()) {
      ADJOIN_ASSIGN_OR_RETURN(code, file.Add(text));
      last = text;
    }
    codes[i] = code;
  }
  return file.Finish();
}

absl::Status ColumnFile::Append(const ColumnChunk& chunk, int64_t begin, int64_t end) {
  const int64_t n = (end < 0 ? chunk.length() : end) - begin;
  if (n <= 0) return absl::OkStatus();
  ADJOIN_RETURN_IF_ERROR(
      AppendValidity(chunk.valid() == nullptr ? nullptr : chunk.valid() + begin, n));
  if (type_ == TypeId::kText) {
    ADJOIN_RETURN_IF_ERROR(AppendCodes(chunk, begin, n));
  } else {
    const int64_t width = WidthOf(type_);
    ADJOIN_RETURN_IF_ERROR(WriteTo(values_, spill_, chunk.data() + begin * width, n * width));
  }
  length_ += n;
  return absl::OkStatus();
}

absl::Status ColumnFile::AppendCodes(const ColumnChunk& chunk, int64_t begin, int64_t n) {
  const auto* codes = reinterpret_cast<const int32_t*>(chunk.data()) + begin;
  const std::shared_ptr<const Dictionary>& lent = chunk.borrowed_dictionary();
  if (length_ == 0 && lent != nullptr && lent->size() > 0) borrowed_ = lent;
  const auto bytes = n * static_cast<int64_t>(sizeof(int32_t));
  if (borrowed_ != nullptr && borrowed_ == lent) return WriteTo(values_, spill_, codes, bytes);
  if (dictionary_ == nullptr && texts_ == nullptr) ADJOIN_RETURN_IF_ERROR(OwnTexts());
  const int64_t before = dictionary_ == nullptr ? 0 : dictionary_->bytes();
  const Dictionary* from = chunk.dictionary();
  std::vector<int32_t> map(from == nullptr ? 0 : static_cast<size_t>(from->size()), -1);
  std::vector<int32_t> own(static_cast<size_t>(n), 0);
  const uint8_t* valid = chunk.valid() == nullptr ? nullptr : chunk.valid() + begin;
  for (int64_t i = 0; i < n; ++i) {
    if (valid != nullptr && valid[i] == 0) continue;
    int32_t& code = map[static_cast<size_t>(codes[i])];
    if (code < 0) {
      ADJOIN_ASSIGN_OR_RETURN(code, AddText(from->at(codes[i])));
    }
    own[static_cast<size_t>(i)] = code;
  }
  ADJOIN_RETURN_IF_ERROR(KeepTexts(before));
  return WriteTo(values_, spill_, own.data(), bytes);
}

// A copy of what was borrowed: codes that are written stay what they are.
absl::Status ColumnFile::OwnTexts() {
  const std::shared_ptr<const Dictionary> borrowed = std::exchange(borrowed_, nullptr);
  if (borrowed != nullptr &&
      (!borrowed->is_distinct() || spill_.Takes(borrowed->bytes(), *budget_))) {
    texts_ = std::make_unique<DictionaryFile>(spill_);
    return texts_->AddAll(*borrowed);
  }
  dictionary_ = std::make_shared<Dictionary>();
  for (int32_t c = 0; borrowed != nullptr && c < borrowed->size(); ++c)
    dictionary_->Intern(borrowed->at(c));
  if (dictionary_->size() == 0) dictionary_->Intern("");  // code 0 is under every NULL
  return KeepTexts(0);
}

absl::StatusOr<int32_t> ColumnFile::AddText(std::string_view text) {
  return texts_ != nullptr ? texts_->Add(text) : dictionary_->Intern(text);
}

// Charges what came since the dictionary took `before` bytes, or leaves memory.
absl::Status ColumnFile::KeepTexts(int64_t before) {
  // So few are worth finding again, whatever others take. A fixed 64 KiB a column left TPC-H's q10
  // at 600000 rows no room for the rows of one key.
  constexpr int64_t kFew = 1 << 16;
  if (dictionary_ == nullptr) return absl::OkStatus();
  const int64_t bytes = dictionary_->bytes();
  const bool few = bytes <= std::min(kFew, budget_->available() / 32);
  if (!spill_.Takes(bytes - before, *budget_) || (few && !spill_.forced)) {
    absl::Status kept = dictionary_->ChargeTo(budget_);
    if (!IsOutOfMemory(kept)) return kept;
  }
  const std::shared_ptr<const Dictionary> kept = std::exchange(dictionary_, nullptr);
  texts_ = std::make_unique<DictionaryFile>(spill_);
  return texts_->AddAll(*kept);
}

absl::StatusOr<std::shared_ptr<const Dictionary>> ColumnFile::FinishTexts() {
  if (type_ != TypeId::kText || borrowed_ != nullptr) return borrowed_;
  if (dictionary_ == nullptr && texts_ == nullptr) ADJOIN_RETURN_IF_ERROR(OwnTexts());
  if (texts_ != nullptr) return texts_->Finish();
  return std::shared_ptr<const Dictionary>(std::move(dictionary_));
}

// Whole bytes are written; the bits of the last rows wait for the next ones.
absl::Status ColumnFile::AppendValidity(const uint8_t* valid, int64_t n) {
  const bool nulls = valid != nullptr && std::memchr(valid, 0, static_cast<size_t>(n)) != nullptr;
  if (validity_ == nullptr) {
    if (!nulls) return absl::OkStatus();
    const std::vector<uint8_t> before(static_cast<size_t>(length_ / 8), 0xFF);
    ADJOIN_RETURN_IF_ERROR(WriteTo(validity_, spill_, before.data(), std::ssize(before)));
    bits_ = static_cast<uint8_t>((1 << (length_ % 8)) - 1);
  }
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t bit = (length_ + i) % 8;
    bits_ |= static_cast<uint8_t>((valid == nullptr || valid[i] != 0 ? 1 : 0) << bit);
    if (bit == 7) bytes.push_back(std::exchange(bits_, uint8_t{0}));
  }
  return WriteTo(validity_, spill_, bytes.data(), std::ssize(bytes));
}

absl::StatusOr<ColumnRef> ColumnFile::Finish() {
  ADJOIN_RETURN_IF_ERROR(WriteTo(values_, spill_, nullptr, 0));  // a file also for no rows
  std::shared_ptr<const Buffer> validity;
  if (validity_ != nullptr) {
    if (length_ % 8 != 0) ADJOIN_RETURN_IF_ERROR(WriteTo(validity_, spill_, &bits_, 1));
    ADJOIN_ASSIGN_OR_RETURN(validity, validity_->Map());
    validity_ = nullptr;
  }
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<const Buffer> values, values_->Map());
  values_ = nullptr;
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<const Dictionary> dictionary, FinishTexts());
  return std::make_shared<const Column>(type_, length_, std::move(values), std::move(validity),
                                        std::move(dictionary));
}

absl::Status RowFile::AppendTo(std::span<const ColumnChunk> columns) {
  if (columns_.empty()) {
    for (const ColumnChunk& column : columns) columns_.emplace_back(column.type(), spill_, budget_);
  }
  for (size_t c = 0; c < columns.size(); ++c)
    ADJOIN_RETURN_IF_ERROR(columns_[c].Append(columns[c]));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> RowFile::Append(std::span<const ColumnChunk> columns) {
  const std::lock_guard lock(mutex_);
  if (status_.ok()) status_ = AppendTo(columns);
  ADJOIN_RETURN_IF_ERROR(status_);
  const int64_t first = rows_;
  rows_ += columns.empty() ? 0 : columns[0].length();
  return first;
}

absl::StatusOr<int64_t> RowFile::AppendTable(const Table& table) {
  int64_t first = rows_;
  BatchArena arena;
  for (int64_t begin = 0; begin < table.num_rows(); begin += kPiece) {
    const int64_t n = std::min(kPiece, table.num_rows() - begin);
    std::vector<ColumnChunk> chunks;
    for (const ColumnRef& column : table.columns()) {
      arena.Reset();
      chunks.emplace_back(column->type());
      chunks.back().Append(ReadColumn(*column, begin, n, arena), n);
    }
    ADJOIN_ASSIGN_OR_RETURN(const int64_t at, Append(chunks));
    if (begin == 0) first = at;
  }
  return first;
}

absl::StatusOr<TableRef> RowFile::Finish() {
  std::vector<ColumnRef> columns;
  for (ColumnFile& file : columns_) {
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, file.Finish());
    columns.push_back(std::move(column));
  }
  return UnnamedTable(std::move(columns), rows_);
}

absl::StatusOr<ColumnRef> TakeRows(const Column& column, std::span<const int64_t> rows,
                                   const RunState& run) {
  const auto n = static_cast<int64_t>(rows.size());
  if (!run.spill->Takes(n * WidthOf(column.type()), *run.budget)) {
    absl::StatusOr<ColumnRef> kept = TakeRows(column, rows, run.budget);
    if (!run.spill->enabled() || !IsOutOfMemory(kept.status())) return kept;
  }
  ColumnFile file(column.type(), *run.spill, run.budget);
  BatchArena arena;
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int64_t count = std::min(kPiece, n - begin);
    arena.Reset();
    ColumnChunk chunk(column.type());
    chunk.Append(GatherColumn(column, rows.data() + begin, count, /*outer=*/true, arena), count);
    ADJOIN_RETURN_IF_ERROR(file.Append(chunk));
  }
  return file.Finish();
}

namespace {

absl::StatusOr<ColumnRef> TextInMemory(const Column& column,
                                       const std::shared_ptr<MemoryBudget>& budget) {
  ColumnBuilder builder(column.type(), budget);
  ADJOIN_RETURN_IF_ERROR(builder.Reserve(column.length()));
  BatchArena arena;
  for (int64_t begin = 0; begin < column.length(); begin += kPiece) {
    const int64_t n = std::min(kPiece, column.length() - begin);
    arena.Reset();
    const Vector texts = WithViews(ReadColumn(column, begin, n, arena), n, arena);
    ADJOIN_RETURN_IF_ERROR(builder.AppendMany(texts.data, texts.valid, n));
  }
  return builder.Finish();
}

}  // namespace

absl::StatusOr<TableRef> WithDistinctTexts(const TableRef& table,
                                           const std::shared_ptr<MemoryBudget>& budget) {
  std::vector<ColumnRef> columns = table->columns();
  for (ColumnRef& column : columns) {
    if (column->type() != TypeId::kText || column->dictionary()->is_distinct()) continue;
    ADJOIN_ASSIGN_OR_RETURN(column, TextInMemory(*column, budget));
  }
  if (columns == table->columns()) return table;
  return Table::MakeUnchecked(table->schema(), std::move(columns), table->num_rows(),
                              table->grid());
}

absl::StatusOr<TableRef> InMemory(const TableRef& table,
                                  const std::shared_ptr<MemoryBudget>& budget) {
  const auto copy = [&](const std::shared_ptr<const Buffer>& from)
      -> absl::StatusOr<std::shared_ptr<const Buffer>> {
    if (from == nullptr || from->is_charged()) return from;
    ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> to, Buffer::Allocate(from->size(), budget));
    std::memcpy(to->mutable_data(), from->data(), static_cast<size_t>(from->size()));
    return std::shared_ptr<const Buffer>(std::move(to));
  };
  ADJOIN_ASSIGN_OR_RETURN(const TableRef distinct, WithDistinctTexts(table, budget));
  std::vector<ColumnRef> columns;
  for (const ColumnRef& column : distinct->columns()) {
    if (!column->is_stored() || column->values_buffer()->is_charged()) {
      columns.push_back(column);
      continue;
    }
    ADJOIN_ASSIGN_OR_RETURN(auto values, copy(column->values_buffer()));
    ADJOIN_ASSIGN_OR_RETURN(auto validity, copy(column->validity_buffer()));
    columns.push_back(std::make_shared<const Column>(column->type(), column->length(),
                                                     std::move(values), std::move(validity),
                                                     column->dictionary()));
  }
  return Table::MakeUnchecked(table->schema(), std::move(columns), table->num_rows(),
                              table->grid());
}

}  // namespace adjoin
