#include "sql/bind_select.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/bind_expr.h"
#include "sql/bind_window.h"
#include "sql/level_plan.h"
#include "sql/output_name.h"
#include "sql/resolve_name.h"

namespace adjoin {
namespace {

struct Target {
  std::string name;
  Typed value;
};

// An ORDER BY item: an output column, or an expression of its own.
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
    if (value.unknown) {
      const size_t i = targets_.size();
      const bool wanted = i < context_.wanted.size() && context_.wanted[i].has_value();
      ADJOIN_ASSIGN_OR_RETURN(value.expr,
                              Coerce(state_, value, wanted ? *context_.wanted[i] : TypeId::kText));
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

  absl::Status BindSort() {
    const Context context{&level_, &level_.names, Clause::kOrderBy};
    for (const Json& item : ListOf(body_, "sortClause")) {
      const Json& sort = FieldOf(item, "SortBy");
      const Json& node = FieldOf(sort, "node");
      if (TextOf(sort, "sortby_dir") == "SORTBY_USING")
        return state_.NotSupported("ORDER BY USING");
      SortItem out{-1, nullptr, &sort};
      ADJOIN_ASSIGN_OR_RETURN(out.output, FindOutput(node, "ORDER BY", /*by_name=*/true));
      if (out.output < 0) {
        ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state_, node, context));
        ADJOIN_ASSIGN_OR_RETURN(out.expr, Settle(state_, value));
        out.output = FindTarget(out.expr);
      }
      if (out.output < 0 && !ListOf(body_, "distinctClause").empty()) {
        return state_.Error(sqlstate::kInvalidColumnReference,
                            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                            StartOf(node));
      }
      sort_.push_back(std::move(out));
    }
    return absl::OkStatus();
  }

  int FindTarget(const ExprRef& expr) const {
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (SameExpr(targets_[i].value.expr, expr)) return static_cast<int>(i);
    }
    return -1;
  }

  // An input column before an output name, as PostgreSQL takes GROUP BY.
  absl::Status BindGroups() {
    const Context context{&level_, &level_.names, Clause::kGroupBy};
    for (const Json& node : ListOf(body_, "groupClause")) {
      const auto [tag, body] = Unwrap(node);
      if (tag == "GroupingSet") return state_.NotSupported("GROUPING SETS", LocationOf(*body));
      ADJOIN_ASSIGN_OR_RETURN(const int output,
                              FindOutput(node, "GROUP BY", !IsInputColumn(tag, *body)));
      if (output < 0) {
        ADJOIN_ASSIGN_OR_RETURN(const Typed value, BindExpr(state_, node, context));
        ADJOIN_ASSIGN_OR_RETURN(ExprRef key, Settle(state_, value));
        keys_.push_back(std::move(key));
        continue;
      }
      const Target& target = targets_[static_cast<size_t>(output)];
      ADJOIN_RETURN_IF_ERROR(CheckKey(target.value));
      keys_.push_back(target.value.expr);
    }
    return absl::OkStatus();
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
    if (keys_.empty() && having_ == nullptr && level_.aggregates.empty()) return absl::OkStatus();
    std::vector<ExprRef> used;
    for (const Target& target : targets_) used.push_back(target.value.expr);
    if (having_ != nullptr) used.push_back(having_);
    for (const SortItem& item : sort_) {
      if (item.expr != nullptr) used.push_back(item.expr);
    }
    ADJOIN_RETURN_IF_ERROR(plan_.GroupBy(keys_, used));
    return having_ == nullptr ? absl::OkStatus() : plan_.AddFilter(having_);
  }

  absl::StatusOr<Query> Finish() {
    Query out;
    std::vector<ExprRef> exprs;
    std::vector<std::string> names;
    for (const Target& target : targets_) {
      ADJOIN_ASSIGN_OR_RETURN(ExprRef placed, plan_.Place(target.value.expr));
      out.columns.push_back({target.name, placed->type, target.value.unknown});
      exprs.push_back(std::move(placed));
      names.push_back(target.name);
    }
    const size_t width = exprs.size();
    std::vector<SortKey> order;
    for (const SortItem& item : sort_) {
      ExprRef key;
      if (item.output >= 0) {
        key = ColumnExpr(item.output, exprs[static_cast<size_t>(item.output)]->type);
      } else {
        ADJOIN_ASSIGN_OR_RETURN(ExprRef placed, plan_.Place(item.expr));
        key = ColumnExpr(static_cast<int>(exprs.size()), placed->type);
        exprs.push_back(std::move(placed));
      }
      order.push_back(MakeSortKey(std::move(key), *item.sort_by));
    }
    const bool hidden = exprs.size() > width;
    NodeRef node = MakeProject(state_.planner, std::move(exprs), plan_.node(), names);
    ADJOIN_ASSIGN_OR_RETURN(node, ApplyDistinct(std::move(node)));
    if (!order.empty()) node = state_.planner.Make(Sort{std::move(order)}, {std::move(node)});
    ADJOIN_ASSIGN_OR_RETURN(node, ApplyLimit(state_, body_, std::move(node), level_.ctes));
    if (hidden) {
      std::vector<ExprRef> visible;
      for (size_t i = 0; i < width; ++i)
        visible.push_back(ColumnExpr(static_cast<int>(i), node->types[i]));
      node = MakeProject(state_.planner, std::move(visible), std::move(node), names);
    }
    out.node = std::move(node);
    return out;
  }

  absl::StatusOr<NodeRef> ApplyDistinct(NodeRef node) {
    const Json& clause = ListOf(body_, "distinctClause");
    if (clause.empty()) return node;
    if (clause.size() > 1 || (clause[0].is_object() && !clause[0].empty()))
      return state_.NotSupported("DISTINCT ON");
    adjoin::GroupBy distinct;
    for (int i = 0; i < node->width(); ++i) {
      distinct.keys.push_back(ColumnExpr(i, node->types[static_cast<size_t>(i)]));
    }
    return state_.planner.Make(std::move(distinct), {std::move(node)});
  }

  BindState& state_;
  const Json& body_;
  const QueryContext& context_;
  Level level_;
  LevelPlan plan_;
  std::vector<Target> targets_;
  std::vector<SortItem> sort_;
  std::vector<ExprRef> keys_;
  ExprRef having_;
};

}  // namespace

absl::StatusOr<Query> BindSelect(BindState& state, const Json& body, const QueryContext& context) {
  return SelectBinder(state, body, context).Bind();
}

}  // namespace adjoin
