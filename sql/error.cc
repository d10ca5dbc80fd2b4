#include "adjoin/error.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin::api {
namespace {

// The byte of UTF-8 `text` where its 1-based character `position` starts; its end when there are
// fewer.
size_t ByteOfCharacter(std::string_view text, int position) {
  size_t byte = 0;
  for (int character = 1; character < position && byte < text.size(); ++character) {
    ++byte;
    while (byte < text.size() && ContinuesCharacter(text[byte])) ++byte;
  }
  return byte;
}

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !ContinuesCharacter(c); }));
}

// "LINE 2: the line" and a caret below its character. psql cuts long lines to about a screen around
// the error.
std::string PointAt(std::string_view sql, int position) {
  constexpr size_t kScreen = 60;
  const size_t at = ByteOfCharacter(sql, position);
  const size_t before = at == 0 ? std::string_view::npos : sql.rfind('\n', at - 1);
  size_t start = before == std::string_view::npos ? 0 : before + 1;
  size_t end = std::min(sql.find('\n', at), sql.size());
  std::string head = absl::StrCat(
      "LINE ", std::count(sql.begin(), sql.begin() + static_cast<int64_t>(start), '\n') + 1, ": ");
  std::string tail;
  if (CountCharacters(sql.substr(start, at - start)) > kScreen) {
    start = ByteOfCharacter(sql, position - static_cast<int>(kScreen) / 2);
    head += "...";
  }
  const size_t cut =
      at + ByteOfCharacter(sql.substr(at, end - at), static_cast<int>(kScreen) / 2 + 1);
  if (cut < end && CountCharacters(sql.substr(start, end - start)) > kScreen) {
    end = cut;
    tail = "...";
  }
  std::string line(sql.substr(start, end - start));
  std::replace(line.begin(), line.end(), '\t', ' ');
  const size_t indent = head.size() + CountCharacters(sql.substr(start, at - start));
  return absl::StrCat(head, line, tail, "\n", std::string(indent, ' '), "^\n");
}

}  // namespace

std::string SqlState(const absl::Status& status) {
  return status.ok() ? "00000" : SqlStateOf(status);
}
std::optional<int> ErrorPosition(const absl::Status& status) { return PositionOf(status); }
std::string ErrorDetail(const absl::Status& status) { return DetailOf(status); }
std::string ErrorHint(const absl::Status& status) { return HintOf(status); }

std::string FormatError(const absl::Status& status, std::string_view sql) {
  std::string out = absl::StrCat("ERROR:  ", status.message(), "\n");
  const std::optional<int> position = PositionOf(status);
  if (position.has_value() && !sql.empty()) out += PointAt(sql, *position);
  if (const std::string detail = DetailOf(status); !detail.empty())
    absl::StrAppend(&out, "DETAIL:  ", detail, "\n");
  if (const std::string hint = HintOf(status); !hint.empty())
    absl::StrAppend(&out, "HINT:  ", hint, "\n");
  return out;
}

}  // namespace adjoin::api
