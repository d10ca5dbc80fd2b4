// What a product does with its cells before it stores them.
#pragma once

#include <vector>

#include "plan/array.h"

namespace adjoin {

// val - 0.1 * (a b) and x + a b, of an array and a product that nothing else reads, become the
// product's own store: its cells are written once, not written, read and written. A product's scale
// and sum are one fma, so that results differ from those of the map by a rounding. Ends the graph:
// no Add may follow.
void FuseEpilogues(const std::vector<int>& roots, ArrayGraph& graph);

}  // namespace adjoin
