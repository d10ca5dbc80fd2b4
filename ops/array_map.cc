#include "ops/array_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

// Parts follow from the number of cells alone; below this many a step stays on its caller (a part
// of two 50 us tasks took 101 us on two busy cores, shared notes; 64 Ki cells of a dozen operations
// are about 300 us).
constexpr int64_t kCellsPerPart = 65536;
constexpr int64_t kMostParts = 16;

int64_t PartsFor(int64_t cells) {
  return std::clamp<int64_t>(cells / kCellsPerPart, 1, kMostParts);
}

void RunParts(RunState& state, int64_t parts, void (*body)(void*, int64_t), void* context) {
  if (parts == 1 || state.pool == nullptr || state.pool->threads() == 1) {
    for (int64_t p = 0; p < parts; ++p) body(context, p);
  } else {
    state.pool->ForEachBlockNoFail(parts, body, context);
  }
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

struct FusedMap::State final : StepState {
  std::vector<BlockProgram::Worker> workers;  // one a part
};

FusedMap::FusedMap(int number, BlockProgram program, std::vector<ArrayAddress> outputs,
                   std::string label)
    : number_(static_cast<size_t>(number)),
      program_(std::move(program)),
      outputs_(std::move(outputs)),
      label_(std::move(label)),
      parts_(PartsFor(program_.cells())) {}

absl::Status FusedMap::Prepare(RunState& state) const {
  auto scratch = std::make_unique<State>();
  scratch->workers = std::vector<BlockProgram::Worker>(static_cast<size_t>(parts_));
  for (auto& worker : scratch->workers) program_.MakeWorker(state, worker);
  state.step_states[number_] = std::move(scratch);
  return absl::OkStatus();
}

void FusedMap::RunPart(void* context, int64_t part) {
  const auto& [step, state] = *static_cast<std::pair<const FusedMap*, RunState*>*>(context);
  auto& worker =
      static_cast<State&>(*state->step_states[step->number_]).workers[static_cast<size_t>(part)];
  const int64_t cells = step->program_.cells();
  const int64_t blocks = (cells + kArrayBlock - 1) / kArrayBlock;
  const int64_t first = blocks * part / step->parts_ * kArrayBlock;
  const int64_t last = std::min(cells, blocks * (part + 1) / step->parts_ * kArrayBlock);
  constexpr size_t kMostOutputs = 16;
  void* targets[kMostOutputs];
  for (int64_t at = first; at < last; at += kArrayBlock) {
    const int64_t n = std::min(kArrayBlock, last - at);
    for (size_t o = 0; o < step->outputs_.size(); ++o) {
      targets[o] = step->outputs_[o].In(*state) +
                   at * VectorWidth(step->program_.output_type(static_cast<int>(o)));
    }
    step->program_.Run(*state, worker, at, n,
                       std::span<void* const>(targets, step->outputs_.size()));
  }
}

absl::Status FusedMap::Run(RunState& state) const {
  std::pair<const FusedMap*, RunState*> context{this, &state};
  RunParts(state, parts_, &FusedMap::RunPart, &context);
  return absl::OkStatus();
}

struct FusedReduce::State final : StepState {
  std::vector<BlockProgram::Worker> workers;
  std::vector<std::vector<double>>
      partial;  // by part: one value a block of a long row (f32 too, 8 bytes each)
};

struct FusedReduce::Context {
  const FusedReduce* step;
  RunState* state;
};

FusedReduce::FusedReduce(int number, ArrayReduction reduction, int64_t outer, int64_t reduced,
                         int64_t inner, BlockProgram program, ArrayAddress output,
                         std::string label)
    : number_(static_cast<size_t>(number)),
      reduction_(reduction),
      outer_(outer),
      reduced_(reduced),
      inner_(inner),
      program_(std::move(program)),
      output_(output),
      label_(std::move(label)),
      parts_(std::min(outer, PartsFor(program_.cells()))) {}

absl::Status FusedReduce::Prepare(RunState& state) const {
  auto scratch = std::make_unique<State>();
  scratch->workers = std::vector<BlockProgram::Worker>(static_cast<size_t>(parts_));
  scratch->partial.resize(static_cast<size_t>(parts_));
  for (auto& worker : scratch->workers) program_.MakeWorker(state, worker);
  for (auto& partial : scratch->partial)
    partial.resize(static_cast<size_t>(reduced_ / kArrayBlock + 1));
  state.step_states[number_] = std::move(scratch);
  return absl::OkStatus();
}

// Rows of `reduced` contiguous cells: several a block while they fit, else block by block.
template <typename T>
void FusedReduce::RunRows(const RunState& state, State& scratch, int64_t part, int64_t first,
                          int64_t last) const {
  auto& worker = scratch.workers[static_cast<size_t>(part)];
  T* out = reinterpret_cast<T*>(output_.In(state));
  if (reduced_ <= kArrayBlock) {
    const int64_t rows = kArrayBlock / reduced_;
    for (int64_t row = first; row < last; row += rows) {
      const int64_t n = std::min(rows, last - row);
      program_.Run(state, worker, row * reduced_, n * reduced_, {});
      const T* x = program_.output(worker, 0).as<T>();
      for (int64_t i = 0; i < n; ++i)
        out[row + i] = ReduceRun(reduction_, x + i * reduced_, reduced_);
    }
    return;
  }
  T* partial = reinterpret_cast<T*>(scratch.partial[static_cast<size_t>(part)].data());
  for (int64_t row = first; row < last; ++row) {
    int64_t blocks = 0;
    for (int64_t at = 0; at < reduced_; at += kArrayBlock) {
      const int64_t n = std::min(kArrayBlock, reduced_ - at);
      program_.Run(state, worker, row * reduced_ + at, n, {});
      partial[blocks++] = ReduceRun(reduction_, program_.output(worker, 0).as<T>(), n);
    }
    out[row] = ReduceRun(reduction_, partial, blocks);
  }
}

// For each outer cell, rows of `inner` cells added to the output in row order.
template <typename T>
void FusedReduce::RunColumns(const RunState& state, State& scratch, int64_t part, int64_t first,
                             int64_t last) const {
  auto& worker = scratch.workers[static_cast<size_t>(part)];
  T* out = reinterpret_cast<T*>(output_.In(state));
  const int64_t cells = reduced_ * inner_;
  for (int64_t o = first; o < last; ++o) {
    T* acc = out + o * inner_;
    std::fill_n(acc, inner_, Identity<T>(reduction_));
    // Blocks end at row ends where rows fit, so that most additions are whole rows.
    const int64_t block = inner_ <= kArrayBlock ? kArrayBlock / inner_ * inner_ : kArrayBlock;
    for (int64_t at = 0; at < cells; at += block) {
      const int64_t n = std::min(block, cells - at);
      program_.Run(state, worker, o * cells + at, n, {});
      const T* x = program_.output(worker, 0).as<T>();
      for (int64_t i = 0; i < n;) {
        const int64_t column = (at + i) % inner_;
        const int64_t run = std::min(n - i, inner_ - column);
        ReduceInto(reduction_, x + i, acc + column, run);
        i += run;
      }
    }
  }
}

void FusedReduce::RunPart(void* context, int64_t part) {
  const Context& c = *static_cast<Context*>(context);
  const FusedReduce& step = *c.step;
  auto& scratch = static_cast<State&>(*c.state->step_states[step.number_]);
  const int64_t first = step.outer_ * part / step.parts_,
                last = step.outer_ * (part + 1) / step.parts_;
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    if (step.inner_ == 1) {
      step.RunRows<T>(*c.state, scratch, part, first, last);
    } else {
      step.RunColumns<T>(*c.state, scratch, part, first, last);
    }
  };
  switch (step.program_.output_type(0)) {
    case TypeId::kFloat32:
      return run(float{});
    case TypeId::kFloat64:
      return run(double{});
    default:
      return run(uint8_t{});
  }
}

absl::Status FusedReduce::Run(RunState& state) const {
  Context context{this, &state};
  RunParts(state, parts_, &FusedReduce::RunPart, &context);
  return absl::OkStatus();
}

}  // namespace adjoin
