// What the texts of dates and of intervals share. Internal to engine/*_text.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/text.h"

namespace adjoin {

// Reads numbers, words and signs from left to right.
class DateCursor {
 public:
  explicit DateCursor(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  bool at_digit() const { return IsDigit(peek()); }
  bool at_letter() const { return (peek() | 0x20) >= 'a' && (peek() | 0x20) <= 'z'; }
  bool digit_follows() const { return rest_.size() > 1 && IsDigit(rest_[1]); }
  bool Take(char c) {
    if (rest_.empty() || peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void SkipSpaces();  // and commas and semicolons, as PostgreSQL does between fields
  std::string_view Digits();
  std::string Word();  // letters, in lower case

 private:
  std::string_view rest_;
};

enum class DateFault : uint8_t { kNone, kSyntax, kRange };
// 22007 or 22008 about a text of `type`: "date", "timestamp" or "interval". REQUIRES: a fault.
absl::Status DateFaultStatus(DateFault fault, std::string_view type, std::string_view text);

// The number, or one past every limit.
int64_t NumberIn(std::string_view digits);
// The digits after a point as microseconds, rounded half up.
int64_t MicrosecondsIn(std::string_view digits);
// "12:30:05.25"; no point where there is no fraction.
std::string TimeText(uint64_t microseconds);

}  // namespace adjoin
