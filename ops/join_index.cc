#include "ops/join_index.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/status.h"

namespace adjoin {
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
                                                            const PipelineOptions& options) {
  if (table.num_rows() >= int64_t{UINT32_MAX}) {
    return SqlError(sqlstate::kStatementTooComplex, "the build side of a join has too many rows");
  }
  auto index = std::unique_ptr<JoinIndex>(new JoinIndex(keys.exprs.output_types(), keys.null_safe));
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> flat,
                          EvaluateOverTable(keys.exprs, table, run, options));
  index->charge_ = std::make_unique<BudgetCharge>(run.budget);
  ADJOIN_RETURN_IF_ERROR(index->charge_->Add(8 * table.num_rows()));
  index->id_of_row_.assign(static_cast<size_t>(table.num_rows()), 0);
  if (!flat.empty())
    ADJOIN_RETURN_IF_ERROR(index->Add(VectorsOf(flat), table.num_rows(), options.batch_rows));
  index->table_.MarkPresent();
  ADJOIN_RETURN_IF_ERROR(index->charge_->GrowTo(16 * table.num_rows() + 8 * index->table_.size() +
                                                index->table_.bytes()));
  index->GroupRows();
  index->charge_->Release(8 * table.num_rows());
  return index;
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
    for (Vector& slice : slices) slice = Gather(slice, kept.data(), m, arena);
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
  const int64_t keys = keyless ? (id_of_row_.empty() ? 0 : 1) : table_.size();
  const auto num_rows = static_cast<int64_t>(id_of_row_.size());
  ids_are_rows_ = !keyless && keys == num_rows;
  if (ids_are_rows_) {
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

void JoinIndex::Find(std::span<const Vector> keys, int64_t n, int64_t* ids,
                     KeyScratch& scratch) const {
  if (keys.empty()) {
    std::fill_n(ids, n, num_keys() - 1);  // one key that all share, or none
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
  int64_t m = table_.FindMatches(keys, n, rows, ids, scratch);
  for (size_t k = 0; k < keys.size(); ++k) {
    if (null_safe_[k] || keys[k].valid == nullptr) continue;
    int64_t kept = 0;
    for (int64_t i = 0; i < m; ++i) {
      const int32_t row = rows[i];
      rows[kept] = row;
      ids[kept] = ids[i];
      kept += keys[k].valid[row];
    }
    m = kept;
  }
  return m;
}

}  // namespace adjoin
