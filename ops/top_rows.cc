#include "ops/top_rows.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/budget_charge.h"
#include "ops/column_access.h"
#include "ops/column_file.h"
#include "ops/key_table.h"
#include "ops/materialize.h"
#include "ops/spill.h"
#include "ops/window_order.h"

namespace adjoin {

namespace {

// What each partition keeps so far, in order.
template <typename Item>
class KeptRows {
 public:
  explicit KeptRows(int64_t limit) : limit_(static_cast<size_t>(limit)) {}
  void Resize(int64_t partitions) {
    items_.resize(static_cast<size_t>(partitions) * limit_);
    sizes_.resize(static_cast<size_t>(partitions));
  }
  // REQUIRES: `item` is of a later row than what was offered before.
  template <typename Less>
  void Offer(size_t partition, const Item& item, Less&& less) {
    Item* const first = items_.data() + partition * limit_;
    size_t at = sizes_[partition];
    if (at == limit_) {
      if (!less(item, first[--at])) return;
    } else {
      ++sizes_[partition];
    }
    for (; at > 0 && less(item, first[at - 1]); --at) first[at] = first[at - 1];
    first[at] = item;
  }
  std::span<const Item> of(size_t partition) const {
    return {items_.data() + partition * limit_, static_cast<size_t>(sizes_[partition])};
  }
  size_t partitions() const { return sizes_.size(); }
  int64_t bytes() const {
    return static_cast<int64_t>(items_.capacity() * sizeof(Item) +
                                sizes_.capacity() * sizeof(uint32_t));
  }

 private:
  size_t limit_;
  std::vector<Item> items_;
  std::vector<uint32_t> sizes_;
};

template <typename Item, typename RowOf>
std::vector<int64_t> Ascending(const KeptRows<Item>& kept, RowOf&& row_of) {
  std::vector<int64_t> rows;
  for (size_t p = 0; p < kept.partitions(); ++p) {
    for (const Item& item : kept.of(p)) rows.push_back(row_of(item));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// A row with its code, so that comparing reads nothing else.
struct CodedRow {
  uint64_t code;
  int64_t row;
};
constexpr auto kLessCode = [](const CodedRow& a, const CodedRow& b) { return a.code < b.code; };

// What a run of rows keeps.
struct TopPart {
  TopPart(const std::vector<TypeId>& types, int64_t limit,
          const std::shared_ptr<MemoryBudget>& budget)
      : partitions(types), kept(limit), charge(budget) {
    partitions.BorrowCodes();
  }
  KeyTable partitions;
  KeptRows<CodedRow> kept;
  BudgetCharge charge;
};

}  // namespace

absl::StatusOr<std::vector<int64_t>> TopRowsStep::FindInParts(std::span<const Vector> keys,
                                                              int64_t rows, RunState& state) const {
  constexpr int64_t kRowsAPart = int64_t{1} << 18;
  const auto split = static_cast<size_t>(spec_.num_partition);
  const SortOrder order = spec_.orders.empty() ? SortOrder() : spec_.orders[0];
  const int64_t most = rows / 2 / spec_.limit;  // partitions; with more it is not worth it
  const int64_t threads = state.pool == nullptr ? 1 : state.pool->threads();
  const int64_t num_parts = std::clamp<int64_t>(rows / kRowsAPart, 1, threads);
  std::vector<TypeId> types;
  for (size_t k = 0; k < split; ++k) types.push_back(keys[k].type);
  std::vector<std::unique_ptr<TopPart>> parts;
  for (int64_t p = 0; p < num_parts; ++p)
    parts.push_back(std::make_unique<TopPart>(types, spec_.limit, state.budget));
  const auto fill = [&](int64_t p) -> absl::Status {
    TopPart& part = *parts[static_cast<size_t>(p)];
    const int64_t end = rows * (p + 1) / num_parts;
    std::vector<Vector> slices(split);
    std::vector<int64_t> ids(static_cast<size_t>(options_.batch_rows));
    std::vector<uint64_t> codes(ids.size());
    for (int64_t begin = rows * p / num_parts; begin < end && part.partitions.size() <= most;
         begin += options_.batch_rows) {
      if (state.control != nullptr) ADJOIN_RETURN_IF_ERROR(state.control->Check());
      const int64_t n = std::min(options_.batch_rows, end - begin);
      for (size_t k = 0; k < split; ++k) slices[k] = Slice(keys[k], begin);
      part.partitions.FindOrAdd(slices, n, ids.data());
      part.kept.Resize(part.partitions.size());
      OwnCodes(Slice(keys[split], begin), order, n, codes.data());
      for (int64_t r = 0; r < n; ++r)
        part.kept.Offer(static_cast<size_t>(ids[r]), {codes[r], begin + r}, kLessCode);
      ADJOIN_RETURN_IF_ERROR(part.charge.GrowTo(part.partitions.bytes() + part.kept.bytes()));
    }
    return absl::OkStatus();
  };
  ADJOIN_RETURN_IF_ERROR(ForEachBlock(state.pool, num_parts, fill));
  TopPart& all = *parts[0];
  for (size_t p = 1; p < parts.size(); ++p) {
    const TopPart& part = *parts[p];
    const std::vector<int64_t> ids = all.partitions.AddAll(part.partitions);
    all.kept.Resize(all.partitions.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      for (const CodedRow& row : part.kept.of(i))
        all.kept.Offer(static_cast<size_t>(ids[i]), row, kLessCode);
    }
    ADJOIN_RETURN_IF_ERROR(all.charge.GrowTo(all.partitions.bytes() + all.kept.bytes()));
  }
  if (all.partitions.size() > most) return std::vector<int64_t>();
  return Ascending(all.kept, [](const CodedRow& row) { return row.row; });
}

absl::StatusOr<std::vector<int64_t>> TopRowsStep::Find(const Table& table, RunState& state) const {
  const int64_t rows = table.num_rows();
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> flat,
                          EvaluateOverTable(spec_.exprs, table, state, options_));
  const std::vector<Vector> keys = VectorsOf(flat);
  const auto split = static_cast<size_t>(spec_.num_partition);
  const auto order = std::span<const Vector>(keys).subspan(split);
  if (split > 0 && order.size() == 1 && HasOwnCodes(order[0]))
    return FindInParts(keys, rows, state);
  BudgetCharge charge(state.budget);
  ADJOIN_RETURN_IF_ERROR(charge.Add((16 + SortCodes::BytesARow(order)) * rows));
  const PartitionIds partitions =
      FindPartitions(std::span<const Vector>(keys).first(split), rows, options_.batch_rows);
  // What is kept is at most `limit` rows a partition: worth finding where that is half at most.
  if (partitions.count > rows / 2 / spec_.limit) return std::vector<int64_t>();
  const SortCodes codes(order, spec_.orders, rows);
  KeptRows<int64_t> kept(spec_.limit);
  kept.Resize(partitions.count);
  const auto less = [&](int64_t a, int64_t b) { return codes.Less(a, b); };
  for (int64_t row = 0; row < rows; ++row)
    kept.Offer(static_cast<size_t>(partitions.ids[static_cast<size_t>(row)]), row, less);
  return Ascending(kept, [](int64_t row) { return row; });
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
