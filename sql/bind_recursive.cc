#include "sql/bind_recursive.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/bind_aggregate.h"
#include "sql/bind_expr.h"
#include "sql/tree.h"

namespace adjoin {
namespace {

constexpr std::string_view kInvalidRecursion = "42P19";

// References of an item to itself, and where they may not stand.
class SelfReferences {
 public:
  SelfReferences(const BindState& state, std::string_view name) : state_(state), name_(name) {}

  // The place of the first reference; -1: none.
  int FirstIn(const Json& tree) const {
    if (tree.is_array()) {
      for (const Json& part : tree) {
        if (const int at = FirstIn(part); at >= 0) return at;
      }
      return -1;
    }
    if (!tree.is_object()) return -1;
    if (tree.contains("relname") && IsSelf(tree)) return std::max(LocationOf(tree), 0);
    for (const auto& [key, part] : tree.items()) {
      if (const int at = FirstIn(part); at >= 0) return at;
    }
    return -1;
  }

  absl::Status NotWithin(const Json& tree, std::string_view place) const {
    const int at = FirstIn(tree);
    if (at < 0) return absl::OkStatus();
    return state_.Error(kInvalidRecursion,
                        absl::StrCat("recursive reference to query \"", ToAbsl(name_),
                                     "\" must not appear within ", ToAbsl(place)),
                        at);
  }

  // The recursive term: a SelectStmt body.
  absl::Status CheckTerm(const Json& body) {
    const std::string op = TextOf(body, "op");
    if (op == "SETOP_EXCEPT") {
      ADJOIN_RETURN_IF_ERROR(CheckTerm(FieldOf(body, "larg")));
      return NotWithin(FieldOf(body, "rarg"), "EXCEPT");
    }
    if (op != "SETOP_NONE" && !op.empty()) {
      ADJOIN_RETURN_IF_ERROR(CheckTerm(FieldOf(body, "larg")));
      return CheckTerm(FieldOf(body, "rarg"));
    }
    for (const Json& item : ListOf(body, "fromClause")) ADJOIN_RETURN_IF_ERROR(CheckFrom(item));
    for (const char* clause : {"targetList", "whereClause", "groupClause", "havingClause",
                               "sortClause", "limitCount", "limitOffset", "valuesLists"}) {
      ADJOIN_RETURN_IF_ERROR(NotWithin(FieldOf(body, clause), "a subquery"));
    }
    for (const char* clause : {"targetList", "havingClause", "sortClause"}) {
      if (FirstIn(ListOf(body, "fromClause")) < 0) break;
      ADJOIN_RETURN_IF_ERROR(NoAggregate(FieldOf(body, clause)));
    }
    return absl::OkStatus();
  }

 private:
  bool IsSelf(const Json& range_var) const {
    return TextOf(range_var, "relname") == name_ && TextOf(range_var, "schemaname").empty();
  }

  absl::Status CheckFrom(const Json& item) {
    const auto [tag, body] = Unwrap(item);
    if (tag == "RangeVar" && IsSelf(*body)) {
      if (++seen_ == 1) return absl::OkStatus();
      return state_.Error(kInvalidRecursion,
                          absl::StrCat("recursive reference to query \"", ToAbsl(name_),
                                       "\" must not appear more than once"),
                          LocationOf(*body));
    }
    if (tag == "RangeSubselect")
      return CheckTerm(FieldOf(FieldOf(*body, "subquery"), "SelectStmt"));
    if (tag != "JoinExpr") return absl::OkStatus();
    const std::string type = TextOf(*body, "jointype");
    for (const char* side : {"larg", "rarg"}) {
      const bool padded =
          type == "JOIN_FULL" || type == (side[0] == 'l' ? "JOIN_RIGHT" : "JOIN_LEFT");
      ADJOIN_RETURN_IF_ERROR(padded ? NotWithin(FieldOf(*body, side), "an outer join")
                                    : CheckFrom(FieldOf(*body, side)));
    }
    return NotWithin(FieldOf(*body, "quals"), "a subquery");
  }

  absl::Status NoAggregate(const Json& tree) const {
    if (tree.is_array()) {
      for (const Json& part : tree) ADJOIN_RETURN_IF_ERROR(NoAggregate(part));
    }
    if (!tree.is_object() || tree.contains("SubLink")) return absl::OkStatus();
    if (tree.contains("FuncCall")) {
      const Json& call = tree["FuncCall"];
      if (IsAggregate(LastName(ListOf(call, "funcname"))) && !Has(call, "over")) {
        return state_.Error(
            kInvalidRecursion,
            "aggregate functions are not allowed in a recursive query's recursive term",
            LocationOf(call));
      }
    }
    for (const auto& [key, part] : tree.items()) ADJOIN_RETURN_IF_ERROR(NoAggregate(part));
    return absl::OkStatus();
  }

  const BindState& state_;
  const std::string_view name_;
  int seen_ = 0;
};

absl::Status CheckForm(const BindState& state, const std::string& name, const Json& item,
                       const Json& body) {
  if (TextOf(body, "op") != "SETOP_UNION") {
    return state.Error(kInvalidRecursion,
                       absl::StrCat("recursive query \"", name,
                                    "\" does not have the form non-recursive-term UNION [ALL] "
                                    "recursive-term"),
                       LocationOf(item));
  }
  SelfReferences self(state, name);
  ADJOIN_RETURN_IF_ERROR(self.NotWithin(FieldOf(body, "larg"), "its non-recursive term"));
  for (const auto& [clause, what] :
       {std::pair("sortClause", "ORDER BY"), std::pair("limitOffset", "OFFSET"),
        std::pair("limitCount", "LIMIT")}) {
    const Json& part = FieldOf(body, clause);
    if (part.is_null() || part.empty()) continue;
    const Json& first = part.is_array() ? FieldOf(FieldOf(part[0], "SortBy"), "node") : part;
    return state.Error(sqlstate::kFeatureNotSupported,
                       absl::StrCat(what, " in a recursive query is not implemented"),
                       StartOf(first));
  }
  ADJOIN_RETURN_IF_ERROR(self.NotWithin(FieldOf(body, "withClause"), "a subquery"));
  return self.CheckTerm(FieldOf(body, "rarg"));
}

// Makes a body of a plan that reads the working table: what does not depend on it becomes an input
// of the recursion, which is computed once.
class BodyMaker {
 public:
  BodyMaker(BindState& state, int id) : state_(state), id_(id) {}

  absl::StatusOr<NodeRef> Make(const NodeRef& plan, std::vector<NodeRef>& inputs) {
    absl::flat_hash_map<const Node*, NodeRef> made;  // of nodes that depend on the working table
    for (const NodeRef& node : TopologicalOrder({plan})) {
      const auto* read = std::get_if<RecursionInput>(&node->op);
      if (read != nullptr && read->id == id_) made.emplace(node.get(), node);
      const bool depends =
          std::any_of(node->inputs.begin(), node->inputs.end(),
                      [&](const NodeRef& input) { return made.contains(input.get()); });
      if (!depends) continue;
      if (std::holds_alternative<Derivative>(node->op))
        return state_.NotSupported("a derivative inside of WITH RECURSIVE");
      std::vector<NodeRef> own;
      for (const NodeRef& input : node->inputs) {
        const auto it = made.find(input.get());
        own.push_back(it == made.end() ? Input(input, inputs) : it->second);
      }
      made.emplace(node.get(), state_.planner.Make(node->op, std::move(own), node->names));
    }
    const auto it = made.find(plan.get());
    return it == made.end() ? Input(plan, inputs) : it->second;
  }

 private:
  NodeRef Input(const NodeRef& node, std::vector<NodeRef>& inputs) const {
    auto it = std::find(inputs.begin() + 1, inputs.end(), node);
    const auto number = static_cast<int>(it - inputs.begin());
    if (it == inputs.end()) inputs.push_back(node);
    return state_.planner.Make(RecursionInput{id_, number, node->types}, {}, node->names);
  }

  BindState& state_;
  const int id_;
};

int TargetLocation(const Json& body, size_t column) {
  if (Has(body, "larg")) return TargetLocation(FieldOf(body, "larg"), column);
  const Json& targets = ListOf(body, "targetList");
  return column < targets.size() ? StartOf(targets[column]) : -1;
}

// The recursive term with the types of the other, which the types of both together must be.
absl::StatusOr<NodeRef> WithTypesOf(BindState& state, const std::string& name, const Json& body,
                                    const Query& base, const Query& term) {
  const Json& left = FieldOf(body, "larg");
  const Json& right = FieldOf(body, "rarg");
  if (base.columns.size() != term.columns.size()) {
    return state.Error(sqlstate::kSyntaxError,
                       "each UNION query must have the same number of columns",
                       TargetLocation(right, 0));
  }
  std::vector<ExprRef> exprs;
  for (size_t i = 0; i < base.columns.size(); ++i) {
    const TypeId type = base.columns[i].type;
    const ExprRef column = ColumnExpr(static_cast<int>(i), term.node->types[i]);
    const std::vector<Typed> both = {
        {ColumnExpr(static_cast<int>(i), type), false, TargetLocation(left, i)},
        {column, term.columns[i].unknown, TargetLocation(right, i)}};
    ADJOIN_ASSIGN_OR_RETURN(const CommonTyping common, CommonTypeOf(state, both, "UNION"));
    if (common.type != type) {
      return state.ErrorWithDetail(
          sqlstate::kDatatypeMismatch,
          absl::StrCat("recursive query \"", name, "\" column ", i + 1, " has type ",
                       ToAbsl(TypeName(type)), " in non-recursive term but type ",
                       ToAbsl(TypeName(common.type)), " overall"),
          "", "Cast the output of the non-recursive term to the correct type.", both[0].location);
    }
    ADJOIN_ASSIGN_OR_RETURN(ExprRef cast, ResolveCast(column, type));
    exprs.push_back(std::move(cast));
  }
  return MakeProject(state.planner, std::move(exprs), term.node, term.node->names);
}

}  // namespace

bool ReadsItself(const Json& body, std::string_view name) {
  if (body.is_array()) {
    return std::any_of(body.begin(), body.end(),
                       [&](const Json& part) { return ReadsItself(part, name); });
  }
  if (!body.is_object()) return false;
  if (TextOf(body, "relname") == name && TextOf(body, "schemaname").empty()) return true;
  return std::any_of(body.begin(), body.end(),
                     [&](const Json& part) { return ReadsItself(part, name); });
}

absl::StatusOr<Query> BindRecursive(BindState& state, const Json& item, const Json& body,
                                    const QueryContext& context, CteScope& scope,
                                    const std::function<absl::Status(Query&)>& name_columns) {
  const std::string name = TextOf(item, "ctename");
  ADJOIN_RETURN_IF_ERROR(CheckForm(state, name, item, body));
  if (Has(body, "withClause")) return state.NotSupported("WITH inside of a recursive query");
  QueryContext inner = context;
  ADJOIN_ASSIGN_OR_RETURN(Query out, BindSelectBody(state, FieldOf(body, "larg"), inner));
  ADJOIN_RETURN_IF_ERROR(name_columns(out));
  const int id = state.NewRecursionId();
  const NodeRef base = out.node;
  out.node = state.planner.Make(RecursionInput{id, 0, base->types}, {}, base->names);
  for (const OutputColumn& column : out.columns) inner.wanted.push_back(column.type);
  scope.ctes.push_back({name, out});
  absl::StatusOr<Query> term = BindSelectBody(state, FieldOf(body, "rarg"), inner);
  scope.ctes.pop_back();
  ADJOIN_RETURN_IF_ERROR(term.status());
  ADJOIN_ASSIGN_OR_RETURN(const NodeRef plan, WithTypesOf(state, name, body, out, *term));
  std::vector<NodeRef> inputs = {base};
  ADJOIN_ASSIGN_OR_RETURN(NodeRef made, BodyMaker(state, id).Make(plan, inputs));
  out.node = state.planner.Make(Recursion{id, std::move(made), !FlagOf(body, "all")},
                                std::move(inputs), base->names);
  return out;
}

}  // namespace adjoin
