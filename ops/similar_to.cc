#include "ops/similar_to.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status.h"
#include "engine/text.h"
#include "ops/regular_expression.h"

namespace adjoin {
namespace {

// Writes a pattern as a regular expression, part by part.
class SimilarPattern {
 public:
  absl::Status Read(std::string_view pattern, std::string_view escape) {
    while (!pattern.empty()) {
      if (!escape.empty() && pattern.starts_with(escape)) {
        pattern.remove_prefix(escape.size());
        if (pattern.empty()) break;
        ADJOIN_RETURN_IF_ERROR(ReadEscaped(pattern[0]));
      } else {
        ReadPlain(pattern[0]);
      }
      pattern.remove_prefix(1);  // what continues a character follows as it is
    }
    return absl::OkStatus();
  }
  std::vector<std::string>& parts() { return parts_; }

 private:
  absl::Status ReadEscaped(char c) {
    if (c != '"' || in_brackets_) {
      if (!ContinuesCharacter(c) && static_cast<uint8_t>(c) < 0x80) parts_.back() += '\\';
      parts_.back() += c;
      return absl::OkStatus();
    }
    if (parts_.size() == 3) {
      return SqlError(sqlstate::kInvalidUseOfEscapeCharacter,
                      "SQL regular expression may not contain more than two escape-double-quote "
                      "separators");
    }
    parts_.emplace_back();
    return absl::OkStatus();
  }
  void ReadPlain(char c) {
    std::string& out = parts_.back();
    if (in_brackets_) {
      if (c == '\\') out += '\\';
      out += c;
      in_brackets_ = c != ']';
      return;
    }
    in_brackets_ = c == '[';
    if (c == '%') {
      out += ".*";
    } else if (c == '_') {
      out += '.';
    } else if (c == '(') {
      out += "(?:";
    } else {
      if (c == '\\' || c == '.' || c == '^' || c == '$') out += '\\';
      out += c;
    }
  }

  std::vector<std::string> parts_ = {""};
  bool in_brackets_ = false;
};

absl::Status CheckEscape(std::string_view escape) {
  size_t size = escape.empty() ? 0 : 1;
  while (size < escape.size() && ContinuesCharacter(escape[size])) ++size;
  if (size == escape.size()) return absl::OkStatus();
  return SqlErrorWithDetail(sqlstate::kInvalidEscapeSequence, "invalid escape string", "",
                            "Escape string must be empty or one character.");
}

using Expression = std::unique_ptr<RegularExpression>;

absl::StatusOr<Expression> CompilePart(const std::string& text) {
  return RegularExpression::Compile(absl::StrCat("***:(?:", text, ")"), {},
                                    RegularExpression::Use::kWhether);
}

// A pattern of three parts, of which the outer ones may be empty.
struct ThreeParts {
  std::string pattern, escape;
  bool is_one = false;  // and not three: the second
  Expression first, second, third, rest;
};

absl::Status CompileParts(ThreeParts& out) {
  ADJOIN_RETURN_IF_ERROR(CheckEscape(out.escape));
  SimilarPattern similar;
  ADJOIN_RETURN_IF_ERROR(similar.Read(out.pattern, out.escape));
  std::vector<std::string> parts = similar.parts();
  out.is_one = parts.size() == 1;
  if (out.is_one) parts.insert(parts.begin(), "");
  if (parts.size() == 2) parts.emplace_back("");
  ADJOIN_ASSIGN_OR_RETURN(out.first, CompilePart(parts[0]));
  ADJOIN_ASSIGN_OR_RETURN(out.second, CompilePart(parts[1]));
  ADJOIN_ASSIGN_OR_RETURN(out.third, CompilePart(parts[2]));
  ADJOIN_ASSIGN_OR_RETURN(out.rest,
                          CompilePart(absl::StrCat("(?:", parts[1], ")(?:", parts[2], ")")));
  return absl::OkStatus();
}

std::optional<std::string_view> FindSecond(const ThreeParts& parts, std::string_view s) {
  if (parts.is_one) return parts.second->MatchesWhole(s) ? std::optional(s) : std::nullopt;
  for (size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size() && ContinuesCharacter(s[i])) continue;
    if (!parts.first->MatchesWhole(s.substr(0, i)) || !parts.rest->MatchesWhole(s.substr(i)))
      continue;
    for (size_t end = s.size();; --end) {  // one fits, as the rest does
      if (end < s.size() && ContinuesCharacter(s[end])) continue;
      if (parts.third->MatchesWhole(s.substr(end)) &&
          parts.second->MatchesWhole(s.substr(i, end - i)))
        return s.substr(i, end - i);
      if (end == i) break;
    }
  }
  return std::nullopt;
}

using Found = absl::StatusOr<std::optional<std::string_view>>;
absl::Status RunSubstring(const RowCall& call) {
  auto& known = Kept<ThreeParts>(call);
  return RunRows<Found, std::string_view, std::string_view, std::string_view>(
      call, [&](std::string_view s, std::string_view pattern, std::string_view escape) -> Found {
        if (known.first == nullptr || pattern != known.pattern || escape != known.escape) {
          known = ThreeParts();
          known.pattern = pattern;
          known.escape = escape;
          if (absl::Status status = CompileParts(known); !status.ok()) {
            known = ThreeParts();
            return status;
          }
        }
        return FindSecond(known, s);
      });
}

}  // namespace

absl::StatusOr<std::string_view> SimilarToEscape(BatchArena& arena, std::string_view pattern,
                                                 std::string_view escape) {
  ADJOIN_RETURN_IF_ERROR(CheckEscape(escape));
  SimilarPattern similar;
  ADJOIN_RETURN_IF_ERROR(similar.Read(pattern, escape));
  return arena.Copy(absl::StrCat("***:^(?:", absl::StrJoin(similar.parts(), ")(?:"), ")$"));
}

const RowFunction kSimilarSubstring =
    RowSignature<Found, std::string_view, std::string_view, std::string_view>(RunSubstring);

}  // namespace adjoin
