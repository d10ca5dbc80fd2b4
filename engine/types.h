// SQL's view of the scalar types: names, families, and single values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "engine/date_time.h"
#include "engine/decimal.h"
#include "kernels/element_type.h"

namespace adjoin {

constexpr bool IsInteger(TypeId t) { return t >= TypeId::kInt16 && t <= TypeId::kInt64; }
constexpr bool IsFloat(TypeId t) { return t == TypeId::kFloat32 || t == TypeId::kFloat64; }
constexpr bool IsNumeric(TypeId t) { return IsInteger(t) || IsFloat(t) || t == TypeId::kDecimal; }
// BOOLEAN and numbers of machine words: what arrays hold and kernels calculate with.
constexpr bool IsArrayType(TypeId t) { return t == TypeId::kBool || IsInteger(t) || IsFloat(t); }

struct IntegerRange {
  int64_t low, high;
};
IntegerRange RangeOf(TypeId integer);

// Bytes of one element in a buffer; TEXT elements are 32-bit dictionary codes, BOOLEAN one byte (0
// or 1), INTERVAL an Interval, NUMERIC a Decimal.
int64_t WidthOf(TypeId type);

// PostgreSQL's name: "boolean", "double precision", "timestamp without time zone", ...
std::string_view TypeName(TypeId type);

// One SQL value; monostate is NULL. SMALLINT, INTEGER and BIGINT are held as int64_t, as are the
// days of a DATE and the microseconds of a TIMESTAMP; REAL and DOUBLE as double.
class Value {
 public:
  Value() = default;  // NULL
  static Value Bool(bool v) { return Value(Rep(v)); }
  static Value Int(int64_t v) { return Value(Rep(v)); }
  static Value Float(double v) { return Value(Rep(v)); }
  static Value Text(std::string v) { return Value(Rep(std::move(v))); }
  static Value Of(Interval v) { return Value(Rep(v)); }
  static Value Of(Decimal v) { return Value(Rep(v)); }

  bool is_null() const { return std::holds_alternative<std::monostate>(rep_); }
  bool as_bool() const { return std::get<bool>(rep_); }
  int64_t as_int() const { return std::get<int64_t>(rep_); }
  double as_float() const { return std::get<double>(rep_); }
  const std::string& as_text() const { return std::get<std::string>(rep_); }
  Interval as_interval() const { return std::get<Interval>(rep_); }
  Decimal as_decimal() const { return std::get<Decimal>(rep_); }
  bool is_bool() const { return std::holds_alternative<bool>(rep_); }
  bool is_int() const { return std::holds_alternative<int64_t>(rep_); }
  bool is_float() const { return std::holds_alternative<double>(rep_); }
  bool is_text() const { return std::holds_alternative<std::string>(rep_); }
  bool is_interval() const { return std::holds_alternative<Interval>(rep_); }
  bool is_decimal() const { return std::holds_alternative<Decimal>(rep_); }

  // Bitwise identity (NaN equals NaN, 0 differs from -0, 1 mon from 30 days, 1.1 from 1.10): for
  // hash-consing, not SQL's `=`.
  friend bool operator==(const Value& a, const Value& b);
  std::string Identity() const;  // equal where values are
  template <typename H>
  friend H AbslHashValue(H h, const Value& v) {
    return H::combine(std::move(h), v.Identity());
  }

 private:
  using Rep = std::variant<std::monostate, bool, int64_t, double, std::string, Interval, Decimal>;
  explicit Value(Rep rep) : rep_(std::move(rep)) {}
  Rep rep_;
};

// PostgreSQL's text form of a value: t/f, shortest round-trip floats ("1", "0.1", "1e+120", "NaN",
// "Infinity"), ISO dates. NULL gives "". REAL prints as the shortest text that reads back as the
// same float.
std::string ToText(const Value& value, TypeId type);

// SQL's total order of non-NULL values of one type: NaN above everything, 0 equal to -0, text by
// bytes.
int CompareValues(const Value& a, const Value& b);

}  // namespace adjoin
