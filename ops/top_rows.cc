#include "ops/top_rows.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/budget_charge.h"
#include "engine/large_vector.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/column_file.h"
#include "ops/key_table.h"
#include "ops/materialize.h"
#include "ops/row_partitions.h"
#include "ops/spill.h"
#include "ops/top_rows_by_runs.h"

namespace adjoin {

namespace {

// A row with the code of its first order key, so that comparing seldom reads anything else.
struct CodedRow {
  uint64_t code;
  int64_t row;
};

// The order of rows by keys that have codes of their own.
class CodeLess {
 public:
  CodeLess(std::span<const Vector> keys, std::span<const SortOrder> orders)
      : keys_(keys), orders_(orders), one_key_(keys.size() == 1 && keys[0].valid == nullptr) {}
  bool operator()(const CodedRow& a, const CodedRow& b) const {
    return a.code != b.code || one_key_ ? a.code < b.code : LessByValues(a.row, b.row);
  }

 private:
  bool LessByValues(int64_t a, int64_t b) const {
    for (size_t k = 0; k < keys_.size(); ++k) {
      const bool null = keys_[k].is_null(a);
      if (null != keys_[k].is_null(b)) return null == orders_[k].nulls_first;
      const uint64_t of_a = CodeOf(k, a), of_b = CodeOf(k, b);
      if (of_a != of_b) return of_a < of_b;
    }
    return false;
  }
  uint64_t CodeOf(size_t key, int64_t row) const {
    uint64_t code = 0;
    OwnCodes(Slice(keys_[key], row), orders_[key], 1, &code);
    return code;
  }
  const std::span<const Vector> keys_;
  const std::span<const SortOrder> orders_;
  const bool one_key_;  // whose codes tell all values apart
};

// What each partition keeps of a part of the rows.
class KeptRows {
 public:
  explicit KeptRows(int64_t limit) : limit_(static_cast<size_t>(limit)) {}
  void Resize(int64_t partitions) {
    rows_.resize(static_cast<size_t>(partitions) * limit_);
    sizes_.resize(static_cast<size_t>(partitions), 0);
    last_.resize(static_cast<size_t>(partitions), std::numeric_limits<uint64_t>::max());
  }
  // False: a row with this code is none of them.
  bool MayKeep(size_t partition, uint64_t code) const { return code <= last_[partition]; }
  void Prefetch(size_t partition) const {
    __builtin_prefetch(rows_.data() + partition * limit_);
    __builtin_prefetch(sizes_.data() + partition);
  }
  void Add(size_t partition, const CodedRow& row, const CodeLess& less) {
    CodedRow* const rows = rows_.data() + partition * limit_;
    Offer(row, rows, sizes_[partition], limit_, less);
    if (sizes_[partition] == limit_) last_[partition] = rows[limit_ - 1].code;
  }
  std::span<const CodedRow> of(size_t partition) const {
    return {rows_.data() + partition * limit_, static_cast<size_t>(sizes_[partition])};
  }
  // Of a table of `num_rows`.
  std::vector<int64_t> Ascending(int64_t num_rows) const {
    LargeVector<uint64_t> marks(static_cast<size_t>(num_rows / 64 + 1), 0);
    for (size_t p = 0; p < sizes_.size(); ++p) {
      for (const CodedRow& row : of(p)) marks[row.row / 64] |= uint64_t{1} << (row.row % 64);
    }
    std::vector<int64_t> rows;
    for (size_t w = 0; w < marks.size(); ++w) {
      for (uint64_t word = marks[w]; word != 0; word &= word - 1)
        rows.push_back(static_cast<int64_t>(64 * w) + std::countr_zero(word));
    }
    return rows;
  }
  int64_t bytes() const {
    return static_cast<int64_t>(rows_.capacity() * sizeof(CodedRow) +
                                sizes_.capacity() * sizeof(uint32_t) +
                                last_.capacity() * sizeof(uint64_t));
  }

 private:
  size_t limit_;
  LargeVector<CodedRow> rows_;
  LargeVector<uint32_t> sizes_;
  LargeVector<uint64_t> last_;  // codes of partitions' last rows, where they are full
};

// What one thread finds.
struct TopPart {
  TopPart(const std::vector<TypeId>& types, int64_t limit,
          const std::shared_ptr<MemoryBudget>& budget)
      : partitions(types), kept(limit), charge(budget) {
    partitions.BorrowCodes();
  }
  KeyTable partitions;
  KeptRows kept;
  BudgetCharge charge;
};

// Calls keep(part) of all partitions, or where that has no room of some after others. `cut`: at
// once.
template <typename F>
absl::Status ForEachHashPart(bool can_cut, bool cut, HashPart& part, F&& keep) {
  can_cut = can_cut && part.size() < kMostLevels;
  if (!can_cut || !cut) {
    absl::Status status = keep(part);
    if (!can_cut || !IsOutOfMemory(status)) return status;
  }
  part.push_back(0);
  for (int p = 0; p < kPartitions; ++p) {
    part.back() = static_cast<uint8_t>(p);
    ADJOIN_RETURN_IF_ERROR(ForEachHashPart(can_cut, /*cut=*/false, part, keep));
  }
  part.pop_back();
  return absl::OkStatus();
}

// Batch by batch, in one part a thread, by order keys that have codes of their own.
class TopRowsByCodes {
 public:
  TopRowsByCodes(const TopRowsSpec& spec, std::span<const Vector> keys, int64_t rows, RunState& run,
                 const PipelineOptions& options, const HashPart& part)
      : spec_(spec),
        partition_(keys.first(static_cast<size_t>(spec.num_partition))),
        order_(keys.subspan(static_cast<size_t>(spec.num_partition))),
        rows_(rows),
        most_(rows / 2 / spec.limit),
        run_(run),
        options_(options),
        part_(part),
        less_(order_, spec.orders) {}

  absl::StatusOr<TopRows> Find() {
    constexpr int64_t kRowsAPart = int64_t{1} << 18;
    const int64_t threads = run_.pool == nullptr ? 1 : run_.pool->threads();
    const int64_t num_parts = std::clamp<int64_t>(rows_ / kRowsAPart, 1, threads);
    std::vector<TypeId> types;
    for (const Vector& key : partition_) types.push_back(key.type);
    std::vector<std::unique_ptr<TopPart>> parts;
    for (int64_t p = 0; p < num_parts; ++p)
      parts.push_back(std::make_unique<TopPart>(types, spec_.limit, run_.budget));
    ADJOIN_RETURN_IF_ERROR(ForEachBlock(run_.pool, num_parts, [&](int64_t p) {
      return Fill(rows_ * p / num_parts, rows_ * (p + 1) / num_parts,
                  *parts[static_cast<size_t>(p)]);
    }));
    TopPart& all = *parts[0];
    for (size_t p = 1; p < parts.size(); ++p) {
      const TopPart& part = *parts[p];
      const LargeVector<int64_t> ids = all.partitions.AddAll(part.partitions);
      all.kept.Resize(all.partitions.size());
      for (size_t i = 0; i < ids.size(); ++i) {
        for (const CodedRow& row : part.kept.of(i))
          all.kept.Add(static_cast<size_t>(ids[i]), row, less_);
      }
      ADJOIN_RETURN_IF_ERROR(all.charge.GrowTo(all.partitions.bytes() + all.kept.bytes()));
    }
    return all.partitions.size() > most_ ? TopRows() : all.kept.Ascending(rows_);
  }

 private:
  // With more partitions than `most_` it is not worth it.
  absl::Status Fill(int64_t begin, int64_t end, TopPart& part) const {
    std::vector<Vector> keys(partition_.size());
    LargeVector<int64_t> ids(static_cast<size_t>(options_.batch_rows));
    LargeVector<uint64_t> codes(ids.size());
    LargeVector<int32_t> rows(ids.size());
    BatchArena arena;
    for (; begin < end && part.partitions.size() <= most_; begin += options_.batch_rows) {
      if (run_.control != nullptr) ADJOIN_RETURN_IF_ERROR(run_.control->Check());
      int64_t n = std::min(options_.batch_rows, end - begin);
      arena.Reset();
      for (size_t k = 0; k < keys.size(); ++k) keys[k] = Slice(partition_[k], begin);
      OwnCodes(Slice(order_[0], begin), spec_.orders[0], n, codes.data());
      if (!part_.empty()) {
        n = SelectOfPart(keys, n, part_, arena, rows.data());
        for (Vector& key : keys) key = Take(key, rows.data(), n, arena);
      }
      part.partitions.FindOrAdd(keys, n, ids.data());
      part.kept.Resize(part.partitions.size());
      // One row in ten is kept for a while: those first, so that their memory can be asked for (h2o
      // q8 at 1e7 rows 160 -> 116 ms).
      int64_t m = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int32_t r = part_.empty() ? static_cast<int32_t>(i) : rows[i];
        const int64_t id = ids[i];
        rows[m] = r;
        ids[m] = id;
        m += part.kept.MayKeep(static_cast<size_t>(id), codes[r]) ? 1 : 0;
      }
      constexpr int64_t kAhead = 8;
      for (int64_t i = 0; i < m; ++i) {
        if (i + kAhead < m) part.kept.Prefetch(static_cast<size_t>(ids[i + kAhead]));
        part.kept.Add(static_cast<size_t>(ids[i]), {codes[rows[i]], begin + rows[i]}, less_);
      }
      ADJOIN_RETURN_IF_ERROR(part.charge.GrowTo(part.partitions.bytes() + part.kept.bytes()));
    }
    return absl::OkStatus();
  }

  const TopRowsSpec& spec_;
  const std::span<const Vector> partition_, order_;
  const int64_t rows_, most_;
  RunState& run_;
  const PipelineOptions& options_;
  const HashPart& part_;
  const CodeLess less_;
};

// Whether all order keys have codes of their own.
bool HasOwnCodes(const TopRowsSpec& spec) {
  bool all = !spec.orders.empty();
  for (int k = spec.num_partition; k < spec.exprs.num_outputs(); ++k)
    all &= HasOwnCodes(spec.exprs.output_type(k));
  return all;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> TopRowsStep::Find(const Table& table, RunState& state) const {
  const int64_t rows = table.num_rows();
  std::vector<FlatColumn> flat;
  if (spec_.num_partition > 0 && HasOwnCodes(spec_)) {
    auto all = EvaluateOverTable(spec_.exprs, table, state, options_);
    if (!all.ok() && !IsOutOfMemory(all.status())) return all.status();
    if (all.ok()) flat = *std::move(all);
  }
  const std::vector<Vector> keys = VectorsOf(flat);
  BudgetCharge charge(state.budget);
  std::vector<int64_t> top;
  bool is_worth_it = true;
  const auto keep = [&](const HashPart& part) -> absl::Status {
    if (!is_worth_it) return absl::OkStatus();
    ADJOIN_ASSIGN_OR_RETURN(const TopRows kept,
                            keys.empty()
                                ? FindTopRowsByRuns(spec_, table, part, state, options_)
                                : TopRowsByCodes(spec_, keys, rows, state, options_, part).Find());
    is_worth_it = kept.has_value() && std::ssize(top) + std::ssize(*kept) <= rows / 2;
    if (!is_worth_it) return absl::OkStatus();
    ADJOIN_RETURN_IF_ERROR(charge.Add(8 * std::ssize(*kept)));
    top.insert(top.end(), kept->begin(), kept->end());
    return absl::OkStatus();
  };
  HashPart part;
  ADJOIN_RETURN_IF_ERROR(ForEachHashPart(spec_.num_partition > 0, state.spill->forced, part, keep));
  if (!is_worth_it) return std::vector<int64_t>();
  if (!std::is_sorted(top.begin(), top.end())) std::sort(top.begin(), top.end());  // of several
  return top;
}

absl::Status TopRowsStep::Run(RunState& state) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef table, spec_.relation.Resolve(state));
  absl::StatusOr<std::vector<int64_t>> top = Find(*table, state);
  if (!top.ok() && !IsOutOfMemory(top.status())) return top.status();
  const bool all = !top.ok() || top->empty();
  std::vector<ColumnRef> columns;
  for (int c : spec_.columns) {
    ColumnRef column = table->column(c);
    if (!all) {
      ADJOIN_ASSIGN_OR_RETURN(column, TakeRows(*column, *top, state));
    }
    columns.push_back(std::move(column));
  }
  const int64_t rows = all ? table->num_rows() : std::ssize(*top);
  SetRelation(state, out_slot_, Table::MakeUnchecked(spec_.schema, std::move(columns), rows));
  return absl::OkStatus();
}

std::string TopRowsStep::Describe() const {
  return absl::StrCat("slot ", out_slot_, " = first ", spec_.limit, " rows by ",
                      spec_.num_partition, " keys of ", spec_.relation.ToString());
}

}  // namespace adjoin
