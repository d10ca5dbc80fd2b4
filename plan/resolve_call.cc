// SQL's typing of calls: which function a name means on typed arguments.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status.h"
#include "engine/text.h"
#include "ops/format_text.h"
#include "plan/random_functions.h"
#include "plan/row_functions.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

using Args = std::vector<ExprRef>;

std::string TypeList(const Args& args) {
  return absl::StrJoin(args, ", ", [](std::string* out, const ExprRef& a) {
    absl::StrAppend(out, ToAbsl(TypeName(a->type)));
  });
}

absl::Status NoOperator(std::string_view name, const Args& args) {
  const std::string call = args.size() == 2
                               ? absl::StrCat(ToAbsl(TypeName(args[0]->type)), " ", ToAbsl(name),
                                              " ", ToAbsl(TypeName(args[1]->type)))
                               : absl::StrCat(ToAbsl(name), " ", TypeList(args));
  return SqlErrorWithDetail(sqlstate::kUndefinedFunction,
                            absl::StrCat("operator does not exist: ", call), "",
                            "No operator matches the given name and argument types. You might need "
                            "to add explicit type casts.");
}

absl::Status NoFunction(std::string_view name, const Args& args) {
  return SqlErrorWithDetail(
      sqlstate::kUndefinedFunction,
      absl::StrCat("function ", ToAbsl(name), "(", TypeList(args), ") does not exist"), "",
      "No function matches the given name and argument types. You might need to add explicit type "
      "casts.");
}

// Reads no floating column or parameter: under weak promotion it takes the precision of what it
// meets.
bool IsWeak(const Expr& e) {
  if (e.kind == ExprKind::kConstant) return true;
  if (e.kind != ExprKind::kCall) return IsInteger(e.type);
  if (IsRandomFloat(e.function->name)) return false;
  for (const ExprRef& arg : e.args) {
    if (!IsWeak(*arg)) return false;
  }
  return true;
}

TypeId PromoteNumeric(TypeId a, TypeId b) {
  if (a == b) return a;
  if (IsInteger(a) && IsInteger(b)) return std::max(a, b);
  if (!IsFloat(a) && !IsFloat(b)) return TypeId::kDecimal;
  return TypeId::kFloat64;  // as PostgreSQL: real with anything else is double precision
}

// The type of values of both, as select_common_type finds it: unasked casts go one way along these.
TypeId WiderNumeric(TypeId a, TypeId b) {
  constexpr TypeId kNarrowFirst[] = {TypeId::kInt16,   TypeId::kInt32,   TypeId::kInt64,
                                     TypeId::kDecimal, TypeId::kFloat32, TypeId::kFloat64};
  const auto place = [&](TypeId t) { return std::ranges::find(kNarrowFirst, t); };
  return place(a) < place(b) ? b : a;
}

// The common type of numeric operands; REAL where the only others are weak and that is asked for.
TypeId PromoteAll(const Args& args, bool weak_real) {
  if (weak_real) {
    bool real = false, others_weak = true;
    for (const ExprRef& a : args) {
      if (a->type == TypeId::kFloat32) {
        real = true;
      } else if (!IsWeak(*a)) {
        others_weak = false;
      }
    }
    if (real && others_weak) return TypeId::kFloat32;
  }
  TypeId type = args[0]->type;
  for (const ExprRef& a : args) type = PromoteNumeric(type, a->type);
  return type;
}

// A weak expression in REAL: computed in it, not rounded to it, so that nothing can go out of
// range.
ExprRef InReal(const ExprRef& e) {
  const bool computed = e->kind == ExprKind::kCall && e->type == TypeId::kFloat64;
  if (computed && e->function->null_rule == NullRule::kCast)
    return CastTo(e->args[0], TypeId::kFloat32);
  if (!computed || e->function->null_rule != NullRule::kStrict) return CastTo(e, TypeId::kFloat32);
  Args args;
  for (const ExprRef& arg : e->args) args.push_back(InReal(arg));
  return CallExpr(e->function, std::move(args), TypeId::kFloat32);
}

ExprRef Promoted(const ExprRef& a, TypeId type) {
  return type == TypeId::kFloat32 ? InReal(a) : CastTo(a, type);  // only weak operands meet REAL
}

Args CastAll(const Args& args, TypeId type) {
  Args out;
  out.reserve(args.size());
  for (const ExprRef& a : args) out.push_back(Promoted(a, type));
  return out;
}

bool AllNumeric(const Args& args) {
  for (const ExprRef& a : args) {
    if (!IsNumeric(a->type)) return false;
  }
  return true;
}

absl::StatusOr<ExprRef> ResolveArithmetic(std::string_view name, Args args, bool weak) {
  if (!AllNumeric(args)) return NoOperator(name, args);
  const TypeId type = PromoteAll(args, weak);
  args = CastAll(args, type);
  if (name == "+") return Add(args[0], args[1]);
  if (name == "-") return Sub(args[0], args[1]);
  if (name == "*") return Mul(args[0], args[1]);
  if (name == "/") return Div(args[0], args[1]);
  return CallNamed(name, std::move(args), type);
}

absl::StatusOr<ExprRef> ResolveComparison(std::string_view name, Args args, bool weak) {
  if (AllNumeric(args)) {
    args = CastAll(args, PromoteAll(args, weak));
  } else if (const std::optional<TypeId> type = TemporalType(args[0]->type, args[1]->type)) {
    args = CastAll(args, *type);
  } else if (args[0]->type != args[1]->type) {
    return NoOperator(name, args);
  }
  if (name == ">" || name == ">=") {
    std::swap(args[0], args[1]);
    name = name == ">" ? "<" : "<=";
  }
  if (name == "is not distinct from") {
    return CallNamed("not", {CallNamed("is distinct from", std::move(args), TypeId::kBool)},
                     TypeId::kBool);
  }
  return CallNamed(name == "!=" ? "<>" : name, std::move(args), TypeId::kBool);
}

absl::StatusOr<ExprRef> ResolveLogic(std::string_view name, Args args) {
  for (const ExprRef& a : args) {
    if (a->type == TypeId::kBool) continue;
    return SqlError(sqlstate::kDatatypeMismatch,
                    absl::StrCat("argument of ", absl::AsciiStrToUpper(ToAbsl(name)),
                                 " must be type boolean, not type ", ToAbsl(TypeName(a->type))));
  }
  ExprRef out = args[0];
  if (name == "not") return CallNamed("not", std::move(args), TypeId::kBool);
  for (size_t i = 1; i < args.size(); ++i) out = CallNamed(name, {out, args[i]}, TypeId::kBool);
  return out;
}

// CASE, COALESCE, GREATEST, LEAST, NULLIF: value arguments take one type.
absl::StatusOr<ExprRef> ResolveSelecting(const ScalarFunction& f, Args args, bool weak) {
  const bool is_case = f.null_rule == NullRule::kCase;
  std::vector<size_t> values;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!is_case || i % 2 == 1 || (i + 1 == args.size() && args.size() % 2 == 1))
      values.push_back(i);
  }
  Args operands;
  std::vector<TypeId> types;
  for (size_t i : values) {
    if (IsNullConstant(*args[i])) continue;  // takes whatever type the others have
    operands.push_back(args[i]);
    types.push_back(args[i]->type);
  }
  if (operands.empty()) operands.push_back(args[values[0]]), types.push_back(args[values[0]]->type);
  const std::string construct = absl::AsciiStrToUpper(ToAbsl(f.name));
  TypeId type;
  if (AllNumeric(operands) && (weak || f.null_rule == NullRule::kNullIf)) {
    type = PromoteAll(operands, weak);
  } else {
    ADJOIN_ASSIGN_OR_RETURN(type, CommonType(types, construct));
  }
  for (size_t i : values)
    args[i] = IsNullConstant(*args[i]) ? NullExpr(type) : Promoted(args[i], type);
  if (is_case && args.size() % 2 == 0) args.push_back(NullExpr(type));
  if (args.size() == 1 && !is_case) return args[0];
  return CallNamed(f.name, std::move(args), type);
}

// Functions of floats: integers and NUMERIC become double precision; REAL too unless weak, as
// PostgreSQL has float8 forms only.
absl::StatusOr<ExprRef> ResolveFloatFunction(const ScalarFunction& f, Args args, bool weak) {
  if (!AllNumeric(args)) return NoFunction(f.name, args);
  TypeId type = PromoteAll(args, weak);
  if (!IsFloat(type) || !weak) type = TypeId::kFloat64;
  return CallNamed(f.name, CastAll(args, type), type);
}

int ArityOf(std::string_view name) {
  if (name == "power" || name == "atan2" || name == "nullif") return 2;
  if (name == "coalesce" || name == "greatest" || name == "least" || name == "case") return -1;
  return 1;
}

struct Synonym {
  std::string_view sql, name;
};
constexpr Synonym kSynonyms[] = {{"^", "power"},      {"pow", "power"}, {"dpow", "power"},
                                 {"ceiling", "ceil"}, {"log", "log10"}, {"|/", "sqrt"},
                                 {"||/", "cbrt"},     {"@", "abs"}};

std::string_view Canonical(std::string_view name) {
  for (const Synonym& s : kSynonyms) {
    if (s.sql == name) return s.name;
  }
  return name;
}

bool Contains(std::initializer_list<std::string_view> names, std::string_view name) {
  for (std::string_view n : names) {
    if (n == name) return true;
  }
  return false;
}

ExprRef TextConst(std::string_view text) {
  return ConstantExpr(Value::Text(std::string(text)), TypeId::kText);
}

// The text that a value prints as, which of a boolean is not what a cast gives.
absl::StatusOr<ExprRef> Printed(const ExprRef& value) {
  if (value->type != TypeId::kBool) return ResolveCast(value, TypeId::kText);
  const ExprRef no = CallNamed("not", {value}, TypeId::kBool);
  return CaseExpr({value, TextConst("t"), no, TextConst("f"), NullExpr(TypeId::kText)});
}

// || of the texts, after `separator` where there is one, of what is not NULL.
absl::StatusOr<ExprRef> Concatenated(const ExprRef& separator, std::span<const ExprRef> args) {
  ExprRef out = TextConst("");
  for (const ExprRef& a : args) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef text, Printed(a));
    if (separator != nullptr) {
      ADJOIN_ASSIGN_OR_RETURN(text, ResolveCall("||", {separator, std::move(text)}));
    }
    text = CallNamed("coalesce", {std::move(text), TextConst("")}, TypeId::kText);
    ADJOIN_ASSIGN_OR_RETURN(out, ResolveCall("||", {out, std::move(text)}));
  }
  return out;
}

// concat_ws(separator, a, b, ...): what stands after the first separator.
absl::StatusOr<ExprRef> ResolveConcatWs(const Args& args) {
  ADJOIN_ASSIGN_OR_RETURN(const ExprRef all, Concatenated(args[0], std::span(args).subspan(1)));
  ADJOIN_ASSIGN_OR_RETURN(ExprRef length, ResolveCall("length", {args[0]}));
  ADJOIN_ASSIGN_OR_RETURN(ExprRef first,
                          ResolveCall("+", {length, ConstantExpr(Value::Int(1), TypeId::kInt32)}));
  return ResolveCall("substring", {all, std::move(first)});
}

// format(pattern, a, b, ...): of the arguments as one text.
absl::StatusOr<ExprRef> ResolveFormat(const Args& args) {
  ExprRef all = TextConst("");
  for (const ExprRef& a : std::span(args).subspan(1)) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef text, Printed(a));
    ADJOIN_ASSIGN_OR_RETURN(text, ResolveCall("format_argument", {std::move(text)}));
    text = CallNamed("coalesce", {std::move(text), TextConst(text::kNullArgument)}, TypeId::kText);
    ADJOIN_ASSIGN_OR_RETURN(all, ResolveCall("||", {std::move(all), std::move(text)}));
  }
  const std::optional<TypeId> types[] = {TypeId::kText, TypeId::kText};
  return CallRowFunction(FindRowFunction("format", types), {args[0], std::move(all)});
}

// num_nulls, num_nonnulls: how many of the arguments are NULL, or are not.
absl::StatusOr<ExprRef> ResolveCountOf(std::string_view test, const Args& args) {
  ExprRef out = ConstantExpr(Value::Int(0), TypeId::kInt32);
  for (const ExprRef& a : args) {
    ExprRef one = CastTo(CallNamed(test, {a}, TypeId::kBool), TypeId::kInt32);
    ADJOIN_ASSIGN_OR_RETURN(out, ResolveCall("+", {std::move(out), std::move(one)}));
  }
  return out;
}

// overlay(s, part, start, count): the characters from start on, as many as `part` has where count
// is left out, are replaced.
absl::StatusOr<ExprRef> ResolveOverlay(Args args) {
  if (args.size() == 3) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef length, ResolveCall("length", {args[1]}));
    args.push_back(std::move(length));
  }
  ADJOIN_ASSIGN_OR_RETURN(ExprRef head, ResolveCall("overlay_head", {args[0], args[1], args[2]}));
  ADJOIN_ASSIGN_OR_RETURN(ExprRef end, ResolveCall("+", {args[2], args[3]}));
  ADJOIN_ASSIGN_OR_RETURN(ExprRef tail, ResolveCall("substring", {args[0], std::move(end)}));
  return ResolveCall("||", {std::move(head), std::move(tail)});
}

bool TakesOverlay(const Args& args) {
  const auto is = [&](size_t i, TypeId type) { return args[i]->type == type; };
  return (args.size() == 3 || args.size() == 4) && is(0, TypeId::kText) && is(1, TypeId::kText) &&
         is(2, TypeId::kInt32) && (args.size() == 3 || is(3, TypeId::kInt32));
}

// Functions that are only another spelling: degrees(x) is x * (180 / pi).
absl::StatusOr<ExprRef> ResolveSpelling(std::string_view name, const Args& args, bool weak) {
  if (name == "pi" && args.empty()) return FloatConst(M_PI, TypeId::kFloat64);
  if (args.size() == 1 && IsNumeric(args[0]->type)) {
    const auto scaled = [&](double factor) {
      return ResolveCall("*", {args[0], FloatConst(factor, TypeId::kFloat64)}, weak);
    };
    if (name == "degrees") return scaled(180.0 / M_PI);
    if (name == "radians") return scaled(M_PI / 180.0);
    if (name == "cot") {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef tangent, ResolveCall("tan", args, weak));
      return ResolveCall("/", {FloatConst(1, TypeId::kFloat64), tangent}, weak);
    }
  }
  if (name == "log" && args.size() == 2) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef base, ResolveCall("ln", {args[0]}, weak));
    ADJOIN_ASSIGN_OR_RETURN(ExprRef value, ResolveCall("ln", {args[1]}, weak));
    return ResolveCall("/", {value, base}, weak);
  }
  if (name == "mod" && args.size() == 2) return ResolveCall("%", args, weak);
  if (name == "concat" && !args.empty()) return Concatenated(nullptr, args);
  if (name == "concat_ws" && args.size() > 1 && args[0]->type == TypeId::kText)
    return ResolveConcatWs(args);
  if (name == "format" && !args.empty() && args[0]->type == TypeId::kText)
    return ResolveFormat(args);
  if (name == "num_nulls" && !args.empty()) return ResolveCountOf("is null", args);
  if (name == "num_nonnulls" && !args.empty()) return ResolveCountOf("is not null", args);
  const bool quotes = name == "quote_literal" || name == "quote_nullable";
  if (quotes && args.size() == 1 && (args[0]->type != TypeId::kText || name != "quote_literal")) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef text, ResolveCast(args[0], TypeId::kText));
    ADJOIN_ASSIGN_OR_RETURN(text, ResolveCall("quote_literal", {std::move(text)}));
    if (name == "quote_literal") return text;
    return CallNamed("coalesce", {std::move(text), TextConst("NULL")}, TypeId::kText);
  }
  if (name == "overlay" && TakesOverlay(args)) return ResolveOverlay(args);
  return ExprRef();
}

// A call of a function of rows; nullptr where none takes such arguments. `||` takes anything beside
// text.
ExprRef ResolveRowCall(std::string_view name, Args args) {
  if (name == "||" && args.size() == 2 &&
      (args[0]->type == TypeId::kText || args[1]->type == TypeId::kText)) {
    args = CastAll(args, TypeId::kText);
  }
  std::vector<std::optional<TypeId>> types;
  for (const ExprRef& a : args) types.emplace_back(a->type);
  const ScalarFunction* f = FindRowFunction(name, types);
  return f == nullptr ? nullptr : CallRowFunction(f, std::move(args));
}

absl::StatusOr<ExprRef> ResolveUnary(const ScalarFunction& f, Args args, bool weak) {
  const TypeId type = args[0]->type;
  const std::string_view name = f.name;
  if (name == "neg") {
    if (!IsNumeric(type)) return NoOperator("-", args);
    return Neg(args[0]);
  }
  if (name == "~")
    return IsInteger(type) ? CallNamed(name, args, type)
                           : absl::StatusOr<ExprRef>(NoOperator(name, args));
  if (name == "abs" && IsNumeric(type)) return CallNamed(name, std::move(args), type);
  if (name == "stop_gradient") return CallNamed(name, std::move(args), type);
  if (name == "is null" || name == "is not null")
    return CallNamed(name, std::move(args), TypeId::kBool);
  return ResolveFloatFunction(f, std::move(args), weak);
}

absl::StatusOr<ExprRef> ResolveBits(std::string_view name, Args args) {
  if (!IsInteger(args[0]->type) || !IsInteger(args[1]->type)) return NoOperator(name, args);
  const TypeId type =
      name == "<<" || name == ">>" ? args[0]->type : PromoteNumeric(args[0]->type, args[1]->type);
  return CallNamed(name, CastAll(args, type), type);
}

}  // namespace

absl::StatusOr<ExprRef> ResolveCall(std::string_view sql_name, std::vector<ExprRef> args,
                                    bool weak_real) {
  ADJOIN_ASSIGN_OR_RETURN(ExprRef spelled, ResolveSpelling(sql_name, args, weak_real));
  if (spelled != nullptr) return spelled;
  if (IsRandomFunction(sql_name)) {
    const ExprRef draw = ResolveRandom(sql_name, args);
    return draw != nullptr ? absl::StatusOr<ExprRef>(draw) : NoFunction(sql_name, args);
  }
  std::string_view name = Canonical(sql_name);
  if (ExprRef call = ResolveRowCall(name, args)) return call;
  if (name == "-" && args.size() == 1) name = "neg";
  if (name == "+" && args.size() == 1) {
    return IsNumeric(args[0]->type) ? absl::StatusOr<ExprRef>(args[0]) : NoOperator("+", args);
  }
  if (args.size() == 2) {
    if (Contains({"+", "-", "*", "/", "%"}, name))
      return ResolveArithmetic(name, std::move(args), weak_real);
    if (Contains(
            {"=", "<>", "!=", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"},
            name)) {
      return ResolveComparison(name, std::move(args), weak_real);
    }
    if (Contains({"&", "|", "#", "<<", ">>"}, name)) return ResolveBits(name, std::move(args));
  }
  if (Contains({"and", "or", "not"}, name) && !args.empty())
    return ResolveLogic(name, std::move(args));
  const ScalarFunction* f = FindFunction(name);
  const bool internal =
      f != nullptr && (f->infix || name == "accumulate" || name == "cast" || name == "nearest");
  const bool is_operator =
      !absl::ascii_isalpha(static_cast<unsigned char>(sql_name[0])) && sql_name[0] != '_';
  if (f == nullptr && is_operator) return NoOperator(sql_name, args);
  if (f == nullptr || internal || args.empty()) return NoFunction(sql_name, args);
  const int arity = ArityOf(name);
  if (arity >= 0 && static_cast<int>(args.size()) != arity)
    return is_operator ? NoOperator(sql_name, args) : NoFunction(sql_name, args);
  if (f->derivative_kind == DerivativeKind::kSelecting && name != "stop_gradient") {
    return ResolveSelecting(*f, std::move(args), weak_real);
  }
  if (args.size() == 1) return ResolveUnary(*f, std::move(args), weak_real);
  return ResolveFloatFunction(*f, std::move(args), weak_real);
}

absl::StatusOr<TypeId> CommonType(std::span<const TypeId> types, std::string_view construct) {
  TypeId type = types[0];
  for (TypeId t : types) {
    if (IsNumeric(type) && IsNumeric(t)) {
      type = WiderNumeric(type, t);
    } else if (const std::optional<TypeId> moment = TemporalType(type, t)) {
      type = *moment;
    } else if (type != t) {
      return SqlError(sqlstate::kDatatypeMismatch,
                      absl::StrCat(ToAbsl(construct), " types ", ToAbsl(TypeName(type)), " and ",
                                   ToAbsl(TypeName(t)), " cannot be matched"));
    }
  }
  return type;
}

}  // namespace adjoin
