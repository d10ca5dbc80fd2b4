// to_char of numbers and to_number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/decimal.h"

namespace adjoin {

// What stands in a pattern beside text to be copied.
enum class NumberField : uint8_t {
  kText,
  kNine,
  kZero,
  kComma,
  kPoint,
  kBlank,     // B
  kCurrency,  // C: nothing
  kDecimal,   // D
  kScientific,
  kFill,  // FM
  kGroup,
  kSymbol,   // L
  kMinus,    // MI
  kPlus,     // PL
  kBracket,  // PR
  kRoman,
  kAnySign,  // SG
  kSpell,    // SP: nothing
  kSign,     // S
  kOrdinal,
  kMulti,  // V
};

struct NumberNode {
  NumberField field = NumberField::kText;
  bool lower = false;  // rn, th
  std::string text;    // kText: one character
};

// What a pattern says as a whole.
struct NumberShape {
  int before = 0, after = 0;         // digits on both sides of the point
  int multi = 0;                     // digits after V
  int zero_start = 0, zero_end = 0;  // places from the first 0 to the last
  int digits_before_sign = 0;        // where S is among the digits
  bool zero = false, point = false, fill = false, bracket = false, minus = false, plus = false;
  bool sign = false, sign_is_first = false;  // S
  bool roman = false, scientific = false, has_multi = false, blank = false;
};

// PostgreSQL's template patterns of numbers (9, 0, G, D, S, PR, FM, RN, EEEE, ...) as in the C
// locale, read once for any number of values.
class NumberFormat {
 public:
  NumberFormat() = default;
  // Errors: 42601 for patterns that do not go together.
  static absl::StatusOr<NumberFormat> Parse(std::string_view pattern);

  // Errors: 22003 where V, or RN, makes a number too large for its type.
  absl::StatusOr<std::string> Format(int32_t value) const;
  absl::StatusOr<std::string> Format(int64_t value) const;
  absl::StatusOr<std::string> Format(float value) const;
  absl::StatusOr<std::string> Format(double value) const;
  absl::StatusOr<std::string> Format(Decimal value) const;

  // to_number; no value for an empty pattern. Errors: 22P02 where no number was read, 22003 where
  // it has more digits than the pattern, 0A000 for EEEE and RN.
  absl::StatusOr<std::optional<Decimal>> Read(std::string_view text) const;

 private:
  absl::Status Add(NumberNode node);
  absl::Status AddSign(NumberField field);
  std::string Roman(double value) const;
  std::string Scientific(double value) const;
  // `least`, `most` and `type`: what V must leave it in.
  absl::StatusOr<std::string> FormatInteger(int64_t value, int64_t least, int64_t most,
                                            std::string_view type) const;
  absl::StatusOr<std::string> FormatFloat(double value, int digits) const;
  // `digits`: a number with or without a minus and a fraction.
  absl::StatusOr<std::string> FormatDigits(NumberShape shape, std::string_view digits) const;

  std::vector<NumberNode> nodes_;
  NumberShape shape_;
};

// The parts of the above, of one value each. Internal to engine/number_*.cc.
// `digits`: without a sign, after `spaces` places that it leaves open; `sign`: '+', '-', or 0.
std::string WriteNumber(const std::vector<NumberNode>& nodes, NumberShape shape, std::string digits,
                        int spaces, char sign);
struct NumberText {
  std::string text;  // with a sign or a space before it
  int after = 0;     // digits read after the point
};
NumberText ReadNumber(const std::vector<NumberNode>& nodes, const NumberShape& shape,
                      std::string_view text);
// st, nd, rd or th after a number.
std::string_view OrdinalEnding(std::string_view digits);

}  // namespace adjoin
