#include "ops/array_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/status.h"
#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

// Above FusedRows::kFewestCells parts are small enough that a few threads end together.
constexpr int64_t kCellsPerPart = 16384;

int64_t PartsFor(int64_t cells) {
  return adjoin::PartsFor(static_cast<double>(cells), FusedRows::kFewestCells, kCellsPerPart);
}

// A step of one part has one worker, whichever slot it runs on.
size_t WorkersFor(const RunState& state, int64_t parts) {
  return parts == 1 ? 1 : static_cast<size_t>(state.slots());
}

template <typename T>
T& OfSlot(std::vector<T>& workers, int slot) {
  return workers[workers.size() == 1 ? 0 : static_cast<size_t>(slot)];
}

template <typename T>
T Identity(ArrayReduction r) {
  switch (r) {
    case ArrayReduction::kMax:
      return -std::numeric_limits<T>::infinity();
    case ArrayReduction::kMin:
      return std::numeric_limits<T>::quiet_NaN();  // SQL's greatest value
    default:
      return 0;
  }
}
template <>
uint8_t Identity<uint8_t>(ArrayReduction r) {
  return r == ArrayReduction::kAll ? 1 : 0;
}

template <typename T>
T ReduceRun(ArrayReduction r, const T* x, int64_t n) {
  const ReduceKernels<T>& k = Kernels().reduce<T>();
  switch (r) {
    case ArrayReduction::kMax:
      return k.max(x, n);
    case ArrayReduction::kMin:
      return k.min(x, n);
    default:
      return k.sum(x, n);
  }
}
template <>
uint8_t ReduceRun<uint8_t>(ArrayReduction r, const uint8_t* x, int64_t n) {
  const bool all = r == ArrayReduction::kAll;
  uint8_t acc = all ? 1 : 0;
  for (int64_t i = 0; i < n; ++i) acc = all ? acc & x[i] : acc | x[i];
  return acc;
}

template <typename T>
void ReduceInto(ArrayReduction r, const T* x, T* acc, int64_t n) {
  const ReduceKernels<T>& k = Kernels().reduce<T>();
  switch (r) {
    case ArrayReduction::kMax:
      return k.max_to(x, acc, n);
    case ArrayReduction::kMin:
      return k.min_to(x, acc, n);
    default:
      return k.add_to(x, acc, n);
  }
}
template <>
void ReduceInto<uint8_t>(ArrayReduction r, const uint8_t* x, uint8_t* acc, int64_t n) {
  const bool all = r == ArrayReduction::kAll;
  for (int64_t i = 0; i < n; ++i) acc[i] = all ? acc[i] & x[i] : acc[i] | x[i];
}

}  // namespace

struct FusedRows::State final : StepState {
  std::vector<std::vector<RowProgram::Worker>> workers;  // by program
};

FusedRows::FusedRows(int number, std::vector<RowProgram> programs, int64_t tiled, std::string label)
    : number_(static_cast<size_t>(number)),
      programs_(std::move(programs)),
      tiled_(tiled),
      label_(std::move(label)) {
  const int64_t count = std::ssize(programs_), rows = programs_[0].rows();
  const int64_t wanted = PartsFor(rows * programs_[0].length() * count);
  each_ = wanted < 2 * count ? 1 : PartsOf(rows, wanted / count);
  parts_ = wanted < 2 * count ? std::min(wanted, count) : each_ * count;
}

int64_t FusedRows::PartsOf(int64_t rows, int64_t wanted) const {
  return std::min(wanted, std::max<int64_t>(rows / programs_[0].block_rows(), 1));
}

absl::Status FusedRows::Prepare(RunState& state) const {
  auto own = std::make_unique<State>();
  for (const RowProgram& program : programs_) {
    own->workers.emplace_back(WorkersFor(state, parts_));
    for (auto& worker : own->workers.back()) ADJOIN_RETURN_IF_ERROR(program.Prepare(state, worker));
  }
  state.step_states[number_] = std::move(own);
  return absl::OkStatus();
}

void FusedRows::RunRows(RunState& state, size_t of, int64_t first, int64_t last, int64_t part,
                        int64_t parts, int slot) const {
  const RowProgram& program = programs_[of];
  auto& worker = OfSlot(static_cast<State&>(*state.step_states[number_]).workers[of], slot);
  const int64_t block = program.block_rows();
  if (parts > 1) {
    const int64_t blocks = (last - first + block - 1) / block;
    last = std::min(last, first + blocks * (part + 1) / parts * block);
    first += blocks * part / parts * block;
  }
  for (int64_t row = first; row < last; row += block)
    program.Run(state, worker, row, std::min(block, last - row));
}

void FusedRows::RunPart(RunState& state, int64_t part, int slot) const {
  const int64_t rows = programs_[0].rows(), count = std::ssize(programs_);
  if (parts_ == 1) {  // spares a small step divisions
    for (size_t p = 0; p < programs_.size(); ++p) RunRows(state, p, 0, rows, 0, 1, slot);
    return;
  }
  const int64_t ranges = parts_ / each_, range = part / each_;
  for (int64_t p = count * range / ranges; p < count * (range + 1) / ranges; ++p)
    RunRows(state, static_cast<size_t>(p), 0, rows, part % each_, each_, slot);
}

absl::Status FusedRows::Run(RunState& state) const {
  RunAllParts(state);
  return absl::OkStatus();
}

void FusedRows::RunTile(RunState& state, int64_t first, int64_t last) const {
  const int64_t rows = programs_[0].rows() / tiled_, tile = (last - first) * rows;
  const int64_t wanted = PartsFor(tile * programs_[0].length());
  const int64_t parts = PartsOf(tile, wanted);
  state.RunParts(parts, [&](int64_t part, int slot) {
    RunRows(state, 0, first * rows, last * rows, part, parts, slot);
  });
}

struct FusedReduce::State final : StepState {
  struct Own {
    std::vector<RowProgram::Worker> workers;
    std::vector<double> partial;  // by chunk: its output cells
  };
  std::vector<Own> of;  // by reduction
  // By worker: the cells of a block of a long row that the program makes in more than one piece,
  // and one value a block, 8 bytes each in f32 too.
  std::vector<std::vector<double>> blocks;
};

FusedReduce::FusedReduce(int number, ArrayReduction reduction, int64_t outer, int64_t reduced,
                         int64_t inner, std::vector<Reduction> reductions, int64_t tiled,
                         std::string label)
    : number_(static_cast<size_t>(number)),
      reduction_(reduction),
      outer_(outer),
      reduced_(reduced),
      inner_(inner),
      reductions_(std::move(reductions)),
      tiled_(tiled),
      label_(std::move(label)),
      parts_(PartsFor(outer * reduced * inner)),
      chunks_(
          std::clamp<int64_t>(outer > 0 ? parts_ / outer : 1, 1, std::max<int64_t>(reduced, 1))) {
  parts_ = std::max<int64_t>(std::min(outer_ * chunks_, parts_), 1);
  is_one_part_ = parts_ == 1 && PartsFor(outer * reduced * inner * std::ssize(reductions_)) == 1;
}

absl::Status FusedReduce::Prepare(RunState& state) const {
  auto own = std::make_unique<State>();
  own->blocks.resize(WorkersFor(state, parts()));
  for (auto& blocks : own->blocks)
    blocks.resize(
        static_cast<size_t>(RowProgram::kBlockCells + reduced_ / RowProgram::kBlockCells + 2));
  for (const Reduction& reduction : reductions_) {
    State::Own& of = own->of.emplace_back();
    of.workers.resize(own->blocks.size());
    for (auto& worker : of.workers)
      ADJOIN_RETURN_IF_ERROR(reduction.program.Prepare(state, worker));
    if (chunks_ > 1) of.partial.resize(static_cast<size_t>(outer_ * chunks_ * inner_));
  }
  state.step_states[number_] = std::move(own);
  return absl::OkStatus();
}

// Reduces cells [first, last) of the nest, whole rows of one outer cell, into `out`. A block has
// kBlockCells also where the program's registers leave room for fewer: how a sum is made does not
// depend on what else is computed with it.
template <typename T>
void FusedReduce::RunChunk(const RunState& state, size_t of, RowProgram::Worker& worker,
                           int64_t first, int64_t last, T* out, T* block) const {
  constexpr int64_t kBlock = RowProgram::kBlockCells;
  const RowProgram& program = reductions_[of].program;
  const int64_t length = program.length();
  const int64_t step = program.block_rows() * length;
  T* sums = block + kBlock;
  int64_t count = 0, held = 0;
  if (inner_ > 1) std::fill_n(out, inner_, Identity<T>(reduction_));
  for (int64_t at = first; at < last; at += step) {
    const int64_t n = std::min(step, last - at);
    program.Run(state, worker, at / length, n / length);
    const T* x = reinterpret_cast<const T*>(program.exposed(worker));
    if (inner_ == 1 && n == kBlock) {
      sums[count++] = ReduceRun(reduction_, x, n);
      continue;
    }
    if (inner_ == 1) {
      for (int64_t i = 0; i < n;) {
        const int64_t taken = std::min(n - i, kBlock - held);
        std::copy_n(x + i, taken, block + held);
        i += taken;
        held += taken;
        if (held < kBlock) continue;
        sums[count++] = ReduceRun(reduction_, block, std::exchange(held, 0));
      }
      continue;
    }
    for (int64_t i = 0; i < n;) {
      const int64_t column = (at - first + i) % inner_;
      const int64_t run = std::min(n - i, inner_ - column);
      ReduceInto(reduction_, x + i, out + column, run);
      i += run;
    }
  }
  if (held > 0) sums[count++] = ReduceRun(reduction_, block, held);
  if (inner_ == 1) *out = count == 0 ? Identity<T>(reduction_) : ReduceRun(reduction_, sums, count);
}

template <typename T>
void FusedReduce::Combine(const RunState& state) const {
  const auto& own = static_cast<const State&>(*state.step_states[number_]);
  for (size_t r = 0; r < reductions_.size(); ++r) {
    const T* partial = reinterpret_cast<const T*>(own.of[r].partial.data());
    T* out = reinterpret_cast<T*>(reductions_[r].output.In(state));
    for (int64_t o = 0; o < outer_; ++o) {
      std::copy_n(partial + o * chunks_ * inner_, inner_, out + o * inner_);
      for (int64_t c = 1; c < chunks_; ++c) {
        ReduceInto(reduction_, partial + (o * chunks_ + c) * inner_, out + o * inner_, inner_);
      }
    }
  }
}

namespace {
template <typename F>
void WithReduced(TypeId type, F&& f) {
  switch (type) {
    case TypeId::kFloat32:
      return f(float{});
    case TypeId::kFloat64:
      return f(double{});
    default:
      return f(uint8_t{});
  }
}
}  // namespace

void FusedReduce::RunChunks(RunState& state, size_t of, int64_t begin, int64_t end,
                            int slot) const {
  auto& own = static_cast<State&>(*state.step_states[number_]);
  WithReduced(reductions_[of].program.exposed_type(), [&](auto zero) {
    using T = decltype(zero);
    T* out = chunks_ > 1 ? reinterpret_cast<T*>(own.of[of].partial.data())
                         : reinterpret_cast<T*>(reductions_[of].output.In(state));
    T* blocks = reinterpret_cast<T*>(OfSlot(own.blocks, slot).data());
    RowProgram::Worker& worker = OfSlot(own.of[of].workers, slot);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / chunks_, chunk = i % chunks_;
      const int64_t first = reduced_ * chunk / chunks_;
      const int64_t last = reduced_ * (chunk + 1) / chunks_;
      RunChunk(state, of, worker, (outer * reduced_ + first) * inner_,
               (outer * reduced_ + last) * inner_, out + i * inner_, blocks);
    }
  });
}

void FusedReduce::RunPart(RunState& state, int64_t part, int slot) const {
  const int64_t chunks = outer_ * chunks_;
  if (is_one_part_) {
    for (size_t of = 0; of < reductions_.size(); ++of) RunChunks(state, of, 0, chunks, slot);
    return;
  }
  const auto of = static_cast<size_t>(part / parts_);
  part %= parts_;
  RunChunks(state, of, chunks * part / parts_, chunks * (part + 1) / parts_, slot);
}

void FusedReduce::RunTile(RunState& state, int64_t first, int64_t last) const {
  const int64_t cells = outer_ / tiled_, chunks = cells * chunks_;
  const int64_t count = (last - first) * chunks;
  const int64_t parts = std::min(parts_, PartsFor((last - first) * cells * reduced_ * inner_));
  state.RunParts(parts, [&](int64_t part, int slot) {
    const int64_t from = first * chunks;
    RunChunks(state, 0, from + count * part / parts, from + count * (part + 1) / parts, slot);
  });
  if (last == tiled_) Finish(state);
}

void FusedReduce::Finish(RunState& state) const {
  if (chunks_ == 1) return;
  WithReduced(reductions_[0].program.exposed_type(),
              [&](auto zero) { Combine<decltype(zero)>(state); });
}

absl::Status FusedReduce::Run(RunState& state) const {
  RunAllParts(state);
  return absl::OkStatus();
}

}  // namespace adjoin
