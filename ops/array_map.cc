#include "ops/array_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/status.h"
#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

// Below kFewestCells a step stays on its caller (a
// part of two 50 us tasks took 101 us on two busy cores, shared notes; 64 Ki cells of a dozen
// operations are about 150 us); above it parts are small enough that a few threads end together.
constexpr int64_t kFewestCells = 65536;
constexpr int64_t kCellsPerPart = 16384;

int64_t PartsFor(int64_t cells) {
  return adjoin::PartsFor(static_cast<double>(cells), kFewestCells, kCellsPerPart);
}

// A step of one part runs on its caller.
size_t SlotsFor(const RunState& state, int64_t parts) {
  return parts == 1 ? 1 : static_cast<size_t>(state.slots());
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
  std::vector<RowProgram::Worker> workers;  // by slot
};

struct FusedRows::Context {
  const FusedRows* step;
  RunState* state;
  int64_t first, last, parts;  // rows, in so many parts
};

FusedRows::FusedRows(int number, RowProgram program, int64_t tiled, std::string label)
    : number_(static_cast<size_t>(number)),
      program_(std::move(program)),
      tiled_(tiled),
      label_(std::move(label)) {}

int64_t FusedRows::PartsOf(int64_t rows) const {
  return std::min(PartsFor(rows * program_.length()),
                  std::max<int64_t>(rows / program_.block_rows(), 1));
}

absl::Status FusedRows::Prepare(RunState& state) const {
  auto own = std::make_unique<State>();
  own->workers.resize(SlotsFor(state, PartsOf(program_.rows())));
  for (auto& worker : own->workers) ADJOIN_RETURN_IF_ERROR(program_.Prepare(state, worker));
  state.step_states[number_] = std::move(own);
  return absl::OkStatus();
}

void FusedRows::RunPart(void* context, int64_t part, int slot) {
  const Context& c = *static_cast<Context*>(context);
  const RowProgram& program = c.step->program_;
  auto& worker = static_cast<State&>(*c.state->step_states[c.step->number_])
                     .workers[static_cast<size_t>(slot)];
  const int64_t block = program.block_rows();
  const int64_t blocks = (c.last - c.first + block - 1) / block;
  const int64_t last = std::min(c.last, c.first + blocks * (part + 1) / c.parts * block);
  for (int64_t row = c.first + blocks * part / c.parts * block; row < last; row += block)
    program.Run(*c.state, worker, row, std::min(block, last - row));
}

void FusedRows::RunRows(RunState& state, int64_t first, int64_t last) const {
  Context context{this, &state, first, last, PartsOf(last - first)};
  state.RunParts(context.parts, &FusedRows::RunPart, &context);
}

absl::Status FusedRows::Run(RunState& state) const {
  RunRows(state, 0, program_.rows());
  return absl::OkStatus();
}

void FusedRows::RunTile(RunState& state, int64_t first, int64_t last) const {
  const int64_t rows = program_.rows() / tiled_;
  RunRows(state, first * rows, last * rows);
}

struct FusedReduce::State final : StepState {
  std::vector<RowProgram::Worker> workers;  // by slot
  std::vector<std::vector<double>>
      blocks;                   // by slot: one value a block of a long row (8 bytes each, f32 too)
  std::vector<double> partial;  // by chunk: its output cells
};

struct FusedReduce::Context {
  const FusedReduce* step;
  RunState* state;
};

FusedReduce::FusedReduce(int number, ArrayReduction reduction, int64_t outer, int64_t reduced,
                         int64_t inner, RowProgram program, ArrayAddress output, std::string label)
    : number_(static_cast<size_t>(number)),
      reduction_(reduction),
      outer_(outer),
      reduced_(reduced),
      inner_(inner),
      program_(std::move(program)),
      output_(output),
      label_(std::move(label)),
      parts_(PartsFor(outer * reduced * inner)),
      chunks_(
          std::clamp<int64_t>(outer > 0 ? parts_ / outer : 1, 1, std::max<int64_t>(reduced, 1))) {
  parts_ = std::max<int64_t>(std::min(outer_ * chunks_, parts_), 1);
}

absl::Status FusedReduce::Prepare(RunState& state) const {
  auto own = std::make_unique<State>();
  own->workers.resize(SlotsFor(state, parts_));
  own->blocks.resize(own->workers.size());
  for (auto& worker : own->workers) ADJOIN_RETURN_IF_ERROR(program_.Prepare(state, worker));
  for (auto& blocks : own->blocks)
    blocks.resize(static_cast<size_t>(reduced_ / program_.block_rows() + 2));
  if (chunks_ > 1) own->partial.resize(static_cast<size_t>(outer_ * chunks_ * inner_));
  state.step_states[number_] = std::move(own);
  return absl::OkStatus();
}

// Reduces cells [first, last) of the nest, whole rows of one outer cell, into `out`.
template <typename T>
void FusedReduce::RunChunk(const RunState& state, RowProgram::Worker& worker, int64_t first,
                           int64_t last, T* out, T* blocks) const {
  const int64_t length = program_.length();
  const int64_t step = program_.block_rows() * length;
  int64_t count = 0;
  if (inner_ > 1) std::fill_n(out, inner_, Identity<T>(reduction_));
  for (int64_t at = first; at < last; at += step) {
    const int64_t n = std::min(step, last - at);
    program_.Run(state, worker, at / length, n / length);
    const T* x = reinterpret_cast<const T*>(program_.exposed(worker));
    if (inner_ == 1) {
      blocks[count++] = ReduceRun(reduction_, x, n);
      continue;
    }
    for (int64_t i = 0; i < n;) {
      const int64_t column = (at - first + i) % inner_;
      const int64_t run = std::min(n - i, inner_ - column);
      ReduceInto(reduction_, x + i, out + column, run);
      i += run;
    }
  }
  if (inner_ == 1)
    *out = count == 0 ? Identity<T>(reduction_) : ReduceRun(reduction_, blocks, count);
}

template <typename T>
void FusedReduce::Combine(const RunState& state) const {
  const auto& own = static_cast<const State&>(*state.step_states[number_]);
  const T* partial = reinterpret_cast<const T*>(own.partial.data());
  T* out = reinterpret_cast<T*>(output_.In(state));
  for (int64_t o = 0; o < outer_; ++o) {
    std::copy_n(partial + o * chunks_ * inner_, inner_, out + o * inner_);
    for (int64_t c = 1; c < chunks_; ++c) {
      ReduceInto(reduction_, partial + (o * chunks_ + c) * inner_, out + o * inner_, inner_);
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

void FusedReduce::RunPart(void* context, int64_t part, int slot) {
  const Context& c = *static_cast<Context*>(context);
  const FusedReduce& step = *c.step;
  auto& own = static_cast<State&>(*c.state->step_states[step.number_]);
  const int64_t chunks = step.outer_ * step.chunks_;
  WithReduced(step.program_.exposed_type(), [&](auto zero) {
    using T = decltype(zero);
    T* out = step.chunks_ > 1 ? reinterpret_cast<T*>(own.partial.data())
                              : reinterpret_cast<T*>(step.output_.In(*c.state));
    T* blocks = reinterpret_cast<T*>(own.blocks[static_cast<size_t>(slot)].data());
    for (int64_t i = chunks * part / step.parts_; i < chunks * (part + 1) / step.parts_; ++i) {
      const int64_t outer = i / step.chunks_, chunk = i % step.chunks_;
      const int64_t first = step.reduced_ * chunk / step.chunks_;
      const int64_t last = step.reduced_ * (chunk + 1) / step.chunks_;
      step.RunChunk(*c.state, own.workers[static_cast<size_t>(slot)],
                    (outer * step.reduced_ + first) * step.inner_,
                    (outer * step.reduced_ + last) * step.inner_, out + i * step.inner_, blocks);
    }
  });
}

absl::Status FusedReduce::Run(RunState& state) const {
  Context context{this, &state};
  state.RunParts(parts_, &FusedReduce::RunPart, &context);
  if (chunks_ > 1) {
    WithReduced(program_.exposed_type(), [&](auto zero) { Combine<decltype(zero)>(state); });
  }
  return absl::OkStatus();
}

}  // namespace adjoin
