// UNION [ALL], INTERSECT, EXCEPT.
#pragma once

#include "absl/status/statusor.h"
#include "sql/bind_query.h"

namespace adjoin {

// Binds a SelectStmt body that is a set operation, its WITH clause bound already. Columns take the
// names of the first query and a common type. Errors: 42601 where the numbers of columns differ,
// 42804 where types do not mix.
absl::StatusOr<Query> BindSetOperation(BindState& state, const Json& body,
                                       const QueryContext& context);

// Column `index` of an operand as a value of CommonTypeOf.
Typed OutputValue(BindState& state, const OutputColumn& column, int index, int location);

}  // namespace adjoin
