// Dates, timestamps and intervals as PostgreSQL has them: what a column holds, and text in ISO
// style.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace adjoin {

// Days since 1970-01-01 (Arrow's date32); the least and the greatest value are -infinity and
// infinity.
struct Date {
  int32_t days = 0;
  static constexpr int32_t kInfinity = std::numeric_limits<int32_t>::max();
  static constexpr int32_t kMinusInfinity = std::numeric_limits<int32_t>::min();
  bool is_finite() const { return days != kInfinity && days != kMinusInfinity; }
  friend auto operator<=>(const Date&, const Date&) = default;
};

// Microseconds since 1970-01-01 00:00 without a time zone (Arrow's timestamp[us]); infinities as of
// Date.
struct Timestamp {
  int64_t microseconds = 0;
  static constexpr int64_t kInfinity = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kMinusInfinity = std::numeric_limits<int64_t>::min();
  bool is_finite() const { return microseconds != kInfinity && microseconds != kMinusInfinity; }
  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;
};

// Three parts that do not carry into one another: a month has no fixed days, a day no fixed hours.
// Comparisons take 30 days a month and 24 hours a day, so `1 mon` equals `30 days`, which print
// differently.
struct Interval {
  int64_t microseconds = 0;
  int32_t days = 0;
  int32_t months = 0;
  __int128 span() const;  // what comparisons compare
  friend bool operator==(const Interval& a, const Interval& b) { return a.span() == b.span(); }
  friend auto operator<=>(const Interval& a, const Interval& b) { return a.span() <=> b.span(); }
};

inline constexpr int64_t kMicrosecondsPerSecond = 1'000'000;
inline constexpr int64_t kMicrosecondsPerDay = 86400 * kMicrosecondsPerSecond;

// Errors of the three below: 22007 `invalid input syntax for type date: "x"`, 22008 `date/time
// field value out of range: "x"` and `date out of range: "x"`.

// ISO text (1994-01-31, 19940131, 1994-01-31 12:30:00.5, with T between, BC after, any time zone
// ignored), epoch and infinity.
absl::StatusOr<Date> ParseDate(std::string_view text);
absl::StatusOr<Timestamp> ParseTimestamp(std::string_view text);

// The fields that INTERVAL '1' YEAR or '1:30' HOUR TO MINUTE name: numbers without a unit are of
// the last, and what is smaller is cut off.
enum class IntervalField : uint8_t { kYear, kMonth, kDay, kHour, kMinute, kSecond };
struct IntervalFields {
  IntervalField first, last;
};
// `1 year 2 mons -3 days 04:05:06.7`, `1-2` (years and months), `3 weeks ago`, ...
absl::StatusOr<Interval> ParseInterval(std::string_view text,
                                       std::optional<IntervalFields> fields = std::nullopt);

std::string ToText(Date date);
std::string ToText(Timestamp timestamp);
std::string ToText(Interval interval);

}  // namespace adjoin
