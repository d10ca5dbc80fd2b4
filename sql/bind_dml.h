// INSERT, UPDATE, DELETE.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "sql/bind_query.h"

namespace adjoin {

// Binds the body of an InsertStmt, UpdateStmt or DeleteStmt without its WITH clause, whose items
// `ctes` holds.
absl::StatusOr<Statement::Output> BindModifying(BindState& state, std::string_view tag,
                                                const Json& body, const CteScope* ctes);

// `value` for a column or parameter of type `target`, as PostgreSQL assigns: numbers to numbers,
// anything to TEXT. nullopt where that needs an explicit cast.
absl::StatusOr<std::optional<ExprRef>> AssignmentCast(BindState& state, const Typed& value,
                                                      TypeId target);

}  // namespace adjoin
