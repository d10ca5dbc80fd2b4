// Scalar functions that C++ computes row by row: of text, dates, intervals and NUMERIC. Such a
// function is an ordinary one, `int32_t Length(std::string_view)`, and its SQL signature is read
// off its type: kRowFunction<Length>.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "engine/types.h"
#include "ops/arena.h"
#include "ops/vector.h"

namespace adjoin {

// One call over `n` rows. Row i counts where active[i] != 0 (null: everywhere); other rows get any
// readable value.
struct RowCall {
  const Vector* const* args;
  const uint8_t* active;
  int64_t n;
  BatchArena& text;  // holds text that is made
  void* out;         // elements of a Vector of the result's type
  uint8_t* valid;    // of a nullable function: where the result is not NULL; may be `active`
  // What the function keeps from call to call of one place in an expression, on one thread; empty
  // at first.
  std::shared_ptr<void>& kept;
};

// NULL in, NULL out.
struct RowFunction {
  static constexpr int kMaxArgs = 7;
  TypeId result;
  int num_args;
  TypeId args[kMaxArgs];
  bool can_raise;
  bool nullable;  // gives NULL for some arguments that are not
  absl::Status (*run)(const RowCall& call);
};

// The SQL type that a C++ type stands for, and what it is in a Vector.
template <TypeId kType, typename T>
struct SqlTypeIs {
  static constexpr TypeId kId = kType;
  using Element = T;
};
template <typename T>
struct SqlType;
template <>
struct SqlType<bool> : SqlTypeIs<TypeId::kBool, uint8_t> {};
template <>
struct SqlType<int16_t> : SqlTypeIs<TypeId::kInt16, int16_t> {};
template <>
struct SqlType<int32_t> : SqlTypeIs<TypeId::kInt32, int32_t> {};
template <>
struct SqlType<int64_t> : SqlTypeIs<TypeId::kInt64, int64_t> {};
template <>
struct SqlType<float> : SqlTypeIs<TypeId::kFloat32, float> {};
template <>
struct SqlType<double> : SqlTypeIs<TypeId::kFloat64, double> {};
template <>
struct SqlType<std::string_view> : SqlTypeIs<TypeId::kText, std::string_view> {};
template <>
struct SqlType<Date> : SqlTypeIs<TypeId::kDate, Date> {};
template <>
struct SqlType<Timestamp> : SqlTypeIs<TypeId::kTimestamp, Timestamp> {};
template <>
struct SqlType<Interval> : SqlTypeIs<TypeId::kInterval, Interval> {};
template <>
struct SqlType<Decimal> : SqlTypeIs<TypeId::kDecimal, Decimal> {};

namespace row_function_internal {

template <typename T>
struct Unwrapped {
  using Type = T;
  static constexpr bool kFails = false, kNullable = false;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using Type = T;
  static constexpr bool kFails = false, kNullable = true;
};
template <typename T>
struct Unwrapped<absl::StatusOr<T>> {
  using Type = typename Unwrapped<T>::Type;
  static constexpr bool kFails = true, kNullable = Unwrapped<T>::kNullable;
};

// Elements are read and written as bytes: a column holds a Date as the int32_t that it is.
template <typename T>
T ReadElement(const Vector& from, int64_t row) {
  typename SqlType<T>::Element element;
  std::memcpy(&element, static_cast<const char*>(from.data) + row * int64_t{sizeof(element)},
              sizeof(element));
  return static_cast<T>(element);
}
template <typename T>
void WriteElement(const RowCall& call, int64_t row, const T& value) {
  const auto element = static_cast<typename SqlType<T>::Element>(value);
  std::memcpy(static_cast<char*>(call.out) + row * int64_t{sizeof(element)}, &element,
              sizeof(element));
}

template <typename R>
absl::Status Store(const RowCall& call, int64_t row, R&& result) {
  using Wrapped = Unwrapped<std::remove_cvref_t<R>>;
  if constexpr (Wrapped::kFails) {
    if (!result.ok()) return std::forward<R>(result).status();
    return Store(call, row, *std::forward<R>(result));
  } else if constexpr (Wrapped::kNullable) {
    call.valid[row] = result.has_value() ? 1 : 0;
    WriteElement(call, row, result.value_or(typename Wrapped::Type{}));
    return absl::OkStatus();
  } else {
    WriteElement(call, row, result);
    return absl::OkStatus();
  }
}

template <typename R, typename... A, typename F, size_t... I>
absl::Status RunRows(const RowCall& call, F& f, std::index_sequence<I...>) {
  using Wrapped = Unwrapped<R>;
  for (int64_t row = 0; row < call.n; ++row) {
    if (call.active != nullptr && call.active[row] == 0) {
      WriteElement(call, row, typename Wrapped::Type{});
      if constexpr (Wrapped::kNullable) call.valid[row] = 0;
      continue;
    }
    absl::Status status = Store(call, row, f(ReadElement<A>(*call.args[I], row)...));
    if constexpr (Wrapped::kFails) {
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace row_function_internal

// Calls f(arguments), which gives an R, in every row that counts: the `run` of a function that
// keeps something over a batch.
template <typename R, typename... A, typename F>
absl::Status RunRows(const RowCall& call, F&& f) {
  return row_function_internal::RunRows<R, A...>(call, f, std::index_sequence_for<A...>());
}
// What is kept, made when there is nothing yet. A function asks for one type alone.
template <typename T>
T& Kept(const RowCall& call) {
  if (call.kept == nullptr) call.kept = std::make_shared<T>();
  return *static_cast<T*>(call.kept.get());
}
template <typename R, typename... A>
constexpr RowFunction RowSignature(absl::Status (*run)(const RowCall&)) {
  using Wrapped = row_function_internal::Unwrapped<R>;
  static_assert(sizeof...(A) <= RowFunction::kMaxArgs);
  return {SqlType<typename Wrapped::Type>::kId,
          sizeof...(A),
          {SqlType<A>::kId...},
          Wrapped::kFails,
          Wrapped::kNullable,
          run};
}

namespace row_function_internal {

template <auto kFunction, typename R, typename... A>
constexpr RowFunction Make(R (*)(A...)) {
  return RowSignature<R, A...>(
      [](const RowCall& call) { return adjoin::RunRows<R, A...>(call, kFunction); });
}
template <auto kFunction, typename R, typename... A>
constexpr RowFunction Make(R (*)(BatchArena&, A...)) {
  return RowSignature<R, A...>([](const RowCall& call) {
    return adjoin::RunRows<R, A...>(call,
                                    [&call](A... args) { return kFunction(call.text, args...); });
  });
}

}  // namespace row_function_internal

// `kFunction` takes values of the types of SqlType, after a BatchArena& where it makes text, and
// returns one of them, or a StatusOr or std::optional (nothing: NULL) of one.
template <auto kFunction>
inline constexpr RowFunction kRowFunction = row_function_internal::Make<kFunction>(kFunction);

}  // namespace adjoin
