#include <utility>

#include "tests/differential/generate_query.h"

namespace adjoin {
namespace {

using Texts = std::vector<std::string>;

// Regular expressions that take something of the tables' texts, in one way.
const Texts kRegexps = {"'a'",           "'^a'",       "'b$'",  "'[^a-c]'",      "'\\w+'",
                        "'(a|b)+'",      "'a?b*'",     "'\\s'", "'[[:upper:]]'", "'a.b'",
                        "'^.{2,3}$'",    "'\\mb\\w*'", "''",    "'x*'",          "'(?i)A|\u20ac'",
                        "'\\d+\\.?\\d*'"};

const Texts kFormats = {"'%s %s'", "'%2$s|%1$L'", "'%-6s%%%4s'", "'%1$5s%1$-3s'"};
const Texts kNumberFormats = {"'9999'",     "'S0999.9'",  "'FM9,999,999.99'", "'999999PR'",
                              "'999.99MI'", "'99999999'", "'9G999G999D000'",  "'PL99999.9'",
                              "'FM00.0##'", "'SG9999'",   "'L0999'",          "'9.99EEEE'"};

}  // namespace

Sql QueryGenerator::TextExpr(const Scope& scope, int depth) {
  const auto sub = [&] { return Expr(kText, scope, depth - 1); };
  const auto number = [&](int low, int high) { return std::to_string(choice_.Between(low, high)); };
  switch (choice_.Below(21)) {
    case 20:
      if (choice_.Chance(50)) {
        return Node(kText, {"format(", choice_.Of(kFormats), ", ", sub(), ", ",
                            Leaf(choice_.Of(Types{kInteger, kBoolean, kDate}), scope), ")"});
      }
      return Node(kText,
                  {choice_.Of(Texts{"md5(", "quote_ident(", "quote_nullable("}), sub(), ")"});
    case 19:  // FM: what is not a number's has no digits that count
      return Node(kText,
                  {"to_char(",
                   Expr(choice_.Of(Types{kSmallInt, kInteger, kBigInt, kDecimal, kReal, kDouble}),
                        scope, depth - 1),
                   ", ", choice_.Of(kNumberFormats), ")"});
    case 18:
      return Node(kText,
                  {"to_char(to_timestamp(to_char(", Expr(kTimestamp, scope, depth - 1),
                   ", 'YYYY-MM-DD HH24 BC'), 'YYYY-MM-DD HH24 BC'), 'FMDD FMMon YYYY HH12 am')"});
    case 17:
      if (choice_.Chance(40)) {
        return Node(
            kText,
            {"to_char(", Expr(kInterval, scope, depth - 1), ", ",
             choice_.Of(Texts{"'HH24:MI:SS.US'", "'FMYYYY MM DDth HH'", "'DDD CC Q RM'"}), ")"});
      }
      return Node(kText,
                  {"to_char(", Expr(kTimestamp, scope, depth - 1), ", ",
                   choice_.Of(Texts{"'YYYY-MM-DD HH24:MI:SS.MS'", "'FMDay, DDth Month Y,YYY BC'",
                                    "'IYYY-IW-ID DDD J'", "'Dy DY HH12 a.m. WW W Q CC RM'",
                                    "'YY FMMM \"of\" US SSSS'"}),
                   ")"});
    case 15:
      return Node(
          kText,
          {"regexp_replace(", sub(), ", ", choice_.Of(kRegexps), ", ",
           choice_.Of(Texts{"''", "'<\\&>'", "'-'"}),
           Optional({choice_.Of(Texts{", 'g'", ", 'i'", ", 2", ", 1, 2", ", 1, 0, 'i'"})}), ")"});
    case 16:
      if (choice_.Chance(50))
        return Node(kText, {"substring(", sub(), " FROM ", choice_.Of(kRegexps), ")"});
      return Node(kText, {"regexp_substr(", sub(), ", ", choice_.Of(kRegexps),
                          Optional({choice_.Of(Texts{", 2", ", 1, 2", ", 1, 1, 'i'"})}), ")"});
    case 11:
      return Node(kText, {"overlay(", sub(), " PLACING ", sub(), " FROM ", number(1, 3),
                          Optional({" FOR ", number(-1, 3)}), ")"});
    case 12:
      return Node(kText,
                  {"concat_ws(", sub(), ", ", List({sub(), Leaf(kInteger, scope), sub()}), ")"});
    case 13:
      if (choice_.Chance(50)) return Node(kText, {"quote_literal(", sub(), ")"});
      return Node(kText, {choice_.Chance(50) ? "to_hex(" : "concat(",
                          Expr(choice_.Of(Types{kInteger, kBigInt}), scope, depth - 1), ")"});
    case 0:
      return Node(kText, {sub(), " || ", sub()});
    case 1:
      return Node(kText,
                  {choice_.Of(Texts{"lower(", "upper(", "initcap(", "reverse("}), sub(), ")"});
    case 2:
      return Node(kText, {sub(), " || ", Expr(choice_.Of(Types{kInteger, kBoolean}), scope, 0)});
    case 3:
      return Node(kText,
                  {"substring(", sub(), ", ", number(-2, 4), Optional({", ", number(0, 4)}), ")"});
    case 4:
      return Node(kText,
                  {choice_.Chance(50) ? "left(" : "right(", sub(), ", ", number(-3, 4), ")"});
    case 5:
      return Node(kText, {choice_.Chance(50) ? "lpad(" : "rpad(", sub(), ", ", number(-1, 7),
                          Optional({", ", sub()}), ")"});
    case 6:
      return Node(kText, {choice_.Of(Texts{"ltrim(", "rtrim(", "btrim("}), sub(),
                          Optional({", ", sub()}), ")"});
    case 7:
      return Node(kText, {choice_.Chance(50) ? "replace(" : "translate(", sub(), ", ", sub(), ", ",
                          sub(), ")"});
    case 8:
      return Node(kText, {"repeat(", sub(), ", ", number(-1, 3), ")"});
    case 9:
      return Node(
          kText, {"split_part(", sub(), ", ", sub(), ", ", choice_.Of(Texts{"1", "2", "-1"}), ")"});
    case 10:  // of one scale, which prints
      return Cast(Node(kDecimal, {"round(", Expr(kDecimal, scope, depth - 1), ", 3)"}), kText);
    default:
      return Cast(
          Expr(choice_.Of(Types{kInteger, kBigInt, kBoolean, kDate, kTimestamp}), scope, depth - 1),
          kText);
  }
}

Sql QueryGenerator::TextMeasure(const Scope& scope, int depth) {
  const auto sub = [&] { return Expr(kText, scope, depth - 1); };
  if (choice_.Chance(30)) return Node(kInteger, {"strpos(", sub(), ", ", sub(), ")"});
  if (choice_.Chance(20)) {
    return Node(kInteger, {choice_.Chance(50) ? "num_nulls(" : "num_nonnulls(", sub(), ", ",
                           Leaf(kInteger, scope), ", ", Leaf(kBoolean, scope), ")"});
  }
  if (choice_.Chance(15)) {
    return Node(kInteger, {"width_bucket(", Leaf(choice_.Of(Types{kDecimal, kInteger}), scope),
                           choice_.Of(Texts{", 0, 10, 4)", ", 5, -5, 7)"})});
  }
  if (choice_.Chance(25)) {
    return Node(kInteger, {choice_.Chance(50) ? "regexp_count(" : "regexp_instr(", sub(), ", ",
                           choice_.Of(kRegexps), Optional({", 2"}), ")"});
  }
  return Node(kInteger, {choice_.Of(Texts{"length(", "octet_length(", "ascii("}), sub(), ")"});
}

Sql QueryGenerator::TextPredicate(const Scope& scope, int depth) {
  const auto sub = [&] { return Expr(kText, scope, depth - 1); };
  if (choice_.Chance(15)) return Node(kBoolean, {"starts_with(", sub(), ", ", sub(), ")"});
  if (choice_.Chance(30)) {
    return Node(kBoolean,
                {sub(), choice_.Of(Texts{" ~ ", " ~* ", " !~ ", " !~* "}), choice_.Of(kRegexps)});
  }
  if (choice_.Chance(15)) {
    return Node(kBoolean, {sub(), choice_.Chance(50) ? " SIMILAR TO " : " NOT SIMILAR TO ",
                           choice_.Of(Texts{"'%(a|b)%'", "'_+'", "'a%'", "'[a-c]*'", "'.'"})});
  }
  static const Texts kOperators = {" LIKE ", " NOT LIKE ", " ILIKE ", " NOT ILIKE "};
  static const Texts kPatterns = {"'%a%'", "'_'",     "'%'",   "'a%'", "'%_b'",     "''",
                                  "'__%'", "'%\\%%'", "'a%b'", "'B'",  "'%\u20ac%'"};
  // A pattern that ends in an escape is an error.
  if (choice_.Chance(25))
    return Node(kBoolean, {sub(), choice_.Of(kOperators), "replace(", sub(), ", '\\', '')"});
  return Node(kBoolean, {sub(), choice_.Of(kOperators), choice_.Of(kPatterns),
                         Optional({choice_.Of(Texts{" ESCAPE ''", " ESCAPE 'a'"})})});
}

Sql QueryGenerator::DateExpr(const Scope& scope, int depth) {
  switch (choice_.Below(4)) {
    case 0:
      return Cast(Expr(kTimestamp, scope, depth - 1), kDate);
    case 1:
      return Node(kDate, {"make_date(", choice_.Of(Texts{"2000", "1999", "4"}), ", ",
                          std::to_string(choice_.Between(1, 12)), ", ",
                          std::to_string(choice_.Between(1, 28)), ")"});
    default:
      return Node(kDate, {Expr(kDate, scope, depth - 1), choice_.Chance(50) ? " + " : " - ", "(",
                          Expr(kInteger, scope, depth - 1), " % 1009)"});
  }
}

Sql QueryGenerator::TimestampExpr(const Scope& scope, int depth) {
  switch (choice_.Below(6)) {
    case 5:
      return Node(kTimestamp, {"make_timestamp(2004, ", std::to_string(choice_.Between(1, 12)),
                               ", 28, ", std::to_string(choice_.Between(0, 23)), ", 7, 8.25)"});
    case 2:
      return Node(
          kTimestamp,
          {"date_bin(", choice_.Of(Texts{"'7 days'", "'1:30'", "'0.25 s'"}), ", ",
           Expr(kTimestamp, scope, depth - 1),
           choice_.Of(Texts{", TIMESTAMP '2000-01-01')", ", TIMESTAMP '2002-05-06 07:08:09')"})});
    case 0:
      return Cast(Expr(kDate, scope, depth - 1), kTimestamp);
    case 1:
      return Node(kTimestamp, {"date_trunc(",
                               choice_.Of(Texts{"'century'", "'year'", "'quarter'", "'month'",
                                                "'week'", "'day'", "'hour'", "'milliseconds'"}),
                               ", ", Expr(kTimestamp, scope, depth - 1), ")"});
    default:
      return Node(kTimestamp,
                  {Expr(choice_.Of(Types{kDate, kTimestamp}), scope, depth - 1),
                   choice_.Chance(50) ? " + " : " - ", Expr(kInterval, scope, depth - 1)});
  }
}

Sql QueryGenerator::IntervalExpr(const Scope& scope, int depth) {
  const auto sub = [&] { return Expr(kInterval, scope, depth - 1); };
  switch (choice_.Below(6)) {
    case 0:
      return Node(kInterval, {sub(), choice_.Chance(50) ? " + " : " - ", sub()});
    case 1:
      return Node(kInterval,
                  {choice_.Of(Texts{"- (", "justify_hours(", "justify_days(", "justify_interval("}),
                   sub(), ")"});
    case 2:
      return Node(kInterval, {sub(), choice_.Of(Texts{" * 2", " * 0.5", " * (-1.25)", " / 4"})});
    case 3:
      return Node(kInterval, {"age(", Expr(kTimestamp, scope, depth - 1), ", ",
                              Expr(kTimestamp, scope, depth - 1), ")"});
    case 4:
      return Node(kInterval,
                  {"date_trunc(", choice_.Of(Texts{"'year'", "'month'", "'day'", "'hour'"}), ", ",
                   sub(), ")"});
    default:
      return Node(kInterval, {Expr(kTimestamp, scope, depth - 1), " - ",
                              Expr(choice_.Of(Types{kTimestamp, kDate}), scope, depth - 1)});
  }
}

Sql QueryGenerator::DatePart(const Scope& scope, int depth) {
  Texts fields = {"'year'", "'quarter'", "'month'", "'day'", "'decade'", "'century'"};
  const SqlType of = choice_.Of(Types{kDate, kTimestamp, kInterval});
  if (of != kInterval) {
    for (const char* field : {"'week'", "'dow'", "'isodow'", "'doy'", "'isoyear'", "'julian'"})
      fields.emplace_back(field);
  }
  if (of != kDate) {
    for (const char* field : {"'hour'", "'minute'", "'second'", "'milliseconds'"})
      fields.emplace_back(field);
  }
  fields.emplace_back("'epoch'");
  return Node(kDouble, {"date_part(", choice_.Of(fields), ", ", Expr(of, scope, depth - 1), ")"});
}

// Of two columns each, with an INTEGER as the second.
Sql QueryGenerator::RowComparison(SqlType left, SqlType right, const Scope& scope) {
  const auto row = [&](SqlType first) {
    return Sql(0, {"(", Leaf(first, scope), ", ", Leaf(kInteger, scope), ")"});
  };
  switch (choice_.Below(4)) {
    case 0:
      return Node(kBoolean, {row(left), choice_.Chance(50) ? " IN (" : " NOT IN (",
                             List({row(right), row(right)}), ")"});
    case 1:
      return Node(kBoolean,
                  {row(left), Optional({" NOT"}), " BETWEEN ", row(right), " AND ", row(right)});
    case 2:
      return Node(kBoolean, {row(left), choice_.Chance(50) ? " IS NULL" : " IS NOT NULL"});
    default:
      return Node(kBoolean,
                  {row(left), choice_.Chance(50) ? " IS DISTINCT FROM " : " IS NOT DISTINCT FROM ",
                   row(right)});
  }
}

}  // namespace adjoin
