#include "ops/regular_expression_syntax.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/status.h"
#include "engine/text.h"
#include "ops/character_set.h"

namespace adjoin {
namespace {

constexpr char32_t kNone = 0xFFFFFFFF;  // the end of the pattern

absl::Status Invalid(std::string_view why) {
  return SqlError(sqlstate::kInvalidRegularExpression,
                  ToStd(absl::StrCat("invalid regular expression: ", ToAbsl(why))));
}
absl::Status BadEscape() { return Invalid("invalid escape \\ sequence"); }
absl::Status BadQuantifier() { return Invalid("quantifier operand invalid"); }
absl::Status NotSupported(std::string_view what) {
  return SqlError(sqlstate::kFeatureNotSupported,
                  ToStd(absl::StrCat(ToAbsl(what), " in a regular expression is not supported")));
}

std::u32string CodePointsOf(std::string_view s) {
  std::u32string out;
  for (size_t i = 0; i < s.size();) {
    const auto lead = static_cast<uint8_t>(s[i]);
    const size_t size = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t c = size == 1 ? lead : lead & (0x7F >> size);
    for (size_t k = 1; k < size && i + k < s.size(); ++k)
      c = c << 6 | (static_cast<uint8_t>(s[i + k]) & 0x3F);
    out.push_back(c);
    i += size;
  }
  return out;
}

// Errors: 0A000 for b and e, 22023 without words for what is no option.
absl::Status SetOption(char letter, RegexpOptions& options) {
  switch (letter) {
    case 'g':
      options.global = true;
      return absl::OkStatus();
    case 'i':
    case 'c':
      options.ignore_case = letter == 'i';
      return absl::OkStatus();
    case 'n':
    case 'm':
    case 'p':
    case 'w':
    case 's':
      options.lines_end_dots = letter != 'w' && letter != 's';
      options.lines_end_anchors = letter != 'p' && letter != 's';
      return absl::OkStatus();
    case 'x':
    case 't':
      options.expanded = letter == 'x';
      return absl::OkStatus();
    case 'q':
      options.literal = true;
      return absl::OkStatus();
    case 'b':
    case 'e':
      return NotSupported("option b or e");
    default:
      return SqlError(sqlstate::kInvalidParameterValue, "");
  }
}

// What has been read, and what its matches are like. Constraints match nothing but a place.
struct Piece {
  std::string text;
  bool constraint = false;
  bool nullable = true;                       // may match the empty text
  bool starts_word = true, ends_word = true;  // where it does not, by a character of words
  bool groups = false;                        // holds some
  bool absent_group = false;                  // which not every match goes through
};

class Translator {
 public:
  Translator(std::string_view pattern, RegexpOptions options)
      : pattern_(CodePointsOf(pattern)), options_(options) {}

  absl::StatusOr<RegexpForRe2> Run() {
    ADJOIN_RETURN_IF_ERROR(ReadPrefix());
    if (options_.literal) {
      for (; at_ < pattern_.size(); ++at_) out_.text += Literal(pattern_[at_]).text;
      return std::move(out_);
    }
    ADJOIN_ASSIGN_OR_RETURN(Piece all, Alternatives(0));
    if (peek() == ')') return Invalid("parentheses () not balanced");
    out_.text = std::move(all.text);
    return std::move(out_);
  }

 private:
  char32_t peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : kNone;
  }
  bool Take(std::u32string_view text) {
    if (std::u32string_view(pattern_).substr(std::min(at_, pattern_.size())).starts_with(text)) {
      at_ += text.size();
      return true;
    }
    return false;
  }

  // ***= and ***:, and options such as (?i).
  absl::Status ReadPrefix() {
    if (options_.literal) return absl::OkStatus();
    if (Take(U"***=")) {
      options_.literal = true;
      return absl::OkStatus();
    }
    if (!Take(U"***:") && Take(U"***")) return BadQuantifier();
    if (peek() != '(' || peek(1) != '?' || !IsLetter(peek(2))) return absl::OkStatus();
    std::string letters;
    for (at_ += 2; IsLetter(peek()); ++at_) letters.push_back(static_cast<char>(peek()));
    if (peek() != ')') return Invalid("invalid embedded option");
    ++at_;
    for (char letter : letters) {
      const absl::Status status = SetOption(letter, options_);
      if (letter == 'g' || (!status.ok() && SqlStateOf(status) != sqlstate::kFeatureNotSupported))
        return Invalid("invalid embedded option");
      ADJOIN_RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

  void SkipComments() {
    while (true) {
      if (peek() == '(' && peek(1) == '?' && peek(2) == '#') {
        while (peek() != kNone && peek() != ')') ++at_;
        if (peek() == ')') ++at_;
      } else if (options_.expanded && IsSpace(peek())) {
        ++at_;
      } else if (options_.expanded && peek() == '#') {
        while (peek() != kNone && peek() != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  absl::StatusOr<Piece> Alternatives(int depth) {
    constexpr int kMostNested = 200;
    if (depth > kMostNested) return Invalid("regular expression is too complex");
    std::vector<Piece> branches;
    while (true) {
      ADJOIN_ASSIGN_OR_RETURN(Piece branch, Sequence(depth));
      branches.push_back(std::move(branch));
      if (peek() != '|') break;
      ++at_;
    }
    if (branches.size() == 1) return std::move(branches[0]);
    out_.alternatives = true;
    if (options_.reversed) std::ranges::reverse(branches);
    Piece out = branches[0];
    for (size_t i = 1; i < branches.size(); ++i) {
      absl::StrAppend(&out.text, "|", branches[i].text);
      out.nullable |= branches[i].nullable;
      out.starts_word &= branches[i].starts_word;
      out.ends_word &= branches[i].ends_word;
      out.groups |= branches[i].groups;
    }
    out.absent_group = out.groups;
    if (depth == 0) out.text = absl::StrCat("(?:", out.text, ")");
    return out;
  }

  absl::StatusOr<Piece> Sequence(int depth) {
    Piece out;
    bool needs_word = false;  // after \m
    while (true) {
      SkipComments();
      if (peek() == kNone || peek() == '|' || peek() == ')') break;
      if (TakeWordEdge('m', U"[[:<:]]")) {
        out.text += "\\b";
        needs_word = true;
        ADJOIN_RETURN_IF_ERROR(NoQuantifier());
        continue;
      }
      if (TakeWordEdge('M', U"[[:>:]]")) {
        if (out.nullable || !out.ends_word) return NotSupported("\\M after no character of a word");
        out.text += "\\b";
        ADJOIN_RETURN_IF_ERROR(NoQuantifier());
        continue;
      }
      ADJOIN_ASSIGN_OR_RETURN(const Piece next, Quantified(depth));
      if (needs_word && !next.starts_word) break;
      needs_word &= next.nullable;
      Append(next, out);
    }
    if (needs_word) return NotSupported("\\m before no character of a word");
    return out;
  }

  bool TakeWordEdge(char32_t letter, std::u32string_view bracket) {
    if (peek() != '\\' || peek(1) != letter) return Take(bracket);
    at_ += 2;
    return true;
  }

  static void Append(const Piece& next, Piece& out) {
    out.text += next.text;
    out.groups |= next.groups;
    out.absent_group |= next.absent_group;
    if (next.constraint) return;
    if (out.nullable) out.starts_word &= next.starts_word;
    out.ends_word = next.ends_word && (!next.nullable || out.ends_word);
    out.nullable &= next.nullable;
  }

  bool AtQuantifier() const {
    return peek() == '*' || peek() == '+' || peek() == '?' || (peek() == '{' && IsDigit(peek(1)));
  }
  absl::Status NoQuantifier() {
    SkipComments();
    return AtQuantifier() ? BadQuantifier() : absl::OkStatus();
  }

  absl::StatusOr<Piece> Quantified(int depth) {
    if (AtQuantifier()) return BadQuantifier();
    ADJOIN_ASSIGN_OR_RETURN(Piece atom, Atom(depth));
    SkipComments();
    if (!AtQuantifier()) return atom;
    if (atom.constraint) return BadQuantifier();
    ADJOIN_RETURN_IF_ERROR(Quantify(atom));
    ADJOIN_RETURN_IF_ERROR(NoQuantifier());
    return atom;
  }

  absl::Status Quantify(Piece& atom) {
    constexpr int kMost = 255;
    int low = 0, high = -1;  // -1: no end
    bool prefers = true;     // to take more, or less
    const char32_t sign = peek();
    ++at_;
    if (sign == '+') low = 1;
    if (sign == '?') high = 1;
    std::string text(1, static_cast<char>(sign));
    if (sign == '{') {
      low = high = Number();
      if (peek() == ',') {
        ++at_;
        high = IsDigit(peek()) ? Number() : -1;
      } else {
        prefers = false;
      }
      if (peek() == kNone) return Invalid("braces {} not balanced");
      if (peek() != '}' || low > kMost || high > kMost || (high >= 0 && high < low))
        return Invalid("invalid repetition count(s)");
      ++at_;
      text = absl::StrCat("{", low, high == low ? "" : ",",
                          high >= 0 && high != low ? absl::StrCat(high) : "", "}");
    }
    const bool lazy = peek() == '?';
    if (lazy) ++at_;
    if (prefers) (lazy ? out_.lazy : out_.greedy) = true;
    const bool repeats = high < 0 || high > 1;
    out_.open_groups |= repeats && atom.groups && (atom.absent_group || atom.nullable);
    absl::StrAppend(&atom.text, text, lazy ? "?" : "");
    atom.nullable |= low == 0;
    atom.absent_group |= low == 0 && atom.groups;
    return absl::OkStatus();
  }

  int Number() {
    int n = 0;
    for (; IsDigit(peek()); ++at_) n = std::min(n * 10 + static_cast<int>(peek() - '0'), 10000);
    return n;
  }

  // As one character in RE2, whatever is around it.
  Piece Literal(char32_t c) const {
    if (options_.ignore_case && IsLetter(c)) {
      CharacterSet both = {{c, c}};
      FoldCase(both);
      return {SetText(both), false, false, true, true};
    }
    return {CharacterText(c), false, false, IsWordCharacter(c), IsWordCharacter(c)};
  }
  Piece Set(CharacterSet ranges, bool complement = false) const {
    if (options_.ignore_case) FoldCase(ranges);
    if (complement) ranges = Complement(std::move(ranges));
    const bool words = AllOfWords(ranges);
    // Without any character there is no match: a set that is no text's.
    return {ranges.empty() ? "[^\\x{0}-\\x{10ffff}]" : SetText(ranges), false, false, words, words};
  }
  static Piece Constraint(std::string text) { return {std::move(text), true}; }

  absl::StatusOr<Piece> Atom(int depth) {
    const char32_t c = peek();
    ++at_;
    switch (c) {
      case '(':
        return Group(depth);
      case '[':
        return Bracket();
      case '\\':
        return Escape();
      case '.':
        return options_.lines_end_dots ? Set({{'\n', '\n'}}, true)
                                       : Piece{"(?s:.)", false, false, false, false};
      case '^':
        return Constraint(options_.lines_end_anchors ? "(?m:^)" : "\\A");
      case '$':
        return Constraint(options_.lines_end_anchors ? "(?m:$)" : "\\z");
      default:
        return Literal(c);
    }
  }

  absl::StatusOr<Piece> Group(int depth) {
    bool captures = true;
    if (peek() == '?') {
      if (Take(U"?=") || Take(U"?!")) return NotSupported("looking ahead");
      if (Take(U"?<=") || Take(U"?<!")) return NotSupported("looking behind");
      if (!Take(U"?:")) return BadQuantifier();
      captures = false;
    }
    if (captures) ++out_.groups;
    // Reversed alternatives hold the groups in another order.
    const std::string name =
        captures && options_.reversed ? absl::StrCat("?P<g", out_.groups, ">") : "";
    ADJOIN_ASSIGN_OR_RETURN(Piece inside, Alternatives(depth + 1));
    if (peek() != ')') return Invalid("parentheses () not balanced");
    ++at_;
    inside.text = absl::StrCat(captures ? "(" : "(?:", name, inside.text, ")");
    inside.groups |= captures;
    return inside;
  }

  absl::StatusOr<Piece> Escape() {
    const char32_t c = peek();
    if (c == kNone) return BadEscape();
    if (const CharacterSet* set = ShorthandClass(c)) {
      ++at_;
      return Set(*set);
    }
    if (const CharacterSet* set = ShorthandClass(c + 32); set != nullptr && c < 'a') {
      ++at_;
      return Set(*set, true);
    }
    static constexpr std::pair<char32_t, const char*> kPlaces[] = {
        {'A', "\\A"}, {'Z', "\\z"}, {'y', "\\b"}, {'Y', "\\B"}};
    for (const auto& [letter, place] : kPlaces) {
      if (c != letter) continue;
      ++at_;
      return Constraint(place);
    }
    if (IsDigit(c) && c != '0') {
      const size_t start = at_;
      const int number = Number();
      if (at_ - start == 1 || number <= out_.groups) {
        if (number > out_.groups) return Invalid("invalid backreference number");
        return NotSupported("a back reference");
      }
      at_ = start;
    }
    ADJOIN_ASSIGN_OR_RETURN(const char32_t character, EscapedCharacter());
    return Literal(character);
  }

  // After a backslash.
  absl::StatusOr<char32_t> EscapedCharacter() {
    const char32_t c = peek();
    if (c == kNone) return BadEscape();
    ++at_;
    static constexpr std::pair<char32_t, char32_t> kNamed[] = {
        {'a', 7},    {'b', 8},    {'B', '\\'}, {'e', 27},  {'f', '\f'},
        {'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'v', '\v'}};
    for (const auto& [letter, character] : kNamed) {
      if (c == letter) return character;
    }
    if (c == 'c' && peek() != kNone) return pattern_[at_++] & 0x1F;
    if (c == 'u') return Digits(16, 4, 4);
    if (c == 'U') return Digits(16, 8, 8);
    if (c == 'x') return Digits(16, 1, 255);
    if (IsDigit(c)) {
      --at_;
      return Digits(8, 1, 3);
    }
    if (IsLetter(c)) return BadEscape();
    return c;
  }

  absl::StatusOr<char32_t> Digits(int base, int fewest, int most) {
    char32_t value = 0;
    int count = 0;
    for (; count < most; ++count, ++at_) {
      const char32_t c = peek();
      const int digit = IsDigit(c)    ? static_cast<int>(c - '0')
                        : IsLetter(c) ? static_cast<int>((c | 32) - 'a') + 10
                                      : base;
      if (digit >= base) break;
      value = std::min<char32_t>(value, kLastCharacter) * static_cast<char32_t>(base) +
              static_cast<char32_t>(digit);
    }
    if (count < fewest || value > kLastCharacter) return BadEscape();
    return value;
  }

  absl::StatusOr<Piece> Bracket() {
    const bool complement = peek() == '^';
    if (complement) ++at_;
    CharacterSet set;
    for (bool first = true; first || peek() != ']'; first = false) {
      if (peek() == kNone) return Invalid("brackets [] not balanced");
      ADJOIN_RETURN_IF_ERROR(BracketItem(set));
    }
    ++at_;
    if (complement && options_.lines_end_dots) set.push_back({'\n', '\n'});
    return Set(std::move(set), complement);
  }

  // A class, a character, or a range of them.
  absl::Status BracketItem(CharacterSet& set) {
    if (Take(U"[:")) {
      ADJOIN_ASSIGN_OR_RETURN(const std::u32string name, NameUntil(U":]"));
      const CharacterSet* named = CharacterClass(name);
      if (named == nullptr) return Invalid("invalid character class");
      set.insert(set.end(), named->begin(), named->end());
      return absl::OkStatus();
    }
    if (peek() == '\\' && peek(1) < 128) {
      const char32_t letter = peek(1);
      const CharacterSet* named = ShorthandClass(letter);
      if (const CharacterSet* other = ShorthandClass(letter + 32);
          other != nullptr && letter < 'a') {
        at_ += 2;
        for (const CharacterRange& r : Complement(*other)) set.push_back(r);
        return absl::OkStatus();
      }
      if (named != nullptr) {
        at_ += 2;
        set.insert(set.end(), named->begin(), named->end());
        return absl::OkStatus();
      }
    }
    ADJOIN_ASSIGN_OR_RETURN(const char32_t low, BracketCharacter());
    if (peek() != '-' || peek(1) == ']') {
      set.push_back({low, low});
      return absl::OkStatus();
    }
    ++at_;
    if (peek() == kNone) return Invalid("brackets [] not balanced");
    if (peek() == '\\' && peek(1) < 128 &&
        (ShorthandClass(peek(1)) != nullptr || ShorthandClass(peek(1) | 32) != nullptr))
      return Invalid("invalid character range");
    ADJOIN_ASSIGN_OR_RETURN(const char32_t high, BracketCharacter());
    if (high < low) return Invalid("invalid character range");
    set.push_back({low, high});
    return absl::OkStatus();
  }

  absl::StatusOr<char32_t> BracketCharacter() {
    for (const auto& [open, close] : {std::pair{U"[.", U".]"}, std::pair{U"[=", U"=]"}}) {
      if (!Take(open)) continue;
      ADJOIN_ASSIGN_OR_RETURN(const std::u32string name, NameUntil(close));
      if (name.size() == 1) return name[0];
      return NotSupported("the name of a collating element");
    }
    const char32_t c = peek();
    ++at_;
    return c == '\\' ? EscapedCharacter() : absl::StatusOr<char32_t>(c);
  }

  absl::StatusOr<std::u32string> NameUntil(std::u32string_view close) {
    std::u32string name;
    for (; peek() != kNone; ++at_) {
      if (Take(close)) return name;
      name.push_back(peek());
    }
    return Invalid("brackets [] not balanced");
  }

  std::u32string pattern_;
  RegexpOptions options_;
  size_t at_ = 0;
  RegexpForRe2 out_;
};

}  // namespace

absl::StatusOr<RegexpOptions> ParseRegexpOptions(std::string_view letters) {
  RegexpOptions options;
  for (size_t i = 0; i < letters.size(); ++i) {
    const absl::Status status = SetOption(letters[i], options);
    if (status.ok()) continue;
    if (SqlStateOf(status) == sqlstate::kFeatureNotSupported) return status;
    size_t end = i + 1;
    while (end < letters.size() && ContinuesCharacter(letters[end])) ++end;
    return SqlError(sqlstate::kInvalidParameterValue,
                    ToStd(absl::StrCat("invalid regular expression option: \"",
                                       ToAbsl(letters.substr(i, end - i)), "\"")));
  }
  return options;
}

absl::StatusOr<RegexpForRe2> TranslateRegexp(std::string_view pattern, RegexpOptions options) {
  return Translator(pattern, options).Run();
}

}  // namespace adjoin
