// What aggregates read of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/arena.h"
#include "ops/expression.h"
#include "ops/functions.h"
#include "ops/vector.h"

namespace adjoin {

struct AggregateSpec {
  AggregateKind kind = AggregateKind::kCountStar;
  int arg = -1;     // output of exprs; -1 for COUNT(*)
  int second = -1;  // the second argument, where there is one; of kComoment not that is `arg` too
  int filter = -1;  // output of exprs, a condition; -1: every row
  bool distinct = false;
  TypeId result = TypeId::kInt64;

  // Whether it keeps values rather than a few numbers of them.
  bool keeps_values() const { return distinct || IsPercentile(kind); }
  // Whether what it keeps of one group has no bound.
  bool grows() const { return keeps_values() || kind == AggregateKind::kStringAgg; }
  std::vector<TypeId> ArgumentTypes(const CompiledExpr& exprs) const;
};

// The values of all outputs of the last run.
std::vector<Vector> OutputsOf(const CompiledExpr& exprs, const ExprScratch& scratch);

// Rows of a batch that pass the FILTER; null for all.
const uint8_t* TakenRows(std::span<const Vector> outputs, int filter, int64_t n, BatchArena& arena);

struct AggregateArguments {
  Vector vectors[2];
  size_t count = 0;
  std::span<const Vector> span() const { return {vectors, count}; }
};
AggregateArguments ArgumentsOf(std::span<const Vector> outputs, const AggregateSpec& aggregate,
                               int64_t n, BatchArena& arena);

// The rows where the argument is not NULL and `take` (null: everywhere) says so; returns how many.
int64_t SelectTaken(const Vector& arg, const uint8_t* take, int64_t n, int32_t* rows);

}  // namespace adjoin
