#include "sql/branch_guard.h"

#include <vector>

#include "sql/bind_expr.h"

namespace adjoin {
namespace {

ExprRef Leaves(Branch::Open open, const ExprRef& operand) {
  if (open == Branch::Open::kNull) return CallNamed("is null", {operand}, TypeId::kBool);
  const bool not_true = open == Branch::Open::kNotTrue;
  const ExprRef decided = ConstantExpr(Value::Bool(not_true), TypeId::kBool);
  return CallNamed("is distinct from", {operand, decided}, TypeId::kBool);
}

}  // namespace

ExprRef GuardOf(const Branch* branch) {
  std::vector<ExprRef> conditions;
  for (; branch != nullptr; branch = branch->around) {
    for (size_t i = 0; i < branch->before.size(); ++i) {
      const bool holds = branch->last_holds && i + 1 == branch->before.size();
      conditions.push_back(holds ? branch->before[i] : Leaves(branch->open, branch->before[i]));
    }
  }
  return conditions.empty() ? nullptr : Combine("and", conditions);
}

}  // namespace adjoin
