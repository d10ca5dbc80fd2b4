#include "plan/column_needs.h"

#include "absl/container/flat_hash_set.h"

namespace adjoin {
namespace {

// Marks what one node reads of its inputs, given what is read of it.
class NeedsMarker {
 public:
  NeedsMarker(const Node& node, const std::vector<uint8_t>& out, ColumnNeeds& needs)
      : node_(node), out_(out), needs_(needs) {}

  void operator()(const Scan&) {}
  void operator()(const Values&) {}
  void operator()(const Series&) {}
  void operator()(const Filter& f) { Pass(0, 0), Read(0, f.predicate); }
  void operator()(const Project& p) {
    for (size_t i = 0; i < p.exprs.size(); ++i) {
      if (out_[i] != 0) Read(0, p.exprs[i]);
    }
  }
  void operator()(const Join& j) {
    PassPair();
    for (const JoinKey& key : j.keys) Read(0, key.left), Read(1, key.right);
    ReadPair(j.residual);
  }
  void operator()(const GroupBy& g) {
    for (const ExprRef& key : g.keys) Read(0, key);
    for (size_t a = 0; a < g.aggregates.size(); ++a) {
      if (out_[g.keys.size() + a] != 0)
        Read(0, g.aggregates[a].arg), Read(0, g.aggregates[a].second),
            Read(0, g.aggregates[a].filter);
    }
  }
  void operator()(const Window& w) {
    Pass(0, 0);
    for (const ExprRef& key : w.partition) Read(0, key);
    for (const SortKey& key : w.order) Read(0, key.expr);
    Read(0, w.frame.start_offset), Read(0, w.frame.end_offset);
    for (size_t c = 0; c < w.calls.size(); ++c) {
      if (out_[static_cast<size_t>(node_.inputs[0]->width()) + c] == 0) continue;
      for (const ExprRef& arg : w.calls[c].args) Read(0, arg);
      Read(0, w.calls[c].filter);
    }
  }
  void operator()(const Sort& s) {
    Pass(0, 0);
    for (const SortKey& key : s.keys) Read(0, key.expr);
  }
  void operator()(const Limit&) { Pass(0, 0); }
  void operator()(const UnionAll&) {
    for (size_t i = 0; i < node_.inputs.size(); ++i) Pass(i, 0);
  }
  void operator()(const Contraction& c) {
    for (const JoinKey& key : c.on) Read(0, key.left), Read(1, key.right);
    ReadPair(c.mask);
    for (const ContractionKey& key : c.keys) Mark(static_cast<size_t>(key.side), key.column);
    Read(0, c.left_factor), Read(1, c.right_factor);
  }
  void operator()(const SparseProduct& p) {
    for (const JoinKey& key : p.on) Read(0, key.left), Read(1, key.right);
    for (const ContractionKey& key : p.keys) Mark(static_cast<size_t>(key.side), key.column);
    for (const ExprRef& factor : p.left_factors) Read(0, factor);
    for (const ExprRef& factor : p.right_factors) Read(1, factor);
  }
  void operator()(const SampledProduct& p) {
    for (int column : p.keys) Mark(0, column);
    for (const JoinKey& key : p.on_left) Read(0, key.left), Read(1, key.right);
    for (const JoinKey& key : p.on_right) Read(0, key.left), Read(2, key.right);
    for (const JoinKey& key : p.between) Read(1, key.left), Read(2, key.right);
    Read(0, p.factor), Read(1, p.left_factor), Read(2, p.right_factor);
  }
  void operator()(const RowId&) { Pass(0, 0); }
  void operator()(const Lookup& l) {
    PassPair();
    for (const ExprRef& key : l.left_keys) Read(0, key);
    for (const ExprRef& key : l.right_keys) Read(1, key);
  }
  void operator()(const Collect& c) {
    Pass(0, 0);
    Mark(0, c.left_key), Mark(1, c.right_key);
    for (size_t v = 0; v < c.values.size(); ++v) {
      if (out_[static_cast<size_t>(node_.inputs[0]->width()) + v] != 0) Read(1, c.values[v]);
    }
  }
  void operator()(const Require& r) {
    Pass(0, 0);
    for (int column : r.columns) Mark(0, column);
  }
  void operator()(const Derivative&) {}
  void operator()(const Recursion&) {
    for (const NodeRef& input : node_.inputs) {
      for (int column = 0; column < input->width(); ++column) needs_[input.get()][column] = 1;
    }
  }
  void operator()(const RecursionInput&) {}

 private:
  std::vector<uint8_t>& of(size_t input) { return needs_[node_.inputs[input].get()]; }
  void Mark(size_t input, int column) { of(input)[static_cast<size_t>(column)] = 1; }
  void Read(size_t input, const ExprRef& expr) {
    if (expr == nullptr) return;
    for (int column : ColumnsOf(expr)) Mark(input, column);
  }
  void ReadPair(const ExprRef& expr) {
    if (expr == nullptr) return;
    const int left = node_.inputs[0]->width();
    for (int column : ColumnsOf(expr)) column < left ? Mark(0, column) : Mark(1, column - left);
  }
  // Output columns from `offset` on are the input's.
  void Pass(size_t input, size_t offset) {
    std::vector<uint8_t>& needed = of(input);
    for (size_t c = 0; c < needed.size() && offset + c < out_.size(); ++c)
      needed[c] |= out_[offset + c];
  }
  void PassPair() {
    Pass(0, 0);
    Pass(1, static_cast<size_t>(node_.inputs[0]->width()));
  }

  const Node& node_;
  const std::vector<uint8_t> out_;
  ColumnNeeds& needs_;
};

}  // namespace

ColumnNeeds FindColumnNeeds(const std::vector<NodeRef>& order, const std::vector<NodeRef>& roots,
                            const std::vector<NodeRef>& provided) {
  ColumnNeeds needs;
  absl::flat_hash_set<const Node*> stop;
  for (const NodeRef& node : provided) stop.insert(node.get());
  for (const NodeRef& node : order) needs[node.get()].assign(static_cast<size_t>(node->width()), 0);
  for (const NodeRef& root : roots) needs[root.get()].assign(static_cast<size_t>(root->width()), 1);
  for (size_t i = order.size(); i-- > 0;) {
    const Node& node = *order[i];
    if (stop.contains(&node)) continue;
    std::visit(NeedsMarker(node, needs[&node], needs), node.op);
  }
  return needs;
}

}  // namespace adjoin
