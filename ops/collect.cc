#include "ops/collect.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/column_access.h"

namespace adjoin {
namespace {

using Sums = std::vector<std::unique_ptr<Accumulator>>;

struct CollectShared final : SharedState {
  TableRef left;
  std::unique_ptr<JoinIndex> index;
  Sums sums;  // by left row
  std::vector<Value> parameters;
  PipelineOptions options;
};

// The left rows that a block reaches, numbered as they come, and their sums.
struct CollectBlock final : LocalState {
  ExprScratch scratch;
  KeyScratch lookup;
  KeyTable rows{{TypeId::kInt64}};
  Sums sums;
  std::vector<int64_t> left_rows, groups;
  std::vector<int32_t> matched;
  BatchArena arena;
};

}  // namespace

Sums CollectSink::MakeSums() const {
  Sums sums;
  for (int i = 1; i < spec_.right.num_outputs(); ++i) {
    const TypeId type = spec_.right.output_type(i);
    sums.push_back(MakeAccumulator(AggregateKind::kSum, type, type));
  }
  return sums;
}

absl::StatusOr<std::unique_ptr<SharedState>> CollectSink::Open(
    RunState& run, const PipelineOptions& options) const {
  auto shared = std::make_unique<CollectShared>();
  ADJOIN_ASSIGN_OR_RETURN(shared->left, spec_.left.Resolve(run));
  ADJOIN_ASSIGN_OR_RETURN(shared->index,
                          JoinIndex::Build(spec_.left_key, *shared->left, run, options));
  shared->sums = MakeSums();
  for (auto& sum : shared->sums) sum->Resize(shared->left->num_rows());
  shared->parameters = run.parameters;
  shared->options = options;
  return shared;
}

std::unique_ptr<LocalState> CollectSink::MakeBlock(const SharedState& shared) const {
  const auto& all = static_cast<const CollectShared&>(shared);
  auto block = std::make_unique<CollectBlock>();
  spec_.right.Prepare(block->scratch, all.options.batch_rows, all.parameters);
  block->sums = MakeSums();
  const auto n = static_cast<size_t>(all.options.batch_rows);
  block->left_rows.resize(n), block->groups.resize(n), block->matched.resize(n);
  return block;
}

absl::Status CollectSink::Consume(const Batch& batch, const SharedState& shared,
                                  LocalState& local) const {
  const auto& all = static_cast<const CollectShared&>(shared);
  auto& block = static_cast<CollectBlock&>(local);
  ADJOIN_RETURN_IF_ERROR(spec_.right.Run(block.scratch, batch.columns, batch.rows));
  const Vector& key = spec_.right.output(block.scratch, 0);
  all.index->Find({&key, 1}, batch.rows, block.groups.data(), block.lookup);
  int64_t n = 0;
  for (int64_t r = 0; r < batch.rows; ++r) {
    if (block.groups[r] < 0) continue;
    block.left_rows[n] = *all.index->RowsOf(block.groups[r]).begin;
    block.matched[n++] = static_cast<int32_t>(r);
  }
  const Vector reached{TypeId::kInt64, block.left_rows.data(), nullptr};
  block.rows.FindOrAdd({&reached, 1}, n, block.groups.data());
  block.arena.Reset();
  for (size_t i = 0; i < block.sums.size(); ++i) {
    const Vector& all_values = spec_.right.output(block.scratch, static_cast<int>(i) + 1);
    const Vector values =
        n == batch.rows ? all_values : Take(all_values, block.matched.data(), n, block.arena);
    block.sums[i]->Resize(block.rows.size());
    block.sums[i]->Update({&values, 1}, nullptr, block.groups.data(), n);
  }
  return absl::OkStatus();
}

absl::Status CollectSink::Merge(std::unique_ptr<LocalState> local, SharedState& shared,
                                bool*) const {
  auto& block = static_cast<CollectBlock&>(*local);
  auto& all = static_cast<CollectShared&>(shared);
  if (block.rows.size() == 0) return absl::OkStatus();
  BatchArena arena;
  const Vector rows = block.rows.Key(0, 0, block.rows.size(), arena);
  for (size_t i = 0; i < all.sums.size(); ++i) {
    all.sums[i]->Merge(*block.sums[i], nullptr, rows.as<int64_t>(), block.rows.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<TableRef> CollectSink::Finish(SharedState& shared, RunState& run) const {
  auto& all = static_cast<CollectShared&>(shared);
  const int64_t rows = all.left->num_rows();
  std::vector<ColumnRef> columns;
  for (int c : spec_.left_columns) columns.push_back(all.left->column(c));
  for (auto& sum : all.sums) {
    BatchArena arena;
    ADJOIN_ASSIGN_OR_RETURN(const Vector values, sum->Result(0, rows, arena));
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, MakeColumn(values, rows, run.budget));
    columns.push_back(std::move(column));
  }
  return Table::MakeUnchecked(spec_.schema, std::move(columns), rows);
}

std::string CollectSink::Describe() const {
  return absl::StrCat("collect into ", spec_.left.ToString());
}

}  // namespace adjoin
