#include "sql/apply.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "engine/status.h"

namespace adjoin {
namespace {

// Where each row of an outcome comes from: row p of the old column for p >= 0, row ~p of the new
// one below 0.
using Picks = std::vector<int64_t>;

template <typename T>
void PickValues(const Picks& picks, const T* old_values, const T* new_values, T* out) {
  for (size_t i = 0; i < picks.size(); ++i) {
    const int64_t p = picks[i];
    out[i] = p >= 0 ? old_values[p] : new_values[~p];
  }
}

absl::StatusOr<std::shared_ptr<const Buffer>> PickValidity(
    const Picks& picks, const Column& old_column, const Column& new_column,
    const std::shared_ptr<MemoryBudget>& budget) {
  if (!old_column.has_nulls() && !new_column.has_nulls()) return std::shared_ptr<const Buffer>();
  const auto bytes = static_cast<int64_t>((picks.size() + 7) / 8);
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> bits, Buffer::Allocate(bytes, budget));
  auto* out = bits->mutable_as<uint8_t>();
  std::memset(out, 0, static_cast<size_t>(bytes));
  for (size_t i = 0; i < picks.size(); ++i) {
    const int64_t p = picks[i];
    const bool null = p >= 0 ? old_column.is_null(p) : new_column.is_null(~p);
    if (!null) out[i >> 3] = static_cast<uint8_t>(out[i >> 3] | (1u << (i & 7)));
  }
  return std::shared_ptr<const Buffer>(std::move(bits));
}

// One dictionary for the texts of both columns, in which the old codes stay, and the new column's
// codes in it.
struct MergedTexts {
  std::shared_ptr<const Dictionary> dictionary;
  std::vector<int32_t> new_codes;
};
absl::StatusOr<MergedTexts> MergeTexts(const Column& old_column, const Column& new_column,
                                       const std::shared_ptr<MemoryBudget>& budget) {
  MergedTexts merged;
  const int32_t* codes = new_column.values<int32_t>();
  merged.new_codes.assign(codes, codes + new_column.length());
  if (old_column.dictionary() == new_column.dictionary()) {
    merged.dictionary = old_column.dictionary();
    return merged;
  }
  auto dictionary = std::make_shared<Dictionary>();
  for (int32_t i = 0; i < old_column.dictionary()->size(); ++i)
    dictionary->Intern(old_column.dictionary()->at(i));
  for (int64_t row = 0; row < new_column.length(); ++row) {
    auto& code = merged.new_codes[static_cast<size_t>(row)];
    code = new_column.is_null(row) ? 0 : dictionary->Intern(new_column.dictionary()->at(code));
  }
  ADJOIN_RETURN_IF_ERROR(dictionary->ChargeTo(budget));
  merged.dictionary = std::move(dictionary);
  return merged;
}

absl::StatusOr<ColumnRef> Pick(const Picks& picks, const Column& old_column,
                               const Column& new_column,
                               const std::shared_ptr<MemoryBudget>& budget) {
  const auto rows = std::ssize(picks);
  ADJOIN_ASSIGN_OR_RETURN(const std::shared_ptr<const Buffer> validity,
                          PickValidity(picks, old_column, new_column, budget));
  ADJOIN_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> values,
                          Buffer::Allocate(rows * WidthOf(old_column.type()), budget));
  std::shared_ptr<const Dictionary> dictionary;
  if (old_column.type() == TypeId::kText) {
    ADJOIN_ASSIGN_OR_RETURN(MergedTexts merged, MergeTexts(old_column, new_column, budget));
    dictionary = std::move(merged.dictionary);
    PickValues(picks, old_column.values<int32_t>(), merged.new_codes.data(),
               values->mutable_as<int32_t>());
  } else {
    switch (WidthOf(old_column.type())) {
      case 1:
        PickValues(picks, old_column.values<uint8_t>(), new_column.values<uint8_t>(),
                   values->mutable_as<uint8_t>());
        break;
      case 2:
        PickValues(picks, old_column.values<uint16_t>(), new_column.values<uint16_t>(),
                   values->mutable_as<uint16_t>());
        break;
      case 4:
        PickValues(picks, old_column.values<uint32_t>(), new_column.values<uint32_t>(),
                   values->mutable_as<uint32_t>());
        break;
      case 8:
        PickValues(picks, old_column.values<uint64_t>(), new_column.values<uint64_t>(),
                   values->mutable_as<uint64_t>());
        break;
      default:
        PickValues(picks, old_column.values<Interval>(), new_column.values<Interval>(),
                   values->mutable_as<Interval>());
    }
  }
  return std::make_shared<Column>(old_column.type(), rows, values, validity, std::move(dictionary));
}

bool IsAllRowsInOrder(const Column& row_ids, int64_t num_rows) {
  if (row_ids.length() != num_rows) return false;
  const int64_t* ids = row_ids.values<int64_t>();
  for (int64_t i = 0; i < num_rows; ++i) {
    if (ids[i] != i) return false;
  }
  return true;
}

// The changes of one statement to one table, in terms of the rows it had.
class TableChange {
 public:
  TableChange(TableRef table, std::string name, std::shared_ptr<MemoryBudget> budget)
      : table_(std::move(table)),
        name_(std::move(name)),
        budget_(std::move(budget)),
        columns_(table_->columns()) {}

  absl::StatusOr<int64_t> Update(const UpdateSink& sink, const Table& rows);
  absl::StatusOr<int64_t> Delete(const Table& rows);
  absl::StatusOr<int64_t> Insert(const Table& rows);
  absl::StatusOr<TableRef> Finish();

 private:
  // Marks a row; false where an earlier write of the statement has.
  bool Touch(int64_t row) {
    if (touched_.empty()) touched_.resize(static_cast<size_t>(table_->num_rows()));
    if (touched_[static_cast<size_t>(row)]) return false;
    touched_[static_cast<size_t>(row)] = true;
    return true;
  }
  void NoteUpdate(int column);

  TableRef table_;
  std::string name_;
  std::shared_ptr<MemoryBudget> budget_;
  std::vector<ColumnRef> columns_;
  std::vector<bool> touched_;
  std::vector<bool> deleted_;  // empty: none
  std::vector<TableRef> inserted_;
  bool changed_ = false;
  bool check_ = false;  // keys, NOT NULL and layout are to be found again
};

void TableChange::NoteUpdate(int column) {
  changed_ = true;
  const Schema& schema = table_->schema();
  const bool dim = std::find(schema.dims.begin(), schema.dims.end(), column) != schema.dims.end();
  const bool null = schema.fields[static_cast<size_t>(column)].not_null &&
                    columns_[static_cast<size_t>(column)]->has_nulls();
  check_ = check_ || dim || null;
}

absl::StatusOr<int64_t> TableChange::Update(const UpdateSink& sink, const Table& rows) {
  const Column& ids = *rows.column(0);
  if (touched_.empty() && IsAllRowsInOrder(ids, table_->num_rows())) {
    touched_.assign(static_cast<size_t>(table_->num_rows()), true);
    for (size_t i = 0; i < sink.columns.size(); ++i) {
      columns_[static_cast<size_t>(sink.columns[i])] = rows.column(static_cast<int>(i) + 1);
      NoteUpdate(sink.columns[i]);
    }
    return table_->num_rows();
  }
  Picks picks(static_cast<size_t>(table_->num_rows()));
  std::iota(picks.begin(), picks.end(), 0);
  int64_t affected = 0;
  for (int64_t i = 0; i < ids.length(); ++i) {
    const int64_t row = ids.values<int64_t>()[i];
    if (!Touch(row)) continue;
    picks[static_cast<size_t>(row)] = ~i;
    ++affected;
  }
  if (affected == 0) return 0;
  for (size_t i = 0; i < sink.columns.size(); ++i) {
    ColumnRef& column = columns_[static_cast<size_t>(sink.columns[i])];
    ADJOIN_ASSIGN_OR_RETURN(column,
                            Pick(picks, *column, *rows.column(static_cast<int>(i) + 1), budget_));
    NoteUpdate(sink.columns[i]);
  }
  return affected;
}

absl::StatusOr<int64_t> TableChange::Delete(const Table& rows) {
  const Column& ids = *rows.column(0);
  int64_t affected = 0;
  for (int64_t i = 0; i < ids.length(); ++i) {
    const int64_t row = ids.values<int64_t>()[i];
    if (!Touch(row)) continue;
    if (deleted_.empty()) deleted_.resize(static_cast<size_t>(table_->num_rows()));
    deleted_[static_cast<size_t>(row)] = true;
    ++affected;
  }
  if (affected > 0) changed_ = check_ = true;
  return affected;
}

absl::StatusOr<int64_t> TableChange::Insert(const Table& rows) {
  if (rows.num_rows() == 0) return 0;
  // The rows live on as a table's; the program that made them may not.
  inserted_.push_back(Table::MakeUnchecked(table_->schema(), rows.columns(), rows.num_rows()));
  changed_ = check_ = true;
  return rows.num_rows();
}

absl::StatusOr<TableRef> TableChange::Finish() {
  if (!changed_) return table_;
  int64_t num_rows = table_->num_rows();
  if (!deleted_.empty()) {
    Picks kept;
    for (int64_t row = 0; row < num_rows; ++row) {
      if (!deleted_[static_cast<size_t>(row)]) kept.push_back(row);
    }
    for (ColumnRef& column : columns_) {
      ADJOIN_ASSIGN_OR_RETURN(column, Pick(kept, *column, *column, budget_));
    }
    num_rows = std::ssize(kept);
  }
  for (const TableRef& rows : inserted_) {
    if (num_rows == 0) {
      columns_ = rows->columns();
      num_rows = rows->num_rows();
      continue;
    }
    Picks picks(static_cast<size_t>(num_rows + rows->num_rows()));
    std::iota(picks.begin(), picks.end(), 0);
    for (int64_t i = 0; i < rows->num_rows(); ++i) picks[static_cast<size_t>(num_rows + i)] = ~i;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const ColumnRef& added = rows->column(static_cast<int>(c));
      ADJOIN_ASSIGN_OR_RETURN(columns_[c], Pick(picks, *columns_[c], *added, budget_));
    }
    num_rows += rows->num_rows();
  }
  if (check_) return Table::Make(table_->schema(), std::move(columns_), num_rows, budget_, name_);
  return Table::MakeUnchecked(table_->schema(), std::move(columns_), num_rows, table_->grid());
}

}  // namespace

absl::StatusOr<TableRef> AppendRows(const TableRef& table, const std::vector<ColumnRef>& rows,
                                    int64_t num_rows, const std::shared_ptr<MemoryBudget>& budget,
                                    const std::string& name) {
  TableChange change(table, name, budget);
  ADJOIN_RETURN_IF_ERROR(
      change.Insert(*Table::MakeUnchecked(table->schema(), rows, num_rows)).status());
  return change.Finish();
}

absl::StatusOr<std::vector<int64_t>> ApplyWrites(std::span<const TableWrite> writes,
                                                 CatalogWriter& writer,
                                                 const std::shared_ptr<MemoryBudget>& budget) {
  std::vector<std::pair<uint64_t, TableChange>> changes;
  const auto change_of = [&](uint64_t id) -> TableChange& {
    for (auto& [known, change] : changes) {
      if (known == id) return change;
    }
    const CatalogEntry* entry = writer.state().Find(id);
    changes.emplace_back(id, TableChange(entry->table, entry->name, budget));
    return changes.back().second;
  };
  std::vector<int64_t> affected;
  for (const TableWrite& write : writes) {
    absl::StatusOr<int64_t> rows = 0;
    if (const auto* update = std::get_if<UpdateSink>(&write.sink)) {
      rows = change_of(update->table_id).Update(*update, *write.table);
    } else if (const auto* erase = std::get_if<DeleteSink>(&write.sink)) {
      rows = change_of(erase->table_id).Delete(*write.table);
    } else if (const auto* insert = std::get_if<InsertSink>(&write.sink)) {
      rows = change_of(insert->table_id).Insert(*write.table);
    }
    ADJOIN_RETURN_IF_ERROR(rows.status());
    affected.push_back(*rows);
  }
  for (auto& [id, change] : changes) {
    ADJOIN_ASSIGN_OR_RETURN(TableRef table, change.Finish());
    writer.Replace(id, std::move(table));
  }
  return affected;
}

}  // namespace adjoin
