#include "ops/join_index.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/status.h"

namespace adjoin {
namespace {

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

JoinIndex::JoinIndex(const std::vector<TypeId>& types, std::vector<bool> null_safe)
    : null_safe_(std::move(null_safe)), table_(types) {}

absl::StatusOr<std::unique_ptr<JoinIndex>> JoinIndex::Build(const JoinKeys& keys,
                                                            const Table& table, const RunState& run,
                                                            const PipelineOptions& options,
                                                            double probes) {
  if (table.num_rows() >= int64_t{UINT32_MAX}) {
    return SqlError(sqlstate::kStatementTooComplex, "the build side of a join has too many rows");
  }
  auto index = std::unique_ptr<JoinIndex>(new JoinIndex(keys.exprs.output_types(), keys.null_safe));
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> flat,
                          EvaluateOverTable(keys.exprs, table, run, options));
  index->charge_ = std::make_unique<BudgetCharge>(run.budget);
  ADJOIN_RETURN_IF_ERROR(index->charge_->Add(8 * table.num_rows()));
  index->id_of_row_.assign(static_cast<size_t>(table.num_rows()), 0);
  const std::vector<Vector> vectors = VectorsOf(flat);
  ADJOIN_ASSIGN_OR_RETURN(const bool by_rank, index->AddByRank(vectors, table.num_rows(), probes));
  if (!by_rank && !flat.empty())
    ADJOIN_RETURN_IF_ERROR(index->Add(vectors, table.num_rows(), options.batch_rows));
  ADJOIN_RETURN_IF_ERROR(index->charge_->Add(8 * (table.num_rows() + index->table_.size())));
  index->GroupRows();
  index->charge_->Release(8 * table.num_rows());
  return index;
}

absl::StatusOr<bool> JoinIndex::AddByRank(std::span<const Vector> keys, int64_t num_rows,
                                          double probes) {
  if (keys.size() != 1 || (null_safe_[0] && keys[0].valid != nullptr)) return false;
  const std::optional<RankIndex::Range> range = RankIndex::RangeOf(keys[0], num_rows, probes);
  if (!range.has_value()) return false;
  ADJOIN_RETURN_IF_ERROR(charge_->Add(range->bytes()));
  ranks_.emplace(*range, keys[0], num_rows);
  null_safe_[0] = false;  // there is no NULL, so that none finds one
  KeyScratch scratch;
  constexpr int64_t kChunk = 4096;
  std::vector<int32_t> rows(kChunk);
  std::vector<int64_t> ids(kChunk);
  std::fill(id_of_row_.begin(), id_of_row_.end(), -1);
  for (int64_t begin = 0; begin < num_rows; begin += kChunk) {
    const Vector key = Slice(keys[0], begin);
    const int64_t n = std::min(kChunk, num_rows - begin);
    const int64_t m = RanksOf(key, n, rows.data(), ids.data(), scratch);
    for (int64_t i = 0; i < m; ++i) id_of_row_[begin + rows[i]] = ids[i];
    rows_with_nulls_ += n - m;
  }
  return true;
}

absl::Status JoinIndex::Add(std::span<const Vector> keys, int64_t num_rows, int64_t batch_rows) {
  std::vector<Vector> slices(keys.size());
  std::vector<uint8_t> valid_rows;
  std::vector<int32_t> kept(static_cast<size_t>(batch_rows) + 1);
  std::vector<int64_t> ids(static_cast<size_t>(batch_rows));
  BatchArena arena;
  table_.Expect(keys, num_rows);
  for (int64_t begin = 0; begin < num_rows; begin += batch_rows) {
    ADJOIN_RETURN_IF_ERROR(charge_->GrowTo(8 * num_rows + table_.bytes()));
    const int64_t n = std::min(batch_rows, num_rows - begin);
    for (size_t k = 0; k < keys.size(); ++k) slices[k] = Slice(keys[k], begin);
    int64_t* out = id_of_row_.data() + begin;
    if (!FindNullKeys(slices, null_safe_, n, valid_rows)) {
      table_.FindOrAdd(slices, n, out);
      continue;
    }
    arena.Reset();
    const int64_t m = SelectTrue({TypeId::kBool, valid_rows.data(), nullptr}, n, kept.data());
    for (Vector& slice : slices) slice = Take(slice, kept.data(), m, arena);
    for (size_t k = 0; k < slices.size(); ++k) {
      if (!null_safe_[k]) slices[k].valid = nullptr;
    }
    table_.FindOrAdd(slices, m, ids.data());
    std::fill_n(out, n, -1);
    for (int64_t i = 0; i < m; ++i) out[kept[i]] = ids[i];
    rows_with_nulls_ += n - m;
  }
  return absl::OkStatus();
}

void JoinIndex::GroupRows() {
  const bool keyless = null_safe_.empty();
  const int64_t keys = keyless              ? (id_of_row_.empty() ? 0 : 1)
                       : ranks_.has_value() ? ranks_->size()
                                            : table_.size();
  const auto num_rows = static_cast<int64_t>(id_of_row_.size());
  ids_are_rows_ = !keyless && keys == num_rows;
  if (ids_are_rows_) {
    NumberRanks();
    offsets_.resize(static_cast<size_t>(num_rows) + 1);
    std::iota(offsets_.begin(), offsets_.end(), 0);
    rows_.assign(offsets_.begin(), offsets_.end() - 1);
    id_of_row_ = {};
    return;
  }
  offsets_.assign(static_cast<size_t>(keys) + 1, 0);
  for (int64_t id : id_of_row_) {
    if (id >= 0) ++offsets_[id + 1];
  }
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  rows_.resize(offsets_.back());
  std::vector<uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  for (size_t row = 0; row < id_of_row_.size(); ++row) {
    if (id_of_row_[row] >= 0) rows_[next[id_of_row_[row]]++] = static_cast<uint32_t>(row);
  }
  id_of_row_ = {};
}

void JoinIndex::NumberRanks() {
  if (!ranks_.has_value()) return;
  bool ascends = true;
  for (size_t row = 0; row < id_of_row_.size(); ++row)
    ascends &= id_of_row_[row] == static_cast<int64_t>(row);
  if (ascends) return;
  row_of_rank_.resize(id_of_row_.size());
  for (size_t row = 0; row < id_of_row_.size(); ++row)
    row_of_rank_[static_cast<size_t>(id_of_row_[row])] = static_cast<uint32_t>(row);
}

int64_t JoinIndex::RanksOf(const Vector& key, int64_t n, int32_t* rows, int64_t* ids,
                           KeyScratch& scratch) const {
  scratch.at.resize(static_cast<size_t>(n));
  const int64_t m = ranks_->FindMatches(key, n, rows, ids, scratch.at.data());
  if (!row_of_rank_.empty()) {
    for (int64_t i = 0; i < m; ++i) ids[i] = row_of_rank_[ids[i]];
  }
  return key.valid == nullptr ? m : KeepValid(key.valid, m, rows, ids);
}

void JoinIndex::Find(std::span<const Vector> keys, int64_t n, int64_t* ids,
                     KeyScratch& scratch) const {
  if (keys.empty()) {
    std::fill_n(ids, n, num_keys() - 1);  // one key that all share, or none
    return;
  }
  if (ranks_.has_value()) {
    scratch.rows.resize(static_cast<size_t>(n));
    scratch.found.resize(static_cast<size_t>(n));
    const int64_t m = RanksOf(keys[0], n, scratch.rows.data(), scratch.found.data(), scratch);
    std::fill_n(ids, n, -1);
    for (int64_t i = 0; i < m; ++i) ids[scratch.rows[i]] = scratch.found[i];
    return;
  }
  table_.Find(keys, n, ids, scratch);
  for (size_t k = 0; k < keys.size(); ++k) {
    if (null_safe_[k] || keys[k].valid == nullptr) continue;
    for (int64_t r = 0; r < n; ++r) {
      if (keys[k].valid[r] == 0) ids[r] = -1;
    }
  }
}

int64_t JoinIndex::FindMatches(std::span<const Vector> keys, int64_t n, int32_t* rows, int64_t* ids,
                               KeyScratch& scratch) const {
  if (ranks_.has_value()) return RanksOf(keys[0], n, rows, ids, scratch);
  Find(keys, n, ids, scratch);
  int64_t m = 0;
  for (int64_t r = 0; r < n; ++r) {
    const int64_t id = ids[r];
    rows[m] = static_cast<int32_t>(r);
    ids[m] = id;
    m += id >= 0 ? 1 : 0;
  }
  return m;
}

}  // namespace adjoin
