#include "plan/column_modifier.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

class Finder {
 public:
  NumericModifier Of(const NodeRef& node, int column) {
    if (node->types[static_cast<size_t>(column)] != TypeId::kDecimal) return {};
    const auto [it, is_new] = known_.try_emplace(std::pair(node.get(), column));
    if (!is_new) return it->second;
    const NumericModifier out = Find(node, column);
    return known_[std::pair(node.get(), column)] = out;
  }

 private:
  NumericModifier Find(const NodeRef& node, int column) {
    const auto at = static_cast<size_t>(column);
    if (const auto* scan = std::get_if<Scan>(&node->op)) return scan->schema.fields[at].modifier;
    if (const auto* project = std::get_if<Project>(&node->op))
      return Of(project->exprs[at], node->inputs[0]);
    if (const auto* group = std::get_if<GroupBy>(&node->op)) {
      return at < group->keys.size() ? Of(group->keys[at], node->inputs[0]) : NumericModifier();
    }
    if (std::holds_alternative<UnionAll>(node->op)) {
      return Common(node->inputs, [&](const NodeRef& input) { return Of(input, column); });
    }
    if (std::holds_alternative<Values>(node->op) || std::holds_alternative<Recursion>(node->op) ||
        std::holds_alternative<RecursionInput>(node->op) || node->inputs.empty())
      return {};
    // The others give their inputs' columns, then what they compute.
    for (const NodeRef& input : node->inputs) {
      if (column < input->width()) return Of(input, column);
      if (!std::holds_alternative<Join>(node->op)) break;
      column -= input->width();
    }
    return {};
  }

  NumericModifier Of(const ExprRef& expr, const NodeRef& input) {
    if (expr->kind == ExprKind::kColumn) return Of(input, expr->index);
    if (expr->kind != ExprKind::kCall || expr->type != TypeId::kDecimal) return {};
    const std::vector<ExprRef>& args = expr->args;
    std::vector<ExprRef> values;
    switch (expr->function->null_rule) {
      case NullRule::kCase:
        for (size_t i = 1; i < args.size(); i += 2) values.push_back(args[i]);
        if (args.size() % 2 == 1) values.push_back(args.back());
        break;
      case NullRule::kCoalesce:
      case NullRule::kGreatest:
      case NullRule::kLeast:
        values = args;
        break;
      case NullRule::kNullIf:
        return Of(args[0], input);
      default:
        if (expr->function->name != "numeric" || args.size() != 3) return {};
        return {static_cast<int16_t>(args[1]->constant.as_int()),
                static_cast<int16_t>(args[2]->constant.as_int())};
    }
    return Common(values, [&](const ExprRef& value) { return Of(value, input); });
  }

  template <typename T, typename F>
  NumericModifier Common(const std::vector<T>& parts, F&& of) {
    const NumericModifier first = of(parts[0]);
    for (const T& part : parts) {
      if (first.precision == 0 || !(of(part) == first)) return {};
    }
    return first;
  }

  absl::flat_hash_map<std::pair<const Node*, int>, NumericModifier> known_;
};

}  // namespace

NumericModifier ModifierOfColumn(const NodeRef& node, int column) {
  return Finder().Of(node, column);
}

}  // namespace adjoin
