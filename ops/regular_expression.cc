#include "ops/regular_expression.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

re2::StringPiece Piece(std::string_view s) { return {s.data(), s.size()}; }

absl::Status NotSupported(std::string_view what) {
  return SqlError(sqlstate::kFeatureNotSupported,
                  ToStd(absl::StrCat(ToAbsl(what), " is not supported")));
}

absl::StatusOr<std::unique_ptr<re2::RE2>> CompileRe2(const std::string& text, bool longest) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_longest_match(longest);
  auto compiled = std::make_unique<re2::RE2>(text, options);
  if (!compiled->ok()) return NotSupported("a regular expression that large");
  return compiled;
}

}  // namespace

RegularExpression::RegularExpression() = default;
RegularExpression::~RegularExpression() = default;

absl::StatusOr<std::unique_ptr<RegularExpression>> RegularExpression::Compile(
    std::string_view pattern, RegexpOptions options, Use use) {
  ADJOIN_ASSIGN_OR_RETURN(const RegexpForRe2 translated, TranslateRegexp(pattern, options));
  if (use != Use::kWhether && translated.lazy && (translated.greedy || translated.alternatives)) {
    return NotSupported(translated.greedy
                            ? "a regular expression with greedy and non-greedy quantifiers"
                            : "a regular expression with alternatives and non-greedy quantifiers");
  }
  const bool divides = use == Use::kGroups && translated.groups > 0;
  if (divides && translated.open_groups)
    return NotSupported("a group in a repetition that need not go through it");
  std::unique_ptr<RegularExpression> out(new RegularExpression());
  out->groups_ = translated.groups;
  const bool longest = use != Use::kWhether && !translated.lazy;
  ADJOIN_ASSIGN_OR_RETURN(out->expression_, CompileRe2(translated.text, longest));
  if (divides && translated.alternatives) {
    options.reversed = true;
    ADJOIN_ASSIGN_OR_RETURN(const RegexpForRe2 reversed, TranslateRegexp(pattern, options));
    ADJOIN_ASSIGN_OR_RETURN(out->reversed_, CompileRe2(reversed.text, longest));
    const auto& named = out->reversed_->NamedCapturingGroups();
    out->reversed_groups_ = {0};
    for (int i = 1; i <= out->groups_; ++i)
      out->reversed_groups_.push_back(named.at(absl::StrCat("g", i)));
  }
  return out;
}

bool RegularExpression::Matches(std::string_view text) const {
  return expression_->Match(Piece(text), 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

bool RegularExpression::MatchesWhole(std::string_view text) const {
  return expression_->Match(Piece(text), 0, text.size(), re2::RE2::ANCHOR_BOTH, nullptr, 0);
}

absl::StatusOr<bool> RegularExpression::Find(std::string_view text, size_t start,
                                             std::vector<std::string_view>& parts) const {
  const auto find = [&](const re2::RE2& expression, std::vector<re2::StringPiece>& found) {
    return expression.Match(Piece(text), start, text.size(), re2::RE2::UNANCHORED, found.data(),
                            static_cast<int>(found.size()));
  };
  std::vector<re2::StringPiece> found(parts.size());
  if (!find(*expression_, found)) return false;
  if (reversed_ != nullptr && parts.size() > 1) {
    std::vector<re2::StringPiece> others(reversed_groups_.size());
    find(*reversed_, others);
    for (size_t i = 0; i < found.size(); ++i) {
      const re2::StringPiece other = others[static_cast<size_t>(reversed_groups_[i])];
      if (found[i].data() == other.data() && found[i].size() == other.size()) continue;
      return NotSupported("a match that alternatives divide into groups in several ways");
    }
  }
  for (size_t i = 0; i < found.size(); ++i) parts[i] = {found[i].data(), found[i].size()};
  return true;
}

}  // namespace adjoin
