#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/budget_charge.h"
#include "engine/status.h"
#include "ops/accumulator.h"
#include "ops/merge_runs.h"
#include "ops/sort.h"
#include "ops/stored_rows.h"

namespace adjoin {
namespace {

constexpr int64_t kPiece = 4096;      // rows that are moved at once
constexpr int64_t kFewestRows = 256;  // of a run; their keys must have room

// The order of rows of key columns, as SortCodes has it, without codes: those of text are ranks
// among the rows of one run.
class KeyOrder {
 public:
  KeyOrder(const Table& table, const std::vector<SortOrder>& orders)
      : table_(table), orders_(orders) {}

  bool Less(int64_t a, int64_t b) const {
    for (size_t k = 0; k < orders_.size(); ++k) {
      const int compared = Compare(*table_.column(static_cast<int>(k)), orders_[k], a, b);
      if (compared != 0) return compared < 0;
    }
    return false;
  }

 private:
  static int Compare(const Column& key, const SortOrder& order, int64_t a, int64_t b) {
    const bool null = key.is_null(a);
    if (null || key.is_null(b)) {
      if (null == key.is_null(b)) return 0;
      return null == order.nulls_first ? -1 : 1;
    }
    if (order.descending) std::swap(a, b);
    return WithElementType(key.type(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_same_v<T, std::string_view>) {
        return key.text(a).compare(key.text(b));
      } else {
        const T* values = key.values<T>();
        if (SqlLess(values[a], values[b])) return -1;
        return SqlLess(values[b], values[a]) ? 1 : 0;
      }
    });
  }

  const Table& table_;
  const std::vector<SortOrder>& orders_;
};

class ExternalSort {
 public:
  ExternalSort(const SortSpec& spec, const Table& table, RunState& run,
               const PipelineOptions& options)
      : spec_(spec), table_(table), run_(run), options_(options), file_(*run.spill, run.budget) {}

  absl::StatusOr<TableRef> Run() {
    int64_t rows = RowsARun();
    for (int64_t first = 0; first < table_.num_rows();) {
      const int64_t n = std::min(rows, table_.num_rows() - first);
      const absl::Status status = SortRun(first, n);
      if (IsOutOfMemory(status) && rows > kFewestRows) {  // strings that are made for keys
        rows = std::max(rows / 2, kFewestRows);
        continue;
      }
      ADJOIN_RETURN_IF_ERROR(status);
      first += n;
    }
    return Merge();
  }

 private:
  // Half of what is left is for the keys, their codes and row numbers.
  int64_t RowsARun() const {
    if (run_.spill->forced) return options_.morsel_rows;
    int64_t bytes_a_row = 16;
    for (TypeId type : spec_.keys.output_types())
      bytes_a_row += 33 + (type == TypeId::kText ? SortCodes::kBytesAText : 0);
    return std::max(run_.budget->available() / 2 / bytes_a_row, kFewestRows);
  }

  // Writes rows [first, first + n) in order: their keys, then the columns that go out.
  absl::Status SortRun(int64_t first, int64_t n) {
    BudgetCharge charge(run_.budget);
    ADJOIN_RETURN_IF_ERROR(charge.Add(16 * n));
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> flat,
                            EvaluateOverRows(spec_.keys, table_, first, n, run_, options_));
    const std::vector<Vector> keys = VectorsOf(flat);
    ADJOIN_RETURN_IF_ERROR(charge.Add(SortCodes::BytesARow(keys) * n));
    const SortCodes codes(keys, spec_.orders, n);
    ADJOIN_ASSIGN_OR_RETURN(std::vector<int64_t> order, SortAllRows(codes, n, run_, options_));
    int64_t at = -1;
    std::vector<int32_t> rows(static_cast<size_t>(std::min(n, kPiece)));
    for (int64_t begin = 0; begin < n; begin += kPiece) {
      const int64_t count = std::min(kPiece, n - begin);
      const auto piece =
          std::span(order).subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
      std::copy_n(piece.begin(), count, rows.begin());
      for (int64_t i = 0; i < count; ++i) piece[static_cast<size_t>(i)] += first;
      ADJOIN_ASSIGN_OR_RETURN(const int64_t written, Write(keys, rows.data(), piece.data(), count));
      if (at < 0) at = written;
    }
    runs_.push_back({0, at, n});
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Write(const std::vector<Vector>& keys, const int32_t* rows_of_run,
                                const int64_t* rows, int64_t n) {
    std::vector<ColumnChunk> chunks;
    BatchArena arena;
    const auto add = [&](const Vector& values) {
      chunks.emplace_back(values.type);
      chunks.back().Append(values, n);
      arena.Reset();
    };
    for (const Vector& key : keys) add(Gather(key, rows_of_run, n, arena));
    for (int c : spec_.columns) add(GatherColumn(*table_.column(c), rows, n, false, arena));
    return file_.Append(chunks);
  }

  absl::StatusOr<TableRef> Merge() {
    StoredRows stored(spec_.schema, run_);
    ADJOIN_ASSIGN_OR_RETURN(const TableRef table, file_.Finish());
    std::vector<int> columns(spec_.columns.size());
    std::iota(columns.begin(), columns.end(), static_cast<int>(spec_.orders.size()));
    const KeyOrder order(*table, spec_.orders);
    const auto less = [&](int64_t a, int64_t b) { return order.Less(a, b); };
    ADJOIN_RETURN_IF_ERROR(MergeInto(*table, runs_, less, columns, run_, stored));
    return stored.Finish();
  }

  const SortSpec& spec_;
  const Table& table_;
  RunState& run_;
  const PipelineOptions& options_;
  RowFile file_;
  std::vector<RowRun> runs_;
};

}  // namespace

absl::StatusOr<TableRef> SortInFiles(const SortSpec& spec, const Table& table, RunState& run,
                                     const PipelineOptions& options) {
  return ExternalSort(spec, table, run, options).Run();
}

}  // namespace adjoin
