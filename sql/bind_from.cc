#include "sql/bind_from.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_expr.h"
#include "sql/bind_query.h"
#include "sql/bind_series.h"
#include "sql/decorrelate.h"
#include "sql/find_relation.h"
#include "sql/level_plan.h"

namespace adjoin {
namespace {

void Shift(Names& names, int offset) {
  if (offset == 0) return;
  for (RangeVariable& range : names.ranges) {
    range.first_column += offset;
    for (RangeColumn& column : range.columns) column.expr = ShiftColumns(column.expr, offset);
  }
  for (VisibleColumn& column : names.columns) column.expr = ShiftColumns(column.expr, offset);
}

class FromBinder {
 public:
  FromBinder(BindState& state, Level& level, const LeafReplacements& replacements)
      : state_(state), level_(level), replacements_(replacements) {}

  absl::StatusOr<FromItem> Bind(const Json& node) {
    const BindState::Nesting nesting(state_);
    ADJOIN_RETURN_IF_ERROR(nesting.Check());
    const auto [tag, body] = Unwrap(node);
    if (tag == "RangeVar") return BindRelation(*body);
    if (tag == "RangeSubselect") return BindSubquery(*body);
    if (tag == "RangeFunction") return BindFunction(*body);
    if (tag == "JoinExpr") return BindJoin(*body);
    if (tag == "RangeTableSample") return state_.NotSupported("TABLESAMPLE", LocationOf(*body));
    return state_.NotSupported(tag, LocationOf(*body));
  }

  static bool IsLateral(const Json& node) {
    const auto [tag, body] = Unwrap(node);
    return tag == "RangeSubselect" && FlagOf(*body, "lateral");
  }

  // `left` joined with a LATERAL subquery that may read it: the subquery for every distinct value
  // of what it reads, joined by those values.
  absl::StatusOr<FromItem> JoinLateral(FromItem left, const Json& node, JoinKind kind) {
    Level beside;
    beside.id = state_.NewLevelId();
    beside.outer = level_.outer;
    beside.names = left.names;
    const Json& body = *Unwrap(node).body;
    ADJOIN_ASSIGN_OR_RETURN(Query query, BindQuery(state_, FieldOf(body, "subquery"),
                                                   {&beside, &level_, level_.ctes, {}, false}));
    const std::vector<int> read = OuterPlaceholders(state_, query.node, beside.id);
    const int left_width = left.tree->width;
    const int width = query.node->width();
    std::vector<ExprRef> conditions;
    if (!read.empty()) {
      std::vector<ExprRef> keys;
      for (int placeholder : read) keys.push_back(state_.FindOuter(placeholder)->expr);
      const NodeRef domain =
          state_.planner.Make(GroupBy{keys, {}}, {BuildJoins(state_.planner, *left.tree, {})});
      ADJOIN_ASSIGN_OR_RETURN(const NodeRef rows, Decorrelate(state_, query.node, domain, read));
      const auto num_keys = static_cast<int>(keys.size());
      Project turned;  // the keys last
      for (int c = 0; c < rows->width(); ++c) {
        const int from = c < width ? num_keys + c : c - width;
        turned.exprs.push_back(ColumnExpr(from, rows->types[static_cast<size_t>(from)]));
      }
      query.node = state_.planner.Make(std::move(turned), {rows});
      for (int k = 0; k < num_keys; ++k) {
        const ExprRef& key = keys[static_cast<size_t>(k)];
        const ExprRef differs =
            CallNamed("is distinct from", {key, ColumnExpr(left_width + width + k, key->type)},
                      TypeId::kBool);
        conditions.push_back(CallNamed("not", {differs}, TypeId::kBool));
      }
    }
    ADJOIN_ASSIGN_OR_RETURN(FromItem right, SubqueryItem(query, FieldOf(body, "alias")));
    ADJOIN_ASSIGN_OR_RETURN(FromItem out, Concatenate(std::move(left), std::move(right), kind));
    for (ExprRef& condition : conditions) out.tree->conditions.push_back(std::move(condition));
    return out;
  }

  FromItem Leaf(NodeRef node, RangeVariable range) {
    range.leaf = next_leaf_++;
    range.node = node;
    level_.from_names.push_back(range.name);
    if (auto it = replacements_.find(range.leaf); it != replacements_.end()) node = it->second;
    FromItem out;
    for (const RangeColumn& column : range.columns)
      out.names.columns.push_back({column.name, column.expr, 0});
    out.names.ranges.push_back(std::move(range));
    out.tree = MakeLeaf(std::move(node));
    return out;
  }

  static absl::Status CheckNew(const std::string& name, const Names& names) {
    const bool taken = std::any_of(names.ranges.begin(), names.ranges.end(),
                                   [&](const RangeVariable& range) { return range.name == name; });
    if (name.empty() || !taken) return absl::OkStatus();
    return SqlError(sqlstate::kDuplicateAlias,
                    absl::StrCat("table name \"", name, "\" specified more than once"));
  }

  // Both items side by side. `swapped`: the tree has right's columns first.
  absl::StatusOr<FromItem> Concatenate(FromItem left, FromItem right, JoinKind kind,
                                       bool swapped = false) {
    Shift(swapped ? left.names : right.names, swapped ? right.tree->width : left.tree->width);
    for (const RangeVariable& range : right.names.ranges)
      ADJOIN_RETURN_IF_ERROR(CheckNew(range.name, left.names));
    const int ranges = static_cast<int>(left.names.ranges.size());
    for (RangeVariable& range : right.names.ranges) left.names.ranges.push_back(std::move(range));
    for (VisibleColumn& column : right.names.columns) {
      if (column.range >= 0) column.range += ranges;
      left.names.columns.push_back(std::move(column));
    }
    left.tree = swapped ? MakeJoin(kind, std::move(right.tree), std::move(left.tree))
                        : MakeJoin(kind, std::move(left.tree), std::move(right.tree));
    return left;
  }

  static RangeVariable RangeOver(const Query& query, std::string name, std::string relation) {
    RangeVariable range;
    range.name = std::move(name);
    range.relation = std::move(relation);
    for (size_t i = 0; i < query.columns.size(); ++i) {
      range.columns.push_back(
          {query.columns[i].name, ColumnExpr(static_cast<int>(i), query.columns[i].type)});
    }
    return range;
  }

 private:
  // Column names of an alias: t(a, b) renames the leading columns.
  absl::Status RenameColumns(const Json& alias, RangeVariable& range, int location) {
    const Json& names = ListOf(alias, "colnames");
    if (names.size() > range.columns.size()) {
      return state_.Error(
          sqlstate::kInvalidColumnReference,
          absl::StrCat("table \"", range.name, "\" has ", range.columns.size(),
                       " columns available but ", names.size(), " columns specified"),
          location);
    }
    for (size_t i = 0; i < names.size(); ++i) range.columns[i].name = StringValue(names[i]);
    return absl::OkStatus();
  }

  absl::StatusOr<FromItem> BindRelation(const Json& body) {
    const int location = LocationOf(body);
    const std::string name = TextOf(body, "relname");
    const std::string schema = TextOf(body, "schemaname");
    if (!schema.empty() && schema != "public") {
      return state_.Error(sqlstate::kUndefinedTable,
                          absl::StrCat("relation \"", schema, ".", name, "\" does not exist"),
                          location);
    }
    ADJOIN_ASSIGN_OR_RETURN(
        Relation relation,
        FindRelation(state_, name, schema.empty() ? level_.ctes : nullptr, location));
    const Json& alias = FieldOf(body, "alias");
    const std::string alias_name = TextOf(alias, "aliasname");
    RangeVariable range = RangeOver(relation.query, alias_name.empty() ? name : alias_name, name);
    range.schema = std::move(relation.schema);
    ADJOIN_RETURN_IF_ERROR(RenameColumns(alias, range, location));
    return Leaf(relation.query.node, std::move(range));
  }

  absl::StatusOr<FromItem> BindSubquery(const Json& body) {
    const Json& select = FieldOf(body, "subquery");
    ADJOIN_ASSIGN_OR_RETURN(
        const Query query,
        BindQuery(state_, select, {level_.outer, &level_, level_.ctes, {}, false}));
    return SubqueryItem(query, FieldOf(body, "alias"));
  }

  absl::StatusOr<FromItem> SubqueryItem(const Query& query, const Json& alias) {
    RangeVariable range = RangeOver(query, TextOf(alias, "aliasname"), "");
    ADJOIN_RETURN_IF_ERROR(RenameColumns(alias, range, -1));
    return Leaf(query.node, std::move(range));
  }

  absl::StatusOr<FromItem> BindFunction(const Json& body) {
    const Json& functions = ListOf(body, "functions");
    const Json& call = FieldOf(ListOf(FieldOf(functions.at(0), "List"), "items").at(0), "FuncCall");
    const std::string name = LastName(ListOf(call, "funcname"));
    const int location = LocationOf(call);
    if (functions.size() != 1 || FlagOf(body, "is_rowsfrom"))
      return state_.NotSupported("ROWS FROM", location);
    if (FlagOf(body, "ordinality")) return state_.NotSupported("WITH ORDINALITY", location);
    if (name != "generate_series") {
      return state_.NotSupported(
          absl::StrCat("function ", name.empty() ? "call" : name, " in FROM"), location);
    }
    ADJOIN_ASSIGN_OR_RETURN(const NodeRef series, BindSeries(state_, call, level_));
    const Json& alias = FieldOf(body, "alias");
    const std::string alias_name = TextOf(alias, "aliasname");
    Query query{series, {{alias_name.empty() ? name : alias_name, series->types[0], false}}};
    RangeVariable range = RangeOver(query, alias_name.empty() ? name : alias_name, "");
    ADJOIN_RETURN_IF_ERROR(RenameColumns(alias, range, location));
    return Leaf(series, std::move(range));
  }

  absl::StatusOr<FromItem> BindJoin(const Json& body) {
    ADJOIN_ASSIGN_OR_RETURN(FromItem left, Bind(FieldOf(body, "larg")));
    const std::string type = TextOf(body, "jointype");
    const bool swapped = type == "JOIN_RIGHT";
    const JoinKind kind = type == "JOIN_LEFT" || swapped ? JoinKind::kLeft
                          : type == "JOIN_FULL"          ? JoinKind::kFull
                                                         : JoinKind::kInner;
    const Json& rarg = FieldOf(body, "rarg");
    const bool lateral = IsLateral(rarg) && (type == "JOIN_INNER" || type == "JOIN_LEFT");
    FromItem right;
    if (!lateral) {
      ADJOIN_ASSIGN_OR_RETURN(right, Bind(rarg));
    }
    const size_t left_columns = left.names.columns.size();
    std::vector<std::string> shared;
    for (const Json& item : ListOf(body, "usingClause")) {
      const std::string name = StringValue(item);
      if (std::find(shared.begin(), shared.end(), name) != shared.end()) {
        return SqlError(
            sqlstate::kDuplicateColumn,
            absl::StrCat("column name \"", name, "\" appears more than once in USING clause"));
      }
      shared.push_back(name);
    }
    if (FlagOf(body, "isNatural") && lateral) return state_.NotSupported("NATURAL JOIN LATERAL");
    if (FlagOf(body, "isNatural")) shared = CommonNames(left.names, right.names);
    ADJOIN_ASSIGN_OR_RETURN(
        FromItem joined, lateral ? JoinLateral(std::move(left), rarg, kind)
                                 : Concatenate(std::move(left), std::move(right), kind, swapped));
    if (!shared.empty()) {
      ADJOIN_RETURN_IF_ERROR(MergeColumns(shared, left_columns, type, joined));
    }
    const Json& quals = FieldOf(body, "quals");
    if (kind == JoinKind::kInner && HasSubquery(quals)) {
      ADJOIN_RETURN_IF_ERROR(FilterJoined(quals, joined));
    } else if (!quals.is_null()) {
      const Context context{&level_, &joined.names, Clause::kJoin};
      ADJOIN_ASSIGN_OR_RETURN(const ExprRef on, BindCondition(state_, quals, context, "JOIN/ON"));
      for (const ExprRef& c : Conjuncts(on)) joined.tree->conditions.push_back(c);
    }
    if (Has(body, "join_using_alias")) {
      ADJOIN_RETURN_IF_ERROR(NameMerged(TextOf(FieldOf(body, "join_using_alias"), "aliasname"),
                                        shared.size(), joined.names));
    }
    if (Has(body, "alias")) ADJOIN_RETURN_IF_ERROR(HideBehindAlias(FieldOf(body, "alias"), joined));
    return joined;
  }

  static bool HasSubquery(const Json& node) {
    if (node.is_object() && node.contains("SubLink")) return true;
    return node.is_structured() && std::any_of(node.begin(), node.end(), HasSubquery);
  }

  // The condition of an inner join as the WHERE of a query of its own over both sides: what reads
  // subqueries needs the joined rows.
  absl::Status FilterJoined(const Json& condition, FromItem& joined) {
    Level level;
    level.id = state_.NewLevelId();
    level.outer = level_.outer;
    level.ctes = level_.ctes;
    level.names = joined.names;
    LevelPlan plan(state_, level);
    const int width = joined.tree->width;
    plan.SetFrom({std::move(joined.tree), {}});
    ADJOIN_RETURN_IF_ERROR(plan.BindWhere(condition));
    ADJOIN_RETURN_IF_ERROR(plan.Build());
    std::vector<ExprRef> columns;  // without the subqueries' values
    for (int c = 0; c < width; ++c)
      columns.push_back(ColumnExpr(c, plan.node()->types[static_cast<size_t>(c)]));
    joined.tree = MakeLeaf(MakeProject(state_.planner, std::move(columns), plan.node(), {}));
    return absl::OkStatus();
  }

  static std::vector<std::string> CommonNames(const Names& left, const Names& right) {
    std::vector<std::string> out;
    for (const VisibleColumn& a : left.columns) {
      for (const VisibleColumn& b : right.columns) {
        if (a.name == b.name && std::find(out.begin(), out.end(), a.name) == out.end())
          out.push_back(a.name);
      }
    }
    return out;
  }

  // The one column `name` of one side of a USING.
  absl::StatusOr<ExprRef> SharedColumn(const std::vector<VisibleColumn>& columns, size_t begin,
                                       size_t end, const std::string& name, std::string_view side) {
    ExprRef found;
    for (size_t i = begin; i < end; ++i) {
      if (columns[i].name != name) continue;
      if (found != nullptr) {
        return SqlError(sqlstate::kAmbiguousColumn,
                        absl::StrCat("common column name \"", name, "\" appears more than once in ",
                                     std::string(side), " table"));
      }
      found = columns[i].expr;
    }
    if (found != nullptr) return found;
    return SqlError(
        sqlstate::kUndefinedColumn,
        absl::StrCat("column \"", name, "\" specified in USING clause does not exist in ",
                     std::string(side), " table"));
  }

  // USING: equalities, and one visible column a name, in front: left's, right's for RIGHT, the
  // first that is not NULL for FULL; of the type that the two have in common.
  absl::Status MergeColumns(const std::vector<std::string>& shared, size_t left_columns,
                            std::string_view type, FromItem& joined) {
    std::vector<VisibleColumn>& columns = joined.names.columns;
    std::vector<VisibleColumn> merged;
    for (const std::string& name : shared) {
      ADJOIN_ASSIGN_OR_RETURN(const ExprRef left,
                              SharedColumn(columns, 0, left_columns, name, "left"));
      ADJOIN_ASSIGN_OR_RETURN(const ExprRef right,
                              SharedColumn(columns, left_columns, columns.size(), name, "right"));
      ADJOIN_RETURN_IF_ERROR(
          CommonType(std::vector<TypeId>{left->type, right->type}, "JOIN/USING").status());
      ADJOIN_ASSIGN_OR_RETURN(ExprRef equal, ResolveTyped(state_, "=", {{left}, {right}}, -1));
      joined.tree->conditions.push_back(std::move(equal));
      ADJOIN_ASSIGN_OR_RETURN(ExprRef value,
                              ResolveCall("coalesce", {left, right}, state_.options.weak_real));
      if (type != "JOIN_FULL") value = CastTo(type == "JOIN_RIGHT" ? right : left, value->type);
      merged.push_back({name, std::move(value), -1});
    }
    for (VisibleColumn& column : columns) {
      if (std::find(shared.begin(), shared.end(), column.name) == shared.end())
        merged.push_back(std::move(column));
    }
    columns = std::move(merged);
    return absl::OkStatus();
  }

  // a JOIN b USING (...) AS u: the merged columns, which come first, under one more name.
  static absl::Status NameMerged(std::string name, size_t merged, Names& names) {
    ADJOIN_RETURN_IF_ERROR(CheckNew(name, names));
    RangeVariable range;
    range.name = std::move(name);
    for (size_t i = 0; i < merged; ++i)
      range.columns.push_back({names.columns[i].name, names.columns[i].expr});
    names.ranges.push_back(std::move(range));
    return absl::OkStatus();
  }

  // (a JOIN b ...) AS j: j is the only name left.
  absl::Status HideBehindAlias(const Json& alias, FromItem& joined) {
    RangeVariable range;
    range.name = TextOf(alias, "aliasname");
    for (const VisibleColumn& column : joined.names.columns)
      range.columns.push_back({column.name, column.expr});
    ADJOIN_RETURN_IF_ERROR(RenameColumns(alias, range, -1));
    for (size_t i = 0; i < range.columns.size(); ++i)
      joined.names.columns[i].name = range.columns[i].name;
    // What is hidden stays, without names, for gradients to find the relation of a column.
    for (RangeVariable& hidden : joined.names.ranges) hidden.name.clear(), hidden.relation.clear();
    for (VisibleColumn& column : joined.names.columns)
      column.range = static_cast<int>(joined.names.ranges.size());
    joined.names.ranges.push_back(std::move(range));
    return absl::OkStatus();
  }

  BindState& state_;
  Level& level_;
  const LeafReplacements& replacements_;
  int next_leaf_ = 0;
};

}  // namespace

absl::StatusOr<FromItem> BindFrom(BindState& state, Level& level, const Json& list,
                                  const TargetTable* target, const LeafReplacements& replacements) {
  level.from_names.clear();
  FromBinder binder(state, level, replacements);
  FromItem out;
  if (target != nullptr) {
    Query query{target->node, {}};
    for (const Field& field : target->table.schema.fields)
      query.columns.push_back({field.name, field.type, false});
    RangeVariable range = FromBinder::RangeOver(
        query, target->alias.empty() ? target->name : target->alias, target->name);
    range.schema = target->table.schema;
    out = binder.Leaf(target->node, std::move(range));
  }
  for (const Json& node : list) {
    if (out.tree != nullptr && FromBinder::IsLateral(node)) {
      ADJOIN_ASSIGN_OR_RETURN(out, binder.JoinLateral(std::move(out), node, JoinKind::kInner));
      continue;
    }
    ADJOIN_ASSIGN_OR_RETURN(FromItem item, binder.Bind(node));
    if (out.tree == nullptr) {
      out = std::move(item);
    } else {
      ADJOIN_ASSIGN_OR_RETURN(
          out, binder.Concatenate(std::move(out), std::move(item), JoinKind::kInner));
    }
  }
  return out;
}

}  // namespace adjoin
