#include "ops/top_rows_by_runs.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "engine/budget_charge.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/column_file.h"
#include "ops/row_partitions.h"
#include "ops/unnamed_table.h"
#include "ops/window_order.h"

namespace adjoin {
namespace {

class TopRowsByRuns {
 public:
  TopRowsByRuns(const TopRowsSpec& spec, const Table& table, const RunState& run,
                const PipelineOptions& options, const HashPart& part)
      : spec_(spec), table_(table), run_(run), options_(options), part_(part) {}

  absl::StatusOr<TopRows> Find() {
    const int64_t rows = table_.num_rows();
    std::vector<int64_t> kept;
    for (int64_t next = 0; next < rows;) {
      ADJOIN_ASSIGN_OR_RETURN(const int64_t most, RowsARun(std::ssize(kept)));
      ADJOIN_RETURN_IF_ERROR(AddRun(std::ssize(kept) + most, next, kept));
      ADJOIN_ASSIGN_OR_RETURN(kept, KeepFirst(kept));
      if (std::ssize(kept) > rows / 2) return TopRows();
    }
    return TopRows(std::move(kept));
  }

 private:
  // So many that what is kept is a small part of a run, in half of the memory that is left.
  absl::StatusOr<int64_t> RowsARun(int64_t kept) const {
    constexpr int64_t kFewestRows = 1024, kRows = int64_t{1} << 18;
    const int64_t rows = std::max(run_.spill->forced ? options_.morsel_rows : kRows, 4 * kept);
    const int64_t room = run_.budget->available() / 2 / BytesARow() - kept;
    if (room < std::min(rows, std::max(kFewestRows, kept / 2)))
      return SqlError(sqlstate::kOutOfMemory, "out of memory");
    return std::min(rows, room);
  }

  // A row's number twice, its keys and what they are computed of, its partition and codes.
  int64_t BytesARow() const {
    int64_t bytes = 16 + 16;
    for (int c : spec_.exprs.input_columns()) bytes += 1 + WidthOf(table_.column(c)->type());
    for (int k = 0; k < spec_.exprs.num_outputs(); ++k) {
      bytes += 1 + VectorWidth(spec_.exprs.output_type(k));
      if (k >= spec_.num_partition) bytes += 16;
    }
    return bytes;
  }

  // Appends rows of the part from `next` on until there are `most`.
  absl::Status AddRun(int64_t most, int64_t& next, std::vector<int64_t>& rows) const {
    rows.reserve(static_cast<size_t>(most));
    const int64_t piece = part_.empty() ? most : options_.batch_rows;
    while (next < table_.num_rows() && std::ssize(rows) < most) {
      const int64_t n = std::min({piece, most - std::ssize(rows), table_.num_rows() - next});
      if (part_.empty()) {
        for (int64_t r = 0; r < n; ++r) rows.push_back(next + r);
      } else {
        ADJOIN_RETURN_IF_ERROR(AddOfPart(next, n, rows));
      }
      next += n;
    }
    return absl::OkStatus();
  }

  absl::Status AddOfPart(int64_t first, int64_t n, std::vector<int64_t>& rows) const {
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> flat,
                            EvaluateOverRows(spec_.exprs, table_, first, n, run_, options_));
    const std::vector<Vector> keys = VectorsOf(flat);
    BatchArena arena;
    auto* of_part = arena.Make<int32_t>(n);
    const int64_t taken = SelectOfPart(
        std::span(keys).first(static_cast<size_t>(spec_.num_partition)), n, part_, arena, of_part);
    for (int64_t i = 0; i < taken; ++i) rows.push_back(first + of_part[i]);
    return absl::OkStatus();
  }

  // Those of some rows, ascending.
  absl::StatusOr<std::vector<int64_t>> KeepFirst(const std::vector<int64_t>& rows) const {
    const auto n = std::ssize(rows);
    ADJOIN_ASSIGN_OR_RETURN(const TableRef table, Take(rows));
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> flat,
                            EvaluateOverTable(spec_.exprs, *table, run_, options_));
    const std::vector<Vector> keys = VectorsOf(flat);
    const auto split = static_cast<size_t>(spec_.num_partition);
    const auto order = std::span(keys).subspan(split);
    BudgetCharge charge(run_.budget);
    ADJOIN_RETURN_IF_ERROR(charge.Add((24 + SortCodes::BytesARow(order)) * n));
    const PartitionIds partitions =
        FindPartitions(std::span(keys).first(split), n, options_.batch_rows);
    ADJOIN_RETURN_IF_ERROR(charge.Add(16 * partitions.count));
    const SortCodes codes(order, spec_.orders, n);
    const auto less = [&](int64_t a, int64_t b) { return codes.Less(a, b); };
    std::vector<int64_t> begins(static_cast<size_t>(partitions.count) + 1);
    for (int64_t id : partitions.ids) ++begins[id + 1];
    for (int64_t& size : begins) size = std::min(size, spec_.limit);
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<int64_t> kept(static_cast<size_t>(begins.back()));
    std::vector<uint32_t> sizes(static_cast<size_t>(partitions.count));
    for (int64_t r = 0; r < n; ++r) {
      const auto p = static_cast<size_t>(partitions.ids[static_cast<size_t>(r)]);
      Offer(r, kept.data() + begins[p], sizes[p], static_cast<size_t>(begins[p + 1] - begins[p]),
            less);
    }
    std::sort(kept.begin(), kept.end());
    for (int64_t& row : kept) row = rows[static_cast<size_t>(row)];
    return kept;
  }

  // The given rows of the columns that keys are computed of; nobody reads others.
  absl::StatusOr<TableRef> Take(const std::vector<int64_t>& rows) const {
    const auto n = std::ssize(rows);
    const auto absent = std::make_shared<const Column>(TypeId::kInt64, n,
                                                       Column::Coordinates{0, 1, 1}, run_.budget);
    std::vector<ColumnRef> columns(static_cast<size_t>(table_.num_columns()), absent);
    for (int c : spec_.exprs.input_columns()) {
      ADJOIN_ASSIGN_OR_RETURN(columns[static_cast<size_t>(c)],
                              TakeRows(*table_.column(c), rows, run_.budget));
    }
    return UnnamedTable(std::move(columns), n);
  }

  const TopRowsSpec& spec_;
  const Table& table_;
  const RunState& run_;
  const PipelineOptions& options_;
  const HashPart& part_;
};

}  // namespace

int64_t SelectOfPart(std::span<const Vector> partition, int64_t n, const HashPart& part,
                     BatchArena& arena, int32_t* rows) {
  auto* is_of = arena.Make<uint8_t>(n);
  auto* parts = arena.Make<uint8_t>(n);
  std::fill_n(is_of, n, uint8_t{1});
  KeyHasher hasher;
  for (size_t level = 0; level < part.size(); ++level) {
    FindParts(partition, n, static_cast<int>(level), hasher, parts);
    for (int64_t r = 0; r < n; ++r) is_of[r] &= parts[r] == part[level] ? 1 : 0;
  }
  return SelectTrue({TypeId::kBool, is_of, nullptr}, n, rows);
}

absl::StatusOr<TopRows> FindTopRowsByRuns(const TopRowsSpec& spec, const Table& table,
                                          const HashPart& part, const RunState& run,
                                          const PipelineOptions& options) {
  return TopRowsByRuns(spec, table, run, options, part).Find();
}

}  // namespace adjoin
