#include "plan/expr.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/text.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

Expr MakeExpr(ExprKind kind, TypeId type) {
  Expr e;
  e.kind = kind;
  e.type = type;
  return e;
}

ExprRef Finish(Expr e) {
  uint64_t hash = absl::HashOf(static_cast<int>(e.kind), static_cast<int>(e.type), e.index,
                               e.constant, static_cast<const void*>(e.function));
  for (const ExprRef& arg : e.args) hash = absl::HashOf(hash, arg->hash);
  e.hash = hash;
  return std::make_shared<const Expr>(std::move(e));
}

void CollectColumns(const ExprRef& expr, absl::flat_hash_map<const Expr*, bool>& seen,
                    std::vector<int>& out) {
  if (!seen.emplace(expr.get(), true).second) return;
  if (expr->kind == ExprKind::kColumn) out.push_back(expr->index);
  for (const ExprRef& arg : expr->args) CollectColumns(arg, seen, out);
}

ExprRef MapColumnsMemo(const ExprRef& expr, const std::function<ExprRef(const Expr&)>& f,
                       absl::flat_hash_map<const Expr*, ExprRef>& memo) {
  if (expr->kind == ExprKind::kColumn) return f(*expr);
  if (expr->args.empty()) return expr;
  if (auto it = memo.find(expr.get()); it != memo.end()) return it->second;
  std::vector<ExprRef> args;
  args.reserve(expr->args.size());
  bool changed = false;
  for (const ExprRef& arg : expr->args) {
    args.push_back(MapColumnsMemo(arg, f, memo));
    changed |= args.back() != arg;
  }
  ExprRef result = changed ? CallExpr(expr->function, std::move(args), expr->type) : expr;
  memo.emplace(expr.get(), result);
  return result;
}

void CollectConjuncts(const ExprRef& e, std::vector<ExprRef>& out) {
  if (e->kind == ExprKind::kCall && e->function->null_rule == NullRule::kAnd) {
    for (const ExprRef& arg : e->args) CollectConjuncts(arg, out);
  } else {
    out.push_back(e);
  }
}

std::string ConstantText(const Expr& e) {
  if (e.constant.is_null()) return "NULL";
  if (e.type != TypeId::kBool && !IsNumeric(e.type))
    return absl::StrCat("'", ToText(e.constant, e.type), "'");
  if (e.type == TypeId::kBool) return e.constant.as_bool() ? "true" : "false";
  return ToText(e.constant, e.type);
}

std::string CaseText(const Expr& e, const std::vector<std::string>& names) {
  std::string out = "CASE";
  for (size_t i = 0; i + 1 < e.args.size(); i += 2) {
    absl::StrAppend(&out, " WHEN ", ToString(e.args[i], names), " THEN ",
                    ToString(e.args[i + 1], names));
  }
  if (e.args.size() % 2 == 1 && !IsNullConstant(*e.args.back())) {
    absl::StrAppend(&out, " ELSE ", ToString(e.args.back(), names));
  }
  return out + " END";
}

std::string OperandText(const ExprRef& e, const std::vector<std::string>& names) {
  const bool infix = e->kind == ExprKind::kCall && e->function->infix && e->args.size() > 1;
  return infix ? absl::StrCat("(", ToString(e, names), ")") : ToString(e, names);
}

}  // namespace

ExprRef ColumnExpr(int index, TypeId type) {
  Expr e = MakeExpr(ExprKind::kColumn, type);
  e.index = index;
  return Finish(std::move(e));
}

ExprRef ConstantExpr(Value value, TypeId type) {
  Expr e = MakeExpr(ExprKind::kConstant, type);
  e.constant = std::move(value);
  return Finish(std::move(e));
}

ExprRef NullExpr(TypeId type) { return ConstantExpr(Value(), type); }

ExprRef ParameterExpr(int index, TypeId type) {
  Expr e = MakeExpr(ExprKind::kParameter, type);
  e.index = index;
  return Finish(std::move(e));
}

ExprRef CallExpr(const ScalarFunction* function, std::vector<ExprRef> args, TypeId type) {
  Expr e = MakeExpr(ExprKind::kCall, type);
  e.function = function;
  e.args = std::move(args);
  return Finish(std::move(e));
}

bool SameExpr(const ExprRef& a, const ExprRef& b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || a->hash != b->hash) return false;
  if (a->kind != b->kind || a->type != b->type || a->index != b->index ||
      a->function != b->function || a->args.size() != b->args.size() ||
      !(a->constant == b->constant)) {
    return false;
  }
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (!SameExpr(a->args[i], b->args[i])) return false;
  }
  return true;
}

ExprRef MapColumns(const ExprRef& expr, const std::function<ExprRef(const Expr&)>& f) {
  absl::flat_hash_map<const Expr*, ExprRef> memo;
  return MapColumnsMemo(expr, f, memo);
}

ExprRef ShiftColumns(const ExprRef& expr, int offset) {
  if (offset == 0) return expr;
  return MapColumns(expr, [offset](const Expr& c) { return ColumnExpr(c.index + offset, c.type); });
}

std::vector<int> ColumnsOf(const ExprRef& expr) {
  std::vector<int> out;
  if (expr == nullptr) return out;
  absl::flat_hash_map<const Expr*, bool> seen;
  CollectColumns(expr, seen, out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<ExprRef> Conjuncts(const ExprRef& predicate) {
  std::vector<ExprRef> out;
  if (predicate != nullptr) CollectConjuncts(predicate, out);
  return out;
}

ExprRef AndAll(const std::vector<ExprRef>& conjuncts) {
  ExprRef out;
  for (const ExprRef& c : conjuncts)
    out = out == nullptr ? c : CallExpr(Function("and"), {out, c}, TypeId::kBool);
  return out;
}

std::string ToString(const ExprRef& expr, const std::vector<std::string>& names) {
  const Expr& e = *expr;
  switch (e.kind) {
    case ExprKind::kColumn: {
      const size_t i = static_cast<size_t>(e.index);
      return i < names.size() && !names[i].empty() ? names[i] : absl::StrCat("#", e.index);
    }
    case ExprKind::kConstant:
      return ConstantText(e);
    case ExprKind::kParameter:
      return absl::StrCat("$", e.index + 1);
    case ExprKind::kCall:
      break;
  }
  if (e.function->null_rule == NullRule::kCase) return CaseText(e, names);
  if (e.function->null_rule == NullRule::kCast || e.function->null_rule == NullRule::kNearest) {
    return absl::StrCat("CAST(", ToString(e.args[0], names), " AS ", ToAbsl(TypeName(e.type)), ")");
  }
  if (e.function->null_rule == NullRule::kIsNull || e.function->null_rule == NullRule::kIsNotNull) {
    return absl::StrCat(OperandText(e.args[0], names), " ", ToAbsl(e.function->name));
  }
  if (e.function->infix && e.args.size() == 2) {
    return absl::StrCat(OperandText(e.args[0], names), " ", ToAbsl(e.function->name), " ",
                        OperandText(e.args[1], names));
  }
  return absl::StrCat(ToAbsl(e.function->name), "(",
                      absl::StrJoin(e.args, ", ",
                                    [&](std::string* out, const ExprRef& a) {
                                      absl::StrAppend(out, ToString(a, names));
                                    }),
                      ")");
}

}  // namespace adjoin
