// Two arithmetic operations in one pass: (x first y) second z. A pass of one operation is bound by
// its two loads and its store from L1 (1.7 cycles a register of doubles, of which the arithmetic is
// 0.5); both are rounded as they are alone.
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

template <ChainOp kOp, typename V>
ADJOIN_INLINE V Combine(const V& a, const V& b) {
  if constexpr (kOp == ChainOp::kAdd) return a + b;
  if constexpr (kOp == ChainOp::kSubtract) return a - b;
  if constexpr (kOp == ChainOp::kSubtractFrom) return b - a;
  if constexpr (kOp == ChainOp::kMultiply) return a * b;
}

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

template <typename T, ChainOp kFirst, ChainOp kSecond, bool kY, bool kZ>
void Chain(const ChainArgs& args, int64_t rows, int64_t length, void* out) {
  constexpr int64_t kW = kWidth<T>;
  T* to = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r) {
    const Operand<T, true> x(static_cast<const T*>(args.x) + r * length);
    const Operand<T, kY> y(static_cast<const T*>(args.y) + r * (kY ? length : args.y_step));
    const Operand<T, kZ> z(static_cast<const T*>(args.z) + r * (kZ ? length : args.z_step));
    int64_t i = 0;
    for (; i + 2 * kW <= length; i += 2 * kW) {
      const Vec<T> a = Combine<kSecond>(Combine<kFirst>(x.Get(i), y.Get(i)), z.Get(i));
      const Vec<T> b =
          Combine<kSecond>(Combine<kFirst>(x.Get(i + kW), y.Get(i + kW)), z.Get(i + kW));
      Store<T>(a, to + i);
      Store<T>(b, to + i + kW);
    }
    for (; i < length; ++i) to[i] = Combine<kSecond>(Combine<kFirst>(x.One(i), y.One(i)), z.One(i));
    to += length;
  }
}

template <typename T, ChainOp kFirst, ChainOp kSecond>
void FillKinds(ChainKernel (&at)[2][2]) {
  at[0][0] = Chain<T, kFirst, kSecond, false, false>;
  at[0][1] = Chain<T, kFirst, kSecond, false, true>;
  at[1][0] = Chain<T, kFirst, kSecond, true, false>;
  at[1][1] = Chain<T, kFirst, kSecond, true, true>;
}
template <typename T, ChainOp kFirst>
void FillSeconds(ChainKernel (&at)[kNumChainOps][2][2]) {
  FillKinds<T, kFirst, ChainOp::kAdd>(at[0]);
  FillKinds<T, kFirst, ChainOp::kSubtract>(at[1]);
  FillKinds<T, kFirst, ChainOp::kSubtractFrom>(at[2]);
  FillKinds<T, kFirst, ChainOp::kMultiply>(at[3]);
}
template <typename T>
void FillFirsts(ChainKernel (&at)[kNumChainOps][kNumChainOps][2][2]) {
  FillSeconds<T, ChainOp::kAdd>(at[0]);
  FillSeconds<T, ChainOp::kSubtract>(at[1]);
  FillSeconds<T, ChainOp::kSubtractFrom>(at[2]);
  FillSeconds<T, ChainOp::kMultiply>(at[3]);
}

}  // namespace

void FillChains(KernelTable* table) {
  FillFirsts<float>(table->chain_f32);
  FillFirsts<double>(table->chain_f64);
}

}  // namespace adjoin::ADJOIN_ISA
