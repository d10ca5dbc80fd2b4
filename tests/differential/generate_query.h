// Seeded queries over generated tables: of one meaning (where SQL leaves an order or a choice open,
// the query does not), and seldom with an error, which would hide the rest.
#pragma once

#include <string>
#include <vector>

#include "tests/differential/generate_tables.h"
#include "tests/differential/random_choice.h"
#include "tests/differential/sql_tree.h"

namespace adjoin {

struct GeneratedQuery {
  Sql sql;
  bool ordered = false;  // by all of its columns
};

class QueryGenerator {
 public:
  QueryGenerator(const std::vector<GeneratedTable>& tables, RandomChoice& choice);
  GeneratedQuery Generate();

 private:
  using Types = std::vector<SqlType>;
  // What an expression may name: columns, or whole calls of aggregates and window functions.
  struct Name {
    Sql sql;
    SqlType type;
  };
  using Scope = std::vector<Name>;
  struct Relation {
    std::string name;
    std::vector<GeneratedColumn> columns;
  };

  // Expressions, in generate_expr.cc. `depth` is how deep they may still nest.
  static Sql Node(SqlType type, std::vector<Sql> parts);  // in parentheses
  static Sql Cast(Sql value, SqlType type);
  Sql Expr(SqlType type, const Scope& scope, int depth);
  Sql Leaf(SqlType type, const Scope& scope);    // a name, or seldom a literal
  Sql Column(SqlType type, const Scope& scope);  // a name; a literal where there is none
  Sql Selecting(SqlType type, const Scope& scope, int depth);  // CASE, COALESCE and their like
  // A name or literal whose type becomes this one beside one of it.
  Sql NarrowerArm(SqlType type, const Scope& scope);
  Sql IntegerExpr(SqlType type, const Scope& scope, int depth);
  Sql FloatExpr(SqlType type, const Scope& scope, int depth);
  Sql DecimalExpr(const Scope& scope, int depth);
  Sql Predicate(const Scope& scope, int depth);
  Sql Comparison(const Scope& scope, int depth);
  Sql SubqueryPredicate(const Scope& scope);
  Sql ScalarSubquery(SqlType type, const Scope& scope);
  Sql FailingExpr(const Scope& scope);  // division by zero, overflow, text that is no number
  Sql Aggregate(SqlType type, const Scope& scope);
  Sql Statistic(const Scope& scope);  // of type double precision
  Sql WindowCall(SqlType type, const Scope& scope, const Sql& unique);
  Sql Frame(SqlType key, bool one_key);

  // Text, dates and intervals, in generate_row_functions.cc.
  Sql TextExpr(const Scope& scope, int depth);
  Sql TextMeasure(const Scope& scope, int depth);  // of type integer
  Sql TextPredicate(const Scope& scope, int depth);
  Sql DateExpr(const Scope& scope, int depth);
  Sql TimestampExpr(const Scope& scope, int depth);
  Sql IntervalExpr(const Scope& scope, int depth);
  Sql DatePart(const Scope& scope, int depth);  // of type double precision
  Sql RowComparison(SqlType left, SqlType right, const Scope& scope);

  // Queries, in generate_query.cc: without a final ORDER BY, with columns c0, c1, ... of `types`.
  Sql Query(const Types& types, const Scope& outer, int depth);
  Sql PlainSelect(const Types& types, const Scope& outer, int depth);
  Sql GroupedSelect(const Types& types, int depth);
  Sql WindowSelect(const Types& types, int depth);
  Sql DistinctOn(const Types& types, int depth);
  Sql SetOperation(const Types& types, int depth);
  Sql Recursion(const Types& types);
  Sql Items(const Types& types, const Scope& scope);
  Sql From(Scope& scope, int depth);
  Sql Source(Scope& scope, int depth);  // a table or a derived table
  Sql JoinUsing(Scope& scope);
  Sql Where(const Scope& scope, int percent);
  Sql GroupKeys(const Scope& keys);
  Sql OrderByAll(size_t columns);

  static bool Has(const Scope& scope, SqlType type);
  Types RandomTypes(int most);
  SqlType RandomType();
  std::string NewAlias();
  const Relation& AnyRelation();

  RandomChoice& choice_;
  std::vector<Relation> tables_;
  std::vector<Relation> ctes_;
  int aliases_ = 0;
  int subqueries_left_ = 0;
};

}  // namespace adjoin
