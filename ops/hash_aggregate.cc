#include "ops/hash_aggregate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/budget_charge.h"
#include "engine/large_vector.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/key_table.h"

namespace adjoin {
namespace {

// Groups and their values, of one block or of all.
struct Groups {
  explicit Groups(const HashAggregateSpec& spec) : keys(KeyTypes(spec)) {
    for (const AggregateSpec& aggregate : spec.aggregates) {
      const TypeId arg = aggregate.arg < 0 ? TypeId::kInt64 : spec.exprs.output_type(aggregate.arg);
      accumulators.push_back(MakeAccumulator(aggregate.kind, arg, aggregate.result,
                                             aggregate.second < 0 ? 1 : 2, spec.order >= 0));
      distinct.push_back(aggregate.distinct ? MakeSeen(spec, aggregate) : nullptr);
    }
    keys.BorrowCodes();
    if (spec.num_keys == 0) Resize(1);
  }
  static std::unique_ptr<KeyTable> MakeSeen(const HashAggregateSpec& spec,
                                            const AggregateSpec& aggregate) {
    std::vector<TypeId> types = aggregate.ArgumentTypes(spec.exprs);
    types.insert(types.begin(), TypeId::kInt64);
    auto seen = std::make_unique<KeyTable>(types);
    seen->BorrowCodes();
    return seen;
  }
  static std::vector<TypeId> KeyTypes(const HashAggregateSpec& spec) {
    std::vector<TypeId> types;
    for (int k = 0; k < spec.num_keys; ++k) types.push_back(spec.exprs.output_type(k));
    return types;
  }
  void Resize(int64_t n) {
    for (auto& accumulator : accumulators) accumulator->Resize(n);
  }
  int64_t size() const { return keys.num_keys() == 0 ? 1 : keys.size(); }
  int64_t bytes() const {
    int64_t total = keys.bytes() + 8 * std::ssize(first_rows);
    for (const auto& accumulator : accumulators) total += accumulator->bytes();
    for (const auto& seen : distinct) total += seen == nullptr ? 0 : seen->bytes();
    return total;
  }

  KeyTable keys;
  std::vector<int64_t> first_rows;  // where rows have an order
  std::vector<std::unique_ptr<Accumulator>> accumulators;
  std::vector<std::unique_ptr<KeyTable>> distinct;  // (group, values) seen, by aggregate
};

struct AllGroups final : SharedState {
  explicit AllGroups(const RunState& run) : budget(run.budget), charge(run.budget) {}
  std::shared_ptr<MemoryBudget> budget;
  BudgetCharge charge;  // of the groups
  std::unique_ptr<Groups> groups;
  std::vector<Value> parameters;
  PipelineOptions options;
};

struct BlockGroups final : LocalState {
  explicit BlockGroups(const std::shared_ptr<MemoryBudget>& budget) : charge(budget) {}
  BudgetCharge charge;  // of the groups
  std::unique_ptr<Groups> groups;
  int64_t rows = 0;
  ExprScratch scratch;
  BatchArena arena;
  LargeVector<int64_t> ids;  // of a batch's rows
  std::vector<Vector> keys;
};

// Notes which values of which groups a block has, where the first is not NULL and `take` says so.
void NoteDistinct(KeyTable& seen, std::span<const Vector> args, const uint8_t* take,
                  const int64_t* groups, int64_t n, BatchArena& arena) {
  int32_t* rows = arena.Make<int32_t>(n);
  const int64_t m = SelectTaken(args[0], take, n, rows);
  int64_t* of_group = arena.Make<int64_t>(m);
  for (int64_t i = 0; i < m; ++i) of_group[i] = groups == nullptr ? 0 : groups[rows[i]];
  std::vector<Vector> keys = {{TypeId::kInt64, of_group, nullptr}};
  for (const Vector& arg : args) keys.push_back(Take(arg, rows, m, arena));
  seen.FindOrAdd(keys, m, arena.Make<int64_t>(m));
}

// Adds the groups and values of a later block, but those of DISTINCT aggregates. Returns what its
// groups are in `into`.
std::vector<int64_t> MergeGroups(const HashAggregateSpec& spec, const Groups& from, Groups& into) {
  const int64_t size = from.size();
  std::vector<int64_t> map =
      spec.num_keys > 0 ? into.keys.AddAll(from.keys) : std::vector<int64_t>{0};
  for (int64_t g = 0; g < size && spec.order >= 0; ++g) {
    if (map[g] == std::ssize(into.first_rows)) into.first_rows.push_back(from.first_rows[g]);
  }
  into.Resize(into.size());
  for (size_t a = 0; a < spec.aggregates.size(); ++a) {
    if (!spec.aggregates[a].distinct)
      into.accumulators[a]->Merge(*from.accumulators[a], map.data(), size);
  }
  return map;
}

// Adds what a block has seen. map[g]: the block's group g.
void MergeDistinct(const KeyTable& from, KeyTable& to, const std::vector<int64_t>& map) {
  BatchArena arena;
  for (int64_t begin = 0; begin < from.size(); begin += kDistinctChunk) {
    const int64_t n = std::min(kDistinctChunk, from.size() - begin);
    arena.Reset();
    const Vector local = from.Key(0, begin, n, arena);
    int64_t* groups = arena.Make<int64_t>(n);
    for (int64_t i = 0; i < n; ++i) groups[i] = map[local.as<int64_t>()[i]];
    std::vector<Vector> keys = {{TypeId::kInt64, groups, nullptr}};
    for (int k = 1; k < from.num_keys(); ++k) keys.push_back(from.Key(k, begin, n, arena));
    to.FindOrAdd(keys, n, arena.Make<int64_t>(n));
  }
}

// Adds the values to their groups, of which there is one where there are no keys.
void AddDistinct(const KeyTable& seen, bool has_keys, Accumulator& accumulator) {
  BatchArena arena;
  for (int64_t begin = 0; begin < seen.size(); begin += kDistinctChunk) {
    const int64_t n = std::min(kDistinctChunk, seen.size() - begin);
    arena.Reset();
    const auto* groups = seen.Key(0, begin, n, arena).as<int64_t>();
    std::vector<Vector> args;
    for (int k = 1; k < seen.num_keys(); ++k)
      args.push_back(WithViews(seen.Key(k, begin, n, arena), n, arena));
    accumulator.Update(args, nullptr, has_keys ? groups : nullptr, n);
  }
}

// Every other row of the first block made a group: what is expected is believed then, up to as many
// blocks as there are at most. Growing by doubling, the groups of h2o q10 at 1e7 rows touch twice
// the memory.
void ReserveGroups(AllGroups& all, double expected_groups, int64_t most_blocks) {
  Groups& groups = *all.groups;
  const auto most = static_cast<double>(groups.size() * most_blocks);
  const auto expected = static_cast<int64_t>(std::min(expected_groups, most));
  const double bytes = static_cast<double>(groups.bytes()) / static_cast<double>(groups.size()) *
                       static_cast<double>(expected);
  if (expected < 2 * groups.size() || 2 * bytes > static_cast<double>(all.budget->available()))
    return;
  groups.keys.Reserve(expected);
  for (auto& accumulator : groups.accumulators) accumulator->Reserve(expected);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedState>> HashAggregate::Open(
    RunState& run, const PipelineOptions& options) const {
  auto all = std::make_unique<AllGroups>(run);
  all->parameters = run.parameters;
  all->options = options;
  return all;
}

std::unique_ptr<LocalState> HashAggregate::MakeBlock(const SharedState& shared) const {
  const auto& all = static_cast<const AllGroups&>(shared);
  auto block = std::make_unique<BlockGroups>(all.budget);
  block->groups = std::make_unique<Groups>(spec_);
  spec_.exprs.Prepare(block->scratch, all.options.batch_rows, all.parameters);
  block->ids.resize(static_cast<size_t>(all.options.batch_rows));
  block->keys.resize(static_cast<size_t>(spec_.num_keys));
  return block;
}

absl::Status HashAggregate::Consume(const Batch& batch, const SharedState&,
                                    LocalState& local) const {
  auto& block = static_cast<BlockGroups&>(local);
  Groups& groups = *block.groups;
  block.arena.Reset();
  ADJOIN_RETURN_IF_ERROR(spec_.exprs.Run(block.scratch, batch.columns, batch.rows));
  block.rows += batch.rows;
  const int64_t* ids = nullptr;
  if (spec_.num_keys > 0) {
    for (int k = 0; k < spec_.num_keys; ++k) block.keys[k] = spec_.exprs.output(block.scratch, k);
    groups.keys.FindOrAdd(block.keys, batch.rows, block.ids.data());
    groups.Resize(groups.keys.size());
    ids = block.ids.data();
  }
  if (spec_.order >= 0) {  // new groups are numbered as they come
    const auto* order = batch.columns[static_cast<size_t>(spec_.order)].as<int64_t>();
    for (int64_t r = 0; r < batch.rows; ++r) {
      if (ids[r] == std::ssize(groups.first_rows)) groups.first_rows.push_back(order[r]);
    }
  }
  for (size_t a = 0; a < spec_.aggregates.size(); ++a) {
    const AggregateSpec& aggregate = spec_.aggregates[a];
    const uint8_t* take =
        TakenRows(spec_.exprs, block.scratch, aggregate.filter, batch.rows, block.arena);
    const AggregateArguments args =
        ArgumentsOf(spec_.exprs, block.scratch, aggregate, batch.rows, block.arena);
    if (aggregate.distinct) {
      NoteDistinct(*groups.distinct[a], args.span(), take, ids, batch.rows, block.arena);
    } else {
      groups.accumulators[a]->Update(args.span(), take, ids, batch.rows);
    }
  }
  return block.charge.GrowTo(groups.bytes());
}

absl::Status HashAggregate::Merge(std::unique_ptr<LocalState> local, SharedState& shared,
                                  bool*) const {
  auto& block = static_cast<BlockGroups&>(*local);
  auto& all = static_cast<AllGroups&>(shared);
  if (all.groups == nullptr) {
    all.groups = std::move(block.groups);
    if (2 * all.groups->size() >= block.rows)
      ReserveGroups(all, spec_.expected_groups, most_blocks());
  } else {
    const std::vector<int64_t> map = MergeGroups(spec_, *block.groups, *all.groups);
    for (size_t a = 0; a < spec_.aggregates.size(); ++a) {
      if (spec_.aggregates[a].distinct)
        MergeDistinct(*block.groups->distinct[a], *all.groups->distinct[a], map);
    }
  }
  if (block.groups == nullptr) block.charge.Release(all.groups->bytes());  // they are all's now
  return all.charge.GrowTo(all.groups->bytes());
}

absl::StatusOr<TableRef> HashAggregate::Finish(SharedState& shared, RunState& run) const {
  auto& all = static_cast<AllGroups&>(shared);
  if (all.groups == nullptr) all.groups = std::make_unique<Groups>(spec_);
  const Groups& groups = *all.groups;
  for (size_t a = 0; a < spec_.aggregates.size(); ++a) {
    if (spec_.aggregates[a].distinct)
      AddDistinct(*groups.distinct[a], spec_.num_keys > 0, *groups.accumulators[a]);
    groups.accumulators[a]->Finish(run.pool);
  }
  ADJOIN_RETURN_IF_ERROR(all.charge.GrowTo(groups.bytes()));
  std::vector<ColumnRef> columns(spec_.schema.fields.size());
  const int64_t chunk_rows = all.options.morsel_rows;
  const auto finish = [&](int64_t c) -> absl::Status {
    ColumnAssembler assembler(spec_.schema.fields[static_cast<size_t>(c)].type);
    for (int64_t begin = 0; begin < groups.size(); begin += chunk_rows) {
      const int64_t n = std::min(chunk_rows, groups.size() - begin);
      BatchArena arena;
      Vector values;
      if (c < spec_.num_keys) {
        values = groups.keys.Key(static_cast<int>(c), begin, n, arena);
      } else {
        ADJOIN_ASSIGN_OR_RETURN(
            values,
            groups.accumulators[static_cast<size_t>(c) - spec_.num_keys]->Result(begin, n, arena));
      }
      ColumnChunk chunk(values.type);
      chunk.Append(values, n);
      assembler.Add(std::move(chunk));
    }
    ADJOIN_ASSIGN_OR_RETURN(columns[static_cast<size_t>(c)], assembler.Finish(run.budget));
    return absl::OkStatus();
  };
  TaskPool* pool = groups.size() > chunk_rows ? run.pool : nullptr;  // a task is worth a chunk
  ADJOIN_RETURN_IF_ERROR(ForEachBlock(pool, std::ssize(columns), finish));
  Schema schema = spec_.schema;
  if (spec_.order >= 0) {
    schema.fields.push_back({"order", TypeId::kInt64});
    const Vector first_rows{TypeId::kInt64, groups.first_rows.data(), nullptr};
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column,
                            MakeColumn(first_rows, std::ssize(groups.first_rows), run.budget));
    columns.push_back(std::move(column));
  }
  return Table::MakeUnchecked(std::move(schema), std::move(columns), groups.size());
}

bool HashAggregate::CanSpill() const {
  return spec_.num_keys > 0 || std::any_of(spec_.aggregates.begin(), spec_.aggregates.end(),
                                           [](const auto& a) { return a.keeps_values(); });
}

std::string HashAggregate::Describe() const {
  return absl::StrCat("aggregate ", spec_.aggregates.size(), " by ", spec_.num_keys, " keys");
}

}  // namespace adjoin
