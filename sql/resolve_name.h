// Column names to columns, innermost query first, with PostgreSQL's errors.
#pragma once

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// The column that a ColumnRef body names. One of an outer query comes back as a placeholder
// (BindState::OuterReference). Errors: 42703, 42702, 42P01.
absl::StatusOr<Typed> ResolveColumn(BindState& state, const Json& column_ref,
                                    const Context& context);

// The range variable `name` that the context sees at its own level; null where there is none.
const RangeVariable* FindRange(const Names& names, std::string_view name);
// 42P01 for a qualified name whose qualifier is not in scope.
absl::Status MissingRange(BindState& state, const Context& context, const std::string& name,
                          int location);

}  // namespace adjoin
