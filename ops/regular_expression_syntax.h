// PostgreSQL's regular expressions (ARE) as RE2 writes them.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace adjoin {

struct RegexpOptions {
  bool ignore_case = false;        // of ASCII letters
  bool lines_end_dots = false;     // . and [^x] do not take a newline
  bool lines_end_anchors = false;  // ^ and $ match beside a newline too
  bool expanded = false;           // white space and # comments are left out
  bool literal = false;            // the pattern is the text that it is
  bool global = false;             // flag g
  // Alternatives are tried from the last to the first: which of them RE2 takes where several fit
  // then differs. Group number n has the name gn.
  bool reversed = false;
  friend bool operator==(const RegexpOptions&, const RegexpOptions&) = default;
};

// Options by their letters. Errors: 22023 `invalid regular expression option: "k"`, 0A000 for b and
// e (basic and extended expressions).
absl::StatusOr<RegexpOptions> ParseRegexpOptions(std::string_view letters);

struct RegexpForRe2 {
  std::string text;  // says all options itself: RE2 needs none, case folds ASCII alone
  int groups = 0;
  bool greedy = false,
       lazy = false;  // has quantifiers that take as much, or as little, as they can
  bool alternatives = false;
  // What a group holds depends on earlier rounds of a repetition around it, which RE2 keeps and
  // PostgreSQL forgets.
  bool open_groups = false;
};

// Errors: 2201B `invalid regular expression: parentheses () not balanced`, in PostgreSQL's words;
// 0A000 for what RE2 cannot do: back references, look-around, \m and \M where the character beside
// them need not be one of a word.
absl::StatusOr<RegexpForRe2> TranslateRegexp(std::string_view pattern, RegexpOptions options);

}  // namespace adjoin
