#include "engine/date_format.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/date_functions.h"
#include "engine/number_format.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

// Of two that begin alike the longer comes first. A field is written in capitals or small letters
// throughout; names of months and days also with one capital.
constexpr std::string_view kFields[] = {
    "A.D.", "A.M.", "AD",  "AM",   "B.C.", "BC",    "CC",   "DAY",   "DDD",  "DD",   "DY",
    "D",    "FF1",  "FF2", "FF3",  "FF4",  "FF5",   "FF6",  "FX",    "HH24", "HH12", "HH",
    "IDDD", "ID",   "IW",  "IYYY", "IYY",  "IY",    "I",    "J",     "MI",   "MM",   "MONTH",
    "MON",  "MS",   "OF",  "P.M.", "PM",   "Q",     "RM",   "SSSSS", "SSSS", "SS",   "TZH",
    "TZM",  "TZ",   "US",  "WW",   "W",    "Y,YYY", "YYYY", "YYY",   "YY",   "Y"};
constexpr std::string_view kNames[] = {"Day", "Dy", "Month", "Mon"};

constexpr std::string_view kRoman[] = {"I",   "II",   "III", "IV", "V",  "VI",
                                       "VII", "VIII", "IX",  "X",  "XI", "XII"};

std::string_view FieldAt(std::string_view pattern) {
  for (std::string_view name : kNames) {
    if (pattern.starts_with(name)) return name;
  }
  for (std::string_view field : kFields) {
    const std::string_view text = pattern.substr(0, field.size());
    if (text == field || ToStd(absl::AsciiStrToLower(ToAbsl(field))) == text) return text;
  }
  return {};
}

// Takes one of the spellings off the front.
bool TakeEither(std::string_view& text, std::string_view upper, std::string_view lower) {
  if (!text.starts_with(upper) && !text.starts_with(lower)) return false;
  text.remove_prefix(upper.size());
  return true;
}

// The name in the case of the field: "MONTH", "Month" or "month".
std::string InCaseOf(std::string_view field, std::string_view name) {
  std::string out(name);
  const bool capital = absl::ascii_isupper(static_cast<unsigned char>(field[0]));
  if (!capital) absl::AsciiStrToLower(&out);
  if (capital && !absl::ascii_islower(static_cast<unsigned char>(field.back())))
    absl::AsciiStrToUpper(&out);
  return out;
}

}  // namespace

// What a value has, as PostgreSQL's struct tm: months and days of a timestamp count from 1.
struct DateFormatFields {
  bool is_interval = false;
  int64_t year = 0, hour = 0;  // year 0 is 1 BC
  int month = 0, day = 0, minute = 0, second = 0, microsecond = 0;
  int64_t day_of_year = 0;
  int64_t days = 0;  // of a timestamp: since 1970-01-01

  void SetTime(int64_t microseconds) {
    hour = microseconds / (3600 * kMicrosecondsPerSecond);
    minute = static_cast<int>(microseconds / (60 * kMicrosecondsPerSecond) % 60);
    second = static_cast<int>(microseconds / kMicrosecondsPerSecond % 60);
    microsecond = static_cast<int>(microseconds % kMicrosecondsPerSecond);
  }
  int weekday() const { return static_cast<int>(((days + 4) % 7 + 7) % 7); }  // Sunday is 0
  int64_t iso_thursday() const { return days - (weekday() + 6) % 7 + 3; }
  // The year that its ISO week belongs to, and the day, from 1, counted from that year's first
  // week.
  int64_t iso_year() const { return CivilFromDays(iso_thursday()).year; }
  int64_t iso_week() const { return (iso_thursday() - DaysFromCivil({iso_year(), 1, 1})) / 7 + 1; }
  int64_t iso_day() const { return (iso_week() - 1) * 7 + (weekday() + 6) % 7 + 1; }
  // Years are counted without a year 0.
  int64_t Counted(int64_t y) const { return is_interval || y > 0 ? y : 1 - y; }
};

DateFormat::DateFormat(std::string_view pattern) {
  while (!pattern.empty()) {
    Node node;
    if (TakeEither(pattern, "FM", "fm")) {
      node.fill = false;
    } else if (TakeEither(pattern, "TM", "tm")) {
      node.local = true;
    }
    if (const std::string_view field = FieldAt(pattern); !field.empty()) {
      node.text = field;
      node.is_field = true;
      pattern.remove_prefix(field.size());
      if (pattern.starts_with("TH")) node.ordinal = "TH";
      if (pattern.starts_with("th")) node.ordinal = "th";
      if (!node.ordinal.empty() || pattern.starts_with("SP")) pattern.remove_prefix(2);
      nodes_.push_back(std::move(node));
      continue;
    }
    if (pattern.empty()) break;
    const bool quoted = pattern[0] == '"';
    node.is_quoted = quoted;
    if (quoted) pattern.remove_prefix(1);
    // Up to the closing quote, or one character.
    while (!pattern.empty() && !(quoted && pattern[0] == '"')) {
      const bool escape = pattern[0] == '\\' && pattern.size() > 1 && (quoted || pattern[1] == '"');
      if (escape) pattern.remove_prefix(1);
      node.text.push_back(pattern[0]);
      pattern.remove_prefix(1);
      if (!quoted) break;
    }
    if (quoted && !pattern.empty()) pattern.remove_prefix(1);
    nodes_.push_back(std::move(node));
  }
}

namespace {

bool IsOneOf(std::string_view field, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, field) != names.end();
}

// What a numeric field prints: at least `width` digits, where FM does not say otherwise.
struct Numeral {
  int64_t value;
  int width = 0;
  bool always = false;  // has its width with FM too
  bool sign_widens = true;
};

std::optional<Numeral> TimeNumeral(std::string_view field, const DateFormatFields& f) {
  const int64_t half = f.hour % 12 == 0 ? 12 : f.hour % 12;
  if (IsOneOf(field, {"HH", "HH12"})) return Numeral{half, f.hour < 0 ? 3 : 2, false, false};
  if (field == "HH24") return Numeral{f.hour, 2};
  if (field == "MI") return Numeral{f.minute, 2};
  if (field == "SS") return Numeral{f.second, 2};
  if (IsOneOf(field, {"SSSS", "SSSSS"})) return Numeral{f.hour * 3600 + f.minute * 60 + f.second};
  if (!IsOneOf(field, {"MS", "US"}) && !field.starts_with("FF")) return std::nullopt;
  const int digits = field == "MS" ? 3 : field == "US" ? 6 : field[2] - '0';
  int value = f.microsecond;
  for (int i = digits; i < 6; ++i) value /= 10;
  return Numeral{value, digits, true, false};
}

int64_t CenturyOf(const DateFormatFields& f) {
  if (f.is_interval) return f.year / 100;
  return f.year > 0 ? (f.year - 1) / 100 + 1 : f.year / 100 - 1;
}

std::optional<Numeral> DateNumeral(std::string_view field, const DateFormatFields& f) {
  if (field == "MM") return Numeral{f.month, 2};
  if (field == "DD") return Numeral{f.day, 2, false, false};
  if (field == "DDD") return Numeral{f.day_of_year, 3, false, false};
  if (field == "IDDD") return Numeral{f.iso_day(), 3};
  if (field == "D") return Numeral{f.weekday() + 1};
  if (field == "ID") return Numeral{f.weekday() == 0 ? 7 : f.weekday()};
  if (field == "WW") return Numeral{(f.day_of_year - 1) / 7 + 1, 2, false, false};
  if (field == "IW") return Numeral{f.iso_week(), 2};
  if (field == "W") return Numeral{(f.day - 1) / 7 + 1};
  if (field == "J") return Numeral{f.days + 2440588};
  if (field == "Q" && f.month != 0) return Numeral{(f.month - 1) / 3 + 1};
  if (field == "CC") {
    const int64_t century = CenturyOf(f);
    return Numeral{century, century <= 99 && century >= -99 ? 2 : 0};
  }
  if (!IsOneOf(field, {"YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I"})) return std::nullopt;
  const int64_t year = f.Counted(field[0] == 'I' ? f.iso_year() : f.year);
  constexpr int64_t kPowers[] = {10, 100, 1000};
  const auto digits = static_cast<int>(field.size());
  return Numeral{digits == 4 ? year : year % kPowers[digits - 1], digits == 1 ? 0 : digits};
}

// What a field that is no number prints, in capitals or as a name is written; names of months and
// days are nine wide.
struct Name {
  std::string_view text;
  size_t width = 0;
};

Name NameOf(std::string_view field, const DateFormatFields& f) {
  const bool dots = field.size() == 4;
  if (IsOneOf(field, {"AM", "PM", "A.M.", "P.M."}))
    return {f.hour % 24 >= 12 ? (dots ? "P.M." : "PM") : (dots ? "A.M." : "AM")};
  if (IsOneOf(field, {"AD", "BC", "A.D.", "B.C."}))
    return {f.year <= 0 ? (dots ? "B.C." : "BC") : (dots ? "A.D." : "AD")};
  if (field == "MONTH") return {kMonthNames[static_cast<size_t>(f.month - 1)], 9};
  if (field == "MON") return {kMonthNames[static_cast<size_t>(f.month - 1)].substr(0, 3)};
  if (field == "DAY") return {kDayNames[static_cast<size_t>(f.weekday())], 9};
  if (field == "DY") return {kDayNames[static_cast<size_t>(f.weekday())].substr(0, 3)};
  if (IsOneOf(field, {"OF", "TZH"})) return {"+00"};
  if (field == "TZM") return {"00"};
  if (field != "RM" || (f.month == 0 && f.year == 0)) return {};  // TZ, FX; Q of no month
  if (f.month == 0) return {kRoman[f.year >= 0 ? 11 : 0], 4};
  return {kRoman[f.month < 0 ? f.month + 12 : f.month - 1], 4};
}

absl::Status CheckOfInterval(const std::string& written, std::string_view field) {
  if (IsOneOf(field, {"A.D.", "B.C.", "AD", "BC", "MONTH", "MON", "DAY", "DY", "D", "ID", "TZ",
                      "TZH", "TZM", "OF"})) {
    return SqlErrorWithDetail(sqlstate::kInvalidDateTimeFormat,
                              "invalid format specification for an interval value", "",
                              "Intervals are not tied to specific calendar dates.");
  }
  if (!IsOneOf(field, {"J", "IW", "IYYY", "IYY", "IY", "I", "IDDD"})) return absl::OkStatus();
  return SqlError(
      sqlstate::kFeatureNotSupported,
      absl::StrCat("formatting field \"", written, "\" of an interval is not supported"));
}

}  // namespace

absl::StatusOr<std::string> DateFormat::FormatFields(const DateFormatFields& f) const {
  std::string out;
  for (const Node& node : nodes_) {
    if (!node.is_field) {
      out += node.text;
      continue;
    }
    const std::string field = absl::AsciiStrToUpper(node.text);
    if (f.is_interval) ADJOIN_RETURN_IF_ERROR(CheckOfInterval(node.text, field));
    std::string text;
    if (field == "Y,YYY") {
      const int64_t year = f.Counted(f.year);
      text = absl::StrFormat("%d,%03d", year / 1000, year % 1000);
    } else {
      std::optional<Numeral> number = TimeNumeral(field, f);
      if (!number.has_value()) number = DateNumeral(field, f);
      if (!number.has_value()) {
        const Name name = NameOf(field, f);
        text = name.text.empty() ? "" : InCaseOf(node.text, name.text);
        if (node.fill && !node.local) text.resize(std::max(text.size(), name.width), ' ');
        out += text;
        continue;
      }
      const bool wider = number->value < 0 && number->sign_widens;
      const int width = node.fill || number->always ? number->width + (wider ? 1 : 0) : 0;
      text = absl::StrFormat("%0*d", number->width == 0 ? 0 : width, number->value);
    }
    if (!node.ordinal.empty()) text += InCaseOf(node.ordinal, OrdinalEnding(text));
    out += text;
  }
  return out;
}

std::optional<std::string> DateFormat::Format(Timestamp timestamp) const {
  if (nodes_.empty() || !timestamp.is_finite()) return std::nullopt;
  DateFormatFields f;
  f.days = DateOf(timestamp).days;
  const CivilDay civil = CivilFromDays(f.days);
  f.year = civil.year;
  f.month = civil.month;
  f.day = civil.day;
  f.day_of_year = f.days - DaysFromCivil({civil.year, 1, 1}) + 1;
  f.SetTime(timestamp.microseconds - f.days * kMicrosecondsPerDay);
  return *FormatFields(f);  // which fails for intervals alone
}

absl::StatusOr<std::optional<std::string>> DateFormat::Format(Interval interval) const {
  if (nodes_.empty()) return std::nullopt;
  DateFormatFields f;
  f.is_interval = true;
  f.year = interval.months / 12;
  f.month = interval.months % 12;
  f.day = interval.days;
  f.day_of_year = int64_t{interval.months} * 30 + interval.days;
  f.SetTime(interval.microseconds);
  ADJOIN_ASSIGN_OR_RETURN(std::string out, FormatFields(f));
  return out;
}

}  // namespace adjoin
