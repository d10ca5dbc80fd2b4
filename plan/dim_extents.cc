#include "plan/dim_extents.h"

#include <utility>

namespace adjoin {
namespace {

// One overload an operator; the columns of what has none are not known.
struct ExtentsOf {
  const Node& node;
  const ShapeOf& shape_of;
  const absl::flat_hash_map<const Node*, std::vector<int64_t>>& known;
  using Extents = std::vector<int64_t>;

  const Extents& in(size_t i) const { return known.at(node.inputs[i].get()); }
  int64_t Of(const ExprRef& e) const {
    return e->kind == ExprKind::kColumn ? in(0)[static_cast<size_t>(e->index)] : 0;
  }

  Extents operator()(const Scan& s) const {
    Extents out(node.types.size(), 0);
    const auto shape = shape_of(s);
    for (size_t d = 0; shape && d < s.schema.dims.size(); ++d)
      out[static_cast<size_t>(s.schema.dims[d])] = shape->extents[d];
    return out;
  }
  Extents operator()(const Filter&) const { return in(0); }
  Extents operator()(const Require&) const { return in(0); }
  Extents operator()(const Project& p) const {
    Extents out;
    for (const ExprRef& e : p.exprs) out.push_back(Of(e));
    return out;
  }
  Extents operator()(const Join& j) const {
    Extents out = in(0);
    if (j.kind == JoinKind::kInner) out.insert(out.end(), in(1).begin(), in(1).end());
    out.resize(node.types.size(), 0);
    return out;
  }
  Extents operator()(const GroupBy& g) const {
    Extents out;
    for (const ExprRef& key : g.keys) out.push_back(Of(key));
    out.resize(node.types.size(), 0);
    return out;
  }
  Extents operator()(const Window&) const {
    Extents out = in(0);
    out.resize(node.types.size(), 0);
    return out;
  }
  Extents operator()(const Contraction& c) const {
    Extents out;
    for (const ContractionKey& key : c.keys)
      out.push_back(in(static_cast<size_t>(key.side))[static_cast<size_t>(key.column)]);
    out.resize(node.types.size(), 0);
    return out;
  }
  template <typename Other>
  Extents operator()(const Other&) const {
    return Extents(node.types.size(), 0);
  }
};

}  // namespace

const std::vector<int64_t>& DimExtents::Of(const NodeRef& node) {
  std::vector<const Node*> open = {node.get()};  // no recursion: plans may be very deep
  while (!open.empty()) {
    const Node& at = *open.back();
    const size_t before = open.size();
    for (const NodeRef& input : at.inputs) {
      if (!known_.contains(input.get())) open.push_back(input.get());
    }
    if (open.size() != before) continue;
    open.pop_back();
    if (known_.contains(&at)) continue;
    auto extents = std::visit(ExtentsOf{at, shape_of_, known_}, at.op);
    known_.emplace(&at, std::move(extents));
  }
  return known_.at(node.get());
}

}  // namespace adjoin
