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

// Rows of the left ascend: a few thousand are taken of all its columns while their numbers are in
// the cache, and where every row is there once, nothing. Those of the right are anywhere: column by
// column, so that one column at a time is in the cache (h2o join q5 takes 101 ms otherwise, and
// 54).
absl::StatusOr<TableRef> MaterializePairsSink::TakePieces(const StoredRows& pairs,
                                                          const Table& left, const Table& right,
                                                          RunState& run) const {
  struct Piece {
    std::span<const int64_t> rows[2];  // of the left, of the right
    int64_t at;
  };
  std::vector<Piece> pieces;
  bool left_is_whole = pairs.rows() == left.num_rows();
  int64_t at = 0;
  for (size_t i = 0; i < pairs.chunks(0).size(); ++i) {
    const auto n = static_cast<size_t>(pairs.chunks(0)[i].length());
    const auto rows_of = [&](size_t side) {
      return std::span(reinterpret_cast<const int64_t*>(pairs.chunks(side)[i].data()), n);
    };
    pieces.push_back({{rows_of(0), rows_of(1)}, at});
    for (size_t r = 0; r < n && left_is_whole; ++r)
      left_is_whole = pieces.back().rows[0][r] == at + static_cast<int64_t>(r);
    at += static_cast<int64_t>(n);
  }
  struct Taken {
    size_t column;
    RowTaker rows;
  };
  std::vector<ColumnRef> columns;
  std::vector<Taken> taken[2];  // of the left, of the right
  for (const MaterializePairsSpec::From& from : spec_.columns) {
    columns.push_back((from.right ? right : left).column(from.column));
    if (!from.right && left_is_whole) continue;
    ADJOIN_ASSIGN_OR_RETURN(
        RowTaker taker, RowTaker::Make(*columns.back(), at, from.right && spec_.outer, run.budget));
    taken[from.right ? 1 : 0].push_back({columns.size() - 1, std::move(taker)});
  }
  const size_t tasks = pieces.size() * (1 + taken[1].size());
  const auto take = [&](int64_t task) {
    const size_t part = static_cast<size_t>(task) / pieces.size();
    const Piece& piece = pieces[static_cast<size_t>(task) % pieces.size()];
    if (part > 0) {
      taken[1][part - 1].rows.Take(piece.rows[1], piece.at);
      return absl::OkStatus();
    }
    constexpr size_t kRows = 8192;
    std::vector<int32_t> from_first;
    for (size_t begin = 0; begin < piece.rows[0].size(); begin += kRows) {
      const auto rows = piece.rows[0].subspan(begin, std::min(kRows, piece.rows[0].size() - begin));
      const int64_t row = piece.at + static_cast<int64_t>(begin);
      if (rows.back() - rows.front() > INT32_MAX) {
        for (Taken& of : taken[0]) of.rows.Take(rows, row);
        continue;
      }
      from_first.resize(rows.size());
      for (size_t r = 0; r < rows.size(); ++r)
        from_first[r] = static_cast<int32_t>(rows[r] - rows.front());
      for (Taken& of : taken[0]) of.rows.TakeAscending(rows.front(), from_first, row);
    }
    return absl::OkStatus();
  };
  ADJOIN_RETURN_IF_ERROR(ForEachBlock(run.pool, static_cast<int64_t>(tasks), take));
  for (auto& side : taken) {
    for (Taken& of : side) {
      ADJOIN_ASSIGN_OR_RETURN(columns[of.column], of.rows.Finish(run.budget));
    }
  }
  return Table::MakeUnchecked(spec_.schema, std::move(columns), at);
}

// Column by column, each in memory or in a file.
absl::StatusOr<TableRef> MaterializePairsSink::TakeWhole(StoredRows& stored, const Table& left,
                                                         const Table& right, RunState& run) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef pairs, stored.Finish());
  const auto rows_of = [&](bool of_right) {
    return std::span(pairs->column(of_right ? 1 : 0)->values<int64_t>(),
                     static_cast<size_t>(pairs->num_rows()));
  };
  std::vector<ColumnRef> columns;
  for (const MaterializePairsSpec::From& from : spec_.columns) {
    const Table& table = from.right ? right : left;
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column,
                            TakeRows(*table.column(from.column), rows_of(from.right), run));
    columns.push_back(std::move(column));
  }
  return Table::MakeUnchecked(spec_.schema, std::move(columns), pairs->num_rows());
}

absl::StatusOr<TableRef> MaterializePairsSink::Finish(SharedState& shared, RunState& run) const {
  StoredRows& pairs = static_cast<KeptPairs&>(shared).stored;
  ADJOIN_ASSIGN_OR_RETURN(const TableRef left, spec_.left.Resolve(run));
  ADJOIN_ASSIGN_OR_RETURN(const TableRef right, spec_.right.Resolve(run));
  const auto can_take = [&](const MaterializePairsSpec::From& from) {
    return RowTaker::CanTake(*(from.right ? right : left)->column(from.column), pairs.rows());
  };
  const auto whole = [&] { return TakeWhole(pairs, *left, *right, run); };
  if (!pairs.in_memory() || !std::all_of(spec_.columns.begin(), spec_.columns.end(), can_take))
    return whole();
  return RunOrSpill(
      *run.spill, /*can_spill=*/true, [&] { return TakePieces(pairs, *left, *right, run); }, whole);
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
