// The row functions of regular_expression.h.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "ops/regular_expression.h"
#include "ops/text_functions.h"

namespace adjoin {
namespace {

using Text = std::string_view;
using Use = RegularExpression::Use;
using Parts = std::vector<Text>;

// The compiled patterns of one place in an expression: nearly always one. Of a column's patterns it
// keeps as many as a session of PostgreSQL.
class PatternCache {
 public:
  // Valid until the next call.
  absl::StatusOr<const RegularExpression*> Get(Text pattern, RegexpOptions options, Use use) {
    if (last_ != nullptr && pattern == pattern_ && options == options_ && use == use_) return last_;
    std::string key = absl::StrCat(ToAbsl(pattern), "\n", static_cast<int>(use), Bits(options));
    auto found = compiled_.find(key);
    if (found == compiled_.end()) {
      ADJOIN_ASSIGN_OR_RETURN(auto compiled, RegularExpression::Compile(pattern, options, use));
      if (compiled_.size() >= kMost) compiled_.clear();
      found = compiled_.emplace(std::move(key), std::move(compiled)).first;
    }
    last_ = found->second.get();
    pattern_ = pattern;
    options_ = options;
    use_ = use;
    return last_;
  }
  // The options that `letters` say, looked up when they change.
  absl::StatusOr<RegexpOptions> Options(Text letters) {
    if (letters.empty()) return RegexpOptions();
    if (letters != letters_ || !letters_known_) {
      ADJOIN_ASSIGN_OR_RETURN(of_letters_, ParseRegexpOptions(letters));
      letters_ = letters;
      letters_known_ = true;
    }
    return of_letters_;
  }

 private:
  static constexpr size_t kMost = 32;
  static int Bits(RegexpOptions o) {
    return o.ignore_case | o.lines_end_dots << 1 | o.lines_end_anchors << 2 | o.expanded << 3 |
           o.literal << 4;
  }
  absl::flat_hash_map<std::string, std::unique_ptr<RegularExpression>> compiled_;
  const RegularExpression* last_ = nullptr;
  std::string pattern_, letters_;
  RegexpOptions options_, of_letters_;
  bool letters_known_ = false;
  Use use_ = Use::kWhether;
};

// Matches are views of `s`, which is never without an address: that is how no match looks.
template <auto kFunction, typename R, typename... A>
constexpr RowFunction OnPatterns(R (*)(PatternCache&, BatchArena&, Text, A...)) {
  return RowSignature<R, Text, A...>([](const RowCall& call) {
    auto& cache = Kept<PatternCache>(call);
    return RunRows<R, Text, A...>(call, [&](Text s, A... args) {
      return kFunction(cache, call.text, s.data() == nullptr ? Text("") : s, args...);
    });
  });
}
template <auto kFunction>
constexpr RowFunction kOnPatterns = OnPatterns<kFunction>(kFunction);

absl::Status BadParameter(Text name, int32_t value) {
  return SqlError(
      sqlstate::kInvalidParameterValue,
      ToStd(absl::StrCat("invalid value for parameter \"", ToAbsl(name), "\": ", value)));
}

// Options of a function that has no use for flag g.
absl::StatusOr<RegexpOptions> OptionsWithoutGlobal(PatternCache& cache, Text letters,
                                                   Text function) {
  ADJOIN_ASSIGN_OR_RETURN(const RegexpOptions options, cache.Options(letters));
  if (!options.global) return options;
  return SqlError(
      sqlstate::kInvalidParameterValue,
      ToStd(absl::StrCat(ToAbsl(function), "() does not support the \"global\" option")));
}

size_t OffsetIn(Text s, Text part) { return static_cast<size_t>(part.data() - s.data()); }

// Where the next search starts after a match: past it, and a character on where it is empty.
size_t After(Text s, Text match) {
  size_t at = OffsetIn(s, match) + match.size();
  if (!match.empty()) return at;
  ++at;
  while (at < s.size() && ContinuesCharacter(s[at])) ++at;
  return at;
}

// The byte where character `start`, from 1, is; past the end where there are fewer.
size_t StartOf(Text s, int32_t start) {
  const Text rest = text::SubstringFrom(s, start);
  return rest.empty() && start - 1 > text::Length(s) ? s.size() + 1 : s.size() - rest.size();
}

// Match number n, from 1, from byte `at` on. False: there are fewer.
absl::StatusOr<bool> FindNumber(const RegularExpression& expression, Text s, size_t at, int32_t n,
                                Parts& parts) {
  for (;; at = After(s, parts[0])) {
    if (at > s.size()) return false;
    ADJOIN_ASSIGN_OR_RETURN(const bool found, expression.Find(s, at, parts));
    if (!found) return false;
    if (--n == 0) return true;
  }
}

// ---- Operators and regexp_like.

template <bool kIgnoreCase, bool kNegated>
absl::StatusOr<bool> Matches(PatternCache& cache, BatchArena&, Text s, Text pattern) {
  ADJOIN_ASSIGN_OR_RETURN(const RegularExpression* const expression,
                          cache.Get(pattern, {.ignore_case = kIgnoreCase}, Use::kWhether));
  return expression->Matches(s) != kNegated;
}

absl::StatusOr<bool> Like(PatternCache& cache, BatchArena&, Text s, Text pattern, Text flags) {
  ADJOIN_ASSIGN_OR_RETURN(const RegexpOptions options,
                          OptionsWithoutGlobal(cache, flags, "regexp_like"));
  ADJOIN_ASSIGN_OR_RETURN(const RegularExpression* const expression,
                          cache.Get(pattern, options, Use::kWhether));
  return expression->Matches(s);
}

// ---- Counts and positions.

absl::StatusOr<int32_t> Count(PatternCache& cache, BatchArena&, Text s, Text pattern, int32_t start,
                              Text flags) {
  if (start <= 0) return BadParameter("start", start);
  ADJOIN_ASSIGN_OR_RETURN(const RegexpOptions options,
                          OptionsWithoutGlobal(cache, flags, "regexp_count"));
  ADJOIN_ASSIGN_OR_RETURN(const RegularExpression* const expression,
                          cache.Get(pattern, options, Use::kWhere));
  Parts parts(1);
  int32_t count = 0;
  for (size_t at = StartOf(s, start); at <= s.size(); at = After(s, parts[0]), ++count) {
    ADJOIN_ASSIGN_OR_RETURN(const bool found, expression->Find(s, at, parts));
    if (!found) break;
  }
  return count;
}

struct Selection {
  int32_t start, n;
  Text flags;
  int32_t group;
};

// Group `group` of match number n; null data where there is none.
absl::StatusOr<Text> Select(PatternCache& cache, Text s, Text pattern, const Selection& which,
                            Text function) {
  ADJOIN_ASSIGN_OR_RETURN(const RegexpOptions options,
                          OptionsWithoutGlobal(cache, which.flags, function));
  ADJOIN_ASSIGN_OR_RETURN(
      const RegularExpression* const expression,
      cache.Get(pattern, options, which.group > 0 ? Use::kGroups : Use::kWhere));
  if (which.group > expression->groups()) return Text();
  const auto group = static_cast<size_t>(which.group);
  Parts parts(group + 1);
  ADJOIN_ASSIGN_OR_RETURN(const bool found,
                          FindNumber(*expression, s, StartOf(s, which.start), which.n, parts));
  return found ? parts[group] : Text();
}

absl::StatusOr<std::optional<Text>> Substr(PatternCache& cache, BatchArena&, Text s, Text pattern,
                                           int32_t start, int32_t n, Text flags, int32_t group) {
  if (start <= 0) return BadParameter("start", start);
  if (n <= 0) return BadParameter("n", n);
  if (group < 0) return BadParameter("subexpr", group);
  ADJOIN_ASSIGN_OR_RETURN(const Text found,
                          Select(cache, s, pattern, {start, n, flags, group}, "regexp_substr"));
  return found.data() == nullptr ? std::nullopt : std::optional(found);
}

absl::StatusOr<int32_t> Instr(PatternCache& cache, BatchArena&, Text s, Text pattern, int32_t start,
                              int32_t n, int32_t end, Text flags, int32_t group) {
  if (start <= 0) return BadParameter("start", start);
  if (n <= 0) return BadParameter("n", n);
  if (end != 0 && end != 1) return BadParameter("endoption", end);
  if (group < 0) return BadParameter("subexpr", group);
  ADJOIN_ASSIGN_OR_RETURN(const Text found,
                          Select(cache, s, pattern, {start, n, flags, group}, "regexp_instr"));
  if (found.data() == nullptr) return 0;
  return text::Length(s.substr(0, OffsetIn(s, found) + (end == 1 ? found.size() : 0))) + 1;
}

// ---- Replacing.

// How many groups, from the first on, \1 to \9 in a replacement ask for.
size_t GroupsIn(Text replacement) {
  size_t most = 0;
  for (size_t i = 0; i + 1 < replacement.size(); ++i) {
    if (replacement[i] != '\\') continue;
    const char c = replacement[++i];
    if (c >= '1' && c <= '9') most = std::max(most, static_cast<size_t>(c - '0'));
  }
  return most;
}

void AppendReplacement(Text replacement, const Parts& parts, std::string& out) {
  for (size_t i = 0; i < replacement.size(); ++i) {
    const char next = i + 1 < replacement.size() ? replacement[i + 1] : '\0';
    if (replacement[i] != '\\') {
      out.push_back(replacement[i]);
    } else if (next >= '1' && next <= '9') {
      const auto group = static_cast<size_t>(next - '0');
      if (group < parts.size()) out.append(parts[group]);
      ++i;
    } else {
      if (next == '&') out.append(parts[0]);
      if (next != '&') out.push_back('\\');
      if (next == '&' || next == '\\') ++i;
    }
  }
}

// Match number n alone, or all of them: 0.
absl::StatusOr<Text> ReplaceNumber(PatternCache& cache, BatchArena& arena, Text s, Text pattern,
                                   Text replacement, int32_t start, int32_t n,
                                   RegexpOptions options) {
  const size_t wanted = GroupsIn(replacement);
  options.global = false;
  ADJOIN_ASSIGN_OR_RETURN(const RegularExpression* const expression,
                          cache.Get(pattern, options, wanted > 0 ? Use::kGroups : Use::kWhere));
  Parts parts(1 + std::min(wanted, static_cast<size_t>(expression->groups())));
  std::string out;
  size_t copied = 0;
  bool any = false;
  for (size_t at = StartOf(s, start); at <= s.size(); at = After(s, parts[0])) {
    ADJOIN_ASSIGN_OR_RETURN(const bool found,
                            FindNumber(*expression, s, at, std::max(n, 1), parts));
    if (!found) break;
    any = true;
    const size_t begin = OffsetIn(s, parts[0]);
    out.append(s.substr(copied, begin - copied));
    AppendReplacement(replacement, parts, out);
    copied = begin + parts[0].size();
    if (n > 0) break;
  }
  if (!any) return s;
  out.append(s.substr(copied));
  return arena.Copy(out);
}

absl::StatusOr<Text> ReplaceByFlags(PatternCache& cache, BatchArena& arena, Text s, Text pattern,
                                    Text replacement, Text flags) {
  // A number here was meant as the start: PostgreSQL says so.
  if (!flags.empty() && flags[0] >= '0' && flags[0] <= '9') {
    return SqlErrorWithDetail(
        sqlstate::kInvalidParameterValue,
        ToStd(absl::StrCat("invalid regular expression option: \"", ToAbsl(flags.substr(0, 1)),
                           "\"")),
        "",
        "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to "
        "integer explicitly.");
  }
  ADJOIN_ASSIGN_OR_RETURN(const RegexpOptions options, cache.Options(flags));
  return ReplaceNumber(cache, arena, s, pattern, replacement, 1, options.global ? 0 : 1, options);
}

absl::StatusOr<Text> Replace(PatternCache& cache, BatchArena& arena, Text s, Text pattern,
                             Text replacement, int32_t start, int32_t n, Text flags) {
  if (start <= 0) return BadParameter("start", start);
  if (n < 0) return BadParameter("n", n);
  ADJOIN_ASSIGN_OR_RETURN(const RegexpOptions options, cache.Options(flags));
  return ReplaceNumber(cache, arena, s, pattern, replacement, start, n, options);
}

// ---- substring.

// The first group where there is one, else the whole match.
absl::StatusOr<std::optional<Text>> Substring(PatternCache& cache, BatchArena&, Text s,
                                              Text pattern) {
  ADJOIN_ASSIGN_OR_RETURN(const RegularExpression* const expression,
                          cache.Get(pattern, {}, Use::kGroups));
  Parts parts(expression->groups() > 0 ? 2 : 1);
  ADJOIN_ASSIGN_OR_RETURN(const bool found, expression->Find(s, 0, parts));
  if (!found || parts.back().data() == nullptr) return std::nullopt;
  return parts.back();
}

}  // namespace

const RowFunction kRegexpMatches = kOnPatterns<Matches<false, false>>,
                  kRegexpMatchesIgnoringCase = kOnPatterns<Matches<true, false>>,
                  kRegexpDiffers = kOnPatterns<Matches<false, true>>,
                  kRegexpDiffersIgnoringCase = kOnPatterns<Matches<true, true>>;

using Cache = PatternCache;
using Arena = BatchArena;
using Int = int32_t;

const RowFunction kRegexpLike[2] = {
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p) { return Like(c, a, s, p, {}); }>,
    kOnPatterns<Like>};
const RowFunction kRegexpCount[3] = {
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p) { return Count(c, a, s, p, 1, {}); }>,
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Int start) {
      return Count(c, a, s, p, start, {});
    }>,
    kOnPatterns<Count>};
const RowFunction kRegexpSubstr[5] = {
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p) {
      return Substr(c, a, s, p, 1, 1, {}, 0);
    }>,
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Int start) {
      return Substr(c, a, s, p, start, 1, {}, 0);
    }>,
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Int start, Int n) {
      return Substr(c, a, s, p, start, n, {}, 0);
    }>,
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Int start, Int n, Text flags) {
      return Substr(c, a, s, p, start, n, flags, 0);
    }>,
    kOnPatterns<Substr>};
const RowFunction kRegexpInstr[6] = {
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p) {
      return Instr(c, a, s, p, 1, 1, 0, {}, 0);
    }>,
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Int start) {
      return Instr(c, a, s, p, start, 1, 0, {}, 0);
    }>,
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Int start, Int n) {
      return Instr(c, a, s, p, start, n, 0, {}, 0);
    }>,
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Int start, Int n, Int end) {
      return Instr(c, a, s, p, start, n, end, {}, 0);
    }>,
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Int start, Int n, Int end, Text flags) {
      return Instr(c, a, s, p, start, n, end, flags, 0);
    }>,
    kOnPatterns<Instr>};
const RowFunction kRegexpReplace[5] = {
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Text r) {
      return ReplaceByFlags(c, a, s, p, r, {});
    }>,
    kOnPatterns<ReplaceByFlags>,
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Text r, Int start) {
      return Replace(c, a, s, p, r, start, 1, {});
    }>,
    kOnPatterns<+[](Cache& c, Arena& a, Text s, Text p, Text r, Int start, Int n) {
      return Replace(c, a, s, p, r, start, n, {});
    }>,
    kOnPatterns<Replace>};
const RowFunction kRegexpSubstring = kOnPatterns<Substring>;

}  // namespace adjoin
