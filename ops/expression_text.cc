#include <algorithm>
#include <cstring>
#include <string>

#include "engine/parse_element.h"
#include "engine/status.h"
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
      return Value::Int(v.as<int32_t>()[row]);
    case TypeId::kInt64:
      return Value::Int(v.as<int64_t>()[row]);
    case TypeId::kFloat32:
      return Value::Float(v.as<float>()[row]);
    case TypeId::kFloat64:
      return Value::Float(v.as<double>()[row]);
    case TypeId::kText:
      break;
  }
  return Value();
}

bool TextCompare(ExprOpcode op, std::string_view a, std::string_view b) {
  switch (op) {
    case ExprOpcode::kTextEqual:
      return a == b;
    case ExprOpcode::kTextNotEqual:
      return a != b;
    case ExprOpcode::kTextLess:
      return a < b;
    default:
      return a <= b;
  }
}

int64_t Utf8Length(std::string_view s) {
  return std::count_if(s.begin(), s.end(),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
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
      static_cast<int32_t*>(out)[row] = static_cast<int32_t>(value.as_int());
      break;
    case TypeId::kInt64:
      static_cast<int64_t*>(out)[row] = value.as_int();
      break;
    case TypeId::kFloat32:
      static_cast<float*>(out)[row] = static_cast<float>(value.as_float());
      break;
    case TypeId::kFloat64:
      static_cast<double*>(out)[row] = value.as_float();
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

void ExprRunner::RunTextCompare(const ExprInstruction& in) {
  const std::string_view* a = arg(in, 0).as<std::string_view>();
  const std::string_view* b = arg(in, 1).as<std::string_view>();
  uint8_t* z = static_cast<uint8_t*>(data());
  out().valid = StrictValid(in, 2);
  for (int64_t i = 0; i < n_; ++i) z[i] = TextCompare(in.op, a[i], b[i]) ? 1 : 0;
}

void ExprRunner::RunConcat(const ExprInstruction& in) {
  const std::string_view* a = arg(in, 0).as<std::string_view>();
  const std::string_view* b = arg(in, 1).as<std::string_view>();
  std::string_view* z = static_cast<std::string_view*>(data());
  out().valid = StrictValid(in, 2);
  for (int64_t i = 0; i < n_; ++i) {
    if (out().is_null(i)) {
      z[i] = {};
      continue;
    }
    char* text = scratch_.text_.Make<char>(static_cast<int64_t>(a[i].size() + b[i].size()));
    std::copy(a[i].begin(), a[i].end(), text);
    std::copy(b[i].begin(), b[i].end(), text + a[i].size());
    z[i] = {text, a[i].size() + b[i].size()};
  }
}

void ExprRunner::RunLength(const ExprInstruction& in) {
  const std::string_view* a = arg(in, 0).as<std::string_view>();
  out().valid = StrictValid(in, 1);
  for (int64_t i = 0; i < n_; ++i) StoreValue(Value::Int(Utf8Length(a[i])), in.type, data(), i);
}

void ExprRunner::RunCase(const ExprInstruction& in) {
  const std::string_view* a = arg(in, 0).as<std::string_view>();
  std::string_view* z = static_cast<std::string_view*>(data());
  out().valid = StrictValid(in, 1);
  const char first = in.op == ExprOpcode::kTextLower ? 'A' : 'a';
  for (int64_t i = 0; i < n_; ++i) {
    char* text = scratch_.text_.Make<char>(static_cast<int64_t>(a[i].size()));
    std::transform(a[i].begin(), a[i].end(), text, [first](char c) {
      return c >= first && c < first + 26 ? static_cast<char>(c ^ 0x20) : c;
    });
    z[i] = {text, a[i].size()};
  }
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
