#include "ops/hash_aggregate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/partitioned_groups.h"
#include "ops/pieced_column.h"

namespace adjoin {
namespace {

struct AllGroups final : SharedState {
  std::shared_ptr<MemoryBudget> budget;
  // In order; merged into the first while no block has left rows.
  std::vector<std::unique_ptr<BlockOfGroups>> blocks;
  std::vector<Value> parameters;
  PipelineOptions options;
  bool may_keep_rows = false;
  mutable KeyHashers hashers;
};

struct GroupingBlock final : LocalState {
  std::unique_ptr<BlockOfGroups> result;
  int64_t groups_of_half = 0;  // of the sample
  ExprScratch scratch;
  BatchArena arena;
};

// Every other row of the first block made a group: what is expected is believed then, up to as many
// blocks as there are at most. Growing by doubling, the groups of h2o q10 at 1e7 rows touch twice
// the memory.
void ReserveGroups(Groups& groups, double expected_groups, int64_t most_blocks,
                   const MemoryBudget& budget) {
  const auto most = static_cast<double>(groups.size() * most_blocks);
  const auto expected = static_cast<int64_t>(std::min(expected_groups, most));
  const double bytes = static_cast<double>(groups.bytes()) / static_cast<double>(groups.size()) *
                       static_cast<double>(expected);
  if (expected < 2 * groups.size() || 2 * bytes > static_cast<double>(budget.available())) return;
  groups.Reserve(expected);
}

// Groups that were not cut into parts, as PartitionedGroups gives them.
struct WholeGroups {
  const Groups& groups;
  int64_t columns, groups_a_piece;

  int64_t size() const { return groups.size(); }
  int64_t pieces() const { return (size() + groups_a_piece - 1) / groups_a_piece; }
  int64_t begin(int64_t piece) const { return std::min(size(), piece * groups_a_piece); }
  std::shared_ptr<const Dictionary> DictionaryOf(int column) const {
    return groups.DictionaryOf(column);
  }
  absl::Status Read(int64_t piece,
                    absl::FunctionRef<void(int column, const Vector& values)> f) const {
    BatchArena arena;
    for (int c = 0; c < columns; ++c) {
      arena.Reset();
      ADJOIN_ASSIGN_OR_RETURN(
          const Vector values,
          groups.Column(c, begin(piece), begin(piece + 1) - begin(piece), arena));
      f(c, values);
    }
    return absl::OkStatus();
  }
};

template <typename G>
absl::StatusOr<std::vector<ColumnRef>> ColumnsOf(const G& groups, const Schema& schema,
                                                 const RunState& run) {
  std::vector<std::unique_ptr<PiecedColumn>> pieced(schema.fields.size());
  for (size_t c = 0; c < pieced.size(); ++c) {
    ADJOIN_ASSIGN_OR_RETURN(
        pieced[c],
        PiecedColumn::Make(schema.fields[c].type, groups.DictionaryOf(static_cast<int>(c)),
                           groups.size(), groups.pieces(), run.budget));
  }
  TaskPool* pool = groups.pieces() > 1 ? run.pool : nullptr;  // a task is worth a piece
  ADJOIN_RETURN_IF_ERROR(ForEachBlock(pool, groups.pieces(), [&](int64_t piece) {
    const int64_t begin = groups.begin(piece), n = groups.begin(piece + 1) - begin;
    return groups.Read(piece, [&](int c, const Vector& values) {
      pieced[static_cast<size_t>(c)]->Put(piece, begin, values, n);
    });
  }));
  std::vector<ColumnRef> columns(pieced.size());
  const auto finish = [&](int64_t c) -> absl::Status {
    ADJOIN_ASSIGN_OR_RETURN(columns[static_cast<size_t>(c)], pieced[c]->Finish(run.budget));
    return absl::OkStatus();
  };
  ADJOIN_RETURN_IF_ERROR(ForEachBlock(pool, std::ssize(pieced), finish));
  return columns;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedState>> HashAggregate::Open(
    RunState& run, const PipelineOptions& options) const {
  auto all = std::make_unique<AllGroups>();
  all->budget = run.budget;
  all->parameters = run.parameters;
  all->options = options;
  all->may_keep_rows = MayKeepRows(run);
  return all;
}

std::unique_ptr<LocalState> HashAggregate::MakeBlock(const SharedState& shared) const {
  const auto& all = static_cast<const AllGroups&>(shared);
  auto block = std::make_unique<GroupingBlock>();
  block->result = std::make_unique<BlockOfGroups>(all.budget);
  block->result->groups = std::make_unique<Groups>(spec_, spec_.order >= 0);
  spec_.exprs.Prepare(block->scratch, all.options.batch_rows, all.parameters);
  return block;
}

bool HashAggregate::MayKeepRows(const RunState& run) const {
  return run.slots() > 1 && spec_.num_keys > 0 && spec_.order < 0 &&
         spec_.exprs.num_outputs() <= PartitionedRows::kMostColumns &&
         std::none_of(spec_.aggregates.begin(), spec_.aggregates.end(),
                      [](const AggregateSpec& aggregate) { return aggregate.keeps_values(); });
}

absl::Status HashAggregate::Consume(const Batch& batch, const SharedState& shared,
                                    LocalState& local) const {
  auto& block = static_cast<GroupingBlock&>(local);
  BlockOfGroups& result = *block.result;
  block.arena.Reset();
  ADJOIN_RETURN_IF_ERROR(spec_.exprs.Run(block.scratch, batch.columns, batch.rows));
  const std::vector<Vector> outputs = OutputsOf(spec_.exprs, block.scratch);
  const int64_t before = std::exchange(result.num_rows, result.num_rows + batch.rows);
  if (result.rows != nullptr) {
    result.rows->Add(outputs, before, batch.rows);
    return result.charge.GrowTo(result.groups->bytes() + result.rows->bytes());
  }
  const int64_t* order =
      spec_.order < 0 ? nullptr : batch.columns[static_cast<size_t>(spec_.order)].as<int64_t>();
  result.groups->Add(outputs, order, batch.rows, block.arena);
  const auto& all = static_cast<const AllGroups&>(shared);
  const int64_t sample = spec_.sample_rows;
  if (before < sample / 2) block.groups_of_half = result.groups->size();
  if (all.may_keep_rows && before < sample && result.num_rows >= sample) {
    const int64_t made = result.groups->size() - block.groups_of_half;
    if (10 * made >= 9 * (sample / 2))
      result.rows = std::make_unique<PartitionedRows>(spec_.num_keys, all.hashers);
  }
  return result.charge.GrowTo(result.groups->bytes());
}

absl::Status HashAggregate::Merge(std::unique_ptr<LocalState> local, SharedState& shared,
                                  bool*) const {
  std::unique_ptr<BlockOfGroups> block = std::move(static_cast<GroupingBlock&>(*local).result);
  auto& all = static_cast<AllGroups&>(shared);
  if (block->rows != nullptr) block->rows->Close();
  if (all.blocks.size() != 1 || all.blocks[0]->rows != nullptr || block->rows != nullptr) {
    if (all.blocks.empty() && block->rows == nullptr &&
        2 * block->groups->size() >= block->num_rows)
      ReserveGroups(*block->groups, spec_.expected_groups, most_blocks(), *all.budget);
    all.blocks.push_back(std::move(block));
    return all.blocks.back()->charge.GrowTo(all.blocks.back()->groups->bytes());
  }
  BlockOfGroups& into = *all.blocks[0];
  into.groups->Merge(*block->groups);
  into.num_rows += block->num_rows;
  return into.charge.GrowTo(into.groups->bytes());
}

absl::StatusOr<TableRef> HashAggregate::Finish(SharedState& shared, RunState& run) const {
  auto& all = static_cast<AllGroups&>(shared);
  if (all.blocks.empty()) {
    all.blocks.push_back(std::make_unique<BlockOfGroups>(all.budget));
    all.blocks[0]->groups = std::make_unique<Groups>(spec_, spec_.order >= 0);
  }
  if (all.blocks.size() > 1 || all.blocks[0]->rows != nullptr) {
    ADJOIN_ASSIGN_OR_RETURN(const PartitionedGroups groups,
                            PartitionedGroups::Make(spec_, std::move(all.blocks), run));
    ADJOIN_ASSIGN_OR_RETURN(std::vector<ColumnRef> columns, ColumnsOf(groups, spec_.schema, run));
    return Table::MakeUnchecked(spec_.schema, std::move(columns), groups.size());
  }
  Groups& groups = *all.blocks[0]->groups;
  groups.Finish(run.pool);
  ADJOIN_RETURN_IF_ERROR(all.blocks[0]->charge.GrowTo(groups.bytes()));
  ADJOIN_ASSIGN_OR_RETURN(
      std::vector<ColumnRef> columns,
      ColumnsOf(WholeGroups{groups, std::ssize(spec_.schema.fields), all.options.morsel_rows},
                spec_.schema, run));
  Schema schema = spec_.schema;
  if (spec_.order >= 0) {
    schema.fields.push_back({"order", TypeId::kInt64});
    const Vector first_rows{TypeId::kInt64, groups.first_rows().data(), nullptr};
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column,
                            MakeColumn(first_rows, std::ssize(groups.first_rows()), run.budget));
    columns.push_back(std::move(column));
  }
  return Table::MakeUnchecked(std::move(schema), std::move(columns), groups.size());
}

std::string HashAggregate::Describe() const {
  return absl::StrCat("aggregate ", spec_.aggregates.size(), " by ", spec_.num_keys, " keys");
}

}  // namespace adjoin
