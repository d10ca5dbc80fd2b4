#include "ops/array_block.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/status.h"

namespace adjoin {
namespace {

template <typename T>
void CopyStrided(const T* in, int64_t stride, int64_t n, T* out) {
  if (stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
  } else if (stride == 0) {
    std::fill_n(out, n, *in);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
  }
}

// Loops (i, i+1) are one where every load's stride at i is that at i+1 times the extent of i+1.
void Collapse(std::vector<int64_t>& loops, std::vector<std::vector<int64_t>*>& strides) {
  for (size_t i = loops.size(); i-- > 1;) {
    const bool joins = std::all_of(
        strides.begin(), strides.end(),
        [&](const std::vector<int64_t>* s) { return (*s)[i - 1] == (*s)[i] * loops[i]; });
    const bool trivial = loops[i - 1] == 1 || loops[i] == 1;
    if (!joins && !trivial) continue;
    const size_t drop =
        !joins && loops[i] == 1 ? i : i - 1;  // the loop of extent 1, or the outer one
    if (joins) loops[i] *= loops[i - 1];
    loops.erase(loops.begin() + static_cast<ptrdiff_t>(drop));
    for (auto* s : strides) s->erase(s->begin() + static_cast<ptrdiff_t>(drop));
  }
}

}  // namespace

BlockProgram::BlockProgram(std::vector<int64_t> loops, std::vector<ArrayLoad> loads,
                           CompiledExpr expr)
    : loops_(std::move(loops)), expr_(std::move(expr)), cells_(1) {
  for (int64_t e : loops_) cells_ *= e;
  for (ArrayLoad& l : loads) loads_.push_back({l.address, l.type, std::move(l.strides), false});
  std::vector<std::vector<int64_t>*> strides;
  for (Load& l : loads_) strides.push_back(&l.strides);
  Collapse(loops_, strides);
  for (Load& l : loads_) {
    l.contiguous = true;
    int64_t step = 1;
    for (size_t i = loops_.size(); i-- > 0;) {
      if (loops_[i] != 1) l.contiguous &= l.strides[i] == step;
      step *= loops_[i];
    }
  }
}

void BlockProgram::MakeWorker(const RunState& state, Worker& worker) const {
  worker.inputs.resize(loads_.size());
  worker.buffers.resize(loads_.size());
  for (size_t l = 0; l < loads_.size(); ++l) {
    worker.inputs[l] = {loads_[l].type, nullptr, nullptr};
    if (loads_[l].contiguous) continue;
    worker.buffers[l] = std::make_unique_for_overwrite<std::byte[]>(
        static_cast<size_t>(kArrayBlock * VectorWidth(loads_[l].type)));
    worker.inputs[l].data = worker.buffers[l].get();
  }
  expr_.Prepare(worker.scratch, kArrayBlock, state.parameters);
}

void BlockProgram::Fill(const RunState& state, const Load& load, int64_t first, int64_t n,
                        std::byte* out) const {
  const int64_t inner = loops_.empty() ? 1 : loops_.back();
  const int64_t stride = loops_.empty() ? 0 : load.strides.back();
  WithElementType(load.type, [&](auto zero) {
    using T = decltype(zero);
    const T* base = reinterpret_cast<const T*>(load.address.In(state));
    T* to = reinterpret_cast<T*>(out);
    int64_t row = first / inner, column = first % inner;
    while (n > 0) {
      int64_t offset = 0, rest = row;
      for (size_t i = loops_.size() - 1; i-- > 0;) {
        offset += rest % loops_[i] * load.strides[i];
        rest /= loops_[i];
      }
      const int64_t run = std::min(n, inner - column);
      CopyStrided(base + offset + column * stride, stride, run, to);
      to += run, n -= run, column = 0, ++row;
    }
  });
}

void BlockProgram::Run(const RunState& state, Worker& worker, int64_t first, int64_t n,
                       std::span<void* const> targets) const {
  for (size_t l = 0; l < loads_.size(); ++l) {
    const Load& load = loads_[l];
    if (load.contiguous) {
      worker.inputs[l].data = load.address.In(state) + first * VectorWidth(load.type);
    } else if (loops_.empty()) {
      std::memcpy(worker.buffers[l].get(), load.address.In(state),
                  static_cast<size_t>(VectorWidth(load.type)));
    } else {
      Fill(state, load, first, n, worker.buffers[l].get());
    }
  }
  // Array programs hold no operation that can raise an error (plan/grid_expression.cc).
  const absl::Status status = expr_.Run(worker.scratch, worker.inputs, n, targets);
  ADJOIN_DCHECK(status.ok());
  static_cast<void>(status);
}

}  // namespace adjoin
