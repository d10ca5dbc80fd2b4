// The joins of one FROM clause, before their conditions have found their places.
#pragma once

#include <memory>
#include <vector>

#include "plan/node.h"

namespace adjoin {

// A relation, or a join of two trees. Columns: left's, then right's.
struct JoinTree {
  NodeRef leaf;                      // null: a join
  JoinKind kind = JoinKind::kInner;  // kInner, kLeft or kFull
  std::unique_ptr<JoinTree> left, right;
  std::vector<ExprRef> conditions;  // of ON, over this tree's columns
  int width = 0;
};

std::unique_ptr<JoinTree> MakeLeaf(NodeRef leaf);
std::unique_ptr<JoinTree> MakeJoin(JoinKind kind, std::unique_ptr<JoinTree> left,
                                   std::unique_ptr<JoinTree> right);

// The plan of the tree with `conjuncts` (of WHERE, over the tree's columns) applied, its columns in
// the tree's order. Each condition goes as low as outer joins allow; equalities of two sides become
// join keys. Inner joins are taken in the order of the text, except that a relation which an
// equality connects comes before one that none does.
NodeRef BuildJoins(Planner& planner, const JoinTree& tree, const std::vector<ExprRef>& conjuncts);

}  // namespace adjoin
