// Which steps run together tile by tile, so that arrays too large for a cache are never stored
// whole: scores, weights and their cotangents of a long attention exist for some queries at a time,
// and what the pairs of a list gather, for some pairs.
#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
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

// Where no product has rows along the tiled axis: what members store of a tile, which is to stay in
// a core's own cache.
constexpr int64_t kTileBytes = int64_t{256} << 10;

// Rows of a product in a tile: whole blocks of a staircase. With 48 and 192 attention over 2048
// positions takes 31.5 and 30.4 ms instead of 29.8.
constexpr int64_t kTileRows = 96;

// How far ahead of a member others may be that join it.
constexpr size_t kMostSteps = 16;
// From what a list of pairs gathers on: a step of SVGD's gradient is one tiling of 22.
constexpr size_t kMostListSteps = 48;

// Tiles that a test forces, as its arrays are small.
constexpr int64_t kForcedTiles = 3;

constexpr int64_t kPageBytes = 4096, kLineBytes = 64;

}  // namespace

// Grows from one step: takes in what reads its rows, and what reads theirs, while all run along one
// axis; and what makes rows of theirs from small arrays (gathers by the pairs of a list).
class ArrayCompiler::Tiler {
 public:
  explicit Tiler(ArrayCompiler& compiler) : c_(compiler) {
    for (size_t s = 0; s < c_.pending_.size(); ++s) {
      const Pending& p = c_.pending_[s];
      for (int id : p.stores) producer_[id] = s;
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
    refused_.clear();
    first_ = first;
    TiledSteps best;
    int64_t most = 0;
    if (!Expands(c_.pending_[first])) return best;
    if (!Join(first, Outermost(c_.pending_[first]))) return best;
    const size_t window = IsOfList(c_.pending_[first]) ? kMostListSteps : kMostSteps;
    size_t last = first + window;
    for (size_t s = first + 1; s < std::min(c_.pending_.size(), last); ++s) {
      const Pending& p = c_.pending_[s];
      if (!Depends(p)) continue;
      if (!JoinFed(s)) {
        finished_.insert(p.stores.begin(), p.stores.end());
        continue;
      }
      if (window == kMostListSteps) last = s + window;
      ChooseTile();
      const int64_t saved = Saved();
      if (saved > most) most = saved, best = grown_;
    }
    return best;
  }

 private:
  const std::vector<int64_t>& SpaceOf(const Pending& p) const {
    if (p.region >= 0) return c_.plan_.regions[static_cast<size_t>(p.region)].extents;
    const ArrayNode& n = c_.graph_.node(p.id);
    return n.op == ArrayOp::kGather ? n.shape : n.space;
  }
  bool Is(const Pending& p, ArrayOp op) const {
    return p.region < 0 && c_.graph_.node(p.id).op == op;
  }
  // A gather by the positions of a list, along which it can be tiled. With gathers of an embedding
  // in tiles a step of GPT base is one tiling along its batch, and takes 5% (f32) to 15% (f64)
  // longer.
  bool IsOfList(const Pending& p) const {
    if (!Is(p, ArrayOp::kGather)) return false;
    const bool forced = c_.options_.tile == RuleUse::kForce;
    return forced ? c_.graph_.node(p.id).operands[1].VariesAlong(Outermost(p))
                  : c_.gathered_axes_[static_cast<size_t>(p.id)] >= 0;
  }
  bool IsContract(const Pending& p) const { return Is(p, ArrayOp::kContract); }
  // All indices of the axis add to the same cells.
  bool IsSummed(const Pending& p, int axis) const {
    if (p.region >= 0) return false;
    const ArrayNode& n = c_.graph_.node(p.id);
    if (n.op == ArrayOp::kScatter)
      return std::find(n.kept.begin(), n.kept.end(), axis) == n.kept.end();
    return n.op == ArrayOp::kContract && static_cast<size_t>(axis) >= n.shape.size();
  }

  // Stores more than it reads, as the scores of an attention are to queries and keys.
  bool Expands(const Pending& p) const {
    int64_t stored = 0, read = 0;
    for (int id : p.stores) stored = std::max(stored, c_.BytesOf(id));
    for (int id : p.reads) read = std::max(read, c_.BytesOf(id));
    return c_.options_.tile == RuleUse::kForce ||
           (stored > read && stored >= kFewestBytes / kMostParts);
  }

  bool Depends(const Pending& p) const {
    return std::any_of(p.reads.begin(), p.reads.end(), [&](int id) {
      const int owner = c_.Owner(id);
      return grown_.axis_of.contains(owner) || finished_.contains(owner);
    });
  }

  // The outermost loop of a step and of all that it stores; -1: none.
  int Outermost(const Pending& p) const {
    size_t loops = 0;
    const bool is_reduce = Is(p, ArrayOp::kReduce);
    if (p.region >= 0) {
      loops = p.row_loops;
    } else if (IsContract(p) || Is(p, ArrayOp::kGather)) {
      loops = c_.graph_.node(p.id).shape.size();
    } else if (is_reduce && p.outer >= kMostParts) {  // fewer are cut along what is reduced
      const auto kept = static_cast<int>(c_.graph_.node(p.id).shape.size());
      while (loops < p.loops.size() && p.loops[loops] < kept) ++loops;
    }
    for (size_t i = 0; i < loops; ++i) {
      const int axis = p.region >= 0 || is_reduce ? p.loops[i] : static_cast<int>(i);
      if (SpaceOf(p)[static_cast<size_t>(axis)] != 1) return axis;
    }
    return -1;
  }

  int OutermostSummed(const Pending& p) const {
    const ArrayNode& n = c_.graph_.node(p.id);
    if (n.op == ArrayOp::kScatter) return 0;
    size_t axis = n.shape.size();
    while (axis + 1 < n.space.size() && n.space[axis] == 1) ++axis;
    return static_cast<int>(axis);
  }

  // Calls f(operand) for everything that a step reads, along the step's axes.
  template <typename F>
  void ForEachRead(const Pending& p, F&& f) const {
    if (p.region < 0) {
      for (const ArrayOperand& leaf : c_.plan_.leaves[static_cast<size_t>(p.id)])
        f(ArrayOperand{c_.Held(leaf.array), leaf.axes});
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
      const int own = AxisOfView(o.array, it->second);
      const int here = own >= 0 ? o.axes[static_cast<size_t>(own)] : -1;
      agrees = agrees && here >= 0 && (axis < 0 || axis == here);
      axis = here;
    });
    return agrees ? axis : -1;
  }

  // The axis of an array that its owner's runs along, from the first index to the last; -1: none.
  int AxisOfView(int id, int owners) const {
    const ArrayNode& n = c_.graph_.node(id);
    if (n.op != ArrayOp::kSlice) return owners;
    const int below = AxisOfView(n.operands[0].array, owners);
    if (below < 0) return -1;
    const auto at = static_cast<size_t>(below);
    const int axis = n.operands[0].axes[at];
    const bool whole = axis >= 0 && n.shape[static_cast<size_t>(axis)] ==
                                        c_.graph_.node(n.operands[0].array).shape[at];
    return whole ? axis : -1;
  }

  // Makes step `s` a member, after what feeds it. Leaves things as they were where it cannot be.
  bool JoinFed(size_t s) {
    const auto before = std::tuple(grown_, finished_, member_stores_);
    TakeFeeders(s);
    TakeBetween(s);
    const bool in_order = std::all_of(grown_.members.begin(), grown_.members.end(),
                                      [&](const std::pair<size_t, int>& member) {
                                        return !c_.Reads(c_.pending_[member.first], finished_);
                                      });
    if (in_order && Join(s, AxisOf(c_.pending_[s]))) return true;
    std::tie(grown_, finished_, member_stores_) = before;
    refused_.clear();
    return false;
  }

  // Makes members of the steps before `s` that make what it reads of small arrays.
  void TakeFeeders(size_t s) {
    for (int id : c_.pending_[s].reads) {
      const auto producer = producer_.find(c_.Owner(id));
      if (producer != producer_.end()) Feeds(producer->second, s);
    }
  }

  // Whether a step is a member, if need be from now on: `reader` reads what it stores.
  bool Feeds(size_t s, size_t reader) {
    if (s <= first_ || s >= reader) return s == first_;
    if (grown_.members.contains(s)) return true;
    // Many paths lead to a step, and it is refused again while the tiling is what it was.
    const auto refused = refused_.find(s);
    const size_t size = Size();
    if (refused != refused_.end() && refused->second == size) return false;
    const Pending& p = c_.pending_[s];
    bool is_fed = Is(p, ArrayOp::kGather) || Expands(p);
    for (int id : p.reads) {
      const auto producer = producer_.find(c_.Owner(id));
      if (producer != producer_.end()) is_fed |= Feeds(producer->second, s);
    }
    if (is_fed && Join(s, Depends(p) ? AxisOf(p) : Outermost(p))) return true;
    if (Size() == size) refused_[s] = size;
    return false;
  }

  // Grows with every member and every array that is finished.
  size_t Size() const { return grown_.members.size() + finished_.size(); }

  // Steps before `s` that read arrays of new members: members, too, or they run after the last
  // tile.
  void TakeBetween(size_t s) {
    for (size_t members = 0; members != grown_.members.size();) {
      members = grown_.members.size();
      for (size_t t = first_ + 1; t < s; ++t) {
        const Pending& p = c_.pending_[t];
        if (grown_.members.contains(t) || finished_.contains(p.stores[0]) || !Depends(p)) continue;
        TakeFeeders(t);
        if (!Join(t, AxisOf(p))) finished_.insert(p.stores.begin(), p.stores.end());
      }
    }
  }

  // Makes a step a member, tiled along an axis of its own, if it can be.
  bool Join(size_t s, int axis) {
    const Pending& p = c_.pending_[s];
    if (axis < 0 || c_.IsOnce(p)) return false;
    const int64_t extent = SpaceOf(p)[static_cast<size_t>(axis)];
    if (grown_.members.empty()) grown_.extent = extent;
    const bool summed = IsSummed(p, axis);
    if (extent != grown_.extent || axis != (summed ? OutermostSummed(p) : Outermost(p)))
      return false;
    if (Is(p, ArrayOp::kGather) && !IsOfList(p)) return false;
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
    bool has_rows = false;
    int64_t bytes = 0;
    for (const auto& [s, axis] : grown_.members) {
      const int64_t rows = RowsAt(c_.pending_[s], axis);
      has_rows |= rows > 0;
      if (rows > 0) grown_.tile = std::max(grown_.tile, (kTileRows + rows - 1) / rows);
    }
    for (const auto& [id, axis] : grown_.axis_of) bytes += c_.BytesOf(id) / grown_.extent;
    if (!has_rows)
      grown_.tile = std::clamp<int64_t>(kTileBytes / std::max<int64_t>(bytes, 1), 1, grown_.extent);
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
  absl::flat_hash_map<int, size_t> producer_;  // by array: the number of its step
  size_t first_ = 0;
  absl::flat_hash_set<int> member_stores_;
  TiledSteps grown_;
  absl::flat_hash_set<int> finished_;            // arrays that are whole only after the last tile
  absl::flat_hash_map<size_t, size_t> refused_;  // a step that feeds nothing, at which Size()
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
  // What a view sees and what a gather or a reduction writes lies as it is.
  const auto is = [this](int array, ArrayOp op) { return graph_.node(array).op == op; };
  const bool viewed = std::any_of(readers.begin(), readers.end(),
                                  [&](int reader) { return is(reader, ArrayOp::kSlice); });
  const bool is_dense = is(id, ArrayOp::kGather) || is(id, ArrayOp::kReduce);
  if (viewed || is_dense) return;
  if (outermost * width % kPageBytes == 0) outermost += kLineBytes / width;
  strides_[id] = std::move(strides);
}

void ArrayCompiler::FormTiles() {
  if (options_.tile == RuleUse::kOff) return;
  auto tiler = std::make_unique<Tiler>(*this);
  for (size_t first = 0; first < pending_.size(); ++first) {
    const TiledSteps best = tiler->Grow(first);
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
    tiler = std::make_unique<Tiler>(*this);  // the steps are in another order
  }
}

}  // namespace adjoin
