#include "sql/bind_call.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "plan/row_functions.h"
#include "sql/bind_aggregate.h"
#include "sql/bind_clock.h"
#include "sql/bind_expr.h"
#include "sql/bind_gradient.h"
#include "sql/bind_window.h"

namespace adjoin {
namespace {

// Functions that PostgreSQL has and the engine lacks; any other unknown name does not exist.
constexpr std::string_view kLacking[] = {
    "array_agg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "json_agg",
    "jsonb_agg",
    "random",
    "setseed",
    "regexp_matches",
    "regexp_match",
    "regexp_split_to_array",
    "regexp_split_to_table",
    "string_to_array",
    "array_to_string",
    "encode",
    "decode",
    "overlaps",
    "timeofday",
    "generate_series",
    "unnest",
    "gamma",
    "lgamma",
};

bool IsLacking(std::string_view name) {
  return std::find(std::begin(kLacking), std::end(kLacking), name) != std::end(kLacking);
}

absl::StatusOr<ExprRef> BindScalarFunction(BindState& state, const std::string& name,
                                           const Json& body, const Context& context) {
  const int location = LocationOf(body);
  if (FlagOf(body, "agg_star")) return NoSuchFunction(state, name, {}, location);
  std::vector<Typed> args;
  for (const Json& arg : ListOf(body, "args")) {
    if (Unwrap(arg).tag == "NamedArgExpr") return state.NotSupported("a named argument", location);
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, arg, context));
    args.push_back(std::move(value));
  }
  if (name == "to_char" && !args.empty()) {  // the text of 1.005 is of what is written
    if (const ExprRef exact = state.ExactOf(args[0].expr)) args[0].expr = exact;
  }
  if (name == "age" && args.size() == 1) {  // up to today
    ADJOIN_ASSIGN_OR_RETURN(ExprRef today, CurrentDate(state));
    args.insert(args.begin(), {std::move(today), false, location});
  }
  while (name == "make_interval" && args.size() < 7)  // what is left out is 0
    args.push_back({ConstantExpr(Value::Int(0), TypeId::kInt32), false, location});
  // PostgreSQL prefers double precision for an argument whose type is open; text functions take
  // text.
  const bool all_open =
      std::all_of(args.begin(), args.end(), [](const Typed& t) { return t.unknown; });
  const bool of_rows = IsRowFunction(name) && FindFunction(name) == nullptr;
  for (Typed& arg : args) {
    if (!all_open || of_rows || IsTextSpelling(name) || name == "stop_gradient") break;
    ADJOIN_ASSIGN_OR_RETURN(arg.expr, Coerce(state, arg, TypeId::kFloat64));
    arg.unknown = false;
  }
  ADJOIN_ASSIGN_OR_RETURN(ExprRef call, ResolveTyped(state, name, std::move(args), location));
  const std::string_view clause = FlagOf(body, "agg_distinct") ? "DISTINCT"
                                  : Has(body, "agg_filter")    ? "FILTER"
                                                               : "";
  if (clause.empty()) return call;
  return state.Error(
      sqlstate::kWrongObjectType,
      absl::StrCat(ToAbsl(clause), " specified, but ", name, " is not an aggregate function"),
      location);
}

}  // namespace

bool IsTextSpelling(std::string_view name) {
  constexpr std::string_view kSpellings[] = {"concat",    "concat_ws",    "overlay",       "format",
                                             "num_nulls", "num_nonnulls", "quote_nullable"};
  return std::ranges::find(kSpellings, name) != std::end(kSpellings);
}

absl::Status NoSuchFunction(BindState& state, std::string_view name, const std::vector<Typed>& args,
                            int location) {
  std::string types;
  for (const Typed& arg : args) {
    absl::StrAppend(&types, types.empty() ? "" : ", ",
                    arg.unknown ? "unknown" : ToAbsl(TypeName(arg.expr->type)));
  }
  return state.ErrorWithDetail(
      sqlstate::kUndefinedFunction,
      absl::StrCat("function ", ToAbsl(name), "(", types, ") does not exist"), "",
      "No function matches the given name and argument types. You might need to add explicit type "
      "casts.",
      location);
}

absl::StatusOr<ExprRef> BindCall(BindState& state, const Json& body, const Context& context) {
  const Json& path = ListOf(body, "funcname");
  const std::string name = LastName(path);
  const int location = LocationOf(body);
  if (path.size() > 1 && StringValue(path[0]) != "pg_catalog" && StringValue(path[0]) != "public") {
    return NoSuchFunction(state, absl::StrCat(StringValue(path[0]), ".", name), {}, location);
  }
  if (FlagOf(body, "func_variadic")) return state.NotSupported("VARIADIC", location);
  if (IsGradientCall(name)) return BindGradientCall(state, name, body, context);
  if (Has(body, "over")) return BindWindowCall(state, name, body, context);
  if (IsAggregate(name)) return BindAggregate(state, name, body, context);
  if (IsWindowFunction(name)) {
    return state.Error(sqlstate::kWrongObjectType,
                       absl::StrCat("window function ", name, " requires an OVER clause"),
                       location);
  }
  if (IsClockFunction(name)) return BindClockFunction(state, name, body, context);
  if (FindFunction(name) == nullptr && IsLacking(name)) {
    return state.NotSupported(absl::StrCat("function ", name), location);
  }
  return BindScalarFunction(state, name, body, context);
}

}  // namespace adjoin
