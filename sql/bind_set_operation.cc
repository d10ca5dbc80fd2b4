#include "sql/bind_set_operation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/bind_expr.h"
#include "sql/order_output.h"

namespace adjoin {
namespace {

std::string_view Construct(std::string_view op) {
  return op.substr(op.find('_') + 1);
}  // SETOP_UNION -> UNION

// The operands of a chain of one operator: a UNION ALL b UNION ALL c is a list of three.
void Flatten(const Json& body, std::vector<const Json*>& out) {
  std::vector<const Json*> reversed;
  const Json* node = &body;
  while (true) {
    reversed.push_back(&FieldOf(*node, "rarg"));
    const Json& left = FieldOf(*node, "larg");
    const bool same =
        TextOf(left, "op") == TextOf(body, "op") && FlagOf(left, "all") == FlagOf(body, "all") &&
        TextOf(body, "op") == "SETOP_UNION" && !Has(left, "sortClause") &&
        !Has(left, "limitCount") && !Has(left, "limitOffset") && !Has(left, "withClause");
    if (!same) {
      reversed.push_back(&left);
      break;
    }
    node = &left;
  }
  out.assign(reversed.rbegin(), reversed.rend());
}

int FirstTargetLocation(const Json& body) {
  if (Has(body, "larg")) return FirstTargetLocation(FieldOf(body, "larg"));
  const Json& targets = ListOf(body, "targetList");
  return targets.empty() ? -1 : StartOf(targets[0]);
}

int TargetLocation(const Json& body, size_t column) {
  const Json& targets = ListOf(body, "targetList");
  return column < targets.size() ? StartOf(targets[column]) : -1;
}

class SetOperationBinder {
 public:
  SetOperationBinder(BindState& state, const Json& body, const QueryContext& context)
      : state_(state), body_(body), context_(context), op_(TextOf(body, "op")) {}

  absl::StatusOr<Query> Bind() {
    Flatten(body_, operands_);
    for (const Json* operand : operands_) {
      ADJOIN_ASSIGN_OR_RETURN(Query query, BindOperand(*operand, {}));
      queries_.push_back(std::move(query));
    }
    ADJOIN_RETURN_IF_ERROR(CheckWidths());
    Query out = queries_[0];
    for (size_t column = 0; column < out.columns.size(); ++column) {
      ADJOIN_RETURN_IF_ERROR(Unify(column, out.columns[column]));
    }
    std::vector<NodeRef> inputs;
    for (size_t i = 0; i < queries_.size(); ++i) {
      ADJOIN_ASSIGN_OR_RETURN(NodeRef node, Cast(i, out.columns));
      inputs.push_back(std::move(node));
    }
    ADJOIN_ASSIGN_OR_RETURN(out.node, Combine(std::move(inputs)));
    ADJOIN_RETURN_IF_ERROR(OrderOutput(state_, body_, Construct(op_), context_.ctes, out));
    return out;
  }

 private:
  absl::StatusOr<Query> BindOperand(const Json& operand,
                                    std::vector<std::optional<TypeId>> wanted) {
    return BindSelectBody(
        state_, operand,
        {context_.outer, context_.around, context_.ctes, std::move(wanted), false});
  }

  absl::Status CheckWidths() {
    for (size_t i = 1; i < queries_.size(); ++i) {
      if (queries_[i].columns.size() == queries_[0].columns.size()) continue;
      return state_.Error(sqlstate::kSyntaxError,
                          absl::StrCat("each ", ToAbsl(Construct(op_)),
                                       " query must have the same number of columns"),
                          FirstTargetLocation(*operands_[i]));
    }
    return absl::OkStatus();
  }

  // The column's common type; where all operands leave it open it stays open.
  absl::Status Unify(size_t column, OutputColumn& out) {
    std::vector<Typed> values;
    for (size_t i = 0; i < queries_.size(); ++i) {
      const OutputColumn& c = queries_[i].columns[column];
      values.push_back(
          OutputValue(state_, c, static_cast<int>(column), TargetLocation(*operands_[i], column)));
    }
    ADJOIN_ASSIGN_OR_RETURN(const CommonTyping common,
                            CommonTypeOf(state_, values, Construct(op_)));
    const std::optional<TypeId> wanted = context_.WantedAt(column);
    out.type = TakesType(common.open, common.written, wanted) ? *wanted : common.type;
    out.unknown = common.open;
    out.written = common.written;
    return absl::OkStatus();
  }

  // The operand with columns of the common types: bound again where that settles constants, else
  // cast.
  absl::StatusOr<NodeRef> Cast(size_t operand, const std::vector<OutputColumn>& columns) {
    std::vector<std::optional<TypeId>> wanted;
    bool again = false;
    for (size_t i = 0; i < columns.size(); ++i) {
      const OutputColumn& own = queries_[operand].columns[i];
      wanted.push_back(columns[i].type);
      again |= own.type != columns[i].type && TakesType(own.unknown, own.written, columns[i].type);
    }
    if (again) {
      ADJOIN_ASSIGN_OR_RETURN(queries_[operand],
                              BindOperand(*operands_[operand], std::move(wanted)));
    }
    const NodeRef& node = queries_[operand].node;
    std::vector<ExprRef> exprs;
    for (size_t i = 0; i < columns.size(); ++i) {
      const ExprRef column = ColumnExpr(static_cast<int>(i), node->types[i]);
      ADJOIN_ASSIGN_OR_RETURN(ExprRef cast, ResolveCast(column, columns[i].type));
      exprs.push_back(std::move(cast));
    }
    return MakeProject(state_.planner, std::move(exprs), node, node->names);
  }

  absl::StatusOr<NodeRef> Combine(std::vector<NodeRef> inputs) {
    Planner& planner = state_.planner;
    const bool all = FlagOf(body_, "all");
    if (op_ == "SETOP_UNION") {
      NodeRef node = planner.Make(UnionAll{}, std::move(inputs));
      return all ? node : MakeDistinct(planner, std::move(node));
    }
    // Rows of the left that the right has (INTERSECT) or lacks (EXCEPT), NULLs being equal. ALL:
    // equal rows are told apart by their number.
    for (NodeRef& input : inputs) {
      std::vector<ExprRef> columns;
      for (int i = 0; i < input->width(); ++i)
        columns.push_back(ColumnExpr(i, input->types[static_cast<size_t>(i)]));
      if (all) input = NumberRows(planner, input, std::move(columns), {});
    }
    Join join{op_ == "SETOP_INTERSECT" ? JoinKind::kSemi : JoinKind::kAnti, {}, nullptr};
    for (int i = 0; i < inputs[0]->width(); ++i) {
      const ExprRef column = ColumnExpr(i, inputs[0]->types[static_cast<size_t>(i)]);
      join.keys.push_back({column, column, /*null_safe=*/true});
    }
    NodeRef node = planner.Make(std::move(join), std::move(inputs));
    return all ? DropLast(planner, node) : MakeDistinct(planner, std::move(node));
  }

  BindState& state_;
  const Json& body_;
  const QueryContext& context_;
  const std::string op_;
  std::vector<const Json*> operands_;
  std::vector<Query> queries_;
};

}  // namespace

Typed OutputValue(BindState& state, const OutputColumn& column, int index, int location) {
  Typed out{ColumnExpr(index, column.type), column.unknown, location};
  if (column.written) state.NoteExact(out.expr, ColumnExpr(index, TypeId::kDecimal));
  return out;
}

absl::StatusOr<Query> BindSetOperation(BindState& state, const Json& body,
                                       const QueryContext& context) {
  return SetOperationBinder(state, body, context).Bind();
}

}  // namespace adjoin
