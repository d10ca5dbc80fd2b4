#include "engine/catalog.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/table_version.h"
#include "engine/text.h"

namespace adjoin {
namespace {

absl::Status DoesNotExist(std::string_view kind, std::string_view name) {
  return SqlError(sqlstate::kUndefinedTable,
                  absl::StrCat(ToAbsl(kind), " \"", ToAbsl(name), "\" does not exist"));
}

absl::Status AlreadyExists(std::string_view name) {
  return SqlError(sqlstate::kDuplicateTable,
                  absl::StrCat("relation \"", ToAbsl(name), "\" already exists"));
}

absl::Status WrongKind(std::string_view name, std::string_view wanted,
                       std::string_view article_found, std::string_view command) {
  return SqlErrorWithDetail(
      sqlstate::kWrongObjectType, absl::StrCat("\"", ToAbsl(name), "\" is not a ", ToAbsl(wanted)),
      "", absl::StrCat("Use ", ToAbsl(command), " to remove a", ToAbsl(article_found), "."));
}

// Whether `ref` is the only reference. If so, what its former holders did with the object happened
// before.
template <typename T>
bool IsOnlyReference(const std::shared_ptr<T>& ref) {
  if (ref.use_count() != 1) return false;
  // use_count() orders nothing; giving up a reference does (acquire and release).
  { const std::shared_ptr<T> probe = ref; }
  return ref.use_count() == 1;
}

}  // namespace

const CatalogEntry* CatalogState::Find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? nullptr : Find(found->second);
}

const CatalogEntry* CatalogState::Find(uint64_t id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

TableRef CatalogState::table(uint64_t id) const {
  const CatalogEntry* entry = Find(id);
  return entry == nullptr ? nullptr : entry->table;
}

std::vector<std::string> CatalogState::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, id] : ids_) names.push_back(name);
  return names;
}

absl::flat_hash_map<uint64_t, TableRef> CatalogState::Tables(absl::Span<const uint64_t> ids) const {
  absl::flat_hash_map<uint64_t, TableRef> tables;
  for (uint64_t id : ids) {
    if (TableRef ref = table(id); ref != nullptr) tables.emplace(id, std::move(ref));
  }
  return tables;
}

void TableReplacer::Swap(TableRef& table, int index, ColumnRef& column) {
  const auto i = static_cast<size_t>(index);
  ADJOIN_DCHECK(std::ranges::find(table->schema_.dims, index) == table->schema_.dims.end());
  ADJOIN_DCHECK(column->type() == table->columns_[i]->type() &&
                column->length() == table->num_rows_);
  ADJOIN_DCHECK(!table->schema_.fields[i].not_null || !column->has_nulls());
  if (IsOnlyReference(table)) {
    // Every Table is made non-const (Table::MakeUnchecked); nobody else can look at this one.
    Table& mine = const_cast<Table&>(*table);
    mine.columns_[i].swap(column);
    mine.version_ = NextTableVersion();
    return;
  }
  std::vector<ColumnRef> columns = table->columns_;
  columns[i].swap(column);
  table = Table::MakeUnchecked(table->schema_, std::move(columns), table->num_rows_, table->grid_);
}

CatalogWriter::CatalogWriter(Catalog* catalog) : catalog_(catalog), state_(catalog->Snapshot()) {}

CatalogWriter::~CatalogWriter() {
  {
    const std::lock_guard<std::mutex> lock(catalog_->mutex_);
    catalog_->writing_ = false;
  }
  catalog_->writer_is_gone_.notify_one();
}

CatalogState& CatalogWriter::Edit() {
  if (own_ == nullptr) {
    own_ = std::make_shared<CatalogState>(*state_);
    state_ = own_;
  }
  return *own_;
}

absl::StatusOr<uint64_t> CatalogWriter::CreateTable(std::string_view name, TableRef table) {
  if (state_->Find(name) != nullptr) return AlreadyExists(name);
  const uint64_t id = catalog_->NewId();
  CatalogState& state = Edit();
  state.ids_.emplace(name, id);
  state.entries_[id] = CatalogEntry{std::string(name), id, std::move(table), nullptr};
  return id;
}

absl::Status CatalogWriter::CreateView(std::string_view name, View view, bool or_replace) {
  if (const CatalogEntry* entry = state_->Find(name); entry != nullptr) {
    if (!or_replace) return AlreadyExists(name);
    if (!entry->is_view()) {
      return SqlError(sqlstate::kWrongObjectType,
                      absl::StrCat("\"", ToAbsl(name), "\" is not a view"));
    }
    Erase(entry->name);
  }
  const uint64_t id = catalog_->NewId();
  CatalogState& state = Edit();
  state.ids_.emplace(name, id);
  state.entries_[id] =
      CatalogEntry{std::string(name), id, nullptr, std::make_shared<const View>(std::move(view))};
  return absl::OkStatus();
}

absl::Status CatalogWriter::DropTable(std::string_view name, bool cascade) {
  const CatalogEntry* entry = state_->Find(name);
  if (entry == nullptr) return DoesNotExist("table", name);
  if (entry->is_view()) return WrongKind(name, "table", " view", "DROP VIEW");
  return Drop(*entry, cascade);
}

absl::Status CatalogWriter::DropView(std::string_view name, bool cascade) {
  const CatalogEntry* entry = state_->Find(name);
  if (entry == nullptr) return DoesNotExist("view", name);
  if (!entry->is_view()) return WrongKind(name, "view", " table", "DROP TABLE");
  return Drop(*entry, cascade);
}

absl::Status CatalogWriter::Drop(const CatalogEntry& entry, bool cascade) {
  std::vector<std::string> doomed = {entry.name};
  std::string detail;
  for (size_t i = 0; i < doomed.size(); ++i) {  // grows: views of views
    for (const auto& [name, id] : state_->ids_) {
      const CatalogEntry* reader = state_->Find(id);
      if (!reader->is_view() ||
          std::ranges::find(reader->view->reads, doomed[i]) == reader->view->reads.end() ||
          std::ranges::find(doomed, name) != doomed.end()) {
        continue;
      }
      const CatalogEntry* read = state_->Find(doomed[i]);
      absl::StrAppend(&detail, detail.empty() ? "" : "\n", "view ", name, " depends on ",
                      read->is_view() ? "view " : "table ", doomed[i]);
      doomed.push_back(name);
    }
  }
  if (doomed.size() > 1 && !cascade) {
    return SqlErrorWithDetail(sqlstate::kDependentObjects,
                              absl::StrCat("cannot drop ", entry.is_view() ? "view " : "table ",
                                           entry.name, " because other objects depend on it"),
                              detail, "Use DROP ... CASCADE to drop the dependent objects too.");
  }
  for (const std::string& name : doomed) Erase(name);
  return absl::OkStatus();
}

void CatalogWriter::Erase(const std::string& name) {
  CatalogState& state = Edit();
  const auto found = state.ids_.find(name);
  const uint64_t id = found->second;
  state.ids_.erase(found);
  state.entries_.erase(id);
}

void CatalogWriter::Replace(uint64_t id, TableRef table) {
  Edit().entries_.at(id).table = std::move(table);
}

void CatalogWriter::SwapColumns(absl::Span<ColumnSwap> swaps) {
  CatalogState& state = Edit();
  for (ColumnSwap& swap : swaps) {
    TableReplacer::Swap(state.entries_.at(swap.table_id).table, swap.index, swap.column);
  }
}

void CatalogWriter::Commit() {
  if (own_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(catalog_->mutex_);
  catalog_->current_ = std::exchange(own_, nullptr);
}

std::shared_ptr<const CatalogState> Catalog::Snapshot() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

std::unique_ptr<CatalogWriter> Catalog::BeginWrite() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    writer_is_gone_.wait(lock, [this] { return !writing_; });
    writing_ = true;
  }
  return NewWriter();
}

std::unique_ptr<CatalogWriter> Catalog::TryBeginWrite() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (writing_) return nullptr;
    writing_ = true;
  }
  return NewWriter();
}

std::unique_ptr<CatalogWriter> Catalog::NewWriter() {
  return std::unique_ptr<CatalogWriter>(new CatalogWriter(this));
}

uint64_t Catalog::NewId() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ++last_id_;
}

bool Catalog::Refresh(absl::flat_hash_map<uint64_t, TableRef>& tables) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [id, table] : tables) {
    const auto found = current_->entries_.find(id);
    if (found == current_->entries_.end()) return false;
    table = found->second.table;
  }
  return true;
}

bool Catalog::SwapColumns(absl::Span<ColumnSwap> swaps) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (writing_) return false;
  for (const ColumnSwap& swap : swaps) {
    if (current_->table(swap.table_id) == nullptr) return false;
  }
  // A reader of the whole state reads its tables too: then it keeps this state and the next one is
  // another.
  if (!IsOnlyReference(current_)) current_ = std::make_shared<CatalogState>(*current_);
  for (ColumnSwap& swap : swaps) {
    TableReplacer::Swap(current_->entries_.at(swap.table_id).table, swap.index, swap.column);
  }
  return true;
}

}  // namespace adjoin
