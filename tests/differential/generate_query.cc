#include "tests/differential/generate_query.h"

#include <algorithm>
#include <utility>

namespace adjoin {
namespace {

using Texts = std::vector<std::string>;

const Texts kDirections = {"", " DESC", " NULLS FIRST", " DESC NULLS LAST"};

}  // namespace

QueryGenerator::QueryGenerator(const std::vector<GeneratedTable>& tables, RandomChoice& choice)
    : choice_(choice) {
  for (const GeneratedTable& table : tables) tables_.push_back({table.name, table.columns});
}

SqlType QueryGenerator::RandomType() {
  return choice_.Of(Types{kSmallInt, kInteger, kInteger, kInteger, kBigInt, kBigInt, kReal, kDouble,
                          kDouble, kText, kText, kBoolean, kDate, kTimestamp, kInterval, kDecimal,
                          kDecimal});
}

QueryGenerator::Types QueryGenerator::RandomTypes(int most) {
  Types types(static_cast<size_t>(choice_.Between(1, most)));
  for (SqlType& type : types) type = RandomType();
  return types;
}

std::string QueryGenerator::NewAlias() { return "r" + std::to_string(aliases_++); }

const QueryGenerator::Relation& QueryGenerator::AnyRelation() {
  return !ctes_.empty() && choice_.Chance(40) ? choice_.Of(ctes_) : choice_.Of(tables_);
}

Sql QueryGenerator::Items(const Types& types, const Scope& scope) {
  std::vector<Sql> items;
  for (size_t i = 0; i < types.size(); ++i) {
    items.push_back(Sql(0, {Expr(types[i], scope, 2), " AS c" + std::to_string(i)}));
  }
  return {0, std::move(items), ", "};
}

Sql QueryGenerator::Where(const Scope& scope, int percent) {
  if (!choice_.Chance(percent)) return "";
  return Optional({" WHERE ", Predicate(scope, 2)});
}

Sql QueryGenerator::OrderByAll(size_t columns) {
  std::vector<Sql> keys;
  for (size_t i = 0; i < columns; ++i) {
    keys.emplace_back(std::to_string(i + 1) + choice_.Of(kDirections));
  }
  for (size_t i = keys.size(); i > 1; --i) {
    std::swap(keys[i - 1], keys[static_cast<size_t>(choice_.Below(static_cast<int>(i)))]);
  }
  return {0, {" ORDER BY ", Sql(0, std::move(keys), ", ")}};
}

Sql QueryGenerator::Source(Scope& scope, int depth) {
  const std::string alias = NewAlias();
  if (depth > 0 && choice_.Chance(25)) {
    const Types types = RandomTypes(3);
    Sql query = Query(types, {}, depth - 1);
    if (choice_.Chance(20)) {
      query = {Sql::kQuery,
               {"SELECT * FROM (", std::move(query), ") AS " + alias + "x",
                OrderByAll(types.size()), Optional({" LIMIT ", std::to_string(choice_.Below(6))}),
                Optional({" OFFSET ", std::to_string(choice_.Below(3))})}};
    }
    for (size_t i = 0; i < types.size(); ++i) {
      scope.push_back({alias + ".c" + std::to_string(i), types[i]});
    }
    return {0, {"(", std::move(query), ") AS " + alias}};
  }
  const Relation& relation = AnyRelation();
  for (const GeneratedColumn& column : relation.columns) {
    scope.push_back({alias + "." + column.name, column.type});
  }
  return relation.name + " AS " + alias;
}

// USING, or NATURAL, over two tables; the merged columns are named without a table.
Sql QueryGenerator::JoinUsing(Scope& scope) {
  const Relation& left = choice_.Of(tables_);
  const Relation& right = choice_.Of(tables_);
  const std::string a = NewAlias();
  const std::string b = NewAlias();
  const bool natural = choice_.Chance(15);
  std::vector<Sql> merged;
  std::vector<std::string> names;
  for (const GeneratedColumn& l : left.columns) {
    for (const GeneratedColumn& r : right.columns) {
      if (l.name != r.name || l.name == "u" || (!natural && !choice_.Chance(30))) continue;
      names.push_back(l.name);
      merged.emplace_back(l.name);
      // id is INTEGER in some tables and BIGINT in others.
      scope.push_back({l.name, l.type == kBigInt || r.type == kBigInt ? kBigInt : l.type});
    }
  }
  if (natural || merged.empty()) {
    scope.clear();
    names.clear();
    merged = {"id"};
    names.emplace_back("id");
    scope.push_back({"id", left.columns[0].type == kBigInt ? kBigInt : right.columns[0].type});
  }
  for (const auto& [relation, alias] : {std::pair(&left, a), std::pair(&right, b)}) {
    for (const GeneratedColumn& column : relation->columns) {
      scope.push_back({alias + "." + column.name, column.type});
    }
  }
  return {0,
          {left.name + " AS " + a + choice_.Of(Texts{" ", " LEFT ", " RIGHT ", " FULL "}) +
               "JOIN " + right.name + " AS " + b + " USING (",
           List(std::move(merged)), ")"}};
}

Sql QueryGenerator::From(Scope& scope, int depth) {
  if (choice_.Chance(12)) return JoinUsing(scope);
  Sql from = Source(scope, depth);
  const int joins = choice_.Of(std::vector<int>{0, 0, 1, 1, 2});
  for (int i = 0; i < joins; ++i) {
    const Scope left = scope;
    Scope right;
    if (choice_.Chance(12)) {
      const Types types = RandomTypes(2);
      const std::string alias = NewAlias();
      Sql query = PlainSelect(types, left, 0);
      const bool outer = choice_.Chance(40);
      from = {0,
              {std::move(from),
               Optional({outer ? " LEFT JOIN LATERAL (" : " CROSS JOIN LATERAL (", std::move(query),
                         ") AS " + alias, outer ? " ON TRUE" : ""})}};
      for (size_t c = 0; c < types.size(); ++c) {
        scope.push_back({alias + ".c" + std::to_string(c), types[c]});
      }
      continue;
    }
    Sql source = Source(right, depth);
    std::string kind = choice_.Of(
        Texts{" CROSS JOIN ", " JOIN ", " JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "});
    Sql condition;
    if (kind != " CROSS JOIN ") {
      const SqlType key = RandomType();
      // Of FULL JOIN PostgreSQL takes equalities of columns of both sides only.
      if (kind == " FULL JOIN " && (!Has(left, key) || !Has(right, key))) kind = " LEFT JOIN ";
      condition = Sql(0, {" ON ", Sql(kBoolean, {Column(key, left), " = ", Column(key, right)})});
      Scope both = left;
      both.insert(both.end(), right.begin(), right.end());
      if (kind != " FULL JOIN " && choice_.Chance(30)) {
        const bool outer = kind != " JOIN ";  // subqueries are not supported there
        const int saved = outer ? std::exchange(subqueries_left_, 0) : subqueries_left_;
        condition = Sql(0, {std::move(condition), Optional({" AND ", Predicate(both, 1)})});
        if (outer) subqueries_left_ = saved;
      }
    }
    from = {0, {std::move(from), Optional({kind, std::move(source), std::move(condition)})}};
    scope.insert(scope.end(), right.begin(), right.end());
  }
  return from;
}

Sql QueryGenerator::PlainSelect(const Types& types, const Scope& outer, int depth) {
  Scope scope;
  Sql from = From(scope, depth);
  Scope visible = scope;
  visible.insert(visible.end(), outer.begin(), outer.end());
  return {Sql::kQuery,
          {"SELECT ", choice_.Chance(15) ? Optional({"DISTINCT "}) : Sql(""),
           Items(types, choice_.Chance(20) ? visible : scope), " FROM ", std::move(from),
           Where(visible, 60)}};
}

Sql QueryGenerator::GroupKeys(const Scope& keys) {
  std::vector<Sql> items;
  for (const Name& key : keys) items.push_back(key.sql);
  const Sql all(0, items, ", ");
  if (keys.empty()) return "";
  // PostgreSQL 15 folds a key such as COALESCE(1, x) before it knows of the sets that lack it.
  const bool columns =
      std::all_of(items.begin(), items.end(), [](const Sql& key) { return key.kind == 0; });
  if (!columns || choice_.Chance(60)) return {0, {" GROUP BY ", all}};
  if (choice_.Chance(50)) {
    return {0, {choice_.Chance(50) ? " GROUP BY ROLLUP (" : " GROUP BY CUBE (", all, ")"}};
  }
  std::vector<Sql> sets = {Sql(0, {"(", all, ")"}), "()"};
  for (const Sql& item : items) sets.push_back(item);
  return {0, {" GROUP BY GROUPING SETS (", List(std::move(sets)), ")"}};
}

Sql QueryGenerator::GroupedSelect(const Types& types, int depth) {
  Scope scope;
  Sql from = From(scope, depth);
  Sql where = Where(scope, 40);
  const int saved = std::exchange(subqueries_left_, 0);
  Scope keys;
  const int num_keys = choice_.Below(3);
  for (int i = 0; i < num_keys; ++i) {
    const Name& column = choice_.Of(scope);
    keys.push_back({choice_.Chance(75) ? column.sql : Expr(column.type, scope, 1), column.type});
    // A constant key, or one of a position, is another thing.
    if (keys.back().sql.ToString().find('r') == std::string::npos) keys.back() = column;
  }
  Scope names = keys;
  for (int i = 0; i < 2; ++i) {
    const SqlType type = choice_.Chance(70) ? choice_.Of(types) : RandomType();
    names.push_back({Aggregate(type, scope), type});
  }
  Sql query(Sql::kQuery, {"SELECT "});
  std::vector<Sql> items;
  for (size_t i = 0; i < types.size(); ++i) {
    // Its last digits are open: nothing else may depend on them.
    const bool statistic = depth == 2 && types[i] == kDouble && choice_.Chance(30);
    Sql item = statistic ? Statistic(scope) : Expr(types[i], names, 2);
    if (types[i] == kInteger && !keys.empty() && choice_.Chance(15)) {
      item = Sql(kInteger, {"GROUPING(", keys[0].sql, ")"});
    }
    items.push_back(Sql(0, {std::move(item), " AS c" + std::to_string(i)}));
  }
  query.parts.push_back(Sql(0, std::move(items), ", "));
  query.parts.push_back(Sql(0, {" FROM ", std::move(from), std::move(where)}));
  // Without keys an aggregate in HAVING is what makes one group.
  query.parts.push_back(keys.empty() ? Sql(" GROUP BY ()") : GroupKeys(keys));
  if (choice_.Chance(30)) query.parts.push_back(Optional({" HAVING ", Predicate(names, 1)}));
  subqueries_left_ = saved;
  return query;
}

Sql QueryGenerator::WindowSelect(const Types& types, int depth) {
  const Relation& table = choice_.Of(tables_);
  const std::string alias = NewAlias();
  Scope scope;
  for (const GeneratedColumn& column : table.columns) {
    scope.push_back({alias + "." + column.name, column.type});
  }
  Sql where = Where(scope, depth > 0 ? 40 : 20);
  const int saved = std::exchange(subqueries_left_, 0);
  const Sql unique = alias + ".id";
  std::vector<Sql> items;
  for (size_t i = 0; i < types.size(); ++i) {
    Scope names = scope;
    Sql item = WindowCall(types[i], scope, unique);
    if (choice_.Chance(30)) {
      names.push_back({item, types[i]});
      item = Expr(types[i], {names.back()}, 1);
    }
    items.push_back(Sql(0, {std::move(item), " AS c" + std::to_string(i)}));
  }
  subqueries_left_ = saved;
  return {Sql::kQuery,
          {"SELECT ", Sql(0, std::move(items), ", "), " FROM " + table.name + " AS " + alias,
           std::move(where)}};
}

Sql QueryGenerator::DistinctOn(const Types& types, int depth) {
  const std::string alias = NewAlias();
  Sql order(0, {" ORDER BY "});
  for (size_t i = 0; i < types.size(); ++i) {
    order.parts.emplace_back((i == 0 ? "" : ", ") + std::string("c") + std::to_string(i) +
                             choice_.Of(kDirections));
  }
  return {Sql::kQuery,
          {"SELECT DISTINCT ON (c0) * FROM (", Query(types, {}, depth - 1), ") AS " + alias,
           std::move(order)}};
}

Sql QueryGenerator::SetOperation(const Types& types, int depth) {
  Sql other = Query(types, {}, depth - 1);
  if (choice_.Chance(30)) {
    std::vector<Sql> items;
    for (const SqlType type : types) items.push_back(NarrowerArm(type, {}));
    other = {Sql::kQuery, {choice_.Chance(50) ? "SELECT " : "VALUES (", Sql(0, items, ", ")}};
    if (other.parts[0].ToString() == "VALUES (") other.parts.emplace_back(")");
  }
  Sql first = Query(types, {}, depth - 1);
  const Sql operation(
      0, {choice_.Of(Texts{"UNION", "INTERSECT", "EXCEPT"}), Optional({" ALL"}), " ("});
  return {Sql::kQuery, {"(", std::move(first), ") ", operation, std::move(other), ")"}};
}

// Counts to 4 in its first column, so that it ends.
Sql QueryGenerator::Recursion(const Types& types) {
  const std::string name = NewAlias();
  Types inner = types;
  inner.insert(inner.begin(), kInteger);
  Scope scope;
  std::string columns;
  std::string outputs;
  for (size_t i = 0; i < inner.size(); ++i) {
    columns += (i == 0 ? "k" : ", k" + std::to_string(i));
    if (i > 0) {
      scope.push_back({name + ".k" + std::to_string(i), inner[i]});
      outputs +=
          (i == 1 ? "" : ", ") + scope.back().sql.ToString() + " AS c" + std::to_string(i - 1);
    }
  }
  const int saved = std::exchange(subqueries_left_, 0);
  Sql start = Items(types, {});
  Scope body = scope;
  Sql from = name;
  if (choice_.Chance(50)) {
    const Relation& table = choice_.Of(tables_);
    const std::string alias = NewAlias();
    for (const GeneratedColumn& column : table.columns) {
      body.push_back({alias + "." + column.name, column.type});
    }
    from = {
        0,
        {name, Optional({choice_.Chance(70) ? " JOIN " : " LEFT JOIN ", table.name, " AS " + alias,
                         " ON " + alias + ".id BETWEEN " + name + ".k AND " + name + ".k + 1"})}};
  }
  Sql next = Items(types, body);
  Sql where = choice_.Chance(40) ? Optional({" AND ", Predicate(body, 1)}) : Sql("");
  subqueries_left_ = saved;
  return {Sql::kQuery,
          {"SELECT * FROM (WITH RECURSIVE " + name + "(" + columns + ") AS (SELECT 0, ",
           std::move(start), " UNION", Optional({" ALL"}), " SELECT " + name + ".k + 1, ",
           std::move(next), " FROM ", std::move(from), " WHERE " + name + ".k < 4",
           std::move(where), ") SELECT " + outputs + " FROM " + name + ") AS " + NewAlias()}};
}

Sql QueryGenerator::Query(const Types& types, const Scope& outer, int depth) {
  const int kind = choice_.Below(100);
  if (kind < 35) return PlainSelect(types, outer, depth);
  if (kind < 60) return GroupedSelect(types, depth);
  if (kind < 78) return WindowSelect(types, depth);
  if (depth <= 0) return PlainSelect(types, outer, depth);
  if (kind < 90) return SetOperation(types, depth);
  if (kind < 95) return DistinctOn(types, depth);
  return Recursion(types);
}

GeneratedQuery QueryGenerator::Generate() {
  aliases_ = 0;
  subqueries_left_ = 2;
  ctes_.clear();
  if (choice_.Chance(6)) {
    const Relation& table = choice_.Of(tables_);
    Scope scope;
    for (const GeneratedColumn& column : table.columns) scope.push_back({column.name, column.type});
    return {{Sql::kQuery, {"SELECT ", FailingExpr(scope), " FROM " + table.name}}, false};
  }
  Sql with("");
  if (choice_.Chance(20)) {
    const Types types = RandomTypes(3);
    Sql body = Query(types, {}, 1);
    Relation cte{"w", {}};
    for (size_t i = 0; i < types.size(); ++i)
      cte.columns.push_back({"c" + std::to_string(i), types[i]});
    ctes_.push_back(std::move(cte));
    with = {0, {"WITH w AS (", std::move(body), ") "}};
  }
  const Types types = RandomTypes(4);
  Sql query = Query(types, {}, 2);
  GeneratedQuery out;
  if (choice_.Chance(40)) {
    Sql limit("");
    if (choice_.Chance(50)) {
      limit = Optional({" LIMIT ", std::to_string(choice_.Below(8)),
                        Optional({" OFFSET ", std::to_string(choice_.Below(4))})});
    }
    out.sql = {0,
               {std::move(with), "SELECT * FROM (", std::move(query), ") AS q",
                OrderByAll(types.size()), std::move(limit)}};
    out.ordered = true;
  } else if (choice_.Chance(8)) {
    out.sql = {0,
               {std::move(with), "SELECT * FROM (", std::move(query), ") AS q ORDER BY 1",
                choice_.Of(kDirections), " FETCH FIRST ", std::to_string(choice_.Between(1, 4)),
                " ROWS WITH TIES"}};
  } else {
    out.sql = {0, {std::move(with), std::move(query)}};
  }
  return out;
}

}  // namespace adjoin
