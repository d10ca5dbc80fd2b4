//   Contraction[keys of S; x(S) * y(A) * z(B);      SampledProduct[keys; x * y * z; S = A; S = B;
//               S = B, A = B]                                      A = B]
//     Join[S = A]  S  A                         =>    S
//     B                                               A
//                                                     B
//
// and what derivatives make of it by the other two: products that are sparse ones when another
// relation joins S first.
#include <algorithm>
#include <utility>

#include "plan/rules/plain_join.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// The input of a RowId whose number nobody reads: a base table stays one.
NodeRef WithoutUnreadRowId(const NodeRef& node, const std::vector<JoinKey>& first, bool first_left,
                           const std::vector<JoinKey>& second, bool second_left,
                           const ExprRef& factor) {
  if (!std::holds_alternative<RowId>(node->op)) return node;
  std::vector<ExprRef> exprs = {factor};
  for (const JoinKey& key : first) exprs.push_back(first_left ? key.left : key.right);
  for (const JoinKey& key : second) exprs.push_back(second_left ? key.left : key.right);
  for (const ExprRef& e : exprs) {
    for (int c : ColumnsOf(e)) {
      if (c == node->width() - 1) return node;
    }
  }
  return node->inputs[0];
}

// Side `s` of the join, which input `j` of the contraction is, as the sample.
NodeRef SampledBy(const NodeRef& node, const Contraction& c, int j, const PlainJoin& join, int s,
                  Planner& planner) {
  SampledProduct out;
  for (const ContractionKey& key : c.keys) {
    if (key.side != j || join.side_of(key.column) != s) return nullptr;
    out.keys.push_back(join.own(key.column));
  }
  for (size_t k = 0; k < join.join->keys.size(); ++k)
    out.on_left.push_back({join.key(k, s), join.key(k, 1 - s), join.join->keys[k].null_safe});
  for (const JoinKey& key : c.on) {
    const int side = SideOf(OnOf(key, j), join.split);
    if (side != 0 && side != 1) return nullptr;
    (side == s ? out.on_right : out.between)
        .push_back({join.Own(OnOf(key, j), side), OnOf(key, 1 - j), key.null_safe});
  }
  if (out.on_right.empty() || out.between.empty()) return nullptr;
  const auto factors = BySide(FactorOf(c, j), join);
  if (!factors || (*factors)[1 - s].empty()) return nullptr;
  out.factor = ProductOrNull((*factors)[s]);
  out.left_factor = ProductOf((*factors)[1 - s]);
  out.right_factor = FactorOf(c, 1 - j);
  return MakeSampled(std::move(out), {join.inputs[s], join.inputs[1 - s], node->inputs[1 - j]},
                     planner, node->names);
}

//   Contraction[keys; x * y; G = S]          SparseProduct[keys; x(G) * y(S) * z(A); S = A]
//     G                                 =>     Join[G = S]  G  S
//     Join[S = A]  S  A                        A
NodeRef JoinSampleFirst(const NodeRef& node, const Contraction& c, int j, const PlainJoin& join,
                        int s, Planner& planner, Cardinality& cardinality, double most_bytes,
                        bool force) {
  const NodeRef &g = node->inputs[1 - j], &sample = join.inputs[s], &other = join.inputs[1 - s];
  const int width = g->width();
  Join first;
  for (const JoinKey& key : c.on) {
    if (SideOf(OnOf(key, j), join.split) != s) return nullptr;
    first.keys.push_back({OnOf(key, 1 - j), join.Own(OnOf(key, j), s), key.null_safe});
    if (MayRaise({first.keys.back().right})) return nullptr;
  }
  Contraction second;
  for (size_t k = 0; k < join.join->keys.size(); ++k) {
    second.on.push_back(
        {ShiftColumns(join.key(k, s), width), join.key(k, 1 - s), join.join->keys[k].null_safe});
  }
  for (const ContractionKey& key : c.keys) {
    if (key.side != j) {
      second.keys.push_back({0, key.column});
    } else if (join.side_of(key.column) == s) {
      second.keys.push_back({0, width + join.own(key.column)});
    } else {
      second.keys.push_back({1, join.own(key.column)});
    }
  }
  const auto factors = BySide(FactorOf(c, j), join);
  if (!factors || (*factors)[1 - s].empty()) return nullptr;
  second.left_factor = FactorOf(c, 1 - j);
  for (const ExprRef& f : (*factors)[s])
    second.left_factor = Mul(second.left_factor, ShiftColumns(f, width));
  second.right_factor = ProductOf((*factors)[1 - s]);
  const NodeRef joined = planner.Make(std::move(first), {g, sample});
  const double rows = cardinality.Rows(joined);
  const bool pays = rows <= 2 * std::max(cardinality.Rows(g), cardinality.Rows(sample)) &&
                    2 * rows <= cardinality.Rows(node->inputs[j]);
  if (!pays && !force) return nullptr;
  const NodeRef product = planner.Make(std::move(second), {joined, other}, node->names);
  return MakeSparseProduct(product, planner, cardinality, most_bytes, force, /*of_join=*/true);
}

}  // namespace

NodeRef MakeSampled(SampledProduct product, const std::array<NodeRef, 3>& inputs, Planner& planner,
                    const std::vector<std::string>& names) {
  std::vector<ExprRef> exprs = {product.left_factor, product.right_factor};
  if (product.factor != nullptr) exprs.push_back(product.factor);
  for (const auto* keys : {&product.on_left, &product.on_right, &product.between}) {
    for (const JoinKey& key : *keys) exprs.push_back(key.left), exprs.push_back(key.right);
  }
  if (MayRaise(exprs)) return nullptr;
  const NodeRef left = WithoutUnreadRowId(inputs[1], product.on_left, false, product.between, true,
                                          product.left_factor);
  const NodeRef right = WithoutUnreadRowId(inputs[2], product.on_right, false, product.between,
                                           false, product.right_factor);
  return planner.Make(std::move(product), {inputs[0], left, right}, names);
}

NodeRef MakeSampledProduct(const NodeRef& node, Planner& planner) {
  const auto* c = std::get_if<Contraction>(&node->op);
  if (!IsPlainContraction(c)) return nullptr;
  for (int j : {0, 1}) {
    const auto join = PlainJoin::Of(node->inputs[static_cast<size_t>(j)]);
    for (int s = 0; join && s < 2; ++s) {
      if (NodeRef made = SampledBy(node, *c, j, *join, s, planner)) return made;
    }
  }
  return nullptr;
}

NodeRef MakeProductOfSample(const NodeRef& node, const Replacements& done, Planner& planner,
                            Cardinality& cardinality, double most_bytes, bool force) {
  if (std::holds_alternative<Collect>(node->op))
    return MakeCollectedProduct(node, done, planner, cardinality, most_bytes, force);
  const NodeRef now = OverReplacements(node, done, planner);
  const auto* c = std::get_if<Contraction>(&now->op);
  if (!IsPlainContraction(c)) return nullptr;
  for (int j : {0, 1}) {
    const auto join = PlainJoin::Of(now->inputs[static_cast<size_t>(j)]);
    for (int s = 0; join && s < 2; ++s) {
      if (NodeRef made =
              JoinSampleFirst(now, *c, j, *join, s, planner, cardinality, most_bytes, force)) {
        return made;
      }
    }
  }
  return nullptr;
}

}  // namespace adjoin
