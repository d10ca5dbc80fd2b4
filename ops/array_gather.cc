#include "ops/array_gather.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ops/vector.h"

namespace adjoin {
namespace {

// Below kFewestCells a step stays on its caller: one thread takes 70 us for a gather of that many
// (f64, rows of 128), 165 for a scattered sum. Two threads took half the time of one from 128 Ki
// cells on (72 us to 39, 143 to 76); where the second gets no processor, a gather takes up to 5%
// more, and a scattered sum, whose parts all walk the positions, 20 to 25%.
constexpr int64_t kFewestCells = 262144;
constexpr int64_t kCellsPerPart = 65536;
// Of a run, what a part has to itself at least: a cache line.
constexpr int64_t kFewestOfRun = 16;

int64_t PartsFor(int64_t cells) {
  return adjoin::PartsFor(static_cast<double>(cells), kFewestCells, kCellsPerPart);
}

int64_t TakeLast(std::vector<int64_t>& values) {
  const int64_t last = values.back();
  values.pop_back();
  return last;
}

using Extents = absl::InlinedVector<int64_t, 8>;  // a run allocates nothing

// Walks the lines of a nest, of which a line is its innermost loop; follows where some arrays are
// at a line's begin.
class LineWalk {
 public:
  explicit LineWalk(Extents loops) : loops_(std::move(loops)), at_(loops_.size(), 0) {}
  void Follow(const std::vector<int64_t>& strides, int64_t start = 0) {
    strides_.push_back(strides.data());
    offsets_.push_back(start);
  }
  int64_t length() const { return loops_.back(); }
  int64_t lines() const {
    int64_t lines = 1;
    for (size_t i = 0; i + 1 < loops_.size(); ++i) lines *= loops_[i];
    return lines;
  }
  int64_t offset(size_t array) const { return offsets_[array]; }  // in the order of Follow
  void MoveTo(int64_t line) {
    for (size_t i = loops_.size() - 1; i-- > 0; line /= loops_[i])
      Move(i, line % loops_[i] - at_[i]);
  }
  void Next() {
    for (size_t i = loops_.size() - 1; i-- > 0;) {
      if (at_[i] + 1 < loops_[i]) return Move(i, 1);
      Move(i, -at_[i]);
    }
  }

 private:
  void Move(size_t loop, int64_t by) {
    at_[loop] += by;
    for (size_t a = 0; a < offsets_.size(); ++a) offsets_[a] += strides_[a][loop] * by;
  }

  Extents loops_, at_;
  absl::InlinedVector<const int64_t*, 8> strides_;
  absl::InlinedVector<int64_t, 8> offsets_;
};

constexpr int64_t kTargets = 512;  // found at once: 4 KiB

// Where [i, i + n) of a line point in the indexed array, cells of which are `direct` apart by the
// line itself. The indices are the walk's arrays from `first` on.
void FindTargets(const RunState& state, std::span<const ArrayIndex> indices, int64_t direct,
                 const LineWalk& walk, size_t first, int64_t i, int64_t n, int64_t* targets) {
  for (int64_t c = 0; c < n; ++c) targets[c] = (i + c) * direct;
  for (size_t k = 0; k < indices.size(); ++k) {
    const ArrayIndex& index = indices[k];
    const auto add = [&](auto zero) {
      using P = decltype(zero);
      const int64_t along = index.strides.back();
      const P* positions =
          reinterpret_cast<const P*>(index.address.In(state)) + walk.offset(first + k) + i * along;
      for (int64_t c = 0; c < n; ++c)
        targets[c] += (static_cast<int64_t>(positions[c * along]) - index.origin) * index.stride;
    };
    if (index.type == TypeId::kInt16) {
      add(int16_t{});
    } else if (index.type == TypeId::kInt32) {
      add(int32_t{});
    } else {
      add(int64_t{});
    }
  }
}

// Cells copied by one call: 1024 runs of 3 KiB took 329 us by memcpy, whose `rep movsb` starts at 2
// KiB, and 82 us in pieces.
constexpr int64_t kCopied = 128;

// Of n runs of cells, `stride` apart, copies one after the other.
template <typename T>
void CopyRuns(const T* from, const int64_t* targets, int64_t n, int64_t run, int64_t stride,
              T* to) {
  if constexpr (std::is_floating_point_v<T>) {
    if (run == 1) return Kernels().reduce<T>().gather(from, targets, to, n);
  }
  for (int64_t t = 0; t < n; ++t, to += run) {
    const T* cells = from + targets[t];
    if (stride == 1) {
      for (int64_t c = 0; c < run; c += kCopied)
        std::copy_n(cells + c, std::min(kCopied, run - c), to + c);
    } else {
      for (int64_t c = 0; c < run; ++c) to[c] = cells[c * stride];
    }
  }
}

// Adds n runs of cells, `along` apart and their cells `step`, to those that the targets head, of
// cells `stride` apart.
template <typename T>
void AddRuns(const T* from, int64_t along, int64_t step, int64_t n, int64_t run,
             const int64_t* targets, int64_t stride, T* out) {
  const ReduceKernels<T>& kernels = Kernels().reduce<T>();
  if (run == 1 && along == 1) return kernels.scatter_add(targets, from, out, n);
  for (int64_t t = 0; t < n; ++t, from += along) {
    T* to = out + targets[t];
    if (stride == 1 && step == 1) {
      kernels.add_to(from, to, run);
    } else {
      for (int64_t c = 0; c < run; ++c) to[c * stride] += from[c * step];
    }
  }
}

// Cells of two values, `along` apart: of each index both.
template <typename T>
void AddInTurn(const T* const* from, std::array<int64_t, 2> along, int64_t n, const int64_t* first,
               const int64_t* second, T* out) {
  for (int64_t t = 0; t < n; ++t) {
    out[first[t]] += from[0][t * along[0]];
    out[second[t]] += from[1][t * along[1]];
  }
}

}  // namespace

IndexedLoops::IndexedLoops(std::vector<int64_t> all_loops, std::vector<int64_t> direct_strides,
                           std::vector<ArrayIndex> all_indices)
    : loops(std::move(all_loops)),
      direct(std::move(direct_strides)),
      indices(std::move(all_indices)) {
  const bool has_run =
      !loops.empty() && std::all_of(indices.begin(), indices.end(),
                                    [](const ArrayIndex& i) { return i.strides.back() == 0; });
  if (has_run) {
    run = TakeLast(loops);
    run_stride = TakeLast(direct);
    for (ArrayIndex& index : indices) index.strides.pop_back();
  }
  if (loops.empty()) {
    loops.push_back(1);
    direct.push_back(0);
    for (ArrayIndex& index : indices) index.strides.push_back(0);
  }
}

int64_t IndexedLoops::cells() const {
  int64_t cells = run;
  for (int64_t extent : loops) cells *= extent;
  return cells;
}

GatherStep::GatherStep(TypeId type, std::vector<int64_t> loops, ArrayAddress source,
                       std::vector<int64_t> direct, std::vector<ArrayIndex> indices,
                       ArrayAddress out, int64_t tiled, std::string label)
    : type_(type),
      nest_(std::move(loops), std::move(direct), std::move(indices)),
      source_(source),
      out_(out),
      tiled_(tiled),
      label_(std::move(label)),
      parts_(PartsFor(nest_.cells())) {}

template <typename T>
void GatherStep::Gather(const RunState& state, int64_t first, int64_t last) const {
  LineWalk walk(Extents(nest_.loops.begin(), nest_.loops.end()));
  walk.Follow(nest_.direct);
  for (const ArrayIndex& index : nest_.indices) walk.Follow(index.strides);
  const T* source = reinterpret_cast<const T*>(source_.In(state));
  const int64_t run = nest_.run, stride = nest_.run_stride;
  T* to = reinterpret_cast<T*>(out_.In(state)) + first * run;
  int64_t targets[kTargets];
  walk.MoveTo(first / walk.length());
  int64_t i = first % walk.length();
  while (first < last) {
    const int64_t n = std::min({walk.length() - i, last - first, kTargets});
    FindTargets(state, nest_.indices, nest_.direct.back(), walk, 1, i, n, targets);
    const T* from = source + walk.offset(0);
    CopyRuns(from, targets, n, run, stride, to);
    to += n * run;
    first += n;
    i += n;
    if (i == walk.length()) {
      walk.Next();
      i = 0;
    }
  }
}

void GatherStep::GatherRuns(const RunState& state, int64_t first, int64_t last) const {
  WithElementType(type_, [&](auto zero) { Gather<decltype(zero)>(state, first, last); });
}

void GatherStep::RunPart(RunState& state, int64_t part, int) const {
  const int64_t runs = nest_.cells() / nest_.run;
  GatherRuns(state, runs * part / parts_, runs * (part + 1) / parts_);
}

void GatherStep::RunTile(RunState& state, int64_t first, int64_t last) const {
  const int64_t an_index = nest_.cells() / nest_.run / tiled_, runs = (last - first) * an_index;
  const int64_t parts = PartsFor(runs * nest_.run);
  state.RunParts(parts, [&](int64_t part, int) {
    const int64_t from = first * an_index;
    GatherRuns(state, from + runs * part / parts, from + runs * (part + 1) / parts);
  });
}

absl::Status GatherStep::Run(RunState& state) const {
  RunAllParts(state);
  return absl::OkStatus();
}

namespace {

std::vector<ArrayIndex> AllIndices(const std::vector<ScatterStep::Value>& values) {
  std::vector<ArrayIndex> all;
  for (const ScatterStep::Value& value : values)
    all.insert(all.end(), value.indices.begin(), value.indices.end());
  return all;
}

}  // namespace

ScatterStep::ScatterStep(TypeId type, std::vector<int64_t> loops, std::vector<Value> values,
                         std::vector<int64_t> direct, ArrayAddress out, int64_t out_cells,
                         std::string label)
    : type_(type),
      nest_(std::move(loops), std::move(direct), AllIndices(values)),
      out_(out),
      out_cells_(out_cells),
      label_(std::move(label)) {
  for (Value& value : values) {
    Source source{value.address, std::move(value.strides), 0};
    if (source.strides.size() > nest_.loops.size()) source.run_stride = TakeLast(source.strides);
    source.strides.resize(nest_.loops.size(), 0);
    sources_.push_back(std::move(source));
  }
  const auto consider = [&](size_t loop, int64_t ranges) {
    if (ranges <= most_parts_) return;
    cut_ = loop;
    most_parts_ = ranges;
  };
  for (size_t loop = 0; loop < nest_.loops.size(); ++loop) {
    if (nest_.direct[loop] != 0) consider(loop, nest_.loops[loop]);
  }
  if (nest_.run_stride != 0) consider(nest_.loops.size(), nest_.run / kFewestOfRun);
  most_parts_ = std::min(most_parts_, PartsFor(nest_.cells()));
}

template <typename T>
void ScatterStep::Scatter(const RunState& state, Range outermost, Range cut) const {
  T* out = reinterpret_cast<T*>(out_.In(state));
  Extents loops(nest_.loops.begin(), nest_.loops.end());
  int64_t run = nest_.run;
  loops[0] = outermost.length();
  if (cut_ > 0) (cuts_runs() ? run : loops[cut_]) = cut.length();
  const auto start = [&](const std::vector<int64_t>& strides, int64_t run_stride) {
    const int64_t first = outermost.first * strides[0];
    return cut_ > 0 ? first + cut.first * (cuts_runs() ? run_stride : strides[cut_]) : first;
  };
  LineWalk walk(std::move(loops));
  walk.Follow(nest_.direct, start(nest_.direct, nest_.run_stride));
  for (const Source& source : sources_)
    walk.Follow(source.strides, start(source.strides, source.run_stride));
  for (const ArrayIndex& index : nest_.indices) walk.Follow(index.strides, start(index.strides, 0));
  const size_t sources = sources_.size(), each = nest_.indices.size() / sources;
  const std::span<const ArrayIndex> indices = nest_.indices;
  const bool in_turn =
      sources > 1 && std::any_of(indices.begin(), indices.end(),
                                 [](const auto& i) { return i.strides.back() != 0; });
  int64_t targets[2][kTargets];
  for (int64_t left = walk.lines(); left > 0; --left, walk.Next()) {
    for (int64_t i = 0; i < walk.length(); i += kTargets) {
      const int64_t n = std::min(walk.length() - i, kTargets), step = in_turn ? 1 : n;
      for (size_t s = 0; s < sources; ++s) {
        FindTargets(state, indices.subspan(s * each, each), nest_.direct.back(), walk,
                    1 + sources + s * each, i, n, targets[s]);
      }
      if (in_turn && run == 1) {
        const T* from[2];
        for (size_t s = 0; s < 2; ++s)
          from[s] = reinterpret_cast<const T*>(sources_[s].address.In(state)) + walk.offset(1 + s) +
                    i * sources_[s].strides.back();
        AddInTurn(from, {sources_[0].strides.back(), sources_[1].strides.back()}, n, targets[0],
                  targets[1], out + walk.offset(0));
        continue;
      }
      for (int64_t t = 0; t < n; t += step) {
        for (size_t s = 0; s < sources; ++s) {
          const Source& source = sources_[s];
          const int64_t along = source.strides.back();
          const T* from = reinterpret_cast<const T*>(source.address.In(state)) +
                          walk.offset(1 + s) + (i + t) * along;
          AddRuns(from, along, source.run_stride, step, run, targets[s] + t, nest_.run_stride,
                  out + walk.offset(0));
        }
      }
    }
  }
}

// As many parts as threads: their number changes no bit, each may have to walk all positions, and
// memset is faster on much at once (51 MB: 2.0 ms, in 16 parts 3.4).
void ScatterStep::Zero(const RunState& state) const {
  const int64_t parts = std::min<int64_t>(PartsFor(out_cells_), state.slots());
  const int64_t width = WidthOf(type_);
  state.RunParts(parts, [&](int64_t part, int) {
    const int64_t first = out_cells_ * part / parts, last = out_cells_ * (part + 1) / parts;
    std::memset(out_.In(state) + first * width, 0, static_cast<size_t>((last - first) * width));
  });
}

void ScatterStep::Add(const RunState& state, Range outermost) const {
  const int64_t cells = nest_.cells() / std::max<int64_t>(nest_.loops[0], 1) * outermost.length();
  const int64_t parts = std::min<int64_t>({most_parts_, PartsFor(cells), state.slots()});
  state.RunParts(parts, [&](int64_t part, int) {
    Range loop = outermost, cut{0, cut_extent()};
    Range& range = cut_ > 0 ? cut : loop;
    range = {range.first + range.length() * part / parts,
             range.first + range.length() * (part + 1) / parts};
    if (type_ == TypeId::kFloat32) {
      Scatter<float>(state, loop, cut);
    } else {
      Scatter<double>(state, loop, cut);
    }
  });
}

absl::Status ScatterStep::Run(RunState& state) const {
  Zero(state);
  Add(state, {0, nest_.loops[0]});
  return absl::OkStatus();
}

void ScatterStep::RunTile(RunState& state, int64_t first, int64_t last) const {
  if (first == 0) Zero(state);
  Add(state, {first, last});
}

}  // namespace adjoin
