#include <algorithm>

#include "sql/parse.h"

namespace adjoin {
namespace {

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (c & 0x80) != 0;
}

// Each function takes the offset of an opening mark and gives the offset behind the closing one, or
// the text's end.

size_t SkipQuoted(std::string_view text, size_t i, bool backslashes) {
  const char quote = text[i];
  for (++i; i < text.size(); ++i) {
    if (backslashes && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (i + 1 >= text.size() || text[i + 1] != quote) return i + 1;
      ++i;  // a doubled quote
    }
  }
  return text.size();
}

size_t SkipLineComment(std::string_view text, size_t i) {
  return std::min(text.size(), text.find('\n', i));
}

size_t SkipBlockComment(std::string_view text, size_t i) {
  int depth = 0;
  while (i + 1 < text.size()) {
    const std::string_view pair = text.substr(i, 2);
    if (pair == "/*") {
      ++depth;
      i += 2;
    } else if (pair == "*/") {
      i += 2;
      if (--depth == 0) return i;
    } else {
      ++i;
    }
  }
  return text.size();
}

// $tag$ ... $tag$; a lone dollar (as of $1) is one character.
size_t SkipDollarQuoted(std::string_view text, size_t i) {
  size_t end = i + 1;
  while (end < text.size() && IsWord(text[end])) ++end;
  const bool is_quote =
      end < text.size() && text[end] == '$' && !(text[i + 1] >= '0' && text[i + 1] <= '9');
  if (!is_quote) return i + 1;
  const std::string_view tag = text.substr(i, end + 1 - i);
  const size_t close = text.find(tag, end + 1);
  return close == std::string_view::npos ? text.size() : close + tag.size();
}

// The offset behind the token that starts at `i`, as far as semicolons go.
size_t SkipToken(std::string_view text, size_t i) {
  const char c = text[i];
  const char next = i + 1 < text.size() ? text[i + 1] : '\0';
  if ((c == 'e' || c == 'E') && next == '\'') return SkipQuoted(text, i + 1, /*backslashes=*/true);
  if (c == '\'' || c == '"') return SkipQuoted(text, i, /*backslashes=*/false);
  if (c == '-' && next == '-') return SkipLineComment(text, i);
  if (c == '/' && next == '*') return SkipBlockComment(text, i);
  if (c == '$') return SkipDollarQuoted(text, i);
  if (!IsWord(c)) return i + 1;
  while (i < text.size() && (IsWord(text[i]) || text[i] == '$')) ++i;
  return i;
}

bool IsComment(std::string_view text, size_t i) {
  return text.substr(i, 2) == "--" || text.substr(i, 2) == "/*";
}

}  // namespace

std::vector<ScriptPart> SplitScript(std::string_view text) {
  std::vector<ScriptPart> parts;
  size_t i = 0, counted = 0;
  int line = 1;
  while (i < text.size()) {
    // Leading space and comments belong to no statement.
    if (IsSpace(text[i]) || text[i] == ';') {
      ++i;
      continue;
    }
    if (IsComment(text, i)) {
      i = SkipToken(text, i);
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && text[i] != ';') i = SkipToken(text, i);
    size_t end = i;
    while (IsSpace(text[end - 1])) --end;
    line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                        text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
    counted = begin;
    parts.push_back({std::string(text.substr(begin, end - begin)), line});
  }
  return parts;
}

}  // namespace adjoin
