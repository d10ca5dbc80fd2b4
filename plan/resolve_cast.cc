// SQL's casts: what is cast to what, and casts of constants.
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/parse_element.h"
#include "engine/status.h"
#include "engine/text.h"
#include "plan/row_functions.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

absl::Status OutOfRange(TypeId type) {
  return SqlError(sqlstate::kNumericOutOfRange,
                  absl::StrCat(ToAbsl(TypeName(type)), " out of range"));
}

absl::StatusOr<Value> CastConstant(const Value& v, TypeId from, TypeId to) {
  if (v.is_null()) return v;
  if (from == TypeId::kText) return ParseText(v.as_text(), to);
  if (to == TypeId::kText)
    return Value::Text(from == TypeId::kBool ? (v.as_bool() ? "true" : "false") : ToText(v, from));
  if (to == TypeId::kBool) return Value::Bool(v.as_int() != 0);
  if (from == TypeId::kBool) return Value::Int(v.as_bool() ? 1 : 0);
  if (IsFloat(to)) {
    const double d = IsFloat(from) ? v.as_float() : static_cast<double>(v.as_int());
    if (to == TypeId::kFloat64) return Value::Float(d);
    const float narrow = static_cast<float>(d);
    if (std::isinf(narrow) && !std::isinf(d)) {
      return SqlError(sqlstate::kNumericOutOfRange, "value out of range: overflow");
    }
    return Value::Float(narrow);
  }
  int64_t i;
  if (IsFloat(from)) {
    const double r = std::nearbyint(v.as_float());
    if (!(r >= -9223372036854775808.0 && r < 9223372036854775808.0)) return OutOfRange(to);
    i = static_cast<int64_t>(r);
  } else {
    i = v.as_int();
  }
  const auto [low, high] = RangeOf(to);
  if (i < low || i > high) return OutOfRange(to);
  return Value::Int(i);
}

// Casts that are functions of rows, by PostgreSQL's names of the types; empty: the others.
std::string_view CastFunction(TypeId from, TypeId to) {
  if (TemporalType(from, to).has_value()) return to == TypeId::kDate ? "date" : "timestamp";
  if (to == TypeId::kDecimal && IsNumeric(from)) return "numeric";
  if (from != TypeId::kDecimal) return "";
  switch (to) {
    case TypeId::kInt16:
      return "int2";
    case TypeId::kInt32:
      return "int4";
    case TypeId::kInt64:
      return "int8";
    case TypeId::kFloat32:
      return "float4";
    case TypeId::kFloat64:
      return "float8";
    default:
      return "";
  }
}

bool CastExists(TypeId from, TypeId to) {
  if (from == to || from == TypeId::kText || to == TypeId::kText) return true;
  if (!CastFunction(from, to).empty()) return true;
  if (!IsArrayType(from) || !IsArrayType(to)) return false;
  if (from == TypeId::kBool || to == TypeId::kBool)
    return from == TypeId::kInt32 || to == TypeId::kInt32;
  return true;
}

}  // namespace

std::optional<TypeId> TemporalType(TypeId a, TypeId b) {
  const auto is_moment = [](TypeId t) { return t == TypeId::kDate || t == TypeId::kTimestamp; };
  if (a == b || !is_moment(a) || !is_moment(b)) return std::nullopt;
  return TypeId::kTimestamp;
}

absl::StatusOr<ExprRef> ResolveCast(ExprRef arg, TypeId target) {
  const TypeId from = arg->type;
  if (from == target) return arg;
  if (IsNullConstant(*arg)) return NullExpr(target);
  if (!CastExists(from, target)) {
    return SqlError(sqlstate::kCannotCoerce,
                    absl::StrCat("cannot cast type ", ToAbsl(TypeName(from)), " to ",
                                 ToAbsl(TypeName(target))));
  }
  if (!CastFunction(from, target).empty()) return CastTo(arg, target);
  if (arg->kind == ExprKind::kConstant) {
    ADJOIN_ASSIGN_OR_RETURN(Value v, CastConstant(arg->constant, from, target));
    return ConstantExpr(std::move(v), target);
  }
  return CallNamed("cast", {std::move(arg)}, target);
}

ExprRef CastTo(const ExprRef& a, TypeId type) {
  if (a->type == type) return a;
  if (const std::string_view name = CastFunction(a->type, type); !name.empty()) {
    const std::optional<TypeId> from[] = {a->type};
    return CallRowFunction(FindRowFunction(name, from), {a});
  }
  if (a->kind == ExprKind::kConstant && (a->constant.is_null() || IsNumeric(a->type))) {
    if (auto v = CastConstant(a->constant, a->type, type); v.ok()) return ConstantExpr(*v, type);
  }
  return CallNamed("cast", {a}, type);
}

ExprRef NearestTo(const ExprRef& a, TypeId type) {
  const bool narrows = a->type == TypeId::kFloat64 && type == TypeId::kFloat32;
  return narrows && a->kind != ExprKind::kConstant ? CallNamed("nearest", {a}, type)
                                                   : CastTo(a, type);
}

}  // namespace adjoin
