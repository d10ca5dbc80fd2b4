#include "plan/row_functions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/date_functions.h"
#include "engine/decimal_functions.h"
#include "engine/status.h"
#include "ops/format_text.h"
#include "ops/like.h"
#include "ops/number_functions.h"
#include "ops/regular_expression.h"
#include "ops/row_function.h"
#include "ops/scan.h"
#include "ops/similar_to.h"
#include "ops/text_functions.h"
#include "ops/to_char.h"
#include "plan/compile_expr.h"

namespace adjoin {
namespace {

using Text = std::string_view;

// EXTRACT, date_part and date_trunc, whose first argument is nearly always one constant: a batch
// looks it up once.
template <typename R, typename T, R (*kFunction)(const DateField&, T)>
absl::Status RunOnField(const RowCall& call) {
  Text name;
  DateField field;
  return RunRows<R, Text, T>(call, [&](Text field_name, T value) {
    if (field_name.data() != name.data() || field_name.size() != name.size())
      field = DateField(name = field_name);
    return kFunction(field, value);
  });
}
template <typename R, typename T, R (*kFunction)(const DateField&, T)>
inline constexpr RowFunction kOnField = RowSignature<R, Text, T>(RunOnField<R, T, kFunction>);

using Part = absl::StatusOr<std::optional<double>>;
template <typename T>
inline constexpr RowFunction kExtract = kOnField<Part, T, Extract>;
template <typename T>
inline constexpr RowFunction kTruncate = kOnField<absl::StatusOr<T>, T, Truncate>;

absl::StatusOr<int32_t> DaysBetween(Date a, Date b) {
  if (!a.is_finite() || !b.is_finite())
    return SqlError(sqlstate::kDateTimeOutOfRange, "cannot subtract infinite dates");
  return a.days - b.days;
}
absl::StatusOr<Timestamp> AddToDate(Date date, Interval interval) {
  ADJOIN_ASSIGN_OR_RETURN(const Timestamp midnight, TimestampOf(date));
  return AddInterval(midnight, interval);
}
absl::StatusOr<Timestamp> TakeFromDate(Date date, Interval interval) {
  ADJOIN_ASSIGN_OR_RETURN(const Interval negative, Negate(interval));
  return AddToDate(date, negative);
}
absl::StatusOr<Timestamp> TakeFromTimestamp(Timestamp timestamp, Interval interval) {
  ADJOIN_ASSIGN_OR_RETURN(const Interval negative, Negate(interval));
  return AddInterval(timestamp, negative);
}
absl::StatusOr<Interval> Subtract(Interval a, Interval b) {
  ADJOIN_ASSIGN_OR_RETURN(const Interval negative, Negate(b));
  return Add(a, negative);
}

// An operator of NUMERIC: `kQuick` where it can, which is nearly everywhere.
template <auto kQuick, auto kExact>
absl::Status RunDecimals(const RowCall& call) {
  const auto* a = call.args[0]->as<Decimal>();
  const auto* b = call.args[1]->as<Decimal>();
  auto* out = static_cast<Decimal*>(call.out);
  for (int64_t row = 0; row < call.n; ++row) {
    if (kQuick(a[row], b[row], &out[row])) continue;
    if (call.active != nullptr && call.active[row] == 0) {
      out[row] = Decimal();
      continue;
    }
    ADJOIN_ASSIGN_OR_RETURN(out[row], kExact(a[row], b[row]));
  }
  return absl::OkStatus();
}
template <auto kQuick, auto kExact>
inline constexpr RowFunction kOfDecimals =
    RowSignature<absl::StatusOr<Decimal>, Decimal, Decimal>(RunDecimals<kQuick, kExact>);

absl::StatusOr<Decimal> WithModifier(Decimal value, int32_t precision, int32_t scale) {
  return Rounded(value, {static_cast<int16_t>(precision), static_cast<int16_t>(scale)});
}
template <typename T>
absl::StatusOr<T> NarrowIntegerOf(Decimal value) {
  const absl::StatusOr<int64_t> wide = decimal::IntegerOf(value);
  if (wide.ok() && std::in_range<T>(*wide)) return static_cast<T>(*wide);
  return SqlError(sqlstate::kNumericOutOfRange,
                  sizeof(T) == 2 ? "smallint out of range" : "integer out of range");
}

// Of a and 0 it is a; never negative. Unsigned, as the least integer has no opposite.
template <typename T>
absl::StatusOr<T> CommonDivisor(T a, T b) {
  const auto magnitude = [](T v) {
    return v < 0 ? uint64_t{0} - static_cast<uint64_t>(int64_t{v}) : static_cast<uint64_t>(v);
  };
  const uint64_t divisor = std::gcd(magnitude(a), magnitude(b));
  if (std::in_range<T>(divisor)) return static_cast<T>(divisor);
  return SqlError(sqlstate::kNumericOutOfRange,
                  sizeof(T) == 4 ? "integer out of range" : "bigint out of range");
}
template <typename T>
absl::StatusOr<T> CommonMultiple(T a, T b) {
  if (a == 0 || b == 0) return T{0};
  const auto magnitude = [](T v) { return v < 0 ? -__int128{v} : __int128{v}; };
  ADJOIN_ASSIGN_OR_RETURN(const T divisor, CommonDivisor(a, b));
  const __int128 multiple = magnitude(a) / divisor * magnitude(b);
  if (multiple <= std::numeric_limits<T>::max()) return static_cast<T>(multiple);
  return SqlError(sqlstate::kNumericOutOfRange,
                  sizeof(T) == 4 ? "integer out of range" : "bigint out of range");
}

// generate_series of NUMERIC, as of timestamps (engine/date_functions.h).
absl::StatusOr<int64_t> DecimalSeriesSize(Decimal start, Decimal stop, Decimal step) {
  if (step.coefficient() == 0)
    return SqlError(sqlstate::kInvalidParameterValue, "step size cannot equal zero");
  if (step.coefficient() > 0 ? stop < start : start < stop) return 0;
  ADJOIN_ASSIGN_OR_RETURN(const Decimal distance, decimal::Subtract(stop, start));
  ADJOIN_ASSIGN_OR_RETURN(const Decimal steps, decimal::WholeQuotient(distance, step));
  ADJOIN_ASSIGN_OR_RETURN(const int64_t whole, decimal::IntegerOf(steps));
  return whole + 1;
}
absl::StatusOr<Decimal> DecimalSeriesAt(Decimal start, Decimal step, int64_t n) {
  if (n == 0) return start;  // with its own scale
  ADJOIN_ASSIGN_OR_RETURN(const Decimal distance, decimal::Multiply(step, decimal::FromInteger(n)));
  return decimal::Add(start, distance);
}

constexpr ScalarFunction Row(Text name, const RowFunction& function, bool infix = false) {
  return {name,    NullRule::kRows, ScalarOp::kCount, DerivativeKind::kNone,
          nullptr, infix,           &function};
}
template <auto kFunction>
constexpr ScalarFunction Row(Text name, bool infix = false) {
  return Row(name, kRowFunction<kFunction>, infix);
}

const ScalarFunction kFunctions[] = {
    Row<text::Concat>("||", true),
    Row("~~", kLike, true),
    Row("~~*", kIlike, true),
    Row<WithBackslash>("like_escape"),
    Row("~", kRegexpMatches, true),
    Row("~*", kRegexpMatchesIgnoringCase, true),
    Row("!~", kRegexpDiffers, true),
    Row("!~*", kRegexpDiffersIgnoringCase, true),
    Row<SimilarToEscape>("similar_to_escape"),
    Row<+[](BatchArena& a, Text p) { return SimilarToEscape(a, p, "\\"); }>("similar_to_escape"),
    Row("regexp_like", kRegexpLike[0]),
    Row("regexp_like", kRegexpLike[1]),
    Row("regexp_count", kRegexpCount[0]),
    Row("regexp_count", kRegexpCount[1]),
    Row("regexp_count", kRegexpCount[2]),
    Row("regexp_substr", kRegexpSubstr[0]),
    Row("regexp_substr", kRegexpSubstr[1]),
    Row("regexp_substr", kRegexpSubstr[2]),
    Row("regexp_substr", kRegexpSubstr[3]),
    Row("regexp_substr", kRegexpSubstr[4]),
    Row("regexp_instr", kRegexpInstr[0]),
    Row("regexp_instr", kRegexpInstr[1]),
    Row("regexp_instr", kRegexpInstr[2]),
    Row("regexp_instr", kRegexpInstr[3]),
    Row("regexp_instr", kRegexpInstr[4]),
    Row("regexp_instr", kRegexpInstr[5]),
    Row("regexp_replace", kRegexpReplace[0]),
    Row("regexp_replace", kRegexpReplace[1]),
    Row("regexp_replace", kRegexpReplace[2]),
    Row("regexp_replace", kRegexpReplace[3]),
    Row("regexp_replace", kRegexpReplace[4]),
    // Before those by positions: what is a quoted literal is a pattern.
    Row("substring", kRegexpSubstring),
    Row("substring", kSimilarSubstring),
    Row<text::Length>("length"),
    Row<text::Length>("char_length"),
    Row<text::Length>("character_length"),
    Row<+[](Text s) { return static_cast<int32_t>(s.size()); }>("octet_length"),
    Row<+[](Text s) { return static_cast<int32_t>(8 * s.size()); }>("bit_length"),
    Row<text::Lower>("lower"),
    Row<text::Upper>("upper"),
    Row<text::Initcap>("initcap"),
    Row<text::Reverse>("reverse"),
    Row<text::Replace>("replace"),
    Row<text::Translate>("translate"),
    Row<text::Repeat>("repeat"),
    Row<text::PadLeft>("lpad"),
    Row<+[](BatchArena& a, Text s, int32_t n) { return text::PadLeft(a, s, n, " "); }>("lpad"),
    Row<text::PadRight>("rpad"),
    Row<+[](BatchArena& a, Text s, int32_t n) { return text::PadRight(a, s, n, " "); }>("rpad"),
    Row<text::Substring>("substring"),
    Row<text::SubstringFrom>("substring"),
    Row<text::Substring>("substr"),
    Row<text::SubstringFrom>("substr"),
    Row<text::Left>("left"),
    Row<text::Right>("right"),
    Row<text::TrimLeft>("ltrim"),
    Row<+[](Text s) { return text::TrimLeft(s, " "); }>("ltrim"),
    Row<text::TrimRight>("rtrim"),
    Row<+[](Text s) { return text::TrimRight(s, " "); }>("rtrim"),
    Row<text::Trim>("btrim"),
    Row<+[](Text s) { return text::Trim(s, " "); }>("btrim"),
    Row<text::Position>("position"),
    Row<text::Position>("strpos"),
    Row<text::SplitPart>("split_part"),
    Row<+[](Text s, Text prefix) { return s.starts_with(prefix); }>("starts_with"),
    Row<+[](Text s, Text prefix) { return s.starts_with(prefix); }>("^@", true),
    Row<text::OverlayHead>("overlay_head"),
    Row<+[](BatchArena& a, int32_t v) { return text::Hex(a, static_cast<uint32_t>(v)); }>("to_hex"),
    Row<+[](BatchArena& a, int64_t v) { return text::Hex(a, static_cast<uint64_t>(v)); }>("to_hex"),
    Row<text::Quoted>("quote_literal"),
    Row<text::QuotedName>("quote_ident"),
    Row<text::ArgumentOf>("format_argument"),
    Row<text::Format>("format"),
    Row<text::Md5>("md5"),
    Row<text::CodePoint>("ascii"),
    Row<text::Character>("chr"),
    // Of one type first: beside a quoted literal PostgreSQL takes that.
    Row<+[](Interval a, Interval b) { return Add(a, b); }>("+", true),
    Row<+[](Date d, int32_t n) { return AddDays(d, n); }>("+", true),
    Row<+[](int32_t n, Date d) { return AddDays(d, n); }>("+", true),
    Row<AddToDate>("+", true),
    Row<+[](Interval i, Date d) { return AddToDate(d, i); }>("+", true),
    Row<AddInterval>("+", true),
    Row<+[](Interval i, Timestamp t) { return AddInterval(t, i); }>("+", true),
    Row<DaysBetween>("-", true),
    Row<Difference>("-", true),
    Row<Subtract>("-", true),
    Row<+[](Date d, int32_t n) { return AddDays(d, -int64_t{n}); }>("-", true),
    Row<TakeFromDate>("-", true),
    Row<TakeFromTimestamp>("-", true),
    Row<Negate>("-"),
    Row<Multiply>("*", true),
    Row<+[](double f, Interval i) { return Multiply(i, f); }>("*", true),
    Row<Divide>("/", true),
    Row<TimestampOf>("timestamp"),
    Row<+[](Timestamp t, int32_t digits) { return Rounded(t, digits); }>("timestamp"),
    Row<DateOf>("date"),
    Row<MakeDate>("make_date"),
    Row<MakeTimestamp>("make_timestamp"),
    Row<MakeInterval>("make_interval"),
    Row<Age>("age"),
    Row<+[](Date d) { return d.is_finite(); }>("isfinite"),
    Row<+[](Timestamp t) { return t.is_finite(); }>("isfinite"),
    Row<+[](Interval) { return true; }>("isfinite"),
    Row<JustifyHours>("justify_hours"),
    Row<JustifyDays>("justify_days"),
    Row<Justify>("justify_interval"),
    Row<Bin>("date_bin"),
    Row<SeriesSize>("series_size"),
    Row<SeriesAt>("series_at"),
    Row<DecimalSeriesSize>("series_size"),
    Row<DecimalSeriesAt>("series_at"),
    Row("extract", kExtract<Date>),
    Row("extract", kExtract<Timestamp>),
    Row("extract", kExtract<Interval>),
    Row("date_part", kExtract<Date>),
    Row("date_part", kExtract<Timestamp>),
    Row("date_part", kExtract<Interval>),
    Row("date_trunc", kTruncate<Timestamp>),
    Row("date_trunc", kTruncate<Interval>),
    Row("to_char", kTimestampToChar),
    Row("to_char", kIntervalToChar),
    Row("to_char", kNumberToChar[0]),
    Row("to_char", kNumberToChar[1]),
    Row("to_char", kNumberToChar[2]),
    Row("to_char", kNumberToChar[3]),
    Row("to_char", kNumberToChar[4]),
    Row("to_char", kNumberToChar[5]),
    Row("to_number", kToNumber),
    Row("to_timestamp", kToTimestamp),
    Row<TimestampOfEpoch>("to_timestamp"),
    Row("to_date", kToDate),
    Row("+", kOfDecimals<decimal::QuickAdd, decimal::Add>, true),
    Row("-", kOfDecimals<decimal::QuickSubtract, decimal::Subtract>, true),
    Row("*", kOfDecimals<decimal::QuickMultiply, decimal::Multiply>, true),
    Row<decimal::Divide>("/", true),
    Row<decimal::Remainder>("%", true),
    Row<decimal::WholeQuotient>("div"),
    Row<CommonDivisor<int32_t>>("gcd"),
    Row<CommonDivisor<int64_t>>("gcd"),
    Row<CommonMultiple<int32_t>>("lcm"),
    Row<CommonMultiple<int64_t>>("lcm"),
    Row<number::CommonDivisor>("gcd"),
    Row<number::CommonMultiple>("lcm"),
    Row<number::Factorial>("factorial"),
    Row<+[](double v, double a, double b, int32_t n) { return number::WidthBucket(v, a, b, n); }>(
        "width_bucket"),
    Row<+[](Decimal v, Decimal a, Decimal b, int32_t n) {
      return number::WidthBucket(v, a, b, n);
    }>("width_bucket"),
    Row<number::SinDegrees>("sind"),
    Row<number::CosDegrees>("cosd"),
    Row<number::TanDegrees>("tand"),
    Row<number::CotDegrees>("cotd"),
    Row<number::AsinDegrees>("asind"),
    Row<number::AcosDegrees>("acosd"),
    Row<number::AtanDegrees>("atand"),
    Row<number::Atan2Degrees>("atan2d"),
    Row<+[](Decimal a) { return a.scale(); }>("scale"),
    Row<+[](Decimal a) { return Normalized(a).scale(); }>("min_scale"),
    Row<Normalized>("trim_scale"),
    Row<decimal::Negate>("-"),
    Row<decimal::Absolute>("abs"),
    Row<decimal::Sign>("sign"),
    Row<decimal::Floor>("floor"),
    Row<decimal::Ceil>("ceil"),
    Row<+[](Decimal a) { return decimal::Round(a, 0); }>("round"),
    Row<decimal::Round>("round"),
    Row<+[](Decimal a) { return decimal::Truncate(a, 0); }>("trunc"),
    Row<decimal::Truncate>("trunc"),
    Row<WithModifier>("numeric"),
    Row<decimal::FromInteger>("numeric"),
    Row<+[](float value) { return decimal::FromFloat(value); }>("numeric"),
    Row<+[](double value) { return decimal::FromFloat(value); }>("numeric"),
    Row<NarrowIntegerOf<int16_t>>("int2"),
    Row<NarrowIntegerOf<int32_t>>("int4"),
    Row<decimal::IntegerOf>("int8"),
    Row<decimal::NearestFloat>("float4"),
    Row<+[](Decimal a) { return static_cast<double>(a); }>("float8"),
};

// 2: as it is, 1: by a cast that PostgreSQL makes unasked, 0: not at all.
int Fit(std::optional<TypeId> from, TypeId to) {
  if (from == to) return 2;
  const bool integers = from.has_value() && IsInteger(*from) && IsInteger(to) && *from < to;
  const bool to_decimal = from.has_value() && IsInteger(*from) && to == TypeId::kDecimal;
  const bool to_double = from.has_value() && IsNumeric(*from) && to == TypeId::kFloat64;
  const bool midnight = from == TypeId::kDate && to == TypeId::kTimestamp;
  return !from.has_value() || integers || to_decimal || to_double || midnight ? 1 : 0;
}

// The value of a call of constants; nullptr where it cannot be computed or is an error, which is
// raised when, and only if, the call is run.
ExprRef Folded(const ExprRef& call) {
  for (const ExprRef& arg : call->args) {
    if (arg->kind != ExprKind::kConstant) return nullptr;
  }
  const absl::StatusOr<CompiledExpr> compiled = CompileExprs(std::array{call}, {}, {});
  if (!compiled.ok()) return nullptr;
  ExprScratch scratch;
  compiled->Prepare(scratch, 1, {});
  if (!compiled->Run(scratch, {}, 1).ok()) return nullptr;
  return ConstantExpr(SingleValue(*compiled, scratch, 0), call->type);
}

}  // namespace

const ScalarFunction* FindRowFunction(std::string_view name,
                                      std::span<const std::optional<TypeId>> args) {
  const bool numbers = std::ranges::all_of(
      args, [](const std::optional<TypeId>& t) { return !t.has_value() || IsArrayType(*t); });
  const bool of_digits = args.size() == 2 && (name == "round" || name == "trunc");
  if (numbers && !of_digits && FindFunction(name) != nullptr) return nullptr;
  const ScalarFunction* best = nullptr;
  int best_fit = 0;
  for (const ScalarFunction& f : kFunctions) {
    if (f.name != name || f.rows->num_args != static_cast<int>(args.size())) continue;
    int fit = 1;
    for (size_t i = 0; i < args.size() && fit > 0; ++i) {
      const int one = Fit(args[i], f.rows->args[i]);
      fit = one == 0 ? 0 : fit + one;
    }
    if (fit > best_fit) best = &f, best_fit = fit;
  }
  return best;
}

bool IsRowFunction(std::string_view name) {
  return std::ranges::any_of(kFunctions, [&](const ScalarFunction& f) { return f.name == name; });
}

ExprRef CallRowFunction(const ScalarFunction* function, std::vector<ExprRef> args) {
  for (size_t i = 0; i < args.size(); ++i) args[i] = CastTo(args[i], function->rows->args[i]);
  const ExprRef call = CallExpr(function, std::move(args), function->rows->result);
  const ExprRef folded = Folded(call);
  return folded != nullptr ? folded : call;
}

}  // namespace adjoin
