#include "plan/step_cost.h"

namespace adjoin {
namespace {

// Up to what a step's arrays are taken to lie in a cache: those of the machines in bench/README.md.
constexpr double kL1Bytes = 32 << 10, kL2Bytes = 512 << 10, kL3Bytes = 32 << 20;

}  // namespace

double CopyCost(const StepCosts& costs, double bytes) {
  return bytes <= kL1Bytes   ? costs.copy_l1
         : bytes <= kL2Bytes ? costs.copy_l2
         : bytes <= kL3Bytes ? costs.copy_l3
                             : costs.copy_memory;
}

double Microseconds(const StepWork& work, const StepCosts& costs) {
  // A product reads its operands while it multiplies: packing is in its rate.
  double ns = costs.call + work.flops / (work.is_real ? costs.product_f32 : costs.product_f64);
  ns += work.additions * costs.add + work.exps * costs.exp + work.tanhs * costs.tanh +
        work.positions * costs.position;
  if (work.flops == 0) ns += work.bytes / 16 * CopyCost(costs, work.bytes);
  return ns / 1000;
}

}  // namespace adjoin
