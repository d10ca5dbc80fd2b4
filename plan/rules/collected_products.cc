// A Collect of what rows of a join fetch from a contraction:
//
//   Collect[row id of A; x(S) * y(A) * sum]       Project[A; y * sum]
//     A                                             Lookup[S's join key, key of B]
//     Lookup[key of G, key of B]               =>     A
//       Join[S = A]  S  A                             SparseProduct[S's join key, key of B;
//       Contraction[keys of G, keys of B;                           x(S) * g * b; G = B]
//                   SUM(g * b); G = B]                  Join[key of G]  S  G
//         G  B                                          B
//
// and with S in the place of A, where it is a SampledProduct of A and B by S.
#include <algorithm>
#include <utility>

#include "plan/rules/plain_join.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// What a Collect adds up, as a product: the sum of a contraction times factors, where conditions
// hold. All by side of the join whose rows have fetched that sum.
struct Collected {
  std::vector<ExprRef> factors[2], conditions[2];

  bool Read(const ExprRef& e, int sum, const PlainJoin& join) {
    if (e->kind == ExprKind::kColumn) return e->index == sum;
    if (e->kind != ExprKind::kCall) return false;
    if (e->function->name == "case" && e->args.size() == 3 && IsNullConstant(*e->args[2])) {
      for (const ExprRef& condition : Conjuncts(e->args[0])) {
        if (!AddCondition(condition, sum, join)) return false;
      }
      return Read(e->args[1], sum, join);
    }
    if (e->function->op != ScalarOp::kMultiply) return false;
    for (int i : {0, 1}) {
      if (Reads(e->args[static_cast<size_t>(1 - i)], sum)) continue;
      for (const ExprRef& f : FactorsOf(e->args[static_cast<size_t>(1 - i)], [&](const ExprRef& p) {
             return SideOf(p, join.split) == 2;
           })) {
        if (!AddTo(factors, f, sum, join)) return false;
      }
      return Read(e->args[static_cast<size_t>(i)], sum, join);
    }
    return false;
  }

  bool may_raise() const {
    return MayRaise(factors[0]) || MayRaise(factors[1]) || MayRaise(conditions[0]) ||
           MayRaise(conditions[1]);
  }

 private:
  static bool Reads(const ExprRef& e, int column) {
    const std::vector<int> columns = ColumnsOf(e);
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  }
  // A product is not NULL where no factor is.
  bool AddCondition(const ExprRef& e, int sum, const PlainJoin& join) {
    if (SideOf(e, join.split) != 2) return AddTo(conditions, e, sum, join);
    if (e->kind != ExprKind::kCall || e->function->null_rule != NullRule::kIsNotNull) return false;
    const auto both = [&](const ExprRef& p) { return SideOf(p, join.split) == 2; };
    for (const ExprRef& f : FactorsOf(e->args[0], both)) {
      if (!AddTo(conditions, CallNamed("is not null", {f}, TypeId::kBool), sum, join)) return false;
    }
    return true;
  }
  static bool AddTo(std::vector<ExprRef> (&to)[2], const ExprRef& e, int sum,
                    const PlainJoin& join) {
    const int side = SideOf(e, join.split);
    for (int c : ColumnsOf(e)) {
      if (c >= sum) return false;
    }
    if (side == 2) return false;
    to[side == 1 ? 1 : 0].push_back(join.Own(e, side));
    return true;
  }
};

class CollectOfJoin {
 public:
  CollectOfJoin(const NodeRef& node, const Replacements& done, Planner& planner)
      : node_(node), done_(done), planner_(planner) {}

  bool Matches() {
    collect_ = std::get_if<Collect>(&node_->op);
    if (collect_ == nullptr || collect_->values.size() != 1) return false;
    const NodeRef& fetched = node_->inputs[1];
    lookup_ = std::get_if<Lookup>(&fetched->op);
    if (lookup_ == nullptr) return false;
    const auto join = PlainJoin::Of(fetched->inputs[0]);
    product_ = fetched->inputs[1];
    c_ = std::get_if<Contraction>(&product_->op);
    if (!join || !IsPlainContraction(c_)) return false;
    join_ = *join;
    for (int side : {0, 1}) {
      const int right_key = collect_->left_key + (side == 0 ? 0 : join_.split);
      if (join_.inputs[side] == node_->inputs[0] && collect_->right_key == right_key)
        receiver_ = side;
    }
    if (receiver_ < 0 || lookup_->left_keys.size() != c_->keys.size()) return false;
    const int sum = fetched->inputs[0]->width() + static_cast<int>(c_->keys.size());
    if (!collected_.Read(collect_->values[0], sum, join_)) return false;
    return (MatchesKeys(0) || MatchesKeys(1)) && !collected_.may_raise() &&
           collect_->values[0]->type == product_->types.back();
  }

  NodeRef Rewritten(Cardinality& cardinality, double most_bytes, bool force) const {
    NodeRef sample = Done(join_.inputs[s_]);
    const int width = sample->width();
    const NodeRef g = Done(product_->inputs[g_]), b = Done(product_->inputs[1 - g_]);
    const auto& conditions = collected_.conditions[s_];
    if (!conditions.empty()) sample = planner_.Make(Filter{AndAll(conditions)}, {sample});
    Join first;
    for (const Fetch& key : of_g_)
      first.keys.push_back({key.own, ColumnExpr(key.column, key.own->type), /*null_safe=*/true});
    const NodeRef joined = planner_.Make(std::move(first), {sample, g});
    ExprRef factor = ShiftColumns(FactorOf(*c_, g_), width);
    for (const ExprRef& f : collected_.factors[s_]) factor = Mul(factor, f);
    std::vector<JoinKey> on;
    for (const JoinKey& key : c_->on)
      on.push_back({ShiftColumns(OnOf(key, g_), width), OnOf(key, 1 - g_), key.null_safe});
    return receiver_ == s_
               ? BySample(joined, b, std::move(on), factor)
               : ByOther(joined, b, std::move(on), factor, cardinality, most_bytes, force);
  }

 private:
  // A key by which a row of the join fetches: over its side's columns, and the contraction's.
  struct Fetch {
    ExprRef own;
    int column;
  };

  // Whether input `g` of the contraction has the keys that one side of the join fetches by.
  bool MatchesKeys(int g) {
    g_ = g;
    of_g_.clear(), of_b_.clear();
    int sides[2] = {-1, -1};  // of the join, for the keys of G and of B
    for (size_t i = 0; i < lookup_->left_keys.size(); ++i) {
      const Expr& at = *lookup_->right_keys[i];
      const int side = SideOf(lookup_->left_keys[i], join_.split);
      if (at.kind != ExprKind::kColumn || at.index >= static_cast<int>(c_->keys.size()) ||
          side < 0 || side > 1 || MayRaise({lookup_->left_keys[i]})) {
        return false;
      }
      const ContractionKey& key = c_->keys[static_cast<size_t>(at.index)];
      const bool of_g = key.side == g;
      int& known = sides[of_g ? 0 : 1];
      if (known >= 0 && known != side) return false;
      known = side;
      (of_g ? of_g_ : of_b_).push_back({join_.Own(lookup_->left_keys[i], side), key.column});
    }
    s_ = sides[0];
    return !of_g_.empty() && !of_b_.empty() && sides[0] != sides[1];
  }

  NodeRef Done(const NodeRef& node) const { return done_.find(node.get())->second; }

  // The receiver's columns, then the sum where it has one.
  NodeRef Fetched(std::vector<ExprRef> keys, const NodeRef& sums,
                  const std::vector<ExprRef>& conditions) const {
    const NodeRef receiver = Done(node_->inputs[0]);
    Lookup lookup{std::move(keys), {}};
    for (int k = 0; k + 1 < sums->width(); ++k)
      lookup.right_keys.push_back(ColumnExpr(k, sums->types[static_cast<size_t>(k)]));
    const NodeRef base = planner_.Make(std::move(lookup), {receiver, sums});
    Project out;
    for (int c = 0; c < receiver->width(); ++c)
      out.exprs.push_back(ColumnExpr(c, receiver->types[static_cast<size_t>(c)]));
    ExprRef sum = ColumnExpr(base->width() - 1, base->types.back());
    if (receiver_ != s_) {
      for (const ExprRef& f : collected_.factors[1 - s_]) sum = Mul(sum, f);
    }
    if (!conditions.empty()) sum = CaseExpr({AndAll(conditions), sum, NullExpr(sum->type)});
    out.exprs.push_back(std::move(sum));
    return planner_.Make(std::move(out), {base}, node_->names);
  }

  NodeRef ByOther(const NodeRef& joined, const NodeRef& b, std::vector<JoinKey> on,
                  const ExprRef& factor, Cardinality& cardinality, double most_bytes,
                  bool force) const {
    Contraction c;
    c.on = std::move(on);
    c.left_factor = factor;
    c.right_factor = FactorOf(*c_, 1 - g_);
    std::vector<ExprRef> keys, conditions = collected_.conditions[1 - s_];
    for (size_t k = 0; k < join_.join->keys.size(); ++k) {
      const ExprRef& of_sample = join_.key(k, s_);
      if (of_sample->kind != ExprKind::kColumn) return nullptr;
      c.keys.push_back({0, of_sample->index});
      keys.push_back(join_.key(k, 1 - s_));
      if (!join_.join->keys[k].null_safe)
        conditions.push_back(CallNamed("is not null", {keys.back()}, TypeId::kBool));
    }
    for (const Fetch& key : of_b_) {
      c.keys.push_back({1, key.column});
      keys.push_back(key.own);
    }
    const NodeRef product = MakeSparseProduct(planner_.Make(std::move(c), {joined, b}), planner_,
                                              cardinality, most_bytes, force, /*of_join=*/true);
    return product == nullptr ? nullptr : Fetched(std::move(keys), product, std::move(conditions));
  }

  NodeRef BySample(const NodeRef& joined, const NodeRef& b, std::vector<JoinKey> on,
                   const ExprRef& factor) const {
    const NodeRef other = Done(join_.inputs[1 - s_]);
    SampledProduct p;
    p.keys = {collect_->left_key};
    for (size_t k = 0; k < join_.join->keys.size(); ++k)
      p.on_left.push_back({join_.key(k, s_), join_.key(k, 1 - s_), join_.join->keys[k].null_safe});
    p.on_right = std::move(on);
    for (const Fetch& key : of_b_)
      p.between.push_back({key.own, ColumnExpr(key.column, key.own->type), /*null_safe=*/true});
    p.factor = factor;
    const auto& factors = collected_.factors[1 - s_];
    const auto& conditions = collected_.conditions[1 - s_];
    p.left_factor = factors.empty() ? FloatConst(1, factor->type) : ProductOf(factors);
    if (!conditions.empty())
      p.left_factor = CaseExpr({AndAll(conditions), p.left_factor, NullExpr(p.left_factor->type)});
    p.right_factor = FactorOf(*c_, 1 - g_);
    const NodeRef product = MakeSampled(std::move(p), {joined, other, b}, planner_);
    if (product == nullptr) return nullptr;
    return Fetched({ColumnExpr(collect_->left_key, TypeId::kInt64)}, product, {});
  }

  const NodeRef& node_;
  const Replacements& done_;
  Planner& planner_;
  const Collect* collect_ = nullptr;
  const Lookup* lookup_ = nullptr;
  NodeRef product_;
  const Contraction* c_ = nullptr;
  PlainJoin join_;
  int receiver_ = -1, s_ = -1, g_ = -1;  // sides of the join; an input of the contraction
  Collected collected_;
  std::vector<Fetch> of_g_, of_b_;
};

}  // namespace

NodeRef MakeCollectedProduct(const NodeRef& node, const Replacements& done, Planner& planner,
                             Cardinality& cardinality, double most_bytes, bool force) {
  CollectOfJoin collect(node, done, planner);
  return collect.Matches() ? collect.Rewritten(cardinality, most_bytes, force) : nullptr;
}

}  // namespace adjoin
