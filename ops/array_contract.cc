#include "ops/array_contract.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

// Above ContractStep::kFewestFlops parts are small enough that a few threads end together.
constexpr double kFlopsPerPart = 2e6;
// Of the dimension that is cut: not worth it for fewer.
constexpr int64_t kFewestOfPart = 48;
// Parts of the packed factor's free dimension each pack what is theirs; parts of the other one each
// pack all of it. So that one is cut only where it makes more parts, and the packed one less than
// these. All parts on one thread, in the time of the whole product (AVX2):
//                                          packed dimension           the other
//   [768 x 128] [128 x 512], f32 and f64   10 parts, 1.01 and 1.02    16 parts, 1.11 and 1.15
//   [768 x 128] [128 x 128]                 2        1.01 and 1.01    12        1.05 and 1.06
//   [768 x 512] [512 x 128]                 2        1.01 and 1.01    16        1.09 and 1.10
//   [1024 x 384] [384 x 384]                8        1.02 and 1.05    16        1.09 and 1.08
// Where both factors are packed, the one that makes more parts is cut:
//   [512 x 768] [768 x 128]                 2        1.06 and 1.09    10        1.09 and 1.11
//   [128 x 768] [768 x 512]                10        1.07 and 1.11     2        1.05 and 1.06
//   [128 x 768] [768 x 128]                 2        1.00 and 1.04     2        1.03 and 1.03
constexpr int64_t kEnoughParts = 8;
// They are cut at multiples of every kernel's tile.
constexpr int64_t kPackedStep = 32;
constexpr int64_t kOtherStep = 24;

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

// Elements from one array to another, which need not be part of one.
template <typename T>
int64_t Distance(const std::byte* from, const std::byte* to) {
  return (reinterpret_cast<intptr_t>(to) - reinterpret_cast<intptr_t>(from)) /
         static_cast<intptr_t>(sizeof(T));
}

}  // namespace

struct ContractStep::State final : StepState {
  bool needs_mask = false;  // of the run whose tiles are under way
};

// Joins neighbours, makes the largest run of `group` the matrix dimension and loops over the rest.
// The tiled axis stays the outermost of its run, and of summed ones it is the matrix dimension.
ContractStep::Matrix ContractStep::TakeLargest(std::vector<ContractAxis> group) {
  std::erase_if(group, [](const ContractAxis& x) { return x.extent == 1; });
  for (size_t i = group.size(); i-- > 1;) {
    if (group[i].outer == tiled_ || !JoinsWith(group[i - 1], group[i])) continue;
    group[i].extent *= group[i - 1].extent;
    group[i].number = -1;
    group[i].outer = group[i - 1].outer;
    group.erase(group.begin() + static_cast<ptrdiff_t>(i - 1));
  }
  if (group.empty()) return {};
  auto largest = std::max_element(
      group.begin(), group.end(),
      [](const ContractAxis& x, const ContractAxis& y) { return x.extent < y.extent; });
  for (auto it = group.begin(); it != group.end(); ++it) {
    if (it->summed && it->outer == tiled_) largest = it;
  }
  const Matrix m{largest->extent, largest->a,      largest->b,
                 largest->c,      largest->number, largest->outer};
  for (auto it = group.begin(); it != group.end(); ++it) {
    if (it != largest)
      loops_.push_back({it->extent, it->a, it->b, it->summed ? 0 : it->c, it->summed, it->outer});
  }
  return m;
}

ContractStep::ContractStep(int number, TypeId type, std::vector<ContractAxis> axes,
                           std::vector<Product> products, Stack stack, Mask mask, Staircase stairs,
                           int tiled, std::string label)
    : number_(static_cast<size_t>(number)),
      type_(type),
      axes_(std::move(axes)),
      products_(std::move(products)),
      stack_(stack),
      mask_(std::move(mask)),
      stairs_(std::move(stairs)),
      tiled_(tiled),
      label_(std::move(label)) {
  ADJOIN_DCHECK(products_.size() == 1 || (tiled_ < 0 && !mask_.present));
  for (size_t i = 0; i < axes_.size(); ++i) axes_[i].number = axes_[i].outer = static_cast<int>(i);
  // Tiles and the blocks of a staircase are of rows.
  const ContractAxis* of_rows = nullptr;
  if (stairs_.present()) {
    const ContractAxis &of = axes_[static_cast<size_t>(stairs_.of)],
                       &along = axes_[static_cast<size_t>(stairs_.along)];
    if (of.summed != along.summed) of_rows = of.summed ? &along : &of;
  }
  if (tiled_ >= 0 && !axes_[static_cast<size_t>(tiled_)].summed)
    of_rows = &axes_[static_cast<size_t>(tiled_)];
  if (of_rows != nullptr && !of_rows->in_a) {
    for (Product& product : products_) std::swap(product.a, product.b);
    for (ContractAxis& axis : axes_) std::swap(axis.a, axis.b), std::swap(axis.in_a, axis.in_b);
  }
  std::vector<ContractAxis> rows, columns, inner;
  for (const ContractAxis& axis : axes_) {
    if (axis.summed) {
      inner.push_back(axis);
    } else if (axis.in_a && axis.in_b) {
      if (axis.extent > 1)
        loops_.push_back({axis.extent, axis.a, axis.b, axis.c, false, axis.number});
    } else {
      (axis.in_a ? rows : columns).push_back(axis);
    }
  }
  rows_ = TakeLargest(std::move(rows));
  columns_ = TakeLargest(std::move(columns));
  inner_ = TakeLargest(std::move(inner));
  std::stable_partition(loops_.begin(), loops_.end(), [](const Loop& l) { return !l.summed; });
  std::stable_partition(loops_.begin(), loops_.end(),
                        [&](const Loop& l) { return !l.summed && l.outer == tiled_; });
  for (const Loop& l : loops_) (l.summed ? sums_ : batches_) *= l.extent;
  if (stairs_.present()) FindRanges();
  cut_ = CutOf(Whole());
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

std::string ContractStep::Describe() const {
  const std::string products =
      products_.size() > 1
          ? absl::StrCat(products_.size(), " ", stack_ == Stack::kSum ? "summed " : "stacked ")
          : "";
  return absl::StrCat(label_, " ", products, batches_ > 1 ? absl::StrCat(batches_, " x ") : "", "[",
                      rows_.extent, " x ", inner_.extent, "] [", inner_.extent, " x ",
                      columns_.extent, "]", sums_ > 1 ? absl::StrCat(" in ", sums_, " sums") : "",
                      ranges_.empty() ? "" : " in a staircase");
}

int64_t ContractStep::scratch_bytes() const {
  return GemmScratchBytes(rows_.extent, columns_.extent, inner_.extent, WidthOf(type_));
}

// The products of some rows and some of the inner dimension of one batch, whose operands and
// strides `args` holds. What lies before in the inner dimension has been added.
template <typename T>
void ContractStep::RunRows(GemmArgs<T> args, bool adds, const Range& rows,
                           const Range& inner) const {
  const auto gemm = Kernels().reduce<T>().gemm;
  // The first terms are added to the addend, later ones to what they left.
  const bool later = args.accumulate || inner.first > 0;
  args.accumulate = later || adds;
  if (later) args.from = 0;
  if (ranges_.empty()) {
    args.m = rows.length();
    args.k = inner.length();
    args.a += rows.first * args.a_row + inner.first * args.a_col;
    args.b += inner.first * args.b_row;
    args.c += rows.first * args.c_row;
    gemm(args);
    return;
  }
  const auto range_of = [&](int64_t row) {
    const Range& range = ranges_[static_cast<size_t>(row / kStairRows)];
    if (ranges_of_columns_) return range;
    return Range{std::max(range.first, inner.first), std::min(range.last, inner.last)};
  };
  // The kernel starts its sums anew at every kGemmBlockK, whatever lies before.
  for (int64_t i = rows.first; i < rows.last;) {
    const Range range = range_of(i);
    int64_t end = (i / kStairRows + 1) * kStairRows;
    while (end < rows.last && range_of(end) == range) end += kStairRows;
    end = std::min(end, rows.last);
    GemmArgs<T> block = args;
    block.m = end - i;
    block.a += i * args.a_row;
    block.c += i * args.c_row;
    i = end;
    if (ranges_of_columns_) {
      const auto fill = [&](int64_t first, int64_t last) {
        for (int64_t r = 0; r < block.m && !later; ++r) {
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
      block.n = range.length();
      block.k = inner.length();
      block.a += inner.first * args.a_col;
      block.b += range.first * args.b_col + inner.first * args.b_row;
      block.c += range.first * args.c_col;
      gemm(block);
      continue;
    }
    if (range.length() <= 0 && later) continue;
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
      block.from = 0;
      k = last;
    } while (k < range.last);
  }
}

template <typename T>
void ContractStep::RunProducts(const RunState& state, std::byte* scratch, const Span& span) const {
  GemmArgs<T> args{};
  args.n = span.columns.length();
  args.a_row = rows_.a, args.a_col = inner_.a;
  args.b_row = inner_.b, args.b_col = columns_.b;
  args.c_row = rows_.c, args.c_col = columns_.c;
  args.scratch = scratch;
  for (int64_t p = span.products.first; p < span.products.last; ++p) {
    const Product& product = products_[static_cast<size_t>(p)];
    args.a = reinterpret_cast<const T*>(product.a.In(state));
    args.b = reinterpret_cast<const T*>(product.b.In(state));
    args.c = reinterpret_cast<T*>(product.c.In(state));
    args.alpha = static_cast<T>(product.scale);
    args.from =
        product.adds ? Distance<T>(product.c.In(state), product.addend.In(state)) : int64_t{0};
    args.accumulate = p > 0 && stack_ == Stack::kSum;
    RunBatches(args, product.adds, span);
  }
}

// Every batch of one product, whose arrays and epilogue `args` holds.
template <typename T>
void ContractStep::RunBatches(GemmArgs<T> args, bool adds, const Span& span) const {
  const T *a = args.a, *b = args.b;
  T* c = args.c;
  const bool later = args.accumulate;
  // Each loop's index; counting on is cheaper than dividing, which small products feel.
  int64_t a_at = 0, rest = span.batches.first * sums_;
  int64_t b_at = span.columns.first * columns_.b, c_at = span.columns.first * columns_.c;
  absl::InlinedVector<int64_t, 8> index(loops_.size());
  for (size_t i = loops_.size(); i-- > 0;) {
    const Loop& l = loops_[i];
    index[i] = rest % l.extent;
    rest /= l.extent;
    a_at += index[i] * l.a;
    b_at += index[i] * l.b;
    c_at += index[i] * l.c;
  }
  for (int64_t at = span.batches.first * sums_; at < span.batches.last * sums_; ++at) {
    args.a = a + a_at;
    args.b = b + b_at;
    args.c = c + c_at;
    args.accumulate = later || at % sums_ != 0;
    RunRows(args, adds, span.rows, span.inner);
    for (size_t i = loops_.size(); i-- > 0;) {
      const Loop& l = loops_[i];
      a_at += l.a, b_at += l.b, c_at += l.c;
      if (++index[i] < l.extent) break;
      a_at -= l.a * l.extent, b_at -= l.b * l.extent, c_at -= l.c * l.extent;
      index[i] = 0;
    }
  }
}

ContractStep::Span ContractStep::Whole() const {
  return {{0, std::ssize(products_)},
          {0, batches_},
          {0, rows_.extent},
          {0, columns_.extent},
          {0, inner_.extent}};
}

ContractStep::Span ContractStep::TileOf(int64_t first, int64_t last) const {
  Span span = Whole();
  Range& of = rows_.outer == tiled_    ? span.rows
              : inner_.outer == tiled_ ? span.inner
                                       : span.batches;
  const int64_t unit = of.last / axes_[static_cast<size_t>(tiled_)].extent;
  of = {first * unit, last * unit};
  return span;
}

void ContractStep::RunPartOf(const RunState& state, Span span, const Cut& cut, int64_t part,
                             int slot) const {
  const auto cut_to = [](Range& range, int64_t unit, int64_t of, int64_t parts) {
    const int64_t units = (range.length() + unit - 1) / unit;
    range = {range.first + units * of / parts * unit,
             std::min(range.last, range.first + units * (of + 1) / parts * unit)};
  };
  if (cut.parts > 1) {  // divisions take a small product's time
    cut_to(span.*cut.of, cut.unit, part % cut.each, cut.each);
    if (stack_ == Stack::kEach) cut_to(span.products, 1, part / cut.each, cut.parts / cut.each);
  }
  std::byte* scratch = state.Scratch(slot);
  if (type_ == TypeId::kFloat32) {
    RunProducts<float>(state, scratch, span);
  } else {
    RunProducts<double>(state, scratch, span);
  }
}

// Cuts the rows or the columns of each batch into at most `wanted` parts.
ContractStep::Cut ContractStep::CutMatrix(int64_t wanted, const Span& span) const {
  const auto parts_of = [&](Range Span::*of) {
    // A block of a staircase's rows has a range of columns of its own.
    const bool whole = of == &Span::columns && ranges_of_columns_ && !ranges_.empty();
    const int64_t length = (span.*of).length();
    return whole ? 1 : std::clamp<int64_t>(length / kFewestOfPart, 1, wanted);
  };
  // The kernel packs the factor along whose dimension c's cells lie side by side, and the other one
  // where that lies across.
  const bool packs_a = rows_.c == 1 && columns_.c != 1;
  const bool packs_both = (packs_a ? columns_.b : rows_.a) == 1;
  Range Span::*packed = packs_a ? &Span::rows : &Span::columns;
  Range Span::*other = packs_a ? &Span::columns : &Span::rows;
  const int64_t enough = packs_both ? kMostParts : kEnoughParts;
  if (parts_of(packed) >= std::min(parts_of(other), enough))
    return {1, parts_of(packed), packed, kPackedStep};
  return {1, parts_of(other), other, kOtherStep};
}

// A part of a sum does all of its products, and packs as much for each as it would for one.
ContractStep::Cut ContractStep::CutOf(const Span& span) const {
  const int64_t products = std::ssize(products_), stored = stack_ == Stack::kEach ? products : 1;
  const double flops = 2.0 * static_cast<double>(span.rows.length()) *
                       static_cast<double>(columns_.extent) *
                       static_cast<double>(span.inner.length()) *
                       static_cast<double>(span.batches.length() * sums_ * products);
  const double a_part = kFlopsPerPart * static_cast<double>(products / stored);
  const int64_t wanted = std::max<int64_t>(PartsFor(flops, kFewestFlops, a_part), 1);
  if (wanted < 2 * stored) return {std::min(wanted, stored)};
  const int64_t each = (wanted + stored - 1) / stored;
  Cut cut = span.batches.length() < each ? CutMatrix(each, span) : Cut{1, each};
  cut.parts = stored * cut.each;
  return cut;
}

void ContractStep::RunPart(RunState& state, int64_t part, int slot) const {
  RunPartOf(state, Whole(), cut_, part, slot);
}

void ContractStep::RunSpan(RunState& state, const Span& span) const {
  const Cut cut = CutOf(span);
  state.RunParts(cut.parts,
                 [&](int64_t part, int slot) { RunPartOf(state, span, cut, part, slot); });
}

absl::Status ContractStep::Prepare(RunState& state) const {
  if (tiled_ >= 0 && mask_.present) state.step_states[number_] = std::make_unique<State>();
  return absl::OkStatus();
}

absl::Status ContractStep::Run(RunState& state) const {
  if (NeedsMask(state, 0, mask_.checked_cells)) {
    RunMasked(state, {0, 0});
  } else {
    RunSpan(state, Whole());
  }
  return absl::OkStatus();
}

void ContractStep::RunTile(RunState& state, int64_t first, int64_t last) const {
  bool needs_mask = false;
  if (mask_.present) {
    bool& known = static_cast<State&>(*state.step_states[number_]).needs_mask;
    if (mask_.checked_by_tile) {
      const int64_t unit = mask_.checked_cells / axes_[static_cast<size_t>(tiled_)].extent;
      known = NeedsMask(state, first * unit, (last - first) * unit);
    } else if (first == 0) {
      known = NeedsMask(state, 0, mask_.checked_cells);
    }
    needs_mask = known;
  }
  if (needs_mask) {
    RunMasked(state, {first, last});
  } else {
    RunSpan(state, TileOf(first, last));
  }
}

}  // namespace adjoin
