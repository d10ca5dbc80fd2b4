// Which steps run together tile by tile, so that arrays too large for a cache are never stored
// whole: scores, weights and their cotangents of a long attention exist for some queries at a time.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "plan/array_compiler.h"

namespace adjoin {
namespace {

// Steps that would save less memory run whole. Causal attention, forward and gradient, tiled and
// whole on an AVX2 machine with 512 KB of L2 and 32 MB of L3:
//   positions             512 f32   512 f64   2048 f32   2048 f64
//   bytes saved           6.4 MB    13 MB     100 MB     200 MB
//   ms, tiled / whole     2.01/2.10 3.88/4.38 27/42      65/72
constexpr int64_t kFewestBytes = int64_t{4} << 20;

// How many bytes must no longer leave the caches for each that tiles read again. A step of GPT base
// in f64, cut along its batch, saves 13 MB and 3.2 to 1, and takes 2% longer.
constexpr double kLeastGain = 3.3;

// Rows of a product in a tile: whole blocks of a staircase. With 48 and 192 attention over 2048
// positions takes 31.5 and 30.4 ms instead of 29.8.
constexpr int64_t kTileRows = 96;

// How far ahead of a step others may be that join it.
constexpr size_t kMostSteps = 16;

// Tiles that a test forces, as its arrays are small.
constexpr int64_t kForcedTiles = 3;

constexpr int64_t kPageBytes = 4096, kLineBytes = 64;

}  // namespace

// Grows from one step: takes in what reads its rows, and what reads theirs, while all run along one
// axis.
class ArrayCompiler::Tiler {
 public:
  explicit Tiler(ArrayCompiler& compiler) : c_(compiler) {
    for (const Pending& p : c_.pending_) {
      for (int id : p.reads) {
        std::vector<int>& readers = readers_[c_.Owner(id)];
        if (readers.empty() || readers.back() != p.stores[0]) readers.push_back(p.stores[0]);
      }
    }
  }

  // The best tiling that begins with step `first`; without members where none pays.
  TiledSteps Grow(size_t first) {
    grown_ = {};
    finished_.clear();
    member_stores_.clear();
    TiledSteps best;
    int64_t most = 0;
    if (!Expands(c_.pending_[first])) return best;
    if (!Join(first, Outermost(c_.pending_[first]))) return best;
    const size_t last = std::min(c_.pending_.size(), first + kMostSteps);
    for (size_t s = first + 1; s < last; ++s) {
      const Pending& p = c_.pending_[s];
      if (!Depends(p)) continue;
      if (!Join(s, AxisOf(p))) {
        finished_.insert(p.stores.begin(), p.stores.end());
        continue;
      }
      ChooseTile();
      const int64_t saved = Saved();
      if (saved > most) most = saved, best = grown_;
    }
    return best;
  }

 private:
  const std::vector<int64_t>& SpaceOf(const Pending& p) const {
    if (p.region >= 0) return c_.plan_.regions[static_cast<size_t>(p.region)].extents;
    return c_.graph_.node(p.id).space;
  }
  bool IsContract(const Pending& p) const {
    return p.region < 0 && c_.graph_.node(p.id).op == ArrayOp::kContract;
  }
  bool IsSummed(const Pending& p, int axis) const {
    return IsContract(p) && static_cast<size_t>(axis) >= c_.graph_.node(p.id).shape.size();
  }

  // Stores more than it reads, as the scores of an attention are to queries and keys.
  bool Expands(const Pending& p) const {
    int64_t stored = 0, read = 0;
    for (int id : p.stores) stored = std::max(stored, c_.BytesOf(id));
    for (int id : p.reads) read = std::max(read, c_.BytesOf(id));
    return c_.options_.tile == RuleUse::kForce ||
           (stored > read && stored >= kFewestBytes / static_cast<int64_t>(kMostSteps));
  }

  bool Depends(const Pending& p) const {
    return std::any_of(p.reads.begin(), p.reads.end(), [&](int id) {
      const int owner = c_.Owner(id);
      return grown_.axis_of.contains(owner) || finished_.contains(owner);
    });
  }

  // The outermost loop of a step and of all that it stores; -1: none.
  int Outermost(const Pending& p) const {
    const size_t loops = p.region >= 0   ? p.row_loops
                         : IsContract(p) ? c_.graph_.node(p.id).shape.size()
                                         : 0;
    for (size_t i = 0; i < loops; ++i) {
      const int axis = p.region >= 0 ? p.loops[i] : static_cast<int>(i);
      if (SpaceOf(p)[static_cast<size_t>(axis)] != 1) return axis;
    }
    return -1;
  }

  int OutermostSummed(const Pending& p) const {
    const ArrayNode& n = c_.graph_.node(p.id);
    size_t axis = n.shape.size();
    while (axis + 1 < n.space.size() && n.space[axis] == 1) ++axis;
    return static_cast<int>(axis);
  }

  // Calls f(operand) for everything that a step reads, along the step's axes.
  template <typename F>
  void ForEachRead(const Pending& p, F&& f) const {
    if (p.region < 0) {
      for (const ArrayOperand& o : c_.graph_.node(p.id).operands)
        f(ArrayOperand{c_.Held(o.array), o.axes});
      return;
    }
    const ArrayRegion& region = c_.plan_.regions[static_cast<size_t>(p.region)];
    for (int member : region.members) {
      const std::vector<int>& axes = region.axes.find(member)->second;
      for (const ArrayOperand& leaf : c_.plan_.leaves[static_cast<size_t>(member)]) {
        if (!region.axes.contains(leaf.array)) f(Renamed({c_.Held(leaf.array), leaf.axes}, axes));
      }
    }
  }

  // The axis along which a step reads the members' tiles; -1: it needs more of some than a tile.
  int AxisOf(const Pending& p) const {
    int axis = -1;
    bool agrees = true;
    ForEachRead(p, [&](const ArrayOperand& o) {
      const int owner = c_.Owner(o.array);
      agrees = agrees && !finished_.contains(owner);
      const auto it = grown_.axis_of.find(owner);
      if (it == grown_.axis_of.end()) return;
      const int here = owner == o.array ? o.axes[static_cast<size_t>(it->second)] : -1;
      agrees = agrees && here >= 0 && (axis < 0 || axis == here);
      axis = here;
    });
    return agrees ? axis : -1;
  }

  // Makes a step a member, tiled along an axis of its own, if it can be.
  bool Join(size_t s, int axis) {
    const Pending& p = c_.pending_[s];
    if (axis < 0 || (p.region < 0 && !IsContract(p)) || c_.IsOnce(p)) return false;
    const int64_t extent = SpaceOf(p)[static_cast<size_t>(axis)];
    if (grown_.members.empty()) grown_.extent = extent;
    const bool summed = IsSummed(p, axis);
    if (extent != grown_.extent || axis != (summed ? OutermostSummed(p) : Outermost(p)))
      return false;
    std::vector<std::pair<int, int>> stored;  // and the tiled one of its axes
    for (int id : p.stores) {
      if (summed) continue;
      std::vector<int> axes = {axis};
      if (p.region >= 0) {
        axes = c_.plan_.regions[static_cast<size_t>(p.region)].axes.find(id)->second;
        axes.resize(c_.graph_.node(id).shape.size());
      }
      const auto at = std::find(axes.begin(), axes.end(), axis);
      if (at == axes.end()) return false;
      stored.emplace_back(id, p.region >= 0 ? static_cast<int>(at - axes.begin()) : axis);
    }
    if (summed) finished_.insert(p.id);
    grown_.axis_of.insert(stored.begin(), stored.end());
    grown_.members.emplace(s, axis);
    member_stores_.insert(p.stores[0]);
    return true;
  }

  // Rows of a product at each index of an axis that its rows run along; 0: they do not.
  int64_t RowsAt(const Pending& p, int axis) const {
    if (!IsContract(p)) return 0;
    const ArrayNode& n = c_.graph_.node(p.id);
    const bool in_a = n.operands[0].VariesAlong(axis), in_b = n.operands[1].VariesAlong(axis);
    const bool summed = IsSummed(p, axis);
    if (in_a && in_b && !summed) return 0;
    int64_t rows = 1;
    for (size_t k = 0; k < n.space.size(); ++k) {
      const int other = static_cast<int>(k);
      if (other == axis || IsSummed(p, other) != summed) continue;
      if (summed || n.operands[in_a ? 0 : 1].VariesAlong(other)) rows *= n.space[k];
    }
    return rows;
  }

  void ChooseTile() {
    grown_.tile = 1;
    for (const auto& [s, axis] : grown_.members) {
      const int64_t rows = RowsAt(c_.pending_[s], axis);
      if (rows > 0) grown_.tile = std::max(grown_.tile, (kTileRows + rows - 1) / rows);
    }
    if (c_.options_.tile == RuleUse::kForce)
      grown_.tile = std::min(grown_.tile, (grown_.extent + kForcedTiles - 1) / kForcedTiles);
  }

  // Only members read it, so that memory for a tile is enough.
  bool IsLocal(int id) const {
    if (!grown_.axis_of.contains(id) || c_.output_base_.contains(id)) return false;
    if (std::any_of(c_.roots_.begin(), c_.roots_.end(),
                    [&](int root) { return c_.Owner(root) == id; }))
      return false;
    const auto readers = readers_.find(id);
    return readers != readers_.end() &&
           std::all_of(readers->second.begin(), readers->second.end(),
                       [&](int reader) { return member_stores_.contains(reader); });
  }

  // Whether a staircase cuts the product along the axis anyway.
  bool RunsInBlocks(const Pending& p, int axis) const {
    for (const ArrayOperand& mask :
         {c_.graph_.node(p.id).stairs, c_.read_cells_[static_cast<size_t>(p.id)]}) {
      if (mask.array < 0 || !c_.graph_.StaircaseOf(mask).present()) continue;
      if (mask.VariesAlong(axis)) return true;
    }
    return false;
  }

  // Bytes that need not go to memory and come back, less those that tiles read more than once:
  // operands without the tiled axis, and what a sum over it adds to. 0: it does not pay.
  int64_t Saved() {
    grown_.local.clear();
    const int64_t again = (grown_.extent - 1) / grown_.tile;
    int64_t saved = 0, cost = 0, local = 0;
    for (const auto& [s, axis] : grown_.members) {
      const Pending& p = c_.pending_[s];
      for (int id : p.stores) {
        if (!IsLocal(id)) continue;
        grown_.local.insert(id);
        const int64_t bytes = c_.BytesOf(id);
        local += bytes;
        saved += bytes * (1 + static_cast<int64_t>(readers_.find(id)->second.size()));
      }
      if (!IsContract(p) || RunsInBlocks(p, axis)) continue;
      const int tiled = axis;
      ForEachRead(p, [&](const ArrayOperand& o) {
        if (!o.VariesAlong(tiled)) cost += again * c_.BytesOf(o.array);
      });
      if (IsSummed(p, axis)) cost += 2 * again * c_.BytesOf(p.id);
    }
    if (c_.options_.tile == RuleUse::kForce) return local;
    const bool pays = local >= kFewestBytes && again > 0 &&
                      static_cast<double>(saved) > kLeastGain * static_cast<double>(cost);
    return pays ? saved - cost : 0;
  }

  ArrayCompiler& c_;
  // By array; a step is known by the first array that it stores.
  absl::flat_hash_map<int, std::vector<int>> readers_;
  absl::flat_hash_set<int> member_stores_;
  TiledSteps grown_;
  absl::flat_hash_set<int> finished_;  // arrays that are whole only after the last tile
};

// Rows whole pages apart all lie in the same few lines of a cache; then a line is left out between
// them.
void ArrayCompiler::MakeLocal(int id, const TiledSteps& tiled) {
  tile_of_[id] = tiled.tile;
  std::vector<int64_t> strides = StridesOf(id);
  int64_t& outermost = strides[static_cast<size_t>(tiled.axis_of.find(id)->second)];
  const int64_t width = WidthOf(graph_.node(id).type);
  // What a product adds to lies as its own cells do.
  const auto adds = [this](int product) { return graph_.node(product).adds; };
  const std::vector<int>& readers = readers_[static_cast<size_t>(id)];
  if (adds(id) || std::any_of(readers.begin(), readers.end(), adds)) return;
  if (outermost * width % kPageBytes == 0) outermost += kLineBytes / width;
  strides_[id] = std::move(strides);
}

void ArrayCompiler::FormTiles() {
  if (options_.tile == RuleUse::kOff) return;
  Tiler tiler(*this);
  for (size_t first = 0; first < pending_.size(); ++first) {
    const TiledSteps best = tiler.Grow(first);
    if (best.members.empty()) continue;
    std::vector<size_t> members;
    for (const auto& [s, axis] : best.members) {
      pending_[s].tiled = axis;
      members.push_back(s);
    }
    const size_t from = BringTogether(members);
    program_.tilings.push_back({from, from + members.size(), best.extent, best.tile});
    for (const auto& [id, axis] : best.axis_of) by_tile_.insert(id);
    for (int id : best.local) MakeLocal(id, best);
    first = program_.tilings.back().last - 1;
  }
}

}  // namespace adjoin
