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
    {"bool", TypeId::kBool},      {"int2", TypeId::kInt16},     {"smallint", TypeId::kInt16},
    {"int4", TypeId::kInt32},     {"integer", TypeId::kInt32},  {"int8", TypeId::kInt64},
    {"bigint", TypeId::kInt64},   {"float4", TypeId::kFloat32}, {"real", TypeId::kFloat32},
    {"float8", TypeId::kFloat64}, {"text", TypeId::kText},      {"varchar", TypeId::kText},
    {"boolean", TypeId::kBool},
};

// PostgreSQL's name of the type and the one people write, where the engine has no such type.
struct Lacking {
  std::string_view name, spelled;
};
constexpr Lacking kLacking[] = {
    {"numeric", "numeric"},
    {"date", "date"},
    {"time", "time"},
    {"timetz", "time with time zone"},
    {"timestamp", "timestamp"},
    {"interval", "interval"},
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
    if (!ListOf(type_name, "typmods").empty()) return lacking("character varying with a length");
    return t.type;
  }
  for (const Lacking& t : kLacking) {
    if (t.name == name) return lacking(t.spelled);
  }
  return SqlError(sqlstate::kUndefinedObject, absl::StrCat("type \"", name, "\" does not exist"),
                  position);
}

}  // namespace adjoin
