// The fields of dates, timestamps and intervals by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace adjoin {

enum class DateUnit : uint8_t {
  kMicrosecond,
  kMillisecond,
  kSecond,
  kMinute,
  kHour,
  kDay,
  kWeek,
  kMonth,
  kQuarter,
  kYear,
  kDecade,
  kCentury,
  kMillennium,
  kDayOfWeek,
  kIsoDayOfWeek,
  kDayOfYear,
  kIsoYear,
  kJulian,
  kEpoch
};

// PostgreSQL's names and abbreviations, in lower case.
std::optional<DateUnit> DateUnitNamed(std::string_view name);

}  // namespace adjoin
