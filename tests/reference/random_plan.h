// Seeded random tables and plans over them, for comparing the engine with the interpreter.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "plan/node.h"
#include "tests/reference/interpreter.h"

namespace adjoin::reference {

// What may be done with a column so that rounding cannot decide which rows there are.
struct ColumnTraits {
  bool exact = true;    // computed without rounding: usable as a key, in predicates and orders
  bool opaque = false;  // a row id: its values are the engine's own business
};

// A node of a random plan with its rows.
struct RandomNode {
  NodeRef node;
  std::vector<ColumnTraits> traits;
  Rows rows;
};

// Grows a DAG of every operator over random tables: NULLs, NaN, signed zeros, infinities,
// duplicates, no rows, text, and tables that are grids. Every node's rows are known and free of
// errors.
class RandomPlan {
 public:
  // `float_keys`: whether joins may be on floats. A gradient by such a column is that of the
  // current matches, which no difference can see.
  RandomPlan(uint64_t seed, int operators, bool float_keys = true);

  // The last node without row id columns.
  const RandomNode& root() const { return root_; }
  const std::vector<RandomNode>& nodes() const { return nodes_; }
  const std::map<uint64_t, TableRef>& tables() const { return tables_; }
  Planner& planner() { return planner_; }
  // Drops row id columns.
  RandomNode Visible(const RandomNode& node);

 private:
  struct Term {
    ExprRef expr;
    bool exact;
  };
  using Traits = std::vector<ColumnTraits>;

  // Tables.
  void AddRowsTable();
  void AddGridTable();
  Value RandomValue(TypeId type);
  // Adds the node unless it fails, has too many rows, or is not made.
  bool Add(NodeRef node, Traits traits);
  bool AddOperator();

  // Expressions over the columns of `types` and `traits`.
  Term Column(const Traits& traits, const std::vector<TypeId>& types, TypeId type, bool exact);
  Term Expression(const Traits& traits, const std::vector<TypeId>& types, TypeId type, int depth,
                  bool exact);
  ExprRef Draw(const Traits& traits, const std::vector<TypeId>& types, const ExprRef& scale,
               int depth);
  Term Numeric(const Traits& traits, const std::vector<TypeId>& types, TypeId type, int depth,
               bool exact);
  Term Textual(const Traits& traits, const std::vector<TypeId>& types, int depth);
  Term Boolean(const Traits& traits, const std::vector<TypeId>& types, int depth);
  ExprRef Predicate(const Traits& traits, const std::vector<TypeId>& types);
  ExprRef Constant(TypeId type);
  // Any exact column, or a constant where there is none.
  ExprRef Key(const RandomNode& n);
  std::vector<JoinKey> Keys(const RandomNode& left, const RandomNode& right, int at_most);
  std::vector<SortKey> Order(const RandomNode& n);

  bool AddFilter();
  bool AddProject();
  bool AddJoin();
  bool AddGroupBy();
  bool AddWindow();
  bool AddSort();
  bool AddLimit();
  bool AddUnion();
  bool AddContraction();
  bool AddRowId();
  bool AddLookup();
  bool AddCollect();
  bool AddRequire();
  bool AddValues();
  bool AddSeries();
  bool AddRecursion();

  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool Chance(int percent) { return Below(100) < percent; }
  const RandomNode& Any();
  TypeId AnyType();

  std::mt19937_64 random_;
  bool float_keys_;
  Planner planner_;
  std::map<uint64_t, TableRef> tables_;
  std::vector<RandomNode> nodes_;
  RandomNode root_;
};

}  // namespace adjoin::reference
