// EXTRACT and date_trunc.
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/date_functions.h"
#include "engine/date_unit.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

using Part = absl::StatusOr<std::optional<double>>;

constexpr int64_t kJulianOfEpoch = 2440588;
constexpr int64_t kMicrosecondsPerMinute = 60 * kMicrosecondsPerSecond;
constexpr int64_t kMicrosecondsPerHour = 3600 * kMicrosecondsPerSecond;

struct Named {
  std::string_view name;
  DateUnit unit;
};
constexpr Named kUnits[] = {
    {"us", DateUnit::kMicrosecond},
    {"usec", DateUnit::kMicrosecond},
    {"usecs", DateUnit::kMicrosecond},
    {"microsecond", DateUnit::kMicrosecond},
    {"microseconds", DateUnit::kMicrosecond},
    {"ms", DateUnit::kMillisecond},
    {"msec", DateUnit::kMillisecond},
    {"msecs", DateUnit::kMillisecond},
    {"millisecond", DateUnit::kMillisecond},
    {"milliseconds", DateUnit::kMillisecond},
    {"s", DateUnit::kSecond},
    {"sec", DateUnit::kSecond},
    {"secs", DateUnit::kSecond},
    {"second", DateUnit::kSecond},
    {"seconds", DateUnit::kSecond},
    {"m", DateUnit::kMinute},
    {"min", DateUnit::kMinute},
    {"mins", DateUnit::kMinute},
    {"minute", DateUnit::kMinute},
    {"minutes", DateUnit::kMinute},
    {"h", DateUnit::kHour},
    {"hr", DateUnit::kHour},
    {"hrs", DateUnit::kHour},
    {"hour", DateUnit::kHour},
    {"hours", DateUnit::kHour},
    {"d", DateUnit::kDay},
    {"day", DateUnit::kDay},
    {"days", DateUnit::kDay},
    {"w", DateUnit::kWeek},
    {"week", DateUnit::kWeek},
    {"weeks", DateUnit::kWeek},
    {"mon", DateUnit::kMonth},
    {"mons", DateUnit::kMonth},
    {"month", DateUnit::kMonth},
    {"months", DateUnit::kMonth},
    {"qtr", DateUnit::kQuarter},
    {"quarter", DateUnit::kQuarter},
    {"y", DateUnit::kYear},
    {"yr", DateUnit::kYear},
    {"yrs", DateUnit::kYear},
    {"year", DateUnit::kYear},
    {"years", DateUnit::kYear},
    {"dec", DateUnit::kDecade},
    {"decs", DateUnit::kDecade},
    {"decade", DateUnit::kDecade},
    {"decades", DateUnit::kDecade},
    {"c", DateUnit::kCentury},
    {"cent", DateUnit::kCentury},
    {"century", DateUnit::kCentury},
    {"centuries", DateUnit::kCentury},
    {"mil", DateUnit::kMillennium},
    {"mils", DateUnit::kMillennium},
    {"millennium", DateUnit::kMillennium},
    {"millennia", DateUnit::kMillennium},
    {"dow", DateUnit::kDayOfWeek},
    {"isodow", DateUnit::kIsoDayOfWeek},
    {"doy", DateUnit::kDayOfYear},
    {"isoyear", DateUnit::kIsoYear},
    {"julian", DateUnit::kJulian},
    {"epoch", DateUnit::kEpoch},
};

absl::Status NotRecognised(std::string_view unit, std::string_view type) {
  return SqlError(
      sqlstate::kInvalidParameterValue,
      absl::StrCat("unit \"", ToAbsl(unit), "\" not recognized for type ", ToAbsl(type)));
}

absl::Status NotSupported(std::string_view unit, std::string_view type) {
  return SqlError(
      sqlstate::kFeatureNotSupported,
      absl::StrCat("unit \"", ToAbsl(unit), "\" not supported for type ", ToAbsl(type)));
}

// Monday is 1.
int IsoDayOfWeek(int64_t days) { return static_cast<int>(((days + 3) % 7 + 7) % 7) + 1; }

// The year and number of the week, which belongs to the year of its Thursday.
std::pair<int64_t, int64_t> IsoWeek(int64_t days) {
  const int64_t thursday = days - IsoDayOfWeek(days) + 4;
  const int64_t year = CivilFromDays(thursday).year;
  return {year, (thursday - DaysFromCivil({year, 1, 1})) / 7 + 1};
}

// Years are counted without a year 0: 1 BC is -1.
double WithoutYearZero(int64_t year) { return static_cast<double>(year > 0 ? year : year - 1); }

// The number, from 1, of the group of `size` years that a year is in: centuries, millennia.
int64_t GroupOf(int64_t year, int64_t size) {
  return year > 0 ? (year + size - 1) / size : -((size - year) / size);
}

bool IsMonotonic(DateUnit unit) {
  switch (unit) {
    case DateUnit::kYear:
    case DateUnit::kDecade:
    case DateUnit::kCentury:
    case DateUnit::kMillennium:
    case DateUnit::kIsoYear:
    case DateUnit::kJulian:
    case DateUnit::kEpoch:
      return true;
    default:
      return false;
  }
}

std::optional<double> OfInfinity(DateUnit unit, bool minus) {
  if (!IsMonotonic(unit)) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return minus ? -kInfinity : kInfinity;
}

// What a date has of a unit; no value for times.
std::optional<double> DayPart(DateUnit unit, int64_t days) {
  const CivilDay civil = CivilFromDays(days);
  switch (unit) {
    case DateUnit::kDay:
      return civil.day;
    case DateUnit::kWeek:
      return static_cast<double>(IsoWeek(days).second);
    case DateUnit::kMonth:
      return civil.month;
    case DateUnit::kQuarter:
      return (civil.month - 1) / 3 + 1;
    case DateUnit::kYear:
      return WithoutYearZero(civil.year);
    case DateUnit::kDecade:
      return static_cast<double>(civil.year >= 0 ? civil.year / 10 : -((9 - civil.year) / 10));
    case DateUnit::kCentury:
      return static_cast<double>(GroupOf(civil.year, 100));
    case DateUnit::kMillennium:
      return static_cast<double>(GroupOf(civil.year, 1000));
    case DateUnit::kDayOfWeek:
      return IsoDayOfWeek(days) % 7;
    case DateUnit::kIsoDayOfWeek:
      return IsoDayOfWeek(days);
    case DateUnit::kDayOfYear:
      return static_cast<double>(days - DaysFromCivil({civil.year, 1, 1}) + 1);
    case DateUnit::kIsoYear:
      return WithoutYearZero(IsoWeek(days).first);
    case DateUnit::kJulian:
      return static_cast<double>(days + kJulianOfEpoch);
    case DateUnit::kEpoch:
      return static_cast<double>(days) * 86400;
    default:
      return std::nullopt;
  }
}

std::optional<double> TimePart(DateUnit unit, int64_t time) {
  switch (unit) {
    case DateUnit::kMicrosecond:
      return static_cast<double>(time % kMicrosecondsPerMinute);
    case DateUnit::kMillisecond:
      return static_cast<double>(time % kMicrosecondsPerMinute) / 1e3;
    case DateUnit::kSecond:
      return static_cast<double>(time % kMicrosecondsPerMinute) / 1e6;
    case DateUnit::kMinute:
      return static_cast<double>(time / kMicrosecondsPerMinute % 60);
    case DateUnit::kHour:
      return static_cast<double>(time / kMicrosecondsPerHour);
    default:
      return std::nullopt;
  }
}

// What a unit of time below a day lasts; 0 for others.
int64_t MicrosecondsOf(DateUnit unit) {
  switch (unit) {
    case DateUnit::kMicrosecond:
      return 1;
    case DateUnit::kMillisecond:
      return 1000;
    case DateUnit::kSecond:
      return kMicrosecondsPerSecond;
    case DateUnit::kMinute:
      return kMicrosecondsPerMinute;
    case DateUnit::kHour:
      return kMicrosecondsPerHour;
    default:
      return 0;
  }
}

// The months of a unit of months; 0 for others.
int32_t MonthsOf(DateUnit unit) {
  switch (unit) {
    case DateUnit::kMonth:
      return 1;
    case DateUnit::kQuarter:
      return 3;
    case DateUnit::kYear:
      return 12;
    case DateUnit::kDecade:
      return 120;
    case DateUnit::kCentury:
      return 1200;
    case DateUnit::kMillennium:
      return 12000;
    default:
      return 0;
  }
}

// The first day of the unit, of days or more, that a day is in.
int64_t FirstDay(DateUnit unit, int64_t days) {
  const CivilDay civil = CivilFromDays(days);
  switch (unit) {
    case DateUnit::kWeek:
      return days - IsoDayOfWeek(days) + 1;
    case DateUnit::kMonth:
      return DaysFromCivil({civil.year, civil.month, 1});
    case DateUnit::kQuarter:
      return DaysFromCivil({civil.year, (civil.month - 1) / 3 * 3 + 1, 1});
    case DateUnit::kYear:
      return DaysFromCivil({civil.year, 1, 1});
    case DateUnit::kDecade:
      return DaysFromCivil(
          {(civil.year > 0 ? civil.year / 10 : -((9 - civil.year) / 10)) * 10, 1, 1});
    case DateUnit::kCentury:
    case DateUnit::kMillennium: {  // groups of years end with their round number
      const int64_t size = unit == DateUnit::kCentury ? 100 : 1000;
      const int64_t year = civil.year > 0 ? (civil.year + size - 1) / size * size - size + 1
                                          : -((size - civil.year) / size) * size + 1;
      return DaysFromCivil({year, 1, 1});
    }
    default:
      return days;
  }
}

// What date_trunc takes.
bool IsPeriod(DateUnit unit) { return unit <= DateUnit::kMillennium; }

}  // namespace

std::optional<DateUnit> DateUnitNamed(std::string_view name) {
  for (const Named& named : kUnits) {
    if (named.name == name) return named.unit;
  }
  return std::nullopt;
}

DateField::DateField(std::string_view field)
    : name(absl::AsciiStrToLower(ToAbsl(field))), unit(DateUnitNamed(name)) {}

Part Extract(const DateField& field, Date date) {
  const auto& [name, unit] = field;
  if (!unit.has_value()) return NotRecognised(name, "date");
  if (MicrosecondsOf(*unit) > 0) return NotSupported(name, "date");
  if (!date.is_finite()) return OfInfinity(*unit, date.days < 0);
  return DayPart(*unit, date.days);
}

Part Extract(const DateField& field, Timestamp timestamp) {
  const auto& [name, unit] = field;
  if (!unit.has_value()) return NotRecognised(name, "timestamp without time zone");
  if (!timestamp.is_finite()) return OfInfinity(*unit, timestamp.microseconds < 0);
  const int64_t days = DateOf(timestamp).days;
  const int64_t time = timestamp.microseconds - days * kMicrosecondsPerDay;
  if (*unit == DateUnit::kEpoch) return static_cast<double>(timestamp.microseconds) / 1e6;
  if (*unit == DateUnit::kJulian) {
    return static_cast<double>(days + kJulianOfEpoch) +
           static_cast<double>(time) / static_cast<double>(kMicrosecondsPerDay);
  }
  return MicrosecondsOf(*unit) > 0 ? TimePart(*unit, time) : DayPart(*unit, days);
}

Part Extract(const DateField& field, Interval interval) {
  const auto& [name, unit] = field;
  if (!unit.has_value()) return NotRecognised(name, "interval");
  if (MicrosecondsOf(*unit) > 0) return TimePart(*unit, interval.microseconds);
  const int32_t years = interval.months / 12, months = interval.months % 12;
  switch (*unit) {
    case DateUnit::kDay:
      return interval.days;
    case DateUnit::kMonth:
      return months;
    case DateUnit::kQuarter:
      return months / 3 + 1;
    case DateUnit::kYear:
      return years;
    case DateUnit::kDecade:
      return years / 10;
    case DateUnit::kCentury:
      return years / 100;
    case DateUnit::kMillennium:
      return years / 1000;
    case DateUnit::kEpoch:
      return (years * 365.25 + months * 30 + interval.days) * 86400 +
             static_cast<double>(interval.microseconds) / 1e6;
    default:
      return NotSupported(name, "interval");
  }
}

absl::StatusOr<Timestamp> Truncate(const DateField& field, Timestamp timestamp) {
  const auto& [name, unit] = field;
  if (!unit.has_value() || !IsPeriod(*unit))
    return NotRecognised(name, "timestamp without time zone");
  if (!timestamp.is_finite()) return timestamp;
  const int64_t days = DateOf(timestamp).days;
  const int64_t time = timestamp.microseconds - days * kMicrosecondsPerDay;
  const int64_t step = MicrosecondsOf(*unit);
  const int64_t kept = step > 0 ? time - time % step : 0;
  const Timestamp midnight{(step > 0 ? days : FirstDay(*unit, days)) * kMicrosecondsPerDay};
  return AddInterval(midnight, Interval{kept, 0, 0});
}

absl::StatusOr<Interval> Truncate(const DateField& field, Interval interval) {
  const auto& [name, unit] = field;
  if (!unit.has_value() || !IsPeriod(*unit)) return NotRecognised(name, "interval");
  if (*unit == DateUnit::kWeek) {
    return SqlErrorWithDetail(sqlstate::kFeatureNotSupported,
                              absl::StrCat("unit \"", name, "\" not supported for type interval"),
                              "Months usually have fractional weeks.");
  }
  if (const int64_t step = MicrosecondsOf(*unit); step > 0) {
    interval.microseconds -= interval.microseconds % step;
    return interval;
  }
  interval.microseconds = 0;
  if (const int32_t step = MonthsOf(*unit); step > 0) {
    interval.days = 0;
    interval.months -= interval.months % step;
  }
  return interval;
}

}  // namespace adjoin
