#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/status.h"
#include "ops/hash_aggregate.h"
#include "ops/pipeline_run.h"
#include "ops/row_partitions.h"
#include "ops/spilled_values.h"
#include "ops/stored_rows.h"

namespace adjoin {
namespace {

bool Grows(const HashAggregateSpec& spec) {
  return std::ranges::any_of(spec.aggregates, [](const auto& a) { return a.grows(); });
}

std::vector<int> FirstColumns(int n) {
  std::vector<int> columns(static_cast<size_t>(n));
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

// The groups of parts, which are one run each, ascending by their first rows.
class SpilledGroups {
 public:
  SpilledGroups(const HashAggregateSpec& spec, RunState& run, const PipelineOptions& options)
      : spec_(spec),
        aggregate_(spec),
        run_(run),
        options_(options),
        file_(*run.spill, run.budget) {}

  absl::Status AddParts(const RowPartitions& rows, const PartitionSpec& spec) {
    return ForEachPart(rows, spec, run_, options_,
                       [&](const auto& of, size_t part) { return AddPart(of, part); });
  }

  absl::StatusOr<TableRef> Merge(const Schema& schema) {
    StoredRows stored(schema, run_);
    ADJOIN_ASSIGN_OR_RETURN(const TableRef table, file_.Finish());
    if (runs_.empty()) return stored.Finish();
    const std::vector<int> columns = FirstColumns(table->num_columns() - 1);
    const auto* order = table->column(table->num_columns() - 1)->values<int64_t>();
    const auto less = [&](int64_t a, int64_t b) { return order[a] < order[b]; };
    ADJOIN_RETURN_IF_ERROR(MergeInto(*table, runs_, less, columns, run_, stored));
    return stored.Finish();
  }

 private:
  absl::Status AddPart(const RowPartitions& rows, size_t part) {
    const auto source =
        std::make_shared<PartitionSource>(rows, part, /*all_blocks=*/true, options_.batch_rows);
    ADJOIN_ASSIGN_OR_RETURN(
        const TableRef groups,
        RunOrSpill(
            *run_.spill, Grows(spec_) && (run_.spill->forced || !rows.MayDivide(part)),
            [&] {
              return RunInMemory({{source, {}}}, aggregate_, run_, options_);
            },
            [&] { return AggregateValuesInFiles(spec_, source, run_, options_); }));
    ADJOIN_ASSIGN_OR_RETURN(const int64_t first, file_.AppendTable(*groups));
    runs_.push_back({0, first, groups->num_rows()});
    return absl::OkStatus();
  }

  const HashAggregateSpec& spec_;
  const HashAggregate aggregate_;
  RunState& run_;
  const PipelineOptions& options_;
  RowFile file_;
  std::vector<RowRun> runs_;
};

}  // namespace

bool HashAggregate::CanSpill() const { return spec_.num_keys > 0 || Grows(spec_); }

absl::StatusOr<TableRef> HashAggregate::RunSpilled(const std::vector<Branch>& branches,
                                                   RunState& run,
                                                   const PipelineOptions& options) const {
  PartitionSpec spec;
  spec.keys = spec_.num_keys == 0 ? nullptr : &spec_.exprs;
  spec.num_keys = spec_.num_keys;
  spec.columns = spec_.exprs.input_columns();
  spec.width = spec.columns.empty() ? 0 : spec.columns.back() + 1;
  ADJOIN_ASSIGN_OR_RETURN(RowPartitions rows, Partition(branches, 0, spec, run, options));
  if (spec_.num_keys == 0) {
    return AggregateValuesInFiles(
        spec_, std::make_shared<MergedSource>(std::move(rows), options.batch_rows), run, options);
  }
  HashAggregateSpec parts = spec_;
  parts.order = spec.width;
  SpilledGroups groups(parts, run, options);
  ADJOIN_RETURN_IF_ERROR(groups.AddParts(rows, spec));
  return groups.Merge(spec_.schema);
}

}  // namespace adjoin
