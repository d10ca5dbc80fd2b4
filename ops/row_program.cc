#include "ops/row_program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/status.h"
#include "ops/vector.h"

namespace adjoin {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) & ~int64_t{63}; }

// Registers of a block should fit a 32 KiB L1 beside what it reads and writes.
constexpr int64_t kRegisterBytes = 24 << 10;
constexpr int64_t kFewestCells = 256;

template <typename T>
void CopyRun(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  } else if (from_stride == 0) {
    const T value = *from;
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

constexpr int64_t kLanes = 16;  // of f32 in the widest registers

void WriteValue(const Value& v, TypeId type, std::byte* out) {
  WithElementType(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) {
      const T x = v.is_null()    ? T{}
                  : v.is_bool()  ? static_cast<T>(v.as_bool())
                  : v.is_int()   ? static_cast<T>(v.as_int())
                  : v.is_float() ? static_cast<T>(v.as_float())
                                 : T{};
      std::memcpy(out, &x, sizeof(T));
    }
  });
}

}  // namespace

StridedCells::StridedCells(const std::vector<int64_t>& loops, const std::vector<int64_t>& strides) {
  for (size_t i = 0; i < loops.size(); ++i) {
    if (loops[i] == 1) continue;
    Loop* last = loops_.empty() ? nullptr : &loops_.back();
    if (last != nullptr && last->stride == strides[i] * loops[i]) {
      *last = {last->extent * loops[i], strides[i]};
    } else {
      loops_.push_back({loops[i], strides[i]});
    }
  }
}

// Calls f(offset in the array, its stride, first cell of the run, cells of the run).
template <typename F>
void StridedCells::ForEachRun(int64_t first, int64_t n, F&& f) const {
  if (n == 0) return;  // the nest may be empty, which has no first cell
  if (loops_.empty()) return f(0, 0, 0, n);
  constexpr size_t kMost = 16;
  ADJOIN_DCHECK(loops_.size() <= kMost);
  const Loop inner = loops_.back();
  int64_t index[kMost], row = first / inner.extent, column = first % inner.extent, offset = 0;
  for (size_t i = loops_.size() - 1; i-- > 0;) {
    index[i] = row % loops_[i].extent;
    row /= loops_[i].extent;
    offset += index[i] * loops_[i].stride;
  }
  for (int64_t done = 0; done < n;) {
    const int64_t run = std::min(n - done, inner.extent - column);
    f(offset + column * inner.stride, inner.stride, done, run);
    done += run;
    column = 0;
    for (size_t i = loops_.size() - 1; i-- > 0;) {
      offset += loops_[i].stride;
      if (++index[i] < loops_[i].extent) break;
      offset -= loops_[i].stride * loops_[i].extent;
      index[i] = 0;
    }
  }
}

// A row of cells that is the same for each index of the loop around it is read once, and copied in
// pieces that double: 12 copies of 32 doubles take 40 ns instead of 110.
bool StridedCells::ReadRepeated(const std::byte* array, int64_t width, int64_t first, int64_t n,
                                std::byte* out) const {
  if (loops_.size() < 2 || loops_.back().stride != 1) return false;
  const Loop &inner = loops_.back(), &repeat = loops_[loops_.size() - 2];
  if (repeat.stride != 0 || first % inner.extent != 0 || n % inner.extent != 0) return false;
  const int64_t group = inner.extent * repeat.extent;
  for (int64_t at = first; at < first + n;) {
    const int64_t cells = std::min(first + n - at, group - at % group);
    int64_t offset = 0, index = at / group;
    for (size_t i = loops_.size() - 2; i-- > 0;) {
      offset += index % loops_[i].extent * loops_[i].stride;
      index /= loops_[i].extent;
    }
    const int64_t bytes = cells * width;
    int64_t known = inner.extent * width;
    std::memcpy(out, array + offset * width, static_cast<size_t>(known));
    for (; known < bytes; known *= 2)
      std::memcpy(out + known, out, static_cast<size_t>(std::min(known, bytes - known)));
    out += bytes;
    at += cells;
  }
  return true;
}

void StridedCells::Read(const std::byte* array, int64_t width, int64_t first, int64_t n,
                        std::byte* out) const {
  if (ReadRepeated(array, width, first, n, out)) return;
  WithWidth(width, [&](auto zero) {
    using T = decltype(zero);
    const T* from = reinterpret_cast<const T*>(array);
    T* to = reinterpret_cast<T*>(out);
    ForEachRun(first, n, [&](int64_t offset, int64_t stride, int64_t at, int64_t run) {
      CopyRun(from + offset, stride, to + at, 1, run);
    });
  });
}

void StridedCells::Write(std::byte* array, int64_t width, int64_t first, int64_t n,
                         const std::byte* in) const {
  WithWidth(width, [&](auto zero) {
    using T = decltype(zero);
    const T* from = reinterpret_cast<const T*>(in);
    T* to = reinterpret_cast<T*>(array);
    ForEachRun(first, n, [&](int64_t offset, int64_t stride, int64_t at, int64_t run) {
      CopyRun(from + at, 1, to + offset, stride, run);
    });
  });
}

void StridedCells::Clear(std::byte* array, int64_t width, int64_t first, int64_t n) const {
  WithWidth(width, [&](auto zero) {
    auto* to = reinterpret_cast<decltype(zero)*>(array);
    ForEachRun(first, n, [&](int64_t offset, int64_t stride, int64_t, int64_t run) {
      for (int64_t i = 0; i < run; ++i) to[offset + i * stride] = zero;
    });
  });
}

bool RowProgram::HasShapeOf(const RowProgram& other) const {
  const auto same_loads = [](const Load& x, const Load& y) {
    return x.reg == y.reg && x.per_row == y.per_row && x.cells == y.cells;
  };
  const auto same_stores = [](const Store& x, const Store& y) {
    return x.reg == y.reg && x.per_row == y.per_row && x.all_read == y.all_read &&
           x.cells == y.cells;
  };
  const auto same_constants = [](const Constant& x, const Constant& y) {
    return x.reg == y.reg && x.valid == y.valid;
  };
  return rows_ == other.rows_ && length_ == other.length_ && registers_ == other.registers_ &&
         once_ == other.once_ && instructions_ == other.instructions_ &&
         exposed_ == other.exposed_ && ends_ == other.ends_ && end_step_ == other.end_step_ &&
         std::ranges::equal(loads_, other.loads_, same_loads) &&
         std::ranges::equal(stores_, other.stores_, same_stores) &&
         std::ranges::equal(constants_, other.constants_, same_constants);
}

void RowProgram::Place(absl::FunctionRef<ArrayAddress(int)> address_of) {
  const auto place = [&](auto& array) {
    if (array.address.base == kUnplaced)
      array.address = address_of(static_cast<int>(array.address.offset));
  };
  std::ranges::for_each(loads_, place);
  std::ranges::for_each(stores_, place);
}

absl::Status RowProgram::Prepare(const RunState& state, Worker& worker) const {
  ADJOIN_ASSIGN_OR_RETURN(worker.memory, Buffer::Allocate(bytes_, state.budget));
  std::byte* base = worker.memory->mutable_as<std::byte>();
  worker.at.assign(registers_.size(), nullptr);
  for (size_t r = 0; r < registers_.size(); ++r) {
    if (registers_[r].offset >= 0) worker.at[r] = base + registers_[r].offset;
  }
  for (const Constant& c : constants_) {
    std::byte* out = worker.at[static_cast<size_t>(c.reg)];
    const TypeId type = registers_[static_cast<size_t>(c.reg)].type;
    if (c.parameter < 0) {
      WriteValue(c.value, type, out);
    } else {
      const Value& v = state.parameters[static_cast<size_t>(c.parameter)];
      WriteValue(c.valid ? Value::Bool(!v.is_null()) : v, type, out);
    }
  }
  for (const Instruction& in : once_) Execute(in, worker, block_rows_, length_);
  return absl::OkStatus();
}

int64_t RowProgram::EndOf(int64_t row) const {
  return ends_.empty() ? length_ : ends_[static_cast<size_t>(row / end_step_) % ends_.size()];
}

void RowProgram::Reduce(const Instruction& in, const void* x, void* out, int64_t rows,
                        int64_t length) {
  const KernelTable& k = Kernels();
  const auto run = [&](const auto& kernels, auto zero) {
    using T = decltype(zero);
    const T* cells = static_cast<const T*>(x);
    T* values = static_cast<T*>(out);
    switch (in.reduction) {
      case ArrayReduction::kMax:
        return kernels.max(cells, rows, length, values);
      case ArrayReduction::kMin:
        return kernels.min(cells, rows, length, values);
      default:
        return kernels.sum(cells, rows, length, values);
    }
  };
  if (in.operand == TypeId::kFloat32 && in.type == TypeId::kFloat64) {
    return k.sum_rows_f32_as_f64(static_cast<const float*>(x), rows, length,
                                 static_cast<double*>(out));
  }
  if (in.operand == TypeId::kBool && in.type == TypeId::kFloat64) {
    return k.count_rows(static_cast<const uint8_t*>(x), rows, length, static_cast<double*>(out));
  }
  if (in.operand == TypeId::kFloat32) return run(k.rows_f32, float{});
  if (in.operand == TypeId::kFloat64) return run(k.rows_f64, double{});
  const bool all = in.reduction == ArrayReduction::kAll;
  const auto* cells = static_cast<const uint8_t*>(x);
  for (int64_t r = 0; r < rows; ++r) {
    uint8_t acc = all ? 1 : 0;
    for (int64_t i = 0; i < length; ++i)
      acc = all ? acc & cells[r * length + i] : acc | cells[r * length + i];
    static_cast<uint8_t*>(out)[r] = acc;
  }
}

void RowProgram::Execute(const Instruction& in, Worker& worker, int64_t n, int64_t length) const {
  const auto at = [&](int reg) { return worker.at[static_cast<size_t>(reg)]; };
  const int64_t cells = in.kind == Kind::kCell ? n * length : in.kind == Kind::kRow ? n : 1;
  switch (in.code) {
    case Code::kMap: {
      const void* args[3] = {};
      for (int k = 0; k < 3 && in.args[k] >= 0; ++k) args[k] = at(in.args[k]);
      // Array programs hold no operation that can raise an error (plan/grid_expression.cc).
      static_cast<void>(in.kernel(args, nullptr, at(in.out), cells));
      return;
    }
    case Code::kByRow:
      return in.row_kernel(at(in.args[0]), at(in.args[1]), n, length, at(in.out));
    case Code::kByOne:
      return in.row_kernel(at(in.args[0]), at(in.args[1]), 1, cells, at(in.out));
    case Code::kChain: {
      const ChainArgs args{at(in.args[0]), at(in.args[1]), at(in.args[2]), in.y_step, in.z_step};
      const bool by_row = in.y_step != 0 || in.z_step != 0;
      return in.chain(args, by_row ? n : 1, by_row ? length : cells, at(in.out));
    }
    case Code::kSpread:
      return Kernels().spread[static_cast<int>(in.type)](at(in.args[0]), n, length, at(in.out));
    case Code::kFill:
      return Kernels().spread[static_cast<int>(in.type)](at(in.args[0]), 1, cells, at(in.out));
    case Code::kReduce:
      return Reduce(in, at(in.args[0]), at(in.out), n, length);
    case Code::kToBool:
      return WithElementType(in.operand, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_same_v<T, std::string_view>) {
          const T* x = reinterpret_cast<const T*>(at(in.args[0]));
          auto* out = reinterpret_cast<uint8_t*>(at(in.out));
          for (int64_t i = 0; i < cells; ++i) out[i] = x[i] != T{} ? 1 : 0;
        }
      });
  }
}

void RowProgram::Run(const RunState& state, Worker& worker, int64_t first, int64_t n) const {
  // Maps run to whole lanes: over what lies there, which is not read.
  const int64_t end = EndOf(first);
  const int64_t length = std::min(length_, (end + kLanes - 1) / kLanes * kLanes);
  for (const Load& load : loads_) {
    const auto reg = static_cast<size_t>(load.reg);
    const int64_t width = VectorWidth(registers_[reg].type);
    const int64_t at = first * (load.per_row ? 1 : length_);
    std::byte* array = load.address.In(state);
    if (registers_[reg].offset < 0) {
      worker.at[reg] = array + first * load.pitch * width;
    } else {
      load.cells.Read(array, width, at, n * (load.per_row ? 1 : length), worker.at[reg]);
    }
  }
  for (const Store& store : stores_) {
    if (!store.in_place) continue;
    const auto reg = static_cast<size_t>(store.reg);
    const int64_t width = VectorWidth(registers_[reg].type);
    worker.at[reg] = store.address.In(state) + first * store.pitch * width;
  }
  for (const Instruction& in : instructions_)
    Execute(in, worker, n, in.code == Code::kReduce ? end : length);
  for (const Store& store : stores_) {
    const bool clears = end < length_ && !store.per_row && store.all_read;
    if (store.in_place && !clears) continue;
    const auto reg = static_cast<size_t>(store.reg);
    const int64_t width = VectorWidth(registers_[reg].type);
    const int64_t at = first * (store.per_row ? 1 : length_);
    std::byte* array = store.address.In(state);
    if (!store.in_place)
      store.cells.Write(array, width, at, n * (store.per_row ? 1 : end), worker.at[reg]);
    if (clears) store.cells.Clear(array, width, at + end, length_ - end);
  }
}

RowProgramBuilder::RowProgramBuilder(std::vector<int64_t> row_loops,
                                     std::vector<int64_t> cell_loops)
    : row_loops_(std::move(row_loops)), cell_loops_(std::move(cell_loops)), loops_(row_loops_) {
  loops_.insert(loops_.end(), cell_loops_.begin(), cell_loops_.end());
  for (int64_t e : row_loops_) program_.rows_ *= e;
  for (int64_t e : cell_loops_) program_.length_ *= e;
}

RowProgramBuilder::Id RowProgramBuilder::Add(Kind kind, TypeId type) {
  program_.registers_.push_back({kind, type});
  return static_cast<Id>(program_.registers_.size()) - 1;
}

RowProgramBuilder::Id RowProgramBuilder::Emit(RowProgram::Instruction in) {
  in.out = Add(in.kind, in.type);
  const bool once = in.kind == Kind::kOne || in.code == RowProgram::Code::kFill;
  (once ? program_.once_ : program_.instructions_).push_back(in);
  return in.out;
}

RowProgramBuilder::Id RowProgramBuilder::Load(const ArrayLoad& load, bool per_row) {
  const Id id = Add(per_row ? Kind::kRow : Kind::kCell, load.type);
  StridedCells cells(per_row ? row_loops_ : loops_, load.strides);
  const int64_t pitch = cells.PitchOf(per_row ? 1 : program_.length_);
  program_.loads_.push_back({id, per_row, pitch, load.address, std::move(cells)});
  return id;
}

RowProgramBuilder::Id RowProgramBuilder::Constant(Value value, TypeId type) {
  const Id id = Add(Kind::kOne, type);
  program_.constants_.push_back({id, -1, false, std::move(value)});
  return id;
}

RowProgramBuilder::Id RowProgramBuilder::Parameter(int number, TypeId type) {
  const Id id = Add(Kind::kOne, type);
  program_.constants_.push_back({id, number, false, {}});
  return id;
}

RowProgramBuilder::Id RowProgramBuilder::ParameterIsValid(int number) {
  const Id id = Add(Kind::kOne, TypeId::kBool);
  program_.constants_.push_back({id, number, true, {}});
  return id;
}

// The value once a row or cell, for kernels that take nothing else.
RowProgramBuilder::Id RowProgramBuilder::As(Id id, Kind kind) {
  if (reg(id).kind == kind) return id;
  for (const auto& [key, known] : spread_) {
    if (key == std::pair(id, kind)) return known;
  }
  RowProgram::Instruction in{};
  in.code = reg(id).kind == Kind::kOne ? RowProgram::Code::kFill : RowProgram::Code::kSpread;
  in.kind = kind;
  in.type = in.operand = reg(id).type;
  in.args[0] = id;
  const Id out = Emit(in);
  spread_.push_back({{id, kind}, out});
  return out;
}

RowProgramBuilder::Id RowProgramBuilder::Map(ScalarOp op, TypeId result, std::span<const Id> args) {
  if (op == ScalarOp::kNegate && IsFloat(result)) {  // the same bits, and fuses with its neighbours
    const Id product[] = {args[0], Constant(Value::Float(-1), result)};
    return Map(ScalarOp::kMultiply, result, product);
  }
  RowProgram::Instruction in{};
  in.kind = Kind::kOne;
  for (Id arg : args) in.kind = std::max(in.kind, reg(arg).kind);
  in.type = result;
  in.op = op;
  in.operand = reg(args[op == ScalarOp::kSelect ? 1 : 0]).type;
  if (args.size() == 2 && reg(args[0]).kind != reg(args[1]).kind) {
    const bool second_less = reg(args[1]).kind < reg(args[0]).kind;
    const Id less = args[second_less ? 1 : 0], more = args[second_less ? 0 : 1];
    in.row_kernel =
        Kernels().by_row[static_cast<int>(op)][static_cast<int>(in.operand)][second_less ? 0 : 1];
    if (in.row_kernel != nullptr) {
      in.code = reg(less).kind == Kind::kOne ? RowProgram::Code::kByOne : RowProgram::Code::kByRow;
      in.args[0] = more;
      in.args[1] = less;
      in.row_first = !second_less;
      return Emit(in);
    }
  }
  in.code = RowProgram::Code::kMap;
  in.kernel = Kernels().at(op, in.operand);
  ADJOIN_DCHECK(in.kernel != nullptr);
  for (size_t k = 0; k < args.size(); ++k) in.args[k] = As(args[k], in.kind);
  return Emit(in);
}

RowProgramBuilder::Id RowProgramBuilder::Cast(Id arg, TypeId type) {
  if (reg(arg).type == type) return arg;
  RowProgram::Instruction in{};
  in.kind = reg(arg).kind;
  in.type = type;
  in.operand = reg(arg).type;
  in.args[0] = arg;
  in.kernel = Kernels().cast[static_cast<int>(in.operand)][static_cast<int>(type)];
  in.code = in.kernel != nullptr ? RowProgram::Code::kMap : RowProgram::Code::kToBool;
  ADJOIN_DCHECK(in.kernel != nullptr || type == TypeId::kBool);
  return Emit(in);
}

RowProgramBuilder::Id RowProgramBuilder::Reduce(ArrayReduction reduction, Id cells) {
  cells = As(cells, Kind::kCell);
  RowProgram::Instruction in{};
  in.code = RowProgram::Code::kReduce;
  in.kind = Kind::kRow;
  in.type = in.operand = reg(cells).type;
  in.args[0] = cells;
  in.reduction = reduction;
  // The sum of REALs, or the count of booleans, as DOUBLE PRECISION takes them as they are.
  auto& program = program_.instructions_;
  if (reduction == ArrayReduction::kSum && in.type == TypeId::kFloat64 && !program.empty() &&
      program.back().out == cells && program.back().code == RowProgram::Code::kMap &&
      program.back().args[1] < 0 &&
      (program.back().operand == TypeId::kFloat32 || program.back().operand == TypeId::kBool)) {
    in.operand = program.back().operand;
    in.args[0] = program.back().args[0];
  }
  return Emit(in);
}

void RowProgramBuilder::CutRows(size_t loop, std::vector<int64_t> ends) {
  program_.ends_ = std::move(ends);
  for (size_t i = loop + 1; i < row_loops_.size(); ++i) program_.end_step_ *= row_loops_[i];
}

void RowProgramBuilder::Store(Id id, const ArrayLoad& array, bool all_read) {
  const bool per_row = reg(id).kind == Kind::kRow;
  StridedCells cells(per_row ? row_loops_ : loops_, array.strides);
  const int64_t pitch = cells.PitchOf(per_row ? 1 : program_.length_);
  program_.stores_.push_back(
      {id, per_row, all_read, false, pitch, array.address, std::move(cells)});
}

void RowProgramBuilder::Expose(Id id) {
  program_.exposed_ = As(id, cell_loops_.empty() ? Kind::kRow : Kind::kCell);
}

namespace {

// Whether `op` of an earlier result and another operand is one of a chain's; `swapped`: the result
// comes second.
bool ToChainOp(ScalarOp op, bool swapped, ChainOp* out) {
  switch (op) {
    case ScalarOp::kAdd:
      *out = ChainOp::kAdd;
      return true;
    case ScalarOp::kMultiply:
      *out = ChainOp::kMultiply;
      return true;
    case ScalarOp::kSubtract:
      *out = swapped ? ChainOp::kSubtractFrom : ChainOp::kSubtract;
      return true;
    default:
      return false;
  }
}

}  // namespace

// An operation of arithmetic whose result only one other reads is done in that one's pass.
void RowProgramBuilder::FuseChains() {
  using Code = RowProgram::Code;
  auto& program = program_.instructions_;
  std::vector<int> uses(program_.registers_.size(), 0), writer(program_.registers_.size(), -1);
  for (const auto& in : program) {
    for (int arg : in.args) {
      if (arg >= 0) ++uses[static_cast<size_t>(arg)];
    }
  }
  for (const auto& store : program_.stores_) ++uses[static_cast<size_t>(store.reg)];
  if (program_.exposed_ >= 0) ++uses[static_cast<size_t>(program_.exposed_)];
  const auto is_arithmetic = [&](const RowProgram::Instruction& in) {
    ChainOp op;
    return (in.code == Code::kMap || in.code == Code::kByRow || in.code == Code::kByOne) &&
           in.type == in.operand && IsFloat(in.type) && ToChainOp(in.op, false, &op);
  };
  std::vector<bool> gone(program.size(), false);
  for (size_t j = 0; j < program.size(); ++j) {
    RowProgram::Instruction& second = program[j];
    writer[static_cast<size_t>(second.out)] = static_cast<int>(j);
    if (!is_arithmetic(second)) continue;
    for (int k = 0; k < 2; ++k) {
      const int reg_k = second.args[k];
      const int i = writer[static_cast<size_t>(reg_k)];
      if (i < 0 || uses[static_cast<size_t>(reg_k)] != 1) continue;
      const RowProgram::Instruction& first = program[static_cast<size_t>(i)];
      if (!is_arithmetic(first) || first.kind != second.kind) continue;
      // The arguments of kByRow and kByOne are [cells, less]; row_first says that they stand the
      // other way round.
      ChainOp a, b;
      ToChainOp(first.op, first.row_first, &a);
      ToChainOp(second.op, second.code == Code::kMap ? k == 1 : second.row_first, &b);
      RowProgram::Instruction in = second;
      in.code = Code::kChain;
      in.args[0] = first.args[0];
      in.args[1] = first.args[1];
      in.args[2] = second.args[1 - k];
      const auto step = [&](int arg) {
        return reg(arg).kind == second.kind || reg(arg).kind == Kind::kOne ? int64_t{0}
                                                                           : int64_t{1};
      };
      in.y_step = step(in.args[1]);
      in.z_step = step(in.args[2]);
      const bool y = reg(in.args[1]).kind == second.kind, z = reg(in.args[2]).kind == second.kind;
      const auto& kernels = in.type == TypeId::kFloat32 ? Kernels().chain_f32 : Kernels().chain_f64;
      in.chain = kernels[static_cast<int>(a)][static_cast<int>(b)][y ? 1 : 0][z ? 1 : 0];
      gone[static_cast<size_t>(i)] = true;
      second = in;
      break;
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < program.size(); ++i) {
    if (!gone[i]) program[kept++] = program[i];
  }
  program.resize(kept);
}

RowProgram RowProgramBuilder::Build() && {
  FuseChains();
  LayOut();
  return std::move(program_);
}

// Gives registers memory: slots by liveness, of one size for cells and one for rows; what is filled
// once keeps its own.
// Whether a register may be the array itself: its rows are neighbours, or one row is a block.
bool RowProgramBuilder::LiesInPlace(const StridedCells& cells, int64_t pitch) const {
  const bool block_is_row =
      !program_.ends_.empty() || program_.length_ > RowProgram::kBlockCells / 2;
  return cells.dense() || (pitch >= 0 && block_is_row);
}

void RowProgramBuilder::LayOut() {
  auto& registers = program_.registers_;
  auto& instructions = program_.instructions_;
  const int end = static_cast<int>(instructions.size());
  std::vector<int> last(registers.size(), -1);
  std::vector<bool> fixed(registers.size(), false), placed(registers.size(), false);
  const auto use = [&](const RowProgram::Instruction& in, int at) {
    for (int arg : in.args) {
      if (arg >= 0) last[static_cast<size_t>(arg)] = at;
    }
  };
  for (int i = 0; i < end; ++i) use(instructions[static_cast<size_t>(i)], i);
  for (const auto& c : program_.constants_) fixed[static_cast<size_t>(c.reg)] = true;
  for (const auto& in : program_.once_) {
    fixed[static_cast<size_t>(in.out)] = true;
  }
  // Unused instructions (a cast that a sum has taken in) go.
  for (auto& store : program_.stores_) {
    last[static_cast<size_t>(store.reg)] = end;
    const bool computed = std::any_of(instructions.begin(), instructions.end(),
                                      [&](const auto& in) { return in.out == store.reg; });
    store.in_place = computed && LiesInPlace(store.cells, store.pitch) &&
                     !placed[static_cast<size_t>(store.reg)] && store.reg != program_.exposed_;
    if (store.in_place) placed[static_cast<size_t>(store.reg)] = true;
  }
  if (program_.exposed_ >= 0) last[static_cast<size_t>(program_.exposed_)] = end;
  for (const auto& load : program_.loads_) {
    if (LiesInPlace(load.cells, load.pitch)) placed[static_cast<size_t>(load.reg)] = true;
  }
  std::erase_if(instructions,
                [&](const auto& in) { return last[static_cast<size_t>(in.out)] < 0; });
  // Uses again, as positions have moved.
  for (size_t r = 0; r < last.size(); ++r) {
    if (last[r] != end) last[r] = -1;
  }
  const int count = static_cast<int>(instructions.size());
  for (size_t r = 0; r < last.size(); ++r) {
    if (last[r] == end) last[r] = count;
  }
  for (int i = 0; i < count; ++i) {
    for (int arg : instructions[static_cast<size_t>(i)].args) {
      if (arg >= 0) last[static_cast<size_t>(arg)] = std::max(last[static_cast<size_t>(arg)], i);
    }
  }

  // Slots: [kind][...]; a slot's number, then offsets once the block's size is known.
  std::vector<int> slot(registers.size(), -1);
  std::vector<int64_t> slot_width[3];
  std::vector<int> free[3];
  const auto take = [&](size_t r) {
    const size_t kind = static_cast<size_t>(registers[r].kind);
    const int64_t width = VectorWidth(registers[r].type);
    if (fixed[r] || free[kind].empty()) {
      slot[r] = static_cast<int>(slot_width[kind].size());
      slot_width[kind].push_back(width);
    } else {
      slot[r] = free[kind].back();
      free[kind].pop_back();
      int64_t& w = slot_width[kind][static_cast<size_t>(slot[r])];
      w = std::max(w, width);
    }
  };
  const auto release = [&](int reg, int at) {
    const auto r = static_cast<size_t>(reg);
    if (reg < 0 || last[r] != at || fixed[r] || slot[r] < 0) return;
    free[static_cast<size_t>(registers[r].kind)].push_back(slot[r]);
    last[r] = -2;
  };
  for (size_t r = 0; r < registers.size(); ++r) {
    if (fixed[r]) take(r);
  }
  for (const auto& load : program_.loads_) {
    const auto r = static_cast<size_t>(load.reg);
    if (!placed[r]) take(r);
  }
  for (int i = 0; i < count; ++i) {
    const auto& in = instructions[static_cast<size_t>(i)];
    const auto out = static_cast<size_t>(in.out);
    // A kernel may write over an argument that is as wide as its result; rows and cells have slots
    // of their own.
    bool same = in.code == RowProgram::Code::kMap || in.code == RowProgram::Code::kByRow ||
                in.code == RowProgram::Code::kByOne || in.code == RowProgram::Code::kChain;
    for (int arg : in.args) {
      if (arg >= 0 && registers[static_cast<size_t>(arg)].kind == registers[out].kind) {
        same = same && VectorWidth(registers[static_cast<size_t>(arg)].type) ==
                           VectorWidth(registers[out].type);
      }
    }
    if (same) {
      for (int arg : in.args) release(arg, i);
    }
    if (!placed[out]) take(out);
    if (!same) {
      for (int arg : in.args) release(arg, i);
    }
  }

  // The block: whole rows, few enough that the registers stay in L1.
  int64_t cell_bytes = 0, row_bytes = 0;
  for (int64_t w : slot_width[2]) cell_bytes += w;
  for (int64_t w : slot_width[1]) row_bytes += w;
  cell_bytes += row_bytes / std::max<int64_t>(program_.length_, 1);
  const int64_t cells =
      std::clamp<int64_t>(kRegisterBytes / std::max<int64_t>(cell_bytes, 1) / 64 * 64, kFewestCells,
                          RowProgram::kBlockCells);
  program_.block_rows_ = std::clamp<int64_t>(cells / std::max<int64_t>(program_.length_, 1), 1,
                                             std::max<int64_t>(program_.rows_, 1));
  if (!program_.ends_.empty()) program_.block_rows_ = 1;
  const int64_t extent[3] = {1, program_.block_rows_, program_.block_rows_ * program_.length_};
  std::vector<int64_t> offset[3];
  for (size_t kind = 0; kind < 3; ++kind) {
    for (int64_t w : slot_width[kind]) {
      offset[kind].push_back(program_.bytes_);
      program_.bytes_ += Aligned(w * extent[kind]);
    }
  }
  for (size_t r = 0; r < registers.size(); ++r) {
    if (slot[r] < 0) continue;
    registers[r].offset =
        offset[static_cast<size_t>(registers[r].kind)][static_cast<size_t>(slot[r])];
  }
}

}  // namespace adjoin
