// Products whose mask cannot be left to the zeros of one factor, as the other one holds an infinity
// or NaN.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "ops/array_contract.h"

namespace adjoin {
namespace {

// Whether every exponent is below the one of infinities and NaNs.
template <typename T>
bool AllFinite(const T* x, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kExponent =
      sizeof(T) == 4 ? Bits{0x7F800000} : static_cast<Bits>(0x7FF0000000000000);
  Bits bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    Bits bits;
    std::memcpy(&bits, x + i, sizeof(T));
    bad |= (bits & kExponent) == kExponent ? 1 : 0;
  }
  return bad == 0;
}

}  // namespace

// Cell by cell, in the order of the axes: only for factors that are not finite.
template <typename T>
void ContractStep::RunMaskedCells(const RunState& state, const Range& tile) const {
  const Product& product = products_[0];
  const T* a = reinterpret_cast<const T*>(product.a.In(state));
  const T* b = reinterpret_cast<const T*>(product.b.In(state));
  const uint8_t* mask =
      stairs_.present() ? nullptr : reinterpret_cast<const uint8_t*>(mask_.address.In(state));
  T* c = reinterpret_cast<T*>(product.c.In(state));
  const size_t of = static_cast<size_t>(stairs_.of), along = static_cast<size_t>(stairs_.along);
  std::vector<int64_t> indices(axes_.size());
  const auto range_of = [&](size_t axis) {
    return static_cast<int>(axis) == tiled_ ? tile : Range{0, axes_[axis].extent};
  };
  const auto cells_of = [&](bool summed) {
    int64_t cells = 1;
    for (size_t i = 0; i < axes_.size(); ++i)
      cells *= axes_[i].summed == summed ? range_of(i).length() : 1;
    return cells;
  };
  const auto set = [&](bool summed, int64_t cell) {
    for (size_t i = axes_.size(); i-- > 0;) {
      if (axes_[i].summed != summed) continue;
      const Range range = range_of(i);
      indices[i] = range.first + cell % range.length();
      cell /= range.length();
    }
  };
  const bool later = tiled_ >= 0 && axes_[static_cast<size_t>(tiled_)].summed && tile.first > 0;
  const T* before = later ? c : reinterpret_cast<const T*>(product.addend.In(state));
  const int64_t kept = cells_of(false), summed = cells_of(true);
  for (int64_t out = 0; out < kept; ++out) {
    set(false, out);
    int64_t at_c = 0;
    for (size_t i = 0; i < axes_.size(); ++i) at_c += axes_[i].summed ? 0 : indices[i] * axes_[i].c;
    T sum{0};
    for (int64_t in = 0; in < summed; ++in) {
      set(true, in);
      int64_t at_a = 0, at_b = 0, at_mask = 0;
      for (size_t i = 0; i < axes_.size(); ++i) {
        at_a += indices[i] * axes_[i].a, at_b += indices[i] * axes_[i].b;
        if (!stairs_.present()) at_mask += indices[i] * mask_.strides[i];
      }
      const bool takes_part = stairs_.present()
                                  ? indices[along] < stairs_.ends[static_cast<size_t>(indices[of])]
                                  : mask[at_mask] != 0;
      if (takes_part) sum = std::fma(a[at_a], b[at_b], sum);
    }
    const T scaled = static_cast<T>(product.scale) * sum;
    c[at_c] = later || product.adds ? before[at_c] + scaled : scaled;
  }
}

void ContractStep::RunMasked(const RunState& state, const Range& tile) const {
  if (type_ == TypeId::kFloat32) return RunMaskedCells<float>(state, tile);
  RunMaskedCells<double>(state, tile);
}

bool ContractStep::NeedsMask(const RunState& state, int64_t first_cell, int64_t cells) const {
  if (!mask_.present) return false;
  const std::byte* checked = mask_.checked.In(state) + first_cell * WidthOf(type_);
  return type_ == TypeId::kFloat32 ? !AllFinite(reinterpret_cast<const float*>(checked), cells)
                                   : !AllFinite(reinterpret_cast<const double*>(checked), cells);
}

}  // namespace adjoin
