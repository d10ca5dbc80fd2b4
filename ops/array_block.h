// Fused expressions over strided arrays, in blocks that stay in L1: shared by maps and reductions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/expression.h"
#include "ops/step.h"

namespace adjoin {

// Where an array is: bases[base] + offset bytes. Base 0 is the arena.
struct ArrayAddress {
  int base = 0;
  int64_t offset = 0;
  std::byte* In(const RunState& state) const {
    return state.bases[static_cast<size_t>(base)] + offset;
  }
};

// An operand along the loops: one stride in elements for each, 0 to broadcast. BOOLEAN inputs that
// are validity bitmaps are unpacked first.
struct ArrayLoad {
  ArrayAddress address;
  TypeId type = TypeId::kFloat64;
  std::vector<int64_t> strides;
};

// Cells a block: 8 KiB a double, so that a dozen registers stay in L1/L2.
inline constexpr int64_t kArrayBlock = 1024;

// out = expr(loads) over the cells of a loop nest, in row-major order of the loops. Immutable.
class BlockProgram {
 public:
  BlockProgram(std::vector<int64_t> loops, std::vector<ArrayLoad> loads, CompiledExpr expr);

  // Scratch of one thread.
  struct Worker {
    ExprScratch scratch;
    std::vector<std::unique_ptr<std::byte[]>>
        buffers;  // by load; null where the array is read in place
    std::vector<Vector> inputs;
  };
  void MakeWorker(const RunState& state, Worker& worker) const;

  int64_t cells() const { return cells_; }
  int num_outputs() const { return expr_.num_outputs(); }
  TypeId output_type(int i) const { return expr_.output_type(i); }
  // Computes cells [first, first + n), n <= kArrayBlock; targets as in CompiledExpr::Run. The
  // outputs are then in output(worker, i).
  void Run(const RunState& state, Worker& worker, int64_t first, int64_t n,
           std::span<void* const> targets) const;
  const Vector& output(const Worker& worker, int i) const {
    return expr_.output(worker.scratch, i);
  }
  int num_loads() const { return static_cast<int>(loads_.size()); }

 private:
  struct Load {
    ArrayAddress address;
    TypeId type;
    std::vector<int64_t> strides;  // over loops_
    bool contiguous;               // element i of the nest is element i of the array
  };
  void Fill(const RunState& state, const Load& load, int64_t first, int64_t n,
            std::byte* out) const;

  std::vector<int64_t> loops_;  // collapsed: neighbours that no load tells apart are one
  std::vector<Load> loads_;
  CompiledExpr expr_;
  int64_t cells_;
};

}  // namespace adjoin
