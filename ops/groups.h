// Groups of rows and the running values of their aggregates: of a block, of a part of the keys or
// of all.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/large_vector.h"
#include "engine/table.h"
#include "ops/accumulator.h"
#include "ops/aggregate_arguments.h"
#include "ops/expression.h"
#include "ops/key_table.h"

namespace adjoin {

// Values of DISTINCT that are added at once, which decides the bits of float sums.
inline constexpr int64_t kDistinctChunk = 4096;

struct HashAggregateSpec {
  CompiledExpr exprs;  // over batch columns: the keys, then what the aggregates read
  int num_keys = 0;
  std::vector<AggregateSpec> aggregates;
  Schema schema;   // of the result: keys, then aggregates
  int order = -1;  // the batch column that says where a row is among all; -1: none
  double expected_groups = 0;
  // Rows of a block that tell whether the rest are kept as rows: nine of ten of the second half
  // made a group. Uniform keys do so from about ten times as many groups on; a block then has
  // nearly as many groups as rows, and a table of its own is work for nothing.
  int64_t sample_rows = 65536;
};

// The values of groups. Not thread-safe but for reading.
class GroupValues {
 public:
  // `in_sequence`: float sums are; `memory` may be null (MakeAccumulator, both).
  GroupValues(const HashAggregateSpec& spec, bool in_sequence,
              std::pmr::memory_resource* memory = nullptr);
  void Resize(int64_t groups);
  void Reserve(int64_t groups);
  // Adds rows: `outputs` of the spec's expressions, `groups` theirs; null: of group 0.
  void Add(std::span<const Vector> outputs, const int64_t* groups, int64_t n, BatchArena& arena);
  // Adds what Accumulator::Merge says of all aggregates. REQUIRES, where `from` is given: nothing
  // is DISTINCT.
  void Merge(const GroupValues& other, const int32_t* from, const int64_t* to, int64_t n);
  // To be called once, before Result: what needs all of a group's values.
  void Finish(TaskPool* pool);
  absl::StatusOr<Vector> Result(size_t aggregate, int64_t begin, int64_t n,
                                BatchArena& arena) const;
  int64_t bytes() const;  // of memory

 private:
  const HashAggregateSpec& spec_;
  std::vector<std::unique_ptr<Accumulator>> accumulators_;
  std::vector<std::unique_ptr<KeyTable>> distinct_;  // (group, values) seen, by aggregate
};

// Groups, numbered as they come, and their values. Not thread-safe but for reading.
class Groups {
 public:
  // `ordered`: rows come with their order among all, groups remember that of their first row, and
  // float sums are added in sequence. `memory`: the values', may be null.
  Groups(const HashAggregateSpec& spec, bool ordered, std::pmr::memory_resource* memory = nullptr);

  // The groups of rows, until the next call. `order` is read where groups are ordered. REQUIRES:
  // there are keys.
  std::span<const int64_t> Find(std::span<const Vector> keys, const int64_t* order, int64_t n);
  // Adds rows: `outputs` of the spec's expressions.
  void Add(std::span<const Vector> outputs, const int64_t* order, int64_t n, BatchArena& arena);
  // Adds the groups and values of others, of later rows.
  void Merge(const Groups& from);
  // Takes the memory of `groups` at once.
  void Reserve(int64_t groups);
  // To be called once, before Column; nothing is added any more.
  void Finish(TaskPool* pool);

  int64_t size() const { return spec_.num_keys == 0 ? 1 : keys_.size(); }
  int64_t bytes() const;  // of memory
  // By group, where they are ordered.
  const std::vector<int64_t>& first_rows() const { return first_rows_; }
  GroupValues& values() { return values_; }
  const GroupValues& values() const { return values_; }
  // The keys of all groups.
  std::vector<Vector> Keys(BatchArena& arena) const;
  // A result column of groups [begin, begin + n). Errors: those of Accumulator::Result.
  absl::StatusOr<Vector> Column(int column, int64_t begin, int64_t n, BatchArena& arena) const;
  // What a column's values are codes of; null where there is no such dictionary.
  std::shared_ptr<const Dictionary> DictionaryOf(int column) const;

 private:
  void NoteFirstRows(const int64_t* order);
  const HashAggregateSpec& spec_;
  const bool ordered_;
  KeyTable keys_;
  std::vector<int64_t> first_rows_;
  GroupValues values_;
  LargeVector<int64_t> ids_;  // of the rows or groups that were found last
};

}  // namespace adjoin
