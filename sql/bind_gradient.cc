#include "sql/bind_gradient.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/find_relation.h"
#include "sql/resolve_name.h"

namespace adjoin {
namespace {

// One Derivative: an f, an owner, and the owner's columns that some call asks for.
struct Group {
  const RangeVariable* owner;
  NodeRef f;
  NodeRef cotangent;         // null for grad
  std::vector<int> columns;  // of the owner
  std::vector<int> positions;
  std::vector<std::vector<const Json*>> calls;  // by column
};

std::string CallName(const Json& call) { return LastName(ListOf(call, "funcname")); }

class GradientPlanner {
 public:
  GradientPlanner(BindState& state, Level& level) : state_(state), level_(level) {}

  absl::StatusOr<LeafReplacements> Plan(const std::vector<const Json*>& calls) {
    for (const Json* call : calls) ADJOIN_RETURN_IF_ERROR(Add(*call));
    LeafReplacements out;
    for (const RangeVariable& range : level_.names.ranges) {
      std::vector<Group*> groups;
      for (Group& group : groups_) {
        if (group.owner == &range) groups.push_back(&group);
      }
      if (groups.empty()) continue;
      ADJOIN_ASSIGN_OR_RETURN(NodeRef node, Replace(range, groups));
      out.emplace(range.leaf, std::move(node));
    }
    return out;
  }

 private:
  absl::Status Add(const Json& call) {
    const std::string name = CallName(call);
    const int location = LocationOf(call);
    const Json& args = ListOf(call, "args");
    if (name == "jvp")
      return state_.Error(sqlstate::kFeatureNotSupported, "jvp is not supported yet", location);
    const size_t arity = name == "grad" ? 2 : 3;
    if (args.size() != arity) {
      return state_.Error(
          sqlstate::kUndefinedFunction,
          absl::StrCat(name, " takes ", arity, " arguments, and it has ", args.size()), location);
    }
    ADJOIN_ASSIGN_OR_RETURN(const Relation f, RelationArgument(args[0], name, "first"));
    const std::string f_name = ArgumentName(args[0]);
    NodeRef cotangent;
    if (name == "vjp") {
      ADJOIN_ASSIGN_OR_RETURN(const Relation relation, RelationArgument(args[2], name, "third"));
      cotangent = relation.query.node;
      if (relation.query.columns.size() != f.query.columns.size()) {
        return state_.Error(sqlstate::kDatatypeMismatch,
                            absl::StrCat("cotangent \"", ArgumentName(args[2]), "\" has ",
                                         relation.query.columns.size(), " columns, but \"", f_name,
                                         "\" has ", f.query.columns.size()),
                            StartOf(args[2]));
      }
    } else if (f.query.columns.size() != 1) {
      return state_.Error(
          sqlstate::kNotScalar,
          absl::StrCat("grad of \"", f_name, "\" needs one row and one column, and it has ",
                       f.query.columns.size(), " columns"),
          StartOf(args[0]));
    }
    ADJOIN_ASSIGN_OR_RETURN(const Column column, ColumnArgument(args[1], name));
    ADJOIN_RETURN_IF_ERROR(CheckColumn(column, f_name, f.query.node));
    AddToGroup(call, column, f.query.node, cotangent);
    return absl::OkStatus();
  }

  static std::string ArgumentName(const Json& arg) {
    const auto [tag, body] = Unwrap(arg);
    return tag == "ColumnRef" ? LastName(ListOf(*body, "fields")) : std::string();
  }

  absl::StatusOr<Relation> RelationArgument(const Json& arg, std::string_view call,
                                            std::string_view which) {
    const auto [tag, body] = Unwrap(arg);
    const bool is_name =
        tag == "ColumnRef" && ListOf(*body, "fields").size() == 1 && !ArgumentName(arg).empty();
    if (!is_name) {
      return state_.Error(sqlstate::kWrongObjectType,
                          absl::StrCat("the ", ToAbsl(which), " argument of ", ToAbsl(call),
                                       " must be the name of a relation"),
                          StartOf(arg));
    }
    return FindRelation(state_, ArgumentName(arg), level_.ctes, LocationOf(*body));
  }

  struct Column {
    const RangeVariable* owner = nullptr;
    int index = 0;
    int location = -1;
  };
  absl::StatusOr<Column> ColumnArgument(const Json& arg, std::string_view call) {
    const auto [tag, body] = Unwrap(arg);
    const int location = StartOf(arg);
    if (tag != "ColumnRef") {
      return state_.Error(
          sqlstate::kWrongObjectType,
          absl::StrCat("the second argument of ", ToAbsl(call), " must be a column"), location);
    }
    // Names resolve at this level alone: a gradient has a row for each row of this query's
    // relation.
    Level here;
    here.id = level_.id;
    here.from_names = level_.from_names;
    const Context context{&here, &level_.names, Clause::kSelect};
    ADJOIN_ASSIGN_OR_RETURN(const Typed value, ResolveColumn(state_, *body, context));
    for (const RangeVariable& range : level_.names.ranges) {
      const int index = value.expr->index - range.first_column;
      const bool owns = value.expr->kind == ExprKind::kColumn && range.node != nullptr &&
                        index >= 0 && index < range.node->width();
      if (owns) return Column{&range, index, location};
    }
    return state_.NotSupported(absl::StrCat(ToAbsl(call), " by a column that USING merged"),
                               location);
  }

  absl::Status CheckColumn(const Column& column, const std::string& f_name, const NodeRef& f) {
    const RangeVariable& owner = *column.owner;
    const TypeId type = owner.node->types[static_cast<size_t>(column.index)];
    const std::string& name = owner.columns[static_cast<size_t>(column.index)].name;
    if (!state_.Reads(f, Plain(owner))) {
      return state_.Error(sqlstate::kUndefinedColumn,
                          absl::StrCat("\"", f_name, "\" does not read \"",
                                       owner.relation.empty() ? owner.name : owner.relation,
                                       "\", which column \"", name, "\" belongs to"),
                          column.location);
    }
    if (IsFloat(type)) return absl::OkStatus();
    return state_.Error(sqlstate::kInvalidDerivativeColumn,
                        absl::StrCat("column \"", name, "\" of type ", ToAbsl(TypeName(type)),
                                     " cannot be differentiated"),
                        column.location);
  }

  // The relation itself: of the target of UPDATE, the scan below its row ids.
  static const NodeRef& Plain(const RangeVariable& range) {
    return std::holds_alternative<RowId>(range.node->op) ? range.node->inputs[0] : range.node;
  }

  void AddToGroup(const Json& call, const Column& column, const NodeRef& f,
                  const NodeRef& cotangent) {
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
      return g.owner == column.owner && g.f == f && g.cotangent == cotangent;
    });
    if (group == groups_.end())
      group = groups_.insert(group, Group{column.owner, f, cotangent, {}, {}, {}});
    const auto known = std::find(group->columns.begin(), group->columns.end(), column.index);
    const size_t at = static_cast<size_t>(known - group->columns.begin());
    if (known == group->columns.end()) {
      group->columns.push_back(column.index);
      group->positions.push_back(state_.Position(column.location).value_or(0));
      group->calls.emplace_back();
    }
    group->calls[at].push_back(&call);
  }

  // The owner's columns, then a gradient for each column of each group; notes where each call finds
  // its own.
  absl::StatusOr<NodeRef> Replace(const RangeVariable& range, const std::vector<Group*>& groups) {
    Planner& planner = state_.planner;
    const bool has_row_id = std::holds_alternative<RowId>(range.node->op);
    const NodeRef base =
        groups.size() > 1 && !has_row_id ? planner.Make(RowId{}, {range.node}) : range.node;
    const ExprRef row_id = ColumnExpr(base->width() - 1, TypeId::kInt64);
    NodeRef out;
    for (const Group* group : groups) {
      std::vector<NodeRef> inputs = {group->f, base};
      if (group->cotangent != nullptr) inputs.push_back(group->cotangent);
      NodeRef derivative =
          planner.Make(Derivative{group->columns, group->positions}, std::move(inputs));
      ADJOIN_ASSIGN_OR_RETURN(derivative, RequireIdentity(range, *group, derivative));
      int first = base->width();
      if (out == nullptr) {
        out = derivative;
      } else {
        Project gradients{{row_id}};
        for (size_t i = 0; i < group->columns.size(); ++i) {
          const int column = base->width() + static_cast<int>(i);
          gradients.exprs.push_back(
              ColumnExpr(column, derivative->types[static_cast<size_t>(column)]));
        }
        first = out->width() + 1;
        const NodeRef right = planner.Make(std::move(gradients), {derivative});
        out = planner.Make(Lookup{{row_id}, {ColumnExpr(0, TypeId::kInt64)}}, {out, right});
      }
      Note(range, *group, first);
    }
    return out;
  }

  void Note(const RangeVariable& range, const Group& group, int first) {
    for (size_t i = 0; i < group.columns.size(); ++i) {
      const TypeId type = range.node->types[static_cast<size_t>(group.columns[i])];
      for (const Json* call : group.calls[i]) {
        level_.gradients[call] = {range.leaf, first + static_cast<int>(i), type};
      }
    }
  }

  // A base table without a key that stays: its other columns must tell its rows apart.
  absl::StatusOr<NodeRef> RequireIdentity(const RangeVariable& range, const Group& group,
                                          const NodeRef& derivative) {
    if (!range.schema.has_value()) return derivative;
    const auto differentiated = [&](int c) {
      return std::find(group.columns.begin(), group.columns.end(), c) != group.columns.end();
    };
    const std::vector<int>& dims = range.schema->dims;
    if (!dims.empty() && std::none_of(dims.begin(), dims.end(), differentiated)) return derivative;
    std::vector<int> others;
    for (int c = 0; c < static_cast<int>(range.schema->fields.size()); ++c) {
      if (!differentiated(c)) others.push_back(c);
    }
    const std::string name = range.relation.empty() ? range.name : range.relation;
    const std::string message = absl::StrCat(
        "the columns of \"", name, "\" that are not differentiated do not identify its rows");
    if (others.empty()) return SqlError(sqlstate::kInvalidDerivativeColumn, message);
    return state_.planner.Make(Require{Require::What::kUnique, std::move(others),
                                       std::string(sqlstate::kInvalidDerivativeColumn), message},
                               {derivative});
  }

  BindState& state_;
  Level& level_;
  std::vector<Group> groups_;
};

}  // namespace

bool IsGradientCall(std::string_view name) {
  return name == "grad" || name == "vjp" || name == "jvp";
}

absl::StatusOr<ExprRef> BindGradientCall(BindState& state, std::string_view name, const Json& body,
                                         const Context& context) {
  const int location = LocationOf(body);
  const auto it = context.level->gradients.find(&body);
  if (it == context.level->gradients.end()) {
    return state.NotSupported(absl::StrCat(ToAbsl(name), " in this place"), location);
  }
  const GradientColumn& gradient = it->second;
  for (const RangeVariable& range : context.names->ranges) {
    if (range.leaf != gradient.leaf) continue;
    const int column = range.first_column + gradient.column;
    if (!context.in_aggregate) context.level->column_locations.try_emplace(column, location);
    return ColumnExpr(column, gradient.type);
  }
  return state.NotSupported(absl::StrCat(ToAbsl(name), " in this place"), location);
}

std::vector<const Json*> CollectGradientCalls(const std::vector<const Json*>& roots) {
  std::vector<const Json*> out, todo(roots.rbegin(), roots.rend());
  while (!todo.empty()) {
    const Json& node = *todo.back();
    todo.pop_back();
    if (node.is_array()) {
      for (auto it = node.rbegin(); it != node.rend(); ++it) todo.push_back(&*it);
    } else if (node.is_object()) {
      for (const auto& [key, value] : node.items()) {
        if (key == "subselect") continue;
        if (key == "FuncCall" && IsGradientCall(CallName(value))) out.push_back(&value);
        todo.push_back(&value);
      }
    }
  }
  return out;
}

absl::StatusOr<LeafReplacements> PlanGradients(BindState& state, Level& level,
                                               const std::vector<const Json*>& calls) {
  return GradientPlanner(state, level).Plan(calls);
}

}  // namespace adjoin
