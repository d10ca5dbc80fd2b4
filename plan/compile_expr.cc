#include "plan/compile_expr.h"

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

constexpr int kMaxDepth = 3000;

// The operands of nested calls of one function, in order: "a OR b OR c", which parses as a deep
// tree, is three.
std::vector<ExprRef> FlattenLeft(const Expr& expr) {
  std::vector<ExprRef> reversed;
  const Expr* e = &expr;
  while (true) {
    for (size_t i = e->args.size(); i-- > 1;) reversed.push_back(e->args[i]);
    const ExprRef& first = e->args[0];
    if (first->kind != ExprKind::kCall || first->function != expr.function) {
      reversed.push_back(first);
      return {reversed.rbegin(), reversed.rend()};
    }
    e = first.get();
  }
}

absl::Status Unsupported(const Expr& expr) {
  return SqlError(
      sqlstate::kFeatureNotSupported,
      ToStd(absl::StrCat("function ", ToAbsl(expr.function->name), " is not supported for type ",
                         ToAbsl(TypeName(expr.args.empty() ? expr.type : expr.args[0]->type)))));
}

bool IsComparison(ScalarOp op) {
  return op == ScalarOp::kEqual || op == ScalarOp::kNotEqual || op == ScalarOp::kLess ||
         op == ScalarOp::kLessEqual;
}

}  // namespace

absl::StatusOr<ExprBuilder::Id> ExprCompiler::Compile(const ExprRef& expr, const ExprRef& guard) {
  if (guard == nullptr) return CompileIn(expr, ExprBuilder::kAlways);
  ADJOIN_ASSIGN_OR_RETURN(const Id condition, CompileIn(guard, ExprBuilder::kAlways));
  return CompileIn(expr, builder_.Mask(ExprOpcode::kMaskTrue, ExprBuilder::kAlways, condition));
}

absl::StatusOr<ExprBuilder::Id> ExprCompiler::CompileIn(const ExprRef& expr, Id active) {
  switch (expr->kind) {
    case ExprKind::kColumn:
      break;
    case ExprKind::kConstant:
      return builder_.Constant(expr->constant, expr->type);
    case ExprKind::kParameter:
      return builder_.Parameter(expr->index, expr->type);
    case ExprKind::kCall:
      break;
  }
  // What was computed where more rows are active serves here too.
  for (Id mask = active;; mask = builder_.outer(mask)) {
    if (auto it = known_.find({expr.get(), mask}); it != known_.end()) return it->second;
    if (mask == ExprBuilder::kAlways) break;
  }
  Id id;
  if (expr->kind == ExprKind::kColumn) {
    id = column_(*expr);
  } else {
    if (++depth_ > kMaxDepth)
      return SqlError(sqlstate::kStatementTooComplex, "stack depth limit exceeded");
    ADJOIN_ASSIGN_OR_RETURN(id, CompileCall(expr, active));
    --depth_;
  }
  known_[{expr.get(), builder_.may_fail(id) ? active : ExprBuilder::kAlways}] = id;
  return id;
}

absl::StatusOr<ExprBuilder::Id> ExprCompiler::CompileCall(const ExprRef& expr, Id active) {
  const NullRule rule = expr->function->null_rule;
  switch (rule) {
    case NullRule::kStrict:
      return CompileStrict(*expr, active);
    case NullRule::kAnd:
    case NullRule::kOr:
      return CompileLogic(*expr, active);
    case NullRule::kCase:
      return CompileCase(*expr, active);
    case NullRule::kCoalesce:
      return CompileCoalesce(*expr, active);
    case NullRule::kGreatest:
    case NullRule::kLeast:
    case NullRule::kAccumulate:
      return CompileFold(*expr, active);
    default:
      break;
  }
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<Id> args, CompileArgs(*expr, active));
  switch (rule) {
    case NullRule::kIsNull:
      return builder_.IsNull(args[0]);
    case NullRule::kIsNotNull:
      return builder_.IsNotNull(args[0]);
    case NullRule::kIsDistinct:
      return builder_.IsDistinct(args[0], args[1]);
    case NullRule::kNullIf:
      return builder_.NullIf(args[0], builder_.Compare(ScalarOp::kEqual, args[0], args[1]));
    case NullRule::kCast:
      return builder_.Cast(args[0], expr->type, active);
    case NullRule::kNearest: {
      const Id never = builder_.Mask(ExprOpcode::kMaskTrue, ExprBuilder::kAlways,
                                     builder_.Constant(Value::Bool(false), TypeId::kBool));
      return builder_.Cast(args[0], expr->type, never);
    }
    case NullRule::kIdentity:
      return args[0];
    case NullRule::kRows:
      return builder_.Rows(expr->function->rows, args, active);
    default:
      return Unsupported(*expr);
  }
}

absl::StatusOr<std::vector<ExprBuilder::Id>> ExprCompiler::CompileArgs(const Expr& expr,
                                                                       Id active) {
  std::vector<Id> args;
  for (const ExprRef& arg : expr.args) {
    ADJOIN_ASSIGN_OR_RETURN(const Id id, CompileIn(arg, active));
    args.push_back(id);
  }
  return args;
}

absl::StatusOr<ExprBuilder::Id> ExprCompiler::CompileStrict(const Expr& expr, Id active) {
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<Id> args, CompileArgs(expr, active));
  const ScalarOp op = expr.function->op;
  if (args.empty() || args.size() > 3) return Unsupported(expr);
  const TypeId operand = builder_.type(args[0]);
  if (IsComparison(op)) return builder_.Compare(op, args[0], args[1]);
  if (!ExprBuilder::HasKernel(op, operand)) return Unsupported(expr);
  return builder_.Strict(op, operand, expr.type, args, active);
}

// The second operand is evaluated where the first does not decide.
absl::StatusOr<ExprBuilder::Id> ExprCompiler::CompileLogic(const Expr& expr, Id active) {
  const bool is_and = expr.function->null_rule == NullRule::kAnd;
  const ExprOpcode goes_on = is_and ? ExprOpcode::kMaskNotFalse : ExprOpcode::kMaskNotTrue;
  const std::vector<ExprRef> operands = FlattenLeft(expr);
  ADJOIN_ASSIGN_OR_RETURN(Id result, CompileIn(operands[0], active));
  for (size_t i = 1; i < operands.size(); ++i) {
    active = builder_.Mask(goes_on, active, result);
    ADJOIN_ASSIGN_OR_RETURN(const Id next, CompileIn(operands[i], active));
    result = is_and ? builder_.And(result, next) : builder_.Or(result, next);
  }
  return result;
}

absl::StatusOr<ExprBuilder::Id> ExprCompiler::CompileCase(const Expr& expr, Id active) {
  std::vector<std::pair<Id, Id>> branches;  // mask and value
  size_t i = 0;
  for (; i + 1 < expr.args.size(); i += 2) {
    ADJOIN_ASSIGN_OR_RETURN(const Id condition, CompileIn(expr.args[i], active));
    const Id taken = builder_.Mask(ExprOpcode::kMaskTrue, active, condition);
    ADJOIN_ASSIGN_OR_RETURN(const Id value, CompileIn(expr.args[i + 1], taken));
    // Blended in every row, active or not: the value may be shared with where more rows are active.
    branches.emplace_back(builder_.Mask(ExprOpcode::kMaskTrue, ExprBuilder::kAlways, condition),
                          value);
    active = builder_.Mask(ExprOpcode::kMaskNotTrue, active, condition);
  }
  Id result;
  if (i < expr.args.size()) {
    ADJOIN_ASSIGN_OR_RETURN(result, CompileIn(expr.args[i], active));
  } else {
    result = builder_.Constant(Value(), expr.type);
  }
  for (size_t b = branches.size(); b-- > 0;)
    result = builder_.Blend(branches[b].first, branches[b].second, result);
  return result;
}

absl::StatusOr<ExprBuilder::Id> ExprCompiler::CompileCoalesce(const Expr& expr, Id active) {
  ADJOIN_ASSIGN_OR_RETURN(Id result, CompileIn(expr.args[0], active));
  for (size_t i = 1; i < expr.args.size(); ++i) {
    active = builder_.Mask(ExprOpcode::kMaskNull, active, result);
    ADJOIN_ASSIGN_OR_RETURN(const Id next, CompileIn(expr.args[i], active));
    result = builder_.Coalesce(result, next);
  }
  return result;
}

absl::StatusOr<ExprBuilder::Id> ExprCompiler::CompileFold(const Expr& expr, Id active) {
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<Id> args, CompileArgs(expr, active));
  Id result = args[0];
  for (size_t i = 1; i < args.size(); ++i) {
    switch (expr.function->null_rule) {
      case NullRule::kGreatest:
        result = builder_.Greatest(result, args[i]);
        break;
      case NullRule::kLeast:
        result = builder_.Least(result, args[i]);
        break;
      default:
        result = builder_.Accumulate(result, args[i], active);
        break;
    }
  }
  return result;
}

absl::StatusOr<CompiledExpr> CompileExprs(std::span<const ExprRef> exprs,
                                          std::span<const int> positions,
                                          std::span<const ExprRef> guards) {
  ExprBuilder builder;
  ExprCompiler compiler(builder, [&](const Expr& column) {
    return builder.Input(
        positions.empty() ? column.index : positions[static_cast<size_t>(column.index)],
        column.type);
  });
  for (size_t i = 0; i < exprs.size(); ++i) {
    const ExprRef guard = i < guards.size() ? guards[i] : nullptr;
    ADJOIN_ASSIGN_OR_RETURN(const ExprBuilder::Id id, compiler.Compile(exprs[i], guard));
    builder.Output(id);
  }
  return std::move(builder).Build();
}

}  // namespace adjoin
