// Rows of a table by key: what the build side of a join becomes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/budget_charge.h"
#include "engine/large_vector.h"
#include "ops/column_access.h"
#include "ops/key_table.h"
#include "ops/rank_index.h"
#include "ops/rows_by_id.h"

namespace adjoin {

// The keys of one side: outputs of `exprs` in key order.
struct JoinKeys {
  CompiledExpr exprs;
  std::vector<bool> null_safe;  // by key: NULL equals NULL; else a row with a NULL matches nothing
};

// How keys find their rows: one integer key by its rank among the values, others by a KeyTable,
// which is built by parts on several threads where there are many rows.
enum class JoinForm : uint8_t { kRanks, kTable, kParts };

// How many rows its keys have.
struct FanOut {
  double keys = 0, rows = 0;
  double squares = 0;  // of each key's rows, summed
  void Add(const FanOut& other) {
    keys += other.keys, rows += other.rows, squares += other.squares;
  }
  // Rows that a look-up finds: of rows that have the keys of the indexed ones, as many as those
  // have in the mean, so that blocks with hot keys in them are no larger than others. Where each
  // key is looked up once that would cut far too many blocks: at most 256 times the rows of a key.
  double Expected() const { return keys == 0 ? 0 : std::min(squares / rows, 256 * rows / keys); }
};

// Immutable once built; lookups are thread-safe with a scratch a thread.
class JoinIndex {
 public:
  // Row numbers of one key, ascending.
  struct Rows {
    const uint32_t* begin = nullptr;
    const uint32_t* end = nullptr;
  };

  // Indexes all rows of `table` on the run's pool; keys that are not null-safe and NULL leave a row
  // out. No keys: all rows are one key. `probes`: how many look-ups are expected. `form`: where the
  // keys can have it, in place of the fastest. Ids differ by form and pool, the rows of a key do
  // not. Errors: 53200; but parts that have no room make way for a table that is built at once.
  static absl::StatusOr<std::unique_ptr<JoinIndex>> Build(
      const JoinKeys& keys, const Table& table, const RunState& run, const PipelineOptions& options,
      double probes = 0, std::optional<JoinForm> form = std::nullopt);

  // ids[r]: for RowsOf; -1 where no row has that key. `keys` are the probing rows' values.
  void Find(std::span<const Vector> keys, int64_t n, int64_t* ids, KeyScratch& scratch) const;
  // The rows that have an id, ascending, and their ids; returns how many. `rows` and `ids` have
  // room for `n`. REQUIRES: there are keys.
  int64_t FindMatches(std::span<const Vector> keys, int64_t n, int32_t* rows, int64_t* ids,
                      KeyScratch& scratch) const;
  Rows RowsOf(int64_t id) const {
    const uint32_t* rows = grouped_.rows.data();
    if (ids_are_rows_) return {rows + id, rows + id + 1};
    return {rows + grouped_.offsets[id], rows + grouped_.offsets[id + 1]};
  }
  // Whether every row has a key of its own, and its id is the row's number.
  bool ids_are_rows() const { return ids_are_rows_; }
  int64_t num_keys() const { return num_keys_; }
  int64_t num_rows() const { return static_cast<int64_t>(grouped_.rows.size()); }  // not left out
  const FanOut& fan_out() const { return fan_out_; }
  // Rows left out because a key was NULL.
  int64_t rows_with_nulls() const { return rows_with_nulls_; }

 private:
  friend class JoinIndexBuilder;
  JoinIndex(const JoinKeys& keys, const RunState& run)
      : null_safe_(keys.null_safe), table_(keys.exprs.output_types()), charge_(run.budget) {}
  // What the ranks or the table find; row_of_id_ is not asked.
  int64_t RanksOf(const Vector& key, int64_t n, int32_t* rows, int64_t* ids,
                  KeyScratch& scratch) const;
  void FindInTable(std::span<const Vector> keys, int64_t n, int64_t* ids,
                   KeyScratch& scratch) const;
  std::vector<bool> null_safe_;
  KeyTable table_;
  std::optional<RankIndex> ranks_;  // in the table's place
  BudgetCharge charge_;
  RowsById grouped_;                 // without offsets where ids are rows
  LargeVector<uint32_t> row_of_id_;  // where ids are rows, and were not as they were found
  int64_t num_keys_ = 0;
  FanOut fan_out_;
  int64_t rows_with_nulls_ = 0;
  bool ids_are_rows_ = false;
};

// Clears `valid_rows[r]` where a key that is not null-safe is NULL; returns whether any was.
bool FindNullKeys(std::span<const Vector> keys, const std::vector<bool>& null_safe, int64_t n,
                  std::vector<uint8_t>& valid_rows);

}  // namespace adjoin
