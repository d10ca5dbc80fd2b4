#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/date_functions.h"
#include "engine/date_text.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

// What the text of a date or timestamp says.
struct Moment {
  CivilDay day = {};
  int64_t time = 0;  // microseconds
  enum class Kind : uint8_t { kCivil, kInfinity, kMinusInfinity } kind = Kind::kCivil;
};

// y-m-d, m/d/y where the last has more than two digits, or yyyymmdd.
DateFault ReadDay(DateCursor& in, CivilDay& out) {
  const std::string_view first = in.Digits();
  if (first.empty()) return DateFault::kSyntax;
  const char separator = in.peek();
  if (separator != '-' && separator != '/') {
    if (first.size() != 8) return DateFault::kSyntax;
    out = {NumberIn(first.substr(0, 4)), static_cast<int>(NumberIn(first.substr(4, 2))),
           static_cast<int>(NumberIn(first.substr(6)))};
    return DateFault::kNone;
  }
  in.Take(separator);
  const std::string_view second = in.Digits();
  if (second.empty() || !in.Take(separator)) return DateFault::kSyntax;
  const std::string_view third = in.Digits();
  if (third.empty()) return DateFault::kSyntax;
  if (first.size() > 2) {
    if (second.size() > 2 || third.size() > 2) return DateFault::kRange;
    out = {NumberIn(first), static_cast<int>(NumberIn(second)), static_cast<int>(NumberIn(third))};
  } else {
    if (second.size() > 2 || third.size() < 3) return DateFault::kRange;
    out = {NumberIn(third), static_cast<int>(NumberIn(first)), static_cast<int>(NumberIn(second))};
  }
  return DateFault::kNone;
}

// h:m[:s[.f]], and am or pm.
DateFault ReadTime(DateCursor& in, int64_t& out) {
  const int64_t hour = NumberIn(in.Digits());
  if (!in.Take(':') || !in.at_digit()) return DateFault::kSyntax;
  const int64_t minute = NumberIn(in.Digits());
  int64_t second = 0, fraction = 0;
  if (in.Take(':')) {
    if (!in.at_digit()) return DateFault::kSyntax;
    second = NumberIn(in.Digits());
    if (in.Take('.')) fraction = MicrosecondsIn(in.Digits());
  }
  in.SkipSpaces();
  DateCursor ahead = in;
  int64_t hour_of_day = hour;
  if (const std::string half = ahead.Word(); half == "am" || half == "pm") {
    if (hour < 1 || hour > 12) return DateFault::kRange;
    hour_of_day = hour % 12 + (half == "pm" ? 12 : 0);
    in = ahead;
  }
  if (hour > 24 || minute > 59 || second > 60) return DateFault::kRange;
  out = ((hour_of_day * 60 + minute) * 60 + second) * kMicrosecondsPerSecond + fraction;
  return out > kMicrosecondsPerDay ? DateFault::kRange : DateFault::kNone;
}

// What may follow: a time zone, which a timestamp without one ignores, and the era.
DateFault ReadRest(DateCursor& in, CivilDay& day) {
  while (true) {
    in.SkipSpaces();
    if (in.done()) return DateFault::kNone;
    if (in.Take('+') || in.Take('-')) {
      if (!in.at_digit()) return DateFault::kSyntax;
      in.Digits();
      while (in.Take(':')) in.Digits();
      continue;
    }
    const std::string word = in.Word();
    if (word == "bc") {
      day.year = 1 - day.year;
    } else if (word != "ad" && word != "z" && word != "utc" && word != "gmt") {
      return DateFault::kSyntax;
    }
  }
}

// infinity, -infinity and epoch.
DateFault ReadWord(DateCursor in, Moment& out) {
  const bool minus = in.Take('-');
  const std::string word = in.Word();
  in.SkipSpaces();
  if (!in.done()) return DateFault::kSyntax;
  if (word == "infinity") {
    out.kind = minus ? Moment::Kind::kMinusInfinity : Moment::Kind::kInfinity;
    return DateFault::kNone;
  }
  out.day = {1970, 1, 1};
  return word == "epoch" && !minus ? DateFault::kNone : DateFault::kSyntax;
}

DateFault ReadMoment(std::string_view text, Moment& out) {
  DateCursor in(text);
  in.SkipSpaces();
  if (!in.at_digit()) return ReadWord(in, out);
  if (const DateFault fault = ReadDay(in, out.day); fault != DateFault::kNone) return fault;
  if (!in.Take('T')) in.Take('t');
  in.SkipSpaces();
  if (in.at_digit()) {
    if (const DateFault fault = ReadTime(in, out.time); fault != DateFault::kNone) return fault;
  }
  const int64_t year = out.day.year;
  if (const DateFault fault = ReadRest(in, out.day); fault != DateFault::kNone) return fault;
  const bool exists = year != 0 && out.day.month >= 1 && out.day.month <= 12 && out.day.day >= 1 &&
                      out.day.day <= DaysInMonth(out.day.year, out.day.month);
  return exists ? DateFault::kNone : DateFault::kRange;
}

absl::Status PastLimit(std::string_view type, std::string_view text) {
  return SqlError(sqlstate::kDateTimeOutOfRange,
                  absl::StrCat(ToAbsl(type), " out of range: \"", ToAbsl(text), "\""));
}

std::string DayText(CivilDay civil) {
  return absl::StrFormat("%04d-%02d-%02d", civil.year > 0 ? civil.year : 1 - civil.year,
                         civil.month, civil.day);
}

}  // namespace

absl::StatusOr<Date> ParseDate(std::string_view text) {
  Moment moment;
  if (const DateFault fault = ReadMoment(text, moment); fault != DateFault::kNone)
    return DateFaultStatus(fault, "date", text);
  if (moment.kind == Moment::Kind::kInfinity) return Date{Date::kInfinity};
  if (moment.kind == Moment::Kind::kMinusInfinity) return Date{Date::kMinusInfinity};
  absl::StatusOr<Date> out = AddDays(Date{0}, DaysFromCivil(moment.day));
  return out.ok() ? out : PastLimit("date", text);
}

absl::StatusOr<Timestamp> ParseTimestamp(std::string_view text) {
  Moment moment;
  if (const DateFault fault = ReadMoment(text, moment); fault != DateFault::kNone)
    return DateFaultStatus(fault, "timestamp", text);
  if (moment.kind == Moment::Kind::kInfinity) return Timestamp{Timestamp::kInfinity};
  if (moment.kind == Moment::Kind::kMinusInfinity) return Timestamp{Timestamp::kMinusInfinity};
  const absl::StatusOr<Date> date = AddDays(Date{0}, DaysFromCivil(moment.day));
  if (!date.ok()) return PastLimit("timestamp", text);
  const absl::StatusOr<Timestamp> midnight = TimestampOf(*date);
  if (!midnight.ok()) return PastLimit("timestamp", text);
  absl::StatusOr<Timestamp> out = AddInterval(*midnight, Interval{moment.time, 0, 0});
  return out.ok() ? out : PastLimit("timestamp", text);
}

std::string ToText(Date date) {
  if (date.days == Date::kInfinity) return "infinity";
  if (date.days == Date::kMinusInfinity) return "-infinity";
  const CivilDay civil = CivilFromDays(date.days);
  return DayText(civil) + (civil.year > 0 ? "" : " BC");
}

std::string ToText(Timestamp timestamp) {
  if (timestamp.microseconds == Timestamp::kInfinity) return "infinity";
  if (timestamp.microseconds == Timestamp::kMinusInfinity) return "-infinity";
  const int64_t days = DateOf(timestamp).days;
  const CivilDay civil = CivilFromDays(days);
  const auto time = static_cast<uint64_t>(timestamp.microseconds - days * kMicrosecondsPerDay);
  return DayText(civil) + " " + TimeText(time) + (civil.year > 0 ? "" : " BC");
}

}  // namespace adjoin
