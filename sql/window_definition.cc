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
      const bool is_item = Has(definition, "name");
      if (is_item && LocationOf(*named) >= location) return NoWindow(base, location);
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
    return NoWindow(name, location);
  }

  absl::Status NoWindow(const std::string& name, int location) const {
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
      const bool adds = !ListOf(definition, "orderClause").empty() ||
                        (NumberOf(definition, "frameOptions") & kNonDefault) != 0;
      return state_.ErrorWithDetail(
          kWindowingError,
          absl::StrCat("cannot copy window \"", name, "\" because it has a frame clause"), "",
          !Has(definition, "name") && !adds ? "Omit the parentheses in this OVER clause." : "",
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
    std::optional<TypeId> key;  // that RANGE measures distances of
    if (frame.mode == FrameMode::kRange && offsets) key = spec.order[0].expr->type;
    if (has(kStartPreceding | kStartFollowing)) {
      ADJOIN_ASSIGN_OR_RETURN(frame.start_offset,
                              BindOffset(FieldOf(definition, "startOffset"), frame.mode, key));
    }
    if (has(kEndPreceding | kEndFollowing)) {
      ADJOIN_ASSIGN_OR_RETURN(frame.end_offset,
                              BindOffset(FieldOf(definition, "endOffset"), frame.mode, key));
    }
    return frame;
  }

  // An offset in rows or groups, or along the key where there is one. What it must be besides is
  // found out when it is run.
  absl::StatusOr<ExprRef> BindOffset(const Json& node, FrameMode mode, std::optional<TypeId> key) {
    Context context = context_;
    context.clause = mode == FrameMode::kRows     ? Clause::kWindowRows
                     : mode == FrameMode::kGroups ? Clause::kWindowGroups
                                                  : Clause::kWindowRange;
    // What the offset alone reads of the level, itself or by its subqueries.
    Level& level = *context_.level;
    auto columns = std::exchange(level.column_locations, {});
    auto outers = std::exchange(level.outer_locations, {});
    const absl::StatusOr<Typed> value = BindExpr(state_, node, context);
    columns.swap(level.column_locations);
    outers.swap(level.outer_locations);
    ADJOIN_RETURN_IF_ERROR(value.status());
    const std::string_view name = ClauseName(context.clause).substr(std::size("window"));
    TypeId type = TypeId::kInt64;
    if (key.has_value()) {
      ADJOIN_ASSIGN_OR_RETURN(type, DistanceType(*key, *value));
    } else if (!value->unknown && !IsNumeric(value->expr->type)) {
      return state_.Error(
          sqlstate::kDatatypeMismatch,
          absl::StrCat("argument of ", std::string(name), " must be type bigint, not type ",
                       std::string(TypeName(value->expr->type))),
          value->location);
    }
    ADJOIN_ASSIGN_OR_RETURN(ExprRef offset, Coerce(state_, *value, type));
    outers.insert(columns.begin(), columns.end());
    if (!outers.empty()) {
      const auto first = std::ranges::min_element(
          outers, [](const auto& a, const auto& b) { return a.second < b.second; });
      return state_.Error(
          sqlstate::kInvalidColumnReference,
          absl::StrCat("argument of ", std::string(name), " must not contain variables"),
          first->second);
    }
    ADJOIN_RETURN_IF_ERROR(CheckNoOuter(offset, value->location));
    return offset;
  }

  // The rows of a query that is evaluated for several outer rows are in one relation.
  absl::Status CheckNoOuter(const ExprRef& offset, int location) {
    return MapLeaves(offset,
                     [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
                       if (IsPlaceholder(*leaf) && state_.FindOuter(leaf->index) != nullptr)
                         return state_.NotSupported("a frame offset that reads an outer column",
                                                    location);
                       return leaf;
                     })
        .status();
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
         WindowFrameShape(a.frame) == WindowFrameShape(b.frame) &&
         SameExpr(a.frame.start_offset, b.frame.start_offset) &&
         SameExpr(a.frame.end_offset, b.frame.end_offset);
}

SortKey MakeSortKey(ExprRef expr, const Json& sort_by) {
  const bool descending = TextOf(sort_by, "sortby_dir") == "SORTBY_DESC";
  const std::string nulls = TextOf(sort_by, "sortby_nulls");
  const bool nulls_first =
      nulls == "SORTBY_NULLS_FIRST" || (nulls != "SORTBY_NULLS_LAST" && descending);
  return {std::move(expr), descending, nulls_first};
}

}  // namespace adjoin
