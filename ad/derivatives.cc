#include "ad/derivatives.h"

#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ad/reverse.h"
#include "engine/status.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// Derivative nodes of one function and cotangent, which share a backward pass.
struct Family {
  std::vector<NodeRef> members;
};
using FamilyKey = std::pair<const Node*, const Node*>;

class Resolver {
 public:
  Resolver(Statement* statement, Planner& planner) : statement_(statement), planner_(planner) {}

  absl::Status Run() {
    std::vector<NodeRef> roots;
    for (const Statement::Output& output : statement_->outputs) roots.push_back(output.plan);
    const std::vector<NodeRef> order = TopologicalOrder(roots);
    for (const NodeRef& node : order) {
      if (std::holds_alternative<Derivative>(node->op))
        families_[KeyOf(*node)].members.push_back(node);
    }
    if (families_.empty()) return absl::OkStatus();
    for (const NodeRef& node : order) {
      if (resolved_.contains(node.get())) continue;
      if (std::holds_alternative<Derivative>(node->op)) {
        ADJOIN_RETURN_IF_ERROR(ResolveFamily(families_[KeyOf(*node)]));
      } else {
        resolved_[node.get()] = OverReplacements(node, resolved_, planner_);
      }
    }
    for (Statement::Output& output : statement_->outputs)
      output.plan = resolved_[output.plan.get()];
    return absl::OkStatus();
  }

 private:
  static FamilyKey KeyOf(const Node& n) {
    return {n.inputs[0].get(), n.inputs.size() > 2 ? n.inputs[2].get() : nullptr};
  }

  // What the derivative is by: a node, and whether its result carries RowId(node)'s ids.
  struct Wrt {
    NodeRef node;
    bool rowid;
  };
  absl::StatusOr<Wrt> WrtOf(const Node& derivative, const absl::flat_hash_set<const Node*>& read) {
    // The wrt relation is part of the function, so its own Derivatives have been resolved with it;
    // if it is not part of it, its inputs may be unresolved still, and it is an error anyway.
    auto it = resolved_.find(derivative.inputs[1].get());
    NodeRef node = it != resolved_.end() ? it->second : derivative.inputs[1];
    if (read.contains(node.get())) return Wrt{node, false};
    if (std::holds_alternative<RowId>(node->op) && read.contains(node->inputs[0].get())) {
      return Wrt{node->inputs[0], true};
    }
    const auto& d = std::get<Derivative>(derivative.op);
    const size_t column = static_cast<size_t>(d.columns[0]);
    absl::Status error =
        SqlError(sqlstate::kUndefinedColumn,
                 absl::StrCat("column \"", node->names[column],
                              "\" is of a relation that the function does not read"));
    return d.positions.empty() || d.positions[0] <= 0 ? error : WithPosition(error, d.positions[0]);
  }

  absl::Status ResolveFamily(const Family& family) {
    const Node& first = *family.members[0];
    const NodeRef function = resolved_[first.inputs[0].get()];
    const NodeRef cotangent = first.inputs.size() > 2 ? resolved_[first.inputs[2].get()] : nullptr;
    absl::flat_hash_set<const Node*> read;
    for (const NodeRef& n : TopologicalOrder({function})) read.insert(n.get());

    absl::flat_hash_map<const Node*, std::vector<int>> wrt;
    absl::flat_hash_set<const Node*> with_rowid;
    std::vector<Wrt> of_member;
    int position = 0;
    for (const NodeRef& member : family.members) {
      ADJOIN_ASSIGN_OR_RETURN(Wrt w, WrtOf(*member, read));
      const auto& d = std::get<Derivative>(member->op);
      if (position == 0 && !d.positions.empty()) position = d.positions[0];
      std::vector<int>& columns = wrt[w.node.get()];
      columns.insert(columns.end(), d.columns.begin(), d.columns.end());
      if (w.rowid) with_rowid.insert(w.node.get());
      of_member.push_back(std::move(w));
    }
    Reverse reverse(planner_, function, std::move(wrt), std::move(with_rowid));
    if (absl::Status status = reverse.Run(cotangent); !status.ok()) {
      return position > 0 ? WithPosition(std::move(status), position) : status;
    }
    for (size_t m = 0; m < family.members.size(); ++m) {
      const NodeRef& member = family.members[m];
      resolved_[member.get()] = reverse.Gradient(
          of_member[m].node, std::get<Derivative>(member->op).columns, of_member[m].rowid);
    }
    return absl::OkStatus();
  }

  Statement* statement_;
  Planner& planner_;
  std::map<FamilyKey, Family> families_;
  absl::flat_hash_map<const Node*, NodeRef> resolved_;
};

}  // namespace

absl::Status ResolveDerivatives(Statement* statement, Planner& planner) {
  return Resolver(statement, planner).Run();
}

}  // namespace adjoin
