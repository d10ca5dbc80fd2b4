// Aggregate functions, a value a group.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>

#include "absl/status/statusor.h"
#include "engine/task_pool.h"
#include "ops/arena.h"
#include "ops/functions.h"
#include "ops/vector.h"

namespace adjoin {

// The running values of one aggregate for groups 0, 1, ... Sums of integers and NUMERIC are exact;
// sums of REAL run in double. Rows are added in row order and partial results in the order of
// Merge, which decides the bits of float sums.
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  // Makes room for groups up to `groups`; new ones hold nothing.
  virtual void Resize(int64_t groups) = 0;
  // Takes the memory of so many groups at once.
  virtual void Reserve(int64_t) {}
  // Adds row r to group groups[r] (null: to group 0) where take[r] != 0 (null: everywhere) and the
  // argument is not NULL. `args`: none for COUNT(*), two for kStringAgg and percentiles, two for
  // kComoment or, where they are the same, one.
  virtual void Update(std::span<const Vector> args, const uint8_t* take, const int64_t* groups,
                      int64_t n) = 0;
  // Adds group from[i] (null: i) of `other`, an accumulator of the same kind, to group to[i] (null:
  // i), for i < n. Where `from` is null, n is how many groups that has.
  virtual void Merge(const Accumulator& other, const int32_t* from, const int64_t* to,
                     int64_t n) = 0;
  // To be called once, after the last of these and before Result: computes what needs all of a
  // group's values at once, on the pool where there is one.
  virtual void Finish(TaskPool*) {}
  // Results of groups [begin, begin + n) in memory of `arena` or of this. Errors: 22003 "bigint out
  // of range", "value overflows numeric format".
  virtual absl::StatusOr<Vector> Result(int64_t begin, int64_t n, BatchArena& arena) const = 0;
  virtual int64_t bytes() const = 0;  // of memory, without what `memory` was asked for
};

// `arg` is ignored for kCountStar. `num_args`: of kComoment. `in_sequence`: float sums of a group
// follow from its own rows alone, one after another; else, where groups are few, also from where
// the rows are among others, as several are added at once. `memory`: for the values of
// percentiles and the texts of STRING_AGG, which are as many as rows; null: any.
std::unique_ptr<Accumulator> MakeAccumulator(AggregateKind kind, TypeId arg, TypeId result,
                                             int num_args = 2, bool in_sequence = false,
                                             std::pmr::memory_resource* memory = nullptr);

// SQL's order of one type: NaN above every number.
template <typename T>
bool SqlLess(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  return a < b;
}

}  // namespace adjoin
