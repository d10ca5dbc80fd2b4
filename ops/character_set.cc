#include "ops/character_set.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace adjoin {
namespace {

struct NamedClass {
  std::u32string_view name;
  CharacterSet ranges;
};
const NamedClass kClasses[] = {
    {U"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {U"alpha", {{'A', 'Z'}, {'a', 'z'}}},
    {U"blank", {{' ', ' '}, {'\t', '\t'}}},
    {U"cntrl", {{1, 31}, {127, 127}}},
    {U"digit", {{'0', '9'}}},
    {U"graph", {{33, 126}}},
    {U"lower", {{'a', 'z'}}},
    {U"print", {{32, 126}}},
    {U"punct", {{33, 47}, {58, 64}, {91, 96}, {123, 126}}},
    {U"space", {{' ', ' '}, {'\t', '\r'}}},
    {U"upper", {{'A', 'Z'}}},
    {U"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {U"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

}  // namespace

const CharacterSet* CharacterClass(std::u32string_view name) {
  for (const NamedClass& c : kClasses) {
    if (c.name == name) return &c.ranges;
  }
  return nullptr;
}

const CharacterSet* ShorthandClass(char32_t letter) {
  if (letter == 'd') return CharacterClass(U"digit");
  if (letter == 's') return CharacterClass(U"space");
  if (letter == 'w') return CharacterClass(U"word");
  return nullptr;
}

CharacterSet Complement(CharacterSet ranges) {
  std::ranges::sort(ranges, {}, &CharacterRange::first);
  CharacterSet out;
  char32_t next = 0;
  for (const CharacterRange& r : ranges) {
    if (r.first > next) out.push_back({next, r.first - 1});
    next = std::max<char32_t>(next, r.last + 1);
  }
  if (next <= kLastCharacter) out.push_back({next, kLastCharacter});
  return out;
}

void FoldCase(CharacterSet& ranges) {
  const size_t count = ranges.size();
  for (size_t i = 0; i < count; ++i) {
    for (const auto& [low, high, other] : {std::tuple<char32_t, char32_t, int>{'A', 'Z', 32},
                                           std::tuple<char32_t, char32_t, int>{'a', 'z', -32}}) {
      const char32_t first = std::max(ranges[i].first, low);
      const char32_t last = std::min(ranges[i].last, high);
      if (first <= last) {
        ranges.push_back({static_cast<char32_t>(static_cast<int>(first) + other),
                          static_cast<char32_t>(static_cast<int>(last) + other)});
      }
    }
  }
}

bool AllOfWords(const CharacterSet& ranges) {
  return std::ranges::all_of(ranges, [](const CharacterRange& r) {
    for (char32_t c = r.first; c <= r.last; ++c) {
      if (!IsWordCharacter(c)) return false;  // soon, where the range is long
    }
    return true;
  });
}

std::string CharacterText(char32_t c) {
  if (IsWordCharacter(c)) return std::string(1, static_cast<char>(c));
  return absl::StrFormat("\\x{%x}", static_cast<uint32_t>(c));
}

std::string SetText(const CharacterSet& ranges) {
  std::string out = "[";
  for (const CharacterRange& r : ranges) {
    out += CharacterText(r.first);
    if (r.last != r.first) absl::StrAppend(&out, "-", CharacterText(r.last));
  }
  return out + "]";
}

}  // namespace adjoin
