// What binding one statement carries along: names in scope, placeholders, parameters, errors.
//
// An expression of a query level is bound over the columns of its FROM clause, before it is known what the level's plan
// will look like. What is not a column yet - an aggregate, a window call, a subquery's value, a column of a query around
// this one - is a placeholder: a parameter with an index of kFirstPlaceholder or more, put in its place when the plan
// below it exists. No placeholder is left when binding ends.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "plan/node.h"
#include "plan/scalar_functions.h"
#include "sql/binder.h"
#include "sql/tree.h"

namespace adjoin {

inline constexpr int kFirstPlaceholder = 1 << 20;
inline bool IsPlaceholder(const Expr& e) { return e.kind == ExprKind::kParameter && e.index >= kFirstPlaceholder; }

// A bound expression. `unknown`: a string literal, NULL or $n whose type is still open.
struct Typed {
  ExprRef expr;
  bool unknown = false;
  int location = -1;                 // where it begins in the text
};

struct OutputColumn {
  std::string name;
  TypeId type;
  bool unknown = false;              // a constant that a UNION or INSERT may still give another type
};

// A bound query: its node has exactly these columns.
struct Query {
  NodeRef node;
  std::vector<OutputColumn> columns;
};

struct RangeColumn {
  std::string name;
  ExprRef expr;                      // over the columns of the FROM clause
};

// A name in FROM that columns can be qualified with.
struct RangeVariable {
  std::string name;                  // the alias, or the relation's own name; empty: columns only
  std::string relation;              // the relation's own name, for hints; empty for a subquery
  std::vector<RangeColumn> columns;
  int leaf = -1;                     // its place among the FROM's relations, left to right
  int first_column = 0;              // of its node's, among the FROM's
  NodeRef node;                      // what it ranges over
  std::optional<Schema> schema;      // of a base table
};

// A name that stands without qualification, in the order of `*`.
struct VisibleColumn {
  std::string name;
  ExprRef expr;
  int range = -1;                    // index of its range variable; -1: merged by USING
};

struct Names {
  std::vector<RangeVariable> ranges;
  std::vector<VisibleColumn> columns;
};

// A WITH item. Every reference shares the node.
struct Cte {
  std::string name;
  Query query;
  bool modifying = false;            // INSERT, UPDATE or DELETE: has no rows
};

// The WITH items in force at some point of the text; inner ones hide outer ones.
struct CteScope {
  const CteScope* outer = nullptr;
  std::vector<Cte> ctes;             // those bound so far
  std::vector<std::string> later;    // names of this WITH that are not bound yet
  bool recursive = false;
};

struct AggregateCall {
  int placeholder;
  Aggregate aggregate;
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
  bool below_groups;                 // used by WHERE, a group key or an aggregate's argument
  bool attached = false;
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
  Level* outer = nullptr;            // the query this one is a subquery of
  const Level* around = nullptr;     // of a subquery in FROM: the query whose FROM it is; for error details
  std::vector<std::string> from_names;   // every name of the FROM clause, visible yet or not; for error details
  const CteScope* ctes = nullptr;
  Names names;
  std::vector<AggregateCall> aggregates;
  std::vector<WindowUse> windows;
  std::vector<ScalarSubquery> subqueries;
  absl::flat_hash_map<std::string, const Json*> window_definitions;   // WINDOW clause
  absl::flat_hash_map<const Json*, GradientColumn> gradients;         // by the call's body in the tree
  absl::flat_hash_map<int, int> column_locations; // of ungrouped uses, for errors
  absl::flat_hash_map<int, int> outer_locations;   // the same of uses by subqueries
};

enum class Clause {
  kSelect, kWhere, kGroupBy, kHaving, kOrderBy, kJoin, kValues, kLimit, kFromFunction, kUpdate, kFilter,
  kWindowDefinition, kConstants
};

// Where an expression stands.
struct Context {
  Level* level;
  const Names* names;                // the level's, or of the two sides of a JOIN
  Clause clause;
  bool in_aggregate = false;         // inside an aggregate's arguments or filter
  bool in_window = false;            // inside a window call's arguments, filter or definition
};

class BindState {
 public:
  BindState(const CatalogView& catalog_view, const BindOptions& bind_options, Planner& statement_planner);

  const CatalogView& catalog;
  const BindOptions& options;
  Planner& planner;

  // An error at a byte offset of the text (< 0: no position).
  absl::Status Error(std::string_view sqlstate, std::string_view message, int location = -1) const;
  absl::Status ErrorWithDetail(std::string_view sqlstate, std::string_view message, std::string_view detail,
                               std::string_view hint, int location) const;
  absl::Status NotSupported(std::string_view construct, int location = -1) const;
  // `status` with the position of `location`, where it has none.
  absl::Status At(absl::Status status, int location) const;
  template <typename T>
  absl::StatusOr<T> At(absl::StatusOr<T> result, int location) const {
    if (result.ok()) return result;
    return At(std::move(result).status(), location);
  }
  std::optional<int> Position(int location) const;

  int NewLevelId() { return next_level_++; }
  int NewPlaceholder() { return next_placeholder_++; }

  // A column (or other expression) of a level around the one that reads it; equal ones are one placeholder.
  ExprRef OuterReference(const Level& level, const ExprRef& expr);
  struct Outer {
    int level;                       // Level::id
    ExprRef expr;                    // over that level's FROM columns and placeholders
  };
  const Outer* FindOuter(int placeholder) const;

  // $n, 0-based. Unknown until its use tells its type.
  std::optional<TypeId> parameter_type(int index) const;
  void UseParameter(int index, int location);
  void SetParameterType(int index, TypeId type);
  // Types of all parameters; 42P18 where one stayed open.
  absl::StatusOr<std::vector<TypeId>> ParameterTypes() const;

  // Bodies of stored views are other texts: no positions while one is bound, and its own view of WITH.
  class ViewBody {
   public:
    explicit ViewBody(BindState& state) : state_(state) { ++state_.view_depth_; }
    ~ViewBody() { --state_.view_depth_; }
    ViewBody(const ViewBody&) = delete;
    ViewBody& operator=(const ViewBody&) = delete;

   private:
    BindState& state_;
  };
  bool in_view() const { return view_depth_ > 0; }

  // StartOf (tree.h) of an expression whose operands have been asked for already: constant time for long chains.
  int StartOfBound(const Json& node);
  absl::flat_hash_map<std::string, Query> views;         // bound once a statement
  void NoteRelation(std::string_view name) const;

  // Counts nesting; an error beyond what a thread's stack takes.
  class Nesting {
   public:
    explicit Nesting(BindState& state) : state_(state) { ++state_.nesting_; }
    ~Nesting() { --state_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    absl::Status Check() const;

   private:
    BindState& state_;
  };

 private:
  struct Parameter {
    std::optional<TypeId> type;
    int location = -1;
    bool used = false;
  };
  int next_level_ = 0;
  int next_placeholder_ = kFirstPlaceholder;
  int view_depth_ = 0;
  int nesting_ = 0;
  std::vector<Parameter> parameters_;
  absl::flat_hash_map<const Json*, int> starts_;
  absl::flat_hash_map<int, Outer> outers_;
};

// Gives an expression that is still open the type `target`; casts any other. Errors carry the expression's position.
absl::StatusOr<ExprRef> Coerce(BindState& state, const Typed& value, TypeId target);
// As Coerce to TEXT where the type is still open; as it is otherwise.
absl::StatusOr<ExprRef> Settle(BindState& state, const Typed& value);
// `value` as a condition: 42804 `argument of WHERE must be type boolean, not type integer`.
absl::StatusOr<ExprRef> Condition(BindState& state, const Typed& value, std::string_view construct);

// Rebuilds `expr` with each column and parameter for which `f` gives an expression replaced by it.
using LeafMap = std::function<absl::StatusOr<ExprRef>(const ExprRef& leaf)>;
absl::StatusOr<ExprRef> MapLeaves(const ExprRef& expr, const LeafMap& f);
bool HasPlaceholder(const ExprRef& expr);

}  // namespace adjoin
