#include "sql/bind_clock.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/bind_call.h"
#include "sql/bind_expr.h"

namespace adjoin {
namespace {

struct ClockFunction {
  std::string_view name;
  ClockTime time;
};
constexpr ClockFunction kFunctions[] = {{"now", ClockTime::kTransaction},
                                        {"transaction_timestamp", ClockTime::kTransaction},
                                        {"statement_timestamp", ClockTime::kStatement},
                                        {"clock_timestamp", ClockTime::kRun}};

const ClockFunction* Find(std::string_view name) {
  const auto* it = std::ranges::find(kFunctions, name, &ClockFunction::name);
  return it == std::end(kFunctions) ? nullptr : it;
}

}  // namespace

bool IsClockFunction(std::string_view name) { return Find(name) != nullptr; }

absl::StatusOr<ExprRef> BindClockFunction(BindState& state, std::string_view name, const Json& body,
                                          const Context& context) {
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<Typed> args,
                          BindList(state, ListOf(body, "args"), context));
  if (!args.empty()) return NoSuchFunction(state, name, args, LocationOf(body));
  return state.Clock(Find(name)->time);
}

absl::StatusOr<ExprRef> BindClockKeyword(BindState& state, const Json& body) {
  const std::string op = TextOf(body, "op");
  if (op == "SVFOP_CURRENT_DATE") return CurrentDate(state);
  const bool is_stamp =
      op.starts_with("SVFOP_CURRENT_TIMESTAMP") || op.starts_with("SVFOP_LOCALTIMESTAMP");
  if (!is_stamp) {
    const bool is_time = op.starts_with("SVFOP_CURRENT_TIME") || op.starts_with("SVFOP_LOCALTIME");
    return state.NotSupported(is_time ? "the current time of day" : "the current user or schema",
                              LocationOf(body));
  }
  ADJOIN_ASSIGN_OR_RETURN(ExprRef stamp, state.Clock(ClockTime::kTransaction));
  if (!op.ends_with("_N")) return stamp;
  const ExprRef digits = ConstantExpr(Value::Int(NumberOf(body, "typmod")), TypeId::kInt32);
  return ResolveCall("timestamp", {std::move(stamp), digits});
}

absl::StatusOr<ExprRef> CurrentDate(BindState& state) {
  ADJOIN_ASSIGN_OR_RETURN(ExprRef stamp, state.Clock(ClockTime::kTransaction));
  return ResolveCast(std::move(stamp), TypeId::kDate);
}

}  // namespace adjoin
