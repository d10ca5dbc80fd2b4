#include "sql/bind_select.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/bind_expr.h"
#include "sql/bind_groups.h"
#include "sql/level_plan.h"
#include "sql/output_name.h"
#include "sql/resolve_name.h"
#include "sql/window_definition.h"

namespace adjoin {
namespace {

struct Target {
  std::string name;
  Typed value;
};

// An item of ORDER BY or DISTINCT ON: an output column, or an expression of its own.
struct SortItem {
  int output = -1;
  ExprRef expr;
  const Json* sort_by;
};

class SelectBinder {
 public:
  SelectBinder(BindState& state, const Json& body, const QueryContext& context)
      : state_(state), body_(body), context_(context), plan_(state, level_) {
    level_.id = state.NewLevelId();
    level_.outer = context.outer;
    level_.around = context.around;
    level_.ctes = context.ctes;
  }

  absl::StatusOr<Query> Bind() {
    ADJOIN_RETURN_IF_ERROR(NoteWindowClause(state_, ListOf(body_, "windowClause"), level_));
    const std::vector<const Json*> expressions = {
        &FieldOf(body_, "targetList"),  &FieldOf(body_, "whereClause"),
        &FieldOf(body_, "groupClause"), &FieldOf(body_, "havingClause"),
        &FieldOf(body_, "sortClause"),  &FieldOf(body_, "windowClause")};
    ADJOIN_RETURN_IF_ERROR(plan_.BindFromClause(ListOf(body_, "fromClause"), nullptr, expressions));
    ADJOIN_RETURN_IF_ERROR(BindTargets());
    ADJOIN_RETURN_IF_ERROR(plan_.BindWhere(FieldOf(body_, "whereClause")));
    ADJOIN_RETURN_IF_ERROR(BindHaving());
    ADJOIN_RETURN_IF_ERROR(BindSort());
    for (const Json& item : ListOf(body_, "windowClause")) {  // also those that no call uses
      const Context context{&level_, &level_.names, Clause::kWindowDefinition};
      ADJOIN_RETURN_IF_ERROR(
          BindWindowDefinition(state_, FieldOf(item, "WindowDef"), context).status());
    }
    ADJOIN_RETURN_IF_ERROR(BindGroups());
    ADJOIN_RETURN_IF_ERROR(plan_.Build());
    ADJOIN_RETURN_IF_ERROR(ApplyGroups());
    ADJOIN_RETURN_IF_ERROR(plan_.AddWindows());
    return Finish();
  }

 private:
  absl::Status BindTargets() {
    const Context context{&level_, &level_.names, Clause::kSelect};
    for (const Json& item : ListOf(body_, "targetList")) {
      const Json& target = FieldOf(item, "ResTarget");
      const Json& value = FieldOf(target, "val");
      if (const auto [tag, ref] = Unwrap(value);
          tag == "ColumnRef" && Unwrap(ListOf(*ref, "fields").back()).tag == "A_Star") {
        ADJOIN_RETURN_IF_ERROR(ExpandStar(*ref, context));
        continue;
      }
      ADJOIN_ASSIGN_OR_RETURN(Typed bound, BindExpr(state_, value, context));
      std::string name = TextOf(target, "name");
      if (name.empty()) name = OutputName(value);
      ADJOIN_RETURN_IF_ERROR(AddTarget(std::move(name), std::move(bound)));
    }
    return absl::OkStatus();
  }

  // A constant whose type is open takes the type that is wanted here, else TEXT.
  absl::Status AddTarget(std::string name, Typed value) {
    const std::optional<TypeId> wanted = context_.WantedAt(targets_.size());
    if (value.unknown || TakesType(false, state_.ExactOf(value.expr) != nullptr, wanted)) {
      ADJOIN_ASSIGN_OR_RETURN(value.expr, Coerce(state_, value, wanted.value_or(TypeId::kText)));
    }
    targets_.push_back({std::move(name), std::move(value)});
    return absl::OkStatus();
  }

  absl::Status ExpandStar(const Json& ref, const Context& context) {
    const int location = LocationOf(ref);
    const auto add = [&](const std::string& name, const ExprRef& expr) {
      for (int c : ColumnsOf(expr)) level_.column_locations.try_emplace(c, location);
      targets_.push_back({name, Typed{expr, false, location}});
    };
    const Json& fields = ListOf(ref, "fields");
    if (fields.size() == 1) {
      if (level_.names.ranges.empty()) {
        return state_.Error(sqlstate::kSyntaxError,
                            "SELECT * with no tables specified is not valid", location);
      }
      for (const VisibleColumn& column : level_.names.columns) add(column.name, column.expr);
      return absl::OkStatus();
    }
    const std::string name = StringValue(fields[fields.size() - 2]);
    if (const RangeVariable* range = FindRange(level_.names, name); range != nullptr) {
      for (const RangeColumn& column : range->columns) add(column.name, column.expr);
      return absl::OkStatus();
    }
    for (const Level* outer = level_.outer; outer != nullptr; outer = outer->outer) {
      const RangeVariable* range = FindRange(outer->names, name);
      if (range == nullptr) continue;
      for (const RangeColumn& column : range->columns)
        add(column.name, state_.OuterReference(*outer, column.expr));
      return absl::OkStatus();
    }
    return MissingRange(state_, context, name, location);
  }

  absl::Status BindHaving() {
    if (!Has(body_, "havingClause")) return absl::OkStatus();
    const Context context{&level_, &level_.names, Clause::kHaving};
    ADJOIN_ASSIGN_OR_RETURN(
        having_, BindCondition(state_, FieldOf(body_, "havingClause"), context, "HAVING"));
    return absl::OkStatus();
  }

  // The output that a position or, where `by_name`, a bare name refers to; -1: neither.
  absl::StatusOr<int> FindOutput(const Json& node, std::string_view clause, bool by_name) {
    const auto [tag, body] = Unwrap(node);
    const int location = LocationOf(*body);
    if (tag == "A_Const") {
      if (!Has(*body, "ival")) {
        return state_.Error(sqlstate::kSyntaxError,
                            absl::StrCat("non-integer constant in ", ToAbsl(clause)), location);
      }
      const int64_t position = NumberOf(FieldOf(*body, "ival"), "ival");
      if (position >= 1 && position <= static_cast<int64_t>(targets_.size()))
        return static_cast<int>(position - 1);
      return state_.Error(
          sqlstate::kInvalidColumnReference,
          absl::StrCat(ToAbsl(clause), " position ", position, " is not in select list"), location);
    }
    if (!by_name || tag != "ColumnRef" || ListOf(*body, "fields").size() != 1) return -1;
    const std::string name = StringValue(ListOf(*body, "fields")[0]);
    int found = -1;
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (targets_[i].name != name) continue;
      if (found >= 0 &&
          !SameExpr(targets_[static_cast<size_t>(found)].value.expr, targets_[i].value.expr)) {
        return state_.Error(sqlstate::kAmbiguousColumn,
                            absl::StrCat(ToAbsl(clause), " \"", name, "\" is ambiguous"), location);
      }
      if (found < 0) found = static_cast<int>(i);
    }
    return found;
  }

  // An item of ORDER BY or DISTINCT ON.
  absl::StatusOr<SortItem> BindSortItem(const Json& node, std::string_view clause,
                                        const Json* sort_by) {
    const Context context{&level_, &level_.names, Clause::kOrderBy};
    SortItem out{-1, nullptr, sort_by};
    ADJOIN_ASSIGN_OR_RETURN(out.output, FindOutput(node, clause, /*by_name=*/true));
    if (out.output >= 0) return out;
    ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state_, node, context));
    ADJOIN_ASSIGN_OR_RETURN(out.expr, Settle(state_, value));
    out.output = FindTarget(out.expr);
    return out;
  }

  absl::Status BindSort() {
    const Json& distinct = ListOf(body_, "distinctClause");
    const bool distinct_on = !distinct.empty() && distinct[0].is_object() && !distinct[0].empty();
    for (const Json& item : ListOf(body_, "sortClause")) {
      const Json& sort = FieldOf(item, "SortBy");
      const Json& node = FieldOf(sort, "node");
      if (TextOf(sort, "sortby_dir") == "SORTBY_USING")
        return state_.NotSupported("ORDER BY USING");
      ADJOIN_ASSIGN_OR_RETURN(SortItem out, BindSortItem(node, "ORDER BY", &sort));
      if (out.output < 0 && !distinct.empty() && !distinct_on) {
        return state_.Error(sqlstate::kInvalidColumnReference,
                            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                            StartOf(node));
      }
      sort_.push_back(std::move(out));
    }
    if (!distinct_on) return absl::OkStatus();
    for (const Json& node : distinct) {
      ADJOIN_ASSIGN_OR_RETURN(SortItem item, BindSortItem(node, "DISTINCT ON", nullptr));
      distinct_on_.push_back(std::move(item));
    }
    return CheckDistinctOn(distinct);
  }

  static bool SameItem(const SortItem& a, const SortItem& b) {
    if (a.output >= 0 || b.output >= 0) return a.output == b.output;
    return SameExpr(a.expr, b.expr);
  }

  // ORDER BY begins with the expressions of DISTINCT ON, in any order, or ends among them.
  absl::Status CheckDistinctOn(const Json& distinct) {
    bool others = false;  // an item of ORDER BY that is no such expression has come
    std::vector<bool> sorted_by(distinct_on_.size(), false);
    const auto mismatch = [&](size_t i) {
      return state_.Error(sqlstate::kInvalidColumnReference,
                          "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                          StartOf(distinct[i]));
    };
    for (const SortItem& item : sort_) {
      const auto match = std::find_if(distinct_on_.begin(), distinct_on_.end(),
                                      [&](const SortItem& on) { return SameItem(on, item); });
      const auto i = static_cast<size_t>(match - distinct_on_.begin());
      if (match != distinct_on_.end() && others) return mismatch(i);
      if (match != distinct_on_.end()) sorted_by[i] = true;
      others |= match == distinct_on_.end();
    }
    for (size_t i = 0; i < sorted_by.size() && others; ++i) {
      if (!sorted_by[i]) return mismatch(i);
    }
    return absl::OkStatus();
  }

  int FindTarget(const ExprRef& expr) const {
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (SameExpr(targets_[i].value.expr, expr)) return static_cast<int>(i);
    }
    return -1;
  }

  absl::Status BindGroups() {
    const auto bind_key = [this](const Json& node) { return BindKey(node); };
    ADJOIN_ASSIGN_OR_RETURN(groups_, BindGroupClause(state_, ListOf(body_, "groupClause"),
                                                     FlagOf(body_, "groupDistinct"), bind_key));
    return absl::OkStatus();
  }

  // An input column before an output name, as PostgreSQL takes GROUP BY.
  absl::StatusOr<ExprRef> BindKey(const Json& node) {
    const auto [tag, body] = Unwrap(node);
    ADJOIN_ASSIGN_OR_RETURN(const int output,
                            FindOutput(node, "GROUP BY", !IsInputColumn(tag, *body)));
    if (output < 0) {
      const Context context{&level_, &level_.names, Clause::kGroupBy};
      ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state_, node, context));
      return Settle(state_, value);
    }
    const Target& target = targets_[static_cast<size_t>(output)];
    ADJOIN_RETURN_IF_ERROR(CheckKey(target.value));
    return target.value.expr;
  }

  bool IsInputColumn(std::string_view tag, const Json& body) const {
    if (tag != "ColumnRef" || ListOf(body, "fields").size() != 1) return false;
    const std::string name = StringValue(ListOf(body, "fields")[0]);
    return std::any_of(level_.names.columns.begin(), level_.names.columns.end(),
                       [&](const VisibleColumn& c) { return c.name == name; });
  }

  // A key that is an output must hold no aggregate and no window call.
  absl::Status CheckKey(const Typed& key) {
    bool aggregate = false, window = false;
    static_cast<void>(MapLeaves(key.expr, [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
      if (!IsPlaceholder(*leaf)) return leaf;
      for (const AggregateCall& call : level_.aggregates)
        aggregate |= call.placeholder == leaf->index;
      for (const WindowUse& call : level_.windows) window |= call.placeholder == leaf->index;
      return leaf;
    }));
    if (aggregate) {
      return state_.Error(sqlstate::kGroupingError,
                          "aggregate functions are not allowed in GROUP BY", key.location);
    }
    if (window) {
      return state_.Error(sqlstate::kWindowingError, "window functions are not allowed in GROUP BY",
                          key.location);
    }
    return absl::OkStatus();
  }

  absl::Status ApplyGroups() {
    const bool grouped = !ListOf(body_, "groupClause").empty() || having_ != nullptr ||
                         !level_.aggregates.empty() || !level_.groupings.empty();
    if (!grouped) return absl::OkStatus();
    std::vector<ExprRef> used;
    for (const Target& target : targets_) used.push_back(target.value.expr);
    if (having_ != nullptr) used.push_back(having_);
    for (const std::vector<SortItem>* items : {&sort_, &distinct_on_}) {
      for (const SortItem& item : *items) {
        if (item.expr != nullptr) used.push_back(item.expr);
      }
    }
    ADJOIN_RETURN_IF_ERROR(plan_.GroupBy(std::move(groups_), used));
    return having_ == nullptr ? absl::OkStatus() : plan_.AddFilter(having_);
  }

  absl::StatusOr<Query> Finish() {
    Query out;
    std::vector<ExprRef> exprs;
    std::vector<std::string> names;
    for (const Target& target : targets_) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef placed, plan_.Place(target.value.expr));
      out.columns.push_back({target.name, placed->type, target.value.unknown,
                             state_.ExactOf(target.value.expr) != nullptr});
      exprs.push_back(std::move(placed));
      names.push_back(target.name);
    }
    const size_t width = exprs.size();
    const auto place = [&](const SortItem& item) -> absl::StatusOr<ExprRef> {
      if (item.output >= 0)
        return ColumnExpr(item.output, exprs[static_cast<size_t>(item.output)]->type);
      ADJOIN_ASSIGN_OR_RETURN(ExprRef placed, plan_.Place(item.expr));
      const TypeId type = placed->type;
      exprs.push_back(std::move(placed));
      return ColumnExpr(static_cast<int>(exprs.size()) - 1, type);
    };
    std::vector<SortKey> order;
    for (const SortItem& item : sort_) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef key, place(item));
      order.push_back(MakeSortKey(std::move(key), *item.sort_by));
    }
    std::vector<ExprRef> distinct_on;
    for (const SortItem& item : distinct_on_) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef key, place(item));
      distinct_on.push_back(std::move(key));
    }
    const bool hidden = exprs.size() > width;
    NodeRef node = MakeProject(state_.planner, std::move(exprs), plan_.node(), names);
    if (!distinct_on.empty()) {
      node = FirstOfEach(std::move(node), std::move(distinct_on), order);
    } else if (!ListOf(body_, "distinctClause").empty()) {
      node = MakeDistinct(state_.planner, std::move(node));
    }
    if (!order.empty()) node = state_.planner.Make(Sort{order}, {std::move(node)});
    ADJOIN_ASSIGN_OR_RETURN(node, ApplyLimit(state_, body_, std::move(node), order, level_.ctes));
    if (hidden) {
      std::vector<ExprRef> visible;
      for (size_t i = 0; i < width; ++i)
        visible.push_back(ColumnExpr(static_cast<int>(i), node->types[i]));
      node = MakeProject(state_.planner, std::move(visible), std::move(node), names);
    }
    out.node = std::move(node);
    return out;
  }

  // The first row, in `order`, of those with equal `keys`.
  NodeRef FirstOfEach(const NodeRef& node, std::vector<ExprRef> keys,
                      const std::vector<SortKey>& order) {
    const NodeRef numbered = NumberRows(state_.planner, node, std::move(keys), order);
    const ExprRef first = CallNamed(
        "=",
        {ColumnExpr(node->width(), TypeId::kInt64), ConstantExpr(Value::Int(1), TypeId::kInt64)},
        TypeId::kBool);
    return DropLast(state_.planner, state_.planner.Make(Filter{first}, {numbered}));
  }

  BindState& state_;
  const Json& body_;
  const QueryContext& context_;
  Level level_;
  LevelPlan plan_;
  std::vector<Target> targets_;
  std::vector<SortItem> sort_;
  std::vector<SortItem> distinct_on_;
  GroupClause groups_;
  ExprRef having_;
};

}  // namespace

absl::StatusOr<Query> BindSelect(BindState& state, const Json& body, const QueryContext& context) {
  return SelectBinder(state, body, context).Bind();
}

}  // namespace adjoin
