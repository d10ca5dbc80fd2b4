#include "ops/text_cast.h"

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

absl::Status InvalidSyntax(std::string_view text, TypeId target) {
  return SqlError(sqlstate::kInvalidTextRepresentation,
                  ToStd(absl::StrCat("invalid input syntax for type ", ToAbsl(TypeName(target)),
                                     ": \"", ToAbsl(text), "\"")));
}

absl::StatusOr<Value> ParseInteger(std::string_view text, TypeId target) {
  std::string_view digits = Trim(text);
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument) {
    return InvalidSyntax(text, target);
  }
  const bool fits =
      target == TypeId::kInt64 || (target == TypeId::kInt32 ? value == static_cast<int32_t>(value)
                                                            : value == static_cast<int16_t>(value));
  if (error == std::errc::result_out_of_range || !fits) {
    return SqlError(sqlstate::kNumericOutOfRange,
                    ToStd(absl::StrCat("value \"", ToAbsl(text), "\" is out of range for type ",
                                       ToAbsl(TypeName(target)))));
  }
  return Value::Int(value);
}

template <typename T>
absl::StatusOr<Value> ParseFloat(std::string_view text, TypeId target) {
  std::string_view digits = Trim(text);
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  T value = 0;
  const auto [end, error] =
      fast_float::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || end != digits.data() + digits.size()) return InvalidSyntax(text, target);
  const bool spelled_infinity = digits.find_first_of("iI") != std::string_view::npos;
  const bool underflow =
      value == 0 && digits.substr(0, digits.find_first_of("eE")).find_first_of("123456789") !=
                        std::string_view::npos;
  if ((std::isinf(value) && !spelled_infinity) || underflow) {
    return SqlError(sqlstate::kNumericOutOfRange,
                    ToStd(absl::StrCat("\"", ToAbsl(text), "\" is out of range for type ",
                                       ToAbsl(TypeName(target)))));
  }
  static_cast<void>(error);
  return Value::Float(static_cast<double>(value));
}

// Any unambiguous prefix of true, false, yes, no, on, off; or 1, 0.
absl::StatusOr<Value> ParseBool(std::string_view text) {
  const std::string_view word = Trim(text);
  const auto is_prefix_of = [&](const char* full, size_t least) {
    return word.size() >= least && absl::StartsWithIgnoreCase(full, ToAbsl(word));
  };
  if (word == "1" || is_prefix_of("true", 1) || is_prefix_of("yes", 1) || is_prefix_of("on", 2)) {
    return Value::Bool(true);
  }
  if (word == "0" || is_prefix_of("false", 1) || is_prefix_of("no", 1) || is_prefix_of("off", 2)) {
    return Value::Bool(false);
  }
  return InvalidSyntax(text, TypeId::kBool);
}

}  // namespace

absl::StatusOr<Value> ParseText(std::string_view text, TypeId target) {
  switch (target) {
    case TypeId::kBool:
      return ParseBool(text);
    case TypeId::kInt16:
    case TypeId::kInt32:
    case TypeId::kInt64:
      return ParseInteger(text, target);
    case TypeId::kFloat32:
      return ParseFloat<float>(text, target);
    case TypeId::kFloat64:
      return ParseFloat<double>(text, target);
    case TypeId::kText:
      return Value::Text(std::string(text));
  }
  return Value();
}

absl::Status ScalarErrorStatus(ScalarError error, TypeId result) {
  switch (error) {
    case ScalarError::kNone:
      return absl::OkStatus();
    case ScalarError::kDivisionByZero:
      return SqlError(sqlstate::kDivisionByZero, "division by zero");
    case ScalarError::kInvalidText:
      return SqlError(sqlstate::kInvalidTextRepresentation, "invalid input syntax");
    case ScalarError::kDomain:
      return SqlError(sqlstate::kNumericOutOfRange, "input is out of range");
    case ScalarError::kOverflow:
      break;
  }
  if (IsFloat(result)) {
    return SqlError(sqlstate::kNumericOutOfRange, "value out of range: overflow");
  }
  return SqlError(sqlstate::kNumericOutOfRange,
                  ToStd(absl::StrCat(ToAbsl(TypeName(result)), " out of range")));
}

}  // namespace adjoin
