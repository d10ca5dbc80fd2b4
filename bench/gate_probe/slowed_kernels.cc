// Linked into a second probe with --wrap: its Kernels() does every product and every exp twice, so
// that bench/gate selftest can show that the gate sees a slower kernel, by itself and in a step.
#include <algorithm>

#include "kernels/kernel_table.h"

// The names that the linker's --wrap gives to adjoin::Kernels() and to what takes its place.
const adjoin::KernelTable& RealKernels() __asm__("__real__ZN6adjoin7KernelsEv");
const adjoin::KernelTable& SlowedKernels() __asm__("__wrap__ZN6adjoin7KernelsEv");

namespace {

template <typename T>
void GemmTwice(const adjoin::GemmArgs<T>& args) {
  const auto gemm = RealKernels().reduce<T>().gemm;
  adjoin::GemmArgs<T> nothing = args;
  nothing.alpha = 0;
  nothing.accumulate = true;
  gemm(nothing);
  gemm(args);
}

// The additional values go elsewhere: `out` may be the argument itself.
template <typename T, adjoin::TypeId type>
adjoin::ScalarError ExpTwice(const void* const* args, const uint8_t* active, void* out, int64_t n) {
  constexpr int64_t kChunk = 1024;
  const adjoin::ScalarKernel exp = RealKernels().at(adjoin::ScalarOp::kExp, type);
  T elsewhere[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const void* part = static_cast<const T*>(args[0]) + i;
    exp(&part, active == nullptr ? nullptr : active + i, elsewhere, std::min(kChunk, n - i));
  }
  return exp(args, active, out, n);
}

}  // namespace

const adjoin::KernelTable& SlowedKernels() {
  static const adjoin::KernelTable table = [] {
    using adjoin::TypeId;
    adjoin::KernelTable slowed = RealKernels();
    auto& exp = slowed.scalar[static_cast<int>(adjoin::ScalarOp::kExp)];
    exp[static_cast<int>(TypeId::kFloat32)] = ExpTwice<float, TypeId::kFloat32>;
    exp[static_cast<int>(TypeId::kFloat64)] = ExpTwice<double, TypeId::kFloat64>;
    slowed.f32.gemm = GemmTwice<float>;
    slowed.f64.gemm = GemmTwice<double>;
    return slowed;
  }();
  return table;
}
