#include "plan/rules/join_run.h"

#include <algorithm>

#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// Longer runs are ordered in pieces: ten relations are 59,049 pairs of subsets, 1 ms.
constexpr size_t kMostRelations = 10;

bool IsFilterJoin(const Join& join) {
  return join.kind == JoinKind::kSemi || join.kind == JoinKind::kAnti ||
         join.kind == JoinKind::kNullAwareAnti;
}

// Whether a run can have the node as one of its joins.
bool IsJoinOfRun(const Node& node) {
  const auto* join = std::get_if<Join>(&node.op);
  if (join == nullptr || (join->kind != JoinKind::kInner && !IsFilterJoin(*join))) return false;
  return std::none_of(join->keys.begin(), join->keys.end(),
                      [](const JoinKey& key) { return key.null_safe; });
}

bool PicksColumns(const Project& project) {
  return std::all_of(project.exprs.begin(), project.exprs.end(),
                     [](const ExprRef& e) { return e->kind == ExprKind::kColumn; });
}

class Taker {
 public:
  Taker(const absl::flat_hash_map<const Node*, int>& readers,
        absl::flat_hash_set<const Node*>& taken)
      : readers_(readers), taken_(taken) {}

  // Nothing where the node begins no run of two relations or more.
  std::optional<JoinRun> Take(const NodeRef& top) {
    if (!IsJoinOfRun(*top)) return std::nullopt;
    run_.output = Columns(top, /*is_top=*/true).first;
    if (run_.relations.size() < 2) return std::nullopt;
    taken_.insert(parts_.begin(), parts_.end());
    return std::move(run_);
  }

 private:
  static constexpr int kMostDepth = 64;  // of filters and the like above each other
  struct Depth {
    explicit Depth(int& depth) : of(depth) { ++of; }
    ~Depth() { --of; }
    int& of;
  };

  // The run's columns that are the node's, and which relations are below it.
  std::pair<std::vector<int>, RelationSet> Columns(const NodeRef& node, bool is_top) {
    const bool alone = is_top || readers_.at(node.get()) == 1;
    const bool room = run_.relations.size() + siblings_ + 2 <= kMostRelations;
    const Depth depth(depth_);
    if (alone && room && depth_ <= kMostDepth) {
      if (const auto* filter = std::get_if<Filter>(&node->op);
          filter != nullptr && OverJoin(node)) {
        auto below = Columns(node->inputs[0], false);
        AddCondition(OverColumns(filter->predicate, below.first));
        return below;
      }
      if (const auto* project = std::get_if<Project>(&node->op);
          project != nullptr && PicksColumns(*project) && OverJoin(node)) {
        const auto [columns, set] = Columns(node->inputs[0], false);
        std::vector<int> picked;
        picked.reserve(project->exprs.size());
        for (const ExprRef& e : project->exprs)
          picked.push_back(columns[static_cast<size_t>(e->index)]);
        return {std::move(picked), set};
      }
      if (IsJoinOfRun(*node)) {
        parts_.push_back(node.get());
        const auto& join = std::get<Join>(node->op);
        return IsFilterJoin(join) ? OfFilterJoin(node, join) : OfInnerJoin(node, join);
      }
    }
    std::vector<int> columns;
    for (int c = 0; c < node->width(); ++c) columns.push_back(run_.width + c);
    run_.relations.push_back({node, run_.width});
    run_.width += node->width();
    return {std::move(columns), RelationSet{1} << (run_.relations.size() - 1)};
  }

  void AddCondition(const ExprRef& predicate) {
    for (const ExprRef& c : Conjuncts(predicate)) run_.conditions.push_back({c, run_.Reads(c)});
  }

  // Whether a join that can be a part is below, through what is taken along.
  bool OverJoin(const NodeRef& node) const {
    const Node* at = node->inputs[0].get();
    while (readers_.at(at) == 1 && !IsJoinOfRun(*at)) {
      const auto* project = std::get_if<Project>(&at->op);
      const bool passes =
          std::holds_alternative<Filter>(at->op) || (project != nullptr && PicksColumns(*project));
      if (!passes) return false;
      at = at->inputs[0].get();
    }
    return readers_.at(at) == 1 && IsJoinOfRun(*at);
  }

  std::pair<std::vector<int>, RelationSet> OfFilterJoin(const NodeRef& node, const Join& join) {
    auto below = Columns(node->inputs[0], false);
    const std::vector<int>& columns = below.first;
    JoinRun::FilterJoin filter{join, node->inputs[1], 0};
    const auto note = [&](const ExprRef& e) { filter.reads |= run_.Reads(e); };
    for (JoinKey& key : filter.join.keys) note(key.left = OverColumns(key.left, columns));
    if (join.residual != nullptr) {
      const int width = node->inputs[0]->width();
      for (int c : ColumnsOf(join.residual)) {
        if (c < width) filter.reads |= run_.RelationOf(columns[static_cast<size_t>(c)]);
      }
      filter.join.residual = MapColumns(join.residual, [&](const Expr& c) {
        return ColumnExpr(
            c.index < width ? columns[static_cast<size_t>(c.index)] : kRight + c.index - width,
            c.type);
      });
    }
    run_.filters.push_back(std::move(filter));
    return below;
  }

  std::pair<std::vector<int>, RelationSet> OfInnerJoin(const NodeRef& node, const Join& join) {
    ++siblings_;
    auto [columns, left] = Columns(node->inputs[0], false);
    --siblings_;
    const auto [more, right] = Columns(node->inputs[1], false);
    run_.joins.emplace_back(left, right);
    const size_t width = columns.size();
    columns.insert(columns.end(), more.begin(), more.end());
    for (const JoinKey& key : join.keys) {
      const ExprRef a = OverColumns(key.left, columns);
      const ExprRef b = OverColumns(ShiftColumns(key.right, static_cast<int>(width)), columns);
      AddCondition(CallNamed("=", {a, b}, TypeId::kBool));
    }
    if (join.residual != nullptr) AddCondition(OverColumns(join.residual, columns));
    return {std::move(columns), left | right};
  }

  const absl::flat_hash_map<const Node*, int>& readers_;
  absl::flat_hash_set<const Node*>& taken_;
  std::vector<const Node*> parts_;
  size_t siblings_ = 0;  // relations at least that joins under way have yet to come to
  int depth_ = 0;
  JoinRun run_;
};

}  // namespace

RelationSet JoinRun::RelationOf(int column) const {
  size_t r = relations.size() - 1;
  while (relations[r].begin > column) --r;
  return RelationSet{1} << r;
}

RelationSet JoinRun::Reads(const ExprRef& expr) const {
  RelationSet set = 0;
  for (int c : ColumnsOf(expr)) set |= RelationOf(c);
  return set;
}

ExprRef OverColumns(const ExprRef& expr, const std::vector<int>& columns) {
  return MapColumns(expr, [&](const Expr& c) {
    return ColumnExpr(columns[static_cast<size_t>(c.index)], c.type);
  });
}

std::optional<JoinRun> TakeJoinRun(const NodeRef& top,
                                   const absl::flat_hash_map<const Node*, int>& readers,
                                   absl::flat_hash_set<const Node*>& taken) {
  return Taker(readers, taken).Take(top);
}

}  // namespace adjoin
