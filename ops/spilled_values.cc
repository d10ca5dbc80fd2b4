#include "ops/spilled_values.h"

#include <algorithm>
#include <utility>

#include "engine/budget_charge.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/materialize.h"
#include "ops/percentile.h"
#include "ops/pipeline_run.h"
#include "ops/row_partitions.h"
#include "ops/unnamed_table.h"

namespace adjoin {
namespace {

// Hands on the arguments of one aggregate, in the rows that count for it.
class ArgumentsOperator final : public StreamOperator {
 public:
  ArgumentsOperator(const CompiledExpr& exprs, const AggregateSpec& aggregate)
      : exprs_(exprs), aggregate_(aggregate) {}
  std::unique_ptr<LocalState> MakeLocal(const SharedState*, const RunState& run,
                                        const PipelineOptions& options) const override {
    auto local = std::make_unique<Local>();
    exprs_.Prepare(local->scratch, options.batch_rows, run.parameters);
    return local;
  }
  absl::Status Push(const Batch& in, const SharedState*, LocalState& local,
                    BatchConsumer next) const override {
    auto& state = static_cast<Local&>(local);
    state.arena.Reset();
    ADJOIN_RETURN_IF_ERROR(exprs_.Run(state.scratch, in.columns, in.rows));
    const std::vector<Vector> outputs = OutputsOf(exprs_, state.scratch);
    const uint8_t* take = TakenRows(outputs, aggregate_.filter, in.rows, state.arena);
    const AggregateArguments args = ArgumentsOf(outputs, aggregate_, in.rows, state.arena);
    auto* rows = state.arena.Make<int32_t>(in.rows);
    const int64_t n = SelectTaken(args.vectors[0], take, in.rows, rows);
    if (n == 0) return absl::OkStatus();
    state.columns.clear();
    for (const Vector& arg : args.span()) state.columns.push_back(Take(arg, rows, n, state.arena));
    return next(Batch{n, state.columns, -1});
  }
  std::string Describe() const override { return "arguments"; }

 private:
  struct Local final : LocalState {
    ExprScratch scratch;
    BatchArena arena;
    std::vector<Vector> columns;
  };
  const CompiledExpr& exprs_;
  const AggregateSpec& aggregate_;
};

class SpilledValues {
 public:
  SpilledValues(const HashAggregateSpec& spec, RunState& run, const PipelineOptions& options)
      : spec_(spec), run_(run), options_(options), columns_(spec.aggregates.size()) {}

  absl::StatusOr<TableRef> Run(const std::vector<Branch>& branches) {
    PartitionSpec all;
    all.columns = spec_.exprs.input_columns();
    all.width = all.columns.empty() ? 0 : all.columns.back() + 1;
    ADJOIN_ASSIGN_OR_RETURN(RowPartitions rows, Partition(branches, 0, all, run_, options_));
    rows_ = std::make_shared<MergedSource>(std::move(rows), options_.batch_rows);
    ADJOIN_RETURN_IF_ERROR(AddOthers());
    for (size_t a = 0; a < columns_.size(); ++a) {
      const AggregateSpec& aggregate = spec_.aggregates[a];
      if (!aggregate.keeps_values()) continue;
      ADJOIN_ASSIGN_OR_RETURN(columns_[a],
                              aggregate.distinct ? Distinct(aggregate) : Percentile(aggregate));
    }
    return Table::MakeUnchecked(spec_.schema, std::move(columns_), 1);
  }

 private:
  // Those that keep few numbers: as in memory, of the same blocks and batches.
  absl::Status AddOthers() {
    HashAggregateSpec others = spec_;
    others.aggregates.clear();
    others.schema.fields.clear();
    std::vector<size_t> places;
    for (size_t a = 0; a < columns_.size(); ++a) {
      if (spec_.aggregates[a].keeps_values()) continue;
      others.aggregates.push_back(spec_.aggregates[a]);
      others.schema.fields.push_back(spec_.schema.fields[a]);
      places.push_back(a);
    }
    if (places.empty()) return absl::OkStatus();
    ADJOIN_ASSIGN_OR_RETURN(
        const TableRef row,
        RunInMemory({{rows_, {}}}, HashAggregate(std::move(others)), run_, options_));
    for (size_t i = 0; i < places.size(); ++i)
      columns_[places[i]] = row->column(static_cast<int>(i));
    return absl::OkStatus();
  }

  Branch ArgumentsBranch(const AggregateSpec& aggregate) const {
    return {rows_, {std::make_shared<ArgumentsOperator>(spec_.exprs, aggregate)}};
  }

  absl::StatusOr<ColumnRef> Distinct(const AggregateSpec& aggregate) const {
    const std::vector<TypeId> types = aggregate.ArgumentTypes(spec_.exprs);
    HashAggregateSpec by_values;
    ExprBuilder keys;
    for (size_t k = 0; k < types.size(); ++k)
      keys.Output(keys.Input(static_cast<int>(k), types[k]));
    by_values.exprs = std::move(keys).Build();
    by_values.num_keys = static_cast<int>(types.size());
    by_values.schema = UnnamedSchema(types);
    ADJOIN_ASSIGN_OR_RETURN(const TableRef values,
                            RunPipeline({ArgumentsBranch(aggregate)},
                                        HashAggregate(std::move(by_values)), run_, options_));
    const auto accumulator =
        MakeAccumulator(aggregate.kind, types[0], aggregate.result, static_cast<int>(types.size()));
    accumulator->Resize(1);
    BudgetCharge charge(run_.budget);
    BatchArena arena;
    std::vector<Vector> args(types.size());
    for (int64_t begin = 0; begin < values->num_rows(); begin += kDistinctChunk) {
      if (run_.control != nullptr) ADJOIN_RETURN_IF_ERROR(run_.control->Check());
      const int64_t n = std::min(kDistinctChunk, values->num_rows() - begin);
      arena.Reset();
      for (size_t k = 0; k < args.size(); ++k)
        args[k] =
            WithViews(ReadColumn(*values->column(static_cast<int>(k)), begin, n, arena), n, arena);
      accumulator->Update(args, nullptr, nullptr, n);
      ADJOIN_RETURN_IF_ERROR(charge.GrowTo(accumulator->bytes()));
    }
    accumulator->Finish(run_.pool);
    arena.Reset();
    ADJOIN_ASSIGN_OR_RETURN(const Vector result, accumulator->Result(0, 1, arena));
    return MakeColumn(result, 1, run_.budget);
  }

  absl::StatusOr<ColumnRef> Percentile(const AggregateSpec& aggregate) const {
    ADJOIN_ASSIGN_OR_RETURN(
        const TableRef values,
        RunPipeline({ArgumentsBranch(aggregate)},
                    MaterializeSink(UnnamedSchema(aggregate.ArgumentTypes(spec_.exprs))), run_,
                    options_));
    const int64_t n = values->num_rows();
    const uint8_t valid = n > 0 ? 1 : 0;
    double result = 0;
    if (n > 0) {
      const std::span all(values->column(0)->values<double>(), static_cast<size_t>(n));
      const double share = values->column(1)->values<double>()[n - 1];
      result = PercentileOf(all, share, aggregate.kind == AggregateKind::kPercentileDown);
    }
    return MakeColumn({TypeId::kFloat64, &result, &valid}, 1, run_.budget);
  }

  const HashAggregateSpec& spec_;
  RunState& run_;
  const PipelineOptions& options_;
  std::shared_ptr<const Source> rows_;
  std::vector<ColumnRef> columns_;  // by aggregate
};

}  // namespace

absl::StatusOr<TableRef> AggregateValuesInFiles(const HashAggregateSpec& spec,
                                                const std::vector<Branch>& branches, RunState& run,
                                                const PipelineOptions& options) {
  return SpilledValues(spec, run, options).Run(branches);
}

}  // namespace adjoin
