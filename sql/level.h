// What is known of one query level while it is bound: names in scope, and what waits for a plan.
//
// An expression of a query level is bound over the columns of its FROM clause, before it is known
// what the level's plan will look like. What is not a column yet - an aggregate, a window call, a
// subquery's value, a column of a query around this one - is a placeholder: a parameter with an
// index of kFirstPlaceholder or more, put in its place when the plan below it exists. No
// placeholder is left when binding ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/node.h"
#include "sql/tree.h"

namespace adjoin {

inline constexpr int kFirstPlaceholder = 1 << 20;
inline bool IsPlaceholder(const Expr& e) {
  return e.kind == ExprKind::kParameter && e.index >= kFirstPlaceholder;
}

// A bound expression. `unknown`: a string literal, NULL or $n whose type is still open.
struct Typed {
  ExprRef expr;
  bool unknown = false;
  int location = -1;  // where it begins in the text
};

struct OutputColumn {
  std::string name;
  TypeId type;
  bool unknown = false;  // a constant that a UNION or INSERT may still give another type
  bool written = false;  // a literal with a point, which beside a NUMERIC is one
};

// A bound query: its node has exactly these columns.
struct Query {
  NodeRef node;
  std::vector<OutputColumn> columns;
};

struct RangeColumn {
  std::string name;
  ExprRef expr;  // over the columns of the FROM clause
};

// A name in FROM that columns can be qualified with.
struct RangeVariable {
  std::string name;      // the alias, or the relation's own name; empty: columns only
  std::string relation;  // the relation's own name, for hints; empty for a subquery
  std::vector<RangeColumn> columns;
  int leaf = -1;                 // its place among the FROM's relations, left to right
  int first_column = 0;          // of its node's, among the FROM's
  NodeRef node;                  // what it ranges over
  std::optional<Schema> schema;  // of a base table
};

// A name that stands without qualification, in the order of `*`.
struct VisibleColumn {
  std::string name;
  ExprRef expr;
  int range = -1;  // index of its range variable; -1: merged by USING
};

struct Names {
  std::vector<RangeVariable> ranges;
  std::vector<VisibleColumn> columns;
};

// A WITH item. Every reference shares the node.
struct Cte {
  std::string name;
  Query query;
  bool modifying = false;  // INSERT, UPDATE or DELETE: has no rows
};

// The WITH items in force at some point of the text; inner ones hide outer ones.
struct CteScope {
  const CteScope* outer = nullptr;
  std::vector<Cte> ctes;           // those bound so far
  std::vector<std::string> names;  // of all items; those behind the first ctes.size() come later
  bool recursive = false;
};

// Whether `name` is an item of this WITH that is not bound yet.
bool ComesLater(const CteScope& scope, std::string_view name);

struct AggregateCall {
  int placeholder;
  Aggregate aggregate;
  std::vector<SortKey> order;  // of the rows it reads, where that shows
};

// GROUPING(args): which of them the grouping set of a row lacks, a bit each.
struct GroupingCall {
  int placeholder;
  std::vector<Typed> args;
};

struct WindowSpec {
  std::vector<ExprRef> partition;
  std::vector<SortKey> order;
  Frame frame;
};
struct WindowUse {
  int placeholder;
  WindowSpec spec;
  WindowCall call;
};

// A scalar subquery: one column, at most one row a row of the level.
struct ScalarSubquery {
  int placeholder;
  NodeRef plan;
  bool below_groups;  // used by WHERE, a group key or an aggregate's argument
  bool attached = false;
  ExprRef guard = nullptr;  // over the level, what must hold for it to be computed; null: nothing
};

// A grad or vjp call of a level: the gradient is column `column` behind those of the leaf's node.
struct GradientColumn {
  int leaf = -1;
  int column = -1;
  TypeId type;
};

// One SELECT, or one data-modifying statement.
struct Level {
  int id = 0;
  Level* outer = nullptr;  // the query this one is a subquery of
  const Level* around =
      nullptr;  // of a subquery in FROM: the query whose FROM it is; for error hints
  std::vector<std::string> from_names;  // of the FROM clause, visible here or not; for error hints
  const CteScope* ctes = nullptr;
  Names names;
  std::vector<AggregateCall> aggregates;
  std::vector<GroupingCall> groupings;
  std::vector<WindowUse> windows;
  std::vector<WindowUse> group_windows;  // over the rows of each group, for aggregates to read
  std::vector<ScalarSubquery> subqueries;
  absl::flat_hash_map<std::string, const Json*> window_definitions;  // WINDOW clause
  absl::flat_hash_map<const Json*, GradientColumn> gradients;  // by the call's body in the tree
  absl::flat_hash_map<int, int> column_locations;              // of ungrouped uses, for errors
  absl::flat_hash_map<int, int> outer_locations;               // the same of uses by subqueries
};

enum class Clause {
  kSelect,
  kWhere,
  kGroupBy,
  kHaving,
  kOrderBy,
  kJoin,
  kValues,
  kLimit,
  kFromFunction,
  kUpdate,
  kFilter,
  kWindowDefinition,
  kWindowRows,  // offsets of frames
  kWindowRange,
  kWindowGroups,
  kConstants
};

// The place of an expression in a CASE, COALESCE, AND or OR: it is computed only where the operands
// before it leave that open.
struct Branch {
  enum class Open : uint8_t { kNotTrue, kNotFalse, kNull };
  const Branch* around;                // the place of the whole
  Open open;                           // what the operands before it must be
  const std::vector<ExprRef>& before;  // these
  bool last_holds = false;             // but for the last, which must be TRUE: a CASE's value
};

// Where an expression stands.
struct Context {
  Level* level;
  const Names* names;  // the level's, or of the two sides of a JOIN
  Clause clause;
  bool in_aggregate = false;  // inside an aggregate's arguments or filter
  bool in_window = false;     // inside a window call's arguments, filter or definition
  const Branch* branch = nullptr;
};

}  // namespace adjoin
