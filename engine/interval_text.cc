#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/date_text.h"
#include "engine/date_time.h"
#include "engine/date_unit.h"
#include "engine/status.h"

namespace adjoin {
namespace {

// A number of one unit, added to an interval; what is left of a unit after whole months or days
// goes into the next.
class IntervalSum {
 public:
  void Add(double amount, DateUnit unit) {
    switch (unit) {
      case DateUnit::kMillennium:
        return AddMonths(amount, 12000);
      case DateUnit::kCentury:
        return AddMonths(amount, 1200);
      case DateUnit::kDecade:
        return AddMonths(amount, 120);
      case DateUnit::kYear:
        return AddMonths(amount, 12);
      case DateUnit::kMonth: {
        const double whole = std::trunc(amount);
        months_ += whole;
        return AddDays((amount - whole) * 30);
      }
      case DateUnit::kWeek:
        return AddDays(amount * 7);
      case DateUnit::kDay:
        return AddDays(amount);
      case DateUnit::kHour:
        return AddTime(amount * 3600e6);
      case DateUnit::kMinute:
        return AddTime(amount * 60e6);
      case DateUnit::kSecond:
        return AddTime(amount * 1e6);
      case DateUnit::kMillisecond:
        return AddTime(amount * 1e3);
      case DateUnit::kMicrosecond:
        return AddTime(amount);
      default:
        valid_ = false;
    }
  }
  void AddTime(double microseconds) { time_ += std::nearbyint(microseconds); }
  void Negate() { months_ = -months_, days_ = -days_, time_ = -time_; }
  bool valid() const { return valid_; }
  bool fits() const {
    return std::abs(months_) < 2147483648.0 && std::abs(days_) < 2147483648.0 &&
           std::abs(time_) < 9223372036854775808.0;
  }
  Interval value() const {
    return {static_cast<int64_t>(time_), static_cast<int32_t>(days_),
            static_cast<int32_t>(months_)};
  }

 private:
  void AddMonths(double amount,
                 int months) {  // whole months: PostgreSQL rounds a fraction of a year
    const double whole = std::trunc(amount);
    months_ += whole * months + std::nearbyint((amount - whole) * months);
  }
  void AddDays(double amount) {
    // The product of a decimal fraction is a hair off a whole number of days: 0.7 months are 21
    // days.
    amount = std::nearbyint(amount * 1e9) / 1e9;
    const double whole = std::trunc(amount);
    days_ += whole;
    AddTime((amount - whole) * static_cast<double>(kMicrosecondsPerDay));
  }
  double months_ = 0, days_ = 0, time_ = 0;
  bool valid_ = true;
};

DateUnit UnitOf(IntervalField field) {
  constexpr DateUnit kUnits[] = {DateUnit::kYear, DateUnit::kMonth,  DateUnit::kDay,
                                 DateUnit::kHour, DateUnit::kMinute, DateUnit::kSecond};
  return kUnits[static_cast<int>(field)];
}

double DecimalOf(std::string_view whole, std::string_view fraction) {
  double value = 0, unit = 1;
  for (char c : whole) value = value * 10 + (c - '0');
  double part = 0;
  for (char c : fraction) part = part * 10 + (c - '0'), unit *= 10;
  return value + part / unit;
}

// The rest of h:m[:s[.f]], or of m:s where the fields say so, after its first number.
DateFault ReadIntervalTime(DateCursor& in, double first, bool minutes_first, double& microseconds) {
  in.Take(':');
  if (!in.at_digit()) return DateFault::kSyntax;
  const double second = static_cast<double>(NumberIn(in.Digits()));
  double third = 0, fraction = 0;
  bool has_third = false;
  if (in.Take(':')) {
    if (!in.at_digit()) return DateFault::kSyntax;
    third = static_cast<double>(NumberIn(in.Digits()));
    has_third = true;
  }
  if (in.Take('.')) fraction = static_cast<double>(MicrosecondsIn(in.Digits()));
  const bool short_form = !has_third && (minutes_first || fraction != 0);
  if (short_form) third = second;
  const double minute = short_form ? first : second, hour = short_form ? 0 : first;
  if (minute > 59 || third > 60) return DateFault::kRange;
  microseconds = ((hour * 60 + minute) * 60 + third) * 1e6 + fraction;
  return DateFault::kNone;
}

DateFault ReadInterval(std::string_view text, std::optional<IntervalFields> fields,
                       IntervalSum& out) {
  DateCursor in(text);
  in.SkipSpaces();
  if (in.Take('@')) in.SkipSpaces();
  if (in.done() || in.at_letter()) return DateFault::kSyntax;  // `ago` of nothing
  bool unit_open = true;                                       // one number may go without its unit
  while (!in.done()) {
    if (in.at_letter()) {
      if (in.Word() != "ago") return DateFault::kSyntax;
      in.SkipSpaces();
      out.Negate();
      return in.done() ? DateFault::kNone : DateFault::kSyntax;
    }
    const double sign = in.Take('-') ? -1 : 1;
    if (sign > 0) in.Take('+');
    const std::string_view digits = in.Digits();
    const std::string_view fraction = in.Take('.') ? in.Digits() : std::string_view();
    if (digits.empty() && fraction.empty()) return DateFault::kSyntax;
    const double amount = DecimalOf(digits, fraction);
    if (in.peek() == ':') {
      double time = 0;
      const bool minutes_first = fields && fields->first == IntervalField::kMinute;
      if (const DateFault fault = ReadIntervalTime(in, amount, minutes_first, time);
          fault != DateFault::kNone)
        return fault;
      out.AddTime(sign * time);
    } else if (in.peek() == '-' && in.digit_follows()) {
      in.Take('-');
      const int64_t months = NumberIn(in.Digits());
      if (months > 11) return DateFault::kRange;
      out.Add(sign * amount, DateUnit::kYear);
      out.Add(sign * static_cast<double>(months), DateUnit::kMonth);
    } else {
      in.SkipSpaces();
      DateCursor ahead = in;
      if (const std::string word = ahead.Word(); !word.empty() && word != "ago") {
        const std::optional<DateUnit> unit = DateUnitNamed(word);
        if (!unit.has_value()) return DateFault::kSyntax;
        in = ahead;
        out.Add(sign * amount, *unit);
      } else {
        if (!unit_open) return DateFault::kSyntax;
        unit_open = false;
        const DateUnit rest = !in.done() && word.empty() ? DateUnit::kDay  // a time follows
                              : fields                   ? UnitOf(fields->last)
                                                         : DateUnit::kSecond;
        out.Add(sign * amount, rest);
      }
    }
    in.SkipSpaces();
  }
  return out.valid() ? DateFault::kNone : DateFault::kSyntax;
}

// Without what is smaller than the last field.
Interval Cut(Interval value, IntervalField last) {
  if (last == IntervalField::kYear) value.months -= value.months % 12;
  if (last <= IntervalField::kMonth) value.days = 0;
  const int64_t unit = last <= IntervalField::kDay      ? 0
                       : last == IntervalField::kHour   ? 3600 * kMicrosecondsPerSecond
                       : last == IntervalField::kMinute ? 60 * kMicrosecondsPerSecond
                                                        : 1;
  value.microseconds -= unit == 0 ? value.microseconds : value.microseconds % unit;
  return value;
}

}  // namespace

absl::StatusOr<Interval> ParseInterval(std::string_view text,
                                       std::optional<IntervalFields> fields) {
  IntervalSum sum;
  if (const DateFault fault = ReadInterval(text, fields, sum); fault != DateFault::kNone)
    return DateFaultStatus(fault, "interval", text);
  if (!sum.fits()) return DateFaultStatus(DateFault::kRange, "interval", text);
  return fields ? Cut(sum.value(), fields->last) : sum.value();
}

std::string ToText(Interval interval) {
  std::string out;
  bool before = false;  // the part before was negative: a positive one needs its sign
  const auto append = [&](int64_t value, const char* unit) {
    if (value == 0) return;
    absl::StrAppend(&out, out.empty() ? "" : " ", before && value > 0 ? "+" : "", value, " ", unit,
                    value == 1 ? "" : "s");
    before = value < 0;
  };
  append(interval.months / 12, "year");
  append(interval.months % 12, "mon");
  append(interval.days, "day");
  if (interval.microseconds == 0 && !out.empty()) return out;
  const bool minus = interval.microseconds < 0;
  absl::StrAppend(&out, out.empty() ? "" : " ", minus ? "-" : (before ? "+" : ""));
  const auto magnitude = static_cast<uint64_t>(interval.microseconds);
  return out + TimeText(minus ? -magnitude : magnitude);
}

}  // namespace adjoin
