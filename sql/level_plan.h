// The plan of one level while it grows: FROM and WHERE, subqueries joined in, groups, windows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "sql/bind_from.h"
#include "sql/bind_groups.h"
#include "sql/bind_state.h"
#include "sql/bind_subquery.h"

namespace adjoin {

class LevelPlan {
 public:
  LevelPlan(BindState& state, Level& level) : state_(state), level_(level) {}

  // Binds FROM with the gradients that `expressions` (parts of the tree) call for; level.names is
  // set from then on.
  absl::Status BindFromClause(const Json& list, const TargetTable* target,
                              const std::vector<const Json*>& expressions);
  // A FROM clause that is bound already, by the names that the level has.
  void SetFrom(FromItem from) { from_ = std::move(from); }
  // Binds WHERE; its parts wait for Build. Null: none.
  absl::Status BindWhere(const Json& where);
  // Plans FROM and WHERE.
  absl::Status Build();

  // An expression of the level over node(): joins in the subqueries it reads. After GroupBy,
  // columns that are no group key are an error 42803.
  absl::StatusOr<ExprRef> Place(const ExprRef& expr);
  // Groups by the clause's sets, with the level's aggregates; `used` is every expression that will
  // be placed above the groups. Where there is but one set, a column of a table whose primary key
  // is grouped by joins the keys. A key that a set lacks is NULL.
  absl::Status GroupBy(GroupClause clause, const std::vector<ExprRef>& used);
  // Adds the level's window calls.
  absl::Status AddWindows();
  absl::Status AddFilter(const ExprRef& condition);

  const NodeRef& node() const { return node_; }

 private:
  absl::StatusOr<ExprRef> Map(const ExprRef& expr, bool of_subquery);
  absl::StatusOr<ExprRef> MapShared(const ExprRef& expr, bool of_subquery,
                                    absl::flat_hash_map<const Expr*, ExprRef>& memo);
  absl::StatusOr<ExprRef> MapLeaf(const ExprRef& leaf, bool of_subquery);
  void FindPlaceholders(const ExprRef& expr, absl::flat_hash_set<const Expr*>& seen,
                        std::vector<int>& found) const;
  absl::Status AttachSubqueries(const ExprRef& expr);
  absl::Status AttachOuters(const NodeRef& plan);
  absl::Status AttachOuters(const ExprRef& condition);
  absl::Status AddWindows(const std::vector<WindowUse>& uses, const std::vector<ExprRef>& within);
  // level_groups.cc
  struct OrderedAggregates;
  absl::StatusOr<std::vector<OrderedAggregates>> PlaceAggregates();
  // `keys`: by number, over node().
  NodeRef MakeGroups(const std::vector<OrderedAggregates>& parts, const std::vector<ExprRef>& keys,
                     const std::vector<int>& set) const;
  absl::StatusOr<int> GroupingBits(const GroupingCall& call, const std::vector<int>& set) const;
  absl::Status AddGroupWindows(const std::vector<ExprRef>& keys,
                               const std::vector<std::vector<int>>& sets);
  absl::Status CollectAllKeys(const std::vector<ExprRef>& used);
  absl::Status CollectKeys(const ExprRef& expr, bool of_subquery);
  bool DependsOnKeys(int column) const;
  absl::Status Ungrouped(int column, bool of_subquery) const;
  const RangeVariable* OwnerOf(int column) const;

  BindState& state_;
  Level& level_;
  FromItem from_;
  std::vector<ExprRef> pushable_;  // conjuncts of WHERE that read only this level's columns
  std::vector<ExprRef> late_;      // conjuncts that read subqueries
  std::vector<ExprRef>
      correlated_;  // conjuncts that read outer columns alone or beside the level's own
  std::vector<Membership> memberships_;
  NodeRef node_;
  bool grouped_ = false;
  bool one_set_ = true;
  std::vector<ExprRef> keys_;  // over FROM's columns; the node's leading columns when grouped
  absl::flat_hash_map<int, ExprRef> values_;  // placeholder -> over node_
};

}  // namespace adjoin
