#include "ops/groups.h"

#include <algorithm>

#include "ops/batch.h"

namespace adjoin {
namespace {

std::vector<TypeId> KeyTypes(const HashAggregateSpec& spec) {
  std::vector<TypeId> types;
  for (int k = 0; k < spec.num_keys; ++k) types.push_back(spec.exprs.output_type(k));
  return types;
}

std::unique_ptr<KeyTable> MakeSeen(const HashAggregateSpec& spec, const AggregateSpec& aggregate) {
  std::vector<TypeId> types = aggregate.ArgumentTypes(spec.exprs);
  types.insert(types.begin(), TypeId::kInt64);
  auto seen = std::make_unique<KeyTable>(types);
  seen->BorrowCodes();
  return seen;
}

// Notes which values of which groups there are, where the first is not NULL and `take` says so.
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

// Adds what others have seen. map[g]: their group g.
void MergeDistinct(const KeyTable& from, KeyTable& to, const int64_t* map) {
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

}  // namespace

GroupValues::GroupValues(const HashAggregateSpec& spec, bool in_sequence,
                         std::pmr::memory_resource* memory)
    : spec_(spec) {
  for (const AggregateSpec& aggregate : spec.aggregates) {
    const TypeId arg = aggregate.arg < 0 ? TypeId::kInt64 : spec.exprs.output_type(aggregate.arg);
    accumulators_.push_back(MakeAccumulator(aggregate.kind, arg, aggregate.result,
                                            aggregate.second < 0 ? 1 : 2, in_sequence, memory));
    distinct_.push_back(aggregate.distinct ? MakeSeen(spec, aggregate) : nullptr);
  }
}

void GroupValues::Resize(int64_t groups) {
  for (auto& accumulator : accumulators_) accumulator->Resize(groups);
}

void GroupValues::Reserve(int64_t groups) {
  for (auto& accumulator : accumulators_) accumulator->Reserve(groups);
}

void GroupValues::Add(std::span<const Vector> outputs, const int64_t* groups, int64_t n,
                      BatchArena& arena) {
  for (size_t a = 0; a < spec_.aggregates.size(); ++a) {
    const AggregateSpec& aggregate = spec_.aggregates[a];
    const uint8_t* take = TakenRows(outputs, aggregate.filter, n, arena);
    const AggregateArguments args = ArgumentsOf(outputs, aggregate, n, arena);
    if (distinct_[a] != nullptr) {
      NoteDistinct(*distinct_[a], args.span(), take, groups, n, arena);
    } else {
      accumulators_[a]->Update(args.span(), take, groups, n);
    }
  }
}

void GroupValues::Merge(const GroupValues& other, const int32_t* from, const int64_t* to,
                        int64_t n) {
  for (size_t a = 0; a < accumulators_.size(); ++a) {
    if (distinct_[a] != nullptr) {
      MergeDistinct(*other.distinct_[a], *distinct_[a], to);
    } else {
      accumulators_[a]->Merge(*other.accumulators_[a], from, to, n);
    }
  }
}

void GroupValues::Finish(TaskPool* pool) {
  for (size_t a = 0; a < accumulators_.size(); ++a) {
    if (distinct_[a] != nullptr) AddDistinct(*distinct_[a], spec_.num_keys > 0, *accumulators_[a]);
    accumulators_[a]->Finish(pool);
  }
}

absl::StatusOr<Vector> GroupValues::Result(size_t aggregate, int64_t begin, int64_t n,
                                           BatchArena& arena) const {
  return accumulators_[aggregate]->Result(begin, n, arena);
}

int64_t GroupValues::bytes() const {
  int64_t total = 0;
  for (const auto& accumulator : accumulators_) total += accumulator->bytes();
  for (const auto& seen : distinct_) total += seen == nullptr ? 0 : seen->bytes();
  return total;
}

Groups::Groups(const HashAggregateSpec& spec, bool ordered, std::pmr::memory_resource* memory)
    : spec_(spec), ordered_(ordered), keys_(KeyTypes(spec)), values_(spec, ordered, memory) {
  keys_.BorrowCodes();
  values_.Resize(size());
}

// New groups are numbered as they come.
void Groups::NoteFirstRows(const int64_t* order) {
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i] == std::ssize(first_rows_)) first_rows_.push_back(order[i]);
  }
}

std::span<const int64_t> Groups::Find(std::span<const Vector> keys, const int64_t* order,
                                      int64_t n) {
  ids_.resize(static_cast<size_t>(n));
  keys_.FindOrAdd(keys, n, ids_.data());
  if (ordered_) NoteFirstRows(order);
  values_.Resize(size());
  return ids_;
}

void Groups::Add(std::span<const Vector> outputs, const int64_t* order, int64_t n,
                 BatchArena& arena) {
  const auto num_keys = static_cast<size_t>(spec_.num_keys);
  const int64_t* ids = num_keys == 0 ? nullptr : Find(outputs.first(num_keys), order, n).data();
  values_.Add(outputs, ids, n, arena);
}

void Groups::Merge(const Groups& from) {
  ids_ = spec_.num_keys > 0 ? keys_.AddAll(from.keys_) : LargeVector<int64_t>{0};
  if (ordered_) NoteFirstRows(from.first_rows_.data());
  values_.Resize(size());
  values_.Merge(from.values_, nullptr, ids_.data(), from.size());
}

void Groups::Reserve(int64_t groups) {
  keys_.Reserve(groups);
  if (ordered_) first_rows_.reserve(static_cast<size_t>(groups));
  values_.Reserve(groups);
}

void Groups::Finish(TaskPool* pool) {
  keys_.Close();
  values_.Finish(pool);
}

int64_t Groups::bytes() const {
  return keys_.bytes() + 8 * std::ssize(first_rows_) + values_.bytes();
}

std::vector<Vector> Groups::Keys(BatchArena& arena) const {
  std::vector<Vector> keys;
  for (int k = 0; k < spec_.num_keys; ++k) keys.push_back(keys_.Key(k, 0, size(), arena));
  return keys;
}

absl::StatusOr<Vector> Groups::Column(int column, int64_t begin, int64_t n,
                                      BatchArena& arena) const {
  if (column < spec_.num_keys) return keys_.Key(column, begin, n, arena);
  return values_.Result(static_cast<size_t>(column - spec_.num_keys), begin, n, arena);
}

std::shared_ptr<const Dictionary> Groups::DictionaryOf(int column) const {
  return column < spec_.num_keys ? keys_.BorrowedDictionary(column) : nullptr;
}

}  // namespace adjoin
