// Row constructors: (a, b) beside another one, which no value holds.
#pragma once

#include <string_view>
#include <vector>

#include "sql/bind_state.h"
#include "sql/level.h"

namespace adjoin {

// What stands on one side of a comparison: a value, or the values of a row constructor.
struct Operand {
  std::vector<Typed> values;
  bool is_row = false;
};
absl::StatusOr<Operand> BindOperand(BindState& state, const Json& node, const Context& context);

// `left name right`. Of rows: = and <>, IS [NOT] DISTINCT FROM column by column; (a, b) <= (c, d)
// as a < c OR (a = c AND b <= d), which is NULL where PostgreSQL's comparison meets a NULL.
absl::StatusOr<ExprRef> Compare(BindState& state, std::string_view name, const Operand& left,
                                const Operand& right, int location);

// IS NULL of a value, or of a row: all of its columns are; IS NOT NULL: all are not, so that both
// may be false.
ExprRef NullTest(std::vector<ExprRef> values, bool is_null);

}  // namespace adjoin
