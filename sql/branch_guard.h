// Which rows need an expression inside a CASE, COALESCE, AND or OR.
#pragma once

#include "sql/level.h"

namespace adjoin {

// What must hold for an expression at `branch` (may be null) to be computed; null: nothing.
ExprRef GuardOf(const Branch* branch);

}  // namespace adjoin
