// Scalar expressions compiled to a linear program over registers, run on blocks of rows by kernels.
//
// ExprBuilder takes instructions (plan/compile_expr fills it from plan/expr.h), shares equal ones,
// and Build lays out registers by liveness. Errors (overflow, division by zero, bad text) are
// raised only in rows that are *active*: those of the branch that SQL would evaluate. Every lane is
// computed; nothing branches by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "engine/column.h"
#include "engine/types.h"
#include "kernels/kernel_table.h"
#include "ops/arena.h"
#include "ops/row_function.h"
#include "ops/vector.h"

namespace adjoin {

enum class ExprOpcode : uint8_t {
  kInput,
  kConstant,
  kParameter,
  kStrict,  // a kernel; NULL in, NULL out
  kCast,    // between booleans and numbers
  kCastFromText,
  kCastToText,
  kEqual,  // of types without kernels
  kNotEqual,
  kLess,
  kLessEqual,
  kRows,  // a RowFunction
  kAnd,
  kOr,  // three-valued
  kIsNull,
  kIsNotNull,
  kIsDistinct,  // args: a, b, a = b
  kNullIf,      // args: a, a = b
  kBlend,       // args: mask, a, b: a where the mask is 1
  kCoalesce,    // a where not NULL, else b
  kGreatest,
  kLeast,       // of two; NULL is skipped
  kAccumulate,  // a + b; NULL is skipped
  kMaskTrue,
  kMaskNotTrue,  // args: outer mask or -1, condition: masks hold 0 or 1, never NULL
  kMaskNull,
  kMaskNotFalse,
};

// Ids of an instruction's arguments; -1 where there is none.
class ExprArgs {
 public:
  ExprArgs(std::initializer_list<int> ids = {}) {  // NOLINT(google-explicit-constructor)
    std::fill(std::copy(ids.begin(), ids.end(), ids_), end(), -1);
  }
  int& operator[](int i) { return ids_[i]; }
  int operator[](int i) const { return ids_[i]; }
  int* begin() { return ids_; }
  int* end() { return ids_ + RowFunction::kMaxArgs; }
  const int* begin() const { return ids_; }
  const int* end() const { return ids_ + RowFunction::kMaxArgs; }

 private:
  int ids_[RowFunction::kMaxArgs];
};

struct ExprInstruction {
  ExprOpcode op;
  TypeId type;     // of the result
  TypeId operand;  // of the arguments, where the operation looks
  ScalarOp scalar_op = ScalarOp::kCount;
  ExprArgs args = {};
  int active = -1;       // the mask that errors obey; -1: every row
  bool is_read = false;  // kInput: by an instruction that looks at its values
  // The argument that is a TEXT column in a predicate whose others are constants: what holds of a
  // string holds of its code, and is found out once. -1: it is none.
  int text_arg = -1;
  int index = -1;  // kInput: column; kParameter: number; kConstant: in constants_
  ScalarKernel kernel = nullptr;
  const RowFunction* rows = nullptr;
};

class ExprScratch;

// What a predicate is of the strings of one dictionary: by code 0 or 1, or kUnknown so far.
struct CodeVerdicts {
  static constexpr uint8_t kUnknown = 2;
  std::shared_ptr<const Dictionary> dictionary;
  std::vector<uint8_t> of;
};

// Immutable and thread-safe; what a run needs is in the caller's ExprScratch.
class CompiledExpr {
 public:
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  TypeId output_type(int i) const { return program_[outputs_[i]].type; }
  std::vector<TypeId> output_types() const;
  // The columns read, ascending.
  const std::vector<int>& input_columns() const { return input_columns_; }
  // Whether some input makes Run fail.
  bool can_fail() const { return can_fail_; }
  // Bytes of scratch a row; for the caller's choice of block_rows.
  int64_t bytes_per_row() const { return bytes_per_row_; }
  // The input column that output i is a plain copy of; -1: it is computed.
  int output_input(int i) const {
    const ExprInstruction& in = program_[outputs_[i]];
    return in.op == ExprOpcode::kInput ? in.index : -1;
  }

  // What tells the outputs from those of any other expression over the same columns; only in this
  // process.
  std::string Identity(std::span<const Value> parameters) const;

  // Lays out `scratch` for blocks of up to `block_rows` rows, with constants and parameters;
  // allocates. To be called again when the parameters change. Errors: none but memory.
  void Prepare(ExprScratch& scratch, int64_t block_rows, std::span<const Value> parameters) const;
  // Computes the outputs over `n` <= block_rows rows. `columns` is indexed by column number; only
  // input_columns() are read, and must stay until the outputs have been read. Allocates nothing
  // once warm, but where text is made. `targets`, where given: one pointer an output; a non-null
  // one receives the values (not validity) of that output. Errors: 22003, 22012, 22P02 and those of
  // row functions, worded as PostgreSQL's.
  absl::Status Run(ExprScratch& scratch, std::span<const Vector> columns, int64_t n,
                   std::span<void* const> targets = {}) const;
  // Output i of the last Run. Borrowed from the scratch or from the inputs, until the next Run.
  const Vector& output(const ExprScratch& scratch, int i) const;

 private:
  friend class ExprBuilder;
  friend class ExprRunner;
  static void RepeatConstants(ExprScratch& scratch, int64_t n);
  std::vector<ExprInstruction> program_;
  std::vector<Value> constants_;
  std::vector<int> outputs_;
  std::vector<int> input_columns_;
  std::vector<int> data_slot_;       // by instruction; -1: inputs
  std::vector<int64_t> slot_width_;  // by slot: bytes of an element
  int64_t bytes_per_row_ = 0;
  bool can_fail_ = false;
};

// What one thread needs to run one CompiledExpr. Not thread-safe.
class ExprScratch {
 public:
  int64_t block_rows() const { return block_rows_; }

 private:
  friend class CompiledExpr;
  friend class ExprRunner;
  struct Slot {
    void* data;
    uint8_t* valid;
  };
  int64_t block_rows_ = 0;
  BatchArena memory_;  // slots and masks
  BatchArena text_;    // strings made by the last Run
  TextArena constants_;
  std::vector<Vector> values_;  // by instruction
  std::vector<Slot> slots_;
  absl::flat_hash_map<size_t, CodeVerdicts> verdicts_;       // by instruction
  absl::flat_hash_map<size_t, std::shared_ptr<void>> kept_;  // RowCall::kept, by instruction
  // Constants are repeated as far as a block was long so far: most tables are shorter than a block
  // can be.
  struct Constant {
    std::byte* data;
    int64_t width;
  };
  std::vector<Constant> repeated_;
  int64_t repeats_ = 0;
  uint8_t* mask_ = nullptr;
};

// Collects instructions; equal ones are one value. Values are numbered in order and only refer
// backwards.
class ExprBuilder {
 public:
  using Id = int;
  static constexpr Id kAlways = -1;  // the activity of every row

  Id Input(int column, TypeId type);
  Id Constant(const Value& value, TypeId type);
  Id Parameter(int index, TypeId type);
  // A kernel of `op` on operands of type `operand`. REQUIRES: the kernel exists (see HasKernel).
  Id Strict(ScalarOp op, TypeId operand, TypeId result, std::span<const Id> args, Id active);
  static bool HasKernel(ScalarOp op, TypeId operand);
  Id Cast(Id arg, TypeId target, Id active);
  // Whether some argument makes the kernel, or the cast, raise an error.
  static bool CanRaise(ScalarOp op, TypeId operand);
  static bool CastCanRaise(TypeId from, TypeId to);
  // a = b and so on in SQL's order, of two values of one type, whichever. kEqual, kNotEqual, kLess,
  // kLessEqual.
  Id Compare(ScalarOp op, Id a, Id b);
  // `function` lives as long as what is built.
  Id Rows(const RowFunction* function, std::span<const Id> args, Id active);
  Id And(Id a, Id b);
  Id Or(Id a, Id b);
  Id IsNull(Id a);
  Id IsNotNull(Id a);
  Id IsDistinct(Id a, Id b);
  Id NullIf(Id a, Id equal);
  Id Blend(Id mask, Id a, Id b);
  Id Coalesce(Id a, Id b);
  Id Greatest(Id a, Id b);
  Id Least(Id a, Id b);
  Id Accumulate(Id a, Id b, Id active);
  // Masks below `outer`: rows of it where the condition is TRUE / not TRUE / NULL / not FALSE.
  Id Mask(ExprOpcode op, Id outer, Id condition);

  TypeId type(Id id) const { return program_[static_cast<size_t>(id)].type; }
  bool may_fail(Id id) const { return may_fail_[static_cast<size_t>(id)] != 0; }
  // The mask that encloses `mask`; kAlways at the top.
  Id outer(Id mask) const { return program_[static_cast<size_t>(mask)].args[0]; }
  // Instructions so far: those from `from` on can fail if any of them can.
  int size() const { return static_cast<int>(program_.size()); }

  void Output(Id id) { outputs_.push_back(id); }
  CompiledExpr Build() &&;

 private:
  Id Add(ExprInstruction instruction, bool fails);
  std::vector<ExprInstruction> program_;
  std::vector<Value> constants_;
  std::vector<uint8_t> may_fail_;  // the value, or one it is made of, can raise an error
  std::vector<int> outputs_;
  absl::flat_hash_map<std::string, Id> known_;
};

}  // namespace adjoin
