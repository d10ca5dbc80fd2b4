#include "plan/array_epilogues.h"

#include <utility>

namespace adjoin {
namespace {

struct ScaledProduct {
  int product = -1;  // -1: none
  double scale = 1;
};

class EpilogueFuser {
 public:
  EpilogueFuser(const std::vector<int>& roots, ArrayGraph& graph)
      : graph_(graph), uses_(static_cast<size_t>(graph.size()), 0) {
    std::vector<bool> reached(uses_.size(), false);
    for (int root : roots) {
      reached[static_cast<size_t>(root)] = true;
      uses_[static_cast<size_t>(root)] += 2;  // stays, whoever else reads it
    }
    for (size_t id = reached.size(); id-- > 0;) {
      if (!reached[id]) continue;
      reached_.push_back(static_cast<int>(id));
      for (const ArrayOperand& o : graph.node(static_cast<int>(id)).operands) {
        reached[static_cast<size_t>(o.array)] = true;
        ++uses_[static_cast<size_t>(o.array)];
      }
    }
  }

  void Run() {
    // Operands first: a sum that has become a product can be added to in turn.
    for (auto id = reached_.rbegin(); id != reached_.rend(); ++id) {
      const ArrayNode& n = graph_.node(*id);
      if (n.op != ArrayOp::kMap) continue;
      if (n.scalar == ScalarOp::kAdd && Fuse(*id, 0, 1, 1)) continue;
      if (n.scalar == ScalarOp::kAdd) Fuse(*id, 1, 0, 1);
      if (n.scalar == ScalarOp::kSubtract) Fuse(*id, 1, 0, -1);
    }
  }

 private:
  bool IsReadOnce(int id) const { return uses_[static_cast<size_t>(id)] == 1; }

  // The operand as a scaled product that only `reader` reads.
  ScaledProduct Scaled(const ArrayOperand& o, const ArrayNode& reader) const {
    const ArrayNode& n = graph_.node(o.array);
    if (!o.IsWhole(reader.shape.size()) || !IsReadOnce(o.array) || n.type != reader.type) return {};
    if (n.op == ArrayOp::kContract && !n.adds) return {o.array, 1};
    if (n.op != ArrayOp::kMap || n.scalar != ScalarOp::kMultiply) return {};
    for (size_t side : {size_t{0}, size_t{1}}) {
      const ArrayNode& factor = graph_.node(n.operands[side].array);
      if (factor.op != ArrayOp::kConstant || !factor.constant.is_float()) continue;
      ScaledProduct inner = Scaled(n.operands[1 - side], n);
      inner.scale *= factor.constant.as_float();
      return inner;
    }
    return {};
  }

  // Makes the sum `id` of a product and an array that is stored anyway a product.
  bool Fuse(int id, size_t product_side, size_t addend_side, double sign) {
    const ArrayNode sum = graph_.node(id);
    const ArrayOperand& addend = sum.operands[addend_side];
    const ArrayNode& added = graph_.node(addend.array);
    const bool is_stored = (added.op == ArrayOp::kInput && !added.valid) ||
                           added.op == ArrayOp::kContract || added.op == ArrayOp::kGather;
    if (!is_stored || added.type != sum.type || !addend.IsWhole(sum.shape.size())) return false;
    const ScaledProduct scaled = Scaled(sum.operands[product_side], sum);
    if (scaled.product < 0) return false;
    ArrayNode fused = graph_.node(scaled.product);
    fused.scale = sign * scaled.scale;
    fused.adds = true;
    fused.operands.push_back(addend);
    graph_.Replace(id, std::move(fused));
    return true;
  }

  ArrayGraph& graph_;
  std::vector<int> uses_;     // by array: how often it is an operand
  std::vector<int> reached_;  // descending
};

}  // namespace

void FuseEpilogues(const std::vector<int>& roots, ArrayGraph& graph) {
  EpilogueFuser(roots, graph).Run();
}

}  // namespace adjoin
