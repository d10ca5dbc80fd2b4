#include "sql/bind_window.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_call.h"
#include "sql/bind_expr.h"

namespace adjoin {
namespace {

constexpr std::string_view kWindowingError = sqlstate::kWindowingError;

struct NamedWindowFunction {
  std::string_view name;
  WindowFunction function;
  size_t least_args, most_args;
};
constexpr NamedWindowFunction kFunctions[] = {
    {"row_number", WindowFunction::kRowNumber, 0, 0},
    {"rank", WindowFunction::kRank, 0, 0},
    {"dense_rank", WindowFunction::kDenseRank, 0, 0},
    {"lag", WindowFunction::kLag, 1, 3},
    {"lead", WindowFunction::kLead, 1, 3},
    {"first_value", WindowFunction::kFirstValue, 1, 1},
    {"last_value", WindowFunction::kLastValue, 1, 1},
};
constexpr std::string_view kLacking[] = {"ntile", "percent_rank", "cume_dist", "nth_value"};

const NamedWindowFunction* FindWindowFunction(std::string_view name) {
  for (const NamedWindowFunction& f : kFunctions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

// PostgreSQL's frame options, as bits (nodes/parsenodes.h).
enum FrameBits : int64_t {
  kNonDefault = 0x1,
  kRange = 0x2,
  kRows = 0x4,
  kGroups = 0x8,
  kStartUnboundedPreceding = 0x20,
  kEndUnboundedFollowing = 0x100,
  kStartCurrentRow = 0x200,
  kEndCurrentRow = 0x400,
  kStartPreceding = 0x800,
  kEndPreceding = 0x1000,
  kStartFollowing = 0x2000,
  kEndFollowing = 0x4000,
  kExcludeCurrentRow = 0x8000,
  kExcludeGroup = 0x10000,
  kExcludeTies = 0x20000
};

class WindowBinder {
 public:
  WindowBinder(BindState& state, const Context& context) : state_(state), context_(context) {
    context_.in_window = true;
    context_.clause = Clause::kWindowDefinition;
  }

  // The specification of OVER name, OVER (...) or a WINDOW item.
  absl::StatusOr<WindowSpec> Bind(const Json& definition) {
    const int location = LocationOf(definition);
    if (const std::string name = TextOf(definition, "name");
        !name.empty() && !Has(definition, "orderClause") && in_over_) {
      in_over_ = false;
      ADJOIN_ASSIGN_OR_RETURN(const Json* named, Named(name, location));
      return Bind(*named);
    }
    in_over_ = false;
    WindowSpec out;
    if (const std::string base = TextOf(definition, "refname"); !base.empty()) {
      ADJOIN_ASSIGN_OR_RETURN(const Json* named, Named(base, location));
      ADJOIN_RETURN_IF_ERROR(CheckExtends(base, *named, definition));
      ADJOIN_ASSIGN_OR_RETURN(out, Bind(*named));
    }
    for (const Json& item : ListOf(definition, "partitionClause")) {
      ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state_, item, context_));
      ADJOIN_ASSIGN_OR_RETURN(ExprRef expr, Settle(state_, value));
      out.partition.push_back(std::move(expr));
    }
    for (const Json& item : ListOf(definition, "orderClause")) {
      const Json& sort = FieldOf(item, "SortBy");
      ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state_, FieldOf(sort, "node"), context_));
      ADJOIN_ASSIGN_OR_RETURN(ExprRef expr, Settle(state_, value));
      out.order.push_back(MakeSortKey(std::move(expr), sort));
    }
    ADJOIN_ASSIGN_OR_RETURN(out.frame, BindFrame(definition, out));
    return out;
  }

 private:
  absl::StatusOr<const Json*> Named(const std::string& name, int location) {
    const auto& windows = context_.level->window_definitions;
    const auto it = windows.find(name);
    if (it != windows.end()) return it->second;
    return state_.Error(sqlstate::kUndefinedObject,
                        absl::StrCat("window \"", name, "\" does not exist"), location);
  }

  absl::Status CheckExtends(const std::string& name, const Json& base, const Json& definition) {
    const int location = LocationOf(definition);
    if (!ListOf(definition, "partitionClause").empty()) {
      return state_.Error(
          kWindowingError,
          absl::StrCat("cannot override PARTITION BY clause of window \"", name, "\""), location);
    }
    if (!ListOf(definition, "orderClause").empty() && !ListOf(base, "orderClause").empty()) {
      return state_.Error(kWindowingError,
                          absl::StrCat("cannot override ORDER BY clause of window \"", name, "\""),
                          location);
    }
    if ((NumberOf(base, "frameOptions") & kNonDefault) != 0) {
      return state_.Error(
          kWindowingError,
          absl::StrCat("cannot copy window \"", name, "\" because it has a frame clause"),
          location);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Frame> BindFrame(const Json& definition, const WindowSpec& spec) {
    const int64_t bits = NumberOf(definition, "frameOptions");
    const auto has = [bits](int64_t bit) { return (bits & bit) != 0; };
    Frame frame;
    if (!has(kNonDefault)) return frame;
    frame.mode = has(kRows)     ? FrameMode::kRows
                 : has(kGroups) ? FrameMode::kGroups
                                : FrameMode::kRange;
    frame.start = has(kStartUnboundedPreceding) ? FrameBound::kUnboundedPreceding
                  : has(kStartCurrentRow)       ? FrameBound::kCurrentRow
                  : has(kStartPreceding)        ? FrameBound::kPreceding
                                                : FrameBound::kFollowing;
    frame.end = has(kEndUnboundedFollowing) ? FrameBound::kUnboundedFollowing
                : has(kEndCurrentRow)       ? FrameBound::kCurrentRow
                : has(kEndPreceding)        ? FrameBound::kPreceding
                                            : FrameBound::kFollowing;
    frame.exclusion = has(kExcludeCurrentRow) ? FrameExclusion::kCurrentRow
                      : has(kExcludeGroup)    ? FrameExclusion::kGroup
                      : has(kExcludeTies)     ? FrameExclusion::kTies
                                              : FrameExclusion::kNone;
    const int location = LocationOf(definition);
    if (frame.mode == FrameMode::kGroups && spec.order.empty()) {
      return state_.Error(kWindowingError, "GROUPS mode requires an ORDER BY clause", location);
    }
    const bool offsets = has(kStartPreceding | kStartFollowing | kEndPreceding | kEndFollowing);
    if (frame.mode == FrameMode::kRange && offsets && spec.order.size() != 1) {
      return state_.Error(
          kWindowingError,
          "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column", location);
    }
    if (has(kStartPreceding | kStartFollowing)) {
      ADJOIN_ASSIGN_OR_RETURN(frame.start_offset,
                              BindOffset(FieldOf(definition, "startOffset"), "starting"));
    }
    if (has(kEndPreceding | kEndFollowing)) {
      ADJOIN_ASSIGN_OR_RETURN(frame.end_offset,
                              BindOffset(FieldOf(definition, "endOffset"), "ending"));
    }
    return frame;
  }

  absl::StatusOr<int64_t> BindOffset(const Json& node, std::string_view which) {
    ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state_, node, context_));
    const bool is_constant = value.expr->kind == ExprKind::kConstant;
    const bool whole =
        is_constant && value.expr->constant.is_float() &&
        value.expr->constant.as_float() ==
            static_cast<double>(static_cast<int64_t>(value.expr->constant.as_float()));
    if (!is_constant || (value.expr->constant.is_float() && !whole)) {
      return state_.NotSupported("a frame offset that is not an integer constant", value.location);
    }
    if (value.expr->constant.is_null()) {
      return SqlError("22004",
                      absl::StrCat("frame ", std::string(which), " offset must not be null"));
    }
    ADJOIN_ASSIGN_OR_RETURN(const ExprRef offset, Coerce(state_, value, TypeId::kInt64));
    if (offset->constant.as_int() < 0) {
      return SqlError("22013",
                      absl::StrCat("frame ", std::string(which), " offset must not be negative"));
    }
    return offset->constant.as_int();
  }

  BindState& state_;
  Context context_;
  bool in_over_ = true;  // OVER name refers to a window; a WINDOW item's name is its own
};

absl::Status CheckWindowPlace(BindState& state, const Context& context, int location) {
  if (context.in_aggregate) {
    return state.Error(sqlstate::kGroupingError,
                       context.clause == Clause::kFilter
                           ? "window functions are not allowed in FILTER"
                           : "aggregate function calls cannot contain window function calls",
                       location);
  }
  if (context.in_window) {
    return state.Error(kWindowingError,
                       context.clause == Clause::kWindowDefinition
                           ? "window functions are not allowed in window definitions"
                           : "window function calls cannot be nested",
                       location);
  }
  if (context.clause == Clause::kSelect || context.clause == Clause::kOrderBy)
    return absl::OkStatus();
  const std::string_view name = ClauseName(context.clause);
  return state.Error(kWindowingError,
                     absl::StrCat("window functions are not allowed in ", std::string(name)),
                     location);
}

std::optional<WindowFunction> AsWindow(AggregateFunction function) {
  switch (function) {
    case AggregateFunction::kCountStar:
      return WindowFunction::kCountStar;
    case AggregateFunction::kCount:
      return WindowFunction::kCount;
    case AggregateFunction::kSum:
      return WindowFunction::kSum;
    case AggregateFunction::kAvg:
      return WindowFunction::kAvg;
    case AggregateFunction::kMin:
      return WindowFunction::kMin;
    case AggregateFunction::kMax:
      return WindowFunction::kMax;
    default:
      return std::nullopt;
  }
}

absl::Status NoSuchWindowFunction(BindState& state, const std::string& name,
                                  const std::vector<Typed>& args, int location) {
  std::string types;
  for (const Typed& arg : args) {
    absl::StrAppend(&types, types.empty() ? "" : ", ",
                    arg.unknown ? "unknown" : std::string(TypeName(arg.expr->type)));
  }
  return state.ErrorWithDetail(sqlstate::kUndefinedFunction,
                               absl::StrCat("function ", name, "(", types, ") does not exist"), "",
                               "No function matches the given name and argument types. You might "
                               "need to add explicit type casts.",
                               location);
}

// value, offset and default of LAG and LEAD: the offset BIGINT, 1 where left out; value and default
// of one type.
absl::Status BindLagArguments(BindState& state, const std::string& name,
                              const std::vector<Typed>& args, int location, WindowCall& call) {
  std::vector<Typed> values = {args[0]};
  if (args.size() > 2) values.push_back(args[2]);
  const absl::StatusOr<TypeId> common = CommonTypeOf(state, values, "LAG");
  if (!common.ok()) return NoSuchWindowFunction(state, name, args, location);
  const TypeId type = *common;
  ADJOIN_ASSIGN_OR_RETURN(ExprRef value, Coerce(state, args[0], type));
  call.args.push_back(std::move(value));
  ExprRef offset = ConstantExpr(Value::Int(1), TypeId::kInt64);
  if (args.size() > 1) {
    ADJOIN_ASSIGN_OR_RETURN(offset, Coerce(state, args[1], TypeId::kInt64));
  }
  call.args.push_back(std::move(offset));
  if (args.size() > 2) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef fallback, Coerce(state, args[2], type));
    call.args.push_back(std::move(fallback));
  }
  call.type = type;
  return absl::OkStatus();
}

absl::StatusOr<WindowCall> BindFunction(BindState& state, const std::string& name, const Json& body,
                                        const std::vector<Typed>& args) {
  const int location = LocationOf(body);
  WindowCall call{WindowFunction::kCountStar, {}, nullptr, TypeId::kInt64};
  if (const NamedWindowFunction* f = FindWindowFunction(name); f != nullptr) {
    if (args.size() < f->least_args || args.size() > f->most_args)
      return NoSuchWindowFunction(state, name, args, location);
    if (Has(body, "agg_filter")) {
      return state.Error(sqlstate::kFeatureNotSupported,
                         "FILTER is not implemented for non-aggregate window functions", location);
    }
    call.function = f->function;
    if (f->most_args == 3) {
      ADJOIN_RETURN_IF_ERROR(BindLagArguments(state, name, args, location, call));
    } else if (f->most_args == 1) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef value, Settle(state, args[0]));
      call.type = value->type;
      call.args.push_back(std::move(value));
    }
    return call;
  }
  const AggregateFunction aggregate = *AggregateNamed(name);
  if (FlagOf(body, "agg_star") && aggregate == AggregateFunction::kCount) return call;
  if (args.size() != 1) return NoSuchWindowFunction(state, name, args, location);
  const std::optional<WindowFunction> function = AsWindow(aggregate);
  if (!function.has_value())
    return state.NotSupported(absl::StrCat(name, " as a window function"), location);
  call.function = *function;
  ADJOIN_ASSIGN_OR_RETURN(ExprRef value, Settle(state, args[0]));
  ADJOIN_ASSIGN_OR_RETURN(call.type, AggregateType(state, aggregate, name, value, location));
  call.args.push_back(std::move(value));
  return call;
}

}  // namespace

bool IsWindowFunction(std::string_view name) {
  return FindWindowFunction(name) != nullptr ||
         std::find(std::begin(kLacking), std::end(kLacking), name) != std::end(kLacking);
}

absl::StatusOr<ExprRef> BindWindowCall(BindState& state, const std::string& name, const Json& body,
                                       const Context& context) {
  const int location = LocationOf(body);
  ADJOIN_RETURN_IF_ERROR(CheckWindowPlace(state, context, location));
  if (std::find(std::begin(kLacking), std::end(kLacking), name) != std::end(kLacking)) {
    return state.NotSupported(absl::StrCat("function ", name), location);
  }
  if (FindWindowFunction(name) == nullptr && !AggregateNamed(name).has_value()) {
    return state.Error(sqlstate::kWrongObjectType,
                       absl::StrCat("OVER specified, but ", name,
                                    " is not a window function nor an aggregate function"),
                       location);
  }
  if (FlagOf(body, "agg_distinct")) {
    return state.Error(sqlstate::kFeatureNotSupported,
                       "DISTINCT is not implemented for window functions", location);
  }
  if (!ListOf(body, "agg_order").empty())
    return state.NotSupported("ORDER BY inside a window call", location);
  Context inner = context;
  inner.in_window = true;
  std::vector<Typed> args;
  for (const Json& arg : ListOf(body, "args")) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, arg, inner));
    args.push_back(std::move(value));
  }
  ADJOIN_ASSIGN_OR_RETURN(WindowCall call, BindFunction(state, name, body, args));
  if (Has(body, "agg_filter")) {
    inner.clause = Clause::kFilter;
    ADJOIN_ASSIGN_OR_RETURN(call.filter,
                            BindCondition(state, FieldOf(body, "agg_filter"), inner, "FILTER"));
  }
  ADJOIN_ASSIGN_OR_RETURN(WindowSpec spec,
                          WindowBinder(state, context).Bind(FieldOf(body, "over")));
  const int placeholder = state.NewPlaceholder();
  const TypeId type = call.type;
  context.level->windows.push_back({placeholder, std::move(spec), std::move(call)});
  return ParameterExpr(placeholder, type);
}

absl::Status NoteWindowClause(BindState& state, const Json& clause, Level& level) {
  for (const Json& item : clause) {
    const Json& definition = FieldOf(item, "WindowDef");
    const std::string name = TextOf(definition, "name");
    if (level.window_definitions.try_emplace(name, &definition).second) continue;
    return state.Error(kWindowingError, absl::StrCat("window \"", name, "\" is already defined"),
                       LocationOf(definition));
  }
  return absl::OkStatus();
}

SortKey MakeSortKey(ExprRef expr, const Json& sort_by) {
  const bool descending = TextOf(sort_by, "sortby_dir") == "SORTBY_DESC";
  const std::string nulls = TextOf(sort_by, "sortby_nulls");
  const bool nulls_first =
      nulls == "SORTBY_NULLS_FIRST" || (nulls != "SORTBY_NULLS_LAST" && descending);
  return {std::move(expr), descending, nulls_first};
}

}  // namespace adjoin
