#include "tests/reference/evaluator.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/parse_element.h"
#include "engine/status.h"
#include "engine/text.h"
#include "ops/expression.h"
#include "ops/scan.h"
#include "plan/scalar_functions.h"
#include "tests/reference/random_draw.h"

namespace adjoin::reference {
namespace {

__int128 MinOf(TypeId type) {
  if (type == TypeId::kInt16) return std::numeric_limits<int16_t>::min();
  if (type == TypeId::kInt32) return std::numeric_limits<int32_t>::min();
  return std::numeric_limits<int64_t>::min();
}

absl::Status OutOfRange(TypeId type) {
  return SqlError(sqlstate::kNumericOutOfRange,
                  absl::StrCat(ToAbsl(TypeName(type)), " out of range"));
}

absl::Status DivisionByZero() { return SqlError(sqlstate::kDivisionByZero, "division by zero"); }

absl::Status NoSuch(const Expr& call, TypeId type) {
  return SqlError(sqlstate::kInternalError,
                  absl::StrCat("the reference interpreter has no ", ToAbsl(call.function->name),
                               " of ", ToAbsl(TypeName(type))));
}

absl::StatusOr<Value> Compare(const Expr& call, const Value& a, const Value& b) {
  const int order = CompareValues(a, b);
  switch (call.function->op) {
    case ScalarOp::kEqual:
      return Value::Bool(order == 0);
    case ScalarOp::kNotEqual:
      return Value::Bool(order != 0);
    case ScalarOp::kLess:
      return Value::Bool(order < 0);
    case ScalarOp::kLessEqual:
      return Value::Bool(order <= 0);
    case ScalarOp::kGreatest:
      return order >= 0 ? a : b;
    case ScalarOp::kLeast:
      return order <= 0 ? a : b;
    default:
      return SqlError(sqlstate::kInternalError, "not a comparison");
  }
}

bool IsComparison(ScalarOp op) {
  return op == ScalarOp::kEqual || op == ScalarOp::kNotEqual || op == ScalarOp::kLess ||
         op == ScalarOp::kLessEqual || op == ScalarOp::kGreatest || op == ScalarOp::kLeast;
}

absl::StatusOr<Value> IntegerOp(const Expr& call, TypeId type, const std::vector<Value>& args) {
  const __int128 a = args[0].as_int();
  const __int128 b = args.size() > 1 ? args[1].as_int() : 0;
  const int width = static_cast<int>(WidthOf(type)) * 8;
  switch (call.function->op) {
    case ScalarOp::kAdd:
      return CheckedInt(a + b, type);
    case ScalarOp::kSubtract:
      return CheckedInt(a - b, type);
    case ScalarOp::kMultiply:
      return CheckedInt(a * b, type);
    case ScalarOp::kDivide:
      if (b == 0) return DivisionByZero();
      return CheckedInt(a / b, type);
    case ScalarOp::kRemainder:
      if (b == 0) return DivisionByZero();
      return CheckedInt(a % b, type);
    case ScalarOp::kNegate:
      return CheckedInt(-a, type);
    case ScalarOp::kAbs:
      return CheckedInt(a < 0 ? -a : a, type);
    case ScalarOp::kSign:
      return Value::Int(a > 0 ? 1 : a < 0 ? -1 : 0);
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRound:
    case ScalarOp::kTrunc:
      return args[0];
    case ScalarOp::kBitAnd:
      return Value::Int(args[0].as_int() & args[1].as_int());
    case ScalarOp::kBitOr:
      return Value::Int(args[0].as_int() | args[1].as_int());
    case ScalarOp::kBitXor:
      return Value::Int(args[0].as_int() ^ args[1].as_int());
    case ScalarOp::kBitNot:
      return Value::Int(~args[0].as_int());
    case ScalarOp::kShiftLeft: {
      // Bits beyond the type's width fall off; the count is taken modulo the width.
      const uint64_t shifted = static_cast<uint64_t>(args[0].as_int())
                               << (args[1].as_int() & (width - 1));
      if (type == TypeId::kInt16) return Value::Int(static_cast<int16_t>(shifted));
      if (type == TypeId::kInt32) return Value::Int(static_cast<int32_t>(shifted));
      return Value::Int(static_cast<int64_t>(shifted));
    }
    case ScalarOp::kShiftRight:
      return Value::Int(args[0].as_int() >> (args[1].as_int() & (width - 1)));
    case ScalarOp::kRandomSplit: {
      const ThreefryWords w = Threefry(args[0].as_int(), args[1].as_int());
      return Value::Int(static_cast<int64_t>(uint64_t{w.first} << 32 | w.second));
    }
    case ScalarOp::kRandomBits: {
      const ThreefryWords w = Threefry(args[0].as_int(), args[1].as_int());
      return Value::Int(w.first ^ w.second);
    }
    default:
      return NoSuch(call, type);
  }
}

// The word is the last argument, the others are floats.
Value RandomFloat(const Expr& call, TypeId type, const std::vector<Value>& args) {
  const auto word = static_cast<uint64_t>(args.back().as_int());
  const auto draw = [&](auto zero, auto bits) {
    using T = decltype(zero);
    const T first = static_cast<T>(args[0].as_float());
    if (call.function->op == ScalarOp::kRandomNormal) return Value::Float(NormalOf(first, bits));
    return Value::Float(UniformOf(first, static_cast<T>(args[1].as_float()), bits));
  };
  return type == TypeId::kFloat32 ? draw(float{}, static_cast<uint32_t>(word))
                                  : draw(double{}, word);
}

absl::StatusOr<Value> FloatOp(const Expr& call, TypeId type, const std::vector<Value>& args) {
  const ScalarOp op = call.function->op;
  if (op == ScalarOp::kRandomUniform || op == ScalarOp::kRandomNormal)
    return RandomFloat(call, type, args);
  const double a = args[0].as_float();
  const double b = args.size() > 1 ? args[1].as_float() : 0;
  switch (op) {
    case ScalarOp::kAdd:
      return Value::Float(a + b);
    case ScalarOp::kSubtract:
      return Value::Float(a - b);
    case ScalarOp::kMultiply:
      return Value::Float(a * b);
    case ScalarOp::kDivide:
      return Value::Float(a / b);
    case ScalarOp::kRemainder:
      return Value::Float(std::fmod(a, b));
    case ScalarOp::kNegate:
      return Value::Float(-a);
    case ScalarOp::kAbs:
      return Value::Float(std::fabs(a));
    case ScalarOp::kSign:
      return Value::Float(a > 0 ? 1 : a < 0 ? -1 : 0);  // also of NaN, as PostgreSQL
    case ScalarOp::kSqrt:
      return Value::Float(std::sqrt(a));
    case ScalarOp::kCbrt:
      return Value::Float(std::cbrt(a));
    case ScalarOp::kExp:
      return Value::Float(std::exp(a));
    case ScalarOp::kLn:
      return Value::Float(std::log(a));
    case ScalarOp::kLog10:
      return Value::Float(std::log10(a));
    case ScalarOp::kLog2:
      return Value::Float(std::log2(a));
    case ScalarOp::kPower:
      return Value::Float(std::pow(a, b));
    case ScalarOp::kSin:
      return Value::Float(std::sin(a));
    case ScalarOp::kCos:
      return Value::Float(std::cos(a));
    case ScalarOp::kTan:
      return Value::Float(std::tan(a));
    case ScalarOp::kAsin:
      return Value::Float(std::asin(a));
    case ScalarOp::kAcos:
      return Value::Float(std::acos(a));
    case ScalarOp::kAtan:
      return Value::Float(std::atan(a));
    case ScalarOp::kAtan2:
      return Value::Float(std::atan2(a, b));
    case ScalarOp::kSinh:
      return Value::Float(std::sinh(a));
    case ScalarOp::kCosh:
      return Value::Float(std::cosh(a));
    case ScalarOp::kTanh:
      return Value::Float(std::tanh(a));
    case ScalarOp::kAsinh:
      return Value::Float(std::asinh(a));
    case ScalarOp::kAcosh:
      return Value::Float(std::acosh(a));
    case ScalarOp::kAtanh:
      return Value::Float(std::atanh(a));
    case ScalarOp::kErf:
      return Value::Float(std::erf(a));
    case ScalarOp::kErfc:
      return Value::Float(std::erfc(a));
    case ScalarOp::kFloor:
      return Value::Float(std::floor(a));
    case ScalarOp::kCeil:
      return Value::Float(std::ceil(a));
    case ScalarOp::kRound:
      return Value::Float(std::nearbyint(a));
    case ScalarOp::kTrunc:
      return Value::Float(std::trunc(a));
    default:
      return NoSuch(call, type);
  }
}

absl::Status InvalidText(TypeId to, const std::string& text) {
  return SqlError(
      sqlstate::kInvalidTextRepresentation,
      absl::StrCat("invalid input syntax for type ", ToAbsl(TypeName(to)), ": \"", text, "\""));
}

absl::StatusOr<Value> ParseBool(const std::string& text) {
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  for (const char* yes : {"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"}) {
    if (word == yes) return Value::Bool(true);
  }
  for (const char* no : {"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"}) {
    if (word == no) return Value::Bool(false);
  }
  return InvalidText(TypeId::kBool, text);
}

absl::StatusOr<Value> ParseText(const std::string& text, TypeId to) {
  if (!IsArrayType(to)) return adjoin::ParseText(text, to);
  if (to == TypeId::kBool) return ParseBool(text);
  const std::string word(absl::StripAsciiWhitespace(text));
  if (word.empty()) return InvalidText(to, text);
  char* end = nullptr;
  if (IsFloat(to)) {
    const double v =
        to == TypeId::kFloat32 ? std::strtof(word.c_str(), &end) : std::strtod(word.c_str(), &end);
    if (*end != '\0') return InvalidText(to, text);
    return Value::Float(v);
  }
  int64_t v = 0;
  if (absl::SimpleAtoi(word, &v)) return CheckedInt(v, to);
  for (char c : word.substr(word[0] == '-' || word[0] == '+' ? 1 : 0)) {
    if (!std::isdigit(static_cast<unsigned char>(c))) return InvalidText(to, text);
  }
  return SqlError(
      sqlstate::kNumericOutOfRange,
      absl::StrCat("value \"", text, "\" is out of range for type ", ToAbsl(TypeName(to))));
}

absl::StatusOr<Value> FloatToInt(double v, TypeId to) {
  const double rounded = std::nearbyint(v);
  if (!(rounded >= -9223372036854775808.0 && rounded < 9223372036854775808.0))
    return OutOfRange(to);
  return CheckedInt(static_cast<int64_t>(rounded), to);
}

// Functions of text and dates have no second implementation: they are the engine's, one row at a
// time. What they give is tested against PostgreSQL's answers.
absl::StatusOr<Value> CallRows(const RowFunction& function, const std::vector<ExprRef>& exprs,
                               const std::vector<Value>& args) {
  ExprBuilder builder;
  std::vector<ExprBuilder::Id> ids;
  for (size_t i = 0; i < args.size(); ++i) ids.push_back(builder.Constant(args[i], exprs[i]->type));
  builder.Output(builder.Rows(&function, ids, ExprBuilder::kAlways));
  const CompiledExpr compiled = std::move(builder).Build();
  ExprScratch scratch;
  compiled.Prepare(scratch, 1, {});
  ADJOIN_RETURN_IF_ERROR(compiled.Run(scratch, {}, 1));
  return SingleValue(compiled, scratch, 0);
}

}  // namespace

Value RoundTo(TypeId type, const Value& value) {
  if (type != TypeId::kFloat32 || !value.is_float()) return value;
  return Value::Float(static_cast<double>(static_cast<float>(value.as_float())));
}

absl::StatusOr<Value> CheckedInt(__int128 value, TypeId type) {
  if (value < MinOf(type) || value > -(MinOf(type) + 1)) return OutOfRange(type);
  return Value::Int(static_cast<int64_t>(value));
}

absl::StatusOr<Value> CastValue(const Value& value, TypeId from, TypeId to) {
  if (from == to) return value;
  if (to == TypeId::kText) {
    if (from == TypeId::kBool) return Value::Text(value.as_bool() ? "true" : "false");
    return Value::Text(ToText(value, from));
  }
  if (from == TypeId::kText) return ParseText(value.as_text(), to);
  if (to == TypeId::kBool)
    return Value::Bool(value.is_int() ? value.as_int() != 0 : value.as_float() != 0);
  if (from == TypeId::kBool) {
    return IsFloat(to) ? Value::Float(value.as_bool()) : Value::Int(value.as_bool());
  }
  if (IsInteger(from) && IsInteger(to)) return CheckedInt(value.as_int(), to);
  if (IsInteger(from)) {
    return to == TypeId::kFloat32
               ? Value::Float(static_cast<double>(static_cast<float>(value.as_int())))
               : Value::Float(static_cast<double>(value.as_int()));
  }
  if (IsInteger(to)) return FloatToInt(value.as_float(), to);
  const Value rounded = RoundTo(to, value);
  if (std::isinf(rounded.as_float()) && !std::isinf(value.as_float())) {
    return SqlError(sqlstate::kNumericOutOfRange, "value out of range: overflow");
  }
  return rounded;
}

absl::StatusOr<Value> ApplyStrict(const Expr& call, TypeId arg_type,
                                  const std::vector<Value>& args) {
  const ScalarOp op = call.function->op;
  if (IsComparison(op)) return Compare(call, args[0], args[1]);
  if (arg_type == TypeId::kBool) {
    if (op == ScalarOp::kNot) return Value::Bool(!args[0].as_bool());
    if (op == ScalarOp::kAnd) return Value::Bool(args[0].as_bool() && args[1].as_bool());
    if (op == ScalarOp::kOr) return Value::Bool(args[0].as_bool() || args[1].as_bool());
  }
  if (IsInteger(arg_type)) return IntegerOp(call, arg_type, args);
  if (!IsFloat(arg_type)) return NoSuch(call, arg_type);
  absl::StatusOr<Value> result = FloatOp(call, arg_type, args);
  if (!result.ok()) return result;
  return RoundTo(call.type, *result);
}

Evaluator::Evaluator(std::vector<ExprRef> exprs, const std::vector<Value>* parameters)
    : exprs_(std::move(exprs)), parameters_(parameters) {}

void Evaluator::SetRow(const Row* left, const Row* right) {
  left_ = left;
  right_ = right;
  ++row_;
}

absl::StatusOr<Value> Evaluator::Get(int i) {
  const ExprRef& expr = exprs_[static_cast<size_t>(i)];
  if (expr == nullptr) return Value();
  return Eval(*expr);
}

absl::StatusOr<Row> Evaluator::GetAll() {
  Row out;
  for (int i = 0; i < static_cast<int>(exprs_.size()); ++i) {
    ADJOIN_ASSIGN_OR_RETURN(Value value, Get(i));
    out.push_back(std::move(value));
  }
  return out;
}

absl::StatusOr<bool> Evaluator::IsTrue(int i) {
  if (exprs_[static_cast<size_t>(i)] == nullptr) return true;
  ADJOIN_ASSIGN_OR_RETURN(Value value, Get(i));
  return !value.is_null() && value.as_bool();
}

absl::StatusOr<Value> Evaluator::Column(int index) const {
  const int left_width = left_ == nullptr ? 0 : static_cast<int>(left_->size());
  if (index >= 0 && index < left_width) return (*left_)[static_cast<size_t>(index)];
  const int at = index - left_width;
  if (at < 0 || right_ == nullptr || at >= static_cast<int>(right_->size())) {
    return SqlError(sqlstate::kInternalError, absl::StrCat("no column #", index));
  }
  return (*right_)[static_cast<size_t>(at)];
}

absl::StatusOr<Value> Evaluator::Eval(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kColumn:
      return Column(expr.index);
    case ExprKind::kConstant:
      return expr.constant;
    case ExprKind::kParameter:
      if (expr.index < 0 || expr.index >= static_cast<int>(parameters_->size())) {
        return SqlError(sqlstate::kUndefinedParameter,
                        absl::StrCat("there is no parameter $", expr.index + 1));
      }
      return RoundTo(expr.type, (*parameters_)[static_cast<size_t>(expr.index)]);
    case ExprKind::kCall:
      break;
  }
  Cell& cell = cells_[&expr];
  if (cell.row == row_) return cell.value;
  absl::StatusOr<Value> value = Call(expr);
  if (!value.ok()) return value;
  cell.value = *value;  // std::map keeps references
  cell.row = row_;
  return value;
}

// AND is FALSE where any argument is, OR is TRUE where any is; otherwise NULL where any is NULL.
absl::StatusOr<Value> Evaluator::Logic(const Expr& expr, bool absorbing) {
  bool unknown = false;
  for (const ExprRef& arg : expr.args) {
    ADJOIN_ASSIGN_OR_RETURN(Value value, Eval(*arg));
    if (value.is_null()) {
      unknown = true;
    } else if (value.as_bool() == absorbing) {
      return value;
    }
  }
  return unknown ? Value() : Value::Bool(!absorbing);
}

absl::StatusOr<Value> Evaluator::Case(const Expr& expr) {
  size_t i = 0;
  for (; i + 1 < expr.args.size(); i += 2) {
    ADJOIN_ASSIGN_OR_RETURN(Value condition, Eval(*expr.args[i]));
    if (!condition.is_null() && condition.as_bool()) return Eval(*expr.args[i + 1]);
  }
  return i < expr.args.size() ? Eval(*expr.args[i]) : Value();
}

absl::StatusOr<Value> Evaluator::Extreme(const Expr& expr, int sign) {
  Value best;
  for (const ExprRef& arg : expr.args) {
    ADJOIN_ASSIGN_OR_RETURN(Value value, Eval(*arg));
    if (value.is_null()) continue;
    if (best.is_null() || sign * CompareValues(value, best) > 0) best = value;
  }
  return best;
}

absl::StatusOr<Value> Evaluator::Call(const Expr& expr) {
  const NullRule rule = expr.function->null_rule;
  if (rule == NullRule::kAnd) return Logic(expr, false);
  if (rule == NullRule::kOr) return Logic(expr, true);
  if (rule == NullRule::kCase) return Case(expr);
  if (rule == NullRule::kGreatest) return Extreme(expr, 1);
  if (rule == NullRule::kLeast) return Extreme(expr, -1);
  if (rule == NullRule::kCoalesce) {
    for (const ExprRef& arg : expr.args) {
      ADJOIN_ASSIGN_OR_RETURN(Value value, Eval(*arg));
      if (!value.is_null()) return value;
    }
    return Value();
  }
  std::vector<Value> args;
  bool any_null = false;
  for (const ExprRef& arg : expr.args) {
    ADJOIN_ASSIGN_OR_RETURN(Value value, Eval(*arg));
    any_null = any_null || value.is_null();
    args.push_back(std::move(value));
  }
  switch (rule) {
    case NullRule::kIsNull:
      return Value::Bool(args[0].is_null());
    case NullRule::kIsNotNull:
      return Value::Bool(!args[0].is_null());
    case NullRule::kIsDistinct:
      if (any_null) return Value::Bool(args[0].is_null() != args[1].is_null());
      return Value::Bool(CompareValues(args[0], args[1]) != 0);
    case NullRule::kNullIf:
      if (!any_null && CompareValues(args[0], args[1]) == 0) return Value();
      return args[0];
    case NullRule::kIdentity:
      return args[0];
    case NullRule::kAccumulate: {
      if (args[0].is_null()) return args[1];
      if (args[1].is_null()) return args[0];
      return RoundTo(expr.type, Value::Float(args[0].as_float() + args[1].as_float()));
    }
    default:
      break;
  }
  if (any_null) return Value();
  switch (rule) {
    case NullRule::kNearest:
      return RoundTo(expr.type, args[0]);
    case NullRule::kCast:
      return CastValue(args[0], expr.args[0]->type, expr.type);
    case NullRule::kRows:
      return CallRows(*expr.function->rows, expr.args, args);
    default:
      // A function of no arguments (pi) would be a constant by now.
      if (args.empty()) return NoSuch(expr, expr.type);
      return ApplyStrict(expr, expr.args[0]->type, args);
  }
}

}  // namespace adjoin::reference
