// Fused regions of array programs. A region is a nest of `rows` times `length` cells; its values
// are one a region, one a row, or one a cell, and a row's cells reduce to one value of the row that
// later cells read again: softmax, layer norm, cross-entropy and their backwards are regions like
// any other. Blocks of whole rows run through all of it while they stay in cache, and only what is
// stored reaches memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/kernel_table.h"
#include "ops/step.h"

namespace adjoin {

// Where an array is: bases[base] + offset bytes. Base 0 is the arena. An array that has memory for
// one tile alone steps `per_index` bytes an index of the tiled axis; 0: it is whole.
struct ArrayAddress {
  int base = 0;
  int64_t offset = 0;
  int64_t per_index = 0;
  std::byte* In(const RunState& state) const {
    return state.bases[static_cast<size_t>(base)] + offset - per_index * state.tile_first;
  }
};

enum class ArrayReduction : uint8_t { kSum, kMax, kMin, kAny, kAll };

// An array along a nest of loops: one stride in elements for each, 0 to broadcast.
struct ArrayLoad {
  ArrayAddress address;
  TypeId type = TypeId::kFloat64;
  std::vector<int64_t> strides;
};

// The cells of a nest in row-major order, as they lie in an array. Loops that step through memory
// as one are one.
class StridedCells {
 public:
  StridedCells() = default;
  StridedCells(const std::vector<int64_t>& loops, const std::vector<int64_t>& strides);
  // Cell i of the nest is element i of the array.
  bool dense() const { return loops_.empty() || (loops_.size() == 1 && loops_[0].stride == 1); }
  // Elements from one run of `length` cells to the next, where a run's cells are neighbours; else
  // -1.
  int64_t PitchOf(int64_t length) const {
    if (dense()) return length;
    const bool runs = loops_.size() == 2 && loops_[1].extent == length && loops_[1].stride == 1;
    return runs ? loops_[0].stride : -1;
  }
  // Cells [first, first + n), elements of `width` bytes, from the array to `out`, or back.
  void Read(const std::byte* array, int64_t width, int64_t first, int64_t n, std::byte* out) const;
  void Write(std::byte* array, int64_t width, int64_t first, int64_t n, const std::byte* in) const;
  void Clear(std::byte* array, int64_t width, int64_t first, int64_t n) const;  // to 0
  friend bool operator==(const StridedCells&, const StridedCells&) = default;

 private:
  struct Loop {
    int64_t extent, stride;
    friend bool operator==(const Loop&, const Loop&) = default;
  };
  template <typename F>
  void ForEachRun(int64_t first, int64_t n, F&& f) const;
  bool ReadRepeated(const std::byte* array, int64_t width, int64_t first, int64_t n,
                    std::byte* out) const;  // false: it is not of that form
  std::vector<Loop> loops_;                 // none: one element, or the empty nest
};

// Immutable; what a run needs is in a Worker, one a task slot.
class RowProgram {
 public:
  // Blocks aim at this many cells, fewer where registers would leave L1.
  static constexpr int64_t kBlockCells = 1024;
  // Longer rows do not pay: each register of a block is at least a row.
  static constexpr int64_t kLongestRow = 4096;

  struct Worker {
    std::shared_ptr<Buffer> memory;
    std::vector<std::byte*> at;  // by register
  };
  // Lays out a worker and fills what does not change from block to block; allocates. To be called
  // again when the parameters change.
  absl::Status Prepare(const RunState& state, Worker& worker) const;

  // Whether the other does the same over as many rows, with other arrays, constants and parameters.
  bool HasShapeOf(const RowProgram& other) const;
  // Puts in the arrays' addresses; until then one is {kUnplaced, number of the array}.
  static constexpr int kUnplaced = -1;
  void Place(absl::FunctionRef<ArrayAddress(int)> address_of);

  int64_t rows() const { return rows_; }
  int64_t length() const { return length_; }
  int64_t block_rows() const { return block_rows_; }
  // Computes rows [first, first + n), n <= block_rows(), and stores what is stored.
  void Run(const RunState& state, Worker& worker, int64_t first, int64_t n) const;
  // The cells of the exposed value in the last block.
  const std::byte* exposed(const Worker& worker) const {
    return worker.at[static_cast<size_t>(exposed_)];
  }
  TypeId exposed_type() const { return registers_[static_cast<size_t>(exposed_)].type; }

 private:
  friend class RowProgramBuilder;
  enum class Kind : uint8_t { kOne, kRow, kCell };
  struct Register {
    Kind kind;
    TypeId type;
    int64_t offset = -1;  // in the worker's memory; -1: in place, in an array
    friend bool operator==(const Register&, const Register&) = default;
  };
  enum class Code : uint8_t {
    kMap,     // a kernel over cells or rows
    kByRow,   // args[0]: cells, args[1]: a value a row
    kByOne,   // args[0]: cells or rows, args[1]: one value
    kChain,   // two operations of arithmetic: args[0] over cells, the others over cells or less
    kSpread,  // a value a row to cells
    kReduce,  // cells to a value a row
    kToBool,  // a cast that has no kernel
    kFill,    // one value to every cell, or row, of a register: once
  };
  struct Instruction {
    Code code;
    Kind kind;  // of the result
    TypeId type, operand;
    int args[3] = {-1, -1, -1};
    int out = -1;
    ScalarKernel kernel = nullptr;
    RowKernel row_kernel = nullptr;
    ChainKernel chain = nullptr;
    int64_t y_step = 0, z_step = 0;  // of a chain
    ScalarOp op = ScalarOp::kCount;
    bool row_first = false;  // kByRow, kByOne: the cells are the second argument
    ArrayReduction reduction = ArrayReduction::kSum;
    friend bool operator==(const Instruction&, const Instruction&) = default;
  };
  struct Load {
    int reg;
    bool per_row;
    int64_t pitch;  // elements from row to row; -1: they are not evenly apart
    ArrayAddress address;
    StridedCells cells;
  };
  struct Store {
    int reg;
    bool per_row;
    bool all_read;
    bool in_place;  // the register lies in the array
    int64_t pitch;
    ArrayAddress address;
    StridedCells cells;
  };
  struct Constant {
    int reg;
    int parameter = -1;  // of the statement; else `value`
    bool valid = false;  // whether the parameter is not NULL
    Value value;
  };
  void Execute(const Instruction& in, Worker& worker, int64_t n, int64_t length) const;
  int64_t EndOf(int64_t row) const;  // of the row's cells
  static void Reduce(const Instruction& in, const void* x, void* out, int64_t rows, int64_t length);

  int64_t rows_ = 1, length_ = 1, block_rows_ = 1, bytes_ = 0;
  std::vector<Register> registers_;
  std::vector<Constant> constants_;
  std::vector<Load> loads_;
  std::vector<Store> stores_;
  std::vector<Instruction> once_, instructions_;  // at Prepare; each block
  int exposed_ = -1;
  std::vector<int64_t> ends_;  // none: rows are whole
  int64_t end_step_ = 1;       // rows that share an end, one after another
};

// Collects values; each refers to those before it.
class RowProgramBuilder {
 public:
  using Id = int;
  // A row's cells are the inner nest, the rows the outer one.
  RowProgramBuilder(std::vector<int64_t> row_loops, std::vector<int64_t> cell_loops);

  // Strides over the row loops then, but for values of a row, over the cell loops.
  Id Load(const ArrayLoad& load, bool per_row);
  Id Constant(Value value, TypeId type);
  Id Parameter(int number, TypeId type);  // 0 where it is NULL
  Id ParameterIsValid(int number);
  // REQUIRES: a kernel for the arguments' type that cannot raise an error.
  Id Map(ScalarOp op, TypeId result, std::span<const Id> args);
  Id Cast(Id arg, TypeId type);
  Id Reduce(ArrayReduction reduction, Id cells);
  Id Cells(Id id) { return As(id, Kind::kCell); }  // once a cell
  Id Rows(Id id) { return As(id, Kind::kRow); }    // once a row; REQUIRES: it is not one a cell
  // The value goes to an array, whose strides are given as for Load. `all_read`: cells past a row's
  // end are read, as 0.
  void Store(Id id, const ArrayLoad& array, bool all_read = true);
  // A row's cells from ends[index of row loop `loop`] on are not computed: reductions leave them
  // out, and a store of cells either is not read there or holds 0. Then a block is one row, as far
  // as its end.
  void CutRows(size_t loop, std::vector<int64_t> ends);
  // The one value that the step reads block by block, once a cell (a row's where rows have one).
  void Expose(Id id);

  TypeId type(Id id) const { return reg(id).type; }
  bool is_cells(Id id) const { return reg(id).kind == RowProgram::Kind::kCell; }
  RowProgram Build() &&;

 private:
  using Kind = RowProgram::Kind;
  const RowProgram::Register& reg(Id id) const {
    return program_.registers_[static_cast<size_t>(id)];
  }
  Id Add(Kind kind, TypeId type);
  Id Emit(RowProgram::Instruction in);
  Id As(Id id, Kind kind);
  void FuseChains();
  bool LiesInPlace(const StridedCells& cells, int64_t pitch) const;
  void LayOut();

  std::vector<int64_t> row_loops_, cell_loops_, loops_;
  RowProgram program_;
  std::vector<std::pair<std::pair<Id, Kind>, Id>> spread_;
};

}  // namespace adjoin
