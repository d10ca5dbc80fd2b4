#include "engine/number_format.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/decimal_functions.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

struct Spelling {
  std::string_view text;
  NumberField field;
};
// In capitals; small letters throughout do as well. Of two that begin alike the longer comes first.
constexpr Spelling kSpellings[] = {
    {"9", NumberField::kNine},     {"0", NumberField::kZero},
    {",", NumberField::kComma},    {".", NumberField::kPoint},
    {"B", NumberField::kBlank},    {"C", NumberField::kCurrency},
    {"D", NumberField::kDecimal},  {"EEEE", NumberField::kScientific},
    {"FM", NumberField::kFill},    {"G", NumberField::kGroup},
    {"L", NumberField::kSymbol},   {"MI", NumberField::kMinus},
    {"PL", NumberField::kPlus},    {"PR", NumberField::kBracket},
    {"RN", NumberField::kRoman},   {"SG", NumberField::kAnySign},
    {"SP", NumberField::kSpell},   {"S", NumberField::kSign},
    {"TH", NumberField::kOrdinal}, {"V", NumberField::kMulti}};

absl::Status Syntax(std::string_view message) { return SqlError(sqlstate::kSyntaxError, message); }

// Takes a field off the front; false where there is none.
bool TakeField(std::string_view& pattern, NumberNode* node) {
  for (const Spelling& s : kSpellings) {
    const std::string_view text = pattern.substr(0, s.text.size());
    node->lower = text != s.text;
    if (node->lower && text != ToStd(absl::AsciiStrToLower(ToAbsl(s.text)))) continue;
    node->field = s.field;
    pattern.remove_prefix(s.text.size());
    return true;
  }
  return false;
}

size_t CharacterSize(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && ContinuesCharacter(text[size])) ++size;
  return size;
}

NumberNode TakeCharacter(std::string_view& pattern) {
  NumberNode node;
  node.text = pattern.substr(0, CharacterSize(pattern));
  pattern.remove_prefix(node.text.size());
  return node;
}

}  // namespace

absl::StatusOr<NumberFormat> NumberFormat::Parse(std::string_view pattern) {
  NumberFormat out;
  while (!pattern.empty()) {
    NumberNode node;
    if (TakeField(pattern, &node)) {
      ADJOIN_RETURN_IF_ERROR(out.Add(std::move(node)));
    } else if (pattern[0] == '"') {
      pattern.remove_prefix(1);
      while (!pattern.empty() && pattern[0] != '"') {
        if (pattern[0] == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
        out.nodes_.push_back(TakeCharacter(pattern));
      }
      if (!pattern.empty()) pattern.remove_prefix(1);
    } else {
      if (pattern.starts_with("\\\"")) pattern.remove_prefix(1);
      out.nodes_.push_back(TakeCharacter(pattern));
    }
  }
  return out;
}

absl::Status NumberFormat::AddSign(NumberField field) {
  NumberShape& s = shape_;
  if (field == NumberField::kSign) {
    if (s.sign) return Syntax("cannot use \"S\" twice");
    if (s.plus || s.minus || s.bracket)
      return Syntax("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
    s.sign = true;
    s.sign_is_first = !s.point;
    s.digits_before_sign = s.before;
    return absl::OkStatus();
  }
  if (field == NumberField::kBracket) {
    if (s.sign || s.plus || s.minus)
      return Syntax("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
    s.bracket = true;
    return absl::OkStatus();
  }
  if (s.sign) {
    const char* name = field == NumberField::kMinus  ? "MI"
                       : field == NumberField::kPlus ? "PL"
                                                     : "SG";
    return Syntax(absl::StrCat("cannot use \"S\" and \"", name, "\" together"));
  }
  if (field != NumberField::kPlus) s.minus = true;
  if (field != NumberField::kMinus) s.plus = true;
  return absl::OkStatus();
}

absl::Status NumberFormat::Add(NumberNode node) {
  NumberShape& s = shape_;
  if (s.scientific && node.field != NumberField::kScientific)
    return Syntax("\"EEEE\" must be the last pattern used");
  switch (node.field) {
    case NumberField::kNine:
      if (s.bracket) return Syntax("\"9\" must be ahead of \"PR\"");
      ++(s.has_multi ? s.multi : s.point ? s.after : s.before);
      break;
    case NumberField::kZero:
      if (s.bracket) return Syntax("\"0\" must be ahead of \"PR\"");
      if (!s.zero && !s.point) s.zero = true, s.zero_start = s.before;
      ++(s.point ? s.after : s.before);
      s.zero_end = s.before + s.after;
      break;
    case NumberField::kBlank:
      s.blank |= s.before == 0 && s.after == 0 && !s.zero;
      break;
    case NumberField::kPoint:
    case NumberField::kDecimal:
      if (s.point) return Syntax("multiple decimal points");
      if (s.has_multi) return Syntax("cannot use \"V\" and decimal point together");
      s.point = true;
      break;
    case NumberField::kFill:
      s.fill = true;
      break;
    case NumberField::kSign:
    case NumberField::kMinus:
    case NumberField::kPlus:
    case NumberField::kAnySign:
    case NumberField::kBracket:
      ADJOIN_RETURN_IF_ERROR(AddSign(node.field));
      break;
    case NumberField::kRoman:
      s.roman = true;
      break;
    case NumberField::kMulti:
      if (s.point) return Syntax("cannot use \"V\" and decimal point together");
      s.has_multi = true;
      break;
    case NumberField::kScientific:
      if (s.scientific) return Syntax("cannot use \"EEEE\" twice");
      if (s.blank || s.fill || s.sign || s.bracket || s.minus || s.plus || s.roman || s.has_multi) {
        return SqlErrorWithDetail(
            sqlstate::kSyntaxError, "\"EEEE\" is incompatible with other formats",
            "\"EEEE\" may only be used together with digit and decimal point patterns.");
      }
      s.scientific = true;
      break;
    default:
      break;
  }
  nodes_.push_back(std::move(node));
  return absl::OkStatus();
}

namespace {

std::string RomanNumeral(int64_t value) {
  constexpr std::pair<int, std::string_view> kNumerals[] = {
      {1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"},
      {40, "XL"},  {10, "X"},   {9, "IX"},  {5, "V"},    {4, "IV"},  {1, "I"}};
  if (value < 1 || value > 3999) return std::string(15, '#');
  std::string out;
  for (const auto& [size, numeral] : kNumerals) {
    for (; value >= size; value -= size) out += numeral;
  }
  return out;
}

absl::Status OutOfRange(std::string_view type) {
  return SqlError(sqlstate::kNumericOutOfRange, std::string(type) + " out of range");
}

// d.ddde+xx of the exact digits, `after` of them behind the point; a space stands for a plus.
std::string ScientificText(Decimal value, int after) {
  const bool negative = value.coefficient() < 0;
  std::string digits =
      ToText(Decimal::Of(negative ? -value.coefficient() : value.coefficient(), 0));
  const int64_t exponent = value.coefficient() == 0 ? 0 : std::ssize(digits) - 1 - value.scale();
  if (std::ssize(digits) > after + 1) {  // rounded half away from zero
    const bool up = digits[static_cast<size_t>(after) + 1] >= '5';
    digits.resize(static_cast<size_t>(after) + 1);
    for (auto at = digits.rbegin(); up; ++at) {
      if (at == digits.rend()) {
        digits.insert(0, 1, '1');  // 9.99 becomes 10.0, as in PostgreSQL
        break;
      }
      if (*at != '9') {
        ++*at;
        break;
      }
      *at = '0';
    }
  }
  const size_t whole = digits.size() > static_cast<size_t>(after) + 1 ? 2 : 1;
  digits.resize(whole + static_cast<size_t>(after), '0');
  if (after > 0) digits.insert(whole, ".");
  return absl::StrFormat("%c%se%c%02d", negative ? '-' : ' ', digits, exponent < 0 ? '-' : '+',
                         std::abs(exponent));
}

absl::StatusOr<int64_t> TimesPowerOfTen(int64_t value, int exponent, int64_t least, int64_t most,
                                        std::string_view type) {
  __int128 product = value;
  for (int i = 0; i < exponent && product != 0; ++i) {
    product *= 10;
    if (product < least || product > most) return OutOfRange(type);
  }
  return static_cast<int64_t>(product);
}

}  // namespace

absl::StatusOr<std::string> NumberFormat::FormatDigits(NumberShape shape,
                                                       std::string_view digits) const {
  const char sign = digits.starts_with('-') ? '-' : '+';
  if (sign == '-') digits.remove_prefix(1);
  const auto whole = static_cast<int>(std::min(digits.find('.'), digits.size()));
  std::string text(digits);
  if (whole > shape.before) {  // no room
    text.assign(static_cast<size_t>(shape.before + shape.after + 1), '#');
    text[static_cast<size_t>(shape.before)] = '.';
  }
  const bool has_ordinal = std::ranges::any_of(
      nodes_, [](const NumberNode& node) { return node.field == NumberField::kOrdinal; });
  if (has_ordinal && sign == '+' && !shape.point && text[0] != '#' &&
      !absl::ascii_isdigit(static_cast<unsigned char>(text.back()))) {
    return SqlError(sqlstate::kInvalidTextRepresentation,
                    absl::StrCat("\"", text, "\" is not a number"));
  }
  return WriteNumber(nodes_, shape, std::move(text), std::max(0, shape.before - whole), sign);
}

std::string NumberFormat::Roman(double value) const {
  const bool fits = value >= 1 && value <= 3999;
  return WriteNumber(nodes_, shape_, RomanNumeral(fits ? static_cast<int64_t>(value) : 0), 0, 0);
}

std::string NumberFormat::Scientific(double value) const {
  if (std::isfinite(value)) {
    std::string out = absl::StrFormat("%+.*e", shape_.after, value);
    if (out[0] == '+') out[0] = ' ';
    return out;
  }
  std::string out(static_cast<size_t>(shape_.before + shape_.after + 6), '#');
  out[0] = ' ';
  out[static_cast<size_t>(shape_.before) + 1] = '.';
  return out;
}

absl::StatusOr<std::string> NumberFormat::FormatInteger(int64_t value, int64_t least, int64_t most,
                                                        std::string_view type) const {
  NumberShape shape = shape_;
  ADJOIN_ASSIGN_OR_RETURN(const int64_t shifted,
                          TimesPowerOfTen(value, shape.multi, least, most, type));
  shape.before += shape.multi;
  std::string digits = absl::StrCat(shifted);
  if (shape.after > 0) absl::StrAppend(&digits, ".", std::string(size_t(shape.after), '0'));
  return FormatDigits(shape, digits);
}

absl::StatusOr<std::string> NumberFormat::Format(int32_t value) const {
  if (nodes_.empty()) return std::string();
  if (shape_.roman) return Roman(value);
  if (shape_.scientific) return Scientific(value);
  return FormatInteger(value, INT32_MIN, INT32_MAX, "integer");
}

absl::StatusOr<std::string> NumberFormat::Format(int64_t value) const {
  if (nodes_.empty()) return std::string();
  if (shape_.roman) {
    if (!std::in_range<int32_t>(value)) return OutOfRange("integer");
    return Roman(static_cast<double>(value));
  }
  if (shape_.scientific) return ScientificText(decimal::FromInteger(value), shape_.after);
  return FormatInteger(value, INT64_MIN, INT64_MAX, "bigint");
}

absl::StatusOr<std::string> NumberFormat::FormatFloat(double value, int digits) const {
  if (nodes_.empty()) return std::string();
  if (shape_.roman) return Roman(std::rint(value));
  if (shape_.scientific) return Scientific(value);
  NumberShape shape = shape_;
  if (shape.has_multi) value *= std::pow(10.0, shape.multi);
  shape.before += shape.multi;
  const std::string text = std::isnan(value)   ? "NaN"
                           : std::isinf(value) ? (value > 0 ? "Infinity" : "-Infinity")
                                               : "";
  const std::string whole = text.empty() ? absl::StrFormat("%.0f", std::abs(value)) : text;
  const int places = static_cast<int>(whole.size()) - (whole.starts_with('-') ? 1 : 0);
  shape.after = std::min(shape.after, std::max(0, digits - places));
  return FormatDigits(shape, text.empty() ? absl::StrFormat("%.*f", shape.after, value) : text);
}

absl::StatusOr<std::string> NumberFormat::Format(float value) const {
  return FormatFloat(value, 6);
}

absl::StatusOr<std::string> NumberFormat::Format(double value) const {
  return FormatFloat(value, 15);
}

absl::StatusOr<std::string> NumberFormat::Format(Decimal value) const {
  if (nodes_.empty()) return std::string();
  if (shape_.scientific) return ScientificText(value, shape_.after);
  if (shape_.roman) {
    ADJOIN_ASSIGN_OR_RETURN(const int64_t whole, decimal::IntegerOf(value));
    if (!std::in_range<int32_t>(whole)) return OutOfRange("integer");
    return Roman(static_cast<double>(whole));
  }
  NumberShape shape = shape_;
  if (shape.multi > 0) {
    ADJOIN_ASSIGN_OR_RETURN(value,
                            decimal::Fitted(value.coefficient(), value.scale() - shape.multi));
  }
  shape.before += shape.multi;
  ADJOIN_ASSIGN_OR_RETURN(value, decimal::Round(value, shape.after));
  // A scale that has no room in a NUMERIC of as many digits.
  std::string digits = ToText(value);
  if (shape.after > value.scale()) {
    if (value.scale() == 0) digits += '.';
    digits.append(static_cast<size_t>(shape.after - value.scale()), '0');
  }
  return FormatDigits(shape, digits);
}

absl::StatusOr<std::optional<Decimal>> NumberFormat::Read(std::string_view text) const {
  if (nodes_.empty()) return std::nullopt;
  if (shape_.scientific || shape_.roman) {
    return SqlError(sqlstate::kFeatureNotSupported, shape_.scientific
                                                        ? "\"EEEE\" not supported for input"
                                                        : "\"RN\" not supported for input");
  }
  const NumberText read = ReadNumber(nodes_, shape_, text);
  ADJOIN_ASSIGN_OR_RETURN(Decimal value, ParseDecimal(read.text));
  const int precision = shape_.before + shape_.multi + read.after;
  if (precision <= NumericModifier::kMaxPrecision) {
    const NumericModifier modifier{static_cast<int16_t>(precision),
                                   static_cast<int16_t>(read.after)};
    ADJOIN_ASSIGN_OR_RETURN(value, Rounded(value, modifier));
  }
  if (precision == 0 && value.coefficient() != 0) {
    return SqlErrorWithDetail(
        sqlstate::kNumericOutOfRange, "numeric field overflow",
        "A field with precision 0, scale 0 must round to an absolute value less than 1.");
  }
  if (!shape_.has_multi) return value;
  // Times 10 to the power of -multi, which has 16 digits behind the point.
  constexpr int kDigits = 16;
  __int128 wide;
  const bool is_short =
      shape_.multi <= kDigits && value.scale() == 0 &&
      !__builtin_mul_overflow(value.coefficient(), PowerOfTen(kDigits - shape_.multi), &wide) &&
      decimal::Fits(wide);
  if (is_short) return Decimal::Of(wide, kDigits);
  ADJOIN_ASSIGN_OR_RETURN(value,
                          decimal::Fitted(value.coefficient(), value.scale() + shape_.multi));
  return value;
}

}  // namespace adjoin
