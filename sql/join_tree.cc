#include "sql/join_tree.h"

#include <algorithm>
#include <utility>

#include "plan/join_condition.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

using Conditions = std::vector<ExprRef>;

bool IsTrue(const ExprRef& e) {
  return e->kind == ExprKind::kConstant && e->constant.is_bool() && e->constant.as_bool();
}

bool Within(const std::vector<int>& columns, int begin, int end) {
  return columns.empty() || (columns.front() >= begin && columns.back() < end);
}

NodeRef AddFilter(Planner& planner, NodeRef node, const Conditions& conditions) {
  return conditions.empty() ? node : planner.Make(Filter{AndAll(conditions)}, {std::move(node)});
}

NodeRef MakeJoinNode(Planner& planner, JoinKind kind, const NodeRef& left, const NodeRef& right,
                     const Conditions& on) {
  JoinCondition split = SplitJoinCondition(on, left->width());
  return planner.Make(Join{kind, std::move(split.keys), split.residual}, {left, right});
}

// One relation of a run of inner joins, and where its columns are in the run.
struct Item {
  const JoinTree* tree;
  int begin;
  Conditions conditions;  // over its own columns
  NodeRef node;
  int end() const { return begin + tree->width; }
};

void Flatten(const JoinTree& tree, int begin, std::vector<Item>& items, Conditions& conditions) {
  if (tree.leaf != nullptr || tree.kind != JoinKind::kInner) {
    items.push_back({&tree, begin, {}, nullptr});
    return;
  }
  Flatten(*tree.left, begin, items, conditions);
  Flatten(*tree.right, begin + tree.left->width, items, conditions);
  for (const ExprRef& c : tree.conditions) conditions.push_back(ShiftColumns(c, begin));
}

// Joins the items of a run one by one.
class InnerRun {
 public:
  InnerRun(Planner& planner, std::vector<Item> items, Conditions conditions, int width)
      : planner_(planner), items_(std::move(items)), conditions_(std::move(conditions)) {
    position_.assign(static_cast<size_t>(width), -1);
  }

  NodeRef Build() {
    Take(0);
    while (!items_.empty()) Take(Next());
    bool in_order = true;
    Project restored;
    for (size_t i = 0; i < position_.size(); ++i) {
      in_order &= position_[i] == static_cast<int>(i);
      restored.exprs.push_back(
          ColumnExpr(position_[i], node_->types[static_cast<size_t>(position_[i])]));
    }
    return in_order ? node_ : planner_.Make(std::move(restored), {node_});
  }

 private:
  bool Joined(const std::vector<int>& columns) const {
    return std::all_of(columns.begin(), columns.end(),
                       [&](int c) { return position_[static_cast<size_t>(c)] >= 0; });
  }

  // The first item that an equality connects with what is joined already, else the first.
  size_t Next() const {
    for (size_t i = 0; i < items_.size(); ++i) {
      for (const ExprRef& c : conditions_) {
        if (Connects(c, items_[i])) return i;
      }
    }
    return 0;
  }
  bool Connects(const ExprRef& c, const Item& item) const {
    if (c->kind != ExprKind::kCall || c->function->name != "=") return false;
    const std::vector<int> a = ColumnsOf(c->args[0]), b = ColumnsOf(c->args[1]);
    if (a.empty() || b.empty()) return false;
    return (Within(a, item.begin, item.end()) && Joined(b)) ||
           (Within(b, item.begin, item.end()) && Joined(a));
  }

  void Take(size_t index) {
    const Item item = std::move(items_[index]);
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(index));
    const int offset = node_ == nullptr ? 0 : node_->width();
    for (int c = item.begin; c < item.end(); ++c)
      position_[static_cast<size_t>(c)] = offset + c - item.begin;
    if (node_ == nullptr) {
      node_ = item.node;
      return;
    }
    Conditions on;
    for (auto it = conditions_.begin(); it != conditions_.end();) {
      if (!Joined(ColumnsOf(*it))) {
        ++it;
        continue;
      }
      on.push_back(MapColumns(*it, [&](const Expr& column) {
        return ColumnExpr(position_[static_cast<size_t>(column.index)], column.type);
      }));
      it = conditions_.erase(it);
    }
    node_ = MakeJoinNode(planner_, JoinKind::kInner, node_, item.node, on);
  }

  Planner& planner_;
  std::vector<Item> items_;
  Conditions conditions_;      // over the run's columns, not applied yet
  std::vector<int> position_;  // of each column of the run in node_; -1: not joined yet
  NodeRef node_;
};

NodeRef BuildInner(Planner& planner, const JoinTree& tree, const Conditions& above) {
  std::vector<Item> items;
  Conditions all = above, between;
  Flatten(tree, 0, items, all);
  for (const ExprRef& c : all) {
    if (IsTrue(c)) continue;
    const std::vector<int> columns = ColumnsOf(c);
    const auto owner = std::find_if(items.begin(), items.end(), [&](const Item& item) {
      return Within(columns, item.begin, item.end());
    });
    if (owner == items.end()) {
      between.push_back(c);
    } else {
      owner->conditions.push_back(ShiftColumns(c, -owner->begin));
    }
  }
  for (Item& item : items) item.node = BuildJoins(planner, *item.tree, item.conditions);
  return InnerRun(planner, std::move(items), std::move(between), tree.width).Build();
}

// A left join: WHERE may go down on the kept side, ON on the other.
NodeRef BuildLeft(Planner& planner, const JoinTree& tree, const Conditions& above) {
  const int left_width = tree.left->width;
  Conditions left, right, on, rest;
  for (const ExprRef& c : above) {
    (Within(ColumnsOf(c), 0, left_width) ? left : rest).push_back(c);
  }
  for (const ExprRef& c : tree.conditions) {
    if (IsTrue(c)) continue;
    if (Within(ColumnsOf(c), left_width, tree.width)) {
      right.push_back(ShiftColumns(c, -left_width));
    } else {
      on.push_back(c);
    }
  }
  const NodeRef a = BuildJoins(planner, *tree.left, left);
  const NodeRef b = BuildJoins(planner, *tree.right, right);
  return AddFilter(planner, MakeJoinNode(planner, JoinKind::kLeft, a, b, on), rest);
}

}  // namespace

std::unique_ptr<JoinTree> MakeLeaf(NodeRef leaf) {
  auto tree = std::make_unique<JoinTree>();
  tree->width = leaf->width();
  tree->leaf = std::move(leaf);
  return tree;
}

std::unique_ptr<JoinTree> MakeJoin(JoinKind kind, std::unique_ptr<JoinTree> left,
                                   std::unique_ptr<JoinTree> right) {
  auto tree = std::make_unique<JoinTree>();
  tree->kind = kind;
  tree->width = left->width + right->width;
  tree->left = std::move(left);
  tree->right = std::move(right);
  return tree;
}

NodeRef BuildJoins(Planner& planner, const JoinTree& tree, const Conditions& conjuncts) {
  if (tree.leaf != nullptr) {
    Conditions kept;
    for (const ExprRef& c : conjuncts) {
      if (!IsTrue(c)) kept.push_back(c);
    }
    return AddFilter(planner, tree.leaf, kept);
  }
  if (tree.kind == JoinKind::kInner) return BuildInner(planner, tree, conjuncts);
  if (tree.kind == JoinKind::kLeft) return BuildLeft(planner, tree, conjuncts);
  const NodeRef a = BuildJoins(planner, *tree.left, {}), b = BuildJoins(planner, *tree.right, {});
  return AddFilter(planner, MakeJoinNode(planner, tree.kind, a, b, tree.conditions), conjuncts);
}

}  // namespace adjoin
