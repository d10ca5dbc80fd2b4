#include "plan/rules/sum_of_product.h"

#include "absl/container/flat_hash_set.h"
#include "ops/expression.h"
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

ExprRef Over(const std::vector<ExprRef>& columns, const ExprRef& e) {
  return e == nullptr
             ? nullptr
             : MapColumns(e, [&](const Expr& c) { return columns[static_cast<size_t>(c.index)]; });
}

// The call itself, whatever its arguments do.
bool CallMayRaise(const Expr& call) {
  const TypeId operand = call.args.empty() ? call.type : call.args[0]->type;
  const ScalarOp op = call.function->op;
  switch (call.function->null_rule) {
    case NullRule::kCast:
      return ExprBuilder::CastCanRaise(operand, call.type);
    case NullRule::kStrict:
    case NullRule::kAccumulate:
      return op == ScalarOp::kCount || ExprBuilder::CanRaise(op, operand);
    case NullRule::kRows:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<GroupsOfJoin> FlattenGroups(const NodeRef& node, const GroupBy& g,
                                          const absl::flat_hash_set<const Node*>& kept) {
  std::vector<const Node*> between;  // from the group-by down
  NodeRef at = node->inputs[0];
  while (!kept.contains(at.get()) &&
         (std::holds_alternative<Filter>(at->op) || std::holds_alternative<Project>(at->op))) {
    between.push_back(at.get());
    at = at->inputs[0];
  }
  const auto* join = std::get_if<Join>(&at->op);
  if (join == nullptr || join->kind != JoinKind::kInner || kept.contains(at.get()))
    return std::nullopt;
  GroupsOfJoin f{at, {}, g.aggregates, Conjuncts(join->residual)};
  // From the join up, so that a long chain costs what its own expressions do: each is put over the
  // join's columns once and shares what is below it.
  std::vector<ExprRef> columns;
  for (int c = 0; c < at->width(); ++c)
    columns.push_back(ColumnExpr(c, at->types[static_cast<size_t>(c)]));
  for (size_t b = between.size(); b-- > 0;) {
    if (const auto* filter = std::get_if<Filter>(&between[b]->op)) {
      for (const ExprRef& c : Conjuncts(filter->predicate))
        f.conditions.push_back(Over(columns, c));
      continue;
    }
    std::vector<ExprRef> above;
    for (const ExprRef& e : std::get<Project>(between[b]->op).exprs)
      above.push_back(Over(columns, e));
    columns = std::move(above);
  }
  for (const ExprRef& key : g.keys) f.keys.push_back(Over(columns, key));
  for (Aggregate& a : f.aggregates) {
    for (ExprRef* e : {&a.arg, &a.second, &a.filter}) *e = Over(columns, *e);
  }
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

// No recursion: expressions may be deep, and share what they are made of.
bool MayRaise(const std::vector<ExprRef>& exprs) {
  std::vector<const Expr*> open;
  absl::flat_hash_set<const Expr*> seen;
  const auto add = [&](const ExprRef& e) {
    if (e->kind == ExprKind::kCall && seen.insert(e.get()).second) open.push_back(e.get());
  };
  for (const ExprRef& e : exprs) add(e);
  while (!open.empty()) {
    const Expr& call = *open.back();
    open.pop_back();
    if (CallMayRaise(call)) return true;
    for (const ExprRef& arg : call.args) add(arg);
  }
  return false;
}

}  // namespace adjoin
