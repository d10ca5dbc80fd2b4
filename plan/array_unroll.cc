// Sums in forms that fuse with what they add.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "plan/array_rewrites.h"

namespace adjoin {
namespace {

// Squared distances in three dimensions of 42M pairs of particles took 0.9 s as sums over an axis.
constexpr int64_t kMostTerms = 4;

class Unroller {
 public:
  Unroller(const ArrayGraph& graph, const std::vector<int>& roots)
      : graph_(graph),
        gathered_axes_(GatheredAxes(graph, roots)),
        reached_(graph.ReachedFrom(roots)) {}

  std::optional<RewrittenArrays> Run() {
    bool any = false;
    for (int id = 0; id < graph_.size(); ++id)
      any |= reached_[static_cast<size_t>(id)] && (IsShort(id) || IsLong(id));
    if (!any) return std::nullopt;
    out_.ids.assign(reached_.size(), -1);
    for (int id = 0; id < graph_.size(); ++id) {
      if (!reached_[static_cast<size_t>(id)]) continue;
      out_.ids[static_cast<size_t>(id)] = IsShort(id)  ? AddTerms(id)
                                          : IsLong(id) ? AddByAxes(id)
                                                       : out_.graph.Add(Renumbered(id));
    }
    return std::move(out_);
  }

 private:
  struct Fixed {
    int array;
    std::vector<int> axes;  // by axis of the array: which one it was before
  };

  bool IsSumOfGathered(const ArrayNode& n) const {
    return n.op == ArrayOp::kReduce && n.reduce == ReduceOp::kSum && IsFloat(n.type) &&
           gathered_axes_[static_cast<size_t>(n.operands[0].array)] >= 0;
  }
  bool IsShort(int id) const {
    const ArrayNode& n = graph_.node(id);
    return IsSumOfGathered(n) && n.space.size() == n.shape.size() + 1 && n.space.back() >= 2 &&
           n.space.back() <= kMostTerms && graph_.node(n.operands[0].array).op == ArrayOp::kMap &&
           n.operands[0].VariesAlong(static_cast<int>(n.shape.size())) &&
           IsArithmetic(n.operands[0].array);
  }
  bool IsLong(int id) const {
    const ArrayNode& n = graph_.node(id);
    return IsSumOfGathered(n) && n.shape.empty() && n.space.size() > 1 &&
           n.operands[0].axes.size() == n.space.size();
  }
  bool IsArithmetic(int id) const {
    const ArrayNode& n = graph_.node(id);
    if (n.op != ArrayOp::kMap) return true;
    const bool is_cast = n.scalar == ScalarOp::kCount && IsFloat(n.type);
    const bool is = is_cast || n.scalar == ScalarOp::kAdd || n.scalar == ScalarOp::kSubtract ||
                    n.scalar == ScalarOp::kMultiply || n.scalar == ScalarOp::kNegate;
    return is && std::all_of(n.operands.begin(), n.operands.end(),
                             [&](const ArrayOperand& o) { return IsArithmetic(o.array); });
  }

  ArrayNode Renumbered(int id) const {
    ArrayNode n = graph_.node(id);
    for (ArrayOperand& o : n.operands) o.array = out_.ids[static_cast<size_t>(o.array)];
    if (n.stairs.array >= 0) n.stairs.array = out_.ids[static_cast<size_t>(n.stairs.array)];
    return n;
  }

  // The cells of `id` at one index of an axis.
  int At(int id, size_t axis, int64_t index) {
    ArrayNode n = Renumbered(id);
    if (n.op == ArrayOp::kMap) {
      const ArrayNode& old = graph_.node(id);
      for (size_t k = 0; k < n.operands.size(); ++k) {
        std::vector<int>& axes = n.operands[k].axes;
        const auto at = std::find(axes.begin(), axes.end(), static_cast<int>(axis));
        if (at != axes.end()) {
          n.operands[k].array =
              At(old.operands[k].array, static_cast<size_t>(at - axes.begin()), index);
          axes.erase(at);
        }
        for (int& a : axes) a -= a > static_cast<int>(axis) ? 1 : 0;
      }
    } else {
      const std::vector<int64_t> whole = n.shape;
      n = ArrayNode{};
      n.op = ArrayOp::kSlice;
      n.type = graph_.node(id).type;
      n.shape = whole;
      n.operands = {{out_.ids[static_cast<size_t>(id)], {}}};
      for (size_t k = 0; k < whole.size(); ++k) {
        n.operands[0].axes.push_back(k == axis ? -1 : static_cast<int>(k < axis ? k : k - 1));
        n.origins.push_back(k == axis ? index : 0);
      }
    }
    n.shape.erase(n.shape.begin() + static_cast<ptrdiff_t>(axis));
    return out_.graph.Add(std::move(n));
  }

  //   SUM over c of f(c)  =>  f(0) + f(1) + ..
  int AddTerms(int id) {
    const ArrayNode n = graph_.node(id);
    const ArrayOperand& o = n.operands[0];
    const auto summed = std::find(o.axes.begin(), o.axes.end(), static_cast<int>(n.shape.size()));
    ArrayOperand term{-1, o.axes};
    term.axes.erase(term.axes.begin() + (summed - o.axes.begin()));
    ArrayNode sum;
    sum.op = ArrayOp::kMap;
    sum.scalar = ScalarOp::kAdd;
    sum.type = n.type;
    sum.shape = n.shape;
    for (int64_t c = 0; c < n.space.back(); ++c) {
      term.array = At(o.array, static_cast<size_t>(summed - o.axes.begin()), c);
      if (c > 0) {
        ArrayNode next = sum;
        next.operands.push_back(term);
        sum.operands = {{out_.graph.Add(std::move(next)), Whole(n.shape.size())}};
      } else {
        sum.operands = {term};
      }
    }
    return sum.operands[0].array;
  }

  //   SUM over a, b, .., z  =>  SUM over a of .. SUM over z
  int AddByAxes(int id) {
    ArrayNode n = Renumbered(id);
    while (!n.space.empty()) {
      n.shape = n.space;
      n.shape.pop_back();
      n.operands[0].array = out_.graph.Add(n);
      n.space = n.shape;
      n.operands[0].axes = Whole(n.space.size());
    }
    return n.operands[0].array;
  }

  static std::vector<int> Whole(size_t rank) {
    std::vector<int> axes;
    for (size_t k = 0; k < rank; ++k) axes.push_back(static_cast<int>(k));
    return axes;
  }

  const ArrayGraph& graph_;
  std::vector<int> gathered_axes_;
  std::vector<bool> reached_;
  RewrittenArrays out_;
};

}  // namespace

std::optional<RewrittenArrays> UnrollSums(const ArrayGraph& graph, const std::vector<int>& roots) {
  return Unroller(graph, roots).Run();
}

}  // namespace adjoin
