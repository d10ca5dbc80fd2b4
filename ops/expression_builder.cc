#include <algorithm>

#include "ops/expression.h"

namespace adjoin {
namespace {

void AppendInt(std::string& key, int value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string KeyOf(const ExprInstruction& in) {
  std::string key;
  key.push_back(static_cast<char>(in.op));
  key.push_back(static_cast<char>(in.type));
  key.push_back(static_cast<char>(in.operand));
  key.push_back(static_cast<char>(in.scalar_op));
  for (int arg : in.args) AppendInt(key, arg);
  AppendInt(key, in.active);
  AppendInt(key, in.index);
  key.append(reinterpret_cast<const char*>(&in.rows), sizeof(const void*));
  return key;
}

template <typename F>
void ForEachArg(const ExprInstruction& in, F&& f) {
  for (int arg : in.args) {
    if (arg >= 0) f(arg);
  }
  if (in.active >= 0) f(in.active);
}

// Gives each computed value a slot; a slot is free again after its value's last reader. The
// arguments of an instruction are freed after its own slot is taken: a kernel is run again when it
// fails, so `out` is never an argument.
class SlotAllocator {
 public:
  SlotAllocator(const std::vector<ExprInstruction>& program, const std::vector<int>& outputs)
      : program_(program), last_use_(program.size(), -1) {
    const int n = static_cast<int>(program.size());
    for (int i = 0; i < n; ++i) ForEachArg(program[i], [&](int arg) { last_use_[arg] = i; });
    for (int output : outputs) last_use_[output] = n;
    slots.assign(program.size(), -1);
    for (int i = 0; i < n; ++i) Place(i);
  }
  std::vector<int> slots;
  std::vector<int64_t> widths;

 private:
  static bool IsFixed(ExprOpcode op) {
    return op == ExprOpcode::kConstant || op == ExprOpcode::kParameter;
  }
  void Place(int i) {
    const ExprInstruction& in = program_[i];
    if (in.op == ExprOpcode::kInput) return;
    const int64_t width = VectorWidth(in.type) == 16 || IsFixed(in.op) ? VectorWidth(in.type) : 8;
    std::vector<int>& free = width == 16 ? free_wide_ : free_;
    if (!IsFixed(in.op) && !free.empty()) {
      slots[i] = free.back();
      free.pop_back();
    } else {
      slots[i] = static_cast<int>(widths.size());
      widths.push_back(width);
    }
    ForEachArg(in, [&](int arg) { Free(arg, i); });
  }
  void Free(int arg, int reader) {
    if (last_use_[arg] != reader || slots[arg] < 0 || IsFixed(program_[arg].op)) return;
    last_use_[arg] = -1;  // an instruction may read a value twice
    (widths[slots[arg]] == 16 ? free_wide_ : free_).push_back(slots[arg]);
  }
  const std::vector<ExprInstruction>& program_;
  std::vector<int> last_use_;
  std::vector<int> free_, free_wide_;
};

}  // namespace

bool ExprBuilder::CanRaise(ScalarOp op, TypeId operand) {
  if (!IsInteger(operand)) return false;
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kSubtract:
    case ScalarOp::kMultiply:
    case ScalarOp::kDivide:
    case ScalarOp::kRemainder:
    case ScalarOp::kNegate:
    case ScalarOp::kAbs:
    case ScalarOp::kPower:
      return true;
    default:
      return false;
  }
}

bool ExprBuilder::CastCanRaise(TypeId from, TypeId to) {
  if (from == TypeId::kText) return true;
  if (to == TypeId::kText || to == TypeId::kBool || from == TypeId::kBool) return false;
  if (IsInteger(from)) return IsInteger(to) && to < from;
  return IsInteger(to) || to < from;
}

std::string CompiledExpr::Identity(std::span<const Value> parameters) const {
  std::string identity;
  const auto add = [&](const std::string& part) {
    AppendInt(identity, static_cast<int>(part.size()));
    identity += part;
  };
  for (const ExprInstruction& in : program_) {
    add(KeyOf(in));
    const auto index = static_cast<size_t>(in.index);
    if (in.op == ExprOpcode::kConstant) add(constants_[index].Identity());
    if (in.op == ExprOpcode::kParameter) add(parameters[index].Identity());
  }
  for (int output : outputs_) AppendInt(identity, output);
  return identity;
}

ExprBuilder::Id ExprBuilder::Add(ExprInstruction instruction, bool fails) {
  Id active = fails ? instruction.active : kAlways;
  // A value that was computed where more rows are active has raised whatever this one would.
  for (Id mask = active;; mask = outer(mask)) {
    instruction.active = mask;
    if (auto it = known_.find(KeyOf(instruction)); it != known_.end()) return it->second;
    if (mask == kAlways) break;
  }
  instruction.active = active;
  const Id id = size();
  known_.emplace(KeyOf(instruction), id);
  for (int arg : instruction.args) fails |= arg >= 0 && may_fail(arg);
  program_.push_back(instruction);
  may_fail_.push_back(fails ? 1 : 0);
  return id;
}

ExprBuilder::Id ExprBuilder::Input(int column, TypeId type) {
  ExprInstruction in{ExprOpcode::kInput, type, type};
  in.index = column;
  return Add(in, false);
}

ExprBuilder::Id ExprBuilder::Constant(const Value& value, TypeId type) {
  ExprInstruction in{ExprOpcode::kConstant, type, type};
  const auto it = std::find(constants_.begin(), constants_.end(), value);
  in.index = static_cast<int>(it - constants_.begin());
  if (it == constants_.end()) constants_.push_back(value);
  return Add(in, false);
}

ExprBuilder::Id ExprBuilder::Parameter(int index, TypeId type) {
  ExprInstruction in{ExprOpcode::kParameter, type, type};
  in.index = index;
  return Add(in, false);
}

bool ExprBuilder::HasKernel(ScalarOp op, TypeId operand) {
  return op != ScalarOp::kCount && Kernels().at(op, operand) != nullptr;
}

ExprBuilder::Id ExprBuilder::Strict(ScalarOp op, TypeId operand, TypeId result,
                                    std::span<const Id> args, Id active) {
  ExprInstruction in{ExprOpcode::kStrict, result, operand, op};
  std::copy(args.begin(), args.end(), in.args.begin());
  in.active = active;
  in.kernel = Kernels().at(op, operand);
  return Add(in, CanRaise(op, operand));
}

ExprBuilder::Id ExprBuilder::Cast(Id arg, TypeId target, Id active) {
  const TypeId from = type(arg);
  if (from == target) return arg;
  ExprInstruction in{ExprOpcode::kCast, target, from};
  if (from == TypeId::kText) in.op = ExprOpcode::kCastFromText;
  if (target == TypeId::kText) in.op = ExprOpcode::kCastToText;
  in.args[0] = arg;
  in.active = active;
  if (in.op == ExprOpcode::kCast) {
    in.kernel = Kernels().cast[static_cast<int>(from)][static_cast<int>(target)];
  }
  const bool fails = CastCanRaise(from, target);
  return Add(in, fails);
}

ExprBuilder::Id ExprBuilder::Compare(ScalarOp op, Id a, Id b) {
  const Id args[] = {a, b};
  if (HasKernel(op, type(a))) return Strict(op, type(a), TypeId::kBool, args, kAlways);
  const ExprOpcode opcode = op == ScalarOp::kEqual      ? ExprOpcode::kEqual
                            : op == ScalarOp::kNotEqual ? ExprOpcode::kNotEqual
                            : op == ScalarOp::kLess     ? ExprOpcode::kLess
                                                        : ExprOpcode::kLessEqual;
  return Add({opcode, TypeId::kBool, type(a), ScalarOp::kCount, {a, b, -1}}, false);
}

ExprBuilder::Id ExprBuilder::Rows(const RowFunction* function, std::span<const Id> args,
                                  Id active) {
  ExprInstruction in{ExprOpcode::kRows, function->result, function->args[0]};
  std::copy(args.begin(), args.end(), in.args.begin());
  in.active = active;
  in.rows = function;
  return Add(in, function->can_raise);
}

ExprBuilder::Id ExprBuilder::And(Id a, Id b) {
  return Add({ExprOpcode::kAnd, TypeId::kBool, TypeId::kBool, ScalarOp::kCount, {a, b, -1}}, false);
}

ExprBuilder::Id ExprBuilder::Or(Id a, Id b) {
  return Add({ExprOpcode::kOr, TypeId::kBool, TypeId::kBool, ScalarOp::kCount, {a, b, -1}}, false);
}

ExprBuilder::Id ExprBuilder::IsNull(Id a) {
  return Add({ExprOpcode::kIsNull, TypeId::kBool, type(a), ScalarOp::kCount, {a, -1, -1}}, false);
}

ExprBuilder::Id ExprBuilder::IsNotNull(Id a) {
  return Add({ExprOpcode::kIsNotNull, TypeId::kBool, type(a), ScalarOp::kCount, {a, -1, -1}},
             false);
}

ExprBuilder::Id ExprBuilder::IsDistinct(Id a, Id b) {
  const Id equal = Compare(ScalarOp::kEqual, a, b);
  return Add({ExprOpcode::kIsDistinct, TypeId::kBool, type(a), ScalarOp::kCount, {a, b, equal}},
             false);
}

ExprBuilder::Id ExprBuilder::NullIf(Id a, Id equal) {
  return Add({ExprOpcode::kNullIf, type(a), type(a), ScalarOp::kCount, {a, equal, -1}}, false);
}

ExprBuilder::Id ExprBuilder::Blend(Id mask, Id a, Id b) {
  if (a == b) return a;
  ExprInstruction in{ExprOpcode::kBlend, type(a), type(a), ScalarOp::kSelect, {mask, a, b}};
  if (type(a) != TypeId::kText) in.kernel = Kernels().at(ScalarOp::kSelect, type(a));
  return Add(in, false);
}

ExprBuilder::Id ExprBuilder::Coalesce(Id a, Id b) {
  return Add({ExprOpcode::kCoalesce, type(a), type(a), ScalarOp::kCount, {a, b, -1}}, false);
}

ExprBuilder::Id ExprBuilder::Greatest(Id a, Id b) {
  ExprInstruction in{ExprOpcode::kGreatest, type(a), type(a), ScalarOp::kGreatest, {a, b, -1}};
  if (type(a) != TypeId::kText) in.kernel = Kernels().at(ScalarOp::kGreatest, type(a));
  return Add(in, false);
}

ExprBuilder::Id ExprBuilder::Least(Id a, Id b) {
  ExprInstruction in{ExprOpcode::kLeast, type(a), type(a), ScalarOp::kLeast, {a, b, -1}};
  if (type(a) != TypeId::kText) in.kernel = Kernels().at(ScalarOp::kLeast, type(a));
  return Add(in, false);
}

ExprBuilder::Id ExprBuilder::Accumulate(Id a, Id b, Id active) {
  ExprInstruction in{ExprOpcode::kAccumulate, type(a), type(a), ScalarOp::kAdd, {a, b, -1}};
  in.active = active;
  in.kernel = Kernels().at(ScalarOp::kAdd, type(a));
  return Add(in, IsInteger(type(a)));
}

ExprBuilder::Id ExprBuilder::Mask(ExprOpcode op, Id outer_mask, Id condition) {
  return Add({op, TypeId::kBool, TypeId::kBool, ScalarOp::kCount, {outer_mask, condition, -1}},
             false);
}

namespace {

bool IsCompare(ExprOpcode op) {
  return op == ExprOpcode::kEqual || op == ExprOpcode::kNotEqual || op == ExprOpcode::kLess ||
         op == ExprOpcode::kLessEqual;
}

// See ExprInstruction::text_arg.
int TextArgument(const ExprInstruction& in, const std::vector<ExprInstruction>& program) {
  const bool by_rows = in.op == ExprOpcode::kRows && in.type == TypeId::kBool && !in.rows->nullable;
  if (!by_rows && !(IsCompare(in.op) && in.operand == TypeId::kText)) return -1;
  int text = -1;
  for (int k = 0; k < RowFunction::kMaxArgs && in.args[k] >= 0; ++k) {
    const ExprInstruction& arg = program[static_cast<size_t>(in.args[k])];
    if (arg.op == ExprOpcode::kConstant || arg.op == ExprOpcode::kParameter) continue;
    if (arg.op != ExprOpcode::kInput || arg.type != TypeId::kText || text >= 0) return -1;
    text = k;
  }
  return text;
}

// Whether it looks at more of its argument `k` than whether it is NULL, or its code.
bool LooksAt(const ExprInstruction& in, int k) {
  return in.op != ExprOpcode::kIsNull && in.op != ExprOpcode::kIsNotNull && in.text_arg != k;
}

}  // namespace

CompiledExpr ExprBuilder::Build() && {
  std::vector<uint8_t> live(program_.size(), 0);
  for (Id output : outputs_) live[static_cast<size_t>(output)] = 1;
  for (Id i = size() - 1; i >= 0; --i) {
    if (live[static_cast<size_t>(i)] == 0) continue;
    ForEachArg(program_[static_cast<size_t>(i)], [&](int arg) { live[arg] = 1; });
  }
  CompiledExpr result;
  std::vector<int> renumbered(program_.size(), -1);
  for (size_t i = 0; i < program_.size(); ++i) {
    if (live[i] == 0) continue;
    ExprInstruction in = program_[i];
    for (int& arg : in.args) arg = arg < 0 ? -1 : renumbered[arg];
    if (in.active >= 0) in.active = renumbered[in.active];
    in.text_arg = TextArgument(in, result.program_);
    for (int k = 0; k < RowFunction::kMaxArgs; ++k) {
      if (in.args[k] >= 0 && LooksAt(in, k))
        result.program_[static_cast<size_t>(in.args[k])].is_read = true;
    }
    renumbered[i] = static_cast<int>(result.program_.size());
    if (in.op == ExprOpcode::kInput) result.input_columns_.push_back(in.index);
    result.program_.push_back(in);
  }
  std::sort(result.input_columns_.begin(), result.input_columns_.end());
  for (Id output : outputs_) {
    result.outputs_.push_back(renumbered[static_cast<size_t>(output)]);
    result.can_fail_ |= may_fail(output);
  }
  result.constants_ = std::move(constants_);
  SlotAllocator allocator(result.program_, result.outputs_);
  result.data_slot_ = std::move(allocator.slots);
  result.slot_width_ = std::move(allocator.widths);
  for (int64_t width : result.slot_width_) result.bytes_per_row_ += width + 1;
  return result;
}

}  // namespace adjoin
