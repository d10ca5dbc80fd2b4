// Regular expressions as PostgreSQL has them (its AREs, in the C collation), matched by RE2 in time
// linear in the text.
//
// A match is the leftmost one and of these the longest, or the shortest where all quantifiers are
// non-greedy; groups divide it from the first on in the same way. What RE2 would divide otherwise
// is 0A000: greedy and non-greedy quantifiers in one pattern, non-greedy ones with alternatives,
// and groups, where they are asked for, that alternatives divide in several ways. Whether there is
// a match at all depends on none of this.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/regular_expression_syntax.h"
#include "ops/row_function.h"

namespace re2 {
class RE2;
}

namespace adjoin {

class RegularExpression {
 public:
  enum class Use : uint8_t { kWhether, kWhere, kGroups };  // what is asked of it: more and more
  // Errors: those of TranslateRegexp; 0A000 for what the use does not allow, or RE2 finds too
  // large.
  static absl::StatusOr<std::unique_ptr<RegularExpression>> Compile(std::string_view pattern,
                                                                    RegexpOptions options, Use use);
  ~RegularExpression();

  int groups() const { return groups_; }
  bool Matches(std::string_view text) const;
  bool MatchesWhole(std::string_view text) const;
  // The first match from byte `start` on: itself and the first groups, with null data where a group
  // has no part in it. False: none. Error: 0A000 where alternatives divide it in several ways.
  absl::StatusOr<bool> Find(std::string_view text, size_t start,
                            std::vector<std::string_view>& parts) const;

 private:
  RegularExpression();
  std::unique_ptr<re2::RE2> expression_;
  std::unique_ptr<re2::RE2> reversed_;  // alternatives from the last on; null: none, or no matter
  std::vector<int> reversed_groups_;    // the numbers of the groups there
  int groups_ = 0;
};

// ---- As row functions, which compile a pattern once for all rows that it comes in.

// (text, pattern): ~, ~*, !~, !~*.
extern const RowFunction kRegexpMatches, kRegexpMatchesIgnoringCase, kRegexpDiffers,
    kRegexpDiffersIgnoringCase;
// (s, pattern) and more: regexp_like(.., flags), regexp_count(.., start, flags),
// regexp_substr(.., start, n, flags, group), regexp_instr(.., start, n, end, flags, group), each
// as far as its arguments go.
extern const RowFunction kRegexpLike[2], kRegexpCount[3], kRegexpSubstr[5], kRegexpInstr[6];
// regexp_replace(s, pattern, replacement), (.., flags), and (.., start, n, flags) as far as they
// go.
extern const RowFunction kRegexpReplace[5];
extern const RowFunction kRegexpSubstring;  // substring(s FROM pattern)

}  // namespace adjoin
