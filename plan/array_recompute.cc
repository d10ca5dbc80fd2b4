// What pairs gather from small arrays is made again for the backward pass, not kept.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "plan/array_rewrites.h"

namespace adjoin {
namespace {

// A gather makes more of less by at least this much.
constexpr int64_t kFewestCopies = 4;

class Recomputer {
 public:
  Recomputer(const ArrayGraph& graph, const std::vector<int>& roots)
      : graph_(graph), reached_(graph.ReachedFrom(roots)), of_(reached_.size()) {
    for (int id = 0; id < graph.size(); ++id) {
      if (IsReached(id)) Describe(id);
    }
  }

  std::vector<int> Axes() const {
    std::vector<int> axes;
    for (const Properties& p : of_) axes.push_back(p.along);
    return axes;
  }

  std::optional<RewrittenArrays> Run(int64_t limit) {
    if (KeptBytes() <= limit) return std::nullopt;
    out_.ids.assign(of_.size(), -1);
    for (int id = 0; id < graph_.size(); ++id) {
      if (IsReached(id)) out_.ids[static_cast<size_t>(id)] = Add(id, Of(id).level, 0);
    }
    return std::move(out_);
  }

 private:
  struct Properties {
    bool gathered = false;  // from much smaller arrays, or a map of such
    int along = -1;         // the axis that runs along what was gathered by; -1: none
    int level = 0;          // how many sums over all of such an axis it needs before
  };
  bool IsReached(int id) const { return reached_[static_cast<size_t>(id)]; }
  Properties& Of(int id) { return of_[static_cast<size_t>(id)]; }
  const Properties& Of(int id) const { return of_[static_cast<size_t>(id)]; }
  int64_t BytesOf(int id) const {
    return CellsOf(graph_.node(id).shape) * WidthOf(graph_.node(id).type);
  }

  // The axis of a node's cells that axis `axis` of its space is; -1: none, it is summed over.
  static int Kept(const ArrayNode& n, int axis) {
    if (axis < 0) return -1;
    if (n.op != ArrayOp::kScatter) return axis < static_cast<int>(n.shape.size()) ? axis : -1;
    const auto at = std::find(n.kept.begin(), n.kept.end(), axis);
    return at == n.kept.end() ? -1 : static_cast<int>(at - n.kept.begin());
  }

  void Describe(int id) {
    const ArrayNode& n = graph_.node(id);
    Properties& p = Of(id);
    p.level = n.copy;
    for (const ArrayOperand& o : n.operands) {
      const Properties& operand = Of(o.array);
      int level = operand.level;
      if (operand.along >= 0) {
        const int kept = Kept(n, o.axes[static_cast<size_t>(operand.along)]);
        level += kept < 0 ? 1 : 0;
        if (kept >= 0 && level >= p.level) p.along = kept;
      }
      p.level = std::max(p.level, level);
    }
    const auto is_gathered = [&](const ArrayOperand& o) { return Of(o.array).gathered; };
    if (n.op == ArrayOp::kGather) {
      const bool by_list =
          std::all_of(n.operands.begin() + 1, n.operands.end(),
                      [](const ArrayOperand& index) { return index.axes == std::vector{0}; });
      p.gathered = by_list && BytesOf(id) >= kFewestCopies * BytesOf(n.operands[0].array);
      if (p.gathered) p.along = 0;
    } else if (n.op == ArrayOp::kMap || n.op == ArrayOp::kSlice) {
      p.gathered = std::any_of(n.operands.begin(), n.operands.end(), is_gathered) &&
                   std::all_of(n.operands.begin(), n.operands.end(), [&](const ArrayOperand& o) {
                     return is_gathered(o) || BytesOf(id) >= kFewestCopies * BytesOf(o.array);
                   });
    }
  }

  // What would be kept for readers of later levels: gathers, and maps that must be stored.
  int64_t KeptBytes() const {
    std::vector<bool> kept(of_.size(), false);
    for (int id = 0; id < graph_.size(); ++id) {
      if (!IsReached(id)) continue;
      const ArrayOp op = graph_.node(id).op;
      for (const ArrayOperand& o : graph_.node(id).operands) {
        const bool stored = op != ArrayOp::kMap || graph_.node(o.array).op == ArrayOp::kGather;
        if (stored && Of(o.array).gathered && Of(o.array).level < Of(id).level)
          kept[static_cast<size_t>(o.array)] = true;
      }
    }
    int64_t bytes = 0;
    for (int id = 0; id < graph_.size(); ++id)
      bytes += kept[static_cast<size_t>(id)] ? BytesOf(id) : 0;
    return bytes;
  }

  // The array as readers of a level have it.
  int For(int id, int level) {
    const Properties& p = Of(id);
    if (!p.gathered || p.level >= level) return out_.ids[static_cast<size_t>(id)];
    const std::pair<int, int> key{id, level};
    if (const auto it = copies_.find(key); it != copies_.end()) return it->second;
    const int copy = Add(id, level, level);
    copies_.emplace(key, copy);
    return copy;
  }
  int Add(int id, int level, int copy) {
    ArrayNode n = graph_.node(id);
    for (ArrayOperand& o : n.operands) o.array = For(o.array, level);
    if (n.stairs.array >= 0) n.stairs.array = out_.ids[static_cast<size_t>(n.stairs.array)];
    if (n.op == ArrayOp::kGather) n.copy = copy;
    return out_.graph.Add(std::move(n));
  }

  const ArrayGraph& graph_;
  const std::vector<bool> reached_;
  std::vector<Properties> of_;
  RewrittenArrays out_;
  absl::flat_hash_map<std::pair<int, int>, int> copies_;
};

}  // namespace

std::optional<RewrittenArrays> RecomputeGathered(const ArrayGraph& graph,
                                                 const std::vector<int>& roots, int64_t limit) {
  return Recomputer(graph, roots).Run(limit);
}

std::vector<int> GatheredAxes(const ArrayGraph& graph, const std::vector<int>& roots) {
  return Recomputer(graph, roots).Axes();
}

}  // namespace adjoin
