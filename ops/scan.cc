#include "ops/scan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/column_access.h"

namespace adjoin {
namespace {

struct ScanShared final : SharedState {
  TableRef table;
  PipelineOptions options;
};

struct ScanLocal final : LocalState {
  BatchArena arena;
  std::vector<Vector> columns;
};

struct SeriesShared final : SharedState {
  int64_t start = 0, step = 1, rows = 0;
  PipelineOptions options;
};

int64_t BlocksOf(int64_t rows, const PipelineOptions& options) {
  return (rows + options.morsel_rows - 1) / options.morsel_rows;
}

int64_t SeriesRows(int64_t start, int64_t stop, int64_t step) {
  const __int128 span = static_cast<__int128>(stop) - start;
  if (span == 0) return 1;
  if ((span > 0) != (step > 0)) return 0;
  return static_cast<int64_t>(std::min<__int128>(span / step + 1, INT64_MAX));
}

}  // namespace

Value SingleValue(const CompiledExpr& exprs, const ExprScratch& scratch, int output) {
  const Vector& v = exprs.output(scratch, output);
  if (v.is_null(0)) return Value();
  switch (v.type) {
    case TypeId::kBool:
      return Value::Bool(*v.as<uint8_t>() != 0);
    case TypeId::kInt16:
      return Value::Int(*v.as<int16_t>());
    case TypeId::kInt32:
    case TypeId::kDate:
      return Value::Int(*v.as<int32_t>());
    case TypeId::kInt64:
    case TypeId::kTimestamp:
      return Value::Int(*v.as<int64_t>());
    case TypeId::kFloat32:
      return Value::Float(*v.as<float>());
    case TypeId::kFloat64:
      return Value::Float(*v.as<double>());
    case TypeId::kText:
      return Value::Text(std::string(*v.as<std::string_view>()));
    case TypeId::kInterval:
      return Value::Of(*v.as<Interval>());
    case TypeId::kDecimal:
      return Value::Of(*v.as<Decimal>());
  }
  return Value();
}

absl::StatusOr<std::unique_ptr<SharedState>> ScanSource::Open(
    RunState& run, const PipelineOptions& options) const {
  auto shared = std::make_unique<ScanShared>();
  ADJOIN_ASSIGN_OR_RETURN(shared->table, relation_.Resolve(run));
  shared->options = options;
  return shared;
}

int64_t ScanSource::Blocks(const SharedState& shared) const {
  const auto& scan = static_cast<const ScanShared&>(shared);
  return BlocksOf(scan.table->num_rows(), scan.options);
}

std::unique_ptr<LocalState> ScanSource::MakeLocal(const SharedState&) const {
  auto local = std::make_unique<ScanLocal>();
  local->columns.resize(columns_.size());
  return local;
}

absl::Status ScanSource::Produce(int64_t block, const SharedState& shared, LocalState& local,
                                 BatchConsumer next) const {
  const auto& scan = static_cast<const ScanShared&>(shared);
  auto& state = static_cast<ScanLocal&>(local);
  const int64_t end = std::min(scan.table->num_rows(), (block + 1) * scan.options.morsel_rows);
  for (int64_t begin = block * scan.options.morsel_rows; begin < end;) {
    const int64_t n = std::min(scan.options.batch_rows, end - begin);
    state.arena.Reset();
    for (size_t c = 0; c < columns_.size(); ++c) {
      state.columns[c] = ReadColumn(*scan.table->column(columns_[c]), begin, n, state.arena);
    }
    ADJOIN_RETURN_IF_ERROR(next(Batch{n, state.columns, begin}));
    begin += n;
  }
  return absl::OkStatus();
}

std::string ScanSource::Describe() const { return absl::StrCat("scan ", relation_.ToString()); }

ValuesSource::ValuesSource(std::vector<std::vector<ValuesCell>> rows, std::vector<TypeId> types,
                           CompiledExpr exprs)
    : ScanSource(RelationRef{},
                 [&] {
                   std::vector<int> columns(types.size());
                   for (size_t c = 0; c < columns.size(); ++c) columns[c] = static_cast<int>(c);
                   return columns;
                 }()),
      rows_(std::move(rows)),
      types_(std::move(types)),
      exprs_(std::move(exprs)) {}

absl::StatusOr<std::unique_ptr<SharedState>> ValuesSource::Open(
    RunState& run, const PipelineOptions& options) const {
  ExprScratch scratch;
  exprs_.Prepare(scratch, 1, run.parameters);
  ADJOIN_RETURN_IF_ERROR(exprs_.Run(scratch, {}, 1));
  std::vector<ColumnRef> columns;
  Schema schema;
  for (size_t c = 0; c < types_.size(); ++c) {
    ColumnBuilder builder(types_[c], run.budget);
    ADJOIN_RETURN_IF_ERROR(builder.Reserve(static_cast<int64_t>(rows_.size())));
    for (const auto& row : rows_) {
      const ValuesCell& cell = row[c];
      ADJOIN_RETURN_IF_ERROR(
          builder.Append(cell.output < 0 ? cell.value : SingleValue(exprs_, scratch, cell.output)));
    }
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, builder.Finish());
    columns.push_back(std::move(column));
    schema.fields.push_back({absl::StrCat("column", c + 1), types_[c]});
  }
  auto shared = std::make_unique<ScanShared>();
  shared->table = Table::MakeUnchecked(std::move(schema), std::move(columns),
                                       static_cast<int64_t>(rows_.size()));
  shared->options = options;
  return shared;
}

std::string ValuesSource::Describe() const {
  return absl::StrCat("values of ", rows_.size(), " rows");
}

absl::StatusOr<std::unique_ptr<SharedState>> SeriesSource::Open(
    RunState& run, const PipelineOptions& options) const {
  ExprScratch scratch;
  bounds_.Prepare(scratch, 1, run.parameters);
  ADJOIN_RETURN_IF_ERROR(bounds_.Run(scratch, {}, 1));
  auto shared = std::make_unique<SeriesShared>();
  shared->options = options;
  int64_t bounds[3];
  for (int i = 0; i < 3; ++i) {
    const Value value = SingleValue(bounds_, scratch, i);
    if (value.is_null()) return shared;  // no rows
    bounds[i] = value.as_int();
  }
  if (bounds[2] == 0) {
    return SqlError(sqlstate::kInvalidParameterValue, "step size cannot equal zero");
  }
  shared->start = bounds[0];
  shared->step = bounds[2];
  shared->rows = SeriesRows(bounds[0], bounds[1], bounds[2]);
  return shared;
}

int64_t SeriesSource::Blocks(const SharedState& shared) const {
  const auto& series = static_cast<const SeriesShared&>(shared);
  return BlocksOf(series.rows, series.options);
}

std::unique_ptr<LocalState> SeriesSource::MakeLocal(const SharedState&) const {
  auto local = std::make_unique<ScanLocal>();
  local->columns.resize(1);
  return local;
}

absl::Status SeriesSource::Produce(int64_t block, const SharedState& shared, LocalState& local,
                                   BatchConsumer next) const {
  const auto& series = static_cast<const SeriesShared&>(shared);
  auto& state = static_cast<ScanLocal&>(local);
  const int64_t end = std::min(series.rows, (block + 1) * series.options.morsel_rows);
  for (int64_t begin = block * series.options.morsel_rows; begin < end;) {
    const int64_t n = std::min(series.options.batch_rows, end - begin);
    state.arena.Reset();
    state.columns[0] = Vector{type_};
    WithElementType(type_, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) {
        T* values = state.arena.Make<T>(n);
        for (int64_t i = 0; i < n; ++i) {
          values[i] =
              static_cast<T>(static_cast<uint64_t>(series.start) +
                             static_cast<uint64_t>(begin + i) * static_cast<uint64_t>(series.step));
        }
        state.columns[0].data = values;
      }
    });
    ADJOIN_RETURN_IF_ERROR(next(Batch{n, state.columns, begin}));
    begin += n;
  }
  return absl::OkStatus();
}

std::string SeriesSource::Describe() const { return "generate_series"; }

}  // namespace adjoin
