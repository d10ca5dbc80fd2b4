// WITH RECURSIVE.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "sql/bind_query.h"

namespace adjoin {

// Whether a SelectStmt body reads a relation of this name.
bool ReadsItself(const Json& body, std::string_view name);

// Binds a WITH item whose query reads itself. `name_columns` gives columns the item's names. While
// its recursive term is bound, the item is in `scope` as its working table. Errors: 42P19 where it
// is not `non-recursive-term UNION [ALL] recursive-term` or reads itself in a wrong place, 42804
// where the types of the terms differ.
absl::StatusOr<Query> BindRecursive(BindState& state, const Json& item, const Json& body,
                                    const QueryContext& context, CteScope& scope,
                                    const std::function<absl::Status(Query&)>& name_columns);

}  // namespace adjoin
