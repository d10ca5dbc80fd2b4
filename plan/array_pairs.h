// The rule of symmetric pairs. A list that has (a, b) and (b, a), and joins a relation by both of
// its columns,
//
//   SELECT n.a, SUM(exp(-(u.x - v.x) * (u.x - v.x)) * v.s)
//   FROM near n JOIN particle u ON u.i = n.a JOIN particle v ON v.i = n.b GROUP BY n.a
//
// is gone through a pair at a time instead of a row: one of the two rows is computed, and what the
// other has, with the sides exchanged, is added to b. What is the same for both (exp), up to its
// sign (u.x - v.x) or up to which axis is which (a matrix of two groups of rows and the transposed
// one), is computed once; the rest (v.s) for each.
//
// It rewrites array programs, after derivatives have been taken: the backward pass' sums over the
// list are sums like any others, by either column. Symmetry is looked up in the data, once a
// version of the two columns (pair_list.h); a guard keeps it.
//
// Where the list is in the order of its pairs (a, b) every sum adds the same numbers in the same
// order as without the rule, and has the same bits. Elsewhere, and where maps or reductions read a
// matrix with its axes exchanged, sums of n numbers may differ by n * 2^-52 of the sum of their
// absolute values (2^-23 in REAL): for `force` alone.
//
// It leaves lists alone of which something is read row by row, or summed over as a whole (the
// gradient by a bandwidth), and those on Rows: such are not symmetric to it, whatever is declared.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plan/array_rewrites.h"
#include "plan/guard.h"
#include "plan/program.h"

namespace adjoin {

struct PairSources {
  const TablesById& tables;
  std::function<std::string(uint64_t table_id)> name_of;
  std::function<int(Guard)> add_guard;  // -1: it does not hold
  const std::shared_ptr<MemoryBudget>& budget;
  ColumnCache* cache;  // may be null
};

struct SharedPairs {
  std::optional<RewrittenArrays> rewritten;  // none: there is no such list, or it does not pay
  std::vector<RuleReport> reports;
};

// 23514 where options.pairs is kForce and a list that joins a relation by two of its columns
// is not symmetric.
absl::StatusOr<SharedPairs> SharePairs(const ArrayGraph& graph, const std::vector<int>& roots,
                                       const PlanOptions& options, const PairSources& sources);

}  // namespace adjoin
