#include "ops/array_gather.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ops/vector.h"

namespace adjoin {
namespace {

int64_t PositionAt(const RunState& state, const ArrayIndex& index, int64_t offset) {
  const std::byte* base = index.address.In(state);
  switch (index.type) {
    case TypeId::kInt16:
      return reinterpret_cast<const int16_t*>(base)[offset] - index.origin;
    case TypeId::kInt32:
      return reinterpret_cast<const int32_t*>(base)[offset] - index.origin;
    default:
      return reinterpret_cast<const int64_t*>(base)[offset] - index.origin;
  }
}

// Walks the loops row by row: calls f(first cell of the row, offset of `direct`, offset of `other`,
// position offset, whether positions vary along the row). A row is the innermost loop.
template <typename F>
void ForEachRow(const std::vector<int64_t>& loops, F&& f) {
  const int64_t inner = loops.empty() ? 1 : loops.back();
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < loops.size(); ++i) rows *= loops[i];
  for (int64_t row = 0; row < rows; ++row) f(row, row * inner, inner);
}

int64_t OffsetOf(const std::vector<int64_t>& loops, const std::vector<int64_t>& strides,
                 int64_t row) {
  int64_t offset = 0;
  for (size_t i = loops.empty() ? 0 : loops.size() - 1; i-- > 0;) {
    offset += row % loops[i] * strides[i];
    row /= loops[i];
  }
  return offset;
}

int64_t InnerStride(const std::vector<int64_t>& strides) {
  return strides.empty() ? 0 : strides.back();
}

bool VariesWithin(const std::vector<ArrayIndex>& indices) {
  return std::any_of(indices.begin(), indices.end(),
                     [](const ArrayIndex& i) { return InnerStride(i.strides) != 0; });
}

// Where the positions of cell `i` of a row point, in the indexed array.
int64_t Target(const RunState& state, const std::vector<int64_t>& loops,
               const std::vector<ArrayIndex>& indices, int64_t row, int64_t i) {
  int64_t offset = 0;
  for (const ArrayIndex& index : indices) {
    const int64_t at = OffsetOf(loops, index.strides, row) + i * InnerStride(index.strides);
    offset += PositionAt(state, index, at) * index.stride;
  }
  return offset;
}

}  // namespace

GatherStep::GatherStep(TypeId type, std::vector<int64_t> loops, ArrayAddress source,
                       std::vector<int64_t> direct, std::vector<ArrayIndex> indices,
                       ArrayAddress out, std::string label)
    : type_(type),
      loops_(std::move(loops)),
      source_(source),
      direct_(std::move(direct)),
      indices_(std::move(indices)),
      out_(out),
      label_(std::move(label)) {}

absl::Status GatherStep::Run(RunState& state) const {
  const bool varies = VariesWithin(indices_);
  const int64_t stride = InnerStride(direct_);
  WithElementType(type_, [&](auto zero) {
    using T = decltype(zero);
    const T* source = reinterpret_cast<const T*>(source_.In(state));
    T* out = reinterpret_cast<T*>(out_.In(state));
    ForEachRow(loops_, [&](int64_t row, int64_t first, int64_t n) {
      const T* from = source + OffsetOf(loops_, direct_, row);
      if (varies) {
        for (int64_t i = 0; i < n; ++i)
          out[first + i] = from[i * stride + Target(state, loops_, indices_, row, i)];
        return;
      }
      from += Target(state, loops_, indices_, row, 0);
      for (int64_t i = 0; i < n; ++i) out[first + i] = from[i * stride];
    });
  });
  return absl::OkStatus();
}

ScatterStep::ScatterStep(TypeId type, std::vector<int64_t> loops, ArrayAddress value,
                         std::vector<int64_t> value_strides, std::vector<int64_t> direct,
                         std::vector<ArrayIndex> indices, ArrayAddress out, int64_t out_cells,
                         std::string label)
    : type_(type),
      loops_(std::move(loops)),
      value_(value),
      value_strides_(std::move(value_strides)),
      direct_(std::move(direct)),
      indices_(std::move(indices)),
      out_(out),
      out_cells_(out_cells),
      label_(std::move(label)) {}

absl::Status ScatterStep::Run(RunState& state) const {
  const bool varies = VariesWithin(indices_);
  const int64_t stride = InnerStride(direct_), step = InnerStride(value_strides_);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const T* value = reinterpret_cast<const T*>(value_.In(state));
    T* out = reinterpret_cast<T*>(out_.In(state));
    std::memset(out, 0, static_cast<size_t>(out_cells_) * sizeof(T));
    ForEachRow(loops_, [&](int64_t row, int64_t, int64_t n) {
      const T* from = value + OffsetOf(loops_, value_strides_, row);
      T* to = out + OffsetOf(loops_, direct_, row);
      if (varies) {
        for (int64_t i = 0; i < n; ++i)
          to[i * stride + Target(state, loops_, indices_, row, i)] += from[i * step];
        return;
      }
      to += Target(state, loops_, indices_, row, 0);
      if (stride == 1 && step == 1) {
        Kernels().reduce<T>().add_to(from, to, n);
      } else {
        for (int64_t i = 0; i < n; ++i) to[i * stride] += from[i * step];
      }
    });
  };
  if (type_ == TypeId::kFloat32) {
    run(float{});
  } else {
    run(double{});
  }
  return absl::OkStatus();
}

}  // namespace adjoin
