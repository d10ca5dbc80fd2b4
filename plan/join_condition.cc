#include "plan/join_condition.h"

#include <optional>
#include <utility>

#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// The two sides of an equality between left's columns and right's; nullopt where it is none.
std::optional<JoinKey> AsJoinKey(const ExprRef& conjunct, int left_width) {
  ExprRef equality = conjunct;
  bool null_safe = false;
  if (conjunct->kind != ExprKind::kCall) return std::nullopt;
  if (conjunct->function == Function("not")) {
    equality = conjunct->args[0];
    null_safe = true;
    if (equality->kind != ExprKind::kCall || equality->function != Function("is distinct from"))
      return std::nullopt;
  } else if (conjunct->function != Function("=")) {
    return std::nullopt;
  }
  const auto side = [&](const ExprRef& e) {  // 0 left, 1 right, -1 neither or both
    const std::vector<int> columns = ColumnsOf(e);
    if (columns.empty()) return -1;
    if (columns.back() < left_width) return 0;
    return columns.front() >= left_width ? 1 : -1;
  };
  const int a = side(equality->args[0]), b = side(equality->args[1]);
  if (a < 0 || b < 0 || a == b) return std::nullopt;
  const ExprRef& left = equality->args[a == 0 ? 0 : 1];
  const ExprRef& right = equality->args[a == 0 ? 1 : 0];
  return JoinKey{left, ShiftColumns(right, -left_width), null_safe};
}

}  // namespace

JoinCondition SplitJoinCondition(const std::vector<ExprRef>& conjuncts, int left_width) {
  JoinCondition out;
  std::vector<ExprRef> rest;
  for (const ExprRef& conjunct : conjuncts) {
    if (auto key = AsJoinKey(conjunct, left_width); key.has_value()) {
      out.keys.push_back(*std::move(key));
    } else {
      rest.push_back(conjunct);
    }
  }
  out.residual = AndAll(rest);
  return out;
}

}  // namespace adjoin
