// The precision and scale that a plan's column is known to have.
#pragma once

#include "plan/node.h"

namespace adjoin {

// NUMERIC(p, s) of an output column: that of the table's column which it comes from, or that it is
// cast to; of several branches what all agree on. Precision 0 where there is none. A plan as it is
// bound, before rules.
NumericModifier ModifierOfColumn(const NodeRef& node, int column);

}  // namespace adjoin
