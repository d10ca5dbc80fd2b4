#include "sql/plan_exprs.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

struct Visitor {
  const std::function<void(const ExprRef&)>& f;

  void One(const ExprRef& e) const {
    if (e != nullptr) f(e);
  }
  void All(const std::vector<ExprRef>& list) const {
    for (const ExprRef& e : list) One(e);
  }
  void Keys(const std::vector<JoinKey>& keys) const {
    for (const JoinKey& k : keys) One(k.left), One(k.right);
  }
  void Order(const std::vector<SortKey>& keys) const {
    for (const SortKey& k : keys) One(k.expr);
  }

  void operator()(const Scan&) const {}
  void operator()(const Values& v) const {
    for (const auto& row : v.rows) All(row);
  }
  void operator()(const Series& s) const { One(s.start), One(s.stop), One(s.step); }
  void operator()(const Filter& o) const { One(o.predicate); }
  void operator()(const Project& p) const { All(p.exprs); }
  void operator()(const Join& j) const { Keys(j.keys), One(j.residual); }
  void operator()(const GroupBy& g) const {
    All(g.keys);
    for (const Aggregate& a : g.aggregates) One(a.arg), One(a.second), One(a.filter);
  }
  void operator()(const Window& w) const {
    All(w.partition), Order(w.order), One(w.frame.start_offset), One(w.frame.end_offset);
    for (const WindowCall& c : w.calls) All(c.args), One(c.filter);
  }
  void operator()(const Sort& s) const { Order(s.keys); }
  void operator()(const Limit& l) const { One(l.limit), One(l.offset); }
  void operator()(const UnionAll&) const {}
  void operator()(const Contraction& c) const {
    Keys(c.on), One(c.mask), One(c.left_factor), One(c.right_factor);
  }
  void operator()(const SparseProduct& p) const {
    Keys(p.on), All(p.left_factors), All(p.right_factors);
  }
  void operator()(const SampledProduct& p) const {
    Keys(p.on_left), Keys(p.on_right), Keys(p.between);
    One(p.factor), One(p.left_factor), One(p.right_factor);
  }
  void operator()(const RowId&) const {}
  void operator()(const Lookup& l) const { All(l.left_keys), All(l.right_keys); }
  void operator()(const Collect& c) const { All(c.values); }
  void operator()(const Require&) const {}
  void operator()(const Derivative&) const {}
  void operator()(const Recursion& r) const {
    for (const NodeRef& node : TopologicalOrder({r.body})) VisitExprs(node->op, f);
  }
  void operator()(const RecursionInput&) const {}
};

bool IsWideningCast(const Expr& call) {
  return call.function == Function("cast") && IsInteger(call.type) &&
         IsInteger(call.args[0]->type) && WidthOf(call.type) >= WidthOf(call.args[0]->type);
}

bool CallMayFail(const Expr& call) {
  if (call.type == TypeId::kBool || IsWideningCast(call)) return false;
  if (!IsFloat(call.type) && call.type != TypeId::kText) return true;
  return call.type != TypeId::kText && std::ranges::any_of(call.args, [](const ExprRef& arg) {
           return arg->type == TypeId::kText;
         });
}

bool AnyMayFail(const ExprRef& expr, absl::flat_hash_set<const Expr*>& seen) {
  if (expr->kind != ExprKind::kCall || !seen.insert(expr.get()).second) return false;
  return CallMayFail(*expr) ||
         std::ranges::any_of(expr->args, [&](const ExprRef& arg) { return AnyMayFail(arg, seen); });
}

}  // namespace

bool MayFail(const ExprRef& expr) {
  absl::flat_hash_set<const Expr*> seen;
  return AnyMayFail(expr, seen);
}

void VisitExprs(const Operator& op, const std::function<void(const ExprRef&)>& f) {
  std::visit(Visitor{f}, op);
}

}  // namespace adjoin
