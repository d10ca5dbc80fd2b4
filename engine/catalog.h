// Named tables and views of one database, in versions.
//
// A CatalogState is one version of all of them and never changes while anybody but the catalog can
// see it. Readers take the current one, which costs one pointer copy and never waits for a writer's
// work. One CatalogWriter exists at a time; it edits a version of its own, which becomes the
// current one as a whole on Commit, or vanishes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/table.h"

namespace adjoin {

struct View {
  std::string query;                 // SQL text of the SELECT
  std::vector<std::string> columns;  // names of its output
  std::vector<std::string> reads;    // relations it names, which DROP protects
};

// A table (table != nullptr) or a view. Ids are never reused: a table dropped and created again has
// another.
struct CatalogEntry {
  std::string name;
  uint64_t id = 0;
  TableRef table;
  std::shared_ptr<const View> view;
  bool is_view() const { return view != nullptr; }
};

class CatalogState {
 public:
  const CatalogEntry* Find(
      std::string_view name) const;  // null where absent; lives as long as the state
  const CatalogEntry* Find(uint64_t id) const;
  TableRef table(uint64_t id) const;       // null where there is no such table
  std::vector<std::string> Names() const;  // tables and views, sorted
  // The named tables by id, as RunState takes them; absent ones are left out.
  absl::flat_hash_map<uint64_t, TableRef> Tables(absl::Span<const uint64_t> ids) const;

 private:
  friend class Catalog;
  friend class CatalogWriter;
  std::map<std::string, uint64_t, std::less<>> ids_;
  absl::flat_hash_map<uint64_t, CatalogEntry> entries_;
};

// Swaps value columns of tables without copying the rest.
class TableReplacer {
 public:
  // Puts `column` in the place of column `index` of `table` and hands the old one back through
  // `column`. The table gets a new version. In place and without allocation when `table` is the
  // only reference to it; otherwise `table` becomes a new Table that shares the other columns, and
  // those who hold the old one see no change. REQUIRES: the column is no dim and keeps its type and
  // length; NULLs only where the field allows them.
  static void Swap(TableRef& table, int index, ColumnRef& column);
};

// One column to swap: see Catalog::SwapColumns.
struct ColumnSwap {
  uint64_t table_id;
  int index;
  ColumnRef column;  // in: the new column; out: the one it replaced
};

class Catalog;

// The only writer until it is destroyed. Not thread-safe, but may move between threads.
class CatalogWriter {
 public:
  ~CatalogWriter();  // discards what is not committed
  CatalogWriter(const CatalogWriter&) = delete;
  CatalogWriter& operator=(const CatalogWriter&) = delete;

  // This writer's version, own changes included; the pointer is valid until the next change.
  const CatalogState& state() const { return *state_; }

  // 42P07 `relation "t" already exists`. Returns the id.
  absl::StatusOr<uint64_t> CreateTable(std::string_view name, TableRef table);
  absl::Status CreateView(std::string_view name, View view, bool or_replace = false);
  // 42P01 `table "t" does not exist`; 42809 `"v" is not a table`; 2BP01 where a view reads it,
  // unless `cascade`, which drops those views too.
  absl::Status DropTable(std::string_view name, bool cascade = false);
  absl::Status DropView(std::string_view name, bool cascade = false);
  // Another version of a table. REQUIRES: the id is a table's and the schema stays.
  void Replace(uint64_t id, TableRef table);
  // The same for single value columns, sharing the rest. REQUIRES: as TableReplacer::Swap.
  void SwapColumns(absl::Span<ColumnSwap> swaps);
  // Makes this version the current one. The writer goes on from there.
  void Commit();

 private:
  friend class Catalog;
  explicit CatalogWriter(Catalog* catalog);
  CatalogState& Edit();  // a version of our own, made at the first change
  absl::Status Drop(const CatalogEntry& entry, bool cascade);
  void Erase(const std::string& name);
  Catalog* catalog_;
  std::shared_ptr<const CatalogState> state_;
  std::shared_ptr<CatalogState>
      own_;  // state_ where it is ours alone; null: state_ is the current version
};

// Thread-safe. Outlives its writers.
class Catalog {
 public:
  Catalog() : current_(std::make_shared<CatalogState>()) {}

  std::shared_ptr<const CatalogState> Snapshot() const;
  // Waits until there is no other writer. REQUIRES: the calling thread holds none, else it waits
  // for itself.
  std::unique_ptr<CatalogWriter> BeginWrite();
  std::unique_ptr<CatalogWriter> TryBeginWrite();  // null while there is another writer

  // Sets each table in `tables` to its current version, without allocating. False where one no
  // longer exists.
  bool Refresh(absl::flat_hash_map<uint64_t, TableRef>& tables) const;
  // One commit of column swaps: all of them or, to any reader, none. In place where nobody holds
  // the tables or a snapshot, so a caller drops its own references first; then nothing is
  // allocated. REQUIRES: as TableReplacer::Swap; false, and nothing done, where there is a writer
  // or a table no longer exists.
  bool SwapColumns(absl::Span<ColumnSwap> swaps);

 private:
  friend class CatalogWriter;
  std::unique_ptr<CatalogWriter> NewWriter();
  uint64_t NewId();
  // std's: ThreadSanitizer cannot see into Debian's Abseil.
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable writer_is_gone_;
  std::shared_ptr<CatalogState> current_;  // edited only while nobody else holds it
  bool writing_ = false;
  uint64_t last_id_ = 0;
};

}  // namespace adjoin
