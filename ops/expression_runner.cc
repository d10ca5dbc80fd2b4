#include "ops/expression_runner.h"

#include <cstring>

#include "engine/status.h"
#include "ops/scalar_error.h"

namespace adjoin {
namespace {

template <typename T>
void SelectValues(const uint8_t* mask, const void* a, const void* b, void* out, int64_t n) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = mask[i] != 0 ? x[i] : y[i];
}

void SelectAny(TypeId type, const uint8_t* mask, const void* a, const void* b, void* out,
               int64_t n) {
  WithElementType(type, [&](auto zero) { SelectValues<decltype(zero)>(mask, a, b, out, n); });
}

}  // namespace

absl::Status ExprRunner::Execute(size_t i) {
  const ExprInstruction& in = expr_.program_[i];
  id_ = i;
  if (in.text_arg >= 0 && ReadsCodes(in)) return RunByCode(in);
  switch (in.op) {
    case ExprOpcode::kInput:
    case ExprOpcode::kConstant:
    case ExprOpcode::kParameter:
      return absl::OkStatus();
    case ExprOpcode::kStrict:
      return RunStrict(in);
    case ExprOpcode::kCast:
      return in.kernel != nullptr ? RunStrict(in) : RunBoolCast(in);
    case ExprOpcode::kCastFromText:
      return RunCastFromText(in);
    case ExprOpcode::kAccumulate:
      return RunAccumulate(in);
    case ExprOpcode::kRows:
      return RunRows(in);
    default:
      RunTotal(in);
      return absl::OkStatus();
  }
}

bool ExprRunner::IsStable(int id) const {
  const ExprOpcode op = expr_.program_[static_cast<size_t>(id)].op;
  return op == ExprOpcode::kInput || op == ExprOpcode::kConstant || op == ExprOpcode::kParameter;
}

const uint8_t* ExprRunner::StrictValid(const ExprInstruction& in, int count) {
  uint8_t* own = own_valid();
  const uint8_t* result = nullptr;
  for (int k = 0; k < count && in.args[k] >= 0; ++k) {
    const uint8_t* valid = arg(in, k).valid;
    if (valid == nullptr) continue;
    if (result == nullptr) {
      result = valid;
      if (!IsStable(in.args[k])) {
        std::memcpy(own, valid, static_cast<size_t>(n_));
        result = own;
      }
    } else if (result != valid) {
      for (int64_t i = 0; i < n_; ++i) own[i] = result[i] & valid[i];
      result = own;
    }
  }
  return result;
}

const uint8_t* ExprRunner::ErrorMask(const ExprInstruction& in, const uint8_t* valid) {
  if (in.active < 0) return valid;
  const uint8_t* active = scratch_.values_[static_cast<size_t>(in.active)].as<uint8_t>();
  if (valid == nullptr) return active;
  for (int64_t i = 0; i < n_; ++i) scratch_.mask_[i] = active[i] & valid[i];
  return scratch_.mask_;
}

absl::Status ExprRunner::RunStrict(const ExprInstruction& in) {
  const void* args[3] = {};
  for (int k = 0; k < 3 && in.args[k] >= 0; ++k) args[k] = arg(in, k).data;
  out().valid = StrictValid(in, 3);
  ScalarError error = in.kernel(args, nullptr, data(), n_);
  if (error == ScalarError::kNone) return absl::OkStatus();
  // Some lane failed: ask again about the lanes that count.
  const uint8_t* mask = ErrorMask(in, out().valid);
  if (mask != nullptr) error = in.kernel(args, mask, data(), n_);
  if (error == ScalarError::kNone) return absl::OkStatus();
  return ScalarErrorStatus(error, in.type);
}

absl::Status ExprRunner::RunRows(const ExprInstruction& in) {
  const Vector* args[RowFunction::kMaxArgs] = {};
  for (int k = 0; k < in.rows->num_args; ++k) args[k] = &arg(in, k);
  out().valid = StrictValid(in, in.rows->num_args);
  // The validity of a nullable function's result may be written over that of its arguments: a row
  // is read before.
  const uint8_t* counts = ErrorMask(in, out().valid);
  ADJOIN_RETURN_IF_ERROR(
      in.rows->run({args, counts, n_, scratch_.text_, data(), own_valid(), scratch_.kept_[id_]}));
  if (in.rows->nullable) out().valid = own_valid();
  return absl::OkStatus();
}

absl::Status ExprRunner::RunBoolCast(const ExprInstruction& in) {
  const Vector& from = arg(in, 0);
  out().valid = StrictValid(in, 1);
  WithElementType(from.type, [&](auto a) {
    using A = decltype(a);
    if constexpr (std::is_arithmetic_v<A>) {
      WithElementType(in.type, [&](auto b) {
        using B = decltype(b);
        if constexpr (std::is_arithmetic_v<B>) {
          B* result = static_cast<B*>(data());
          for (int64_t i = 0; i < n_; ++i) {
            const A x = from.as<A>()[i];
            result[i] = in.type == TypeId::kBool ? static_cast<B>(x != 0) : static_cast<B>(x);
          }
        }
      });
    }
  });
  return absl::OkStatus();
}

absl::Status ExprRunner::RunAccumulate(const ExprInstruction& in) {
  const Vector& a = arg(in, 0);
  const Vector& b = arg(in, 1);
  const void* args[3] = {a.data, b.data, nullptr};
  ScalarError error = in.kernel(args, nullptr, data(), n_);
  if (error != ScalarError::kNone) {
    const uint8_t* valid = StrictValid(in, 2);
    error = in.kernel(args, ErrorMask(in, valid), data(), n_);
    if (error != ScalarError::kNone) return ScalarErrorStatus(error, in.type);
  }
  SkipNulls(in, a, b);
  return absl::OkStatus();
}

void ExprRunner::SkipNulls(const ExprInstruction& in, const Vector& a, const Vector& b) {
  if (b.valid != nullptr) SelectAny(in.type, b.valid, data(), a.data, data(), n_);
  if (a.valid != nullptr) SelectAny(in.type, a.valid, data(), b.data, data(), n_);
  if (a.valid != nullptr && b.valid != nullptr) {
    // Both NULL: whatever it holds is unspecified. Only b NULL: the first select kept a, the second
    // keeps it.
    uint8_t* own = own_valid();
    for (int64_t i = 0; i < n_; ++i) own[i] = a.valid[i] | b.valid[i];
    out().valid = own;
  } else {
    out().valid = nullptr;
  }
}

void ExprRunner::RunTotal(const ExprInstruction& in) {
  switch (in.op) {
    case ExprOpcode::kAnd:
    case ExprOpcode::kOr:
      return RunLogic(in);
    case ExprOpcode::kIsNull:
    case ExprOpcode::kIsNotNull:
      return RunIsNull(in);
    case ExprOpcode::kIsDistinct:
      return RunIsDistinct(in);
    case ExprOpcode::kNullIf:
      return RunNullIf(in);
    case ExprOpcode::kBlend:
      return RunBlend(in);
    case ExprOpcode::kCoalesce:
      return RunCoalesce(in);
    case ExprOpcode::kGreatest:
    case ExprOpcode::kLeast:
      return RunExtreme(in);
    case ExprOpcode::kMaskTrue:
    case ExprOpcode::kMaskNotTrue:
    case ExprOpcode::kMaskNull:
    case ExprOpcode::kMaskNotFalse:
      return RunMask(in);
    case ExprOpcode::kCastToText:
      return RunCastToText(in);
    default:
      return RunCompare(in);
  }
}

void ExprRunner::RunLogic(const ExprInstruction& in) {
  const int64_t n = n_;
  const Vector& a = arg(in, 0);
  const Vector& b = arg(in, 1);
  const uint8_t* x = a.as<uint8_t>();
  const uint8_t* y = b.as<uint8_t>();
  uint8_t* z = static_cast<uint8_t*>(data());
  const bool is_and = in.op == ExprOpcode::kAnd;
  out().valid = nullptr;
  if (a.valid == nullptr && b.valid == nullptr) {
    if (is_and) {
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] & y[i];
    } else {
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] | y[i];
    }
    return;
  }
  // A side that decides alone (FALSE of AND, TRUE of OR) makes the result known whatever the other
  // side is.
  uint8_t* own = own_valid();
  const uint8_t flip = is_and ? 1 : 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint8_t va = a.valid == nullptr ? 1 : a.valid[i];
    const uint8_t vb = b.valid == nullptr ? 1 : b.valid[i];
    const uint8_t decides_a = va & (x[i] ^ flip);
    const uint8_t decides_b = vb & (y[i] ^ flip);
    const uint8_t decided = decides_a | decides_b;
    own[i] = decided | (va & vb);
    z[i] = decided ^ flip;
  }
  out().valid = own;
}

void ExprRunner::RunIsNull(const ExprInstruction& in) {
  const int64_t n = n_;
  const Vector& a = arg(in, 0);
  uint8_t* z = static_cast<uint8_t*>(data());
  const uint8_t flip = in.op == ExprOpcode::kIsNull ? 1 : 0;
  out().valid = nullptr;
  if (a.valid == nullptr) {
    std::memset(z, 1 ^ flip, static_cast<size_t>(n));
    return;
  }
  for (int64_t i = 0; i < n; ++i) z[i] = a.valid[i] ^ flip;
}

void ExprRunner::RunIsDistinct(const ExprInstruction& in) {
  const int64_t n = n_;
  const Vector& a = arg(in, 0);
  const Vector& b = arg(in, 1);
  const uint8_t* equal = arg(in, 2).as<uint8_t>();
  uint8_t* z = static_cast<uint8_t*>(data());
  out().valid = nullptr;
  for (int64_t i = 0; i < n; ++i) {
    const uint8_t va = a.valid == nullptr ? 1 : a.valid[i];
    const uint8_t vb = b.valid == nullptr ? 1 : b.valid[i];
    z[i] = (va ^ vb) | (va & vb & (equal[i] ^ 1));
  }
}

void ExprRunner::RunNullIf(const ExprInstruction& in) {
  const int64_t n = n_;
  const Vector& a = arg(in, 0);
  const Vector& equal = arg(in, 1);
  const uint8_t* is_equal = equal.as<uint8_t>();
  std::memcpy(data(), a.data, static_cast<size_t>(n_ * VectorWidth(in.type)));
  uint8_t* own = own_valid();
  for (int64_t i = 0; i < n; ++i) {
    const uint8_t va = a.valid == nullptr ? 1 : a.valid[i];
    const uint8_t ve = equal.valid == nullptr ? 1 : equal.valid[i];
    own[i] = va & ((ve & is_equal[i]) ^ 1);
  }
  out().valid = own;
}

void ExprRunner::RunBlend(const ExprInstruction& in) {
  const int64_t n = n_;
  const uint8_t* mask = arg(in, 0).as<uint8_t>();
  const Vector& a = arg(in, 1);
  const Vector& b = arg(in, 2);
  if (in.kernel != nullptr) {
    const void* args[3] = {mask, a.data, b.data};
    in.kernel(args, nullptr, data(), n_);
  } else {
    SelectAny(in.type, mask, a.data, b.data, data(), n_);
  }
  if (a.valid == nullptr && b.valid == nullptr) {
    out().valid = nullptr;
    return;
  }
  uint8_t* own = own_valid();
  for (int64_t i = 0; i < n; ++i) {
    const uint8_t va = a.valid == nullptr ? 1 : a.valid[i];
    const uint8_t vb = b.valid == nullptr ? 1 : b.valid[i];
    own[i] = mask[i] != 0 ? va : vb;
  }
  out().valid = own;
}

void ExprRunner::RunCoalesce(const ExprInstruction& in) {
  const Vector& a = arg(in, 0);
  const Vector& b = arg(in, 1);
  if (a.valid == nullptr) {
    std::memcpy(data(), a.data, static_cast<size_t>(n_ * VectorWidth(in.type)));
    out().valid = nullptr;
    return;
  }
  SelectAny(in.type, a.valid, a.data, b.data, data(), n_);
  out().valid = nullptr;
  if (b.valid == nullptr) return;
  uint8_t* own = own_valid();
  for (int64_t i = 0; i < n_; ++i) own[i] = a.valid[i] | b.valid[i];
  out().valid = own;
}

template <typename T>
void ExprRunner::PickExtreme(const Vector& a, const Vector& b, bool greatest) {
  T* z = static_cast<T*>(data());
  for (int64_t i = 0; i < n_; ++i) {
    const T x = a.as<T>()[i];
    const T y = b.as<T>()[i];
    z[i] =
        (greatest ? x < y : y < x) ? y : x;  // of equal ones, which may print otherwise, the first
  }
}

void ExprRunner::RunExtreme(const ExprInstruction& in) {
  const Vector& a = arg(in, 0);
  const Vector& b = arg(in, 1);
  if (in.kernel != nullptr) {
    const void* args[3] = {a.data, b.data, nullptr};
    in.kernel(args, nullptr, data(), n_);
  } else {
    const bool greatest = in.op == ExprOpcode::kGreatest;
    WithElementType(in.type, [&](auto zero) { PickExtreme<decltype(zero)>(a, b, greatest); });
  }
  SkipNulls(in, a, b);
}

void ExprRunner::RunMask(const ExprInstruction& in) {
  const int64_t n = n_;
  const uint8_t* outer = in.args[0] < 0 ? nullptr : arg(in, 0).as<uint8_t>();
  const Vector& c = arg(in, 1);
  const uint8_t* value = c.as<uint8_t>();
  uint8_t* z = static_cast<uint8_t*>(data());
  out().valid = nullptr;
  const auto fill = [&](auto&& test) {
    if (c.valid == nullptr && outer == nullptr) {
      for (int64_t i = 0; i < n; ++i) z[i] = test(i, 1);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t valid = c.valid == nullptr ? 1 : c.valid[i];
      z[i] = test(i, valid) & (outer == nullptr ? 1 : outer[i]);
    }
  };
  switch (in.op) {
    case ExprOpcode::kMaskTrue:
      return fill([&](int64_t i, uint8_t v) -> uint8_t { return v & value[i]; });
    case ExprOpcode::kMaskNotTrue:
      return fill([&](int64_t i, uint8_t v) -> uint8_t { return (v & value[i]) ^ 1; });
    case ExprOpcode::kMaskNull:
      return fill([&](int64_t, uint8_t v) -> uint8_t { return v ^ 1; });
    default:
      return fill([&](int64_t i, uint8_t v) -> uint8_t { return (v ^ 1) | value[i]; });
  }
}

}  // namespace adjoin
