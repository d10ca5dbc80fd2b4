// The calendar and arithmetic of dates, timestamps and intervals, and their fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/date_time.h"
#include "engine/date_unit.h"

namespace adjoin {

// A day of the proleptic Gregorian calendar; year 0 is 1 BC.
struct CivilDay {
  int64_t year;
  int month, day;  // from 1
};
int64_t DaysFromCivil(CivilDay civil);  // since 1970-01-01; any month carries into the year
CivilDay CivilFromDays(int64_t days);
int DaysInMonth(int64_t year, int month);

// Errors of what follows: 22008 "date out of range", "timestamp out of range", "interval out of
// range".

absl::StatusOr<Date> MakeDate(int32_t year, int32_t month, int32_t day);  // a negative year is BC
// Error: 22008 "time field value out of range: 24:00:01" too.
absl::StatusOr<Timestamp> MakeTimestamp(int32_t year, int32_t month, int32_t day, int32_t hour,
                                        int32_t minute, double second);
absl::StatusOr<Interval> MakeInterval(int32_t years, int32_t months, int32_t weeks, int32_t days,
                                      int32_t hours, int32_t minutes, double seconds);
absl::StatusOr<Date> AddDays(Date date, int64_t days);
absl::StatusOr<Timestamp> TimestampOf(Date date);
absl::StatusOr<Timestamp> TimestampOfEpoch(double seconds);  // since 1970, UTC
Date DateOf(Timestamp timestamp);
// To `digits` of a second, up to 6, half away from zero.
absl::StatusOr<Timestamp> Rounded(Timestamp timestamp, int32_t digits);
// Months first (a day past the month's end is its last day), then days, then the time.
absl::StatusOr<Timestamp> AddInterval(Timestamp timestamp, Interval interval);
absl::StatusOr<Interval> Difference(Timestamp a, Timestamp b);  // days and time
absl::StatusOr<Interval> Age(Timestamp a, Timestamp b);         // years, months, days and time
absl::StatusOr<Interval> Add(Interval a, Interval b);
absl::StatusOr<Interval> Negate(Interval a);
// Fractions of months become days, of days time.
absl::StatusOr<Interval> Multiply(Interval a, double factor);
absl::StatusOr<Interval> Divide(Interval a, double divisor);  // 22012 for 0

// The same interval with 24 hours made a day, 30 days a month, or both; its parts of one sign.
absl::StatusOr<Interval> JustifyHours(Interval a);
absl::StatusOr<Interval> JustifyDays(Interval a);
absl::StatusOr<Interval> Justify(Interval a);
// date_bin: the start of the stride, counted from the origin, that the timestamp is in. Errors:
// 0A000 for months, 22008 for a stride that is not positive.
absl::StatusOr<Timestamp> Bin(Interval stride, Timestamp timestamp, Timestamp origin);
// generate_series(start, stop, step): how many there are, and number `n`, from 0; each is a step
// after the one before, so that 31 January goes on at the 28th. Errors: 22023 for a step of 0.
absl::StatusOr<int64_t> SeriesSize(Timestamp start, Timestamp stop, Interval step);
absl::StatusOr<Timestamp> SeriesAt(Timestamp start, Interval step, int64_t n);

// A field of EXTRACT or date_trunc by its name, in any case.
struct DateField {
  DateField() = default;
  explicit DateField(std::string_view name);
  std::string name;              // in lower case
  std::optional<DateUnit> unit;  // none: no such field
};
// EXTRACT; no value for a field that an infinity lacks. Errors: 22023 where there is no such field,
// 0A000 where the type lacks it.
absl::StatusOr<std::optional<double>> Extract(const DateField& field, Date date);
absl::StatusOr<std::optional<double>> Extract(const DateField& field, Timestamp timestamp);
absl::StatusOr<std::optional<double>> Extract(const DateField& field, Interval interval);
// date_trunc, with the same errors.
absl::StatusOr<Timestamp> Truncate(const DateField& field, Timestamp timestamp);
absl::StatusOr<Interval> Truncate(const DateField& field, Interval interval);

}  // namespace adjoin
