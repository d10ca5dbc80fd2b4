#include "sql/window_definition.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_expr.h"

namespace adjoin {
namespace {

constexpr std::string_view kWindowingError = sqlstate::kWindowingError;

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
    groups_ = frame.mode == FrameMode::kGroups;
    std::optional<TypeId> key;  // that RANGE measures distances of
    if (frame.mode == FrameMode::kRange && offsets) key = spec.order[0].expr->type;
    if (has(kStartPreceding | kStartFollowing)) {
      ADJOIN_RETURN_IF_ERROR(BindOffset(FieldOf(definition, "startOffset"), "starting", key,
                                        frame.start_offset, frame.start_distance));
    }
    if (has(kEndPreceding | kEndFollowing)) {
      ADJOIN_RETURN_IF_ERROR(BindOffset(FieldOf(definition, "endOffset"), "ending", key,
                                        frame.end_offset, frame.end_distance));
    }
    return frame;
  }

  // An offset in rows or groups goes to `whole`, one along the key to `distance`.
  absl::Status BindOffset(const Json& node, std::string_view which, std::optional<TypeId> key,
                          int64_t& whole, Value& distance) {
    ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state_, node, context_));
    if (value.expr->kind != ExprKind::kConstant)
      return state_.NotSupported("a frame offset that is not a constant", value.location);
    TypeId type = TypeId::kInt64;
    if (key.has_value()) {
      ADJOIN_ASSIGN_OR_RETURN(type, DistanceType(*key, value));
    } else {
      ADJOIN_RETURN_IF_ERROR(CheckCount(value));
    }
    if (value.expr->constant.is_null()) {
      return SqlError("22004",
                      absl::StrCat("frame ", std::string(which), " offset must not be null"));
    }
    ADJOIN_ASSIGN_OR_RETURN(const ExprRef offset, Coerce(state_, value, type));
    if (offset->kind != ExprKind::kConstant)  // a NUMERIC beyond BIGINT
      return state_.Error(sqlstate::kNumericOutOfRange, "bigint out of range", value.location);
    if (key.has_value()) return distance = offset->constant, absl::OkStatus();
    whole = offset->constant.as_int();
    if (whole >= 0) return absl::OkStatus();
    return SqlError("22013",
                    absl::StrCat("frame ", std::string(which), " offset must not be negative"));
  }

  absl::Status CheckCount(const Typed& offset) {
    if (offset.unknown || IsNumeric(offset.expr->type)) return absl::OkStatus();
    const std::string_view mode = groups_ ? "GROUPS" : "ROWS";
    return state_.Error(
        sqlstate::kDatatypeMismatch,
        absl::StrCat("argument of ", std::string(mode), " must be type bigint, not type ",
                     std::string(TypeName(offset.expr->type))),
        offset.location);
  }

  // The type of distances along such a key, which the offset must have or become unasked.
  absl::StatusOr<TypeId> DistanceType(TypeId key, const Typed& offset) {
    const std::string unfit =
        absl::StrCat("RANGE with offset PRECEDING/FOLLOWING is not supported for column type ",
                     std::string(TypeName(key)));
    const TypeId own =
        state_.ExactOf(offset.expr) != nullptr ? TypeId::kDecimal : offset.expr->type;
    TypeId type = TypeId::kInt64;
    bool fits = IsInteger(own);
    if (IsFloat(key)) {
      type = TypeId::kFloat64;
      fits = IsNumeric(own);
    } else if (key == TypeId::kDecimal) {
      type = key;
      fits |= own == key;
    } else if (key == TypeId::kDate || key == TypeId::kTimestamp || key == TypeId::kInterval) {
      type = TypeId::kInterval;
      fits = own == type;
    } else if (!IsInteger(key)) {
      return state_.Error(sqlstate::kFeatureNotSupported, unfit, offset.location);
    }
    if (offset.unknown) return IsInteger(key) ? key : type;
    if (fits) return type;
    return state_.ErrorWithDetail(
        sqlstate::kFeatureNotSupported,
        absl::StrCat(unfit, " and offset type ", std::string(TypeName(own))), "",
        "Cast the offset value to an appropriate type.", offset.location);
  }

  BindState& state_;
  Context context_;
  bool groups_ = false;  // the frame's offsets count groups
  bool in_over_ = true;  // OVER name refers to a window; a WINDOW item's name is its own
};

}  // namespace

absl::StatusOr<WindowSpec> BindWindowDefinition(BindState& state, const Json& definition,
                                                const Context& context) {
  return WindowBinder(state, context).Bind(definition);
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

bool SameOrder(const std::vector<SortKey>& a, const std::vector<SortKey>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const SortKey& x, const SortKey& y) {
    return SameExpr(x.expr, y.expr) && x.descending == y.descending &&
           x.nulls_first == y.nulls_first;
  });
}

bool SameWindow(const WindowSpec& a, const WindowSpec& b) {
  return SameOrder(a.order, b.order) &&
         std::equal(a.partition.begin(), a.partition.end(), b.partition.begin(), b.partition.end(),
                    SameExpr) &&
         a.frame == b.frame;
}

SortKey MakeSortKey(ExprRef expr, const Json& sort_by) {
  const bool descending = TextOf(sort_by, "sortby_dir") == "SORTBY_DESC";
  const std::string nulls = TextOf(sort_by, "sortby_nulls");
  const bool nulls_first =
      nulls == "SORTBY_NULLS_FIRST" || (nulls != "SORTBY_NULLS_LAST" && descending);
  return {std::move(expr), descending, nulls_first};
}

}  // namespace adjoin
