#include "engine/date_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/date_time.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

template <typename F>
std::string_view TakeWhile(std::string_view& rest, F&& f) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), f);
  const std::string_view taken = rest.substr(0, static_cast<size_t>(end - rest.begin()));
  rest.remove_prefix(taken.size());
  return taken;
}

// ":05.25" after hours and minutes; no point where there is no fraction.
std::string SecondsText(uint64_t microseconds) {
  std::string out = absl::StrFormat("%02d", microseconds / kMicrosecondsPerSecond);
  const uint64_t fraction = microseconds % kMicrosecondsPerSecond;
  if (fraction == 0) return out;
  absl::StrAppendFormat(&out, ".%06d", fraction);
  out.erase(out.find_last_not_of('0') + 1);
  return out;
}

}  // namespace

void DateCursor::SkipSpaces() {
  TakeWhile(rest_, [](unsigned char c) { return absl::ascii_isspace(c) || c == ',' || c == ';'; });
}

std::string_view DateCursor::Digits() { return TakeWhile(rest_, IsDigit); }

std::string DateCursor::Word() {
  return absl::AsciiStrToLower(ToAbsl(TakeWhile(rest_, absl::ascii_isalpha)));
}

absl::Status DateFaultStatus(DateFault fault, std::string_view type, std::string_view text) {
  if (fault == DateFault::kSyntax) {
    return SqlError(
        sqlstate::kInvalidDateTimeFormat,
        absl::StrCat("invalid input syntax for type ", ToAbsl(type), ": \"", ToAbsl(text), "\""));
  }
  const std::string_view what = type == "interval" ? "interval" : "date/time";
  return SqlError(sqlstate::kDateTimeOutOfRange,
                  absl::StrCat(ToAbsl(what), " field value out of range: \"", ToAbsl(text), "\""));
}

int64_t NumberIn(std::string_view digits) {
  int64_t value = 0;
  for (char c : digits) value = std::min<int64_t>(value * 10 + (c - '0'), 10'000'000'000);
  return value;
}

int64_t MicrosecondsIn(std::string_view fraction) {
  int64_t value = 0;
  for (size_t i = 0; i < 6; ++i) value = value * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  return value + (fraction.size() > 6 && fraction[6] >= '5' ? 1 : 0);
}

std::string TimeText(uint64_t microseconds) {
  const uint64_t minutes = microseconds / (60 * kMicrosecondsPerSecond);
  return absl::StrFormat("%02d:%02d:", minutes / 60, minutes % 60) +
         SecondsText(microseconds % (60 * kMicrosecondsPerSecond));
}

}  // namespace adjoin
