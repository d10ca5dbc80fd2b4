#include "ops/spilled_values.h"

#include <algorithm>
#include <utility>

#include "engine/budget_charge.h"
#include "engine/mapped_memory.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/column_file.h"
#include "ops/materialize.h"
#include "ops/pipeline_run.h"
#include "ops/unnamed_table.h"

namespace adjoin {
namespace {

// Hands on the keys and the arguments of one aggregate, in the rows that count for it.
class ArgumentsOperator final : public StreamOperator {
 public:
  ArgumentsOperator(const HashAggregateSpec& spec, const AggregateSpec& aggregate)
      : spec_(spec), aggregate_(aggregate) {}
  std::unique_ptr<LocalState> MakeLocal(const SharedState*, const RunState& run,
                                        const PipelineOptions& options) const override {
    auto local = std::make_unique<Local>();
    spec_.exprs.Prepare(local->scratch, options.batch_rows, run.parameters);
    return local;
  }
  absl::Status Push(const Batch& in, const SharedState*, LocalState& local,
                    BatchConsumer next) const override {
    auto& state = static_cast<Local&>(local);
    state.arena.Reset();
    ADJOIN_RETURN_IF_ERROR(spec_.exprs.Run(state.scratch, in.columns, in.rows));
    const std::vector<Vector> outputs = OutputsOf(spec_.exprs, state.scratch);
    const uint8_t* take = TakenRows(outputs, aggregate_.filter, in.rows, state.arena);
    const AggregateArguments args = ArgumentsOf(outputs, aggregate_, in.rows, state.arena);
    auto* rows = state.arena.Make<int32_t>(in.rows);
    const int64_t n = SelectTaken(args.vectors[0], take, in.rows, rows);
    if (n == 0) return absl::OkStatus();
    state.columns.clear();
    const auto add = [&](const Vector& values) {
      state.columns.push_back(Take(values, rows, n, state.arena));
    };
    for (const Vector& key : std::span(outputs).first(static_cast<size_t>(spec_.num_keys)))
      add(key);
    for (const Vector& arg : args.span()) add(arg);
    return next(Batch{n, state.columns, -1});
  }
  std::string Describe() const override { return "arguments"; }

 private:
  struct Local final : LocalState {
    ExprScratch scratch;
    BatchArena arena;
    std::vector<Vector> columns;
  };
  const HashAggregateSpec& spec_;
  const AggregateSpec& aggregate_;
};

class SpilledValues {
 public:
  SpilledValues(const HashAggregateSpec& spec, std::shared_ptr<const Source> rows, RunState& run,
                const PipelineOptions& options)
      : spec_(spec), rows_(std::move(rows)), run_(run), options_(options) {}

  absl::StatusOr<TableRef> Run() {
    ADJOIN_RETURN_IF_ERROR(AggregateOthers());
    Schema schema = spec_.schema;
    std::vector<ColumnRef> columns;
    const auto keys = static_cast<size_t>(spec_.num_keys);
    for (size_t k = 0; k < keys; ++k) columns.push_back(groups_->column(static_cast<int>(k)));
    size_t other = keys;
    for (const AggregateSpec& aggregate : spec_.aggregates) {
      if (!aggregate.grows()) {
        columns.push_back(groups_->column(static_cast<int>(other++)));
        continue;
      }
      ADJOIN_ASSIGN_OR_RETURN(const TableRef values, ValuesOf(aggregate));
      ADJOIN_ASSIGN_OR_RETURN(columns.emplace_back(), Aggregate(aggregate, *values));
    }
    if (spec_.order >= 0) {
      schema.fields.push_back(groups_->schema().fields.back());
      columns.push_back(groups_->columns().back());
    }
    return Table::MakeUnchecked(std::move(schema), std::move(columns), groups_->num_rows());
  }

 private:
  // The groups, and of them what keeps few numbers: as in memory, of the same blocks and batches.
  absl::Status AggregateOthers() {
    HashAggregateSpec others = spec_;
    others.aggregates.clear();
    others.schema.fields.resize(static_cast<size_t>(spec_.num_keys));
    for (size_t a = 0; a < spec_.aggregates.size(); ++a) {
      if (spec_.aggregates[a].grows()) continue;
      others.aggregates.push_back(spec_.aggregates[a]);
      others.schema.fields.push_back(spec_.schema.fields[static_cast<size_t>(spec_.num_keys) + a]);
    }
    if (others.schema.fields.empty()) {
      groups_ = UnnamedTable({}, 1);
      return absl::OkStatus();
    }
    ADJOIN_ASSIGN_OR_RETURN(
        groups_, RunInMemory({{rows_, {}}}, HashAggregate(std::move(others)), run_, options_));
    return absl::OkStatus();
  }

  // Keys and arguments; of DISTINCT once each, in first-seen order.
  absl::StatusOr<TableRef> ValuesOf(const AggregateSpec& aggregate) const {
    const Branch branch{rows_, {std::make_shared<ArgumentsOperator>(spec_, aggregate)}};
    std::vector<TypeId> types;
    for (int k = 0; k < spec_.num_keys; ++k) types.push_back(spec_.exprs.output_type(k));
    for (TypeId type : aggregate.ArgumentTypes(spec_.exprs)) types.push_back(type);
    if (!aggregate.distinct)
      return RunPipeline({branch}, MaterializeSink(UnnamedSchema(types)), run_, options_);
    HashAggregateSpec by_values;
    by_values.exprs = ColumnsOf(types);
    by_values.num_keys = static_cast<int>(types.size());
    by_values.schema = UnnamedSchema(types);
    return RunPipeline({branch}, HashAggregate(std::move(by_values)), run_, options_);
  }

  // By group.
  absl::StatusOr<ColumnRef> Aggregate(const AggregateSpec& aggregate, const Table& values) const {
    std::vector<TypeId> types;
    for (const ColumnRef& column : values.columns()) types.push_back(column->type());
    const int keys = spec_.num_keys;
    HashAggregateSpec spec;
    spec.exprs = ColumnsOf(types);
    spec.num_keys = keys;
    const int second = keys + 1 < values.num_columns() ? keys + 1 : -1;
    spec.aggregates.push_back({aggregate.kind, keys, second, -1, false, aggregate.result});
    MappedMemory memory(run_.spill->directory);
    BudgetCharge charge(run_.budget);
    Groups groups(spec, /*ordered=*/keys > 0, &memory);
    ADJOIN_RETURN_IF_ERROR(ForEachPiece(
        *groups_, keys, [&](std::span<const Vector> columns, int64_t begin, int64_t n) {
          if (keys > 0)
            groups.Find(columns, groups_->columns().back()->values<int64_t>() + begin, n);
          return charge.GrowTo(groups.bytes());
        }));
    const std::vector<int64_t> old(static_cast<size_t>(kDistinctChunk));  // no group is new
    BatchArena arena;
    ADJOIN_RETURN_IF_ERROR(ForEachPiece(values, values.num_columns(),
                                        [&](std::span<const Vector> columns, int64_t, int64_t n) {
                                          arena.Reset();
                                          groups.Add(columns, old.data(), n, arena);
                                          if (!memory.status().ok()) return memory.status();
                                          return charge.GrowTo(groups.bytes() + memory.bytes());
                                        }));
    groups.Finish(run_.pool);
    ADJOIN_RETURN_IF_ERROR(memory.status());
    arena.Reset();
    ADJOIN_ASSIGN_OR_RETURN(const Vector result, groups.Column(keys, 0, groups.size(), arena));
    return Keep(result, groups.size());
  }

  // Texts in a file.
  absl::StatusOr<ColumnRef> Keep(const Vector& values, int64_t n) const {
    if (values.type != TypeId::kText) return MakeColumn(values, n, run_.budget);
    ADJOIN_ASSIGN_OR_RETURN(
        std::shared_ptr<Buffer> codes,
        Buffer::Allocate(n * static_cast<int64_t>(sizeof(int32_t)), run_.budget));
    ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<const Dictionary> dictionary,
                            WriteTexts(values, n, *run_.spill, codes->mutable_as<int32_t>()));
    return MakeColumn(TypeId::kText, std::move(codes), values.valid, n, run_.budget,
                      std::move(dictionary));
  }

  // f(the first columns, first row, rows) for pieces of a table.
  absl::Status ForEachPiece(
      const Table& table, int columns,
      absl::FunctionRef<absl::Status(std::span<const Vector>, int64_t, int64_t)> f) const {
    BatchArena arena;
    std::vector<Vector> vectors(static_cast<size_t>(columns));
    for (int64_t begin = 0; begin < table.num_rows(); begin += kDistinctChunk) {
      if (run_.control != nullptr) ADJOIN_RETURN_IF_ERROR(run_.control->Check());
      const int64_t n = std::min(kDistinctChunk, table.num_rows() - begin);
      arena.Reset();
      for (int c = 0; c < columns; ++c)
        vectors[static_cast<size_t>(c)] = ReadColumn(*table.column(c), begin, n, arena);
      ADJOIN_RETURN_IF_ERROR(f(vectors, begin, n));
    }
    return absl::OkStatus();
  }

  static CompiledExpr ColumnsOf(std::span<const TypeId> types) {
    ExprBuilder columns;
    for (size_t c = 0; c < types.size(); ++c)
      columns.Output(columns.Input(static_cast<int>(c), types[c]));
    return std::move(columns).Build();
  }

  const HashAggregateSpec& spec_;
  const std::shared_ptr<const Source> rows_;
  RunState& run_;
  const PipelineOptions& options_;
  TableRef groups_;  // keys, what keeps few numbers, and their order
};

}  // namespace

absl::StatusOr<TableRef> AggregateValuesInFiles(const HashAggregateSpec& spec,
                                                std::shared_ptr<const Source> rows, RunState& run,
                                                const PipelineOptions& options) {
  return SpilledValues(spec, std::move(rows), run, options).Run();
}

}  // namespace adjoin
