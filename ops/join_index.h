// Rows of a table by key: what the build side of a join becomes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/large_vector.h"
#include "ops/column_access.h"
#include "ops/key_table.h"
#include "ops/rank_index.h"

namespace adjoin {

// The keys of one side: outputs of `exprs` in key order.
struct JoinKeys {
  CompiledExpr exprs;
  std::vector<bool> null_safe;  // by key: NULL equals NULL; else a row with a NULL matches nothing
};

// Immutable once built; lookups are thread-safe with a scratch a thread.
class JoinIndex {
 public:
  // Row numbers of one key, ascending.
  struct Rows {
    const uint32_t* begin = nullptr;
    const uint32_t* end = nullptr;
  };

  // Indexes all rows of `table`; keys that are not null-safe and NULL leave a row out. No keys: all
  // rows are one key. `probes`: how many look-ups are expected.
  static absl::StatusOr<std::unique_ptr<JoinIndex>> Build(const JoinKeys& keys, const Table& table,
                                                          const RunState& run,
                                                          const PipelineOptions& options,
                                                          double probes = 0);

  // ids[r]: for RowsOf; -1 where no row has that key. `keys` are the probing rows' values.
  void Find(std::span<const Vector> keys, int64_t n, int64_t* ids, KeyScratch& scratch) const;
  // The rows that have an id, ascending, and their ids; returns how many. `rows` and `ids` have
  // room for `n`. REQUIRES: there are keys.
  int64_t FindMatches(std::span<const Vector> keys, int64_t n, int32_t* rows, int64_t* ids,
                      KeyScratch& scratch) const;
  Rows RowsOf(int64_t id) const {
    return {rows_.data() + offsets_[id], rows_.data() + offsets_[id + 1]};
  }
  // Whether every row has a key of its own, and its id is the row's number.
  bool ids_are_rows() const { return ids_are_rows_; }
  int64_t num_keys() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t num_rows() const { return static_cast<int64_t>(rows_.size()); }  // not left out
  double rows_per_key() const {
    return num_keys() == 0 ? 0 : double(rows_.size()) / double(num_keys());
  }
  // Rows left out because a key was NULL.
  int64_t rows_with_nulls() const { return rows_with_nulls_; }

 private:
  JoinIndex(const std::vector<TypeId>& types, std::vector<bool> null_safe);
  absl::Status Add(std::span<const Vector> keys, int64_t num_rows, int64_t batch_rows);
  // One integer key by ranks; false where that is not worth it.
  absl::StatusOr<bool> AddByRank(std::span<const Vector> keys, int64_t num_rows, double probes);
  int64_t RanksOf(const Vector& key, int64_t n, int32_t* rows, int64_t* ids,
                  KeyScratch& scratch) const;
  void GroupRows();
  void NumberRanks();
  std::vector<bool> null_safe_;
  KeyTable table_;
  std::optional<RankIndex> ranks_;     // in the table's place
  LargeVector<uint32_t> row_of_rank_;  // where ids are rows and ranks are not
  LargeVector<int64_t> id_of_row_;     // while building; -1: left out
  std::unique_ptr<BudgetCharge> charge_;
  LargeVector<uint32_t> offsets_;
  LargeVector<uint32_t> rows_;
  int64_t rows_with_nulls_ = 0;
  bool ids_are_rows_ = false;
};

// Clears `valid_rows[r]` where a key that is not null-safe is NULL; returns whether any was.
bool FindNullKeys(std::span<const Vector> keys, const std::vector<bool>& null_safe, int64_t n,
                  std::vector<uint8_t>& valid_rows);

}  // namespace adjoin
