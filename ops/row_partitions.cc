#include "ops/row_partitions.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/pipeline_run.h"
#include "ops/rows_by_part.h"
#include "ops/unnamed_table.h"

namespace adjoin {
namespace {

// Rows wait until all parts of a block have as many, or memory has no room for more.
constexpr int64_t kBufferBytes = int64_t{256} << 10;
// Numbers of rows in what a block gives are below.
constexpr int kBlockShift = 40;

struct SinkState final : SharedState {
  std::vector<Value> parameters;
  PipelineOptions options;
  RunState* run = nullptr;
  int64_t blocks = 0;
};

struct SinkBlock final : LocalState {
  explicit SinkBlock(const RunState& run) : charge(run.budget) {}
  BudgetCharge charge;  // of the chunks
  ExprScratch scratch;
  BatchArena arena;
  std::vector<Vector> keys;
  KeyHasher hasher;
  std::vector<std::vector<ColumnChunk>> parts;  // by part: a chunk a column; none: no rows
  int64_t bytes = 0;
  int64_t batches = 0;
  std::vector<std::pair<size_t, RowRun>> written;
};

struct SourceLocal final : LocalState {
  BatchArena arena;
  std::vector<Vector> columns;
  std::vector<int64_t> rows;
};

// The kept columns, in their places, of the rows that the state has collected.
void ReadRows(const RowPartitions& from, SourceLocal& state) {
  state.arena.Reset();
  for (size_t c = 0; c < from.columns.size(); ++c) {
    state.columns[static_cast<size_t>(from.columns[c])] =
        GatherColumn(*from.table->column(static_cast<int>(c)), state.rows.data(),
                     std::ssize(state.rows), /*outer=*/false, state.arena);
  }
}

absl::Status WriteParts(SinkBlock& block, RowFile& file) {
  for (size_t p = 0; p < block.parts.size(); ++p) {
    std::vector<ColumnChunk> chunks = std::exchange(block.parts[p], {});
    if (chunks.empty()) continue;
    ADJOIN_ASSIGN_OR_RETURN(const int64_t first, file.Append(chunks));
    block.written.push_back({p, RowRun{0, first, chunks.back().length()}});
  }
  block.charge.Release(std::exchange(block.bytes, 0));
  return absl::OkStatus();
}

// The runs of one block.
RunList RunsOf(const std::vector<RowRun>& runs, int64_t block) {
  const auto [first, last] =
      std::equal_range(runs.begin(), runs.end(), RowRun{block, 0, 0},
                       [](const RowRun& a, const RowRun& b) { return a.block < b.block; });
  return {first, last};
}

}  // namespace

void FindParts(std::span<const Vector> keys, int64_t n, int level, KeyHasher& hasher,
               uint8_t* parts) {
  static_assert(kPartitions == 16);
  std::vector<uint64_t> hashes(static_cast<size_t>(n));
  hasher.Hash(keys, n, hashes.data());
  const int shift = 60 - 4 * level;
  for (int64_t r = 0; r < n; ++r) parts[r] = static_cast<uint8_t>(hashes[r] >> shift & 15);
}

int64_t RowPartitions::RowsOf(size_t part) const {
  int64_t rows = 0;
  for (const RowRun& run : parts[part]) rows += run.rows;
  return rows;
}

absl::StatusOr<RowPartitions> RowPartitionsBuilder::Finish(std::vector<int> columns, int width,
                                                           int64_t all_blocks) {
  RowPartitions rows;
  ADJOIN_ASSIGN_OR_RETURN(rows.table, file_.Finish());
  rows.columns = std::move(columns);
  rows.width = width;
  rows.blocks = all_blocks;
  rows.parts = std::move(parts_);
  return rows;
}

absl::StatusOr<std::unique_ptr<SharedState>> PartitionSink::Open(
    RunState& run, const PipelineOptions& options) const {
  auto shared = std::make_unique<SinkState>();
  shared->parameters = run.parameters;
  shared->options = options;
  shared->run = &run;
  return shared;
}

std::unique_ptr<LocalState> PartitionSink::MakeBlock(const SharedState& shared) const {
  const auto& state = static_cast<const SinkState&>(shared);
  auto block = std::make_unique<SinkBlock>(*state.run);
  if (spec_.keys != nullptr)
    spec_.keys->Prepare(block->scratch, state.options.batch_rows, state.parameters);
  block->keys.resize(static_cast<size_t>(spec_.num_keys));
  block->parts.resize(spec_.keys == nullptr ? static_cast<size_t>(spec_.part) + 1 : kPartitions);
  return block;
}

Vector PartitionSink::OrderOf(const Batch& batch, int64_t first_in_block, BatchArena& arena) const {
  if (spec_.order == RowOrder::kLastColumn) return batch.columns.back();
  auto* numbers = arena.Make<int64_t>(batch.rows);
  std::iota(numbers, numbers + batch.rows,
            spec_.order == RowOrder::kPosition ? batch.first_row : first_in_block);
  return {TypeId::kInt64, numbers, nullptr};
}

absl::Status PartitionSink::Consume(const Batch& batch, const SharedState& shared,
                                    LocalState& local) const {
  const auto& state = static_cast<const SinkState&>(shared);
  auto& block = static_cast<SinkBlock&>(local);
  block.arena.Reset();
  auto* parts = block.arena.Make<uint8_t>(batch.rows);
  std::fill_n(parts, batch.rows, static_cast<uint8_t>(0));
  if (spec_.keys != nullptr) {
    ADJOIN_RETURN_IF_ERROR(spec_.keys->Run(block.scratch, batch.columns, batch.rows));
    for (int k = 0; k < spec_.num_keys; ++k)
      block.keys[static_cast<size_t>(k)] = spec_.keys->output(block.scratch, k);
    FindParts(block.keys, batch.rows, spec_.level, block.hasher, parts);
  }
  const Vector order = OrderOf(batch, block.batches++ * state.options.batch_rows, block.arena);
  const RowsByPart rows(parts, batch.rows, kPartitions, block.arena);
  for (size_t p = 0; p < kPartitions; ++p) {
    const std::span<const int32_t> of = rows.Of(p);
    if (of.empty()) continue;
    const auto n = static_cast<int64_t>(of.size());
    std::vector<ColumnChunk>& chunks =
        block.parts[spec_.keys == nullptr ? static_cast<size_t>(spec_.part) : p];
    const bool is_new = chunks.empty();
    for (size_t c = 0; c <= spec_.columns.size(); ++c) {
      const Vector& column =
          c < spec_.columns.size() ? batch.columns[static_cast<size_t>(spec_.columns[c])] : order;
      if (is_new) chunks.emplace_back(column.type);
      block.bytes -= chunks[c].bytes();
      chunks[c].Append(n == batch.rows ? column : Take(column, of.data(), n, block.arena), n);
      block.bytes += chunks[c].bytes();
    }
  }
  const bool has_room = block.charge.GrowTo(block.bytes).ok();
  return has_room && block.bytes < kBufferBytes ? absl::OkStatus() : WriteParts(block, out_.file());
}

absl::Status PartitionSink::Merge(std::unique_ptr<LocalState> local, SharedState& shared,
                                  bool*) const {
  auto& state = static_cast<SinkState&>(shared);
  auto& block = static_cast<SinkBlock&>(*local);
  ADJOIN_RETURN_IF_ERROR(WriteParts(block, out_.file()));
  for (auto& [part, run] : block.written) {
    run.block = state.blocks;
    out_.Add(part, run);
  }
  ++state.blocks;
  return absl::OkStatus();
}

absl::StatusOr<TableRef> PartitionSink::Finish(SharedState& shared, RunState&) const {
  out_.blocks = static_cast<SinkState&>(shared).blocks;
  return TableRef();
}

std::unique_ptr<LocalState> PartitionSource::MakeLocal(const SharedState&) const {
  auto local = std::make_unique<SourceLocal>();
  local->columns.resize(static_cast<size_t>(rows_.width) + 1);
  return local;
}

absl::Status PartitionSource::Produce(int64_t block, const SharedState&, LocalState& local,
                                      BatchConsumer next) const {
  auto& state = static_cast<SourceLocal&>(local);
  const auto send = [&]() -> absl::Status {
    const auto n = static_cast<int64_t>(state.rows.size());
    ReadRows(rows_, state);
    auto* order = state.arena.Make<int64_t>(n);
    for (int64_t i = 0; i < n; ++i)
      order[i] = rows_.orders()[state.rows[i]] | (all_blocks_ ? block << kBlockShift : 0);
    state.columns.back() = Vector{TypeId::kInt64, order, nullptr};
    state.rows.clear();
    return next(Batch{n, state.columns, -1});
  };
  state.rows.clear();
  for (const RowRun& run : RunsOf(rows_.parts[part_], block)) {
    for (int64_t row = run.first; row < run.first + run.rows; ++row) {
      state.rows.push_back(row);
      if (std::ssize(state.rows) == batch_rows_) ADJOIN_RETURN_IF_ERROR(send());
    }
  }
  return state.rows.empty() ? absl::OkStatus() : send();
}

std::unique_ptr<LocalState> MergedSource::MakeLocal(const SharedState&) const {
  auto local = std::make_unique<SourceLocal>();
  local->columns.resize(static_cast<size_t>(rows_.width));
  return local;
}

absl::Status MergedSource::Produce(int64_t block, const SharedState&, LocalState& local,
                                   BatchConsumer next) const {
  auto& state = static_cast<SourceLocal&>(local);
  std::vector<RunList> lists;
  for (const auto& part : rows_.parts) lists.push_back(RunsOf(part, block));
  if (rows_.table->num_columns() == 0) return absl::OkStatus();
  const int64_t* orders = rows_.orders();
  int64_t batch = 0;  // the one that the rows came of
  const auto send = [&]() -> absl::Status {
    if (state.rows.empty()) return absl::OkStatus();
    const auto n = static_cast<int64_t>(state.rows.size());
    ReadRows(rows_, state);
    state.rows.clear();
    return next(Batch{n, state.columns, -1});
  };
  const auto take = [&](int64_t row) -> absl::Status {
    const int64_t of = orders[row] / batch_rows_;
    if (of != batch || std::ssize(state.rows) == batch_rows_) {
      ADJOIN_RETURN_IF_ERROR(send());
      batch = of;
    }
    state.rows.push_back(row);
    return absl::OkStatus();
  };
  state.rows.clear();
  const auto less = [&](int64_t a, int64_t b) { return orders[a] < orders[b]; };
  ADJOIN_RETURN_IF_ERROR(MergeRuns(std::move(lists), less, take));
  return send();
}

absl::StatusOr<RowPartitions> Partition(const std::vector<Branch>& branches, int64_t first_block,
                                        const PartitionSpec& spec, RunState& run,
                                        const PipelineOptions& options) {
  RowPartitionsBuilder builder(run, kPartitions);
  ADJOIN_RETURN_IF_ERROR(
      RunInMemory(branches, PartitionSink(spec, builder), run, options, first_block).status());
  ADJOIN_ASSIGN_OR_RETURN(RowPartitions rows,
                          builder.Finish(spec.columns, spec.width, builder.blocks));
  rows.level = spec.level;
  return rows;
}

absl::StatusOr<RowPartitions> PartitionAgain(const RowPartitions& rows, size_t part,
                                             PartitionSpec spec, RunState& run,
                                             const PipelineOptions& options) {
  if (++spec.level == kMostLevels) {
    return SqlErrorWithDetail(
        sqlstate::kOutOfMemory, "out of memory",
        absl::StrCat("Memory has no room for the ", rows.RowsOf(part), " rows of one key."));
  }
  spec.order = RowOrder::kLastColumn;
  const Branch branch{
      std::make_shared<PartitionSource>(rows, part, /*all_blocks=*/false, options.batch_rows), {}};
  return Partition({branch}, 0, spec, run, options);
}

absl::Status ForEachPart(const RowPartitions& rows, PartitionSpec spec, RunState& run,
                         const PipelineOptions& options,
                         absl::FunctionRef<absl::Status(const RowPartitions&, size_t)> f) {
  PartitionSpec below = spec;
  ++below.level;
  for (size_t p = 0; p < kPartitions; ++p) {
    if (rows.parts[p].empty()) continue;
    absl::Status status = f(rows, p);
    if (IsOutOfMemory(status)) {
      ADJOIN_ASSIGN_OR_RETURN(const RowPartitions again,
                              PartitionAgain(rows, p, spec, run, options));
      status = ForEachPart(again, below, run, options, f);
    }
    ADJOIN_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::StatusOr<TableRef> LoadPart(const RowPartitions& rows, size_t part,
                                  std::span<const TypeId> types, const RunState& run) {
  const int64_t n = rows.RowsOf(part);
  BudgetCharge charge(run.budget);
  ADJOIN_RETURN_IF_ERROR(charge.Add(n * static_cast<int64_t>(sizeof(int64_t))));
  std::vector<int64_t> numbers;
  numbers.reserve(static_cast<size_t>(n));
  for (const RowRun& of : rows.parts[part]) {
    for (int64_t i = 0; i < of.rows; ++i) numbers.push_back(of.first + i);
  }
  // Columns that nobody reads take no memory.
  const auto absent =
      std::make_shared<const Column>(TypeId::kInt64, n, Column::Coordinates{0, 1, 1}, run.budget);
  std::vector<ColumnRef> columns(static_cast<size_t>(rows.width) + 1, absent);
  for (size_t c = 0; c < rows.columns.size(); ++c) {
    const auto at = static_cast<size_t>(rows.columns[c]);
    if (n == 0) {
      ADJOIN_ASSIGN_OR_RETURN(columns[at],
                              MakeColumn({types[at], nullptr, nullptr}, 0, run.budget));
    } else {
      ADJOIN_ASSIGN_OR_RETURN(
          columns[at], TakeRows(*rows.table->column(static_cast<int>(c)), numbers, run.budget));
    }
  }
  if (n > 0) {
    const Column& order = *rows.table->column(rows.table->num_columns() - 1);
    ADJOIN_ASSIGN_OR_RETURN(columns.back(), TakeRows(order, numbers, run.budget));
  }
  return UnnamedTable(std::move(columns), n);
}

}  // namespace adjoin
