#include "engine/types.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "engine/status.h"

namespace adjoin {
namespace {

// The rows of the enum, in its order.
struct TypeRow {
  int64_t width;
  std::string_view name;
};
constexpr TypeRow kTypes[kNumTypes] = {
    {1, "boolean"},   {2, "smallint"}, {4, "integer"},
    {8, "bigint"},    {4, "real"},     {8, "double precision"},
    {4, "text"},      {4, "date"},     {8, "timestamp without time zone"},
    {16, "interval"}, {16, "numeric"},
};

// Lays out the shortest digits as PostgreSQL does: plain from 1e-4 to below 10^max_exponent, else
// d.ddde+XX.
template <typename T>
std::string FloatToText(T value, int max_exponent) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  const char* digits = text.data() + e + 1;
  if (*digits == '+') ++digits;
  std::from_chars(digits, end, exponent);
  if (value != 0 && (exponent < -4 || exponent >= max_exponent)) return std::string(text);
  std::string mantissa;  // digits only
  std::string result;
  for (char c : text.substr(0, e)) {
    if (c == '-') {
      result = "-";
    } else if (c != '.') {
      mantissa += c;
    }
  }
  const int count = static_cast<int>(mantissa.size());
  if (exponent < 0) {
    return result + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + mantissa;
  }
  if (count <= exponent + 1) {
    return result + mantissa + std::string(static_cast<size_t>(exponent + 1 - count), '0');
  }
  mantissa.insert(static_cast<size_t>(exponent) + 1, ".");
  return result + mantissa;
}

int CompareFloats(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  return a < b ? -1 : (a > b ? 1 : 0);
}

template <typename T>
int Compare(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

double AsFloat(const Value& v) {
  return v.is_float() ? v.as_float() : static_cast<double>(v.as_int());
}

template <typename T>
void AppendBytes(const T& value, std::string& out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

}  // namespace

int64_t WidthOf(TypeId type) { return kTypes[static_cast<int>(type)].width; }
IntegerRange RangeOf(TypeId integer) {
  switch (integer) {
    case TypeId::kInt16:
      return {INT16_MIN, INT16_MAX};
    case TypeId::kInt32:
      return {INT32_MIN, INT32_MAX};
    default:
      return {INT64_MIN, INT64_MAX};
  }
}

std::string_view TypeName(TypeId type) { return kTypes[static_cast<int>(type)].name; }

bool operator==(const Value& a, const Value& b) {
  if (a.is_float() && b.is_float()) {
    return std::bit_cast<uint64_t>(a.as_float()) == std::bit_cast<uint64_t>(b.as_float());
  }
  if (a.is_interval() && b.is_interval()) {
    const Interval x = a.as_interval(), y = b.as_interval();
    return x.microseconds == y.microseconds && x.days == y.days && x.months == y.months;
  }
  if (a.is_decimal() && b.is_decimal()) return a.as_decimal().bits() == b.as_decimal().bits();
  return a.rep_ == b.rep_;
}

std::string Value::Identity() const {
  std::string key(1, static_cast<char>(rep_.index()));
  if (is_bool()) key += as_bool() ? '1' : '0';
  if (is_int()) AppendBytes(as_int(), key);
  if (is_float()) AppendBytes(as_float(), key);
  if (is_text()) key += as_text();
  if (is_interval()) {
    AppendBytes(as_interval().microseconds, key);
    AppendBytes(as_interval().days, key);
    AppendBytes(as_interval().months, key);
  }
  if (is_decimal()) AppendBytes(as_decimal(), key);
  return key;
}

std::string ToText(const Value& value, TypeId type) {
  if (value.is_null()) return "";
  if (value.is_bool()) return value.as_bool() ? "t" : "f";
  if (value.is_text()) return value.as_text();
  if (value.is_interval()) return ToText(value.as_interval());
  if (value.is_decimal()) return ToText(value.as_decimal());
  if (type == TypeId::kDate) return ToText(Date{static_cast<int32_t>(value.as_int())});
  if (type == TypeId::kTimestamp) return ToText(Timestamp{value.as_int()});
  if (value.is_int() && !IsFloat(type)) return std::to_string(value.as_int());
  if (type == TypeId::kFloat32) return FloatToText(static_cast<float>(AsFloat(value)), 6);
  return FloatToText(AsFloat(value), 15);
}

int CompareValues(const Value& a, const Value& b) {
  ADJOIN_DCHECK(!a.is_null() && !b.is_null());
  if (a.is_bool()) return Compare(a.as_bool(), b.as_bool());
  if (a.is_text()) return Compare(std::string_view(a.as_text()), std::string_view(b.as_text()));
  if (a.is_int() && b.is_int()) return Compare(a.as_int(), b.as_int());
  if (a.is_interval()) return Compare(a.as_interval(), b.as_interval());
  if (a.is_decimal()) return Compare(a.as_decimal(), b.as_decimal());
  return CompareFloats(AsFloat(a), AsFloat(b));
}

}  // namespace adjoin
