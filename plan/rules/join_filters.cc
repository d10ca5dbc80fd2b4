// Rows that can meet nothing in a join are dropped where they come from: by semi-joins with
// relations that other joins look into anyway (the semi-join reductions of Bernstein and Chiu 1981,
// as far as they pay). A filter goes from a join's right side into the scan, the join or the
// grouping that its left side reads, or from the left side, or a relation that this was joined with
// before, into the right one.
#include <algorithm>
#include <optional>
#include <utility>

#include "plan/rules.h"

namespace adjoin {
namespace {

// What a row costs, in rows that are looked up in a table or go out: order_joins.cc has the first
// two; a row that is grouped, sorted or windowed costs four and more (h2o q3, windows w2, w5).
constexpr double kBuild = 2, kStore = 1, kProbe = 1, kGroup = 4, kSort = 8, kPass = 0.2;
// Where one key of integers is a bit to look at, several are hashed (TPC-H q09).
constexpr double kTableProbe = 3;

// Less work than this is not worth the statistics and a step.
constexpr double kLeastWork = 20'000;
// Estimates are off by more than this.
constexpr double kLeastGain = 1.25;
// Of nodes above each other that filters go through: plans may be very deep.
constexpr int kMostDepth = 64;

// Distinct columns of the relation that is filtered, and of the one whose rows say what stays.
struct Columns {
  std::vector<int> of, by;
  std::vector<bool> null_safe;
};

// What may filter: columns `of` of the filtered node by columns `by` of `relation`.
struct JoinFilter {
  NodeRef relation;
  Columns columns;
  double cost;  // of making it ready
};

int PlainColumn(const ExprRef& expr) { return expr->kind == ExprKind::kColumn ? expr->index : -1; }

// The input's column that the column of a node with one input is; -1: it is none, or the node is
// none of those that leave values alone.
int ColumnBelow(const Node& node, int column) {
  const auto c = static_cast<size_t>(column);
  if (const auto* project = std::get_if<Project>(&node.op)) return PlainColumn(project->exprs[c]);
  if (const auto* group = std::get_if<GroupBy>(&node.op))
    return c < group->keys.size() ? PlainColumn(group->keys[c]) : -1;
  if (std::holds_alternative<Window>(node.op))
    return column < node.inputs[0]->width() ? column : -1;
  const bool keeps = std::holds_alternative<Filter>(node.op) ||
                     std::holds_alternative<Sort>(node.op) ||
                     std::holds_alternative<Limit>(node.op);
  return keeps ? column : -1;
}

bool Partitions(const Window& window, int column) {
  return std::any_of(window.partition.begin(), window.partition.end(),
                     [&](const ExprRef& key) { return PlainColumn(key) == column; });
}

// An input that a filter of a node can go into, by which of the input's columns, and what a row of
// the input costs in the node alone.
struct Entry {
  size_t input;
  std::vector<int> columns;
  double work;
};

class JoinFilters {
 public:
  JoinFilters(const std::vector<NodeRef>& roots, const std::vector<NodeRef>& order,
              Planner& planner, Cardinality& cardinality, bool force,
              const std::function<bool(const NodeRef&)>& is_fixed)
      : planner_(planner), cardinality_(cardinality), force_(force), is_fixed_(is_fixed) {
    for (const NodeRef& root : roots) ++readers_[root.get()];
    for (const NodeRef& node : order) {
      for (const NodeRef& input : node->inputs) ++readers_[input.get()];
    }
  }

  int added() const { return added_; }

  // `now` stands for `node`: who reads one reads the other.
  void Replaced(const NodeRef& node, const NodeRef& now) {
    if (now != node) readers_[now.get()] = readers_[node.get()];
  }

  // The join with a filter on one of its sides; itself where none pays.
  NodeRef Apply(const NodeRef& node) {
    const auto* join = std::get_if<Join>(&node->op);
    if (join == nullptr || join->keys.empty() || join->kind == JoinKind::kFull ||
        join->kind == JoinKind::kNullAwareAnti) {
      return node;
    }
    const Columns keys = PlainKeys(*join);
    if (keys.of.empty()) return node;
    const NodeRef &left = node->inputs[0], &right = node->inputs[1];
    const double stored = Stored(right) ? 0 : kStore;
    std::optional<NodeRef> made;
    if (made = Best(right, kBuild + stored, BySide(left, keys, Stored(left))); made.has_value())
      return planner_.Make(node->op, {left, *made}, node->names);
    if (join->kind != JoinKind::kInner && join->kind != JoinKind::kSemi) return node;
    const double probe = keys.of.size() > 1 ? kTableProbe : kProbe;
    if (made = Best(left, probe, BySide(right, {keys.by, keys.of, keys.null_safe}, true));
        made.has_value())
      return planner_.Make(node->op, {*made, right}, node->names);
    return node;
  }

 private:
  // Left columns as `by`, right ones as `of`.
  static Columns PlainKeys(const Join& join) {
    Columns keys;
    for (const JoinKey& key : join.keys) {
      const int left = PlainColumn(key.left), right = PlainColumn(key.right);
      if (left < 0 || right < 0) continue;
      keys.of.push_back(right), keys.by.push_back(left);
      keys.null_safe.push_back(key.null_safe);
    }
    return keys;
  }

  // All the columns together, and each by itself.
  static std::vector<Columns> Choices(const Columns& keys) {
    std::vector<Columns> choices;
    if (keys.of.size() > 1) choices.push_back(keys);
    for (size_t k = 0; k < keys.of.size(); ++k)
      choices.push_back({{keys.of[k]}, {keys.by[k]}, {keys.null_safe[k]}});
    return choices;
  }

  // Whether its rows are there as columns without a step.
  static bool Stored(const NodeRef& node) { return std::holds_alternative<Scan>(node->op); }

  // By a side of the join, which is `ready` to be looked into or not, or by a relation that it was
  // joined with.
  std::vector<JoinFilter> BySide(const NodeRef& side, const Columns& keys, bool ready) {
    std::vector<JoinFilter> filters;
    for (size_t k = 0; k < keys.of.size(); ++k) {
      for (auto& [relation, column] : Met(side, keys.by[k])) {
        const double cost = kBuild * cardinality_.Rows(relation);
        filters.push_back({relation, {{keys.of[k]}, {column}, {keys.null_safe[k]}}, cost});
      }
    }
    const double cost = (kBuild + (ready ? 0 : kStore)) * cardinality_.Rows(side);
    for (Columns& c : Choices(keys)) filters.push_back({side, std::move(c), cost});
    return filters;
  }

  using ColumnOf = std::pair<NodeRef, int>;

  // Right sides of joins below that have every value of the node's column, and in which column.
  std::vector<ColumnOf> Met(NodeRef node, int column) const {
    std::vector<ColumnOf> met;
    for (int depth = 0; depth < kMostDepth && column >= 0 && !is_fixed_(node); ++depth) {
      if (node->inputs.empty()) break;
      NodeRef below = node->inputs[0];
      if (const auto* join = std::get_if<Join>(&node->op)) {
        column = MetIn(*node, *join, column, met);
        if (column >= below->width()) {
          column -= below->width();
          below = node->inputs[1];
        }
      } else {
        column = ColumnBelow(*node, column);
      }
      node = std::move(below);
    }
    return met;
  }

  // Adds those of this join; the column where one of its inputs has all values of it, else -1.
  static int MetIn(const Node& node, const Join& join, int column, std::vector<ColumnOf>& met) {
    const int split = node.inputs[0]->width();
    const bool inner = join.kind == JoinKind::kInner;
    for (const JoinKey& key : join.keys) {
      const int right = PlainColumn(key.right);
      if ((inner || join.kind == JoinKind::kSemi) && !key.null_safe && right >= 0 &&
          PlainColumn(key.left) == column) {
        met.emplace_back(node.inputs[1], right);
      }
    }
    if (join.kind == JoinKind::kFull || (column >= split && !inner)) return -1;
    if (column >= split) met.emplace_back(node.inputs[1], column - split);
    return column;
  }

  // `node`, a row of which costs `work` above it, with the filter that saves most on it or below.
  std::optional<NodeRef> Best(const NodeRef& node, double work,
                              const std::vector<JoinFilter>& filters) {
    if (!force_ && cardinality_.Rows(node) * work < kLeastWork && !HasWorkBelow(node))
      return std::nullopt;
    const JoinFilter* best = nullptr;
    double most = 0;
    for (const JoinFilter& filter : filters) {
      double gain = Gain(node, filter.columns.of, work, filter, 0);
      if (!force_)
        gain = gain < std::max(kLeastGain * filter.cost, kLeastWork) ? 0 : gain - filter.cost;
      if (gain > most) most = gain, best = &filter;
    }
    if (best == nullptr) return std::nullopt;
    ++added_;
    return Filtered(node, best->columns.of, work, *best, 0);
  }

  // Whether there is a node below, in reach of a filter, with many rows.
  bool HasWorkBelow(NodeRef node) {
    for (int depth = 0; depth < kMostDepth && node->inputs.size() >= 1; ++depth) {
      for (const NodeRef& input : node->inputs) {
        if (cardinality_.Rows(input) * kProbe >= kLeastWork) return true;
      }
      node = node->inputs[0];
    }
    return false;
  }

  // The share of the node's rows that stay.
  double Share(const NodeRef& node, const std::vector<int>& columns, const JoinFilter& filter) {
    if (force_) return 0;
    double share = 1;
    for (size_t k = 0; k < columns.size(); ++k) {
      const auto distinct = [&](const NodeRef& n, int column) {
        return cardinality_.Distinct(n, ColumnExpr(column, n->types[static_cast<size_t>(column)]));
      };
      const double by = distinct(filter.relation, filter.columns.by[k]);
      share *= std::min(1.0, by / std::max(1.0, distinct(node, columns[k])));
    }
    return share;
  }

  // What a filter on this node saves.
  double GainHere(const NodeRef& node, const std::vector<int>& columns, double work,
                  const JoinFilter& filter) {
    const double rows = cardinality_.Rows(node);
    const double most = rows * (work - kProbe);
    if (most <= 0) return 0;
    const double share = Share(node, columns, filter);
    return most - share * rows * (work + (Stored(node) ? kStore : 0));
  }

  // What the filter saves where it is best, on this node or below it; never less than 0.
  double Gain(const NodeRef& node, const std::vector<int>& columns, double work,
              const JoinFilter& filter, int depth) {
    return std::max(GainHere(node, columns, work, filter),
                    GainBelow(node, columns, work, filter, depth));
  }

  double GainBelow(const NodeRef& node, const std::vector<int>& columns, double work,
                   const JoinFilter& filter, int depth) {
    double gain = 0;
    for (const Entry& e : Entries(node, columns, depth)) {
      const NodeRef& input = node->inputs[e.input];
      gain += Gain(input, e.columns, WorkOf(node, input, e, work), filter, depth + 1);
    }
    return gain;
  }

  // A row of the input costs what it does in the node, and its part of what the node gives.
  double WorkOf(const NodeRef& node, const NodeRef& input, const Entry& e, double work) {
    const double given = cardinality_.Rows(node) / std::max(1.0, cardinality_.Rows(input));
    return e.work + given * work / static_cast<double>(IsUnion(*node) ? node->inputs.size() : 1);
  }
  static bool IsUnion(const Node& node) { return std::holds_alternative<UnionAll>(node.op); }

  NodeRef Filtered(const NodeRef& node, const std::vector<int>& columns, double work,
                   const JoinFilter& filter, int depth) {
    const double here = GainHere(node, columns, work, filter);
    if (here <= 0 || here < GainBelow(node, columns, work, filter, depth)) {
      std::vector<NodeRef> inputs = node->inputs;
      for (const Entry& e : Entries(node, columns, depth)) {
        const NodeRef input = inputs[e.input];
        inputs[e.input] =
            Filtered(input, e.columns, WorkOf(node, input, e, work), filter, depth + 1);
      }
      if (inputs == node->inputs) return node;
      NodeRef made = planner_.Make(node->op, std::move(inputs), node->names);
      readers_[made.get()] = 1;
      return made;
    }
    Join semi{JoinKind::kSemi, {}, nullptr};
    for (size_t k = 0; k < columns.size(); ++k) {
      const auto of = static_cast<size_t>(columns[k]);
      const auto by = static_cast<size_t>(filter.columns.by[k]);
      semi.keys.push_back({ColumnExpr(columns[k], node->types[of]),
                           ColumnExpr(filter.columns.by[k], filter.relation->types[by]),
                           filter.columns.null_safe[k]});
    }
    NodeRef made = planner_.Make(std::move(semi), {node, filter.relation}, node->names);
    ++readers_[made.get()];
    ++readers_[filter.relation.get()];
    return made;
  }

  // Where a filter by these columns of the node can go instead: rows that it drops there are those
  // that it would drop here. None where others read the node, too.
  std::vector<Entry> Entries(const NodeRef& ref, const std::vector<int>& columns, int depth) {
    const Node& node = *ref;
    const auto readers = readers_.find(&node);
    if (depth >= kMostDepth || is_fixed_(ref) || (readers != readers_.end() && readers->second > 1))
      return {};
    if (const auto* join = std::get_if<Join>(&node.op)) return EntriesOfJoin(node, *join, columns);
    std::vector<Entry> entries;
    if (IsUnion(node)) {
      for (size_t i = 0; i < node.inputs.size(); ++i) entries.push_back({i, columns, kPass});
      return entries;
    }
    if (std::holds_alternative<Limit>(node.op)) return {};  // other rows would be the first
    const auto* window = std::get_if<Window>(&node.op);
    Entry below{0, {}, WorkIn(node)};
    for (int c : columns) {
      // Partitions go as a whole.
      below.columns.push_back(window != nullptr && !Partitions(*window, c) ? -1
                                                                           : ColumnBelow(node, c));
      if (below.columns.back() < 0) return {};
    }
    entries.push_back(std::move(below));
    return entries;
  }

  // What a row costs in a node with one input.
  static double WorkIn(const Node& node) {
    if (std::holds_alternative<GroupBy>(node.op)) return kGroup;
    if (std::holds_alternative<Sort>(node.op) || std::holds_alternative<Window>(node.op))
      return kSort;
    return kPass;
  }

  static std::vector<Entry> EntriesOfJoin(const Node& node, const Join& join,
                                          const std::vector<int>& columns) {
    const int split = node.inputs[0]->width();
    if (join.kind == JoinKind::kFull || join.kind == JoinKind::kSingle) return {};
    if (*std::max_element(columns.begin(), columns.end()) < split) return {{0, columns, kProbe}};
    if (join.kind != JoinKind::kInner || *std::min_element(columns.begin(), columns.end()) < split)
      return {};
    Entry right{1, columns, kBuild};
    for (int& c : right.columns) c -= split;
    return {right};
  }

  Planner& planner_;
  Cardinality& cardinality_;
  const bool force_;
  const std::function<bool(const NodeRef&)>& is_fixed_;
  absl::flat_hash_map<const Node*, int> readers_;
  int added_ = 0;
};

}  // namespace

int FilterByJoins(std::vector<NodeRef>& roots, Planner& planner, Cardinality& cardinality,
                  bool force, const std::function<bool(const NodeRef&)>& is_fixed) {
  const std::vector<NodeRef> order = TopologicalOrder(roots);
  JoinFilters filters(roots, order, planner, cardinality, force, is_fixed);
  Replacements rewritten;
  for (const NodeRef& node : order) {
    NodeRef now = OverReplacements(node, rewritten, planner);
    filters.Replaced(node, now);
    if (!is_fixed(node)) {
      NodeRef filtered = filters.Apply(now);
      filters.Replaced(now, filtered);
      now = std::move(filtered);
    }
    rewritten[node.get()] = std::move(now);
  }
  for (NodeRef& root : roots) root = rewritten[root.get()];
  return filters.added();
}

}  // namespace adjoin
