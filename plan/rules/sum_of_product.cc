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

}  // namespace

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
