#include "plan/array_regions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "ops/row_program.h"

namespace adjoin {
namespace {

size_t Index(int i) { return static_cast<size_t>(i); }

// Past this a region's registers leave L1.
constexpr size_t kMostMembers = 64;

// The units that a unit needs, itself left out, as bits.
class UnitSet {
 public:
  bool Has(int unit) const {
    return Index(unit / 64) < words_.size() && (words_[Index(unit / 64)] >> (unit % 64) & 1) != 0;
  }
  void Add(int unit) {
    if (words_.size() <= Index(unit / 64)) words_.resize(Index(unit / 64) + 1);
    words_[Index(unit / 64)] |= uint64_t{1} << (unit % 64);
  }
  void AddAll(const UnitSet& other) {
    if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
    for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }

 private:
  std::vector<uint64_t> words_;
};

std::vector<ArrayOperand> LeavesOf(const ArrayGraph& graph, const std::vector<bool>& stored,
                                   int id) {
  std::vector<ArrayOperand> leaves;
  absl::flat_hash_set<std::pair<int, std::vector<int>>> seen;
  std::vector<ArrayOperand> open(graph.node(id).operands);
  while (!open.empty()) {
    const ArrayOperand at = std::move(open.back());
    open.pop_back();
    if (!seen.insert({at.array, at.axes}).second) continue;
    const ArrayNode& n = graph.node(at.array);
    const bool inlined = n.op == ArrayOp::kMap && !stored[Index(at.array)];
    if (!inlined) {
      const bool inline_scalar =
          n.op == ArrayOp::kConstant || (n.op == ArrayOp::kParameter && !stored[Index(at.array)]);
      if (!inline_scalar) leaves.push_back(at);
      continue;
    }
    for (const ArrayOperand& o : n.operands) {
      std::vector<int> axes;
      for (int axis : o.axes) axes.push_back(at.axes[Index(axis)]);
      open.push_back({o.array, std::move(axes)});
    }
  }
  return leaves;
}

// A region and how a new member's axes lie in it.
struct Fit {
  int region = -1;
  std::vector<int> axes;
  std::vector<int64_t> extents;
  std::vector<bool> in_row;
  bool has_rows = false;
};

class Former {
 public:
  Former(const ArrayGraph& graph, const std::vector<bool>& stored, bool merge)
      : graph_(graph), stored_(stored), merge_(merge), unit_of_(stored.size(), -1) {}

  ArrayPlan Form() {
    plan_.leaves.resize(stored_.size());
    for (size_t id = 0; id < stored_.size(); ++id) {
      if (stored_[id]) Place(static_cast<int>(id));
    }
    Schedule();
    return std::move(plan_);
  }

 private:
  const std::vector<int64_t>& SpaceOf(int id) const {
    const ArrayNode& n = graph_.node(id);
    return n.op == ArrayOp::kReduce ? n.space : n.shape;
  }

  void Place(int id) {
    const ArrayNode& n = graph_.node(id);
    const bool is_map =
        n.op == ArrayOp::kMap || n.op == ArrayOp::kConstant || n.op == ArrayOp::kParameter;
    const bool computes = is_map || n.op == ArrayOp::kReduce;
    const std::vector<ArrayOperand>& leaves = plan_.leaves[Index(id)] =
        computes ? LeavesOf(graph_, stored_, id) : n.operands;
    std::vector<int> producers;
    for (const ArrayOperand& leaf : leaves) {
      const int unit = UnitOf(leaf.array);
      if (unit >= 0) producers.push_back(unit);
    }
    if (is_map || (n.op == ArrayOp::kReduce && IsAlongRows(id, leaves))) {
      const Fit fit = BestFit(id, leaves, producers);
      if (fit.region >= 0) {
        Join(id, fit, producers);
        return;
      }
      unit_of_[Index(id)] = NewUnit({static_cast<int>(plan_.regions.size()), -1}, producers);
      ArrayRegion region{{id}, SpaceOf(id), {}, n.op == ArrayOp::kReduce, {}};
      std::vector<int>& axes = region.axes[id];
      for (size_t k = 0; k < region.extents.size(); ++k) {
        axes.push_back(static_cast<int>(k));
        region.in_row.push_back(n.op == ArrayOp::kReduce && k >= n.shape.size());
      }
      region_unit_.push_back(unit_of_[Index(id)]);
      plan_.regions.push_back(std::move(region));
      return;
    }
    unit_of_[Index(id)] = NewUnit({-1, id}, producers);
  }

  // The unit that stores the array or what it is a view of; -1: no step does.
  int UnitOf(int id) const {
    while (graph_.node(id).op == ArrayOp::kSlice) id = graph_.node(id).operands[0].array;
    return unit_of_[Index(id)];
  }

  int NewUnit(ArrayUnit unit, const std::vector<int>& producers) {
    UnitSet needs;
    for (int p : producers) needs.Add(p), needs.AddAll(needs_[Index(p)]);
    units_.push_back(unit);
    needs_.push_back(std::move(needs));
    return static_cast<int>(units_.size()) - 1;
  }

  // Whether the reduced cells lie side by side in the largest array read, and are few enough for a
  // row.
  bool IsAlongRows(int id, const std::vector<ArrayOperand>& leaves) const {
    const ArrayNode& n = graph_.node(id);
    int64_t length = 1;
    for (size_t k = n.shape.size(); k < n.space.size(); ++k) length *= n.space[k];
    if (length > RowProgram::kLongestRow || length == 0) return false;
    const ArrayOperand* main = nullptr;
    for (const ArrayOperand& leaf : leaves) {
      if (main == nullptr ||
          CellsOf(graph_.node(leaf.array).shape) > CellsOf(graph_.node(main->array).shape))
        main = &leaf;
    }
    if (main == nullptr) return true;
    const std::vector<int64_t>& shape = graph_.node(main->array).shape;
    for (size_t k = shape.size(); k-- > 0;) {
      if (shape[k] != 1) return Index(main->axes[k]) >= n.shape.size();
    }
    return true;
  }

  Fit BestFit(int id, const std::vector<ArrayOperand>& leaves,
              const std::vector<int>& producers) const {
    Fit best;
    if (!merge_) return best;
    int64_t most = 0;
    absl::flat_hash_set<int> tried;
    for (const ArrayOperand& leaf : leaves) {
      const int unit = UnitOf(leaf.array);
      if (unit < 0 || units_[Index(unit)].region < 0 || !tried.insert(unit).second) continue;
      // What depends on structure alone is computed once a program, with nothing that is not.
      if (graph_.node(leaf.array).structural != graph_.node(id).structural) continue;
      const bool cycle = std::any_of(producers.begin(), producers.end(), [&](int p) {
        return p != unit && needs_[Index(p)].Has(unit);
      });
      // A view of what the region stores looks at other cells of it.
      const bool views = std::any_of(leaves.begin(), leaves.end(), [&](const ArrayOperand& l) {
        return graph_.node(l.array).op == ArrayOp::kSlice && UnitOf(l.array) == unit;
      });
      if (cycle || views) continue;
      Fit fit = FitInto(id, leaves, units_[Index(unit)].region);
      if (fit.region < 0) continue;
      int64_t shared = 0;
      for (const ArrayOperand& other : leaves) {
        if (UnitOf(other.array) == unit) shared += CellsOf(graph_.node(other.array).shape);
      }
      if (shared >= most) most = shared, best = std::move(fit);
    }
    return best;
  }

  Fit FitInto(int id, const std::vector<ArrayOperand>& leaves, int number) const {
    const ArrayRegion& region = plan_.regions[Index(number)];
    if (region.members.size() >= kMostMembers) return {};
    const ArrayNode& n = graph_.node(id);
    const std::vector<int64_t>& space = SpaceOf(id);
    std::vector<int> axes(space.size(), -1);
    std::vector<int> taken_by(region.extents.size(), -1);
    for (const ArrayOperand& leaf : leaves) {
      const auto member = region.axes.find(leaf.array);
      if (member == region.axes.end()) continue;
      for (size_t k = 0; k < leaf.axes.size(); ++k) {
        const int own = leaf.axes[k], theirs = member->second[k];
        if (axes[Index(own)] == theirs) continue;
        if (axes[Index(own)] >= 0 || taken_by[Index(theirs)] >= 0) return {};
        axes[Index(own)] = theirs;
        taken_by[Index(theirs)] = own;
      }
    }
    Fit fit{-1, {}, region.extents, region.in_row, region.has_rows};
    for (size_t a = 0; a < axes.size(); ++a) {
      if (axes[a] >= 0) continue;
      // An axis that no member shares: the region's of that extent, else a new one.
      for (size_t r = 0; r < region.extents.size() && axes[a] < 0; ++r) {
        if (taken_by[r] < 0 && region.extents[r] == space[a]) {
          axes[a] = static_cast<int>(r);
          taken_by[r] = static_cast<int>(a);
        }
      }
      if (axes[a] >= 0) continue;
      axes[a] = static_cast<int>(fit.extents.size());
      fit.extents.push_back(space[a]);
      fit.in_row.push_back(false);
    }
    // New axes run along the rows of a region that had none. Its reductions fix the rows, also
    // those over no axes at all.
    const size_t old = region.extents.size();
    if (fit.extents.size() > old) {
      if (region.has_rows) return {};
      for (size_t r = old; r < fit.extents.size(); ++r) fit.in_row[r] = true;
      fit.has_rows = true;
    }
    std::vector<bool> covered(fit.extents.size(), false);
    for (int a : axes) covered[Index(a)] = true;
    if (n.op == ArrayOp::kReduce) {
      if (std::find(covered.begin(), covered.end(), false) != covered.end()) return {};
      std::vector<bool> in_row(fit.extents.size(), false);
      for (size_t k = n.shape.size(); k < axes.size(); ++k) in_row[Index(axes[k])] = true;
      if (fit.has_rows && in_row != fit.in_row) return {};
      fit.in_row = std::move(in_row);
      fit.has_rows = true;
    } else if (std::find(covered.begin(), covered.end(), false) != covered.end()) {
      // A value a row: the other axes are the row's.
      std::vector<bool> in_row(fit.extents.size());
      for (size_t r = 0; r < in_row.size(); ++r) in_row[r] = !covered[r];
      if (fit.has_rows && in_row != fit.in_row) return {};
      fit.in_row = std::move(in_row);
      fit.has_rows = true;
    }
    fit.axes = std::move(axes);
    const bool decided = fit.has_rows && !region.has_rows;
    if (decided && n.op != ArrayOp::kReduce && !EndsInRow(id, region, fit)) return {};
    if (fit.has_rows && !SuitsMembers(region, fit)) return {};
    fit.region = number;
    return fit;
  }

  // Whether the last axis of what has a value a cell runs along the rows: else rows would be walked
  // across memory.
  bool EndsInRow(int id, const ArrayRegion& region, const Fit& fit) const {
    const auto ends = [&](int member, const std::vector<int>& axes) {
      const std::vector<int64_t>& shape = SpaceOf(member);
      if (axes.size() != fit.extents.size()) return true;
      for (size_t k = shape.size(); k-- > 0;) {
        if (shape[k] != 1) return static_cast<bool>(fit.in_row[Index(axes[k])]);
      }
      return true;
    };
    return ends(id, fit.axes) &&
           std::all_of(region.members.begin(), region.members.end(),
                       [&](int member) { return ends(member, region.axes.find(member)->second); });
  }

  // Whether every member is a value a cell or a value a row, with these rows.
  bool SuitsMembers(const ArrayRegion& region, const Fit& fit) const {
    int64_t length = 1;
    for (size_t r = 0; r < fit.extents.size(); ++r) length *= fit.in_row[r] ? fit.extents[r] : 1;
    if (length > RowProgram::kLongestRow || length == 0) return false;
    for (int member : region.members) {
      std::vector<bool> covered(fit.extents.size(), false);
      for (int a : region.axes.find(member)->second) covered[Index(a)] = true;
      size_t cells = 0, rows = 0;
      for (size_t r = 0; r < covered.size(); ++r) {
        cells += covered[r] ? 1 : 0;
        rows += covered[r] == !fit.in_row[r] ? 1 : 0;
      }
      if (cells != covered.size() && rows != covered.size()) return false;
    }
    return true;
  }

  void Join(int id, const Fit& fit, const std::vector<int>& producers) {
    ArrayRegion& region = plan_.regions[Index(fit.region)];
    const int unit = region_unit_[Index(fit.region)];
    region.members.push_back(id);
    region.extents = fit.extents;
    region.in_row = fit.in_row;
    region.has_rows = fit.has_rows;
    region.axes[id] = fit.axes;
    unit_of_[Index(id)] = unit;
    UnitSet& needs = needs_[Index(unit)];
    for (int p : producers) {
      if (p != unit) needs.Add(p), needs.AddAll(needs_[Index(p)]);
    }
    for (UnitSet& other : needs_) {
      if (other.Has(unit)) other.AddAll(needs);
    }
  }

  // Of the units whose needs have run, the one that was complete first: what is read soon is made
  // late.
  void Schedule() {
    const auto last_of = [&](int unit) {
      const ArrayUnit& u = units_[Index(unit)];
      return u.region < 0 ? u.array : plan_.regions[Index(u.region)].members.back();
    };
    const int count = static_cast<int>(units_.size());
    std::vector<int> missing(units_.size(), 0);
    std::set<std::pair<int, int>> ready;
    for (int u = 0; u < count; ++u) {
      for (int v = 0; v < count; ++v) missing[Index(u)] += needs_[Index(u)].Has(v) ? 1 : 0;
      if (missing[Index(u)] == 0) ready.insert({last_of(u), u});
    }
    while (!ready.empty()) {
      const int unit = ready.begin()->second;
      ready.erase(ready.begin());
      plan_.units.push_back(units_[Index(unit)]);
      for (int v = 0; v < count; ++v) {
        if (needs_[Index(v)].Has(unit) && --missing[Index(v)] == 0) ready.insert({last_of(v), v});
      }
    }
  }

  const ArrayGraph& graph_;
  const std::vector<bool>& stored_;
  const bool merge_;
  std::vector<int> unit_of_;  // by array
  std::vector<ArrayUnit> units_;
  std::vector<UnitSet> needs_;
  std::vector<int> region_unit_;
  ArrayPlan plan_;
};

}  // namespace

ArrayPlan FormRegions(const ArrayGraph& graph, const std::vector<bool>& stored, bool merge) {
  return Former(graph, stored, merge).Form();
}

}  // namespace adjoin
