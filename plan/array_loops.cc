// The loops that each step runs over: their order, which of them are rows, and so how what it
// writes lies in memory.
#include <algorithm>
#include <utility>

#include "plan/array_compiler.h"

namespace adjoin {
namespace {

struct LargestLoad {
  const std::vector<int64_t>* strides = nullptr;  // null: nothing is read
  int64_t cells = -1;
};

// The first of the largest arrays read, by the cells of it that the loops visit.
LargestLoad Largest(const std::vector<int64_t>& extents,
                    const std::vector<std::vector<int64_t>>& loads) {
  LargestLoad largest;
  for (const auto& strides : loads) {
    int64_t cells = 1;
    for (size_t i = 0; i < strides.size(); ++i) cells *= strides[i] != 0 ? extents[i] : 1;
    if (cells > largest.cells) largest = {&strides, cells};
  }
  return largest;
}

}  // namespace

void ArrayCompiler::Emit(const ArrayUnit& unit) {
  Pending p;
  p.region = unit.region;
  p.id = unit.array;
  if (unit.region >= 0) {
    const ArrayRegion& region = plan_.regions[static_cast<size_t>(unit.region)];
    for (int member : region.members) {
      if (written_[static_cast<size_t>(member)]) p.stores.push_back(member);
      AddReads(member, &region, p);
    }
    OrderRegion(region, p);
  } else {
    p.stores.push_back(unit.array);
    AddReads(unit.array, nullptr, p);
    if (graph_.node(unit.array).op == ArrayOp::kReduce) OrderReduction(unit.array, p);
  }
  pending_.push_back(std::move(p));
}

bool ArrayCompiler::IsOnce(const Pending& p) const {
  return std::all_of(p.stores.begin(), p.stores.end(), [&](int id) {
    return graph_.node(id).structural && !output_base_.contains(id);
  });
}

void ArrayCompiler::AddReads(int id, const ArrayRegion* region, Pending& p) {
  for (const ArrayOperand& leaf : plan_.leaves[static_cast<size_t>(id)]) {
    if (region == nullptr || !region->axes.contains(leaf.array))
      p.reads.push_back(Held(leaf.array));
  }
}

std::vector<int64_t> ArrayCompiler::Along(const ArrayOperand& o, size_t rank) {
  std::vector<int64_t> out(rank, 0);
  const std::vector<int64_t>& own = StridesOf(Held(o.array));
  for (size_t k = 0; k < o.axes.size(); ++k) {
    if (o.axes[k] >= 0) out[static_cast<size_t>(o.axes[k])] += own[k];
  }
  return out;
}

std::vector<int> ArrayCompiler::MemoryOrder(const std::vector<int64_t>& extents,
                                            const std::vector<std::vector<int64_t>>& loads) const {
  const auto [main, cells] = Largest(extents, loads);
  std::vector<int> order;
  for (size_t i = 0; i < extents.size(); ++i) order.push_back(static_cast<int>(i));
  if (main == nullptr || cells < CellsOf(extents)) return order;
  // Axes of one cell stay where they are.
  const std::vector<int64_t>& steps = *main;
  std::stable_sort(order.begin(), order.end(), [&steps](int a, int b) {
    return steps[static_cast<size_t>(a)] > steps[static_cast<size_t>(b)];
  });
  return order;
}

void ArrayCompiler::OrderRegion(const ArrayRegion& region, Pending& p) {
  const size_t rank = region.extents.size();
  std::vector<std::vector<int64_t>> loads;
  const std::vector<int>* root = nullptr;
  for (int member : region.members) {
    const std::vector<int>& axes = region.axes.find(member)->second;
    for (const ArrayOperand& leaf : plan_.leaves[static_cast<size_t>(member)]) {
      if (region.axes.contains(leaf.array)) continue;
      loads.push_back(Along(Renamed(leaf, axes), rank));
    }
    const bool is_root = std::find(roots_.begin(), roots_.end(), member) != roots_.end();
    if (is_root && graph_.node(member).shape.size() == rank) root = &axes;
  }
  std::vector<int> order = root != nullptr ? *root : MemoryOrder(region.extents, loads);
  std::vector<bool> in_row = region.in_row;
  if (!region.has_rows) in_row = ChooseRows(region.extents, loads, order);
  std::stable_partition(order.begin(), order.end(),
                        [&](int axis) { return !in_row[static_cast<size_t>(axis)]; });
  p.loops = order;
  p.row_loops = static_cast<size_t>(std::count(in_row.begin(), in_row.end(), false));
  for (int member : p.stores) {
    const ArrayNode& n = graph_.node(member);
    if (std::find(roots_.begin(), roots_.end(), member) != roots_.end()) continue;
    const std::vector<int>& axes = region.axes.find(member)->second;
    std::vector<int64_t> strides(n.shape.size(), 0);
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
      for (size_t k = 0; k < n.shape.size(); ++k) {
        if (axes[k] != order[i]) continue;
        strides[k] = step;
        step *= n.shape[k];
      }
    }
    strides_[member] = std::move(strides);
  }
}

std::vector<bool> ArrayCompiler::ChooseRows(const std::vector<int64_t>& extents,
                                            const std::vector<std::vector<int64_t>>& loads,
                                            const std::vector<int>& order) {
  constexpr int64_t kShortestRow = 8;
  std::vector<bool> in_row(extents.size(), false), best = in_row;
  int64_t length = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    in_row[axis] = true;
    length *= extents[axis];
    if (length > RowProgram::kLongestRow) break;
    const bool pays = std::any_of(loads.begin(), loads.end(), [&](const auto& strides) {
      bool varies = false, constant = true;
      for (size_t a = 0; a < strides.size(); ++a) {
        if (strides[a] == 0) continue;
        varies = true;
        constant = constant && !in_row[a];
      }
      return varies && constant;
    });
    if (pays && length >= kShortestRow) best = in_row;
  }
  return best;
}

void ArrayCompiler::OrderReduction(int id, Pending& p) {
  const ArrayNode& n = graph_.node(id);
  const size_t kept = n.shape.size();
  std::vector<std::vector<int64_t>> loads;
  for (const ArrayOperand& leaf : plan_.leaves[static_cast<size_t>(id)])
    loads.push_back(Along(leaf, n.space.size()));
  const std::vector<int64_t>* main = Largest(n.space, loads).strides;
  const std::vector<int64_t> steps = main != nullptr ? *main : DenseStrides(n.space);
  std::vector<size_t> reduced;
  for (size_t i = kept; i < n.space.size(); ++i) reduced.push_back(i);
  std::stable_sort(reduced.begin(), reduced.end(),
                   [&](size_t a, size_t b) { return steps[a] > steps[b]; });
  int64_t nearest = INT64_MAX;
  for (size_t i : reduced) {
    if (steps[i] != 0) nearest = std::min(nearest, steps[i]);
  }
  size_t split = kept;
  while (split > 0 && steps[split - 1] < nearest && steps[split - 1] != 0) --split;
  for (size_t i = 0; i < split; ++i) p.loops.push_back(static_cast<int>(i)), p.outer *= n.space[i];
  for (size_t i : reduced) p.loops.push_back(static_cast<int>(i)), p.reduced *= n.space[i];
  for (size_t i = split; i < kept; ++i)
    p.loops.push_back(static_cast<int>(i)), p.inner *= n.space[i];
  const bool rows = p.inner > 1 && p.inner <= RowProgram::kLongestRow;
  p.row_loops = rows ? p.loops.size() - (kept - split) : p.loops.size();
}

}  // namespace adjoin
