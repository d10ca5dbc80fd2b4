// Two arithmetic operations in one pass: (x first y) second z. A pass of one operation is bound by
// its two loads and its store from L1 (1.7 cycles a register of doubles, of which the arithmetic is
// 0.5); both are rounded as they are alone.
#include "kernels/arithmetic.h"
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

// An operand: cells, or one value for a whole row.
template <typename T, bool kCells>
struct Operand {
  const T* x;
  Vec<T> value;
  ADJOIN_INLINE explicit Operand(const T* from) : x(from) {
    if constexpr (!kCells) value = Broadcast(*from);
  }
  ADJOIN_INLINE Vec<T> Get(int64_t i) const {
    if constexpr (kCells) return Load(x + i);
    return value;
  }
  ADJOIN_INLINE T One(int64_t i) const { return kCells ? x[i] : *x; }
};

template <typename T, typename First, typename Second, bool kY, bool kZ>
void Chain(const ChainArgs& args, int64_t rows, int64_t length, void* out) {
  constexpr int64_t kW = kWidth<T>;
  T* to = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r) {
    const Operand<T, true> x(static_cast<const T*>(args.x) + r * length);
    const Operand<T, kY> y(static_cast<const T*>(args.y) + r * (kY ? length : args.y_step));
    const Operand<T, kZ> z(static_cast<const T*>(args.z) + r * (kZ ? length : args.z_step));
    int64_t i = 0;
    for (; i + 2 * kW <= length; i += 2 * kW) {
      const Vec<T> a = Second::Apply(First::Apply(x.Get(i), y.Get(i)), z.Get(i));
      const Vec<T> b = Second::Apply(First::Apply(x.Get(i + kW), y.Get(i + kW)), z.Get(i + kW));
      Store<T>(a, to + i);
      Store<T>(b, to + i + kW);
    }
    for (; i < length; ++i) to[i] = Second::Apply(First::Apply(x.One(i), y.One(i)), z.One(i));
    to += length;
  }
}

template <typename T, typename First, typename Second>
void FillKinds(ChainKernel (&at)[2][2]) {
  at[0][0] = Chain<T, First, Second, false, false>;
  at[0][1] = Chain<T, First, Second, false, true>;
  at[1][0] = Chain<T, First, Second, true, false>;
  at[1][1] = Chain<T, First, Second, true, true>;
}
template <typename T, typename First>
void FillSeconds(ChainKernel (&at)[kNumChainOps][2][2]) {
  FillKinds<T, First, Add>(at[static_cast<int>(ChainOp::kAdd)]);
  FillKinds<T, First, Subtract>(at[static_cast<int>(ChainOp::kSubtract)]);
  FillKinds<T, First, SubtractFrom>(at[static_cast<int>(ChainOp::kSubtractFrom)]);
  FillKinds<T, First, Multiply>(at[static_cast<int>(ChainOp::kMultiply)]);
}
template <typename T>
void FillFirsts(ChainKernel (&at)[kNumChainOps][kNumChainOps][2][2]) {
  FillSeconds<T, Add>(at[static_cast<int>(ChainOp::kAdd)]);
  FillSeconds<T, Subtract>(at[static_cast<int>(ChainOp::kSubtract)]);
  FillSeconds<T, SubtractFrom>(at[static_cast<int>(ChainOp::kSubtractFrom)]);
  FillSeconds<T, Multiply>(at[static_cast<int>(ChainOp::kMultiply)]);
}

}  // namespace

void FillChains(KernelTable* table) {
  FillFirsts<float>(table->chain_f32);
  FillFirsts<double>(table->chain_f64);
}

}  // namespace adjoin::ADJOIN_ISA
