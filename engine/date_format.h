// to_char of timestamps and intervals; to_date and to_timestamp.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/date_time.h"

namespace adjoin {

struct DateFormatFields;

inline constexpr std::array<std::string_view, 12> kMonthNames = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
inline constexpr std::array<std::string_view, 7> kDayNames = {
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

// PostgreSQL's template patterns (YYYY, FMMonth, HH24:MI, DDth, "text", ...), read once for any
// number of values. Names are English. A timestamp has no time zone: TZ is empty, OF +00.
class DateFormat {
 public:
  DateFormat() = default;
  explicit DateFormat(std::string_view pattern);

  // No value for infinities and an empty pattern.
  std::optional<std::string> Format(Timestamp timestamp) const;
  // Errors: 22007 for what only a date has, such as names of months; 0A000 for J and ISO weeks.
  absl::StatusOr<std::optional<std::string>> Format(Interval interval) const;

  // to_timestamp and to_date (date_read.cc): what the pattern does not name is that of 1 January,
  // 1 BC, at midnight. Errors: 22007 where the text is not as the pattern says, 22008 for a day or
  // time that there is not, 0A000 for ISO weeks and zones.
  absl::StatusOr<Timestamp> ReadTimestamp(std::string_view text) const;
  absl::StatusOr<Date> ReadDate(std::string_view text) const;

 private:
  friend class DateTextReader;
  struct Node {
    std::string text;  // a field's name as it is written, or text to be copied
    bool is_field = false;
    bool is_quoted = false;
    bool fill = true;               // without FM
    bool local = false;             // with TM
    std::string_view ordinal = {};  // "th" or "TH"
  };
  absl::StatusOr<std::string> FormatFields(const DateFormatFields& fields) const;
  std::vector<Node> nodes_;
};

}  // namespace adjoin
