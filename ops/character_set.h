// Sets of characters of regular expressions, with classes of ASCII (the C collation).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"

namespace adjoin {

constexpr char32_t kLastCharacter = 0x10FFFF;

struct CharacterRange {
  char32_t first, last;
};
using CharacterSet = std::vector<CharacterRange>;  // in any order; they may overlap

inline bool IsDigit(char32_t c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char32_t c) {
  return c < 128 && absl::ascii_isalpha(static_cast<unsigned char>(c));
}
inline bool IsWordCharacter(char32_t c) { return IsDigit(c) || IsLetter(c) || c == '_'; }
inline bool IsSpace(char32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The class that [:name:] stands for, or \d, \s and \w; nullptr: there is none.
const CharacterSet* CharacterClass(std::u32string_view name);
const CharacterSet* ShorthandClass(char32_t letter);

CharacterSet Complement(CharacterSet set);
void FoldCase(CharacterSet& set);  // adds the other case of its letters
bool AllOfWords(const CharacterSet& set);

// As RE2 writes a character, and a set that is not empty.
std::string CharacterText(char32_t c);
std::string SetText(const CharacterSet& set);

}  // namespace adjoin
