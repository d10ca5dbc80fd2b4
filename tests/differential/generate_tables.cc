#include "tests/differential/generate_tables.h"

namespace adjoin {
namespace {

std::string Quarter(RandomChoice& choice) {
  return std::to_string(choice.Between(-40, 40)) +
         choice.Of(std::vector<std::string>{".0", ".25", ".5", ".75"});
}

std::string LiteralText(SqlType type, RandomChoice& choice) {
  using Texts = std::vector<std::string>;
  static const Texts kTexts = {"''",
                               "'a'",
                               "'b'",
                               "'B'",
                               "'ab'",
                               "' a'",
                               "'a '",
                               "'it''s'",
                               "'\"'",
                               "'x,y'",
                               "'\\n'",
                               "'na\u00efve'",
                               "'\u20ac\U0001F600'",
                               "'NULL'",
                               "'10'",
                               "'-3'",
                               "'tab\t'",
                               "'2'"};
  switch (type) {
    case kSmallInt:
      if (choice.Chance(8)) return choice.Of(Texts{"32767", "-32768", "0"});
      return std::to_string(choice.Between(-4, 9));
    case kInteger:
      if (choice.Chance(6)) return choice.Of(Texts{"2147483647", "-2147483648", "1000000"});
      return std::to_string(choice.Between(-3, 8));
    case kBigInt:
      if (choice.Chance(15)) {
        return choice.Of(Texts{"9223372036854775807", "-9223372036854775808", "4611686018427387904",
                               "9007199254740993", "-9007199254740993", "2147483648"});
      }
      return std::to_string(choice.Between(-5, 12));
    case kReal:
    case kDouble:
      if (choice.Chance(12)) return choice.Of(Texts{"'NaN'", "'Infinity'", "'-Infinity'", "'-0'"});
      return Quarter(choice);
    case kText:
      return choice.Of(kTexts);
    case kBoolean:
      return choice.Chance(50) ? "TRUE" : "FALSE";
    // Without infinities, of which many an operation is an error.
    case kDate:
      return choice.Of(Texts{"'1999-12-31'", "'2000-01-01'", "'2000-02-29'", "'2000-03-01'",
                             "'2001-01-31'", "'1969-07-20'", "'2004-12-27'", "'0044-03-15 BC'"});
    case kTimestamp:
      return choice.Of(Texts{"'2000-01-01 00:00'", "'2000-02-29 23:59:59.999999'",
                             "'2000-03-01 12:30:45.5'", "'1969-12-31 23:00'",
                             "'2001-01-31 01:02:03'", "'2000-01-01 00:00:00.000001'"});
    case kInterval:  // no two are equal: which of equal ones a group shows is open
      return choice.Of(Texts{"'1 day'", "'-1 day'", "'1 mon'", "'-1 mon 2 days'", "'1 year 2 mons'",
                             "'25:00'", "'00:00:01.5'", "'-2:03:04.000001'", "'31 days 4:05'",
                             "'0'"});
    case kDecimal:
      if (choice.Chance(15))
        return choice.Of(Texts{"999999.99", "-0.01", "0.005", "12345.6789", "7", "-2.50", "1e3"});
      return Quarter(choice);
  }
  return "NULL";
}

Sql Insert(const GeneratedTable& table, int rows, RandomChoice& choice) {
  std::vector<Sql> tuples;
  for (int row = 0; row < rows; ++row) {
    std::string tuple = "(" + std::to_string(row);
    for (size_t i = 1; i < table.columns.size(); ++i) {
      tuple += ", " + Literal(table.columns[i].type, choice).ToString();
    }
    tuples.emplace_back(tuple + ")");
  }
  if (tuples.empty()) return "";
  return {0, {"INSERT INTO " + table.name + " VALUES ", List(std::move(tuples)), ";\n"}};
}

}  // namespace

std::string NameOf(SqlType type) {
  switch (type) {
    case kSmallInt:
      return "SMALLINT";
    case kInteger:
      return "INTEGER";
    case kBigInt:
      return "BIGINT";
    case kReal:
      return "REAL";
    case kDouble:
      return "DOUBLE PRECISION";
    case kText:
      return "TEXT";
    case kBoolean:
      return "BOOLEAN";
    case kDate:
      return "DATE";
    case kTimestamp:
      return "TIMESTAMP";
    case kInterval:
      return "INTERVAL";
    case kDecimal:
      return "NUMERIC";
  }
  return "";
}

Sql Literal(SqlType type, RandomChoice& choice) {
  const std::string text = choice.Chance(12) ? "NULL" : LiteralText(type, choice);
  // Casts keep NULL and fractions from being TEXT and NUMERIC in PostgreSQL.
  const bool plain = (type == kInteger || type == kText || type == kBoolean) && text != "NULL";
  return {static_cast<char>(type), {plain ? text : "CAST(" + text + " AS " + NameOf(type) + ")"}};
}

std::vector<GeneratedTable> GenerateTables(RandomChoice& choice) {
  // Shared names make USING and NATURAL joins.
  const std::vector<GeneratedColumn> all = {
      {"g", kInteger},   {"h", kInteger},  {"n", kBigInt}, {"s", kSmallInt}, {"x", kDouble},
      {"y", kReal},      {"t", kText},     {"u", kText},   {"p", kBoolean},  {"e", kDate},
      {"m", kTimestamp}, {"v", kInterval}, {"k", kDecimal}};
  std::vector<GeneratedTable> tables;
  for (int i = 0; i < 4; ++i) {
    GeneratedTable table{.name = std::string("t") + std::to_string(i), .columns = {}, .create = ""};
    table.columns.push_back({"id", choice.Chance(50) ? kInteger : kBigInt});
    for (const GeneratedColumn& column : all) {
      if (i == 0 || choice.Chance(60)) table.columns.push_back(column);
    }
    std::string create = "CREATE TABLE " + table.name + " (";
    for (size_t c = 0; c < table.columns.size(); ++c) {
      create += (c == 0 ? "" : ", ") + table.columns[c].name + " " + NameOf(table.columns[c].type);
      if (table.columns[c].type == kDecimal) create += "(8,2)";
      if (c == 0 && choice.Chance(50)) create += " PRIMARY KEY";
    }
    const int rows = i == 3 && choice.Chance(50) ? 0 : choice.Of(std::vector<int>{1, 3, 7, 12, 20});
    table.create = {0, {create + ");\n", Insert(table, rows, choice)}};
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace adjoin
