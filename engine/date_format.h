// to_char of timestamps and intervals.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/date_time.h"

namespace adjoin {

struct DateFormatFields;

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

 private:
  struct Node {
    std::string text;  // a field's name as it is written, or text to be copied
    bool is_field = false;
    bool fill = true;               // without FM
    bool local = false;             // with TM
    std::string_view ordinal = {};  // "th" or "TH"
  };
  absl::StatusOr<std::string> FormatFields(const DateFormatFields& fields) const;
  std::vector<Node> nodes_;
};

}  // namespace adjoin
