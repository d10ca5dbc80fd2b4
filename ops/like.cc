#include "ops/like.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

size_t CharacterEnd(std::string_view s, size_t at) {
  ++at;
  while (at < s.size() && ContinuesCharacter(s[at])) ++at;
  return at;
}

absl::Status EndsWithEscape() {
  return SqlError(sqlstate::kInvalidEscapeSequence,
                  "LIKE pattern must not end with escape character");
}

// Takes the pattern from left to right. What does not fit goes back to the last % and gives it a
// character more: an earlier one could not do better.
template <bool kIgnoreCase>
absl::StatusOr<bool> Match(std::string_view text, std::string_view pattern) {
  constexpr size_t kNone = std::string_view::npos;
  const auto same = [](char a, char b) {
    if constexpr (!kIgnoreCase) return a == b;
    return absl::ascii_tolower(static_cast<unsigned char>(a)) ==
           absl::ascii_tolower(static_cast<unsigned char>(b));
  };
  size_t t = 0, p = 0, star = kNone, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      star = ++p;
      star_text = t;
      if (p == pattern.size()) return true;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '_') {
      t = CharacterEnd(text, t);
      ++p;
      continue;
    }
    if (p < pattern.size()) {
      const size_t literal = p + (pattern[p] == '\\' ? 1 : 0);
      if (literal == pattern.size()) return EndsWithEscape();
      if (same(text[t], pattern[literal])) {
        ++t;
        p = literal + 1;
        continue;
      }
    }
    if (star == kNone) return false;
    star_text = CharacterEnd(text, star_text);
    const char next = pattern[star];
    if (!kIgnoreCase && next != '_' && next != '\\' && next != '%' && star_text < text.size()) {
      const void* found = std::memchr(text.data() + star_text, next, text.size() - star_text);
      if (found == nullptr) return false;
      star_text = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    }
    t = star_text;
    p = star;
  }
  while (p < pattern.size() && pattern[p] == '%') ++p;
  return p == pattern.size();
}

// The letters of a pattern that is %letters%; else none.
std::string_view Contained(std::string_view pattern) {
  if (pattern.size() < 3 || pattern.front() != '%' || pattern.back() != '%') return {};
  const std::string_view letters = pattern.substr(1, pattern.size() - 2);
  return letters.find_first_of("%_\\") == std::string_view::npos ? letters : std::string_view();
}

// Strings of one dictionary come again from the same address: a batch keeps what it found about the
// last ones. Nothing else is at that address while the batch lasts.
class Memo {
 public:
  Memo() : entries_(kSize) {}
  template <typename F>
  absl::StatusOr<bool> Find(std::string_view text, F&& match) {
    Entry& entry =
        entries_[(reinterpret_cast<uintptr_t>(text.data()) * 0x9E3779B97F4A7C15u) >> (64 - kBits)];
    if (entry.text.data() == text.data() && entry.text.size() == text.size() && !text.empty())
      return entry.matches;
    absl::StatusOr<bool> matches = match(text);
    if (matches.ok()) entry = {text, *matches};
    return matches;
  }

 private:
  static constexpr int kBits = 8;
  static constexpr size_t kSize = size_t{1} << kBits;
  struct Entry {
    std::string_view text;
    bool matches = false;
  };
  std::vector<Entry> entries_;
};

template <bool kIgnoreCase>
absl::Status RunLike(const RowCall& call) {
  Memo memo;
  std::string_view known, contained;  // the pattern that the memo is about
  const auto f = [&](std::string_view text, std::string_view pattern) -> absl::StatusOr<bool> {
    const auto match = [&](std::string_view s) { return Match<kIgnoreCase>(s, pattern); };
    if (known.data() == nullptr) known = pattern, contained = Contained(pattern);
    const bool same = pattern.data() == known.data() && pattern.size() == known.size();
    if (!kIgnoreCase && same && !contained.empty()) {
      return text.size() >= contained.size() &&  // and so not null
             memmem(text.data(), text.size(), contained.data(), contained.size()) != nullptr;
    }
    return same ? memo.Find(text, match) : match(text);
  };
  return RunRows<absl::StatusOr<bool>, std::string_view, std::string_view>(call, f);
}

}  // namespace

const RowFunction kLike =
    RowSignature<absl::StatusOr<bool>, std::string_view, std::string_view>(RunLike<false>);
const RowFunction kIlike =
    RowSignature<absl::StatusOr<bool>, std::string_view, std::string_view>(RunLike<true>);

absl::StatusOr<bool> Like(std::string_view text, std::string_view pattern, bool ignore_case) {
  return ignore_case ? Match<true>(text, pattern) : Match<false>(text, pattern);
}

absl::StatusOr<std::string_view> WithBackslash(BatchArena& arena, std::string_view pattern,
                                               std::string_view escape) {
  if (escape == "\\") return pattern;
  if (!escape.empty() && CharacterEnd(escape, 0) != escape.size()) {
    return SqlErrorWithDetail(sqlstate::kInvalidEscapeSequence, "invalid escape string", "",
                              "Escape string must be empty or one character.");
  }
  char* out = arena.Make<char>(static_cast<int64_t>(2 * pattern.size()));
  char* next = out;
  while (!pattern.empty()) {
    const std::string_view c = pattern.substr(0, CharacterEnd(pattern, 0));
    pattern.remove_prefix(c.size());
    if (!escape.empty() && c == escape) {
      if (pattern.empty()) return EndsWithEscape();
      *next++ = '\\';
      const std::string_view taken = pattern.substr(0, CharacterEnd(pattern, 0));
      next = std::copy(taken.begin(), taken.end(), next);
      pattern.remove_prefix(taken.size());
      continue;
    }
    if (c == "\\") *next++ = '\\';
    next = std::copy(c.begin(), c.end(), next);
  }
  return std::string_view(out, static_cast<size_t>(next - out));
}

}  // namespace adjoin
