// One backward pass over a plan.
//
// The cotangent of a relation is a *base*: a relation with one row for each row of it (or of some
// of them, carrying their row ids), its columns, and expressions dy over those columns. So an
// operator that keeps rows hands its base down without a join; one that drops, copies or groups
// rows carries row ids, and its input collects by them. No contribution is NULL or an absent row,
// never a zero that could meet an infinity.
#pragma once

#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "ad/activity.h"
#include "ad/chain_rule.h"
#include "plan/node.h"

namespace adjoin {

// What one reader passes to a relation: `cotangents` by the relation's column, over the columns of
// `base`. The base starts with the relation's view (see Reverse::ViewOf); `key` is the base's
// column that holds the relation's row ids, or -1 where base and relation have the same rows in the
// same order.
struct Contribution {
  NodeRef base;
  int key = -1;
  ColumnCotangents cotangents;
};

// A relation as its readers see it in the backward pass: at least its columns, at `columns[i]` of
// `node`, and its row id at `rowid` (-1: none).
struct RowView {
  NodeRef node;
  std::vector<int> columns;
  int rowid = -1;
};

// A relation's whole cotangent: rows aligned with the relation's own augmented form.
struct Cotangent {
  NodeRef base;
  ColumnCotangents cotangents;
};

class Reverse {
 public:
  // `wrt`: the columns to differentiate by, of nodes that `function` reads; `with_rowid`: those
  // whose result must be joined by RowId(node).
  Reverse(Planner& planner, NodeRef function,
          absl::flat_hash_map<const Node*, std::vector<int>> wrt,
          absl::flat_hash_set<const Node*> with_rowid);

  // Runs the pass. `cotangent` null: the function is one row and column, and gets 1.
  absl::Status Run(const NodeRef& cotangent);

  // node's columns (then its row id where asked for), then d/d(column) for each of `columns`, in
  // node's row order.
  NodeRef Gradient(const NodeRef& node, const std::vector<int>& columns, bool rowid);

 private:
  friend struct Transposer;

  const ColumnActivity& ActivityOf(const NodeRef& node) const {
    return activity_.find(node.get())->second;
  }
  bool IsActive(const NodeRef& node) const;
  // The form of `node` that its own transpose works on: its columns at aug.columns, whatever else
  // it carries. REQUIRES: its active inputs' have been asked for.
  const RowView& Augmented(const NodeRef& node);
  RowView MakeAugmented(const NodeRef& node);
  // What readers of `node` read: the augmented form itself, or only its columns and row id where it
  // has several readers.
  RowView ViewOf(const NodeRef& node);
  bool NeedsRowId(const NodeRef& node) const { return needs_rowid_.contains(node.get()); }
  ExprRef Remap(const ExprRef& expr, const RowView& view) const;
  std::vector<ExprRef> Remap(const std::vector<ExprRef>& exprs, const RowView& view) const;
  // Activity of a view's columns: those of the node, the rest inactive.
  ColumnActivity ViewActivity(const NodeRef& node, const RowView& view) const;
  void Contribute(const NodeRef& node, Contribution contribution);
  Cotangent Gather(const NodeRef& node);
  absl::Status Seed(const NodeRef& cotangent);
  void FindRowIdNodes();

  Planner& planner_;
  NodeRef function_;
  absl::flat_hash_map<const Node*, std::vector<int>> wrt_;
  absl::flat_hash_set<const Node*> with_rowid_;
  std::vector<NodeRef> order_;
  absl::flat_hash_map<const Node*, ColumnActivity> activity_;
  absl::flat_hash_set<const Node*> needs_rowid_;
  absl::flat_hash_map<const Node*, RowView> augmented_;
  absl::flat_hash_map<const Node*, std::vector<Contribution>> contributions_;
  absl::flat_hash_map<const Node*, Cotangent> gathered_;
};

// Passes the cotangent of `node` to its active inputs. One overload an operator, in
// transpose_<operator>.cc.
struct Transposer {
  Reverse& reverse;
  const NodeRef& node;
  const Cotangent& ct;

  absl::Status operator()(const Scan&) { return absl::OkStatus(); }
  absl::Status operator()(const Values&) { return absl::OkStatus(); }
  absl::Status operator()(const Series&) { return absl::OkStatus(); }
  absl::Status operator()(const Derivative&) { return absl::OkStatus(); }
  // Made when derivatives have been taken.
  absl::Status operator()(const SparseProduct&) { return absl::OkStatus(); }
  absl::Status operator()(const SampledProduct&) { return absl::OkStatus(); }
  absl::Status operator()(const Recursion&) {
    return absl::OkStatus();
  }  // a blocker in activity.cc
  absl::Status operator()(const RecursionInput&) { return absl::OkStatus(); }
  absl::Status operator()(
      const Filter&);  // transpose_rows.cc: operators that keep some or all rows
  absl::Status operator()(const Sort&);
  absl::Status operator()(const Limit&);
  absl::Status operator()(const RowId&);
  absl::Status operator()(const Require&);
  absl::Status operator()(const Project&);
  absl::Status operator()(const Join&);  // transpose_join.cc
  absl::Status operator()(const Lookup&);
  absl::Status operator()(const Collect&);
  absl::Status operator()(const UnionAll&);
  absl::Status operator()(const GroupBy&);      // transpose_group_by.cc
  absl::Status operator()(const Window&);       // transpose_window.cc
  absl::Status operator()(const Contraction&);  // transpose_contraction.cc

 private:
  const NodeRef& input(int i) const { return node->inputs[static_cast<size_t>(i)]; }
  Planner& planner() const { return reverse.planner_; }
  // Hands the cotangents of the columns that are input `i`'s to it; the view of the input starts at
  // `offset` of base.
  void PassColumns(int i, int first_column, int offset, bool aligned);
  // Hands cotangents by the view's columns to input `i`, whose rows `base` has, the view's columns
  // first.
  void ContributeByView(int i, const RowView& view, const NodeRef& base,
                        const ColumnCotangents& by_view);
};

// The base's columns that `exprs` are over, then `exprs`: gives the index of each new column.
NodeRef Extend(Planner& planner, const NodeRef& base, const std::vector<ExprRef>& exprs);
ExprRef BaseColumn(const NodeRef& base, int column);
ExprRef IsNotNull(const ExprRef& e);
ExprRef WhenTrue(const ExprRef& condition,
                 const ExprRef& value);  // NULL otherwise; condition null: value

}  // namespace adjoin
