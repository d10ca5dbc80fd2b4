#include "plan/rules/sum_of_product.h"

#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

constexpr size_t kMostFactors = 64;  // a product of products read twice, 40 deep, has 2^40

void CollectFactors(const ExprRef& e, const std::function<bool(const ExprRef&)>& divisible,
                    std::vector<ExprRef>& out) {
  const bool product = e->kind == ExprKind::kCall && e->function->op == ScalarOp::kMultiply;
  const bool negated = e->kind == ExprKind::kCall && e->function->op == ScalarOp::kNegate;
  if ((product || negated) && out.size() < kMostFactors && divisible(e)) {
    if (negated) out.push_back(FloatConst(-1, e->type));
    for (const ExprRef& arg : e->args) CollectFactors(arg, divisible, out);
  } else {
    out.push_back(e);
  }
}

void Inline(const Project& p, ExprRef& e) {
  if (e == nullptr) return;
  e = MapColumns(e, [&](const Expr& c) { return p.exprs[static_cast<size_t>(c.index)]; });
}

}  // namespace

std::optional<GroupsOfJoin> FlattenGroups(const NodeRef& node, const GroupBy& g,
                                          const absl::flat_hash_set<const Node*>& kept) {
  GroupsOfJoin f{node->inputs[0], g.keys, g.aggregates, {}};
  while (!kept.contains(f.join.get())) {
    if (const auto* filter = std::get_if<Filter>(&f.join->op)) {
      for (const ExprRef& c : Conjuncts(filter->predicate)) f.conditions.push_back(c);
    } else if (const auto* project = std::get_if<Project>(&f.join->op)) {
      for (ExprRef& e : f.keys) Inline(*project, e);
      for (ExprRef& e : f.conditions) Inline(*project, e);
      for (Aggregate& a : f.aggregates)
        Inline(*project, a.arg), Inline(*project, a.second), Inline(*project, a.filter);
    } else {
      break;
    }
    f.join = f.join->inputs[0];
  }
  const auto* join = std::get_if<Join>(&f.join->op);
  if (join == nullptr || join->kind != JoinKind::kInner || kept.contains(f.join.get()))
    return std::nullopt;
  for (const ExprRef& c : Conjuncts(join->residual)) f.conditions.push_back(c);
  return f;
}

int SideOf(const ExprRef& e, int split) {
  int side = -1;
  for (int c : ColumnsOf(e)) {
    const int own = c < split ? 0 : 1;
    side = side == -1 || side == own ? own : 2;
  }
  return side;
}

std::optional<SumPosition> OnlySum(const std::vector<Aggregate>& aggregates) {
  SumPosition s;
  for (size_t i = 0; i < aggregates.size(); ++i) {
    const Aggregate& a = aggregates[i];
    if (a.filter != nullptr || a.distinct) return std::nullopt;
    if (a.function == AggregateFunction::kSum && s.sum < 0 && IsFloat(a.arg->type)) {
      s.sum = static_cast<int>(i);
    } else if (a.function == AggregateFunction::kCountStar && s.count < 0) {
      s.count = static_cast<int>(i);
    } else {
      return std::nullopt;
    }
  }
  return s.sum < 0 ? std::nullopt : std::optional(s);
}

std::vector<ExprRef> FactorsOf(const ExprRef& product,
                               const std::function<bool(const ExprRef&)>& divisible) {
  std::vector<ExprRef> out;
  CollectFactors(product, divisible, out);
  return out;
}

ExprRef ProductOf(const std::vector<ExprRef>& factors) {
  ExprRef out;
  for (const ExprRef& f : factors) out = out == nullptr ? f : Mul(out, f);
  return out;
}

}  // namespace adjoin
