// From expressions of plans to the register programs that run them.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ops/expression.h"
#include "plan/expr.h"

namespace adjoin {

// Puts expressions into an ExprBuilder. `column` gives the value of a column reference; it is asked
// once a column.
class ExprCompiler {
 public:
  ExprCompiler(ExprBuilder& builder, std::function<ExprBuilder::Id(const Expr& column)> column)
      : builder_(builder), column_(std::move(column)) {}
  // The value of `expr`. Errors: 0A000 where no kernel computes it; 54001 where it is nested too
  // deeply. `guard`, where given: a condition; errors of `expr` count only in rows where it is
  // TRUE.
  absl::StatusOr<ExprBuilder::Id> Compile(const ExprRef& expr, const ExprRef& guard = nullptr);

 private:
  using Id = ExprBuilder::Id;
  absl::StatusOr<Id> CompileIn(const ExprRef& expr, Id active);
  absl::StatusOr<Id> CompileCall(const ExprRef& expr, Id active);
  absl::StatusOr<Id> CompileStrict(const Expr& expr, Id active);
  absl::StatusOr<Id> CompileLogic(const Expr& expr, Id active);
  absl::StatusOr<Id> CompileCase(const Expr& expr, Id active);
  absl::StatusOr<Id> CompileCoalesce(const Expr& expr, Id active);
  absl::StatusOr<Id> CompileFold(const Expr& expr, Id active);
  absl::StatusOr<std::vector<Id>> CompileArgs(const Expr& expr, Id active);

  ExprBuilder& builder_;
  std::function<Id(const Expr& column)> column_;
  absl::flat_hash_map<std::pair<const Expr*, Id>, Id> known_;
  int depth_ = 0;
};

// A program whose outputs are `exprs`. Column i is at positions[i] of the input (empty: at i).
// `guards`: a guard an output, null for none; may be shorter than `exprs`.
absl::StatusOr<CompiledExpr> CompileExprs(std::span<const ExprRef> exprs,
                                          std::span<const int> positions = {},
                                          std::span<const ExprRef> guards = {});

}  // namespace adjoin
