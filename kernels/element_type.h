// The scalar types that kernels and columns hold. Kernels know nothing else of the engine.
#pragma once

#include <cstdint>

namespace adjoin {

// DATE is int32_t days, TIMESTAMP int64_t microseconds (engine/date_time.h): they compare as those
// integers.
enum class TypeId : uint8_t {
  kBool,
  kInt16,
  kInt32,
  kInt64,
  kFloat32,
  kFloat64,
  kText,
  kDate,
  kTimestamp,
  kInterval,
  kDecimal
};
inline constexpr int kNumTypes = 11;

// What went wrong in some active row of a scalar kernel. The caller words the error by the result's
// type.
enum class ScalarError : uint8_t {
  kNone,
  kOverflow,        // the result does not fit its type: SQLSTATE 22003
  kDivisionByZero,  // integer division or remainder by zero: SQLSTATE 22012
  kInvalidText,     // text that is not a value of the target type: SQLSTATE 22P02
  kDomain,          // an argument outside a function's domain, which IEEE has no value for
};

}  // namespace adjoin
