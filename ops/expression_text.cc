#include <algorithm>
#include <cstring>
#include <string>

#include "engine/parse_element.h"
#include "engine/status.h"
#include "ops/batch.h"
#include "ops/expression_runner.h"
#include "ops/scalar_error.h"

namespace adjoin {
namespace {

Value ValueAt(const Vector& v, int64_t row) {
  switch (v.type) {
    case TypeId::kBool:
      return Value::Bool(v.as<uint8_t>()[row] != 0);
    case TypeId::kInt16:
      return Value::Int(v.as<int16_t>()[row]);
    case TypeId::kInt32:
    case TypeId::kDate:
      return Value::Int(v.as<int32_t>()[row]);
    case TypeId::kInt64:
    case TypeId::kTimestamp:
      return Value::Int(v.as<int64_t>()[row]);
    case TypeId::kFloat32:
      return Value::Float(v.as<float>()[row]);
    case TypeId::kFloat64:
      return Value::Float(v.as<double>()[row]);
    case TypeId::kInterval:
      return Value::Of(v.as<Interval>()[row]);
    case TypeId::kDecimal:
      return Value::Of(v.as<Decimal>()[row]);
    case TypeId::kText:
      break;
  }
  return Value();
}

template <typename T>
void CompareElements(ExprOpcode op, const T* a, const T* b, int64_t n, uint8_t* out) {
  const auto fill = [&](auto&& test) {
    for (int64_t i = 0; i < n; ++i) out[i] = test(a[i], b[i]) ? 1 : 0;
  };
  switch (op) {
    case ExprOpcode::kEqual:
      return fill([](const T& x, const T& y) { return x == y; });
    case ExprOpcode::kNotEqual:
      return fill([](const T& x, const T& y) { return x != y; });
    case ExprOpcode::kLess:
      return fill([](const T& x, const T& y) { return x < y; });
    default:
      return fill([](const T& x, const T& y) { return x <= y; });
  }
}

}  // namespace

void StoreValue(const Value& value, TypeId type, void* out, int64_t row) {
  switch (type) {
    case TypeId::kBool:
      static_cast<uint8_t*>(out)[row] = value.as_bool() ? 1 : 0;
      break;
    case TypeId::kInt16:
      static_cast<int16_t*>(out)[row] = static_cast<int16_t>(value.as_int());
      break;
    case TypeId::kInt32:
    case TypeId::kDate:
      static_cast<int32_t*>(out)[row] = static_cast<int32_t>(value.as_int());
      break;
    case TypeId::kInt64:
    case TypeId::kTimestamp:
      static_cast<int64_t*>(out)[row] = value.as_int();
      break;
    case TypeId::kFloat32:
      static_cast<float*>(out)[row] = static_cast<float>(value.as_float());
      break;
    case TypeId::kFloat64:
      static_cast<double*>(out)[row] = value.as_float();
      break;
    case TypeId::kInterval:
      static_cast<Interval*>(out)[row] = value.as_interval();
      break;
    case TypeId::kDecimal:
      static_cast<Decimal*>(out)[row] = value.as_decimal();
      break;
    case TypeId::kText:
      break;
  }
}

absl::Status ExprRunner::RunCastFromText(const ExprInstruction& in) {
  const Vector& from = arg(in, 0);
  out().valid = StrictValid(in, 1);
  const uint8_t* mask = ErrorMask(in, out().valid);
  std::memset(data(), 0, static_cast<size_t>(n_ * VectorWidth(in.type)));
  for (int64_t i = 0; i < n_; ++i) {
    if (mask != nullptr && mask[i] == 0) continue;
    ADJOIN_ASSIGN_OR_RETURN(const Value value, ParseText(from.as<std::string_view>()[i], in.type));
    StoreValue(value, in.type, data(), i);
  }
  return absl::OkStatus();
}

absl::Status ExprRunner::FindVerdict(const ExprInstruction& in, std::string_view text,
                                     uint8_t* verdict) {
  Vector args[RowFunction::kMaxArgs];
  const Vector* each[RowFunction::kMaxArgs] = {};
  for (int k = 0; k < RowFunction::kMaxArgs && in.args[k] >= 0; ++k) {
    args[k] = k == in.text_arg ? Vector{TypeId::kText, &text} : arg(in, k);
    each[k] = &args[k];
  }
  if (in.op == ExprOpcode::kRows)
    return in.rows->run({each, nullptr, 1, scratch_.text_, verdict, nullptr, scratch_.kept_[id_]});
  CompareElements(in.op, args[0].as<std::string_view>(), args[1].as<std::string_view>(), 1,
                  verdict);
  return absl::OkStatus();
}

bool ExprRunner::ReadsCodes(const ExprInstruction& in) {
  // A larger dictionary is cheaper read than remembered: what is known of it leaves a near cache.
  constexpr int32_t kMostCodes = 1 << 16;
  Vector& text = scratch_.values_[static_cast<size_t>(in.args[in.text_arg])];
  if (text.codes != nullptr && text.column->dictionary()->size() <= kMostCodes) return true;
  text = WithViews(text, n_, scratch_.text_);
  return false;
}

absl::Status ExprRunner::RunByCode(const ExprInstruction& in) {
  const Vector& text = arg(in, in.text_arg);
  CodeVerdicts& verdicts = scratch_.verdicts_[id_];
  if (verdicts.dictionary != text.column->dictionary()) {
    verdicts.dictionary = text.column->dictionary();
    verdicts.of.assign(static_cast<size_t>(verdicts.dictionary->size()), CodeVerdicts::kUnknown);
  }
  out().valid = StrictValid(in, RowFunction::kMaxArgs);
  // Elsewhere nothing may fail, and the code of a NULL may be any number.
  const uint8_t* const counts = ErrorMask(in, out().valid);
  auto* const z = static_cast<uint8_t*>(data());
  const int64_t n = n_;
  for (int64_t i = 0; i < n; ++i) {
    if (counts != nullptr && counts[i] == 0) {
      z[i] = 0;
      continue;
    }
    uint8_t& verdict = verdicts.of[static_cast<size_t>(text.codes[i])];
    if (verdict == CodeVerdicts::kUnknown) {
      ADJOIN_RETURN_IF_ERROR(FindVerdict(in, verdicts.dictionary->at(text.codes[i]), &verdict));
    }
    z[i] = verdict;
  }
  return absl::OkStatus();
}

void ExprRunner::RunCompare(const ExprInstruction& in) {
  const Vector& a = arg(in, 0);
  const Vector& b = arg(in, 1);
  out().valid = StrictValid(in, 2);
  WithElementType(in.operand, [&](auto zero) {
    using T = decltype(zero);
    CompareElements(in.op, a.as<T>(), b.as<T>(), n_, static_cast<uint8_t*>(data()));
  });
}

void ExprRunner::RunCastToText(const ExprInstruction& in) {
  const Vector& from = arg(in, 0);
  std::string_view* z = static_cast<std::string_view*>(data());
  out().valid = StrictValid(in, 1);
  for (int64_t i = 0; i < n_; ++i) {
    z[i] = {};
    if (out().is_null(i)) continue;
    if (from.type == TypeId::kBool) {
      z[i] = from.as<uint8_t>()[i] != 0 ? "true" : "false";
      continue;
    }
    const std::string text = ToText(ValueAt(from, i), from.type);
    char* copy = scratch_.text_.Make<char>(static_cast<int64_t>(text.size()));
    std::copy(text.begin(), text.end(), copy);
    z[i] = {copy, text.size()};
  }
}

}  // namespace adjoin
