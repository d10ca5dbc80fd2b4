#include "ops/spilled_join.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/status.h"
#include "ops/pipeline_run.h"
#include "ops/row_partitions.h"
#include "ops/scan.h"

namespace adjoin {
namespace {

// Some parts of the right side; those without room are cut into parts of their own.
struct RightParts {
  RowPartitions rows;
  std::vector<std::unique_ptr<RightParts>> deeper;  // by part; null where it has room
};

int NumKeys(const HashJoinSpec& spec) { return static_cast<int>(spec.left.null_safe.size()); }

class SpilledJoin final : public SpilledOperator {
 public:
  SpilledJoin(const HashJoin& join, const HashJoinSpec& spec, TableRef right,
              const PipelineOptions& options)
      : join_(join), spec_(spec), right_(std::move(right)), options_(options) {
    for (const ColumnRef& column : right_->columns()) right_types_.push_back(column->type());
  }

  absl::Status Open(RunState& run) {
    std::vector<int> all(right_types_.size());
    std::iota(all.begin(), all.end(), 0);
    const PartitionSpec spec = RightSpec();
    const auto scan = std::make_shared<ScanSource>(spec_.right_relation, std::move(all));
    root_ = std::make_unique<RightParts>();
    ADJOIN_ASSIGN_OR_RETURN(root_->rows, Partition({{scan, {}}}, 0, spec, run, options_));
    return Count(*root_, spec, run);
  }

  double expansion() const override { return fan_out_.Expected(); }

  absl::StatusOr<std::shared_ptr<const Source>> Run(const Branch& before, int64_t first_block,
                                                    RunState& run) const override {
    const PartitionSpec spec = LeftSpec();
    ADJOIN_ASSIGN_OR_RETURN(const RowPartitions left,
                            Partition({before}, first_block, spec, run, options_));
    Output out{RowPartitionsBuilder(run, NumLeaves(*root_)), 0};
    ADJOIN_RETURN_IF_ERROR(JoinParts(left, *root_, spec, run, out));
    std::vector<int> columns(OutputWidth());
    std::iota(columns.begin(), columns.end(), 0);
    const auto width = static_cast<int>(columns.size());
    ADJOIN_ASSIGN_OR_RETURN(RowPartitions rows,
                            out.rows.Finish(std::move(columns), width, left.blocks));
    return std::make_shared<MergedSource>(std::move(rows), options_.batch_rows);
  }

 private:
  struct Output {
    RowPartitionsBuilder rows;
    int next;  // a part of its own for what each pair of parts gives
  };

  // The row numbers of the right table are its order.
  PartitionSpec RightSpec() const {
    std::vector<int> columns = spec_.right.exprs.input_columns();
    columns.insert(columns.end(), spec_.right_columns.begin(), spec_.right_columns.end());
    return {&spec_.right.exprs,    NumKeys(spec_),     0, 0, Distinct(std::move(columns)),
            right_->num_columns(), RowOrder::kPosition};
  }

  PartitionSpec LeftSpec() const {
    std::vector<int> columns = spec_.left.exprs.input_columns();
    columns.insert(columns.end(), spec_.output.begin(), spec_.output.end());
    if (spec_.residual.has_value()) {
      const std::vector<int>& read = spec_.residual->input_columns();
      columns.insert(columns.end(), read.begin(), read.end());
    }
    std::erase_if(columns, [&](int c) { return c >= spec_.left_width; });
    return {&spec_.left.exprs,
            NumKeys(spec_),
            0,
            0,
            Distinct(std::move(columns)),
            spec_.left_width,
            spec_.rows_only ? RowOrder::kPosition : RowOrder::kInBlock};
  }

  static std::vector<int> Distinct(std::vector<int> columns) {
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    return columns;
  }

  size_t OutputWidth() const { return spec_.rows_only ? 2 : spec_.output.size(); }

  absl::StatusOr<std::unique_ptr<BuildSide>> Build(const RowPartitions& rows, size_t part,
                                                   RunState& run) const {
    auto build = std::make_unique<BuildSide>();
    ADJOIN_ASSIGN_OR_RETURN(build->table, LoadPart(rows, part, right_types_, run));
    ADJOIN_ASSIGN_OR_RETURN(build->index,
                            JoinIndex::Build(spec_.right, *build->table, run, options_));
    build->num_rows = right_->num_rows();
    build->rows_with_nulls = nulls_;
    build->row_numbers = build->table->column(right_->num_columns())->values<int64_t>();
    build->is_part = true;
    return build;
  }

  // Finds out which parts have room, and what the index of all would say.
  absl::Status Count(RightParts& parts, const PartitionSpec& spec, RunState& run) {
    parts.deeper.resize(kPartitions);
    for (size_t p = 0; p < kPartitions; ++p) {
      absl::StatusOr<std::unique_ptr<BuildSide>> build = Build(parts.rows, p, run);
      if (IsOutOfMemory(build.status())) {
        PartitionSpec below = spec;
        parts.deeper[p] = std::make_unique<RightParts>();
        ADJOIN_ASSIGN_OR_RETURN(parts.deeper[p]->rows,
                                PartitionAgain(parts.rows, p, below, run, options_));
        ++below.level;
        ADJOIN_RETURN_IF_ERROR(Count(*parts.deeper[p], below, run));
        continue;
      }
      ADJOIN_RETURN_IF_ERROR(build.status());
      const JoinIndex& index = *(*build)->index;
      fan_out_.Add(index.fan_out());
      nulls_ += index.rows_with_nulls();
    }
    return absl::OkStatus();
  }

  static int NumLeaves(const RightParts& parts) {
    int leaves = 0;
    for (const auto& deeper : parts.deeper) leaves += deeper == nullptr ? 1 : NumLeaves(*deeper);
    return leaves;
  }

  absl::Status JoinParts(const RowPartitions& left, const RightParts& right,
                         const PartitionSpec& spec, RunState& run, Output& out) const {
    for (size_t p = 0; p < kPartitions; ++p) {
      if (right.deeper[p] != nullptr) {
        PartitionSpec below = spec;
        ADJOIN_ASSIGN_OR_RETURN(const RowPartitions again,
                                PartitionAgain(left, p, below, run, options_));
        ++below.level;
        ADJOIN_RETURN_IF_ERROR(JoinParts(again, *right.deeper[p], below, run, out));
        continue;
      }
      const int part = out.next++;
      if (left.parts[p].empty()) continue;
      ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<const SharedState> build, Build(right.rows, p, run));
      PartitionSpec joined;
      joined.part = part;
      joined.columns.resize(OutputWidth());
      std::iota(joined.columns.begin(), joined.columns.end(), 0);
      joined.width = static_cast<int>(joined.columns.size());
      joined.order = RowOrder::kLastColumn;
      const Branch branch{std::make_shared<PartitionSource>(left, p, false, options_.batch_rows),
                          {std::make_shared<OpenedOperator>(join_, std::move(build))}};
      ADJOIN_RETURN_IF_ERROR(
          RunInMemory({branch}, PartitionSink(joined, out.rows), run, options_).status());
    }
    return absl::OkStatus();
  }

  const HashJoin& join_;
  const HashJoinSpec& spec_;
  const TableRef right_;
  const PipelineOptions options_;
  std::vector<TypeId> right_types_;
  std::unique_ptr<RightParts> root_;
  FanOut fan_out_;
  int64_t nulls_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SpilledOperator>> OpenSpilledJoin(const HashJoin& join,
                                                                 const HashJoinSpec& spec,
                                                                 RunState& run,
                                                                 const PipelineOptions& options) {
  ADJOIN_ASSIGN_OR_RETURN(TableRef right, spec.right_relation.Resolve(run));
  auto spilled = std::make_unique<SpilledJoin>(join, spec, std::move(right), options);
  ADJOIN_RETURN_IF_ERROR(spilled->Open(run));
  return std::unique_ptr<SpilledOperator>(std::move(spilled));
}

}  // namespace adjoin
