#include "ops/materialize.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/scan.h"
#include "ops/stored_rows.h"

namespace adjoin {
namespace {

struct KeptRows final : SharedState {
  int64_t offset = 0;
  int64_t limit = -1;
  std::unique_ptr<StoredRows> stored;
  // The rows that matter; later ones are not kept.
  int64_t wanted() const {
    if (limit < 0) return std::numeric_limits<int64_t>::max();
    return limit > std::numeric_limits<int64_t>::max() - offset
               ? std::numeric_limits<int64_t>::max()
               : limit + offset;
  }
};

struct BlockRows final : LocalState {
  std::vector<ColumnChunk> columns;
  int64_t rows = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SharedState>> MaterializeSink::Open(RunState& run,
                                                                   const PipelineOptions&) const {
  auto shared = std::make_unique<KeptRows>();
  if (!limited_) {
    shared->stored = std::make_unique<StoredRows>(schema_, run);
    return shared;
  }
  ExprScratch scratch;
  bounds_.Prepare(scratch, 1, run.parameters);
  ADJOIN_RETURN_IF_ERROR(bounds_.Run(scratch, {}, 1));
  const Value limit = SingleValue(bounds_, scratch, 0);
  const Value offset = SingleValue(bounds_, scratch, 1);
  if (!limit.is_null()) shared->limit = limit.as_int();
  if (!offset.is_null()) shared->offset = offset.as_int();
  if (!limit.is_null() && shared->limit < 0) {
    return SqlError(sqlstate::kInvalidRowCountInLimit, "LIMIT must not be negative");
  }
  if (shared->offset < 0) {
    return SqlError(sqlstate::kInvalidRowCountInOffset, "OFFSET must not be negative");
  }
  shared->stored = std::make_unique<StoredRows>(schema_, run, shared->offset, shared->limit);
  return shared;
}

std::unique_ptr<LocalState> MaterializeSink::MakeBlock(const SharedState&) const {
  auto block = std::make_unique<BlockRows>();
  for (const Field& field : schema_.fields) block->columns.emplace_back(field.type);
  return block;
}

absl::Status MaterializeSink::Consume(const Batch& batch, const SharedState& shared,
                                      LocalState& local) const {
  auto& block = static_cast<BlockRows&>(local);
  const int64_t wanted = static_cast<const KeptRows&>(shared).wanted();
  const int64_t n = std::min(batch.rows, wanted - block.rows);
  if (n <= 0) return absl::OkStatus();
  for (size_t c = 0; c < block.columns.size(); ++c) block.columns[c].Append(batch.columns[c], n);
  block.rows += n;
  return absl::OkStatus();
}

absl::Status MaterializeSink::Merge(std::unique_ptr<LocalState> local, SharedState& shared,
                                    bool* done) const {
  auto& block = static_cast<BlockRows&>(*local);
  auto& kept = static_cast<KeptRows&>(shared);
  ADJOIN_RETURN_IF_ERROR(kept.stored->Add(std::move(block.columns), block.rows));
  *done = kept.stored->rows() >= kept.wanted();
  return absl::OkStatus();
}

absl::StatusOr<TableRef> MaterializeSink::Finish(SharedState& shared, RunState&) const {
  return static_cast<KeptRows&>(shared).stored->Finish();
}

namespace {

const Schema& PairSchema() {
  static const Schema schema{{{"left", TypeId::kInt64}, {"right", TypeId::kInt64}}, {}};
  return schema;
}

struct KeptPairs final : SharedState {
  explicit KeptPairs(const RunState& run) : stored(PairSchema(), run) {}
  StoredRows stored;
};

struct BlockPairs final : LocalState {
  BlockPairs() {
    for (const Field& field : PairSchema().fields) columns.emplace_back(field.type);
  }
  std::vector<ColumnChunk> columns;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SharedState>> MaterializePairsSink::Open(
    RunState& run, const PipelineOptions&) const {
  return std::make_unique<KeptPairs>(run);
}

std::unique_ptr<LocalState> MaterializePairsSink::MakeBlock(const SharedState&) const {
  return std::make_unique<BlockPairs>();
}

absl::Status MaterializePairsSink::Consume(const Batch& batch, const SharedState&,
                                           LocalState& local) const {
  auto& block = static_cast<BlockPairs&>(local);
  for (size_t c = 0; c < 2; ++c) block.columns[c].Append(batch.columns[c], batch.rows);
  return absl::OkStatus();
}

absl::Status MaterializePairsSink::Merge(std::unique_ptr<LocalState> local, SharedState& shared,
                                         bool*) const {
  auto& block = static_cast<BlockPairs&>(*local);
  const int64_t rows = block.columns[0].length();
  return static_cast<KeptPairs&>(shared).stored.Add(std::move(block.columns), rows);
}

absl::StatusOr<TableRef> MaterializePairsSink::Finish(SharedState& shared, RunState& run) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef pairs, static_cast<KeptPairs&>(shared).stored.Finish());
  const auto rows_of = [&](bool right) {
    return std::span(pairs->column(right ? 1 : 0)->values<int64_t>(),
                     static_cast<size_t>(pairs->num_rows()));
  };
  ADJOIN_ASSIGN_OR_RETURN(const TableRef left, spec_.left.Resolve(run));
  ADJOIN_ASSIGN_OR_RETURN(const TableRef right, spec_.right.Resolve(run));
  std::vector<ColumnRef> columns(spec_.columns.size());
  const auto gather = [&](int64_t c) -> absl::Status {
    const MaterializePairsSpec::From& from = spec_.columns[static_cast<size_t>(c)];
    const Table& table = from.right ? *right : *left;
    ADJOIN_ASSIGN_OR_RETURN(columns[static_cast<size_t>(c)],
                            TakeRows(*table.column(from.column), rows_of(from.right), run));
    return absl::OkStatus();
  };
  const auto n = static_cast<int64_t>(columns.size());
  if (run.pool != nullptr) {
    ADJOIN_RETURN_IF_ERROR(run.pool->ForEachBlock(n, gather));
  } else {
    for (int64_t c = 0; c < n; ++c) ADJOIN_RETURN_IF_ERROR(gather(c));
  }
  return Table::MakeUnchecked(spec_.schema, std::move(columns), pairs->num_rows());
}

absl::Status ViewStep::Run(RunState& state) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef table, from_.Resolve(state));
  std::vector<ColumnRef> columns;
  for (int c : columns_) columns.push_back(table->column(c));
  SetRelation(state, out_slot_,
              Table::MakeUnchecked(schema_, std::move(columns), table->num_rows()));
  return absl::OkStatus();
}

std::string ViewStep::Describe() const {
  return absl::StrCat("slot ", out_slot_, " = columns of ", from_.ToString());
}

void SetRelation(RunState& state, int slot, TableRef table) {
  if (state.relations.size() <= static_cast<size_t>(slot))
    state.relations.resize(static_cast<size_t>(slot) + 1);
  state.relations[static_cast<size_t>(slot)] = std::move(table);
}

}  // namespace adjoin
