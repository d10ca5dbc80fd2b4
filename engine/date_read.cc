// to_date and to_timestamp: a text by a pattern.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/date_format.h"
#include "engine/date_functions.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

constexpr std::string_view kFixedWidthHint =
    "If your source string is not fixed-width, try using the \"FM\" modifier.";

absl::Status Invalid(std::string_view value, std::string_view field, std::string_view detail,
                     std::string_view hint = "") {
  return SqlErrorWithDetail(
      sqlstate::kInvalidDateTimeFormat,
      absl::StrCat("invalid value \"", ToAbsl(value), "\" for \"", ToAbsl(field), "\""), detail,
      hint);
}

bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool IsSeparator(char c) {
  return absl::ascii_ispunct(static_cast<unsigned char>(c));  // printable, no letter, no digit
}

}  // namespace

// What was read; 0: nothing.
struct DateTextFields {
  int year = 0, year_digits = 0, century = 0, month = 0, day = 0, day_of_year = 0, week = 0;
  int week_of_month = 0, julian = 0, hour = 0, minute = 0, second = 0, second_of_day = 0;
  int millisecond = 0, microsecond = 0, weekday = 0, afternoon = 0, before_christ = 0;
  int ignored = 0;
  bool half_day_clock = false;
};

class DateTextReader {
 public:
  using Node = DateFormat::Node;
  DateTextReader(const std::vector<Node>& nodes, std::string_view text)
      : nodes_(nodes), rest_(text) {}

  absl::StatusOr<DateTextFields> Run() {
    for (size_t i = 0; i < nodes_.size() && !rest_.empty(); ++i) {
      const Node& node = nodes_[i];
      const std::string name = absl::AsciiStrToUpper(node.text);
      const bool is_fixed_mark = node.is_field && name == "FX";
      if (!fixed_ && !is_fixed_mark && (node.is_field || i == 0)) SkipSpaces();
      if (!node.is_field) {
        PassText(node);
        continue;
      }
      if (is_fixed_mark) {
        fixed_ = true;
        continue;
      }
      ADJOIN_RETURN_IF_ERROR(ReadField(i, name));
      if (!fixed_) skipped_ = 0, SkipSpaces();
    }
    return fields_;
  }

 private:
  void SkipSpaces() {
    for (; !rest_.empty() && IsSpace(rest_[0]); ++skipped_) rest_.remove_prefix(1);
  }

  // Text of the pattern stands for as many characters, whichever; what was passed over before
  // counts, and a separator need not be there.
  void PassText(const Node& node) {
    for (char c : node.text) {
      if (rest_.empty()) return;
      if (ContinuesCharacter(c)) continue;
      if (!fixed_ && !node.is_quoted && (IsSpace(c) || IsSeparator(c))) {
        --skipped_;
        if (IsSpace(rest_[0]) || IsSeparator(rest_[0])) rest_.remove_prefix(1), ++skipped_;
      } else if (!fixed_ && skipped_ > 0) {
        --skipped_;
      } else {
        do {
          rest_.remove_prefix(1);
        } while (!rest_.empty() && ContinuesCharacter(rest_[0]));
      }
    }
  }

  // Whether a number may go on past its field's width: no digit follows it.
  bool NonDigitFollows(size_t i) const {
    if (!nodes_[i].ordinal.empty() || i + 1 == nodes_.size()) return true;
    const Node& next = nodes_[i + 1];
    if (!next.is_field) return next.text.empty() || !IsDigit(next.text[0]);
    const std::string name = absl::AsciiStrToUpper(next.text);
    for (std::string_view word :
         {"A.D.", "A.M.", "AD",  "AM", "B.C.",  "BC",  "DAY", "DY",   "FF1", "FF2", "FF3",
          "FF4",  "FF5",  "FF6", "FX", "MONTH", "MON", "OF",  "P.M.", "PM",  "RM",  "TZ"}) {
      if (name == word) return true;
    }
    return false;
  }

  // Of up to `width` characters; sets *used to how many it took.
  absl::StatusOr<int> Integer(size_t i, size_t width, int* used) {
    const Node& node = nodes_[i];
    const std::string_view before = rest_;
    while (!rest_.empty() && IsSpace(rest_[0])) rest_.remove_prefix(1);
    const std::string copy(rest_.substr(0, width));
    const bool exact = node.fill && !NonDigitFollows(i);
    if (exact && copy.size() < width) {
      return SqlErrorWithDetail(
          sqlstate::kInvalidDateTimeFormat,
          absl::StrCat("source string too short for \"", node.text, "\" formatting field"),
          absl::StrCat("Field requires ", width, " characters, but only ", copy.size(), " remain."),
          kFixedWidthHint);
    }
    const std::string_view from = exact ? std::string_view(copy) : rest_;
    size_t size = !from.empty() && (from[0] == '-' || from[0] == '+') ? 1 : 0;
    const size_t first = size;
    int64_t value = 0;
    for (; size < from.size() && IsDigit(from[size]); ++size)
      value = std::min<int64_t>(value * 10 + (from[size] - '0'), int64_t{1} << 40);
    if (size == first) size = 0;
    if (from.starts_with('-')) value = -value;
    if (exact && size > 0 && size < width) {
      return Invalid(copy, node.text,
                     absl::StrCat("Field requires ", width, " characters, but only ", size,
                                  " could be parsed."),
                     kFixedWidthHint);
    }
    if (size == 0) return Invalid(copy, node.text, "Value must be an integer.");
    if (value != static_cast<int32_t>(value)) {
      return SqlErrorWithDetail(
          sqlstate::kDateTimeOutOfRange,
          absl::StrCat("value for \"", node.text, "\" in source string is out of range"),
          "Value must be in the range -2147483648 to 2147483647.");
    }
    rest_.remove_prefix(size);
    *used = static_cast<int>(before.size() - rest_.size());
    return static_cast<int>(value);
  }

  absl::Status Set(int& part, int value, const Node& node) {
    if (part != 0 && part != value) {
      return SqlErrorWithDetail(
          sqlstate::kInvalidDateTimeFormat,
          absl::StrCat("conflicting values for \"", node.text, "\" field in formatting string"),
          "This value contradicts a previous setting for the same field type.");
    }
    part = value;
    return absl::OkStatus();
  }

  // The place of the word that the text begins with, in any case.
  absl::StatusOr<int> Word(const Node& node, std::span<const std::string_view> words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string_view text = rest_.substr(0, words[i].size());
      if (!absl::EqualsIgnoreCase(ToAbsl(text), ToAbsl(words[i]))) continue;
      rest_.remove_prefix(text.size());
      return static_cast<int>(i);
    }
    return Invalid(rest_.substr(0, rest_.find_first_of(" \t\n\r\f")), node.text,
                   "The given value did not match any of the allowed values for this field.");
  }

  absl::StatusOr<bool> ReadWord(const Node& node, std::string_view name) {
    static constexpr std::string_view kHalves[] = {"am", "pm"}, kDotted[] = {"a.m.", "p.m."};
    static constexpr std::string_view kEras[] = {"ad", "bc"}, kDottedEras[] = {"a.d.", "b.c."};
    static constexpr std::string_view kRoman[] = {"XII", "XI", "X",  "IX",  "VIII", "VII",
                                                  "VI",  "V",  "IV", "III", "II",   "I"};
    const bool dots = name.size() == 4;
    if (name == "AM" || name == "PM" || name == "A.M." || name == "P.M.") {
      ADJOIN_ASSIGN_OR_RETURN(const int half, Word(node, dots ? kDotted : kHalves));
      fields_.half_day_clock = true;
      ADJOIN_RETURN_IF_ERROR(Set(fields_.afternoon, half, node));
    } else if (name == "AD" || name == "BC" || name == "A.D." || name == "B.C.") {
      ADJOIN_ASSIGN_OR_RETURN(const int era, Word(node, dots ? kDottedEras : kEras));
      ADJOIN_RETURN_IF_ERROR(Set(fields_.before_christ, era, node));
    } else if (name == "MONTH" || name == "MON") {
      std::array<std::string_view, 12> months = kMonthNames;
      for (std::string_view& month : months) month = name == "MON" ? month.substr(0, 3) : month;
      ADJOIN_ASSIGN_OR_RETURN(const int month, Word(node, months));
      ADJOIN_RETURN_IF_ERROR(Set(fields_.month, month + 1, node));
    } else if (name == "DAY" || name == "DY") {
      std::array<std::string_view, 7> days = kDayNames;
      for (std::string_view& day : days) day = name == "DY" ? day.substr(0, 3) : day;
      ADJOIN_ASSIGN_OR_RETURN(const int day, Word(node, days));
      ADJOIN_RETURN_IF_ERROR(Set(fields_.weekday, day, node));
      ++fields_.weekday;
    } else if (name == "RM") {
      ADJOIN_ASSIGN_OR_RETURN(const int from_end, Word(node, kRoman));
      ADJOIN_RETURN_IF_ERROR(Set(fields_.month, 12 - from_end, node));
    } else {
      return false;
    }
    return true;
  }

  // 1,999.
  absl::Status ReadGroupedYear(const Node& node) {
    const std::string_view digits = rest_.substr(0, rest_.find_first_not_of("0123456789"));
    const std::string_view behind = rest_.substr(digits.size());
    const bool has_both = behind.size() > 1 && behind[0] == ',' && IsDigit(behind[1]);
    int thousands = 0, rest = 0;
    if (!has_both || !absl::SimpleAtoi(ToAbsl(digits), &thousands) || thousands > 1'000'000)
      return SqlError(sqlstate::kInvalidDateTimeFormat, "invalid input string for \"Y,YYY\"");
    size_t size = 1;
    for (; size < std::min<size_t>(4, behind.size()) && IsDigit(behind[size]); ++size)
      rest = rest * 10 + (behind[size] - '0');
    rest_ = behind.substr(size);
    fields_.year_digits = 4;
    return Set(fields_.year, thousands * 1000 + rest, node);
  }

  absl::Status ReadYear(size_t i, std::string_view name) {
    const Node& node = nodes_[i];
    if (name == "Y,YYY") return ReadGroupedYear(node);
    int used = 0;
    ADJOIN_ASSIGN_OR_RETURN(const int year, Integer(i, name.size(), &used));
    ADJOIN_RETURN_IF_ERROR(Set(fields_.year, year, node));
    const auto digits = static_cast<int>(std::min<size_t>(name.size(), 4));
    fields_.year_digits = digits;
    if (digits == 4 || used >= 4) return absl::OkStatus();
    // The year of so few digits that is nearest to 2020.
    int& y = fields_.year;
    y += y < 70 ? 2000 : y < 100 ? 1900 : y < 520 ? 2000 : y < 1000 ? 1000 : 0;
    return absl::OkStatus();
  }

  absl::Status ReadFraction(size_t i, std::string_view name) {
    const int width = name == "MS" ? 3 : name == "US" ? 6 : name[2] - '0';
    int used = 0;
    ADJOIN_ASSIGN_OR_RETURN(int value, Integer(i, static_cast<size_t>(width), &used));
    int& part = name == "MS" ? fields_.millisecond : fields_.microsecond;
    ADJOIN_RETURN_IF_ERROR(Set(part, value, nodes_[i]));
    for (; used < (name == "MS" ? 3 : 6); ++used) part *= 10;  // 25 is .25
    return absl::OkStatus();
  }

  absl::Status ReadField(size_t i, std::string_view name) {
    using F = DateTextFields;
    static constexpr std::pair<std::string_view, int F::*> kNumbers[] = {
        {"HH24", &F::hour},
        {"HH12", &F::hour},
        {"HH", &F::hour},
        {"MI", &F::minute},
        {"SS", &F::second},
        {"SSSSS", &F::second_of_day},
        {"SSSS", &F::second_of_day},
        {"MM", &F::month},
        {"DDD", &F::day_of_year},
        {"DD", &F::day},
        {"D", &F::weekday},
        {"WW", &F::week},
        {"W", &F::week_of_month},
        {"CC", &F::century},
        {"J", &F::julian},
        {"Q", &F::ignored}};
    const Node& node = nodes_[i];
    ADJOIN_ASSIGN_OR_RETURN(const bool is_word, ReadWord(node, name));
    if (is_word) return absl::OkStatus();
    if (name == "TZ" || name == "OF") {
      return SqlError(
          sqlstate::kFeatureNotSupported,
          absl::StrCat("formatting field \"", node.text, "\" is only supported in to_char"));
    }
    if (name[0] == 'I' || name[0] == 'T') {  // ISO weeks, zones
      return SqlError(
          sqlstate::kFeatureNotSupported,
          absl::StrCat("formatting field \"", node.text, "\" is not supported in a text"));
    }
    if (name == "MS" || name == "US" || name.starts_with("FF")) {
      ADJOIN_RETURN_IF_ERROR(ReadFraction(i, name));
    } else if (name[0] == 'Y') {
      ADJOIN_RETURN_IF_ERROR(ReadYear(i, name));
    } else {
      for (const auto& [known, part] : kNumbers) {
        if (name != known) continue;
        const bool is_time = part == &F::hour || part == &F::minute || part == &F::second;
        int used = 0;
        ADJOIN_ASSIGN_OR_RETURN(const int value, Integer(i,
                                                         is_time           ? 2
                                                         : name == "SSSSS" ? 5
                                                                           : name.size(),
                                                         &used));
        if (part != &F::ignored) ADJOIN_RETURN_IF_ERROR(Set(fields_.*part, value, node));
        break;
      }
    }
    if (name == "HH" || name == "HH12") fields_.half_day_clock = true;
    if (!node.ordinal.empty()) rest_.remove_prefix(std::min<size_t>(2, rest_.size()));
    return absl::OkStatus();
  }

  const std::vector<Node>& nodes_;
  std::string_view rest_;
  bool fixed_ = false;  // after FX
  int skipped_ = 0;     // more than the pattern stands for
  DateTextFields fields_;
};

namespace {

absl::Status OutOfRange(std::string_view text) {
  return SqlError(sqlstate::kDateTimeOutOfRange,
                  absl::StrCat("date/time field value out of range: \"", ToAbsl(text), "\""));
}

// Year 0 is 1 BC.
int64_t YearOf(const DateTextFields& f) {
  const bool before_christ = f.before_christ != 0;
  const bool of_century = f.century != 0 && f.year_digits <= 2;
  int64_t year = f.year;  // counted from 1, in either direction
  if (of_century) {
    const int last = f.year % 100;
    year = (int64_t{f.century} - 1) * 100 + last;
    if (f.year != 0 && last == 0) year += 100;
    if (f.year == 0) year += before_christ ? 100 : 1;
  }
  if (year == 0) return 0;
  if (before_christ) year = -year;
  return year < 0 ? year + 1 : year;
}

absl::StatusOr<int64_t> DayOf(const DateTextFields& f, std::string_view text) {
  CivilDay civil{YearOf(f), 1, 1};
  if (f.julian != 0) civil = CivilFromDays(int64_t{f.julian} - 2440588);
  const int day_of_year = f.week != 0 ? (f.week - 1) * 7 + 1 : f.day_of_year;
  const int day = f.week_of_month != 0 ? (f.week_of_month - 1) * 7 + 1 : f.day;
  if (day != 0) civil.day = day;
  if (f.month != 0) civil.month = f.month;
  if (day_of_year != 0 && (civil.month <= 1 || civil.day <= 1)) {
    if (civil.year == 0 && f.before_christ == 0) {
      return SqlError(sqlstate::kInvalidDateTimeFormat,
                      "cannot calculate day of year without year information");
    }
    const int64_t last = DaysFromCivil({civil.year + 1, 1, 1}) - DaysFromCivil({civil.year, 1, 1});
    if (day_of_year < 1 || day_of_year > last) return OutOfRange(text);
    const CivilDay there = CivilFromDays(DaysFromCivil({civil.year, 1, 1}) + day_of_year - 1);
    if (civil.month <= 1) civil.month = there.month;
    if (civil.day <= 1) civil.day = there.day;
  }
  if (civil.month < 1 || civil.month > 12 || civil.day < 1 ||
      civil.day > DaysInMonth(civil.year, civil.month)) {
    return OutOfRange(text);
  }
  return DaysFromCivil(civil);
}

// No value: there is no such time.
absl::StatusOr<std::optional<int64_t>> TimeOf(const DateTextFields& f) {
  int hour = f.second_of_day / 3600, minute = f.second_of_day / 60 % 60;
  int second = f.second_of_day % 60;
  if (f.hour != 0) hour = f.hour;
  if (f.minute != 0) minute = f.minute;
  if (f.second != 0) second = f.second;
  if (f.half_day_clock) {
    if (hour < 1 || hour > 12) {
      return SqlErrorWithDetail(
          sqlstate::kInvalidDateTimeFormat,
          absl::StrCat("hour \"", hour, "\" is invalid for the 12-hour clock"), "",
          "Use the 24-hour clock, or give an hour between 1 and 12.");
    }
    hour = hour % 12 + (f.afternoon != 0 ? 12 : 0);
  }
  const int64_t fraction = int64_t{f.millisecond} * 1000 + f.microsecond;
  const bool fits = hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 &&
                    second < 60 && fraction >= 0 && fraction < kMicrosecondsPerSecond;
  if (!fits) return std::nullopt;
  return ((hour * int64_t{60} + minute) * 60 + second) * kMicrosecondsPerSecond + fraction;
}

}  // namespace

absl::StatusOr<Timestamp> DateFormat::ReadTimestamp(std::string_view text) const {
  ADJOIN_ASSIGN_OR_RETURN(const DateTextFields fields, DateTextReader(nodes_, text).Run());
  ADJOIN_ASSIGN_OR_RETURN(const std::optional<int64_t> time, TimeOf(fields));
  ADJOIN_ASSIGN_OR_RETURN(const int64_t day, DayOf(fields, text));
  if (!time.has_value()) return OutOfRange(text);
  const absl::StatusOr<Date> date = AddDays(Date{0}, day);
  const absl::StatusOr<Timestamp> midnight = date.ok() ? TimestampOf(*date) : date.status();
  if (midnight.ok()) return AddInterval(*midnight, Interval{*time, 0, 0});
  return SqlError(sqlstate::kDateTimeOutOfRange, "timestamp out of range");
}

absl::StatusOr<Date> DateFormat::ReadDate(std::string_view text) const {
  ADJOIN_ASSIGN_OR_RETURN(const DateTextFields fields, DateTextReader(nodes_, text).Run());
  ADJOIN_ASSIGN_OR_RETURN(const std::optional<int64_t> time, TimeOf(fields));
  ADJOIN_ASSIGN_OR_RETURN(const int64_t day, DayOf(fields, text));
  if (!time.has_value()) return OutOfRange(text);
  absl::StatusOr<Date> date = AddDays(Date{0}, day);
  if (date.ok()) return date;
  return SqlError(sqlstate::kDateTimeOutOfRange,
                  absl::StrCat("date out of range: \"", ToAbsl(text), "\""));
}

}  // namespace adjoin
