#include "engine/date_time.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/date_functions.h"
#include "engine/status.h"
#include "engine/types.h"

namespace adjoin {
namespace {

constexpr int64_t kFirstDay = -2440588;   // 4714-11-24 BC
constexpr int64_t kLastDay = 2145042905;  // 5874897-12-31

template <typename T>
std::string ErrorOf(const absl::StatusOr<T>& result) {
  if (result.ok()) return "ok";
  return SqlStateOf(result.status()) + ": " + std::string(result.status().message());
}

TEST(CalendarTest, DaysFollowOneAnother) {
  CivilDay before = CivilFromDays(-800 * 366);
  for (int64_t day = -800 * 366 + 1; day < 800 * 366; ++day) {
    const CivilDay civil = CivilFromDays(day);
    ASSERT_EQ(DaysFromCivil(civil), day);
    if (civil.day != 1) {
      ASSERT_EQ(civil.day, before.day + 1);
    } else {
      ASSERT_EQ(before.day, DaysInMonth(before.year, before.month));
      ASSERT_EQ(civil.month, before.month % 12 + 1);
    }
    before = civil;
  }
}

TEST(CalendarTest, LeapYears) {
  EXPECT_EQ(DaysInMonth(2000, 2), 29);
  EXPECT_EQ(DaysInMonth(1900, 2), 28);
  EXPECT_EQ(DaysInMonth(1996, 2), 29);
  EXPECT_EQ(DaysInMonth(1999, 12), 31);
  EXPECT_EQ(DaysFromCivil({1970, 1, 1}), 0);
  EXPECT_EQ(DaysFromCivil({2000, 13, 1}), DaysFromCivil({2001, 1, 1}));
}

TEST(DateTextTest, EveryDateReadsBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const Date date{static_cast<int32_t>(
        kFirstDay +
        static_cast<int64_t>(random() % static_cast<uint64_t>(kLastDay - kFirstDay + 1)))};
    const auto back = ParseDate(ToText(date));
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(*back, date) << ToText(date);
  }
  EXPECT_EQ(ToText(Date{static_cast<int32_t>(kFirstDay)}), "4714-11-24 BC");
  EXPECT_EQ(ToText(Date{static_cast<int32_t>(kLastDay)}), "5874897-12-31");
  EXPECT_EQ(ErrorOf(ParseDate("5874898-01-01")), "22008: date out of range: \"5874898-01-01\"");
}

TEST(DateTextTest, EveryTimestampAndIntervalReadsBack) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const Timestamp timestamp{static_cast<int64_t>(random() >> 8) - (int64_t{1} << 55)};
    const auto back = ParseTimestamp(ToText(timestamp));
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(*back, timestamp) << ToText(timestamp);
    const Interval interval{static_cast<int64_t>(random() >> 12) - (int64_t{1} << 51),
                            static_cast<int32_t>(random() % 2000) - 1000,
                            static_cast<int32_t>(random() % 2000) - 1000};
    const auto same = ParseInterval(ToText(interval));
    ASSERT_TRUE(same.ok()) << same.status();
    ASSERT_EQ(Value::Of(*same), Value::Of(interval)) << ToText(interval);
  }
}

TEST(DateTextTest, WhatIsNoDateIsAnError) {
  for (const char* text : {"", " ", "x", "2000", "2000-01", "2000-01-01x", "2000-01-01 1", "1-2",
                           "epochs", "2000-01-01 12:", "2000/01-01", "-epoch"}) {
    EXPECT_EQ(SqlStateOf(ParseTimestamp(text).status()), sqlstate::kInvalidDateTimeFormat) << text;
  }
  for (const char* text :
       {"0000-01-01", "2000-00-01", "2000-01-00", "2001-02-29", "2000-01-01 25:00",
        "2000-01-01 24:01", "2000-01-01 12:60", "2000-01-01 13:00 pm"}) {
    EXPECT_EQ(ErrorOf(ParseTimestamp(text)),
              "22008: date/time field value out of range: \"" + std::string(text) + "\"");
  }
  for (const char* text : {"", "day", "1 2", "1 dow", "ago", "1 day ago 2 days", "--1 day"}) {
    EXPECT_EQ(SqlStateOf(ParseInterval(text).status()), sqlstate::kInvalidDateTimeFormat) << text;
  }
}

TEST(IntervalTest, EqualIsNotIdentical) {
  const Interval month{0, 0, 1}, days{0, 30, 0};
  EXPECT_EQ(month, days);
  EXPECT_FALSE(Value::Of(month) == Value::Of(days));
  EXPECT_EQ(CompareValues(Value::Of(month), Value::Of(days)), 0);
  EXPECT_LT(days, (Interval{1, 30, 0}));
  EXPECT_LT((Interval{INT64_MIN, INT32_MIN, INT32_MIN}),
            (Interval{INT64_MAX, INT32_MAX, INT32_MAX}));
}

TEST(IntervalTest, PartsDoNotOverflow) {
  const Interval greatest{INT64_MAX, INT32_MAX, INT32_MAX};
  EXPECT_EQ(ErrorOf(Add(greatest, Interval{0, 0, 1})), "22008: interval out of range");
  EXPECT_EQ(ErrorOf(Negate(Interval{INT64_MIN, 0, 0})), "22008: interval out of range");
  EXPECT_EQ(ErrorOf(Multiply(greatest, 2)), "22008: interval out of range");
  EXPECT_EQ(ErrorOf(AddInterval(Timestamp{0}, greatest)), "22008: timestamp out of range");
  EXPECT_EQ(ErrorOf(AddDays(Date{0}, INT32_MAX)), "22008: date out of range");
}

}  // namespace
}  // namespace adjoin
