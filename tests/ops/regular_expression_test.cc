#include "ops/regular_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/status.h"
#include "ops/similar_to.h"

namespace adjoin {
namespace {

using Use = RegularExpression::Use;

std::string ErrorOf(std::string_view pattern, Use use = Use::kWhether) {
  const auto compiled = RegularExpression::Compile(pattern, {}, use);
  if (compiled.ok()) return "none";
  return SqlStateOf(compiled.status()) + " " + std::string(compiled.status().message());
}

// PostgreSQL 15's words.
TEST(RegularExpression, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> kErrors[] = {
      {"(a", "parentheses () not balanced"},     {"a)", "parentheses () not balanced"},
      {"[a", "brackets [] not balanced"},        {"[[:foo:]]", "invalid character class"},
      {"[b-a]", "invalid character range"},      {"a{1,256}", "invalid repetition count(s)"},
      {"a{3,1}", "invalid repetition count(s)"}, {"a{2", "braces {} not balanced"},
      {"*a", "quantifier operand invalid"},      {"a+*", "quantifier operand invalid"},
      {"^*", "quantifier operand invalid"},      {"a\\", "invalid escape \\ sequence"},
      {"\\q", "invalid escape \\ sequence"},     {"\\1", "invalid backreference number"},
      {"(?z)a", "invalid embedded option"},
  };
  for (const auto& [pattern, why] : kErrors)
    EXPECT_EQ(ErrorOf(pattern), std::string("2201B invalid regular expression: ") + why) << pattern;
}

TEST(RegularExpression, NamesWhatItLacks) {
  constexpr char kBehind[] = " in a regular expression is not supported";
  EXPECT_EQ(ErrorOf("(a)\\1"), std::string("0A000 a back reference") + kBehind);
  EXPECT_EQ(ErrorOf("a(?=b)"), std::string("0A000 looking ahead") + kBehind);
  EXPECT_EQ(ErrorOf("(?<!a)b"), std::string("0A000 looking behind") + kBehind);
  EXPECT_EQ(ErrorOf("\\m.*"), std::string("0A000 \\m before no character of a word") + kBehind);
  // Whether there is a match depends on no quantifier's greed, where it is does.
  EXPECT_EQ(ErrorOf("a.*?b+"), "none");
  EXPECT_EQ(ErrorOf("a.*?b+", Use::kWhere),
            "0A000 a regular expression with greedy and non-greedy quantifiers is not supported");
  EXPECT_EQ(ErrorOf("((a)|b)*", Use::kWhere), "none");
  EXPECT_EQ(ErrorOf("((a)|b)*", Use::kGroups),
            "0A000 a group in a repetition that need not go through it is not supported");
}

TEST(RegularExpression, FindsTheLongestOfTheLeftmost) {
  const auto expression = *RegularExpression::Compile("b|bc+|c", {}, Use::kWhere);
  std::vector<std::string_view> parts(1);
  const std::string_view text = "abccd";
  ASSERT_TRUE(*expression->Find(text, 0, parts));
  EXPECT_EQ(parts[0], "bcc");
  ASSERT_TRUE(*expression->Find(text, 2, parts));
  EXPECT_EQ(parts[0], "c");
  EXPECT_FALSE(*expression->Find(text, 4, parts));
}

TEST(RegularExpression, RefusesToDivideInSeveralWays) {
  std::vector<std::string_view> parts(3);
  const auto open = *RegularExpression::Compile("(a|ab)(c|bcd)d*", {}, Use::kGroups);
  EXPECT_EQ(SqlStateOf(open->Find("abcd", 0, parts).status()), "0A000");
  // Where only one way fits it is found, also by groups in alternatives.
  const auto one = *RegularExpression::Compile("(http|https)://|(ftp):", {}, Use::kGroups);
  ASSERT_TRUE(*one->Find("https://", 0, parts));
  EXPECT_EQ(parts[1], "https");
  EXPECT_EQ(parts[2].data(), nullptr);
  ASSERT_TRUE(*one->Find("ftp:", 0, parts));
  EXPECT_EQ(parts[1].data(), nullptr);
  EXPECT_EQ(parts[2], "ftp");
}

TEST(SimilarTo, IsARegularExpression) {
  BatchArena arena;
  EXPECT_EQ(*SimilarToEscape(arena, "a%_(b|c).[\\]", "#"), "***:^(?:a.*.(?:b|c)\\.[\\\\])$");
  EXPECT_EQ(*SimilarToEscape(arena, "#%#_", "#"), "***:^(?:\\%\\_)$");
  EXPECT_EQ(SqlStateOf(SimilarToEscape(arena, "#\"a#\"b#\"", "#").status()), "2200C");
}

}  // namespace
}  // namespace adjoin
