// The store rule: what is read more than once is stored where a reader that reads it does so in
// less time than it would compute it in.
#include "plan/array_compiler.h"

namespace adjoin {
namespace {

// A write and a read of a cell that leaves L1 take 0.5 ns, an addition in a fused block 0.1 ns. Not
// those that `adjoin calibrate` measures: what is stored decides in which order sums add up.
constexpr double kReadNs = 0.25, kAdditionNs = 0.1;

}  // namespace

bool ArrayCompiler::Stores(int cost) const {
  if (!options_.inline_maps) return true;  // nothing is computed inside a reader
  if (cost > kMostFusedCost) return true;
  if (options_.store != RuleUse::kOn) return options_.store == RuleUse::kForce;
  return cost * kAdditionNs > kReadNs;
}

}  // namespace adjoin
