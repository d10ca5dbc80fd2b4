#include "ops/format_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "ops/text_functions.h"

namespace adjoin::text {
namespace {

// PostgreSQL 15's keywords that are no names everywhere, in order.
constexpr std::string_view kKeywords[] = {"all",
                                          "analyse",
                                          "analyze",
                                          "and",
                                          "any",
                                          "array",
                                          "as",
                                          "asc",
                                          "asymmetric",
                                          "authorization",
                                          "between",
                                          "bigint",
                                          "binary",
                                          "bit",
                                          "boolean",
                                          "both",
                                          "case",
                                          "cast",
                                          "char",
                                          "character",
                                          "check",
                                          "coalesce",
                                          "collate",
                                          "collation",
                                          "column",
                                          "concurrently",
                                          "constraint",
                                          "create",
                                          "cross",
                                          "current_catalog",
                                          "current_date",
                                          "current_role",
                                          "current_schema",
                                          "current_time",
                                          "current_timestamp",
                                          "current_user",
                                          "dec",
                                          "decimal",
                                          "default",
                                          "deferrable",
                                          "desc",
                                          "distinct",
                                          "do",
                                          "else",
                                          "end",
                                          "except",
                                          "exists",
                                          "extract",
                                          "false",
                                          "fetch",
                                          "float",
                                          "for",
                                          "foreign",
                                          "freeze",
                                          "from",
                                          "full",
                                          "grant",
                                          "greatest",
                                          "group",
                                          "grouping",
                                          "having",
                                          "ilike",
                                          "in",
                                          "initially",
                                          "inner",
                                          "inout",
                                          "int",
                                          "integer",
                                          "intersect",
                                          "interval",
                                          "into",
                                          "is",
                                          "isnull",
                                          "join",
                                          "lateral",
                                          "leading",
                                          "least",
                                          "left",
                                          "like",
                                          "limit",
                                          "localtime",
                                          "localtimestamp",
                                          "national",
                                          "natural",
                                          "nchar",
                                          "none",
                                          "normalize",
                                          "not",
                                          "notnull",
                                          "null",
                                          "nullif",
                                          "numeric",
                                          "offset",
                                          "on",
                                          "only",
                                          "or",
                                          "order",
                                          "out",
                                          "outer",
                                          "overlaps",
                                          "overlay",
                                          "placing",
                                          "position",
                                          "precision",
                                          "primary",
                                          "real",
                                          "references",
                                          "returning",
                                          "right",
                                          "row",
                                          "select",
                                          "session_user",
                                          "setof",
                                          "similar",
                                          "smallint",
                                          "some",
                                          "substring",
                                          "symmetric",
                                          "table",
                                          "tablesample",
                                          "then",
                                          "time",
                                          "timestamp",
                                          "to",
                                          "trailing",
                                          "treat",
                                          "trim",
                                          "true",
                                          "union",
                                          "unique",
                                          "user",
                                          "using",
                                          "values",
                                          "varchar",
                                          "variadic",
                                          "verbose",
                                          "when",
                                          "where",
                                          "window",
                                          "with",
                                          "xmlattributes",
                                          "xmlconcat",
                                          "xmlelement",
                                          "xmlexists",
                                          "xmlforest",
                                          "xmlnamespaces",
                                          "xmlparse",
                                          "xmlpi",
                                          "xmlroot",
                                          "xmlserialize",
                                          "xmltable"};

bool IsPlainName(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  }) && !std::ranges::binary_search(kKeywords, name);
}

// No value: NULL.
using Argument = std::optional<std::string_view>;

std::vector<Argument> ArgumentsIn(std::string_view packed) {
  std::vector<Argument> out;
  while (!packed.empty()) {
    if (packed.starts_with(kNullArgument)) {
      out.emplace_back();
      packed.remove_prefix(kNullArgument.size());
      continue;
    }
    size_t size = 0;
    const char* const colon =
        std::from_chars(packed.data(), packed.data() + packed.size(), size).ptr;
    packed.remove_prefix(static_cast<size_t>(colon - packed.data()) + 1);
    out.emplace_back(packed.substr(0, size));
    packed.remove_prefix(size);
  }
  return out;
}

absl::Status Invalid(std::string_view message) {
  return SqlError(sqlstate::kInvalidParameterValue, message);
}

// What stands between % and the letter. Positions are from 1; 0: the next argument.
struct Specifier {
  int position = 0;
  std::optional<int> width_position;
  int width = 0;
  bool left = false;
};

class Formatter {
 public:
  Formatter(BatchArena& arena, std::string_view pattern, std::string_view arguments)
      : arena_(arena), rest_(pattern), arguments_(ArgumentsIn(arguments)) {}

  absl::StatusOr<std::string_view> Run() {
    while (!rest_.empty()) {
      const size_t size = std::min(rest_.find('%'), rest_.size());
      out_ += rest_.substr(0, size);
      rest_.remove_prefix(size);
      if (rest_.empty()) break;
      ADJOIN_RETURN_IF_ERROR(Advance());
      if (rest_[0] == '%') {
        out_ += '%';
      } else {
        ADJOIN_RETURN_IF_ERROR(RunSpecifier());
      }
      rest_.remove_prefix(1);
    }
    return arena_.Copy(out_);
  }

 private:
  // To the next character, which there must be.
  absl::Status Advance() {
    rest_.remove_prefix(1);
    if (!rest_.empty()) return absl::OkStatus();
    return SqlErrorWithDetail(sqlstate::kInvalidParameterValue,
                              "unterminated format() type specifier", "",
                              "For a single \"%\" use \"%%\".");
  }

  // A number, where there is one.
  absl::StatusOr<std::optional<int>> Digits() {
    if (!IsDigit(rest_[0])) return std::nullopt;
    int64_t number = 0;
    while (IsDigit(rest_[0])) {
      number = number * 10 + (rest_[0] - '0');
      if (number > INT32_MAX)
        return SqlError(sqlstate::kNumericOutOfRange, "number is out of range");
      ADJOIN_RETURN_IF_ERROR(Advance());
    }
    return static_cast<int>(number);
  }

  absl::Status CheckPosition(int position) {
    if (position > 0) return absl::OkStatus();
    return Invalid("format specifies argument 0, but arguments are numbered from 1");
  }

  absl::StatusOr<Specifier> Read() {
    Specifier out;
    ADJOIN_ASSIGN_OR_RETURN(std::optional<int> number, Digits());
    if (number.has_value() && rest_[0] != '$') {  // no flags may follow
      out.width = *number;
      return out;
    }
    if (number.has_value()) {
      ADJOIN_RETURN_IF_ERROR(CheckPosition(*number));
      out.position = *number;
      ADJOIN_RETURN_IF_ERROR(Advance());
    }
    for (; rest_[0] == '-'; out.left = true) ADJOIN_RETURN_IF_ERROR(Advance());
    if (rest_[0] != '*') {
      ADJOIN_ASSIGN_OR_RETURN(number, Digits());
      out.width = number.value_or(0);
      return out;
    }
    ADJOIN_RETURN_IF_ERROR(Advance());
    ADJOIN_ASSIGN_OR_RETURN(number, Digits());
    out.width_position = number.value_or(0);
    if (!number.has_value()) return out;
    if (rest_[0] != '$') return Invalid("width argument position must be ended by \"$\"");
    ADJOIN_RETURN_IF_ERROR(CheckPosition(*number));
    ADJOIN_RETURN_IF_ERROR(Advance());
    return out;
  }

  absl::StatusOr<Argument> Take(int position) {
    next_ = position > 0 ? static_cast<size_t>(position) - 1 : next_;
    if (next_ >= arguments_.size()) return Invalid("too few arguments for format()");
    return arguments_[next_++];
  }

  absl::Status ReadWidth(Specifier& specifier) {
    ADJOIN_ASSIGN_OR_RETURN(const Argument width, Take(*specifier.width_position));
    if (!width.has_value()) return absl::OkStatus();
    if (!absl::SimpleAtoi(ToAbsl(*width), &specifier.width)) {
      return SqlError(
          sqlstate::kInvalidTextRepresentation,
          absl::StrCat("invalid input syntax for type integer: \"", ToAbsl(*width), "\""));
    }
    if (specifier.width == INT32_MIN)
      return SqlError(sqlstate::kNumericOutOfRange, "number is out of range");
    if (specifier.width < 0) specifier.left = true, specifier.width = -specifier.width;
    return absl::OkStatus();
  }

  absl::StatusOr<std::string_view> Converted(char conversion, const Argument& value) {
    if (conversion == 's') return value.value_or("");
    if (conversion == 'L') return value.has_value() ? Quoted(arena_, *value) : "NULL";
    if (value.has_value()) return QuotedName(arena_, *value);
    return SqlError(sqlstate::kNullValueNotAllowed,
                    "null values cannot be formatted as an SQL identifier");
  }

  absl::Status RunSpecifier() {
    ADJOIN_ASSIGN_OR_RETURN(Specifier specifier, Read());
    const char conversion = rest_[0];
    if (conversion != 's' && conversion != 'I' && conversion != 'L') {
      return SqlErrorWithDetail(
          sqlstate::kInvalidParameterValue,
          absl::StrCat("unrecognized format() type specifier \"", ToAbsl(Left(rest_, 1)), "\""), "",
          "For a single \"%\" use \"%%\".");
    }
    if (specifier.width_position.has_value()) ADJOIN_RETURN_IF_ERROR(ReadWidth(specifier));
    ADJOIN_ASSIGN_OR_RETURN(const Argument value, Take(specifier.position));
    ADJOIN_ASSIGN_OR_RETURN(const std::string_view text, Converted(conversion, value));
    const int64_t missing = std::max<int64_t>(0, int64_t{specifier.width} - Length(text));
    if (std::ssize(out_) + missing >= int64_t{1} << 30)
      return SqlError(sqlstate::kProgramLimitExceeded, "requested length too large");
    const std::string padding(static_cast<size_t>(missing), ' ');
    absl::StrAppend(&out_, specifier.left ? "" : padding, ToAbsl(text),
                    specifier.left ? padding : "");
    return absl::OkStatus();
  }

  BatchArena& arena_;
  std::string_view rest_;
  std::vector<Argument> arguments_;
  size_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string_view QuotedName(BatchArena& arena, std::string_view name) {
  if (IsPlainName(name)) return name;
  std::string out = "\"";
  for (char c : name) out.append(c == '"' ? 2 : 1, c);
  return arena.Copy(out + "\"");
}

std::string_view ArgumentOf(BatchArena& arena, std::string_view value) {
  return arena.Copy(ToStd(absl::StrCat(value.size(), ":", ToAbsl(value))));
}

absl::StatusOr<std::string_view> Format(BatchArena& arena, std::string_view pattern,
                                        std::string_view arguments) {
  return Formatter(arena, pattern, arguments).Run();
}

}  // namespace adjoin::text
