#include "ops/expression.h"

#include <algorithm>
#include <cstring>

#include "engine/status.h"
#include "ops/batch.h"
#include "ops/expression_runner.h"

namespace adjoin {
namespace {

template <typename T>
void Write(T value, void* out) {
  *static_cast<T*>(out) = value;
}

// Writes a constant as an element; a NULL gets readable zeros.
void WriteConstant(const Value& value, TypeId type, TextArena& arena, void* out) {
  const bool null = value.is_null();
  switch (type) {
    case TypeId::kBool:
      return Write<uint8_t>(!null && value.as_bool() ? 1 : 0, out);
    case TypeId::kInt16:
      return Write(static_cast<int16_t>(null ? 0 : value.as_int()), out);
    case TypeId::kInt32:
    case TypeId::kDate:
      return Write(static_cast<int32_t>(null ? 0 : value.as_int()), out);
    case TypeId::kInt64:
    case TypeId::kTimestamp:
      return Write<int64_t>(null ? 0 : value.as_int(), out);
    case TypeId::kFloat32:
      return Write(static_cast<float>(null ? 0 : value.as_float()), out);
    case TypeId::kFloat64:
      return Write<double>(null ? 0 : value.as_float(), out);
    case TypeId::kInterval:
      return Write(null ? Interval{} : value.as_interval(), out);
    case TypeId::kDecimal:
      return Write(null ? Decimal{} : value.as_decimal(), out);
    case TypeId::kText:
      return Write(null ? std::string_view() : arena.Copy(value.as_text()), out);
  }
}

}  // namespace

void CompiledExpr::Prepare(ExprScratch& scratch, int64_t block_rows,
                           std::span<const Value> parameters) const {
  scratch.block_rows_ = block_rows;
  scratch.memory_.Reset();
  scratch.text_.Reset();
  scratch.slots_.clear();
  scratch.verdicts_.clear();
  scratch.kept_.clear();
  scratch.repeated_.clear();
  scratch.repeats_ = 1;
  for (int64_t width : slot_width_) {
    scratch.slots_.push_back(
        {scratch.memory_.Allocate(width * block_rows), scratch.memory_.Make<uint8_t>(block_rows)});
  }
  scratch.mask_ = scratch.memory_.Make<uint8_t>(block_rows);
  scratch.values_.assign(program_.size(), Vector());
  for (size_t i = 0; i < program_.size(); ++i) {
    const ExprInstruction& in = program_[i];
    Vector& value = scratch.values_[i];
    value.type = in.type;
    if (data_slot_[i] < 0) continue;
    const ExprScratch::Slot& slot = scratch.slots_[data_slot_[i]];
    value.data = slot.data;
    if (in.op != ExprOpcode::kConstant && in.op != ExprOpcode::kParameter) continue;
    const Value& constant =
        in.op == ExprOpcode::kConstant ? constants_[in.index] : parameters[in.index];
    WriteConstant(constant, in.type, scratch.constants_, slot.data);
    scratch.repeated_.push_back({static_cast<std::byte*>(slot.data), VectorWidth(in.type)});
    if (!constant.is_null()) continue;
    std::memset(slot.valid, 0, static_cast<size_t>(block_rows));
    value.valid = slot.valid;
  }
}

void CompiledExpr::RepeatConstants(ExprScratch& scratch, int64_t n) {
  for (const ExprScratch::Constant& constant : scratch.repeated_) {
    WithWidth(constant.width, [&](auto zero) {
      auto* values = reinterpret_cast<decltype(zero)*>(constant.data);
      std::fill(values + scratch.repeats_, values + n, values[0]);
    });
  }
  scratch.repeats_ = n;
}

absl::Status CompiledExpr::Run(ExprScratch& scratch, std::span<const Vector> columns, int64_t n,
                               std::span<void* const> targets) const {
  scratch.text_.Reset();
  if (n > scratch.repeats_) RepeatConstants(scratch, n);
  for (size_t i = 0; i < targets.size(); ++i) {
    if (data_slot_[outputs_[i]] < 0) continue;
    const ExprOpcode op = program_[outputs_[i]].op;
    if (op == ExprOpcode::kConstant || op == ExprOpcode::kParameter) continue;
    Vector& value = scratch.values_[outputs_[i]];
    value.data = targets[i] != nullptr ? targets[i] : scratch.slots_[data_slot_[outputs_[i]]].data;
  }
  ExprRunner runner(*this, scratch, n);
  for (size_t i = 0; i < program_.size(); ++i) {
    const ExprInstruction& in = program_[i];
    if (in.op == ExprOpcode::kInput) {
      const Vector& column = columns[static_cast<size_t>(in.index)];
      scratch.values_[i] = in.is_read ? WithViews(column, n, scratch.text_) : column;
    } else if (absl::Status status = runner.Execute(i); !status.ok()) {
      return status;
    }
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    const Vector& value = scratch.values_[outputs_[i]];
    if (targets[i] == nullptr || targets[i] == value.data) continue;
    std::memcpy(targets[i], value.data, static_cast<size_t>(n * VectorWidth(value.type)));
  }
  return absl::OkStatus();
}

std::vector<TypeId> CompiledExpr::output_types() const {
  std::vector<TypeId> types;
  for (int output : outputs_) types.push_back(program_[output].type);
  return types;
}

const Vector& CompiledExpr::output(const ExprScratch& scratch, int i) const {
  return scratch.values_[outputs_[i]];
}

}  // namespace adjoin
