#include "ops/join_index.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "engine/status.h"
#include "ops/partitioned_keys.h"
#include "ops/spill.h"

namespace adjoin {
namespace {

constexpr int64_t kBlockRows = int64_t{1} << 16;
constexpr int64_t kChunk = 4096;  // rows looked up at once

// Drops the rows, and their ids, where `valid` is 0; returns how many are left.
int64_t KeepValid(const uint8_t* valid, int64_t n, int32_t* rows, int64_t* ids) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t row = rows[i];
    rows[kept] = row;
    ids[kept] = ids[i];
    kept += valid[row];
  }
  return kept;
}

}  // namespace

bool FindNullKeys(std::span<const Vector> keys, const std::vector<bool>& null_safe, int64_t n,
                  std::vector<uint8_t>& valid_rows) {
  bool any = false;
  for (size_t k = 0; k < keys.size(); ++k) {
    if (null_safe[k] || keys[k].valid == nullptr) continue;
    if (!any) valid_rows.assign(static_cast<size_t>(n), 1);
    any = true;
    for (int64_t r = 0; r < n; ++r) valid_rows[r] &= keys[k].valid[r];
  }
  return any;
}

class JoinIndexBuilder {
 public:
  JoinIndexBuilder(const JoinKeys& keys, int64_t num_rows, const RunState& run)
      : types_(keys.exprs.output_types()),
        num_rows_(num_rows),
        run_(run),
        index_(new JoinIndex(keys, run)) {}

  // Beside the keys' own memory 16 bytes a row, where rows and ids are in two orders at once, and 8
  // a key, where its rows begin and how many there are.
  absl::StatusOr<std::unique_ptr<JoinIndex>> Build(std::span<const Vector> keys, int64_t batch_rows,
                                                   double probes, std::optional<JoinForm> form) {
    ADJOIN_RETURN_IF_ERROR(index_->charge_.Add(8 * num_rows_));
    if (keys.empty()) {
      PutTogether();
    } else {
      ADJOIN_ASSIGN_OR_RETURN(const bool by_rank, AddRanks(keys, probes, form));
      if (!by_rank) ADJOIN_RETURN_IF_ERROR(AddKeys(keys, batch_rows, form));
    }
    index_->charge_.Release(8 * num_rows_);
    index_->rows_with_nulls_ = num_rows_ - index_->num_rows();
    index_->fan_out_ = CountFanOut();
    return std::move(index_);
  }

 private:
  // 1 ns a key: 4 ms of the 1e7 that take 200 to index.
  FanOut CountFanOut() const {
    FanOut counted{double(index_->num_keys()), double(index_->num_rows())};
    if (index_->ids_are_rows_) counted.squares = counted.rows;
    const LargeVector<uint32_t>& offsets = index_->grouped_.offsets;
    for (size_t key = 0; key + 1 < offsets.size() && !index_->ids_are_rows_; ++key) {
      const double rows = offsets[key + 1] - offsets[key];
      counted.squares += rows * rows;
    }
    return counted;
  }

  // All rows are one key.
  void PutTogether() {
    index_->num_keys_ = num_rows_ > 0 ? 1 : 0;
    index_->grouped_.offsets.assign(static_cast<size_t>(index_->num_keys_) + 1, 0);
    index_->grouped_.offsets.back() = static_cast<uint32_t>(num_rows_);
    NumberRows();
  }

  void NumberRows() {
    index_->grouped_.rows.resize(static_cast<size_t>(num_rows_));
    uint32_t* rows = index_->grouped_.rows.data();
    ForEachRange(run_.pool, num_rows_, kBlockRows, [&](int64_t begin, int64_t end) {
      std::iota(rows + begin, rows + end, static_cast<uint32_t>(begin));
    });
  }

  // One integer key by ranks; false where that is not worth it.
  absl::StatusOr<bool> AddRanks(std::span<const Vector> keys, double probes,
                                std::optional<JoinForm> form) {
    if (keys.size() != 1 || (index_->null_safe_[0] && keys[0].valid != nullptr)) return false;
    if (form.value_or(JoinForm::kRanks) != JoinForm::kRanks) return false;
    const std::optional<RankIndex::Range> range =
        RankIndex::RangeOf(keys[0], num_rows_, probes, run_.pool);
    if (!range.has_value()) return false;
    ADJOIN_RETURN_IF_ERROR(index_->charge_.Add(range->bytes()));
    index_->ranks_.emplace(*range, keys[0], num_rows_);
    index_->null_safe_[0] = false;  // there is no NULL, so that none finds one
    const int64_t size = index_->ranks_->size();
    ADJOIN_RETURN_IF_ERROR(index_->charge_.Add(8 * (num_rows_ + size)));
    if (size == num_rows_) {
      FindRowsOfRanks(keys[0]);
      LetIdsBeRows();
      return true;
    }
    LargeVector<uint32_t> ids(static_cast<size_t>(num_rows_));
    ForEachRank(keys[0], [&](int64_t begin, int64_t end, const int32_t* rows, const int64_t* ranks,
                             int64_t m) {
      if (m < end - begin) std::fill(ids.begin() + begin, ids.begin() + end, NumberedRows::kNone);
      for (int64_t i = 0; i < m; ++i) ids[begin + rows[i]] = static_cast<uint32_t>(ranks[i]);
    });
    Group(CutByIds(std::move(ids), size, run_.pool));
    return true;
  }

  // Calls f with rows [begin, end), those of them that are not NULL, counted from the first, and
  // their ranks.
  template <typename F>
  void ForEachRank(const Vector& key, F&& f) {
    ForEachRange(run_.pool, num_rows_, kBlockRows, [&](int64_t begin, int64_t end) {
      KeyScratch scratch;
      const auto most = static_cast<size_t>(std::min(kChunk, end - begin));
      std::vector<int32_t> rows(most);
      std::vector<int64_t> ranks(most);
      for (int64_t at = begin; at < end; at += kChunk) {
        const int64_t n = std::min(kChunk, end - at);
        const int64_t m = index_->RanksOf(Slice(key, at), n, rows.data(), ranks.data(), scratch);
        f(at, at + n, rows.data(), ranks.data(), m);
      }
    });
  }

  // Where every row has a rank of its own.
  void FindRowsOfRanks(const Vector& key) {
    LargeVector<uint32_t> row_of_rank(static_cast<size_t>(num_rows_));
    std::atomic<bool> ascends{true};
    ForEachRank(key,
                [&](int64_t begin, int64_t end, const int32_t*, const int64_t* ranks, int64_t) {
                  bool same = true;
                  for (int64_t r = begin; r < end; ++r) {
                    same &= ranks[r - begin] == r;
                    row_of_rank[ranks[r - begin]] = static_cast<uint32_t>(r);
                  }
                  if (!same) ascends.store(false, std::memory_order_relaxed);
                });
    if (!ascends) index_->row_of_id_ = std::move(row_of_rank);
  }

  void LetIdsBeRows() {
    index_->ids_are_rows_ = true;
    index_->num_keys_ = num_rows_;
    NumberRows();
  }

  void Group(const NumberedRows& numbered) {
    index_->num_keys_ = numbered.num_ids();
    index_->grouped_ = GroupRows(numbered, run_.pool);
  }

  absl::Status AddKeys(std::span<const Vector> keys, int64_t batch_rows,
                       std::optional<JoinForm> form) {
    KeyTable& table = index_->table_;
    table.Expect(keys, num_rows_);
    const int threads = run_.pool == nullptr ? 1 : run_.pool->threads();
    const JoinForm best =
        num_rows_ < FewestPartitionedRows(threads) || table.ExpectsArray(keys, num_rows_)
            ? JoinForm::kTable
            : JoinForm::kParts;
    if (num_rows_ > 0 && form.value_or(best) == JoinForm::kParts) {
      absl::Status status = AddParts(keys);
      if (!IsOutOfMemory(status)) return status;
      table = KeyTable(types_);
      table.Expect(keys, num_rows_);
    }
    LargeVector<uint32_t> ids(static_cast<size_t>(num_rows_));
    ADJOIN_RETURN_IF_ERROR(AddToTable(keys, batch_rows, ids.data()));
    ADJOIN_RETURN_IF_ERROR(index_->charge_.Add(8 * (num_rows_ + table.size())));
    if (table.size() == num_rows_) {  // they are numbered as they came
      LetIdsBeRows();
    } else {
      Group(CutByIds(std::move(ids), table.size(), run_.pool));
    }
    return absl::OkStatus();
  }

  absl::Status AddParts(std::span<const Vector> keys) {
    std::vector<uint8_t> valid_rows;
    const bool any_null = FindNullKeys(keys, index_->null_safe_, num_rows_, valid_rows);
    ADJOIN_ASSIGN_OR_RETURN(NumberedRows numbered,
                            AddByParts(keys, any_null ? valid_rows.data() : nullptr, num_rows_,
                                       run_.pool, run_.budget, index_->table_));
    ADJOIN_RETURN_IF_ERROR(
        index_->charge_.Add(index_->table_.bytes() + 8 * (num_rows_ + index_->table_.size())));
    if (numbered.num_ids() == num_rows_) {
      index_->row_of_id_ = std::move(numbered.rows);
      LetIdsBeRows();
    } else {
      Group(numbered);
    }
    return absl::OkStatus();
  }

  // `out[r]`: the id of row r in the table; kNone where it is left out.
  absl::Status AddToTable(std::span<const Vector> keys, int64_t batch_rows, uint32_t* out) {
    KeyTable& table = index_->table_;
    std::vector<Vector> slices(keys.size());
    std::vector<uint8_t> valid_rows;
    const auto most = static_cast<size_t>(std::min(batch_rows, num_rows_));
    std::vector<int32_t> kept(most + 1);
    std::vector<int64_t> ids(most);
    BatchArena arena;
    for (int64_t begin = 0; begin < num_rows_; begin += batch_rows) {
      ADJOIN_RETURN_IF_ERROR(index_->charge_.GrowTo(8 * num_rows_ + table.bytes()));
      const int64_t n = std::min(batch_rows, num_rows_ - begin);
      for (size_t k = 0; k < keys.size(); ++k) slices[k] = Slice(keys[k], begin);
      if (!FindNullKeys(slices, index_->null_safe_, n, valid_rows)) {
        table.FindOrAdd(slices, n, ids.data());
        std::copy_n(ids.begin(), n, out + begin);
        continue;
      }
      arena.Reset();
      const int64_t m = SelectTrue({TypeId::kBool, valid_rows.data(), nullptr}, n, kept.data());
      for (Vector& slice : slices) slice = Take(slice, kept.data(), m, arena);
      for (size_t k = 0; k < slices.size(); ++k) {
        if (!index_->null_safe_[k]) slices[k].valid = nullptr;
      }
      table.FindOrAdd(slices, m, ids.data());
      std::fill_n(out + begin, n, NumberedRows::kNone);
      for (int64_t i = 0; i < m; ++i) out[begin + kept[i]] = static_cast<uint32_t>(ids[i]);
    }
    return absl::OkStatus();
  }

  const std::vector<TypeId> types_;
  const int64_t num_rows_;
  const RunState& run_;
  std::unique_ptr<JoinIndex> index_;
};

absl::StatusOr<std::unique_ptr<JoinIndex>> JoinIndex::Build(const JoinKeys& keys,
                                                            const Table& table, const RunState& run,
                                                            const PipelineOptions& options,
                                                            double probes,
                                                            std::optional<JoinForm> form) {
  if (table.num_rows() >= int64_t{UINT32_MAX}) {
    return SqlError(sqlstate::kStatementTooComplex, "the build side of a join has too many rows");
  }
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> flat,
                          EvaluateOverTable(keys.exprs, table, run, options));
  return JoinIndexBuilder(keys, table.num_rows(), run)
      .Build(VectorsOf(flat), options.batch_rows, probes, form);
}

int64_t JoinIndex::RanksOf(const Vector& key, int64_t n, int32_t* rows, int64_t* ids,
                           KeyScratch& scratch) const {
  scratch.at.resize(static_cast<size_t>(n));
  const int64_t m = ranks_->FindMatches(key, n, rows, ids, scratch.at.data());
  return key.valid == nullptr ? m : KeepValid(key.valid, m, rows, ids);
}

void JoinIndex::FindInTable(std::span<const Vector> keys, int64_t n, int64_t* ids,
                            KeyScratch& scratch) const {
  table_.Find(keys, n, ids, scratch);
  for (size_t k = 0; k < keys.size(); ++k) {
    if (null_safe_[k] || keys[k].valid == nullptr) continue;
    for (int64_t r = 0; r < n; ++r) {
      if (keys[k].valid[r] == 0) ids[r] = -1;
    }
  }
}

void JoinIndex::Find(std::span<const Vector> keys, int64_t n, int64_t* ids,
                     KeyScratch& scratch) const {
  if (keys.empty()) {
    std::fill_n(ids, n, num_keys() - 1);  // one key that all share, or none
    return;
  }
  if (!ranks_.has_value() && row_of_id_.empty()) return FindInTable(keys, n, ids, scratch);
  scratch.rows.resize(static_cast<size_t>(n));
  scratch.found.resize(static_cast<size_t>(n));
  const int64_t m = FindMatches(keys, n, scratch.rows.data(), scratch.found.data(), scratch);
  std::fill_n(ids, n, -1);
  for (int64_t i = 0; i < m; ++i) ids[scratch.rows[i]] = scratch.found[i];
}

int64_t JoinIndex::FindMatches(std::span<const Vector> keys, int64_t n, int32_t* rows, int64_t* ids,
                               KeyScratch& scratch) const {
  int64_t m = 0;
  if (ranks_.has_value()) {
    m = RanksOf(keys[0], n, rows, ids, scratch);
  } else {
    FindInTable(keys, n, ids, scratch);
    for (int64_t r = 0; r < n; ++r) {
      const int64_t id = ids[r];
      rows[m] = static_cast<int32_t>(r);
      ids[m] = id;
      m += id >= 0 ? 1 : 0;
    }
  }
  if (!row_of_id_.empty()) {
    for (int64_t i = 0; i < m; ++i) ids[i] = row_of_id_[ids[i]];
  }
  return m;
}

}  // namespace adjoin
