#include "ops/materialize.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/large_vector.h"
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

// Takes the columns of a join's two sides at its pairs of rows. A few thousand pairs at a time of
// all columns of a side, while the rows' numbers and what is taken are in the cache: of the left,
// whose rows ascend, and of a right side that is small. Where every row of the left is there once
// nothing is taken of it. Of a large right side column by column, so that one column at a time is
// in the cache (h2o join q5 took 101 ms otherwise, and 54).
class PairsTaker {
 public:
  PairsTaker(const MaterializePairsSpec& spec, const StoredRows& pairs, const Table& left,
             const Table& right, RunState& run)
      : spec_(spec), left_(left), right_(right), run_(run) {
    left_is_whole_ = pairs.rows() == left.num_rows();
    for (size_t i = 0; i < pairs.chunks(0).size(); ++i) {
      const auto n = static_cast<size_t>(pairs.chunks(0)[i].length());
      const auto rows_of = [&](size_t side) {
        return std::span(reinterpret_cast<const int64_t*>(pairs.chunks(side)[i].data()), n);
      };
      pieces_.push_back({rows_of(0), rows_of(1), rows_});
      for (size_t r = 0; r < n && left_is_whole_; ++r)
        left_is_whole_ = pieces_.back().left[r] == rows_ + static_cast<int64_t>(r);
      rows_ += static_cast<int64_t>(n);
    }
  }

  absl::StatusOr<TableRef> Take() {
    ADJOIN_RETURN_IF_ERROR(MakeTakers());
    if (spec_.outer) present_.resize(static_cast<size_t>(rows_));
    const size_t pieces = pieces_.size(), parts = 1 + (right_is_small_ ? 0 : of_right_.size());
    ADJOIN_RETURN_IF_ERROR(
        ForEachBlock(run_.pool, static_cast<int64_t>(pieces * parts), [&](int64_t task) {
          const size_t part = static_cast<size_t>(task) / pieces;
          const Piece& piece = pieces_[static_cast<size_t>(task) % pieces];
          if (part > 0) {
            of_right_[part - 1].rows.Take(piece.right, piece.at);
          } else {
            TakeNear(piece);
          }
          return absl::OkStatus();
        }));
    std::shared_ptr<const Buffer> present;
    if (spec_.outer) {
      ADJOIN_ASSIGN_OR_RETURN(present, MakeValidity(present_.data(), rows_, run_.budget));
    }
    for (auto* side : {&of_left_, &of_right_}) {
      for (Taken& of : *side) {
        ADJOIN_ASSIGN_OR_RETURN(
            columns_[of.column],
            of.rows.Finish(side == &of_right_ ? present : nullptr, run_.budget));
      }
    }
    return Table::MakeUnchecked(spec_.schema, std::move(columns_), rows_);
  }

 private:
  struct Piece {
    std::span<const int64_t> left, right;
    int64_t at;
  };
  struct Taken {
    size_t column;
    RowTaker rows;
  };
  // Half a common second-level cache.
  static constexpr int64_t kSmallBytes = 512 << 10;
  static constexpr size_t kRows = 8192;

  absl::Status MakeTakers() {
    int64_t width = 0;
    for (const MaterializePairsSpec::From& from : spec_.columns) {
      columns_.push_back((from.right ? right_ : left_).column(from.column));
      if (!from.right && left_is_whole_) continue;
      ADJOIN_ASSIGN_OR_RETURN(
          RowTaker taker,
          RowTaker::Make(*columns_.back(), rows_, from.right && spec_.outer, run_.budget));
      (from.right ? of_right_ : of_left_).push_back({columns_.size() - 1, std::move(taker)});
      if (from.right) width += WidthOf(columns_.back()->type());
    }
    right_is_small_ = right_.num_rows() * width <= kSmallBytes;
    return absl::OkStatus();
  }

  void TakeNear(const Piece& piece) {
    std::vector<int32_t> from_first(std::min(kRows, piece.left.size()));
    for (size_t begin = 0; begin < piece.left.size(); begin += kRows) {
      const size_t n = std::min(kRows, piece.left.size() - begin);
      const int64_t at = piece.at + static_cast<int64_t>(begin);
      if (!of_left_.empty()) TakeLeft(piece.left.subspan(begin, n), at, from_first);
      const auto right = piece.right.subspan(begin, n);
      for (size_t r = 0; r < n && spec_.outer; ++r) present_[at + r] = right[r] >= 0 ? 1 : 0;
      for (size_t c = 0; c < of_right_.size() && right_is_small_; ++c)
        of_right_[c].rows.Take(right, at);
    }
  }

  void TakeLeft(std::span<const int64_t> rows, int64_t at, std::vector<int32_t>& from_first) {
    if (rows.back() - rows.front() > INT32_MAX) {
      for (Taken& of : of_left_) of.rows.Take(rows, at);
      return;
    }
    for (size_t r = 0; r < rows.size(); ++r)
      from_first[r] = static_cast<int32_t>(rows[r] - rows.front());
    for (Taken& of : of_left_)
      of.rows.TakeAscending(rows.front(), std::span(from_first).first(rows.size()), at);
  }

  const MaterializePairsSpec& spec_;
  const Table &left_, &right_;
  RunState& run_;
  std::vector<Piece> pieces_;
  int64_t rows_ = 0;
  bool left_is_whole_ = false, right_is_small_ = false;
  std::vector<ColumnRef> columns_;
  std::vector<Taken> of_left_, of_right_;
  LargeVector<uint8_t> present_;  // of an outer join: 1 where there is a row of the right
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
      *run.spill, /*can_spill=*/true,
      [&] { return PairsTaker(spec_, pairs, *left, *right, run).Take(); }, whole);
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
