#include <numeric>
#include <utility>

#include "engine/status.h"
#include "ops/row_partitions.h"
#include "ops/scan.h"
#include "ops/sorted_window.h"
#include "ops/stored_rows.h"
#include "ops/unnamed_table.h"
#include "ops/window.h"

namespace adjoin {
namespace {

// What the calls give for the rows of parts, which are one run each, ascending by the rows.
class WindowParts {
 public:
  WindowParts(const WindowStepSpec& spec, const WindowFrameSpec& frame, const Table& table,
              RunState& run, const PipelineOptions& options)
      : spec_(spec),
        frame_(frame),
        table_(table),
        run_(run),
        options_(options),
        file_(*run.spill, run.budget) {
    for (const ColumnRef& column : table.columns()) types_.push_back(column->type());
  }

  absl::StatusOr<std::vector<ColumnRef>> Run() {
    std::vector<int> all(types_.size());
    std::iota(all.begin(), all.end(), 0);
    const bool cuts = spec_.num_partition > 0;
    const PartitionSpec spec{
        cuts ? &spec_.exprs : nullptr, spec_.num_partition, 0, 0, spec_.exprs.input_columns(),
        table_.num_columns(),          RowOrder::kPosition};
    const auto scan = std::make_shared<ScanSource>(spec_.relation, std::move(all));
    ADJOIN_ASSIGN_OR_RETURN(const RowPartitions rows,
                            Partition({{scan, {}}}, 0, spec, run_, options_));
    if (!cuts) {
      if (table_.num_rows() > 0) ADJOIN_RETURN_IF_ERROR(AddSorted(rows, 0));
      return Merge();
    }
    ADJOIN_RETURN_IF_ERROR(
        ForEachPart(rows, spec, run_, options_,
                    [&](const auto& of, size_t part) { return AddPart(of, part); }));
    return Merge();
  }

 private:
  absl::Status AddPart(const RowPartitions& rows, size_t part) {
    const absl::Status status = AddInMemory(rows, part);
    if (!IsOutOfMemory(status) || rows.MayDivide(part)) return status;
    return AddSorted(rows, part);
  }

  absl::Status AddSorted(const RowPartitions& rows, size_t part) {
    ADJOIN_ASSIGN_OR_RETURN(const TableRef table,
                            ComputeSortedWindow(spec_, frame_, rows, part, run_, options_));
    ADJOIN_ASSIGN_OR_RETURN(const int64_t first, file_.AppendTable(*table));
    runs_.push_back({0, first, table->num_rows()});
    return absl::OkStatus();
  }

  absl::Status AddInMemory(const RowPartitions& rows, size_t part) {
    ADJOIN_ASSIGN_OR_RETURN(const TableRef table, LoadPart(rows, part, types_, run_));
    ADJOIN_ASSIGN_OR_RETURN(std::vector<ColumnRef> columns,
                            ComputeWindow(spec_, frame_, *table, run_, options_));
    columns.push_back(table->columns().back());
    const int64_t n = table->num_rows();
    ADJOIN_ASSIGN_OR_RETURN(const int64_t first,
                            file_.AppendTable(*UnnamedTable(std::move(columns), n)));
    runs_.push_back({0, first, n});
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<ColumnRef>> Merge() {
    Schema schema;
    for (const WindowCallSpec& call : spec_.calls) schema.fields.push_back({"", call.result});
    StoredRows stored(schema, run_);
    ADJOIN_ASSIGN_OR_RETURN(const TableRef table, file_.Finish());
    if (!runs_.empty()) {
      std::vector<int> columns(spec_.calls.size());
      std::iota(columns.begin(), columns.end(), 0);
      const auto* row = table->columns().back()->values<int64_t>();
      const auto less = [&](int64_t a, int64_t b) { return row[a] < row[b]; };
      ADJOIN_RETURN_IF_ERROR(MergeInto(*table, runs_, less, columns, run_, stored));
    }
    ADJOIN_ASSIGN_OR_RETURN(const TableRef merged, stored.Finish());
    return merged->columns();
  }

  const WindowStepSpec& spec_;
  const WindowFrameSpec& frame_;
  const Table& table_;
  RunState& run_;
  const PipelineOptions& options_;
  std::vector<TypeId> types_;
  RowFile file_;
  std::vector<RowRun> runs_;
};

}  // namespace

absl::StatusOr<std::vector<ColumnRef>> ComputeWindowInFiles(const WindowStepSpec& spec,
                                                            const WindowFrameSpec& frame,
                                                            const Table& table, RunState& run,
                                                            const PipelineOptions& options) {
  return WindowParts(spec, frame, table, run, options).Run();
}

}  // namespace adjoin
