#include "sql/bind_series.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_expr.h"
#include "sql/bind_query.h"

namespace adjoin {
namespace {

// A series that is no column of integers: its values by their numbers.
absl::StatusOr<NodeRef> BindSteps(BindState& state, std::vector<Typed> args, TypeId type,
                                  TypeId step_type, int location) {
  if (args.size() == 2)
    args.push_back({ConstantExpr(Value::Int(1), TypeId::kInt32), false, location});
  std::vector<ExprRef> exprs;
  for (size_t i = 0; i < args.size(); ++i) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef expr, Coerce(state, args[i], i < 2 ? type : step_type));
    exprs.push_back(std::move(expr));
  }
  const auto number = [](int64_t v) { return ConstantExpr(Value::Int(v), TypeId::kInt64); };
  ADJOIN_ASSIGN_OR_RETURN(ExprRef size, ResolveCall("series_size", exprs));
  ADJOIN_ASSIGN_OR_RETURN(ExprRef last, ResolveCall("-", {std::move(size), number(1)}));
  const NodeRef numbers = state.planner.Make(Series{number(0), std::move(last), number(1)}, {});
  ADJOIN_ASSIGN_OR_RETURN(
      ExprRef value, ResolveCall("series_at", {exprs[0], exprs[2], ColumnExpr(0, TypeId::kInt64)}));
  return MakeProject(state.planner, {std::move(value)}, numbers, {"generate_series"});
}

}  // namespace

absl::StatusOr<NodeRef> BindSeries(BindState& state, const Json& call, Level& level) {
  const int location = LocationOf(call);
  const Names no_names;
  const Context context{&level, &no_names, Clause::kFromFunction};
  std::vector<Typed> args;
  for (const Json& arg : ListOf(call, "args")) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, arg, context));
    args.push_back(std::move(value));
  }
  if (args.size() < 2 || args.size() > 3) {
    return state.Error(sqlstate::kUndefinedFunction,
                       "function generate_series with these arguments does not exist", location);
  }
  const auto is_moment = [](const Typed& t) {
    return !t.unknown && (t.expr->type == TypeId::kDate || t.expr->type == TypeId::kTimestamp);
  };
  if (args.size() == 3 && (is_moment(args[0]) || is_moment(args[1])))
    return BindSteps(state, args, TypeId::kTimestamp, TypeId::kInterval, location);
  ADJOIN_ASSIGN_OR_RETURN(const CommonTyping common, CommonTypeOf(state, args, "generate_series"));
  if (common.written || common.type == TypeId::kDecimal)
    return BindSteps(state, args, TypeId::kDecimal, TypeId::kDecimal, location);
  TypeId type = common.type;
  if (common.open || type == TypeId::kInt16) type = TypeId::kInt32;
  if (!IsInteger(type)) {
    return state.NotSupported(absl::StrCat("generate_series of type ", std::string(TypeName(type))),
                              location);
  }
  std::vector<ExprRef> exprs;
  for (const Typed& arg : args) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef expr, Coerce(state, arg, type));
    exprs.push_back(std::move(expr));
  }
  if (exprs.size() == 2) exprs.push_back(ConstantExpr(Value::Int(1), type));
  return state.planner.Make(Series{exprs[0], exprs[1], exprs[2]}, {});
}

}  // namespace adjoin
