// Boxes that a statement makes of series, generate_series(..) or VALUES (0), (1), ..: random
// tables, and other tables whose values follow from their keys.
#include <algorithm>

#include "plan/grid.h"

namespace adjoin {
namespace {

bool IsConstantInteger(const Expr& e) {
  return e.kind == ExprKind::kConstant && e.constant.is_int();
}

// Operators that give every row of a box, in its order.
bool KeepsBox(const Node& n) {
  if (const auto* join = std::get_if<Join>(&n.op)) return join->kind == JoinKind::kInner;
  return std::holds_alternative<Scan>(n.op) || std::holds_alternative<Values>(n.op) ||
         std::holds_alternative<Series>(n.op) || std::holds_alternative<Project>(n.op);
}

}  // namespace

bool MakesBoxes(const std::vector<NodeRef>& roots) {
  const std::vector<NodeRef> nodes = TopologicalOrder(roots);
  return std::all_of(nodes.begin(), nodes.end(), [](const NodeRef& n) { return KeepsBox(*n); });
}

bool GridLowering::HasBoxes(const std::vector<NodeRef>& roots) const {
  return std::all_of(roots.begin(), roots.end(), [&](const NodeRef& root) {
    const GridRelation* r = Find(root);
    return r != nullptr && r->mask.none();
  });
}

GridLowering::Maybe GridLowering::MakeAxis(TypeId type, int64_t first, int64_t last) {
  int64_t extent = 0;
  if (first > last || __builtin_sub_overflow(last, first, &extent) || extent == INT64_MAX)
    return std::nullopt;
  GridRelation out{{extent + 1}, {}, {}};
  GridColumn& c = out.columns.emplace_back();
  c.kind = GridColumn::Kind::kCoordinate;
  c.type = type;
  c.axis = 0;
  c.origin = first;
  has_series_ = true;
  return out;
}

GridLowering::Maybe GridLowering::LowerSeries(const Node& n, const Series& s) {
  if (!sources_.series || !IsConstantInteger(*s.start) || !IsConstantInteger(*s.stop) ||
      !IsConstantInteger(*s.step) || s.step->constant.as_int() != 1)
    return std::nullopt;
  return MakeAxis(n.types[0], s.start->constant.as_int(), s.stop->constant.as_int());
}

GridLowering::Maybe GridLowering::LowerCountedValues(const Node& n, const Values& v) {
  if (!sources_.series || v.rows.empty() || n.width() != 1 || !IsInteger(n.types[0]))
    return std::nullopt;
  for (size_t i = 0; i < v.rows.size(); ++i) {
    const Expr& e = *v.rows[i][0];
    if (!IsConstantInteger(e) || !IsConstantInteger(*v.rows[0][0])) return std::nullopt;
    const auto from_first = static_cast<uint64_t>(e.constant.as_int()) -
                            static_cast<uint64_t>(v.rows[0][0]->constant.as_int());
    if (from_first != i) return std::nullopt;
  }
  return MakeAxis(n.types[0], v.rows.front()[0]->constant.as_int(),
                  v.rows.back()[0]->constant.as_int());
}

}  // namespace adjoin
