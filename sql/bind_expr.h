// Scalar expressions of the parse tree to expressions over a level's FROM columns.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// Binds any expression. Aggregates, window calls, subqueries and outer columns in it become
// placeholders, and the first three are added to the context's level.
absl::StatusOr<Typed> BindExpr(BindState& state, const Json& node, const Context& context);

// The items of a JSON array, in order.
absl::StatusOr<std::vector<Typed>> BindList(BindState& state, const Json& list,
                                            const Context& context);

// As BindExpr, as a condition: `construct` is what the error names ("WHERE").
absl::StatusOr<ExprRef> BindCondition(BindState& state, const Json& node, const Context& context,
                                      std::string_view construct);

// name(args) by PostgreSQL's typing: arguments still open take the type of the others. `location`
// is for errors.
absl::StatusOr<ExprRef> ResolveTyped(BindState& state, std::string_view name,
                                     std::vector<Typed> args, int location);

// The one type of the values of a CASE, VALUES, UNION and the like; TEXT where all are open. A
// literal with a point is a NUMERIC there, but where nothing else is one it makes the type DOUBLE
// PRECISION: `written`. Error 42804: `CASE types integer and text cannot be matched`.
struct CommonTyping {
  TypeId type;
  bool open = true;      // all values are
  bool written = false;  // by literals alone
};
absl::StatusOr<CommonTyping> CommonTypeOf(BindState& state, const std::vector<Typed>& values,
                                          std::string_view construct);

// Whether a column that is `open` or `written` becomes one of type `wanted` where it is bound for
// it.
bool TakesType(bool open, bool written, std::optional<TypeId> wanted);

// AND or OR of any number of conditions, balanced so that depth stays small. REQUIRES: not empty.
ExprRef Combine(std::string_view name, const std::vector<ExprRef>& conditions);

// What the level's errors call a clause: "WHERE", "JOIN conditions".
std::string_view ClauseName(Clause clause);

}  // namespace adjoin
