// Scalar expressions over the columns of a node's input. Immutable and shared; printed and compared
// as values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/types.h"

namespace adjoin {

struct ScalarFunction;  // plan/scalar_functions.h
struct Expr;
using ExprRef = std::shared_ptr<const Expr>;

enum class ExprKind : uint8_t { kColumn, kConstant, kParameter, kCall };

struct Expr {
  ExprKind kind;
  TypeId type;
  int index = -1;                            // kColumn: the input's column; kParameter: $1 is 0
  Value constant;                            // kConstant
  const ScalarFunction* function = nullptr;  // kCall
  std::vector<ExprRef>
      args;           // kCall; of "case": condition, value, condition, value, ..., else value
  uint64_t hash = 0;  // structural
};

ExprRef ColumnExpr(int index, TypeId type);
ExprRef ConstantExpr(Value value, TypeId type);
ExprRef NullExpr(TypeId type);
ExprRef ParameterExpr(int index, TypeId type);
// A call with its result type already resolved (scalar_functions.h resolves SQL names and inserts
// casts).
ExprRef CallExpr(const ScalarFunction* function, std::vector<ExprRef> args, TypeId type);

bool SameExpr(const ExprRef& a, const ExprRef& b);
inline bool IsNullConstant(const Expr& e) {
  return e.kind == ExprKind::kConstant && e.constant.is_null();
}

// Rebuilds `expr` with every kColumn replaced by `f(column)`; sharing inside the expression is
// kept.
ExprRef MapColumns(const ExprRef& expr, const std::function<ExprRef(const Expr& column)>& f);
// Adds to the column indices: [0, split) stay, the others move by `offset`.
ExprRef ShiftColumns(const ExprRef& expr, int offset);
// The columns read, ascending, each once.
std::vector<int> ColumnsOf(const ExprRef& expr);
// The predicate's conjuncts ("a AND b AND c" is three).
std::vector<ExprRef> Conjuncts(const ExprRef& predicate);
ExprRef AndAll(const std::vector<ExprRef>& conjuncts);  // nullptr for none

// "val * 2 + exp(x)"; columns print as names[index], or #index where there is no name.
std::string ToString(const ExprRef& expr, const std::vector<std::string>& names = {});

}  // namespace adjoin
