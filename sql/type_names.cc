#include "sql/type_names.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/parse.h"

namespace adjoin {
namespace {

struct Named {
  std::string_view name;
  TypeId type;
};
constexpr Named kTypes[] = {
    {"bool", TypeId::kBool},           {"int2", TypeId::kInt16},
    {"smallint", TypeId::kInt16},      {"int4", TypeId::kInt32},
    {"integer", TypeId::kInt32},       {"int8", TypeId::kInt64},
    {"bigint", TypeId::kInt64},        {"float4", TypeId::kFloat32},
    {"real", TypeId::kFloat32},        {"float8", TypeId::kFloat64},
    {"text", TypeId::kText},           {"varchar", TypeId::kText},
    {"boolean", TypeId::kBool},        {"date", TypeId::kDate},
    {"timestamp", TypeId::kTimestamp}, {"interval", TypeId::kInterval},
    {"numeric", TypeId::kDecimal},     {"decimal", TypeId::kDecimal},
};

// PostgreSQL's name of the type and the one people write, where the engine has no such type.
struct Lacking {
  std::string_view name, spelled;
};
constexpr Lacking kLacking[] = {
    {"time", "time"},
    {"timetz", "time with time zone"},
    {"timestamptz", "timestamp with time zone"},
    {"bpchar", "character"},
    {"char", "\"char\""},
    {"bytea", "bytea"},
    {"json", "json"},
    {"jsonb", "jsonb"},
    {"uuid", "uuid"},
    {"bit", "bit"},
    {"varbit", "bit varying"},
    {"money", "money"},
    {"oid", "oid"},
    {"name", "name"},
    {"xml", "xml"},
    {"serial", "serial"},
    {"bigserial", "bigserial"},
    {"smallserial", "smallserial"},
    {"point", "point"},
    {"inet", "inet"},
    {"regclass", "regclass"},
};

}  // namespace

absl::StatusOr<TypeId> TypeNamed(const Json& type_name, std::string_view text) {
  const std::string name = LastName(ListOf(type_name, "names"));
  const int position = CharacterPosition(text, LocationOf(type_name));
  const auto lacking = [&](std::string_view what) {
    return SqlError(sqlstate::kFeatureNotSupported,
                    ToStd(absl::StrCat("type ", ToAbsl(what), " is not supported")), position);
  };
  if (!ListOf(type_name, "arrayBounds").empty()) return lacking(name + "[]");
  if (FlagOf(type_name, "setof")) return lacking("SETOF " + name);
  for (const Named& t : kTypes) {
    if (t.name != name) continue;
    if (!ListOf(type_name, "typmods").empty() && t.type != TypeId::kDecimal) {
      return lacking(t.type == TypeId::kText ? "character varying with a length"
                                             : absl::StrCat(ToAbsl(t.name), " with a precision"));
    }
    return t.type;
  }
  for (const Lacking& t : kLacking) {
    if (t.name == name) return lacking(t.spelled);
  }
  return SqlError(sqlstate::kUndefinedObject, absl::StrCat("type \"", name, "\" does not exist"),
                  position);
}

absl::StatusOr<NumericModifier> ModifierOf(const Json& type_name, std::string_view text) {
  const Json& typmods = ListOf(type_name, "typmods");
  const std::string name = LastName(ListOf(type_name, "names"));
  if (typmods.empty() || (name != "numeric" && name != "decimal")) return NumericModifier();
  const int position = CharacterPosition(text, LocationOf(type_name));
  const auto error = [&](std::string_view state, std::string_view message) {
    return SqlError(state, message, position);
  };
  int64_t numbers[2] = {0, 0};
  for (size_t i = 0; i < typmods.size(); ++i) {
    const auto [tag, constant] = Unwrap(typmods[i]);
    if (i > 1 || tag != "A_Const" || !Has(*constant, "ival"))
      return error(sqlstate::kInvalidParameterValue, "invalid NUMERIC type modifier");
    numbers[i] = NumberOf(FieldOf(*constant, "ival"), "ival");
  }
  const auto [precision, scale] = numbers;
  if (precision < 1 || precision > 1000) {
    return error(sqlstate::kInvalidParameterValue,
                 absl::StrCat("NUMERIC precision ", precision, " must be between 1 and 1000"));
  }
  if (scale < -1000 || scale > 1000) {
    return error(sqlstate::kInvalidParameterValue,
                 absl::StrCat("NUMERIC scale ", scale, " must be between -1000 and 1000"));
  }
  if (precision > NumericModifier::kMaxPrecision || scale < 0 || scale > precision) {
    return error(sqlstate::kFeatureNotSupported,
                 absl::StrCat("type numeric(", precision, ",", scale, ") is not supported"));
  }
  return NumericModifier{static_cast<int16_t>(precision), static_cast<int16_t>(scale)};
}

std::optional<IntervalFields> IntervalFieldsOf(const Json& type_name) {
  const Json& typmods = ListOf(type_name, "typmods");
  if (typmods.size() != 1) return std::nullopt;
  const auto [tag, constant] = Unwrap(typmods[0]);
  if (tag != "A_Const" || !Has(*constant, "ival")) return std::nullopt;
  const int64_t mask = NumberOf(FieldOf(*constant, "ival"), "ival");
  constexpr int kBits[] = {2, 1, 3, 10, 11, 12};  // PostgreSQL's, in the order of IntervalField
  std::optional<IntervalFields> out;
  for (int i = 0; i < static_cast<int>(std::size(kBits)); ++i) {
    if ((mask >> kBits[i] & 1) == 0) continue;
    const auto field = static_cast<IntervalField>(i);
    out = IntervalFields{out.has_value() ? out->first : field, field};
  }
  return out;
}

}  // namespace adjoin
