// Parsing texts, cutting scripts, and decoding utility statements.
#include "sql/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/sql/binder_testing.h"

namespace adjoin {
namespace {

using ::testing::ElementsAre;

std::string ParseError(std::string_view sql) {
  const auto parsed = Parse(sql);
  return parsed.ok() ? "OK" : ErrorText(parsed.status());
}

TEST(ParseTest, StatementsKnowTheirTextAndPlace) {
  const auto parsed = Parse(" SELECT 1;\n SELECT 2 ; -- done\n");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0].text, "SELECT 1");
  EXPECT_EQ((*parsed)[1].text, "SELECT 2");
  EXPECT_EQ((*parsed)[1].location, 12);
  EXPECT_EQ((*parsed)[1].tree["SelectStmt"]["targetList"][0]["ResTarget"]["location"], 7);
  EXPECT_TRUE(Parse(" -- nothing\n")->empty());
}

TEST(ParseTest, ErrorsAreThoseOfPostgreSql) {
  EXPECT_EQ(ParseError("selec 1"), "42601 at 1: syntax error at or near \"selec\"");
  EXPECT_EQ(ParseError("SELECT 'é' FROM from"), "42601 at 17: syntax error at or near \"from\"");
  EXPECT_EQ(ParseError("SELECT 1 +"), "42601 at 11: syntax error at end of input");
  EXPECT_EQ(ParseError("SELECT 'abc"),
            "42601 at 8: unterminated quoted string at or near \"'abc\"");
  EXPECT_EQ(ParseError(std::string_view("SELECT \0 1", 10)),
            "22021: invalid byte sequence for encoding \"UTF8\": 0x00");
  EXPECT_EQ(ParseError("SELECT '\xff'"), "22021: invalid byte sequence for encoding \"UTF8\"");
}

TEST(ParseTest, DeepTextsAreErrorsAndNoCrash) {
  std::string sum = "SELECT 1", nested = "SELECT ";
  for (int i = 0; i < 200000; ++i) sum += "+1";
  nested += std::string(100000, '(') + "1" + std::string(100000, ')');
  EXPECT_EQ(ParseError(sum), "54001: stack depth limit exceeded");
  EXPECT_EQ(ParseError(nested), "54001: stack depth limit exceeded");
}

TEST(SplitScriptTest, CutsAtTopLevelSemicolonsOnly) {
  std::vector<std::string> texts;
  std::vector<int> lines;
  for (const ScriptPart& part :
       SplitScript("SELECT ';' || \"a;b\"; -- no ; here\n/* nor ; /* here ; */ ; */\nselec 2;;\n"
                   "SELECT $$;$$, $a$ $$ ; $a$, E'\\';', $1;\nlast")) {
    texts.push_back(part.text);
    lines.push_back(part.line);
  }
  EXPECT_THAT(texts, ElementsAre("SELECT ';' || \"a;b\"", "selec 2",
                                 "SELECT $$;$$, $a$ $$ ; $a$, E'\\';', $1", "last"));
  EXPECT_THAT(lines, ElementsAre(1, 3, 4, 5));
}

TEST(SplitScriptTest, AnOpenQuoteTakesTheRest) {
  const std::vector<ScriptPart> parts = SplitScript("SELECT 1; SELECT 'x; SELECT 2;");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].text, "SELECT 'x; SELECT 2;");
}

Utility Decode(std::string_view sql) {
  const auto parsed = Parse(sql);
  const auto utility = DecodeUtility(parsed->at(0).tree, parsed->at(0).text);
  EXPECT_TRUE(utility.ok()) << sql << ": " << utility.status();
  return *utility;
}
std::string DecodeError(std::string_view sql) {
  const auto parsed = Parse(sql);
  const auto utility = DecodeUtility(parsed->at(0).tree, parsed->at(0).text);
  return utility.ok() ? "OK" : ErrorText(utility.status());
}

TEST(UtilityTest, CreateTable) {
  const auto table =
      std::get<CreateTable>(Decode("CREATE TABLE IF NOT EXISTS T (a SMALLINT, b INTEGER NOT NULL, "
                                   "\"C\" REAL, d BOOLEAN, e VARCHAR, PRIMARY KEY (b, a))"));
  EXPECT_EQ(table.name, "t");
  EXPECT_TRUE(table.if_not_exists);
  const std::vector<Field> fields = {{"a", TypeId::kInt16, true},
                                     {"b", TypeId::kInt32, true},
                                     {"C", TypeId::kFloat32, false},
                                     {"d", TypeId::kBool, false},
                                     {"e", TypeId::kText, false}};
  EXPECT_EQ(table.schema.fields, fields);
  EXPECT_THAT(table.schema.dims, ElementsAre(1, 0));
}

TEST(UtilityTest, CreateTableErrors) {
  EXPECT_EQ(DecodeError("CREATE TABLE t (a INTEGER, a TEXT)"),
            "42701: column \"a\" specified more than once");
  EXPECT_EQ(DecodeError("CREATE TABLE t (a INTEGER, PRIMARY KEY (b))"),
            "42703 at 28: column \"b\" named in key does not exist");
  EXPECT_EQ(DecodeError("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER PRIMARY KEY)"),
            "42P16 at 50: multiple primary keys for table \"t\" are not allowed");
  EXPECT_EQ(DecodeError("CREATE TABLE t (a numeric(100, 2))"),
            "0A000 at 19: type numeric(100,2) is not supported");
  EXPECT_EQ(DecodeError("CREATE TABLE t (a foo)"), "42704 at 19: type \"foo\" does not exist");
  EXPECT_EQ(DecodeError("CREATE TABLE t (a INTEGER DEFAULT 3)"),
            "0A000 at 27: DEFAULT is not supported");
}

TEST(UtilityTest, ViewsKeepTheTextOfTheirQuery) {
  const auto view = std::get<CreateView>(
      Decode("CREATE OR REPLACE VIEW \"as\" /* as */ (a, \"as\") AS\n  SELECT 1 AS x, 2"));
  EXPECT_EQ(view.name, "as");
  EXPECT_TRUE(view.or_replace);
  EXPECT_THAT(view.columns, ElementsAre("a", "as"));
  EXPECT_EQ(view.query_text, "SELECT 1 AS x, 2");
}

TEST(UtilityTest, CopyOptions) {
  const auto copy =
      std::get<Copy>(Decode("COPY t (a, b) FROM '/x.csv' (FORMAT csv, HEADER, DELIMITER ';')"));
  EXPECT_TRUE(copy.from);
  EXPECT_EQ(copy.filename, "/x.csv");
  EXPECT_THAT(copy.columns, ElementsAre("a", "b"));
  EXPECT_THAT(copy.options,
              ElementsAre(testing::Pair("delimiter", ";"), testing::Pair("format", "csv"),
                          testing::Pair("header", "true")));
  EXPECT_FALSE(std::get<Copy>(Decode("COPY (SELECT 1) TO STDOUT")).query.is_null());
}

TEST(UtilityTest, Settings) {
  const auto set = std::get<SetVariable>(Decode("SET adjoin.grid = off"));
  EXPECT_EQ(set.name, "adjoin.grid");
  EXPECT_EQ(set.value, "off");
  EXPECT_EQ(std::get<SetVariable>(Decode("SET work_mem TO '4MB'")).value, "4MB");
  EXPECT_EQ(std::get<SetVariable>(Decode("SET adjoin.threads = -2")).value, "-2");
  EXPECT_EQ(std::get<SetVariable>(Decode("SET LOCAL work_mem TO DEFAULT")).value, std::nullopt);
  EXPECT_EQ(std::get<SetVariable>(Decode("RESET ALL")).name, "all");
  EXPECT_EQ(std::get<Show>(Decode("SHOW adjoin.grid")).name, "adjoin.grid");
}

TEST(UtilityTest, PreparedStatements) {
  const auto prepare =
      std::get<PrepareStatement>(Decode("PREPARE p (integer, unknown, float8) AS SELECT $1"));
  EXPECT_THAT(prepare.types, ElementsAre(TypeId::kInt32, std::nullopt, TypeId::kFloat64));
  EXPECT_EQ(std::get<Execute>(Decode("EXECUTE p(1, 2)")).args.size(), 2u);
  EXPECT_EQ(std::get<Deallocate>(Decode("DEALLOCATE ALL")).name, "");
  const auto explain = std::get<Explain>(Decode("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE p"));
  EXPECT_TRUE(explain.analyze);
  EXPECT_EQ(explain.format, "json");
  EXPECT_FALSE(std::get<Explain>(Decode("EXPLAIN (ANALYZE off) SELECT 1")).analyze);
}

TEST(UtilityTest, DropsAndTransactions) {
  const auto drop = std::get<Drop>(Decode("DROP VIEW IF EXISTS a, b CASCADE"));
  EXPECT_TRUE(drop.view && drop.if_exists && drop.cascade);
  EXPECT_THAT(drop.names, ElementsAre("a", "b"));
  EXPECT_EQ(std::get<Transaction>(Decode("START TRANSACTION")).kind, Transaction::Kind::kBegin);
  EXPECT_EQ(std::get<Transaction>(Decode("ABORT")).kind, Transaction::Kind::kRollback);
  EXPECT_EQ(DecodeError("SAVEPOINT x"), "0A000: SAVEPOINT is not supported");
  EXPECT_EQ(DecodeError("ALTER TABLE t ADD COLUMN q INTEGER"),
            "0A000: ALTER TABLE is not supported");
}

}  // namespace
}  // namespace adjoin
