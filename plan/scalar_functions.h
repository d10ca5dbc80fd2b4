// The scalar functions: one row each with name, types, kernel, derivative and SQL spelling, and
// nothing else anywhere.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/kernel_table.h"
#include "ops/row_function.h"
#include "plan/expr.h"

namespace adjoin {

// How a function treats NULL arguments, and which few have an evaluation rule of their own.
enum class NullRule : uint8_t {
  kStrict,  // NULL in, NULL out; the kernel does the rest
  kAnd,
  kOr,  // three-valued
  kIsNull,
  kIsNotNull,
  kIsDistinct,  // IS DISTINCT FROM
  kCase,        // args as in Expr; only the taken branch is evaluated
  kCoalesce,    // first argument that is not NULL; later ones evaluated only where needed
  kNullIf,      // NULL where the two are equal
  kGreatest,
  kLeast,       // NULL arguments are skipped
  kCast,        // Expr::type is the target
  kNearest,     // a cotangent's cast: past its type's range it is infinite, and no error
  kIdentity,    // stop_gradient
  kAccumulate,  // sum of cotangents: NULL ("nothing") is skipped; NULL where both are
  kRows,        // as kStrict, by `rows` instead of a kernel
};

// What a row's derivative says besides a formula.
enum class DerivativeKind : uint8_t {
  kFormula,    // `derivative` gives the partials
  kZero,       // piecewise constant (floor, sign, comparisons): no gradient, and that is right
  kSelecting,  // CASE, COALESCE, NULLIF, GREATEST, LEAST, cast, stop_gradient: rules in ad/
  kNone,       // typed error where the argument is active
};

struct ScalarFunction {
  std::string_view name;  // SQL name or operator, lower case; the key in plans and EXPLAIN
  NullRule null_rule = NullRule::kStrict;
  ScalarOp op = ScalarOp::kCount;  // the kernel, indexed by the operands' type; kCount: none
  DerivativeKind derivative_kind = DerivativeKind::kNone;
  // Partial of y = f(args) by argument i as an expression of y and args; nullptr: zero.
  ExprRef (*derivative)(const ExprRef& y, const std::vector<ExprRef>& args, int i) = nullptr;
  bool infix = false;                 // prints as "a + b"
  const RowFunction* rows = nullptr;  // kRows (plan/row_functions.cc)
};

// The row of that name; REQUIRES that it exists (internal callers).
const ScalarFunction* Function(std::string_view name);
const ScalarFunction* FindFunction(std::string_view name);  // nullptr where there is none
std::span<const ScalarFunction> AllFunctions();

// SQL's typing: resolves a call of SQL name `name` on typed arguments, inserting casts as
// PostgreSQL would (integers widen to the wider, integer with float gives double precision,
// smallint with real gives double precision, ...). `weak_real`: a float constant or an integer
// beside a REAL operand becomes REAL (SET adjoin.float_promotion = weak). Errors: 42883 "function
// f(t) does not exist" / "operator does not exist: t + t", worded as PostgreSQL's.
absl::StatusOr<ExprRef> ResolveCall(std::string_view name, std::vector<ExprRef> args,
                                    bool weak_real = false);
// Cast with PostgreSQL's rules of which pairs exist (42846 otherwise). Constants are folded; text
// constants are parsed (22P02 `invalid input syntax for type double precision: "x"`).
absl::StatusOr<ExprRef> ResolveCast(ExprRef arg, TypeId target);
// The type that UNION, CASE, VALUES, COALESCE give operands of these types; no value: they do not
// mix.
absl::StatusOr<TypeId> CommonType(std::span<const TypeId> types, std::string_view construct);

// Shorthands for rules and derivatives; operands must have equal types already. Constants fold;
// x*1, x+0 simplify.
ExprRef Add(const ExprRef& a, const ExprRef& b);
ExprRef Sub(const ExprRef& a, const ExprRef& b);
ExprRef Mul(const ExprRef& a, const ExprRef& b);
ExprRef Div(const ExprRef& a, const ExprRef& b);
ExprRef Neg(const ExprRef& a);
ExprRef Accumulate(const ExprRef& a, const ExprRef& b);  // sum of two cotangents, NULL = nothing
ExprRef FloatConst(double v, TypeId type);
ExprRef CallNamed(std::string_view name, std::vector<ExprRef> args, TypeId type);
ExprRef CaseExpr(std::vector<ExprRef> args);    // type of args[1]
ExprRef CastTo(const ExprRef& a, TypeId type);  // no-op where equal
// The same for floats, but never an error: what derivatives cast cotangents with.
ExprRef NearestTo(const ExprRef& a, TypeId type);

}  // namespace adjoin
