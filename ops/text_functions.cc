#include "ops/text_functions.h"

#include <md5.h>

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin::text {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;  // PostgreSQL's longest text

bool StartsCharacter(char c) { return !ContinuesCharacter(c); }

// The byte where character `n`, from 0, starts; the end where there are fewer.
size_t ByteOf(std::string_view s, int64_t n) {
  if (n <= 0) return 0;
  if (n >= static_cast<int64_t>(s.size())) n = std::min<int64_t>(n, Length(s));
  size_t at = 0;
  for (; at < s.size(); ++at) {
    if (StartsCharacter(s[at]) && n-- == 0) break;
  }
  return at;
}

// The first character of a text that is not empty.
std::string_view First(std::string_view s) {
  size_t size = 1;
  while (size < s.size() && !StartsCharacter(s[size])) ++size;
  return s.substr(0, size);
}

// Calls f with each character in order.
template <typename F>
void ForEachCharacter(std::string_view s, F&& f) {
  while (!s.empty()) {
    const std::string_view c = First(s);
    f(c);
    s.remove_prefix(c.size());
  }
}

// Fills text of a known size.
class Writer {
 public:
  Writer(BatchArena& arena, size_t bytes)
      : begin_(arena.Make<char>(static_cast<int64_t>(bytes))), next_(begin_) {}
  void Append(std::string_view s) { next_ = std::copy(s.begin(), s.end(), next_); }
  std::string_view text() const { return {begin_, static_cast<size_t>(next_ - begin_)}; }

 private:
  char* begin_;
  char* next_;
};

template <typename F>
std::string_view MapBytes(BatchArena& arena, std::string_view s, F&& f) {
  char* out = arena.Make<char>(static_cast<int64_t>(s.size()));
  std::transform(s.begin(), s.end(), out, f);
  return {out, s.size()};
}

bool Has(std::string_view characters, std::string_view c) {
  return characters.find(c) != std::string_view::npos;
}

absl::Status TooLong() {
  return SqlError(sqlstate::kProgramLimitExceeded, "requested length too large");
}

// `missing` characters of `fill` over and over.
void AppendFill(Writer& out, std::string_view fill, int64_t missing) {
  const int64_t characters = Length(fill);
  for (; missing >= characters; missing -= characters) out.Append(fill);
  out.Append(fill.substr(0, ByteOf(fill, missing)));
}

absl::StatusOr<std::string_view> Pad(BatchArena& arena, std::string_view s, int32_t length,
                                     std::string_view fill, bool left) {
  const int64_t missing = int64_t{length} - Length(s);
  if (missing <= 0 || fill.empty()) return s.substr(0, ByteOf(s, length));
  const int64_t bytes = std::ssize(s) + missing * static_cast<int64_t>(fill.size());
  if (int64_t{length} * 4 >= kMaxBytes) return TooLong();
  Writer out(arena, static_cast<size_t>(std::min(bytes, std::ssize(s) + missing * 4)));
  if (left) AppendFill(out, fill, missing);
  out.Append(s);
  if (!left) AppendFill(out, fill, missing);
  return out.text();
}

}  // namespace

int32_t Length(std::string_view s) {
  return static_cast<int32_t>(std::count_if(s.begin(), s.end(), StartsCharacter));
}

std::string_view Concat(BatchArena& arena, std::string_view a, std::string_view b) {
  Writer out(arena, a.size() + b.size());
  out.Append(a);
  out.Append(b);
  return out.text();
}

std::string_view Lower(BatchArena& arena, std::string_view s) {
  return MapBytes(arena, s,
                  [](char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); });
}

std::string_view Upper(BatchArena& arena, std::string_view s) {
  return MapBytes(arena, s,
                  [](char c) { return absl::ascii_toupper(static_cast<unsigned char>(c)); });
}

std::string_view Initcap(BatchArena& arena, std::string_view s) {
  bool inside = false;  // a word
  return MapBytes(arena, s, [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    const char out = inside ? absl::ascii_tolower(byte) : absl::ascii_toupper(byte);
    inside = absl::ascii_isalnum(byte);
    return out;
  });
}

std::string_view Reverse(BatchArena& arena, std::string_view s) {
  char* out = arena.Make<char>(static_cast<int64_t>(s.size()));
  char* next = out + s.size();
  ForEachCharacter(s, [&](std::string_view c) {
    next -= c.size();
    std::copy(c.begin(), c.end(), next);
  });
  return {out, s.size()};
}

std::string_view Replace(BatchArena& arena, std::string_view s, std::string_view from,
                         std::string_view to) {
  if (from.empty()) return s;
  size_t count = 0;
  for (size_t at = s.find(from); at != std::string_view::npos; at = s.find(from, at + from.size()))
    ++count;
  if (count == 0) return s;
  Writer out(arena, s.size() - count * from.size() + count * to.size());
  size_t begin = 0;
  for (size_t at = s.find(from); at != std::string_view::npos; at = s.find(from, begin)) {
    out.Append(s.substr(begin, at - begin));
    out.Append(to);
    begin = at + from.size();
  }
  out.Append(s.substr(begin));
  return out.text();
}

std::string_view Translate(BatchArena& arena, std::string_view s, std::string_view from,
                           std::string_view to) {
  Writer out(arena, s.size() * 4);  // a character may become one of four bytes
  ForEachCharacter(s, [&](std::string_view c) {
    const size_t at = from.find(c);
    if (at == std::string_view::npos) return out.Append(c);
    const size_t target = ByteOf(to, Length(from.substr(0, at)));
    if (target < to.size()) out.Append(First(to.substr(target)));
  });
  return out.text();
}

absl::StatusOr<std::string_view> Repeat(BatchArena& arena, std::string_view s, int32_t count) {
  if (count <= 0 || s.empty()) return std::string_view();
  if (std::ssize(s) * count >= kMaxBytes) return TooLong();
  Writer out(arena, s.size() * static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) out.Append(s);
  return out.text();
}

absl::StatusOr<std::string_view> PadLeft(BatchArena& arena, std::string_view s, int32_t length,
                                         std::string_view fill) {
  return Pad(arena, s, length, fill, true);
}

absl::StatusOr<std::string_view> PadRight(BatchArena& arena, std::string_view s, int32_t length,
                                          std::string_view fill) {
  return Pad(arena, s, length, fill, false);
}

std::string_view SubstringFrom(std::string_view s, int32_t start) {
  return s.substr(ByteOf(s, int64_t{start} - 1));
}

absl::StatusOr<std::string_view> Substring(std::string_view s, int32_t start, int32_t count) {
  if (count < 0)
    return SqlError(sqlstate::kSubstringError, "negative substring length not allowed");
  const int64_t end = int64_t{start} - 1 + count;
  if (end <= 0) return std::string_view();
  const size_t from = ByteOf(s, int64_t{start} - 1);
  return s.substr(from, ByteOf(s.substr(from), end - std::max<int64_t>(0, int64_t{start} - 1)));
}

std::string_view Left(std::string_view s, int32_t count) {
  const int64_t characters = count >= 0 ? count : int64_t{Length(s)} + count;
  return s.substr(0, ByteOf(s, characters));
}

std::string_view Right(std::string_view s, int32_t count) {
  const int64_t skipped = count >= 0 ? int64_t{Length(s)} - count : -int64_t{count};
  return s.substr(ByteOf(s, skipped));
}

std::string_view TrimLeft(std::string_view s, std::string_view characters) {
  while (!s.empty() && Has(characters, First(s))) s.remove_prefix(First(s).size());
  return s;
}

std::string_view TrimRight(std::string_view s, std::string_view characters) {
  while (!s.empty()) {
    size_t at = s.size() - 1;
    while (at > 0 && !StartsCharacter(s[at])) --at;
    if (!Has(characters, s.substr(at))) break;
    s = s.substr(0, at);
  }
  return s;
}

std::string_view Trim(std::string_view s, std::string_view characters) {
  return TrimLeft(TrimRight(s, characters), characters);
}

int32_t Position(std::string_view s, std::string_view part) {
  const size_t at = s.find(part);
  return at == std::string_view::npos ? 0 : Length(s.substr(0, at)) + 1;
}

absl::StatusOr<std::string_view> SplitPart(std::string_view s, std::string_view delimiter,
                                           int32_t n) {
  if (n == 0) return SqlError(sqlstate::kInvalidParameterValue, "field position must not be zero");
  if (s.empty()) return s;
  if (delimiter.empty()) return n == 1 || n == -1 ? s : std::string_view();
  if (n > 0) {
    for (; n > 1; --n) {
      const size_t at = s.find(delimiter);
      if (at == std::string_view::npos) return std::string_view();
      s.remove_prefix(at + delimiter.size());
    }
    return s.substr(0, s.find(delimiter));
  }
  // Fields are those found from the left, which overlapping delimiters make another thing than from
  // the right.
  int64_t fields = 1;
  for (size_t at = s.find(delimiter); at != std::string_view::npos;
       at = s.find(delimiter, at + delimiter.size()))
    ++fields;
  const int64_t from_left = fields + n + 1;
  if (from_left < 1) return std::string_view();
  return SplitPart(s, delimiter, static_cast<int32_t>(from_left));
}

absl::StatusOr<std::string_view> OverlayHead(BatchArena& arena, std::string_view s,
                                             std::string_view part, int32_t start) {
  if (start <= 0)
    return SqlError(sqlstate::kSubstringError, "negative substring length not allowed");
  return Concat(arena, s.substr(0, ByteOf(s, int64_t{start} - 1)), part);
}

std::string_view Hex(BatchArena& arena, uint64_t value) {
  Writer out(arena, 16);
  out.Append(ToStd(absl::StrCat(absl::Hex(value))));
  return out.text();
}

std::string_view Quoted(BatchArena& arena, std::string_view s) {
  Writer out(arena, 2 * s.size() + 3);
  out.Append(Has(s, "\\") ? "E'" : "'");
  for (const char& c : s) {
    if (c == '\'' || c == '\\') out.Append({&c, 1});
    out.Append({&c, 1});
  }
  out.Append("'");
  return out.text();
}

int32_t CodePoint(std::string_view s) {
  if (s.empty()) return 0;
  const std::string_view c = First(s);
  if (c.size() == 1) return static_cast<uint8_t>(c[0]);
  int32_t code = static_cast<uint8_t>(c[0]) & (0x7F >> c.size());
  for (char byte : c.substr(1)) code = code << 6 | (static_cast<uint8_t>(byte) & 0x3F);
  return code;
}

absl::StatusOr<std::string_view> Character(BatchArena& arena, int32_t code_point) {
  if (code_point == 0)
    return SqlError(sqlstate::kProgramLimitExceeded, "null character not permitted");
  if (code_point < 0)
    return SqlError(sqlstate::kInvalidParameterValue, "character number must be positive");
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point > 0x10FFFF || surrogate) {
    return SqlError(sqlstate::kProgramLimitExceeded,
                    absl::StrCat("requested character ", surrogate ? "not valid" : "too large",
                                 " for encoding: ", code_point));
  }
  char* out = arena.Make<char>(4);
  if (code_point < 0x80) {
    out[0] = static_cast<char>(code_point);
    return std::string_view(out, 1);
  }
  const int size = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  for (int i = size - 1; i > 0; --i, code_point >>= 6)
    out[i] = static_cast<char>(0x80 | (code_point & 0x3F));
  out[0] = static_cast<char>((0xF00 >> size) | code_point);
  return std::string_view(out, static_cast<size_t>(size));
}

std::string_view Md5(BatchArena& arena, std::string_view s) {
  char digits[MD5_DIGEST_STRING_LENGTH];
  MD5Data(reinterpret_cast<const uint8_t*>(s.data()), s.size(), digits);
  return arena.Copy(digits);
}

}  // namespace adjoin::text
