#include "engine/parse_element.h"

#include <fast_float/fast_float.h>

#include <charconv>
#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

std::string_view Trim(std::string_view s) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const size_t first = s.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kSpaces) - first + 1);
}

// A sign that from_chars does not take.
std::string_view WithoutPlus(std::string_view s) {
  return s.size() > 1 && s[0] == '+' && s[1] != '-' && s[1] != '+' ? s.substr(1) : s;
}

absl::Status InvalidSyntax(std::string_view text, TypeId type) {
  return SqlError(sqlstate::kInvalidTextRepresentation,
                  absl::StrCat("invalid input syntax for type ", ToAbsl(TypeName(type)), ": \"",
                               ToAbsl(text), "\""));
}

template <typename T>
absl::Status ParseInteger(std::string_view text, TypeId type, T* out) {
  const std::string_view digits = WithoutPlus(Trim(text));
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, *out);
  if (error == std::errc::invalid_argument || stop != end) return InvalidSyntax(text, type);
  if (error == std::errc()) return absl::OkStatus();
  return SqlError(sqlstate::kNumericOutOfRange,
                  absl::StrCat("value \"", ToAbsl(text), "\" is out of range for type ",
                               ToAbsl(TypeName(type))));
}

template <typename T>
absl::Status ParseFloat(std::string_view text, TypeId type, T* out) {
  const std::string_view digits = WithoutPlus(Trim(text));
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = fast_float::from_chars(digits.data(), end, *out);
  if (error != std::errc() || stop != end) return InvalidSyntax(text, type);
  if (std::isfinite(*out) && *out != 0) return absl::OkStatus();
  const bool named = digits.find_first_of("iInN") != std::string_view::npos;
  const std::string_view mantissa = digits.substr(0, digits.find_first_of("eE"));
  const bool is_zero = mantissa.find_first_of("123456789") == std::string_view::npos;
  if (named || is_zero) return absl::OkStatus();
  return SqlError(
      sqlstate::kNumericOutOfRange,
      absl::StrCat("\"", ToAbsl(text), "\" is out of range for type ", ToAbsl(TypeName(type))));
}

// Any prefix that is not ambiguous, as PostgreSQL's parse_bool.
absl::Status ParseBool(std::string_view text, uint8_t* out) {
  const std::string_view word = Trim(text);
  const auto is = [&](const char* full, size_t least) {
    return word.size() >= least && absl::StartsWithIgnoreCase(full, ToAbsl(word));
  };
  if (word == "1" || is("true", 1) || is("yes", 1) || is("on", 2)) {
    *out = 1;
  } else if (word == "0" || is("false", 1) || is("no", 1) || is("off", 2)) {
    *out = 0;
  } else {
    return InvalidSyntax(text, TypeId::kBool);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseElement(std::string_view text, TypeId type, void* out) {
  switch (type) {
    case TypeId::kBool:
      return ParseBool(text, static_cast<uint8_t*>(out));
    case TypeId::kInt16:
      return ParseInteger(text, type, static_cast<int16_t*>(out));
    case TypeId::kInt32:
      return ParseInteger(text, type, static_cast<int32_t*>(out));
    case TypeId::kInt64:
      return ParseInteger(text, type, static_cast<int64_t*>(out));
    case TypeId::kFloat32:
      return ParseFloat(text, type, static_cast<float*>(out));
    case TypeId::kFloat64:
      return ParseFloat(text, type, static_cast<double*>(out));
    case TypeId::kDate: {
      ADJOIN_ASSIGN_OR_RETURN(*static_cast<Date*>(out), ParseDate(text));
      return absl::OkStatus();
    }
    case TypeId::kTimestamp: {
      ADJOIN_ASSIGN_OR_RETURN(*static_cast<Timestamp*>(out), ParseTimestamp(text));
      return absl::OkStatus();
    }
    case TypeId::kInterval: {
      ADJOIN_ASSIGN_OR_RETURN(*static_cast<Interval*>(out), ParseInterval(text));
      return absl::OkStatus();
    }
    case TypeId::kDecimal: {
      ADJOIN_ASSIGN_OR_RETURN(*static_cast<Decimal*>(out), ParseDecimal(text));
      return absl::OkStatus();
    }
    case TypeId::kText:
      break;
  }
  return InvalidSyntax(text, type);
}

namespace {

template <typename T, typename Make>
absl::StatusOr<Value> ParseAs(std::string_view text, TypeId type, Make make) {
  T element;
  ADJOIN_RETURN_IF_ERROR(ParseElement(text, type, &element));
  return make(element);
}

}  // namespace

absl::StatusOr<Value> ParseText(std::string_view text, TypeId type) {
  switch (type) {
    case TypeId::kBool:
      return ParseAs<uint8_t>(text, type, [](uint8_t v) { return Value::Bool(v != 0); });
    case TypeId::kInt16:
      return ParseAs<int16_t>(text, type, Value::Int);
    case TypeId::kInt32:
      return ParseAs<int32_t>(text, type, Value::Int);
    case TypeId::kInt64:
      return ParseAs<int64_t>(text, type, Value::Int);
    case TypeId::kFloat32:
      return ParseAs<float>(text, type, [](float v) { return Value::Float(double{v}); });
    case TypeId::kFloat64:
      return ParseAs<double>(text, type, Value::Float);
    case TypeId::kDate:
      return ParseAs<int32_t>(text, type, Value::Int);
    case TypeId::kTimestamp:
      return ParseAs<int64_t>(text, type, Value::Int);
    case TypeId::kInterval:
      return ParseAs<Interval>(text, type, [](Interval v) { return Value::Of(v); });
    case TypeId::kDecimal:
      return ParseAs<Decimal>(text, type, [](Decimal v) { return Value::Of(v); });
    case TypeId::kText:
      break;
  }
  return Value::Text(std::string(text));
}

}  // namespace adjoin
