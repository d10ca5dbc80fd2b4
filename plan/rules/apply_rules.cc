#include <utility>

#include "absl/container/flat_hash_map.h"
#include "plan/rules.h"

namespace adjoin {

void ApplyRules(Statement* statement, Planner& planner, const PlanOptions& options,
                ShapeOf shape_of) {
  if (!options.contraction) return;
  std::vector<NodeRef> roots;
  for (const Statement::Output& output : statement->outputs) roots.push_back(output.plan);
  const std::vector<NodeRef> order = TopologicalOrder(roots);

  DimExtents extents(std::move(shape_of));
  Replacements rewritten;
  absl::flat_hash_set<const Node*> kept;
  for (const NodeRef& node : order) {
    if (!std::holds_alternative<Derivative>(node->op)) continue;
    const NodeRef& wrt = node->inputs[1];
    kept.insert(wrt.get());
    if (std::holds_alternative<RowId>(wrt->op)) kept.insert(wrt->inputs[0].get());
  }
  for (const NodeRef& node : order) {
    NodeRef now = OverReplacements(node, rewritten, planner);
    if (kept.contains(node.get())) {
      kept.insert(now.get());
    } else if (NodeRef ordered = OrderContraction(now, planner, kept, extents)) {
      now = std::move(ordered);
    } else if (NodeRef better = RecogniseContraction(now, planner, kept)) {
      now = std::move(better);
    }
    rewritten[node.get()] = std::move(now);
  }
  for (Statement::Output& output : statement->outputs) output.plan = rewritten[output.plan.get()];
}

}  // namespace adjoin
