// Runs of inner joins, taken apart into relations and conditions so that they can be joined in
// another order.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "plan/node.h"

namespace adjoin {

using RelationSet = uint32_t;  // of a run's relations

// Where the right's columns of a semi-join's residual stand: past all that a run can have.
inline constexpr int kRight = 1 << 20;

// Inner joins that read each other, taken apart. Columns of the run are those of its relations, one
// relation after the other.
struct JoinRun {
  struct Relation {
    NodeRef node;
    int begin;
  };
  struct Condition {
    ExprRef expr;  // over the run's columns
    RelationSet reads;
  };
  struct FilterJoin {  // keys and residual as in `join`, but the left's columns are the run's
    Join join;
    NodeRef right;
    RelationSet reads;
  };
  std::vector<Relation> relations;
  int width = 0;
  std::vector<Condition> conditions;
  std::vector<FilterJoin> filters;
  std::vector<std::pair<RelationSet, RelationSet>> joins;  // as they are in the plan: left, right
  std::vector<int> output;                                 // of the plan's node: the run's columns

  RelationSet Reads(const ExprRef& expr) const;
  RelationSet RelationOf(int column) const;
};

// `expr` with its column c replaced by columns[c].
ExprRef OverColumns(const ExprRef& expr, const std::vector<int>& columns);

// The run that ends in `top`: inner joins, and the semi- and anti-joins above them, through filters
// and choices of columns, as far as nobody else reads them. Nothing where it has fewer than two
// relations. `readers`: of every node; the joins of the run are added to `taken`.
std::optional<JoinRun> TakeJoinRun(const NodeRef& top,
                                   const absl::flat_hash_map<const Node*, int>& readers,
                                   absl::flat_hash_set<const Node*>& taken);

}  // namespace adjoin
