#include <algorithm>
#include <utility>

#include "tests/differential/generate_query.h"

namespace adjoin {
namespace {

using Texts = std::vector<std::string>;

}  // namespace

Sql QueryGenerator::Node(SqlType type, std::vector<Sql> parts) {
  parts.insert(parts.begin(), "(");
  parts.emplace_back(")");
  return {static_cast<char>(type), std::move(parts)};
}

Sql QueryGenerator::Cast(Sql value, SqlType type) {
  return {static_cast<char>(type), {"CAST(", std::move(value), " AS " + NameOf(type) + ")"}};
}

bool QueryGenerator::Has(const Scope& scope, SqlType type) {
  return std::any_of(scope.begin(), scope.end(), [&](const Name& n) { return n.type == type; });
}

Sql QueryGenerator::Column(SqlType type, const Scope& scope) {
  std::vector<const Name*> of_type;
  for (const Name& name : scope) {
    if (name.type == type) of_type.push_back(&name);
  }
  if (of_type.empty()) return Literal(type, choice_);
  return {static_cast<char>(type), {choice_.Of(of_type)->sql}};
}

Sql QueryGenerator::Leaf(SqlType type, const Scope& scope) {
  return choice_.Chance(20) ? Literal(type, choice_) : Column(type, scope);
}

Sql QueryGenerator::Expr(SqlType type, const Scope& scope, int depth) {
  if (depth <= 0 || choice_.Chance(35)) return Leaf(type, scope);
  if (choice_.Chance(20)) return Selecting(type, scope, depth);
  if (choice_.Chance(8) && subqueries_left_ > 0) return ScalarSubquery(type, scope);
  switch (type) {
    case kSmallInt:
      return Leaf(type, scope);
    case kInteger:
    case kBigInt:
      return IntegerExpr(type, scope, depth);
    case kReal:
    case kDouble:
      return FloatExpr(type, scope, depth);
    case kText:
      return TextExpr(scope, depth);
    case kBoolean:
      return Predicate(scope, depth);
    case kDate:
      return DateExpr(scope, depth);
    case kTimestamp:
      return TimestampExpr(scope, depth);
    case kInterval:
      return IntervalExpr(scope, depth);
    case kDecimal:
      return DecimalExpr(scope, depth);
  }
  return Leaf(type, scope);
}

Sql QueryGenerator::NarrowerArm(SqlType type, const Scope& scope) {
  static const Types kNarrowFirst = {kSmallInt, kInteger, kBigInt, kDecimal, kReal, kDouble};
  const auto own = std::find(kNarrowFirst.begin(), kNarrowFirst.end(), type);
  if (own == kNarrowFirst.end()) return type == kTimestamp ? Leaf(kDate, scope) : Leaf(type, scope);
  if (own >= kNarrowFirst.begin() + 3 && choice_.Chance(50))
    return {static_cast<char>(kDecimal), {choice_.Of(Texts{"1.5", "0.25", "-3.75", "2.00"})}};
  return Leaf(choice_.Of(Types(kNarrowFirst.begin(), own + 1)), scope);
}

Sql QueryGenerator::Selecting(SqlType type, const Scope& scope, int depth) {
  // One arm is of the type, so that this is the type of all.
  bool first = true;
  const auto sub = [&] {
    const bool narrow = !first && choice_.Chance(25);
    first = false;
    return narrow ? NarrowerArm(type, scope) : Expr(type, scope, depth - 1);
  };
  switch (choice_.Below(5)) {
    case 0:
      return Node(type, {"CASE WHEN ", Predicate(scope, depth - 1), " THEN ", sub(),
                         Optional({" WHEN ", Predicate(scope, depth - 1), " THEN ", sub()}),
                         Optional({" ELSE ", sub()}), " END"});
    case 1: {
      const SqlType of = RandomType();
      return Node(type, {"CASE ", Leaf(of, scope), " WHEN ", Literal(of, choice_), " THEN ", sub(),
                         Optional({" ELSE ", sub()}), " END"});
    }
    case 2:
      return Node(type, {"COALESCE(", List({sub(), sub()}), ")"});
    case 3:
      return Node(type, {"NULLIF(", sub(), ", ", Expr(type, scope, depth - 1), ")"});
    default:
      return Node(type, {choice_.Chance(50) ? "GREATEST(" : "LEAST(", List({sub(), sub()}), ")"});
  }
}

Sql QueryGenerator::IntegerExpr(SqlType type, const Scope& scope, int depth) {
  // Remainders keep sums and products in range.
  const auto small = [&] {
    return Node(type, {Expr(type, scope, depth - 1), choice_.Chance(50) ? " % 1009" : " % 10"});
  };
  switch (choice_.Below(9)) {
    case 0:
      return Node(type, {small(), " + ", small()});
    case 1:
      return Node(type, {small(), " - ", small()});
    case 2:
      return Node(type, {small(), " * ", small()});
    case 3:
      return Node(type, {small(), " / NULLIF(", small(), ", 0)"});
    case 4:
      return Node(type, {choice_.Chance(50) ? "- (" : "abs(", small(), ")"});
    case 5: {
      const SqlType from =
          type == kInteger ? choice_.Of(Types{kSmallInt, kBoolean, kDecimal}) : kInteger;
      return Cast(Expr(from, scope, depth - 1), type);
    }
    case 6:
      return Cast(TextMeasure(scope, depth), type);
    case 7:
      if (choice_.Chance(40))
        return Node(type, {choice_.Chance(50) ? "gcd(" : "lcm(", small(), ", ", small(), ")"});
      return Node(type, {small(), choice_.Of(Texts{" & ", " | ", " # "}), small()});
    default:
      return Node(type, {small(), " % NULLIF(", small(), ", 0)"});
  }
}

Sql QueryGenerator::FloatExpr(SqlType type, const Scope& scope, int depth) {
  const auto sub = [&] { return Expr(type, scope, depth - 1); };
  switch (choice_.Below(8)) {
    case 0:
      return Node(type, {sub(), " + ", sub()});
    case 1:
      return Node(type, {sub(), " - ", sub()});
    case 2:
      return Node(type, {sub(), " * ", sub()});
    case 3:
      return Node(type, {sub(), " / NULLIF(", sub(), ", 0)"});
    case 4:
      return Node(type, {choice_.Chance(50) ? "- (" : "abs(", sub(), ")"});
    case 5:
      if (type == kReal) return Cast(Expr(kDouble, scope, depth - 1), type);
      if (choice_.Chance(40)) return DatePart(scope, depth);
      return Node(type,
                  {choice_.Of(Texts{"floor(", "ceil(", "round(", "trunc(", "sign("}), sub(), ")"});
    default:
      return Cast(Expr(choice_.Of(Types{kSmallInt, kInteger, kBigInt, kDecimal,
                                        type == kReal ? kInteger : kReal}),
                       scope, depth - 1),
                  type);
  }
}

// Factors are names and literals, so that results stay within the 36 digits of a NUMERIC here.
Sql QueryGenerator::DecimalExpr(const Scope& scope, int depth) {
  const auto sub = [&] { return Expr(kDecimal, scope, depth - 1); };
  const auto leaf = [&] { return Leaf(kDecimal, scope); };
  const auto round = [&](Sql value) {
    return Node(kDecimal, {choice_.Chance(70) ? "round(" : "trunc(", std::move(value),
                           choice_.Of(Texts{", 2)", ", 0)", ", -1)", ", 4)"})});
  };
  switch (choice_.Below(10)) {
    case 0:
      return Node(kDecimal, {sub(), choice_.Chance(50) ? " + " : " - ", sub()});
    case 1:
      return Node(kDecimal,
                  {sub(), choice_.Of(Texts{" + 1.10", " * 0.5", " - 3", " * (1 - 0.06)"})});
    case 2:
      return round(Node(kDecimal, {leaf(), " * ", leaf()}));
    case 3:
      return round(Node(kDecimal, {leaf(), " / NULLIF(", leaf(), ", 0)"}));
    case 4:
      if (choice_.Chance(40)) return Node(kDecimal, {"div(", sub(), ", NULLIF(", leaf(), ", 0))"});
      return Node(kDecimal, {sub(), " % NULLIF(", leaf(), ", 0)"});
    case 5:
      return Node(kDecimal, {choice_.Of(Texts{"- (", "abs(", "sign(", "floor(", "ceil(", "round(",
                                              "trunc(", "trim_scale("}),
                             sub(), ")"});
    case 6:
      return round(sub());
    case 7:
      return Cast(Expr(kDouble, scope, 0), kDecimal);
    default:
      return Cast(Expr(choice_.Of(Types{kSmallInt, kInteger}), scope, depth - 1), kDecimal);
  }
}

Sql QueryGenerator::Comparison(const Scope& scope, int depth) {
  static const Texts kOperators = {
      " = ", " <> ", " < ", " <= ", " > ", " >= ", " IS DISTINCT FROM ", " IS NOT DISTINCT FROM "};
  SqlType left = RandomType();
  SqlType right = left;
  if (choice_.Chance(25)) {
    const Types numbers = {kSmallInt, kInteger, kBigInt, kReal, kDouble, kDecimal};
    left = choice_.Of(numbers);
    right = choice_.Of(numbers);
  } else if (left == kDate && choice_.Chance(30)) {
    right = kTimestamp;
  }
  if (choice_.Chance(5)) return RowComparison(left, right, scope);
  if (choice_.Chance(10)) {
    return Node(kBoolean, {"(", Expr(left, scope, depth - 1), ", ", Leaf(kInteger, scope), ")",
                           choice_.Of(Texts(kOperators.begin(), kOperators.begin() + 6)), "(",
                           Expr(right, scope, depth - 1), ", ", Leaf(kInteger, scope), ")"});
  }
  return Node(kBoolean, {Expr(left, scope, depth - 1), choice_.Of(kOperators),
                         Expr(right, scope, depth - 1)});
}

Sql QueryGenerator::Predicate(const Scope& scope, int depth) {
  if (depth <= 0) return Comparison(scope, 1);
  if (subqueries_left_ > 0 && choice_.Chance(12)) return SubqueryPredicate(scope);
  const auto sub = [&] { return Predicate(scope, depth - 1); };
  const SqlType of = RandomType();
  const auto value = [&] { return Expr(of, scope, depth - 1); };
  switch (choice_.Below(10)) {
    case 0:
      return Node(kBoolean, {sub(), " AND ", sub()});
    case 1:
      return Node(kBoolean, {sub(), " OR ", sub()});
    case 2:
      return Node(kBoolean, {"NOT ", sub()});
    case 3:
      return Node(kBoolean, {value(), choice_.Chance(50) ? " IS NULL" : " IS NOT NULL"});
    case 4:
      return Node(kBoolean, {value(), Optional({" NOT"}), " BETWEEN ", Optional({"SYMMETRIC "}),
                             value(), " AND ", value()});
    case 5:
      return Node(kBoolean, {value(), choice_.Chance(40) ? " NOT IN (" : " IN (",
                             List({value(), value(), value()}), ")"});
    case 6:
      return Node(kBoolean,
                  {sub(), choice_.Of(Texts{" IS TRUE", " IS NOT TRUE", " IS FALSE", " IS NOT FALSE",
                                           " IS UNKNOWN", " IS NOT UNKNOWN"})});
    case 7:
      return TextPredicate(scope, depth);
    default:
      return Comparison(scope, depth);
  }
}

Sql QueryGenerator::SubqueryPredicate(const Scope& scope) {
  --subqueries_left_;
  const SqlType type = RandomType();
  switch (choice_.Below(4)) {
    case 3:
      return Node(kBoolean,
                  {"(", Leaf(type, scope), ", ", Leaf(kInteger, scope), ")",
                   choice_.Of(Texts{" = ANY (", " <> ANY (", " < ALL (", " <> ALL ("}),
                   PlainSelect({type, kInteger}, choice_.Chance(50) ? scope : Scope{}, 0), ")"});
    case 0:
      return Node(kBoolean, {choice_.Chance(40) ? "NOT EXISTS (" : "EXISTS (",
                             PlainSelect({type}, scope, 0), ")"});
    case 1:
      return Node(kBoolean, {Leaf(type, scope), choice_.Chance(50) ? " NOT IN (" : " IN (",
                             PlainSelect({type}, choice_.Chance(50) ? scope : Scope{}, 0), ")"});
    default:
      return Node(kBoolean, {Leaf(type, scope),
                             choice_.Of(Texts{" = ANY (", " < ALL (", " >= ANY (", " <> ALL ("}),
                             PlainSelect({type}, Scope{}, 0), ")"});
  }
}

Sql QueryGenerator::ScalarSubquery(SqlType type, const Scope& scope) {
  --subqueries_left_;
  const int saved = std::exchange(subqueries_left_, 0);
  Scope inner;
  Sql from = From(inner, 0);
  Sql aggregate = Aggregate(type, inner);
  if (choice_.Chance(60)) inner.insert(inner.end(), scope.begin(), scope.end());
  Sql where = Where(inner, 80);
  subqueries_left_ = saved;
  return Node(type, {"SELECT ", std::move(aggregate), " FROM ", std::move(from), std::move(where)});
}

// Reads a column first: PostgreSQL computes constants also where there is no row to need them.
Sql QueryGenerator::FailingExpr(const Scope& scope) {
  const Name& first = choice_.Of(scope);
  const auto arithmetic = [&]() -> Sql {
    return {
        0,
        {first.sql, choice_.Of(Texts{" / ", " % ", " + ", " - ", " * "}), Leaf(first.type, scope)}};
  };
  switch (first.type) {
    case kText:
      return Cast(first.sql, choice_.Of(Types{kInteger, kBigInt, kDouble, kBoolean, kDate,
                                              kTimestamp, kInterval, kDecimal}));
    case kDate:
      return {0, {first.sql, " + 2147483647"}};
    case kTimestamp:
      return {0, {first.sql, " + INTERVAL '100000 years' * 2"}};
    case kInterval:
      return {0, {first.sql, " / ", Leaf(kDouble, scope)}};
    case kDecimal:
      if (choice_.Chance(50)) return Cast(first.sql, choice_.Of(Types{kSmallInt, kInteger}));
      if (choice_.Chance(50)) return {0, {"CAST(", first.sql, " AS NUMERIC(3,1))"}};
      return arithmetic();
    case kBoolean:
      return Cast(first.sql, kInteger);
    case kReal:
    case kDouble:
      return Cast(first.sql, choice_.Of(Types{kSmallInt, kInteger, kBigInt}));
    default:
      break;
  }
  if (choice_.Chance(20)) return Cast(first.sql, choice_.Of(Types{kSmallInt, kInteger}));
  if (choice_.Chance(20)) return {0, {choice_.Chance(50) ? "-" : "abs", "(", first.sql, ")"}};
  return arithmetic();
}

Sql QueryGenerator::Aggregate(SqlType type, const Scope& scope) {
  const auto filter = [&]() -> Sql {
    if (!choice_.Chance(20)) return "";
    return Optional({" FILTER (WHERE ", Predicate(scope, 1), ")"});
  };
  const auto distinct = [&]() -> Sql { return choice_.Chance(15) ? Optional({"DISTINCT "}) : ""; };
  const auto call = [&](const std::string& name, SqlType of) {
    return Sql(0, {name + "(", distinct(), Expr(of, scope, 1), ")", filter()});
  };
  const auto small = [&](SqlType of) {
    return Sql(0, {"(", distinct(), Expr(of, scope, 1), " % 1009)", filter()});
  };
  switch (type) {
    case kSmallInt:
    case kReal:
    case kInteger:
    case kDate:
    case kTimestamp:
    case kInterval:
      return Node(type, {call(choice_.Chance(50) ? "min" : "max", type)});
    case kDecimal:
      return Node(type, {call(choice_.Of(Texts{"min", "max", "sum", "avg"}), type)});
    case kBigInt:
      switch (choice_.Below(5)) {
        case 0:
          return Node(type, {"count(*)", filter()});
        case 1:
          return Node(type, {call("count", RandomType())});
        case 2:
          return Node(type, {"sum", small(choice_.Of(Types{kInteger, kSmallInt}))});
        case 3:
          return Cast(Sql(0, {"sum", small(kBigInt)}), kBigInt);
        default:
          return Node(type, {call(choice_.Chance(50) ? "min" : "max", type)});
      }
    case kDouble:
      switch (choice_.Below(4)) {
        case 0:
          return Cast(Sql(0, {"avg", small(choice_.Of(Types{kInteger, kBigInt}))}), kDouble);
        case 1:
          return Node(type, {call("avg", choice_.Of(Types{kDouble, kReal}))});
        case 2:
          return Node(type, {call("sum", kDouble)});
        default:
          return Node(type, {call(choice_.Chance(50) ? "min" : "max", type)});
      }
    case kText:
      if (choice_.Chance(50)) return Node(type, {call(choice_.Chance(50) ? "min" : "max", type)});
      {
        // The order is that of what is joined, so ties do not show.
        const Sql value = Cast(Leaf(kText, scope), kText);
        return Node(type, {"string_agg(", distinct(), value, ", ',' ORDER BY ", value,
                           choice_.Of(Texts{"", " DESC", " NULLS FIRST"}), ")", filter()});
      }
    case kBoolean:
      return Node(type, {call(choice_.Of(Texts{"bool_and", "bool_or", "every"}), type)});
  }
  return "";
}

Sql QueryGenerator::Statistic(const Scope& scope) {
  const Sql x = Leaf(kDouble, scope);
  const Sql y = Leaf(kDouble, scope);
  switch (choice_.Below(4)) {
    case 0:
      return Node(kDouble,
                  {choice_.Of(Texts{"var_pop", "var_samp", "stddev_pop", "stddev"}), "(", x, ")"});
    case 1:
      return Node(kDouble, {choice_.Of(Texts{"covar_pop", "covar_samp", "corr", "regr_slope",
                                             "regr_intercept", "regr_r2", "regr_sxx", "regr_avgx"}),
                            "(", x, ", ", y, ")"});
    case 2:
      return Node(kDouble, {"percentile_cont(", choice_.Of(Texts{"0", "0.25", "0.5", "0.9", "1"}),
                            ") WITHIN GROUP (ORDER BY ", x, choice_.Of(Texts{"", " DESC"}), ")"});
    default:
      return Node(kDouble, {choice_.Chance(50) ? "percentile_disc(0.4)" : "mode()",
                            " WITHIN GROUP (ORDER BY ", x, ")"});
  }
}

}  // namespace adjoin
