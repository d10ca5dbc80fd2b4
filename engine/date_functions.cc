#include "engine/date_functions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/decimal.h"
#include "engine/status.h"

namespace adjoin {
namespace {

// Where PostgreSQL counts from: rounding, and "away from zero", are about the distance to it.
constexpr int64_t kYear2000 = 10957 * kMicrosecondsPerDay;

// PostgreSQL's limits: from the first Julian day on, below this year. Its timestamps count from
// 2000 and end in 294276; of those that count from 1970, 64 bits end in 294247.
constexpr int64_t kFirstDay = -2440588;  // 4714-11-24 BC
constexpr CivilDay kEndOfDates = {5874898, 1, 1};

absl::Status OutOfRange(std::string_view type) {
  return SqlError(sqlstate::kDateTimeOutOfRange, std::string(type) + " out of range");
}

absl::StatusOr<Timestamp> CheckedTimestamp(__int128 microseconds) {
  const __int128 first = __int128{kFirstDay} * kMicrosecondsPerDay;
  if (microseconds < first || microseconds >= Timestamp::kInfinity) return OutOfRange("timestamp");
  return Timestamp{static_cast<int64_t>(microseconds)};
}

absl::StatusOr<Interval> CheckedInterval(__int128 microseconds, int64_t days, int64_t months) {
  const Interval out{static_cast<int64_t>(microseconds), static_cast<int32_t>(days),
                     static_cast<int32_t>(months)};
  if (out.microseconds != microseconds || out.days != days || out.months != months)
    return OutOfRange("interval");
  return out;
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

__int128 Interval::span() const {
  return (__int128{months} * 30 + days) * kMicrosecondsPerDay + microseconds;
}

// Eras of 400 years that begin on 1 March, so that the leap day is a year's last day
// (Hinnant, chrono-Compatible Low-Level Date Algorithms).
int64_t DaysFromCivil(CivilDay civil) {
  const int64_t carried = FloorDivide(civil.month - 1, 12);
  const int64_t month = civil.month - 1 - 12 * carried;  // from 0: January
  const int64_t year = civil.year + carried - (month < 2 ? 1 : 0);
  const int64_t era = FloorDivide(year, 400);
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * ((month + 10) % 12) + 2) / 5 + civil.day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

CivilDay CivilFromDays(int64_t days) {
  days += 719468;
  const int64_t era = FloorDivide(days, 146097);
  const int64_t day_of_era = days - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month = (5 * day_of_year + 2) / 153;  // from 0: March
  const int64_t year = year_of_era + era * 400 + (month >= 10 ? 1 : 0);
  return {year, static_cast<int>(month < 10 ? month + 3 : month - 9),
          static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1)};
}

int DaysInMonth(int64_t year, int month) {
  return static_cast<int>(DaysFromCivil({year, month + 1, 1}) - DaysFromCivil({year, month, 1}));
}

absl::StatusOr<Date> MakeDate(int32_t year, int32_t month, int32_t day) {
  const int64_t civil_year = year < 0 ? int64_t{year} + 1 : year;
  if (year == 0 || month < 1 || month > 12 || day < 1 || day > DaysInMonth(civil_year, month)) {
    return SqlError(
        sqlstate::kDateTimeOutOfRange,
        absl::StrFormat("date field value out of range: %d-%02d-%02d", year, month, day));
  }
  return AddDays(Date{0}, DaysFromCivil({civil_year, month, day}));
}

absl::StatusOr<Timestamp> MakeTimestamp(int32_t year, int32_t month, int32_t day, int32_t hour,
                                        int32_t minute, double second) {
  ADJOIN_ASSIGN_OR_RETURN(const Date date, MakeDate(year, month, day));
  ADJOIN_ASSIGN_OR_RETURN(const Timestamp midnight, TimestampOf(date));
  const bool fields = hour >= 0 && hour <= 24 && minute >= 0 && minute <= 59 && second >= 0 &&
                      second <= 60;  // and no NaN
  const int64_t time = fields ? (hour * int64_t{60} + minute) * 60 * kMicrosecondsPerSecond +
                                    std::llrint(second * 1e6)
                              : -1;
  if (time < 0 || time > kMicrosecondsPerDay) {
    return SqlError(
        sqlstate::kDateTimeOutOfRange,
        absl::StrFormat("time field value out of range: %d:%02d:%02g", hour, minute, second));
  }
  return AddInterval(midnight, Interval{time, 0, 0});
}

absl::StatusOr<Interval> MakeInterval(int32_t years, int32_t months, int32_t weeks, int32_t days,
                                      int32_t hours, int32_t minutes, double seconds) {
  const double microseconds = seconds * 1e6;
  if (!(std::abs(microseconds) < 9e18)) return OutOfRange("interval");
  const __int128 whole = (hours * int64_t{60} + minutes) * int64_t{60} * kMicrosecondsPerSecond;
  return CheckedInterval(whole + std::llrint(microseconds), weeks * int64_t{7} + days,
                         years * int64_t{12} + months);
}

absl::StatusOr<Date> AddDays(Date date, int64_t days) {
  if (!date.is_finite()) return date;
  const int64_t sum = date.days + days;
  if (sum < kFirstDay || sum >= DaysFromCivil(kEndOfDates)) return OutOfRange("date");
  return Date{static_cast<int32_t>(sum)};
}

absl::StatusOr<Timestamp> TimestampOf(Date date) {
  if (date.days == Date::kInfinity) return Timestamp{Timestamp::kInfinity};
  if (date.days == Date::kMinusInfinity) return Timestamp{Timestamp::kMinusInfinity};
  absl::StatusOr<Timestamp> out = CheckedTimestamp(__int128{date.days} * kMicrosecondsPerDay);
  if (!out.ok()) return SqlError(sqlstate::kDateTimeOutOfRange, "date out of range for timestamp");
  return out;
}

Date DateOf(Timestamp timestamp) {
  if (timestamp.microseconds == Timestamp::kInfinity) return Date{Date::kInfinity};
  if (timestamp.microseconds == Timestamp::kMinusInfinity) return Date{Date::kMinusInfinity};
  return Date{static_cast<int32_t>(FloorDivide(timestamp.microseconds, kMicrosecondsPerDay))};
}

absl::StatusOr<Timestamp> TimestampOfEpoch(double seconds) {
  if (std::isnan(seconds))
    return SqlError(sqlstate::kDateTimeOutOfRange, "timestamp cannot be NaN");
  if (std::isinf(seconds))
    return Timestamp{seconds > 0 ? Timestamp::kInfinity : Timestamp::kMinusInfinity};
  const double since =
      std::rint((seconds - static_cast<double>(kYear2000 / kMicrosecondsPerSecond)) * 1e6);
  if (std::abs(since) < 9.2e18) {
    const absl::StatusOr<Timestamp> out =
        CheckedTimestamp(static_cast<__int128>(since) + kYear2000);
    if (out.ok()) return out;
  }
  return SqlError(sqlstate::kDateTimeOutOfRange,
                  absl::StrFormat("timestamp out of range: \"%g\"", seconds));
}

absl::StatusOr<Timestamp> Rounded(Timestamp timestamp, int32_t digits) {
  if (!timestamp.is_finite() || digits >= 6) return timestamp;
  if (digits < 0) {
    return SqlError(sqlstate::kInvalidParameterValue,
                    absl::StrCat("timestamp(", digits, ") precision must be between 0 and 6"));
  }
  const auto unit = static_cast<int64_t>(PowerOfTen(6 - digits));
  const __int128 since = __int128{timestamp.microseconds} - kYear2000;
  const __int128 rounded = (since + (since < 0 ? -unit : unit) / 2) / unit * unit;
  return CheckedTimestamp(rounded + kYear2000);
}

absl::StatusOr<Timestamp> AddInterval(Timestamp timestamp, Interval interval) {
  if (!timestamp.is_finite()) return timestamp;
  int64_t days = FloorDivide(timestamp.microseconds, kMicrosecondsPerDay);
  const int64_t time = timestamp.microseconds - days * kMicrosecondsPerDay;
  if (interval.months != 0) {
    CivilDay civil = CivilFromDays(days);
    const int64_t months = civil.month - 1 + int64_t{interval.months};
    civil.year += FloorDivide(months, 12);
    civil.month = static_cast<int>(months - 12 * FloorDivide(months, 12)) + 1;
    civil.day = std::min(civil.day, DaysInMonth(civil.year, civil.month));
    days = DaysFromCivil(civil);
  }
  return CheckedTimestamp(__int128{days + interval.days} * kMicrosecondsPerDay + time +
                          interval.microseconds);
}

absl::StatusOr<Interval> Difference(Timestamp a, Timestamp b) {
  if (!a.is_finite() || !b.is_finite())
    return SqlError(sqlstate::kDateTimeOutOfRange, "cannot subtract infinite timestamps");
  const int64_t span = a.microseconds - b.microseconds;  // two of them cannot overflow
  return Interval{span % kMicrosecondsPerDay, static_cast<int32_t>(span / kMicrosecondsPerDay), 0};
}

absl::StatusOr<Interval> Age(Timestamp a, Timestamp b) {
  if (!a.is_finite() || !b.is_finite()) return OutOfRange("timestamp");
  const bool swapped = a < b;
  if (swapped) std::swap(a, b);
  const auto [high_days, low_days] = std::pair(DateOf(a).days, DateOf(b).days);
  const CivilDay high = CivilFromDays(high_days), low = CivilFromDays(low_days);
  int64_t time = (a.microseconds - high_days * kMicrosecondsPerDay) -
                 (b.microseconds - low_days * kMicrosecondsPerDay);
  int64_t days = high.day - low.day;
  int64_t months = (high.year - low.year) * 12 + high.month - low.month;
  if (time < 0) time += kMicrosecondsPerDay, --days;
  if (days < 0) days += DaysInMonth(low.year, low.month), --months;
  const Interval out{time, static_cast<int32_t>(days), static_cast<int32_t>(months)};
  return swapped ? Negate(out) : out;
}

absl::StatusOr<Interval> Add(Interval a, Interval b) {
  return CheckedInterval(__int128{a.microseconds} + b.microseconds, int64_t{a.days} + b.days,
                         int64_t{a.months} + b.months);
}

absl::StatusOr<Interval> Negate(Interval a) {
  return CheckedInterval(-__int128{a.microseconds}, -int64_t{a.days}, -int64_t{a.months});
}

namespace {

// As PostgreSQL's interval_mul and interval_div, scaling each part: what a month loses goes into
// days, what a day loses into seconds, rounded to microseconds.
template <typename Scale>
absl::StatusOr<Interval> Scaled(Interval a, Scale scale) {
  const double months = scale(a.months), days = scale(a.days);
  const auto fits = [](double v) { return v > -2147483649.0 && v < 2147483648.0; };
  if (!fits(months) || !fits(days)) return OutOfRange("interval");
  const auto rounded = [](double v) { return std::nearbyint(v * 1e6) / 1e6; };
  const double month_days = rounded((months - std::trunc(months)) * 30);
  double more_days = std::trunc(month_days);
  double seconds = rounded((days - std::trunc(days) + month_days - more_days) * 86400);
  if (std::abs(seconds) >= 86400) {
    more_days += std::trunc(seconds / 86400);
    seconds -= std::trunc(seconds / 86400) * 86400;
  }
  const double time = std::nearbyint(scale(static_cast<double>(a.microseconds)) + seconds * 1e6);
  if (!(time >= -9223372036854775808.0 && time < 9223372036854775808.0))
    return OutOfRange("interval");
  return CheckedInterval(static_cast<int64_t>(time),
                         static_cast<int64_t>(std::trunc(days)) + static_cast<int64_t>(more_days),
                         static_cast<int64_t>(std::trunc(months)));
}

}  // namespace

absl::StatusOr<Interval> Multiply(Interval a, double factor) {
  return Scaled(a, [factor](double part) { return part * factor; });
}

absl::StatusOr<Interval> Divide(Interval a, double divisor) {
  if (divisor == 0) return SqlError(sqlstate::kDivisionByZero, "division by zero");
  return Scaled(a, [divisor](double part) { return part / divisor; });
}

namespace {

constexpr int64_t kDaysPerMonth = 30;  // of justify_days

// `high` and `low`, `size` of which are a high, with one sign.
void AlignSigns(int64_t& high, int64_t& low, int64_t size, int64_t lower = 0) {
  if (high > 0 && (low < 0 || (low == 0 && lower < 0))) {
    low += size, --high;
  } else if (high < 0 && (low > 0 || (low == 0 && lower > 0))) {
    low -= size, ++high;
  }
}

}  // namespace

absl::StatusOr<Interval> JustifyHours(Interval a) {
  int64_t days = a.days + a.microseconds / kMicrosecondsPerDay;
  int64_t time = a.microseconds % kMicrosecondsPerDay;
  AlignSigns(days, time, kMicrosecondsPerDay);
  return CheckedInterval(time, days, a.months);
}

absl::StatusOr<Interval> JustifyDays(Interval a) {
  int64_t months = a.months + a.days / kDaysPerMonth;
  int64_t days = a.days % kDaysPerMonth;
  AlignSigns(months, days, kDaysPerMonth);
  return CheckedInterval(a.microseconds, days, months);
}

absl::StatusOr<Interval> Justify(Interval a) {
  int64_t days = a.days + a.microseconds / kMicrosecondsPerDay;
  int64_t time = a.microseconds % kMicrosecondsPerDay;
  int64_t months = a.months + days / kDaysPerMonth;
  days %= kDaysPerMonth;
  AlignSigns(months, days, kDaysPerMonth, time);
  AlignSigns(days, time, kMicrosecondsPerDay);
  return CheckedInterval(time, days, months);
}

absl::StatusOr<Timestamp> Bin(Interval stride, Timestamp timestamp, Timestamp origin) {
  if (!timestamp.is_finite()) return timestamp;
  if (!origin.is_finite()) return SqlError(sqlstate::kDateTimeOutOfRange, "origin out of range");
  if (stride.months != 0) {
    return SqlError(sqlstate::kFeatureNotSupported,
                    "timestamps cannot be binned into intervals containing months or years");
  }
  const __int128 step = stride.span();
  if (step <= 0) return SqlError(sqlstate::kDateTimeOutOfRange, "stride must be greater than zero");
  const __int128 distance = __int128{timestamp.microseconds} - origin.microseconds;
  const __int128 rest = distance % step;
  return CheckedTimestamp(timestamp.microseconds - rest - (rest < 0 ? step : 0));
}

absl::StatusOr<int64_t> SeriesSize(Timestamp start, Timestamp stop, Interval step) {
  const __int128 span = step.span();
  if (span == 0) return SqlError(sqlstate::kInvalidParameterValue, "step size cannot equal zero");
  if (!start.is_finite() || !stop.is_finite()) return OutOfRange("timestamp");
  if (step.months == 0) {
    const __int128 whole = (__int128{stop.microseconds} - start.microseconds) / span;
    const bool none = span > 0 ? stop < start : start < stop;
    return none ? 0 : static_cast<int64_t>(whole) + 1;
  }
  int64_t size = 0;
  for (; span > 0 ? start <= stop : stop <= start; ++size) {
    ADJOIN_ASSIGN_OR_RETURN(start, AddInterval(start, step));
  }
  return size;
}

absl::StatusOr<Timestamp> SeriesAt(Timestamp start, Interval step, int64_t n) {
  if (step.months == 0) return CheckedTimestamp(start.microseconds + step.span() * n);
  for (; n > 0; --n) {
    ADJOIN_ASSIGN_OR_RETURN(start, AddInterval(start, step));
  }
  return start;
}

}  // namespace adjoin
