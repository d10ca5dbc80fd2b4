// The inline rule: what one reader reads once is computed inside it, and saves a write, a read and
// a step. It also forms regions (array_regions.h) and fuses sums into products (array_epilogues.h).
#include "plan/array_compiler.h"

namespace adjoin {

bool ArrayCompiler::Inlines(int cost) const {
  return options_.inline_maps && cost <= kMostFusedCost;
}

}  // namespace adjoin
