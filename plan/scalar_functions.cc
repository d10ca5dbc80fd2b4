#include "plan/scalar_functions.h"

#include <cmath>
#include <utility>

#include "engine/status.h"

namespace adjoin {
namespace {

using Args = std::vector<ExprRef>;

// ---- Partials: dy/d(args[i]) from y and args. One function a row where the formula is more than a
// factor.

ExprRef C(double v, const ExprRef& like) { return FloatConst(v, like->type); }
ExprRef Call1(std::string_view name, const ExprRef& x) { return CallNamed(name, {x}, x->type); }
ExprRef Square(const ExprRef& x) { return Mul(x, x); }
ExprRef IsZero(const ExprRef& x) { return CallNamed("=", {x, C(0, x)}, TypeId::kBool); }

ExprRef DAdd(const ExprRef& y, const Args&, int) { return C(1, y); }
ExprRef DSub(const ExprRef& y, const Args&, int i) { return C(i == 0 ? 1 : -1, y); }
ExprRef DMul(const ExprRef&, const Args& a, int i) { return a[static_cast<size_t>(1 - i)]; }
ExprRef DDiv(const ExprRef& y, const Args& a, int i) {
  return i == 0 ? Div(C(1, y), a[1]) : Neg(Div(y, a[1]));
}
ExprRef DMod(const ExprRef& y, const Args& a, int i) {
  return i == 0 ? C(1, y) : Neg(CallNamed("trunc", {Div(a[0], a[1])}, y->type));
}
ExprRef DNeg(const ExprRef& y, const Args&, int) { return C(-1, y); }
ExprRef DAbs(const ExprRef&, const Args& a, int) {
  return Call1("sign", a[0]);
}  // 0 at 0, unlike JAX: see README
ExprRef DSqrt(const ExprRef& y, const Args&, int) { return Div(C(0.5, y), y); }
ExprRef DCbrt(const ExprRef& y, const Args&, int) { return Div(C(1.0 / 3.0, y), Square(y)); }
ExprRef DExp(const ExprRef& y, const Args&, int) { return y; }
ExprRef DLn(const ExprRef& y, const Args& a, int) { return Div(C(1, y), a[0]); }
ExprRef DLog10(const ExprRef& y, const Args& a, int) { return Div(C(1 / std::log(10.0), y), a[0]); }
ExprRef DLog2(const ExprRef& y, const Args& a, int) { return Div(C(1 / std::log(2.0), y), a[0]); }

// x^p: exactly 0 for p = 0 and 1 for p = 1 at every x; by p: y ln x, 0 at x = 0.
ExprRef DPower(const ExprRef& y, const Args& a, int i) {
  const ExprRef& x = a[0];
  const ExprRef& p = a[1];
  if (i == 1) return CaseExpr({IsZero(x), C(0, y), Mul(y, Call1("ln", x))});
  if (p->kind == ExprKind::kConstant && !p->constant.is_null()) {
    const double power = p->constant.as_float();
    if (power == 0) return C(0, y);
    if (power == 1) return C(1, y);
    if (power == 2) return Mul(C(2, y), x);
    return Mul(p, CallNamed("power", {x, C(power - 1, y)}, y->type));
  }
  const ExprRef general = Mul(p, CallNamed("power", {x, Sub(p, C(1, y))}, y->type));
  return CaseExpr(
      {IsZero(p), C(0, y), CallNamed("=", {p, C(1, y)}, TypeId::kBool), C(1, y), general});
}

ExprRef DSin(const ExprRef&, const Args& a, int) { return Call1("cos", a[0]); }
ExprRef DCos(const ExprRef&, const Args& a, int) { return Neg(Call1("sin", a[0])); }
ExprRef DTan(const ExprRef& y, const Args&, int) { return Add(C(1, y), Square(y)); }
ExprRef DAsin(const ExprRef& y, const Args& a, int) {
  return Div(C(1, y), Call1("sqrt", Sub(C(1, y), Square(a[0]))));
}
ExprRef DAcos(const ExprRef& y, const Args& a, int i) { return Neg(DAsin(y, a, i)); }
ExprRef DAtan(const ExprRef& y, const Args& a, int) {
  return Div(C(1, y), Add(C(1, y), Square(a[0])));
}
ExprRef DAtan2(const ExprRef&, const Args& a, int i) {
  const ExprRef norm = Add(Square(a[0]), Square(a[1]));
  return i == 0 ? Div(a[1], norm) : Neg(Div(a[0], norm));
}
ExprRef DSinh(const ExprRef&, const Args& a, int) { return Call1("cosh", a[0]); }
ExprRef DCosh(const ExprRef&, const Args& a, int) { return Call1("sinh", a[0]); }
ExprRef DTanh(const ExprRef& y, const Args&, int) { return Sub(C(1, y), Square(y)); }
ExprRef DAsinh(const ExprRef& y, const Args& a, int) {
  return Div(C(1, y), Call1("sqrt", Add(Square(a[0]), C(1, y))));
}
ExprRef DAcosh(const ExprRef& y, const Args& a, int) {
  return Div(C(1, y), Call1("sqrt", Sub(Square(a[0]), C(1, y))));
}
ExprRef DAtanh(const ExprRef& y, const Args& a, int) {
  return Div(C(1, y), Sub(C(1, y), Square(a[0])));
}
ExprRef DErf(const ExprRef& y, const Args& a, int) {
  return Mul(C(2 / std::sqrt(M_PI), y), Call1("exp", Neg(Square(a[0]))));
}
ExprRef DErfc(const ExprRef& y, const Args& a, int i) { return Neg(DErf(y, a, i)); }

// Of (low, high, word) and (scale, word). Where high is below low the value is low.
ExprRef DRandomUniform(const ExprRef& y, const Args& a, int i) {
  const ExprRef unit = CallNamed("random_uniform", {C(0, y), C(1, y), a[2]}, y->type);
  const ExprRef is_low = CallNamed("<", {a[1], a[0]}, TypeId::kBool);
  return CaseExpr({is_low, C(i == 0 ? 1 : 0, y), i == 0 ? Sub(C(1, y), unit) : unit});
}
ExprRef DRandomNormal(const ExprRef& y, const Args& a, int) {
  return CallNamed("random_normal", {C(1, y), a[1]}, y->type);
}

using D = DerivativeKind;
using N = NullRule;
using S = ScalarOp;

const ScalarFunction kFunctions[] = {
    {"+", N::kStrict, S::kAdd, D::kFormula, DAdd, true},
    {"-", N::kStrict, S::kSubtract, D::kFormula, DSub, true},
    {"*", N::kStrict, S::kMultiply, D::kFormula, DMul, true},
    {"/", N::kStrict, S::kDivide, D::kFormula, DDiv, true},
    {"%", N::kStrict, S::kRemainder, D::kFormula, DMod, true},
    {"neg", N::kStrict, S::kNegate, D::kFormula, DNeg},
    {"abs", N::kStrict, S::kAbs, D::kFormula, DAbs},
    {"sign", N::kStrict, S::kSign, D::kZero},
    {"=", N::kStrict, S::kEqual, D::kZero, nullptr, true},
    {"<>", N::kStrict, S::kNotEqual, D::kZero, nullptr, true},
    {"<", N::kStrict, S::kLess, D::kZero, nullptr, true},
    {"<=", N::kStrict, S::kLessEqual, D::kZero, nullptr, true},
    {"and", N::kAnd, S::kAnd, D::kZero, nullptr, true},
    {"or", N::kOr, S::kOr, D::kZero, nullptr, true},
    {"not", N::kStrict, S::kNot, D::kZero},
    {"is null", N::kIsNull, S::kCount, D::kZero},
    {"is not null", N::kIsNotNull, S::kCount, D::kZero},
    {"is distinct from", N::kIsDistinct, S::kNotEqual, D::kZero, nullptr, true},
    {"case", N::kCase, S::kSelect, D::kSelecting},
    {"coalesce", N::kCoalesce, S::kSelect, D::kSelecting},
    {"nullif", N::kNullIf, S::kEqual, D::kSelecting},
    {"greatest", N::kGreatest, S::kGreatest, D::kSelecting},
    {"least", N::kLeast, S::kLeast, D::kSelecting},
    {"cast", N::kCast, S::kCount, D::kSelecting},
    {"nearest", N::kNearest, S::kCount, D::kSelecting},
    {"stop_gradient", N::kIdentity, S::kCount, D::kSelecting},
    {"accumulate", N::kAccumulate, S::kAdd, D::kSelecting},
    {"sqrt", N::kStrict, S::kSqrt, D::kFormula, DSqrt},
    {"cbrt", N::kStrict, S::kCbrt, D::kFormula, DCbrt},
    {"exp", N::kStrict, S::kExp, D::kFormula, DExp},
    {"ln", N::kStrict, S::kLn, D::kFormula, DLn},
    {"log10", N::kStrict, S::kLog10, D::kFormula, DLog10},
    {"log2", N::kStrict, S::kLog2, D::kFormula, DLog2},
    {"power", N::kStrict, S::kPower, D::kFormula, DPower},
    {"sin", N::kStrict, S::kSin, D::kFormula, DSin},
    {"cos", N::kStrict, S::kCos, D::kFormula, DCos},
    {"tan", N::kStrict, S::kTan, D::kFormula, DTan},
    {"asin", N::kStrict, S::kAsin, D::kFormula, DAsin},
    {"acos", N::kStrict, S::kAcos, D::kFormula, DAcos},
    {"atan", N::kStrict, S::kAtan, D::kFormula, DAtan},
    {"atan2", N::kStrict, S::kAtan2, D::kFormula, DAtan2},
    {"sinh", N::kStrict, S::kSinh, D::kFormula, DSinh},
    {"cosh", N::kStrict, S::kCosh, D::kFormula, DCosh},
    {"tanh", N::kStrict, S::kTanh, D::kFormula, DTanh},
    {"asinh", N::kStrict, S::kAsinh, D::kFormula, DAsinh},
    {"acosh", N::kStrict, S::kAcosh, D::kFormula, DAcosh},
    {"atanh", N::kStrict, S::kAtanh, D::kFormula, DAtanh},
    {"erf", N::kStrict, S::kErf, D::kFormula, DErf},
    {"erfc", N::kStrict, S::kErfc, D::kFormula, DErfc},
    {"floor", N::kStrict, S::kFloor, D::kZero},
    {"ceil", N::kStrict, S::kCeil, D::kZero},
    {"round", N::kStrict, S::kRound, D::kZero},
    {"trunc", N::kStrict, S::kTrunc, D::kZero},
    {"&", N::kStrict, S::kBitAnd, D::kNone, nullptr, true},
    {"|", N::kStrict, S::kBitOr, D::kNone, nullptr, true},
    {"#", N::kStrict, S::kBitXor, D::kNone, nullptr, true},
    {"~", N::kStrict, S::kBitNot, D::kNone},
    {"<<", N::kStrict, S::kShiftLeft, D::kNone, nullptr, true},
    {">>", N::kStrict, S::kShiftRight, D::kNone, nullptr, true},
    {"random_split", N::kStrict, S::kRandomSplit, D::kZero},
    {"random_bits", N::kStrict, S::kRandomBits, D::kZero},
    {"random_uniform", N::kStrict, S::kRandomUniform, D::kFormula, DRandomUniform},
    {"random_normal", N::kStrict, S::kRandomNormal, D::kFormula, DRandomNormal},
    {"||", N::kTextConcat, S::kCount, D::kNone, nullptr, true},
    {"length", N::kTextLength, S::kCount, D::kNone},
    {"lower", N::kTextLower, S::kCount, D::kNone},
    {"upper", N::kTextUpper, S::kCount, D::kNone},
};

// ---- Constants.

ExprRef FoldBinary(std::string_view name, const ExprRef& a, const ExprRef& b) {
  if (a->kind != ExprKind::kConstant || b->kind != ExprKind::kConstant || !IsFloat(a->type))
    return nullptr;
  if (a->constant.is_null() || b->constant.is_null()) return NullExpr(a->type);
  const double x = a->constant.as_float(), y = b->constant.as_float();
  double v = name == "+" ? x + y : name == "-" ? x - y : name == "*" ? x * y : x / y;
  if (a->type == TypeId::kFloat32) v = static_cast<float>(v);
  return FloatConst(v, a->type);
}

bool IsConstant(const ExprRef& e, double v) {
  return e->kind == ExprKind::kConstant && e->constant.is_float() && e->constant.as_float() == v;
}

}  // namespace

const ScalarFunction* FindFunction(std::string_view name) {
  for (const ScalarFunction& f : kFunctions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

const ScalarFunction* Function(std::string_view name) {
  const ScalarFunction* f = FindFunction(name);
  ADJOIN_DCHECK(f != nullptr);
  return f;
}

std::span<const ScalarFunction> AllFunctions() { return kFunctions; }

ExprRef FloatConst(double v, TypeId type) {
  return ConstantExpr(Value::Float(type == TypeId::kFloat32 ? static_cast<float>(v) : v), type);
}

ExprRef CallNamed(std::string_view name, std::vector<ExprRef> args, TypeId type) {
  return CallExpr(Function(name), std::move(args), type);
}

ExprRef Add(const ExprRef& a, const ExprRef& b) {
  if (ExprRef folded = FoldBinary("+", a, b)) return folded;
  return CallNamed("+", {a, b}, a->type);
}

ExprRef Sub(const ExprRef& a, const ExprRef& b) {
  if (ExprRef folded = FoldBinary("-", a, b)) return folded;
  return CallNamed("-", {a, b}, a->type);
}

ExprRef Mul(const ExprRef& a, const ExprRef& b) {
  if (ExprRef folded = FoldBinary("*", a, b)) return folded;
  if (IsConstant(a, 1)) return b;
  if (IsConstant(b, 1)) return a;
  if (IsConstant(a, -1)) return Neg(b);
  if (IsConstant(b, -1)) return Neg(a);
  return CallNamed("*", {a, b}, a->type);
}

ExprRef Div(const ExprRef& a, const ExprRef& b) {
  if (ExprRef folded = FoldBinary("/", a, b)) return folded;
  if (IsConstant(b, 1)) return a;
  return CallNamed("/", {a, b}, a->type);
}

ExprRef Neg(const ExprRef& a) {
  if (a->kind == ExprKind::kConstant && !a->constant.is_null()) {
    if (a->constant.is_float()) return ConstantExpr(Value::Float(-a->constant.as_float()), a->type);
    const int64_t least = a->type == TypeId::kInt16   ? INT16_MIN
                          : a->type == TypeId::kInt32 ? INT32_MIN
                                                      : INT64_MIN;
    if (a->constant.is_int() && a->constant.as_int() != least) {
      return ConstantExpr(Value::Int(-a->constant.as_int()), a->type);
    }
  }
  return CallNamed("neg", {a}, a->type);
}

ExprRef Accumulate(const ExprRef& a, const ExprRef& b) {
  return CallNamed("accumulate", {a, b}, a->type);
}

ExprRef CaseExpr(std::vector<ExprRef> args) {
  const TypeId type = args[1]->type;
  return CallNamed("case", std::move(args), type);
}

}  // namespace adjoin
