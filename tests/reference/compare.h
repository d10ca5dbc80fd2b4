// Compares what the engine gives with what the interpreter gives.
#pragma once

#include <string>
#include <vector>

#include "tests/reference/interpreter.h"

namespace adjoin::reference {

// Empty where both have the same rows in the same order, else the first difference. Floats may
// differ by `tolerance` of the largest finite value of their column (REAL: by what float's
// precision leaves); everything else is equal.
std::string CompareRows(const Rows& expected, const Rows& actual, const std::vector<TypeId>& types,
                        double tolerance = 1e-9);

// One line a row: "1 | NULL | 'text'".
std::string RowsText(const Rows& rows, const std::vector<TypeId>& types);

}  // namespace adjoin::reference
