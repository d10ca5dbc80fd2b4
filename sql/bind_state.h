// What binding one statement carries along: placeholders, parameters, errors.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "plan/node.h"
#include "plan/scalar_functions.h"
#include "sql/binder.h"
#include "sql/level.h"
#include "sql/tree.h"

namespace adjoin {

class BindState {
 public:
  BindState(const CatalogView& catalog_view, const BindOptions& bind_options,
            Planner& statement_planner, const Json* statement = nullptr);

  const CatalogView& catalog;
  const BindOptions& options;
  Planner& planner;

  // An error at a byte offset of the text (< 0: no position).
  absl::Status Error(std::string_view sqlstate, std::string_view message, int location = -1) const;
  absl::Status ErrorWithDetail(std::string_view sqlstate, std::string_view message,
                               std::string_view detail, std::string_view hint, int location) const;
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
  int NewRecursionId() { return next_recursion_++; }

  // A column (or other expression) of a level around the one that reads it; equal ones are one
  // placeholder.
  ExprRef OuterReference(const Level& level, const ExprRef& expr);
  struct Outer {
    int level;     // Level::id
    ExprRef expr;  // over that level's FROM columns and placeholders
  };
  const Outer* FindOuter(int placeholder) const;

  // $n, 0-based. Unknown until its use tells its type.
  std::optional<TypeId> parameter_type(int index) const;
  void UseParameter(int index, int location);
  void SetParameterType(int index, TypeId type);
  // Types of all parameters; 42P18 where one stayed open.
  absl::StatusOr<std::vector<TypeId>> ParameterTypes() const;

  // A moment of the run: a parameter after those of the statement, or what options.times says.
  absl::StatusOr<ExprRef> Clock(ClockTime time);
  std::optional<int> first_clock() const { return first_clock_; }

  // The NUMERIC that an expression of literals with a point is as it is written: beside a NUMERIC
  // it stands for the double. Null for any other expression.
  ExprRef ExactOf(const ExprRef& expr) const;
  void NoteExact(const ExprRef& expr, ExprRef exact);

  // Bodies of stored views are other texts: no positions while one is bound, and its own view of
  // WITH.
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

  // StartOf (tree.h) of an expression whose operands have been asked for already: constant time for
  // long chains.
  int StartOfBound(const Json& node);
  absl::flat_hash_map<std::string, Query> views;  // bound once a statement
  // Whether `f` reads `relation`; what a relation reads is found once.
  bool Reads(const NodeRef& f, const NodeRef& relation);
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
  int next_recursion_ = 1;
  int view_depth_ = 0;
  int nesting_ = 0;
  std::vector<Parameter> parameters_;
  const Json* statement_;  // null: of expressions alone
  std::optional<int> first_clock_;
  absl::flat_hash_map<const Json*, int> starts_;
  absl::flat_hash_map<ExprRef, ExprRef> exact_;  // by identity
  absl::flat_hash_map<int, Outer> outers_;
  absl::flat_hash_map<NodeRef, absl::flat_hash_set<const Node*>> reads_;
};

// Gives an expression that is still open the type `target`; casts any other. Errors carry the
// expression's position.
absl::StatusOr<ExprRef> Coerce(BindState& state, const Typed& value, TypeId target);
// An explicit cast, its errors at `location`.
absl::StatusOr<ExprRef> CastAt(BindState& state, const Typed& value, TypeId target, int location);
// `value`, a NUMERIC where the modifier is one, within it.
ExprRef WithModifier(ExprRef value, NumericModifier modifier);
// As Coerce to TEXT where the type is still open; as it is otherwise.
absl::StatusOr<ExprRef> Settle(BindState& state, const Typed& value);
// `value` as a condition: 42804 `argument of WHERE must be type boolean, not type integer`.
absl::StatusOr<ExprRef> Condition(BindState& state, const Typed& value, std::string_view construct);

// Rebuilds `expr` with each column and parameter for which `f` gives an expression replaced by it.
using LeafMap = std::function<absl::StatusOr<ExprRef>(const ExprRef& leaf)>;
absl::StatusOr<ExprRef> MapLeaves(const ExprRef& expr, const LeafMap& f);
bool HasPlaceholder(const ExprRef& expr);

}  // namespace adjoin
