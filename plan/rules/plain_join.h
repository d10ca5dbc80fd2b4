// What the rules of sampled products look for: inner joins by equal keys alone, and contractions of
// them. They leave alone what raises errors: it would be computed of rows that met nothing, too.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "plan/rules.h"
#include "plan/rules/sum_of_product.h"

namespace adjoin {

// An inner join by equal keys alone.
struct PlainJoin {
  NodeRef inputs[2];
  const Join* join;
  int split;
  static std::optional<PlainJoin> Of(const NodeRef& node) {
    const auto* join = std::get_if<Join>(&node->op);
    if (join == nullptr || join->kind != JoinKind::kInner || join->residual != nullptr ||
        join->keys.empty()) {
      return std::nullopt;
    }
    return PlainJoin{{node->inputs[0], node->inputs[1]}, join, node->inputs[0]->width()};
  }
  // An expression over the join's columns that reads those of one side, over that side's columns.
  ExprRef Own(const ExprRef& e, int side) const { return side == 0 ? e : ShiftColumns(e, -split); }
  int side_of(int column) const { return column < split ? 0 : 1; }
  int own(int column) const { return column < split ? column : column - split; }
  const ExprRef& key(size_t k, int side) const {
    return side == 0 ? join->keys[k].left : join->keys[k].right;
  }
};

// The factors of a product over a join, by side and over that side's columns; nothing where one
// reads both.
inline std::optional<std::array<std::vector<ExprRef>, 2>> BySide(const ExprRef& product,
                                                                 const PlainJoin& join) {
  std::array<std::vector<ExprRef>, 2> by_side;
  const auto both = [&](const ExprRef& e) { return SideOf(e, join.split) == 2; };
  for (const ExprRef& f : FactorsOf(product, both)) {
    const int side = SideOf(f, join.split);
    if (side == 2) return std::nullopt;
    by_side[side == 1 ? 1 : 0].push_back(join.Own(f, side));
  }
  return by_side;
}

inline ExprRef ProductOrNull(const std::vector<ExprRef>& factors) {
  return factors.empty() ? nullptr : ProductOf(factors);
}

inline bool IsPlainContraction(const Contraction* c) {
  return c != nullptr && c->mask == nullptr && !c->count && !c->keys.empty() && !c->on.empty();
}

inline const ExprRef& OnOf(const JoinKey& key, int side) {
  return side == 0 ? key.left : key.right;
}
inline const ExprRef& FactorOf(const Contraction& c, int side) {
  return side == 0 ? c.left_factor : c.right_factor;
}

// The node, of a sample and the two others; null where an expression of it raises errors.
NodeRef MakeSampled(SampledProduct product, const std::array<NodeRef, 3>& inputs, Planner& planner,
                    const std::vector<std::string>& names = {});

// MakeProductOfSample of a Collect (collected_products.cc).
NodeRef MakeCollectedProduct(const NodeRef& node, const Replacements& done, Planner& planner,
                             Cardinality& cardinality, double most_bytes, bool force);

}  // namespace adjoin
