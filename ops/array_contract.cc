#include "ops/array_contract.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

// A product below this stays on its caller: 2e6 multiply-adds are about 100 us on one core.
constexpr double kFlopsPerPart = 4e6;
constexpr int64_t kMostParts = 16;
constexpr int64_t kRowsPerPart =
    48;  // a multiple of every kernel's tile, so that parts pack whole tiles

bool JoinsWith(const ContractAxis& outer, const ContractAxis& inner) {
  const bool a = !outer.in_a || outer.a == inner.a * inner.extent;
  const bool b = !outer.in_b || outer.b == inner.b * inner.extent;
  const bool c = outer.summed || outer.c == inner.c * inner.extent;
  return a && b && c;
}

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

struct ContractStep::State final : StepState {
  std::vector<std::byte*> scratch;  // by part, 64-byte aligned
  std::vector<std::unique_ptr<std::byte[]>> memory;
};

// Joins neighbours, makes the largest run of `group` the matrix dimension and loops over the rest.
ContractStep::Matrix ContractStep::TakeLargest(std::vector<ContractAxis> group) {
  std::erase_if(group, [](const ContractAxis& x) { return x.extent == 1; });
  for (size_t i = group.size(); i-- > 1;) {
    if (!JoinsWith(group[i - 1], group[i])) continue;
    group[i].extent *= group[i - 1].extent;
    group.erase(group.begin() + static_cast<ptrdiff_t>(i - 1));
  }
  if (group.empty()) return {};
  auto largest = std::max_element(
      group.begin(), group.end(),
      [](const ContractAxis& x, const ContractAxis& y) { return x.extent < y.extent; });
  const Matrix m{largest->extent, largest->a, largest->b, largest->c};
  for (auto it = group.begin(); it != group.end(); ++it) {
    if (it != largest) loops_.push_back({it->extent, it->a, it->b, it->c, it->summed});
  }
  return m;
}

ContractStep::ContractStep(int number, TypeId type, std::vector<ContractAxis> axes, ArrayAddress a,
                           ArrayAddress b, ArrayAddress c, Mask mask, std::string label)
    : number_(static_cast<size_t>(number)),
      type_(type),
      a_(a),
      b_(b),
      c_(c),
      axes_(axes),
      mask_(std::move(mask)),
      label_(std::move(label)) {
  std::vector<ContractAxis> rows, columns, inner;
  for (const ContractAxis& axis : axes) {
    if (axis.summed) {
      inner.push_back(axis);
    } else if (axis.in_a && axis.in_b) {
      if (axis.extent > 1) loops_.push_back({axis.extent, axis.a, axis.b, axis.c, false});
    } else {
      (axis.in_a ? rows : columns).push_back(axis);
    }
  }
  rows_ = TakeLargest(std::move(rows));
  columns_ = TakeLargest(std::move(columns));
  inner_ = TakeLargest(std::move(inner));
  std::stable_partition(loops_.begin(), loops_.end(), [](const Loop& l) { return !l.summed; });
  for (const Loop& l : loops_) (l.summed ? sums_ : batches_) *= l.extent;
  const int64_t wanted =
      std::clamp<int64_t>(static_cast<int64_t>(flops() / kFlopsPerPart), 1, kMostParts);
  if (batches_ >= wanted) {
    parts_ = wanted;
  } else {
    parts_by_row_ = true;
    parts_ = std::clamp<int64_t>(rows_.extent / kRowsPerPart, 1, wanted);
  }
}

double ContractStep::flops() const {
  return 2.0 * static_cast<double>(rows_.extent) * static_cast<double>(columns_.extent) *
         static_cast<double>(inner_.extent) * static_cast<double>(batches_) *
         static_cast<double>(sums_);
}

std::string ContractStep::Describe() const {
  return absl::StrCat(label_, " ", batches_ > 1 ? absl::StrCat(batches_, " x ") : "", "[",
                      rows_.extent, " x ", inner_.extent, "] [", inner_.extent, " x ",
                      columns_.extent, "]", sums_ > 1 ? absl::StrCat(" in ", sums_, " sums") : "");
}

absl::Status ContractStep::Prepare(RunState& state) const {
  auto own = std::make_unique<State>();
  const int64_t width = type_ == TypeId::kFloat32 ? 4 : 8;
  const int64_t bytes = GemmScratchBytes(rows_.extent, columns_.extent, inner_.extent, width);
  for (int64_t p = 0; p < parts_; ++p) {
    own->memory.push_back(
        std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes + 64)));
    const auto address = reinterpret_cast<uintptr_t>(own->memory.back().get());
    own->scratch.push_back(own->memory.back().get() + (64 - address % 64) % 64);
  }
  state.step_states[number_] = std::move(own);
  return absl::OkStatus();
}

template <typename T>
void ContractStep::RunBatches(const RunState& state, std::byte* scratch, int64_t first,
                              int64_t last, int64_t row_first, int64_t row_last) const {
  const ReduceKernels<T>& kernels = Kernels().reduce<T>();
  GemmArgs<T> args{};
  args.m = row_last - row_first;
  args.n = columns_.extent;
  args.k = inner_.extent;
  args.a_row = rows_.a, args.a_col = inner_.a;
  args.b_row = inner_.b, args.b_col = columns_.b;
  args.c_row = rows_.c, args.c_col = columns_.c;
  args.alpha = 1;
  args.scratch = scratch;
  const T* a = reinterpret_cast<const T*>(a_.In(state)) + row_first * rows_.a;
  const T* b = reinterpret_cast<const T*>(b_.In(state));
  T* c = reinterpret_cast<T*>(c_.In(state)) + row_first * rows_.c;
  for (int64_t at = first * sums_; at < last * sums_; ++at) {
    int64_t a_at = 0, b_at = 0, c_at = 0, rest = at;
    for (size_t i = loops_.size(); i-- > 0;) {
      const Loop& l = loops_[i];
      const int64_t index = rest % l.extent;
      rest /= l.extent;
      a_at += index * l.a;
      b_at += index * l.b;
      if (!l.summed) c_at += index * l.c;
    }
    args.a = a + a_at;
    args.b = b + b_at;
    args.c = c + c_at;
    args.accumulate = at % sums_ != 0;
    kernels.gemm(args);
  }
}

void ContractStep::RunPart(void* context, int64_t part) {
  const auto& [step, state] = *static_cast<std::pair<const ContractStep*, RunState*>*>(context);
  std::byte* scratch =
      static_cast<State&>(*state->step_states[step->number_]).scratch[static_cast<size_t>(part)];
  int64_t first = 0, last = step->batches_, row_first = 0, row_last = step->rows_.extent;
  if (step->parts_by_row_) {
    const int64_t tiles = (row_last + kRowsPerPart - 1) / kRowsPerPart;
    row_first = tiles * part / step->parts_ * kRowsPerPart;
    row_last = std::min(row_last, tiles * (part + 1) / step->parts_ * kRowsPerPart);
  } else {
    first = step->batches_ * part / step->parts_;
    last = step->batches_ * (part + 1) / step->parts_;
  }
  if (step->type_ == TypeId::kFloat32) {
    step->RunBatches<float>(*state, scratch, first, last, row_first, row_last);
  } else {
    step->RunBatches<double>(*state, scratch, first, last, row_first, row_last);
  }
}

// Cell by cell, in the order of the axes: only for factors that are not finite.
template <typename T>
void ContractStep::RunMasked(const RunState& state) const {
  const T* a = reinterpret_cast<const T*>(a_.In(state));
  const T* b = reinterpret_cast<const T*>(b_.In(state));
  const auto* mask = reinterpret_cast<const uint8_t*>(mask_.address.In(state));
  T* c = reinterpret_cast<T*>(c_.In(state));
  int64_t cells = 1, out_cells = 1;
  for (const ContractAxis& axis : axes_)
    cells *= axis.extent, out_cells *= axis.summed ? 1 : axis.extent;
  std::fill_n(c, out_cells, T{0});
  for (int64_t cell = 0; cell < cells; ++cell) {
    int64_t at_a = 0, at_b = 0, at_c = 0, at_mask = 0, rest = cell;
    for (size_t i = axes_.size(); i-- > 0;) {
      const ContractAxis& axis = axes_[i];
      const int64_t index = rest % axis.extent;
      rest /= axis.extent;
      at_a += index * axis.a, at_b += index * axis.b, at_mask += index * mask_.strides[i];
      if (!axis.summed) at_c += index * axis.c;
    }
    if (mask[at_mask] != 0) c[at_c] = std::fma(a[at_a], b[at_b], c[at_c]);
  }
}

absl::Status ContractStep::Run(RunState& state) const {
  if (mask_.present) {
    const std::byte* checked = mask_.checked.In(state);
    if (type_ == TypeId::kFloat32 &&
        !AllFinite(reinterpret_cast<const float*>(checked), mask_.checked_cells)) {
      RunMasked<float>(state);
      return absl::OkStatus();
    }
    if (type_ == TypeId::kFloat64 &&
        !AllFinite(reinterpret_cast<const double*>(checked), mask_.checked_cells)) {
      RunMasked<double>(state);
      return absl::OkStatus();
    }
  }
  std::pair<const ContractStep*, RunState*> context{this, &state};
  if (parts_ == 1 || state.pool == nullptr || state.pool->threads() == 1) {
    for (int64_t p = 0; p < parts_; ++p) RunPart(&context, p);
  } else {
    state.pool->ForEachBlockNoFail(parts_, &ContractStep::RunPart, &context);
  }
  return absl::OkStatus();
}

}  // namespace adjoin
