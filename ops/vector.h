// A run of values of one type, borrowed: what expressions compute on and batches are made of.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/date_time.h"
#include "engine/decimal.h"
#include "kernels/element_type.h"

namespace adjoin {

class Column;

// Bytes of one element of a Vector: BOOLEAN is uint8_t 0 or 1, TEXT is std::string_view.
constexpr int64_t VectorWidth(TypeId type) {
  switch (type) {
    case TypeId::kBool:
      return 1;
    case TypeId::kInt16:
      return 2;
    case TypeId::kInt32:
    case TypeId::kFloat32:
    case TypeId::kDate:
      return 4;
    case TypeId::kInt64:
    case TypeId::kFloat64:
    case TypeId::kTimestamp:
      return 8;
    case TypeId::kInterval:
      return sizeof(Interval);
    case TypeId::kDecimal:
      return sizeof(Decimal);
    case TypeId::kText:
      return sizeof(std::string_view);
  }
  return 0;
}

// Borrows `data` (elements) and `valid` (one byte a row, 0 is NULL; null: no NULLs). The value
// under a NULL is unspecified but readable, also as text.
struct Vector {
  TypeId type = TypeId::kBool;
  const void* data = nullptr;
  const uint8_t* valid = nullptr;
  // TEXT that was read from a column: the values' codes in its dictionary, readable also under a
  // NULL; `data` may be null then (see WithViews). Null for text that was computed.
  const int32_t* codes = nullptr;
  const Column* column = nullptr;

  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
  bool is_null(int64_t row) const { return valid != nullptr && valid[row] == 0; }
};

// Calls f with a value of the C++ type of elements of `type`: WithElementType(t, [&](auto zero) {
// ... }).
template <typename F>
decltype(auto) WithElementType(TypeId type, F&& f) {
  switch (type) {
    case TypeId::kBool:
      return f(uint8_t{});
    case TypeId::kInt16:
      return f(int16_t{});
    case TypeId::kInt32:
    case TypeId::kDate:
      return f(int32_t{});
    case TypeId::kInt64:
    case TypeId::kTimestamp:
      return f(int64_t{});
    case TypeId::kFloat32:
      return f(float{});
    case TypeId::kFloat64:
      return f(double{});
    case TypeId::kText:
      return f(std::string_view{});
    case TypeId::kInterval:
      return f(Interval{});
    case TypeId::kDecimal:
      return f(Decimal{});
  }
  __builtin_unreachable();
}

// A std::string_view, an Interval or a Decimal that is moved without looking into it.
struct [[gnu::may_alias]] SixteenBytes {
  uint64_t words[2];
};

// The same of elements that are moved, never looked into: calls f with what has their width.
template <typename F>
void WithWidth(int64_t width, F&& f) {
  switch (width) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(SixteenBytes{});
  }
}

}  // namespace adjoin
