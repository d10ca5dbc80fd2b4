#include "sql/api_types.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "engine/status.h"

namespace adjoin::api {

adjoin::Value ToEngine(const Value& value) {
  if (const auto* v = std::get_if<bool>(&value)) return adjoin::Value::Bool(*v);
  if (const auto* v = std::get_if<int64_t>(&value)) return adjoin::Value::Int(*v);
  if (const auto* v = std::get_if<double>(&value)) return adjoin::Value::Float(*v);
  if (const auto* v = std::get_if<std::string>(&value)) return adjoin::Value::Text(*v);
  return adjoin::Value();
}

Value FromEngine(const adjoin::Value& value, TypeId type) {
  if (!value.is_null() && !IsArrayType(type)) return ToText(value, type);
  if (value.is_bool()) return value.as_bool();
  if (value.is_int()) return value.as_int();
  if (value.is_float()) return value.as_float();
  return std::monostate();
}

Field FromEngine(const adjoin::Field& field) {
  return {field.name, FromEngine(field.type), field.not_null, field.modifier.precision,
          field.modifier.scale};
}

Schema FromEngine(const adjoin::Schema& schema) {
  Schema out;
  for (const adjoin::Field& field : schema.fields) out.fields.push_back(FromEngine(field));
  out.dims = schema.dims;
  return out;
}

absl::StatusOr<adjoin::Schema> ToEngine(const Schema& schema) {
  adjoin::Schema out;
  std::set<std::string_view> names;
  for (const Field& field : schema.fields) {
    if (!names.insert(field.name).second) {
      return SqlError(sqlstate::kDuplicateColumn,
                      absl::StrCat("column \"", field.name, "\" specified more than once"));
    }
    const bool is_modifier = field.precision >= 0 && field.scale >= 0 &&
                             field.precision <= NumericModifier::kMaxPrecision &&
                             field.scale <= field.precision;
    if (!is_modifier) {
      return SqlError(sqlstate::kInvalidParameterValue,
                      absl::StrCat("column \"", field.name, "\" of type numeric(", field.precision,
                                   ",", field.scale, ")"));
    }
    const NumericModifier modifier{static_cast<int16_t>(field.precision),
                                   static_cast<int16_t>(field.scale)};
    out.fields.push_back({field.name, ToEngine(field.type), field.not_null, modifier});
  }
  for (int dim : schema.dims) {
    if (dim < 0 || dim >= static_cast<int>(out.fields.size())) {
      return SqlError(sqlstate::kInvalidParameterValue, absl::StrCat("a dim is no column: ", dim));
    }
    out.fields[static_cast<size_t>(dim)].not_null = true;
  }
  out.dims = schema.dims;
  return out;
}

}  // namespace adjoin::api
