#include "ops/array_contract.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

// A product below this stays on its caller: 4e6 are about 50 us on one core. Above it parts are
// small enough that a few threads end together.
constexpr double kFewestFlops = 4e6;
constexpr double kFlopsPerPart = 2e6;
constexpr int64_t kMostParts = 16;
// Each part of rows packs b for itself: not worth it for fewer. They are cut at a multiple of every
// kernel's tile.
constexpr int64_t kFewestRows = 48;
constexpr int64_t kRowStep = 24;

// Rows of a block that shares one range of a staircase. Fewer skip more, but read more of b again:
// [512 x 512] [512 x 64] in f64 takes 0.57 ms with blocks of 48 rows, 0.53 with 96, 0.69 with 192,
// and 0.85 whole.
constexpr int64_t kStairRows = 96;

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

// Joins neighbours, makes the largest run of `group` the matrix dimension and loops over the rest.
ContractStep::Matrix ContractStep::TakeLargest(std::vector<ContractAxis> group) {
  std::erase_if(group, [](const ContractAxis& x) { return x.extent == 1; });
  for (size_t i = group.size(); i-- > 1;) {
    if (!JoinsWith(group[i - 1], group[i])) continue;
    group[i].extent *= group[i - 1].extent;
    group[i].number = -1;
    group.erase(group.begin() + static_cast<ptrdiff_t>(i - 1));
  }
  if (group.empty()) return {};
  auto largest = std::max_element(
      group.begin(), group.end(),
      [](const ContractAxis& x, const ContractAxis& y) { return x.extent < y.extent; });
  const Matrix m{largest->extent, largest->a, largest->b, largest->c, largest->number};
  for (auto it = group.begin(); it != group.end(); ++it) {
    if (it != largest)
      loops_.push_back({it->extent, it->a, it->b, it->summed ? 0 : it->c, it->summed});
  }
  return m;
}

ContractStep::ContractStep(TypeId type, std::vector<ContractAxis> axes, ArrayAddress a,
                           ArrayAddress b, ArrayAddress c, Mask mask, Staircase stairs,
                           std::string label)
    : type_(type),
      a_(a),
      b_(b),
      c_(c),
      axes_(std::move(axes)),
      mask_(std::move(mask)),
      stairs_(std::move(stairs)),
      label_(std::move(label)) {
  for (size_t i = 0; i < axes_.size(); ++i) axes_[i].number = static_cast<int>(i);
  if (stairs_.present()) {
    // Blocks are of rows: a staircase over columns and the inner dimension is turned over.
    const ContractAxis &of = axes_[static_cast<size_t>(stairs_.of)],
                       &along = axes_[static_cast<size_t>(stairs_.along)];
    if (of.summed != along.summed && !(of.summed ? along : of).in_a) {
      std::swap(a_, b_);
      for (ContractAxis& axis : axes_) std::swap(axis.a, axis.b), std::swap(axis.in_a, axis.in_b);
    }
  }
  std::vector<ContractAxis> rows, columns, inner;
  for (const ContractAxis& axis : axes_) {
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
      flops() < kFewestFlops
          ? 1
          : std::min<int64_t>(static_cast<int64_t>(flops() / kFlopsPerPart), kMostParts);
  if (batches_ >= wanted) {
    parts_ = wanted;
  } else {
    parts_by_row_ = true;
    parts_ = std::clamp<int64_t>(rows_.extent / kFewestRows, 1, wanted);
  }
  if (stairs_.present()) FindRanges();
}

// Row i takes part in [0, ends[i]) of the other dimension, or from the first whose end is above i
// on: either way a block's range begins with its first row's and ends with its last row's.
void ContractStep::FindRanges() {
  const bool of_rows = stairs_.of == rows_.axis;
  const int other = of_rows ? stairs_.along : stairs_.of;
  if ((!of_rows && stairs_.along != rows_.axis) ||
      (other != columns_.axis && other != inner_.axis)) {
    return;
  }
  ranges_of_columns_ = other == columns_.axis;
  const int64_t all = ranges_of_columns_ ? columns_.extent : inner_.extent;
  for (int64_t i = 0; i < rows_.extent; i += kStairRows) {
    const int64_t last_row = std::min(i + kStairRows, rows_.extent) - 1;
    if (of_rows) {
      ranges_.push_back({0, stairs_.ends[static_cast<size_t>(last_row)]});
    } else {
      const auto first = std::upper_bound(stairs_.ends.begin(), stairs_.ends.end(), i);
      ranges_.push_back({first - stairs_.ends.begin(), all});
    }
  }
  if (std::all_of(ranges_.begin(), ranges_.end(),
                  [&](const Range& r) { return r.first == 0 && r.last == all; })) {
    ranges_.clear();
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
                      columns_.extent, "]", sums_ > 1 ? absl::StrCat(" in ", sums_, " sums") : "",
                      ranges_.empty() ? "" : " in a staircase");
}

int64_t ContractStep::scratch_bytes() const {
  return GemmScratchBytes(rows_.extent, columns_.extent, inner_.extent, WidthOf(type_));
}

// Rows [row_first, row_last) of one product, whose operands and strides `args` holds.
template <typename T>
void ContractStep::RunRows(GemmArgs<T> args, int64_t row_first, int64_t row_last) const {
  const auto gemm = Kernels().reduce<T>().gemm;
  if (ranges_.empty()) {
    args.m = row_last - row_first;
    args.a += row_first * args.a_row;
    args.c += row_first * args.c_row;
    gemm(args);
    return;
  }
  // The kernel starts its sums anew at every kGemmBlockK, whatever lies before.
  for (int64_t i = row_first; i < row_last;) {
    const Range& range = ranges_[static_cast<size_t>(i / kStairRows)];
    const int64_t end = std::min(row_last, (i / kStairRows + 1) * kStairRows);
    GemmArgs<T> block = args;
    block.m = end - i;
    block.a += i * args.a_row;
    block.c += i * args.c_row;
    i = end;
    if (ranges_of_columns_) {
      const auto fill = [&](int64_t first, int64_t last) {
        for (int64_t r = 0; r < block.m && !args.accumulate; ++r) {
          T* row = block.c + r * args.c_row;
          if (args.c_col == 1) {
            std::fill(row + first, row + last, T{0});
          } else {
            for (int64_t j = first; j < last; ++j) row[j * args.c_col] = T{0};
          }
        }
      };
      fill(0, range.first);
      fill(range.last, args.n);
      block.n = range.last - range.first;
      block.b += range.first * args.b_col;
      block.c += range.first * args.c_col;
      gemm(block);
      continue;
    }
    int64_t k = range.first;
    block.a += k * args.a_col;
    block.b += k * args.b_row;
    do {
      const int64_t next = k % kGemmBlockK == 0 ? range.last : (k / kGemmBlockK + 1) * kGemmBlockK;
      const int64_t last = std::min(next, range.last);
      block.k = std::max<int64_t>(last - k, 0);
      gemm(block);
      block.a += block.k * args.a_col;
      block.b += block.k * args.b_row;
      block.accumulate = true;
      k = last;
    } while (k < range.last);
  }
}

template <typename T>
void ContractStep::RunBatches(const RunState& state, std::byte* scratch, int64_t first,
                              int64_t last, int64_t row_first, int64_t row_last) const {
  GemmArgs<T> args{};
  args.n = columns_.extent;
  args.k = inner_.extent;
  args.a_row = rows_.a, args.a_col = inner_.a;
  args.b_row = inner_.b, args.b_col = columns_.b;
  args.c_row = rows_.c, args.c_col = columns_.c;
  args.alpha = 1;
  args.scratch = scratch;
  const T* a = reinterpret_cast<const T*>(a_.In(state));
  const T* b = reinterpret_cast<const T*>(b_.In(state));
  T* c = reinterpret_cast<T*>(c_.In(state));
  // Each loop's index; counting on is cheaper than dividing, which small products feel.
  int64_t a_at = 0, b_at = 0, c_at = 0, rest = first * sums_;
  absl::InlinedVector<int64_t, 8> index(loops_.size());
  for (size_t i = loops_.size(); i-- > 0;) {
    const Loop& l = loops_[i];
    index[i] = rest % l.extent;
    rest /= l.extent;
    a_at += index[i] * l.a;
    b_at += index[i] * l.b;
    c_at += index[i] * l.c;
  }
  for (int64_t at = first * sums_; at < last * sums_; ++at) {
    args.a = a + a_at;
    args.b = b + b_at;
    args.c = c + c_at;
    args.accumulate = at % sums_ != 0;
    RunRows(args, row_first, row_last);
    for (size_t i = loops_.size(); i-- > 0;) {
      const Loop& l = loops_[i];
      a_at += l.a, b_at += l.b, c_at += l.c;
      if (++index[i] < l.extent) break;
      a_at -= l.a * l.extent, b_at -= l.b * l.extent, c_at -= l.c * l.extent;
      index[i] = 0;
    }
  }
}

void ContractStep::RunPart(void* context, int64_t part, int slot) {
  const auto& [step, state] = *static_cast<std::pair<const ContractStep*, RunState*>*>(context);
  std::byte* scratch = state->Scratch(slot);
  int64_t first = 0, last = step->batches_, row_first = 0, row_last = step->rows_.extent;
  if (step->parts_by_row_) {
    const int64_t tiles = (row_last + kRowStep - 1) / kRowStep;
    row_first = tiles * part / step->parts_ * kRowStep;
    row_last = std::min(row_last, tiles * (part + 1) / step->parts_ * kRowStep);
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
  const uint8_t* mask =
      stairs_.present() ? nullptr : reinterpret_cast<const uint8_t*>(mask_.address.In(state));
  T* c = reinterpret_cast<T*>(c_.In(state));
  int64_t cells = 1, out_cells = 1;
  for (const ContractAxis& axis : axes_)
    cells *= axis.extent, out_cells *= axis.summed ? 1 : axis.extent;
  const size_t of = static_cast<size_t>(stairs_.of), along = static_cast<size_t>(stairs_.along);
  std::vector<int64_t> indices(axes_.size());
  std::fill_n(c, out_cells, T{0});
  for (int64_t cell = 0; cell < cells; ++cell) {
    int64_t at_a = 0, at_b = 0, at_c = 0, at_mask = 0, rest = cell;
    for (size_t i = axes_.size(); i-- > 0;) {
      const ContractAxis& axis = axes_[i];
      const int64_t index = rest % axis.extent;
      rest /= axis.extent;
      indices[i] = index;
      at_a += index * axis.a, at_b += index * axis.b;
      if (!stairs_.present()) at_mask += index * mask_.strides[i];
      if (!axis.summed) at_c += index * axis.c;
    }
    const bool takes_part = stairs_.present()
                                ? indices[along] < stairs_.ends[static_cast<size_t>(indices[of])]
                                : mask[at_mask] != 0;
    if (takes_part) c[at_c] = std::fma(a[at_a], b[at_b], c[at_c]);
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
  state.RunParts(parts_, &ContractStep::RunPart, &context);
  return absl::OkStatus();
}

}  // namespace adjoin
