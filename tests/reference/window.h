// Windows by their definition: every frame is looked at row by row.
#pragma once

#include "absl/status/statusor.h"
#include "plan/node.h"
#include "tests/reference/evaluator.h"

namespace adjoin::reference {

// Whether a sorts before b, its keys evaluated: NULLs where the key puts them, then SQL's order.
// Ties are equal.
int CompareSortKeys(const std::vector<SortKey>& keys, const Row& a, const Row& b);

// The rows of `input`, each with one more column a call.
absl::StatusOr<Rows> EvaluateWindow(const Window& window, const Rows& input,
                                    const std::vector<Value>& params);

}  // namespace adjoin::reference
