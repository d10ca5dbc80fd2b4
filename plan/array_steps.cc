#include "plan/array_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status.h"
#include "ops/array_contract.h"
#include "ops/array_gather.h"
#include "ops/array_map.h"
#include "ops/unpack_validity.h"
#include "plan/array_regions.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) & ~int64_t{63}; }

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    strides[k] = step;
    step *= shape[k];
  }
  return strides;
}

// Rough cost of one cell, in additions.
int CostOf(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kSubtract:
    case ScalarOp::kMultiply:
    case ScalarOp::kNegate:
    case ScalarOp::kAbs:
    case ScalarOp::kEqual:
    case ScalarOp::kNotEqual:
    case ScalarOp::kLess:
    case ScalarOp::kLessEqual:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kNot:
    case ScalarOp::kSelect:
    case ScalarOp::kGreatest:
    case ScalarOp::kLeast:
    case ScalarOp::kSign:
    case ScalarOp::kCount:
      return 1;
    case ScalarOp::kDivide:
    case ScalarOp::kSqrt:
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRound:
      return 4;
    default:
      return 12;
  }
}

// A map this cheap is computed again by each reader rather than stored: one write and read of a
// cell that leaves L1 is 0.5 ns, an addition in a fused block 0.1 ns.
constexpr int kRecomputeCost = 2;
// Past this a fused expression spills its block registers out of L1.
constexpr int kMostFusedCost = 400;

// A map of more than work_mem / 8 (32 MiB) is computed again in each reader's blocks and never
// written: all pairs of a few thousand points stay in cache that way.
constexpr int64_t kLargestStoredShare = 8;

class Compiler {
 public:
  Compiler(const ArrayGraph& graph, const std::vector<int>& roots, const PlanOptions& options,
           int first_step)
      : graph_(graph), roots_(roots), options_(options), step_number_(first_step) {}

  ArrayProgram Compile() {
    FindReaders();
    read_cells_ = graph_.ReadCells(roots_);
    ChooseStored();
    AddInputs();
    plan_ = FormRegions(graph_, stored_, options_.inline_maps);
    ChooseWritten();
    for (const ArrayUnit& unit : plan_.units) Emit(unit);
    LayOut();
    BuildSteps();
    return std::move(program_);
  }

 private:
  // ---- What is stored.

  void FindReaders() {
    reached_.assign(static_cast<size_t>(graph_.size()), false);
    forced_.assign(reached_.size(), false);
    readers_.resize(reached_.size());
    for (int r : roots_) reached_[static_cast<size_t>(r)] = forced_[static_cast<size_t>(r)] = true;
    for (size_t id = reached_.size(); id-- > 0;) {
      if (!reached_[id]) continue;
      const ArrayNode& n = graph_.node(static_cast<int>(id));
      const bool needs_stored = n.op != ArrayOp::kMap && n.op != ArrayOp::kReduce;
      // A mask of products is one of many maps, which had rather load it than compare indices: with
      // it inlined a step of GPT base takes 25.2 ms instead of 23.4.
      if (n.stairs.array >= 0) forced_[static_cast<size_t>(n.stairs.array)] = true;
      for (const ArrayOperand& o : n.operands) {
        const size_t at = static_cast<size_t>(o.array);
        reached_[at] = true;
        forced_[at] = forced_[at] || needs_stored;
        if (readers_[at].empty() || readers_[at].back() != static_cast<int>(id))
          readers_[at].push_back(static_cast<int>(id));
      }
    }
  }

  void ChooseStored() {
    stored_.assign(reached_.size(), false);
    cost_.assign(reached_.size(), 0);
    once_.assign(reached_.size(), false);
    for (size_t id = 0; id < reached_.size(); ++id) {
      if (!reached_[id]) continue;
      const ArrayNode& n = graph_.node(static_cast<int>(id));
      if (n.op == ArrayOp::kInput || n.op == ArrayOp::kIndex || n.op == ArrayOp::kSlice) continue;
      if (n.op == ArrayOp::kConstant || n.op == ArrayOp::kParameter) {
        stored_[id] = forced_[id];
        continue;
      }
      if (n.op != ArrayOp::kMap) {
        stored_[id] = true;
        continue;
      }
      int cost = CostOf(n.scalar);
      bool once = true;
      for (const ArrayOperand& o : n.operands) {
        const size_t at = static_cast<size_t>(o.array);
        if (!stored_[at]) cost += cost_[at];
        const ArrayOp op = graph_.node(o.array).op;
        once = once && (op == ArrayOp::kConstant || op == ArrayOp::kParameter ||
                        (op == ArrayOp::kMap && once_[at]));
      }
      once_[id] = once;
      stored_[id] = forced_[id] || !Inlines(id, cost);
      cost_[id] = stored_[id] ? 0 : cost;
    }
  }

  // A map is fused into its reader where that reads it once a cell, and recomputed where that is
  // next to nothing.
  bool Inlines(size_t id, int cost) const {
    if (BytesOf(static_cast<int>(id)) > options_.work_mem / kLargestStoredShare) return true;
    if (once_[id]) return true;  // computed when its step is prepared
    if (!options_.inline_maps) return false;
    if (cost <= kRecomputeCost) return true;
    if (readers_[id].size() != 1 || cost > kMostFusedCost) return false;
    const ArrayNode& reader = graph_.node(readers_[id][0]);
    const int64_t loops = CellsOf(reader.op == ArrayOp::kReduce ? reader.space : reader.shape);
    return loops == CellsOf(graph_.node(static_cast<int>(id)).shape);
  }

  // Inputs that are used as they lie; validity bitmaps are unpacked by a step.
  void AddInputs() {
    for (size_t id = 0; id < reached_.size(); ++id) {
      const ArrayNode& n = graph_.node(static_cast<int>(id));
      if (!reached_[id] || n.op != ArrayOp::kInput) continue;
      AddInput(static_cast<int>(id));
      stored_[id] = n.valid;
    }
  }

  // Of a region, only what others read is written to memory.
  void ChooseWritten() {
    written_.assign(stored_.size(), false);
    std::vector<int> region_of(stored_.size(), -1);
    for (size_t r = 0; r < plan_.regions.size(); ++r) {
      for (int member : plan_.regions[r].members)
        region_of[static_cast<size_t>(member)] = static_cast<int>(r);
    }
    for (const ArrayUnit& unit : plan_.units) {
      if (unit.region < 0) written_[static_cast<size_t>(unit.array)] = true;
    }
    for (int root : roots_) written_[static_cast<size_t>(Owner(root))] = true;
    for (size_t id = 0; id < stored_.size(); ++id) {
      if (reached_[id] && graph_.node(static_cast<int>(id)).op == ArrayOp::kSlice)
        written_[static_cast<size_t>(Owner(static_cast<int>(id)))] = true;
      if (!stored_[id]) continue;
      if (region_of[id] < 0 && graph_.node(static_cast<int>(id)).op != ArrayOp::kReduce) {
        for (const ArrayOperand& o : graph_.node(static_cast<int>(id)).operands)
          written_[static_cast<size_t>(o.array)] = true;
        continue;
      }
      for (const ArrayLeaf& leaf : LeavesOf(graph_, stored_, static_cast<int>(id))) {
        const auto at = static_cast<size_t>(leaf.array);
        if (region_of[id] < 0 || region_of[at] != region_of[id]) written_[at] = true;
      }
    }
  }

  // ---- Steps, with arrays still by id.

  // A step that is to be built once its buffers have been placed.
  struct Pending {
    int id = -1;  // the array it stores; -1: a region's
    int region = -1;
    std::vector<int> stores;                    // every array it writes
    std::vector<int> reads;                     // every stored array or input it reads
    std::vector<int> loops;                     // the iteration space's axes, rows first
    size_t row_loops = 0;                       // how many of them are rows
    int64_t outer = 1, reduced = 1, inner = 1;  // of a reduction over rows
  };

  void Emit(const ArrayUnit& unit) {
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

  // What computing `id` reads, outside its region.
  void AddReads(int id, const ArrayRegion* region, Pending& p) {
    const ArrayNode& n = graph_.node(id);
    if (n.op != ArrayOp::kMap && n.op != ArrayOp::kReduce) {
      for (const ArrayOperand& o : n.operands) p.reads.push_back(o.array);
      return;
    }
    for (const ArrayLeaf& leaf : LeavesOf(graph_, stored_, id)) {
      if (region == nullptr || !region->axes.contains(leaf.array)) p.reads.push_back(leaf.array);
    }
  }

  // Strides of a stored array over a space of `rank` axes, of which its own are `axes`.
  std::vector<int64_t> Along(int array, const std::vector<int>& axes, size_t rank) {
    std::vector<int64_t> out(rank, 0);
    const std::vector<int64_t>& own = StridesOf(array);
    for (size_t k = 0; k < axes.size(); ++k) out[static_cast<size_t>(axes[k])] += own[k];
    return out;
  }

  // The axes of a space in the order in which the largest array that is read lies in memory.
  std::vector<int> MemoryOrder(const std::vector<int64_t>& extents,
                               const std::vector<std::vector<int64_t>>& loads) const {
    int64_t largest = -1;
    const std::vector<int64_t>* main = nullptr;
    for (const auto& strides : loads) {
      int64_t cells = 1;
      for (size_t i = 0; i < strides.size(); ++i) cells *= strides[i] != 0 ? extents[i] : 1;
      if (cells > largest) largest = cells, main = &strides;
    }
    std::vector<int> order;
    for (size_t i = 0; i < extents.size(); ++i) order.push_back(static_cast<int>(i));
    if (main == nullptr) return order;
    // Axes that it does not run along go outside.
    const auto step = [&](int axis) {
      const int64_t s = (*main)[static_cast<size_t>(axis)];
      return s == 0 ? INT64_MAX : s;
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return step(a) > step(b); });
    return order;
  }

  // Orders a region's loops, decides its rows where no reduction has, and lays out what it writes
  // in that order.
  void OrderRegion(const ArrayRegion& region, Pending& p) {
    const size_t rank = region.extents.size();
    std::vector<std::vector<int64_t>> loads;
    const std::vector<int>* root = nullptr;
    for (int member : region.members) {
      const std::vector<int>& axes = region.axes.find(member)->second;
      for (const ArrayLeaf& leaf : LeavesOf(graph_, stored_, member)) {
        if (region.axes.contains(leaf.array)) continue;
        std::vector<int> through;
        for (int axis : leaf.axes) through.push_back(axes[static_cast<size_t>(axis)]);
        loads.push_back(Along(leaf.array, through, rank));
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

  // A map without reductions: rows along which some operand is one value, else none (every cell is
  // a row).
  static std::vector<bool> ChooseRows(const std::vector<int64_t>& extents,
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

  // Orders a reduction's loops after its largest operand's memory: [outer, reduced, inner], where
  // `inner` are the last output axes, if they step less far than the reduced ones.
  void OrderReduction(int id, Pending& p) {
    const ArrayNode& n = graph_.node(id);
    const size_t kept = n.shape.size();
    std::vector<std::vector<int64_t>> loads;
    for (const ArrayLeaf& leaf : LeavesOf(graph_, stored_, id))
      loads.push_back(Along(leaf.array, leaf.axes, n.space.size()));
    int64_t largest = -1;
    std::vector<int64_t> steps = DenseStrides(n.space);
    for (const auto& strides : loads) {
      int64_t cells = 1;
      for (size_t i = 0; i < strides.size(); ++i) cells *= strides[i] != 0 ? n.space[i] : 1;
      if (cells > largest) largest = cells, steps = strides;
    }
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
    for (size_t i = 0; i < split; ++i)
      p.loops.push_back(static_cast<int>(i)), p.outer *= n.space[i];
    for (size_t i : reduced) p.loops.push_back(static_cast<int>(i)), p.reduced *= n.space[i];
    for (size_t i = split; i < kept; ++i)
      p.loops.push_back(static_cast<int>(i)), p.inner *= n.space[i];
    const bool rows = p.inner > 1 && p.inner <= RowProgram::kLongestRow;
    p.row_loops = rows ? p.loops.size() - (kept - split) : p.loops.size();
  }

  // ---- Expressions, once addresses are known.

  struct Fusion {
    RowProgramBuilder& builder;
    const std::vector<int>& loops;  // the space's axes in the order of the program's
    size_t row_loops;
    const ArrayRegion* region;  // null: a single reduction's
    absl::flat_hash_map<std::pair<int, std::vector<int>>, RowProgramBuilder::Id> known;
  };

  static RowProgramBuilder MakeBuilder(const Pending& p, const std::vector<int64_t>& extents) {
    std::vector<int64_t> rows, cells;
    for (size_t i = 0; i < p.loops.size(); ++i)
      (i < p.row_loops ? rows : cells).push_back(extents[static_cast<size_t>(p.loops[i])]);
    return RowProgramBuilder(std::move(rows), std::move(cells));
  }

  // The array `id`, whose axes run along the space's axes `axes`.
  RowProgramBuilder::Id FuseNode(Fusion& f, int id, const std::vector<int>& axes) {
    const std::pair<int, std::vector<int>> key{id, axes};
    if (auto it = f.known.find(key); it != f.known.end()) return it->second;
    const ArrayNode& n = graph_.node(id);
    const bool here = f.region != nullptr && f.region->axes.contains(id);
    RowProgramBuilder::Id out;
    if (n.op == ArrayOp::kConstant) {
      out = f.builder.Constant(n.constant, n.type);
    } else if (n.op == ArrayOp::kParameter && (here || !stored_[static_cast<size_t>(id)])) {
      out = n.valid ? f.builder.ParameterIsValid(n.column) : f.builder.Parameter(n.column, n.type);
    } else if (n.op == ArrayOp::kMap && (here || !stored_[static_cast<size_t>(id)])) {
      std::vector<RowProgramBuilder::Id> args;
      for (const ArrayOperand& o : n.operands) {
        std::vector<int> operand_axes;
        for (int axis : o.axes) operand_axes.push_back(axes[static_cast<size_t>(axis)]);
        args.push_back(FuseNode(f, o.array, operand_axes));
      }
      out = n.scalar == ScalarOp::kCount ? f.builder.Cast(args[0], n.type)
                                         : f.builder.Map(n.scalar, n.type, args);
    } else if (n.op == ArrayOp::kReduce && here) {
      const std::vector<int>& space = f.region->axes.find(id)->second;
      std::vector<int> operand_axes;
      for (int axis : n.operands[0].axes) operand_axes.push_back(space[static_cast<size_t>(axis)]);
      out = f.builder.Reduce(static_cast<ArrayReduction>(n.reduce),
                             FuseNode(f, n.operands[0].array, operand_axes));
    } else {
      out = AddLoad(f, id, axes);
    }
    f.known.emplace(key, out);
    return out;
  }

  // How an array lies along a program's loops, the row loops alone for a value a row.
  ArrayLoad AlongLoops(const Fusion& f, int id, const std::vector<int>& axes, bool per_row) {
    ArrayLoad load{AddressOf(id), graph_.node(id).type, {}};
    const std::vector<int64_t> strides = Along(id, axes, f.loops.size());
    for (size_t i = 0; i < (per_row ? f.row_loops : f.loops.size()); ++i)
      load.strides.push_back(strides[static_cast<size_t>(f.loops[i])]);
    return load;
  }

  RowProgramBuilder::Id AddLoad(Fusion& f, int id, const std::vector<int>& axes) {
    bool per_row = true;
    const std::vector<int64_t> strides = Along(id, axes, f.loops.size());
    for (size_t i = f.row_loops; i < f.loops.size(); ++i)
      per_row = per_row && strides[static_cast<size_t>(f.loops[i])] == 0;
    return f.builder.Load(AlongLoops(f, id, axes, per_row), per_row);
  }

  RowProgram BuildRegion(const Pending& p, const ArrayRegion& region) {
    RowProgramBuilder builder = MakeBuilder(p, region.extents);
    Fusion f{builder, p.loops, p.row_loops, &region, {}};
    for (int member : region.members) {
      std::vector<int> axes = region.axes.find(member)->second;
      axes.resize(graph_.node(member).shape.size());
      RowProgramBuilder::Id id = FuseNode(f, member, axes);
      if (!written_[static_cast<size_t>(member)]) continue;
      const bool cells = std::any_of(axes.begin(), axes.end(), [&](int axis) {
        return std::find(p.loops.begin() + static_cast<ptrdiff_t>(p.row_loops), p.loops.end(),
                         axis) != p.loops.end();
      });
      id = cells ? builder.Cells(id) : builder.Rows(id);
      builder.Store(id, AlongLoops(f, member, axes, !cells));
    }
    return std::move(builder).Build();
  }

  RowProgram BuildReduction(const Pending& p) {
    const ArrayNode& n = graph_.node(p.id);
    RowProgramBuilder builder = MakeBuilder(p, n.space);
    Fusion f{builder, p.loops, p.row_loops, nullptr, {}};
    builder.Expose(FuseNode(f, n.operands[0].array, n.operands[0].axes));
    return std::move(builder).Build();
  }

  // ---- Buffers.

  void AddInput(int id) {
    const ArrayNode& n = graph_.node(id);
    input_base_[id] = static_cast<int>(program_.inputs.size()) + 1;
    program_.inputs.push_back({n.table_id, n.column, n.valid, input_base_[id]});
  }

  const std::vector<int64_t>& StridesOf(int id) {
    auto it = strides_.find(id);
    if (it != strides_.end()) return it->second;
    const ArrayNode& n = graph_.node(id);
    std::vector<int64_t> s =
        n.op == ArrayOp::kSlice ? StridesOf(n.operands[0].array) : DenseStrides(n.shape);
    return strides_.emplace(id, std::move(s)).first->second;
  }

  // The array whose memory `id` is in: itself, or what it is a view of.
  int Owner(int id) const {
    while (graph_.node(id).op == ArrayOp::kSlice) id = graph_.node(id).operands[0].array;
    return id;
  }

  int64_t BytesOf(int id) const {
    const ArrayNode& n = graph_.node(id);
    return Aligned(CellsOf(n.shape) * WidthOf(n.type));
  }

  // Places each stored array in one arena: largest first, at the lowest place free over its
  // lifetime.
  void LayOut() {
    struct Life {
      int id, first, last;
      int64_t bytes, offset = 0;
    };
    absl::flat_hash_map<int, Life> lives;
    int step = 0;
    for (const Pending& p : pending_) {
      for (int stored : p.stores) lives[stored] = {stored, step, step, BytesOf(stored)};
      for (int read : p.reads) {
        auto it = lives.find(Owner(read));
        if (it != lives.end()) it->second.last = step;
      }
      ++step;
    }
    for (int r : roots_) {
      auto it = lives.find(Owner(r));
      if (it != lives.end()) it->second.last = step;
    }
    std::vector<Life> order;
    for (const Pending& p : pending_) {
      for (int stored : p.stores) order.push_back(lives[stored]);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
    // Index arrays are written once and live throughout.
    int64_t constants = 0;
    for (size_t id = 0; id < reached_.size(); ++id) {
      const ArrayNode& n = graph_.node(static_cast<int>(id));
      if (!reached_[id] || n.op != ArrayOp::kIndex) continue;
      address_[static_cast<int>(id)] = {0, constants};
      program_.constants.push_back({{0, constants}, n.type, n.origins[0], n.shape[0]});
      constants += BytesOf(static_cast<int>(id));
    }
    std::vector<Life> placed;
    int64_t end = constants;
    for (Life& life : order) {
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (const Life& other : placed) {
        if (other.first <= life.last && life.first <= other.last)
          taken.emplace_back(other.offset, other.offset + other.bytes);
      }
      std::sort(taken.begin(), taken.end());
      int64_t at = constants;
      for (const auto& [from, to] : taken) {
        if (at + life.bytes <= from) break;
        at = std::max(at, to);
      }
      life.offset = at;
      end = std::max(end, at + life.bytes);
      program_.bytes_between_steps += life.bytes;
      address_[life.id] = {0, at};
      placed.push_back(life);
    }
    program_.arena_bytes = end;
  }

  ArrayAddress AddressOf(int id) {
    const ArrayNode& n = graph_.node(id);
    if (n.op == ArrayOp::kSlice) {
      ArrayAddress a = AddressOf(n.operands[0].array);
      const std::vector<int64_t>& strides = StridesOf(n.operands[0].array);
      for (size_t k = 0; k < strides.size(); ++k)
        a.offset += n.origins[k] * strides[k] * WidthOf(n.type);
      return a;
    }
    if (auto it = address_.find(id); it != address_.end()) return it->second;
    return {input_base_.find(id)->second, 0};
  }

  // ---- Steps.

  void BuildSteps() {
    for (Pending& p : pending_) {
      absl::flat_hash_set<int> inputs;
      for (int read : p.reads) {
        if (graph_.node(Owner(read)).op == ArrayOp::kInput) inputs.insert(Owner(read));
      }
      const bool unpacks = p.id >= 0 && graph_.node(p.id).op == ArrayOp::kInput;
      program_.base_reads += static_cast<int>(inputs.size()) + (unpacks ? 1 : 0);
      program_.steps.push_back(BuildStep(p));
      ++step_number_;
    }
    for (size_t id = 0; id < reached_.size(); ++id) {
      const ArrayOp op = graph_.node(static_cast<int>(id)).op;
      const bool has_memory =
          written_[id] || op == ArrayOp::kInput || op == ArrayOp::kIndex || op == ArrayOp::kSlice;
      if (!reached_[id] || !has_memory) continue;
      program_.views[static_cast<int>(id)] = {AddressOf(static_cast<int>(id)),
                                              StridesOf(static_cast<int>(id))};
    }
  }

  std::unique_ptr<Step> BuildStep(Pending& p) {
    if (p.region >= 0) return BuildRows(p, plan_.regions[static_cast<size_t>(p.region)]);
    const ArrayNode& n = graph_.node(p.id);
    const std::string shape = ShapeOf(p.id);
    switch (n.op) {
      case ArrayOp::kInput:
        return std::make_unique<UnpackValidity>(ArrayAddress{input_base_.find(p.id)->second, 0},
                                                CellsOf(n.shape), AddressOf(p.id),
                                                absl::StrCat("UnpackValidity ", shape));
      case ArrayOp::kReduce:
        return std::make_unique<FusedReduce>(step_number_, static_cast<ArrayReduction>(n.reduce),
                                             p.outer, p.reduced, p.inner, BuildReduction(p),
                                             AddressOf(p.id), Label("Reduce", shape, p));
      case ArrayOp::kContract:
        ++program_.contractions;
        return BuildContract(p, n, shape);
      case ArrayOp::kGather:
        return BuildGather(p, n, shape);
      default:
        ADJOIN_DCHECK(n.op == ArrayOp::kScatter);
        return BuildScatter(p, n, shape);
    }
  }

  std::string ShapeOf(int id) const {
    return absl::StrCat("%", id, "[", absl::StrJoin(graph_.node(id).shape, ","), "]");
  }

  std::unique_ptr<Step> BuildRows(const Pending& p, const ArrayRegion& region) {
    const bool reduces = std::any_of(region.members.begin(), region.members.end(), [&](int member) {
      return graph_.node(member).op == ArrayOp::kReduce;
    });
    std::vector<std::string> shapes;
    for (int stored : p.stores) shapes.push_back(ShapeOf(stored));
    return std::make_unique<FusedRows>(
        step_number_, BuildRegion(p, region),
        Label(reduces ? "Rows" : "Map", absl::StrJoin(shapes, " "), p));
  }

  std::string Label(std::string_view kind, const std::string& shape, const Pending& p) const {
    std::vector<int> reads = p.reads;
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    return absl::StrCat(
        absl::string_view(kind.data(), kind.size()), " ", shape, " <- ",
        absl::StrJoin(reads, " ", [](std::string* out, int id) { absl::StrAppend(out, "%", id); }));
  }

  std::vector<int64_t> OverSpace(const ArrayOperand& o, size_t rank) {
    std::vector<int64_t> out(rank, 0);
    const std::vector<int64_t>& own = StridesOf(o.array);
    for (size_t k = 0; k < o.axes.size(); ++k) {
      if (o.axes[k] >= 0) out[static_cast<size_t>(o.axes[k])] += own[k];
    }
    return out;
  }

  std::unique_ptr<Step> BuildContract(const Pending& p, const ArrayNode& n,
                                      const std::string& shape) {
    const size_t rank = n.space.size();
    const std::vector<int64_t> a = OverSpace(n.operands[0], rank),
                               b = OverSpace(n.operands[1], rank);
    const std::vector<int64_t> c = DenseStrides(n.shape);
    const auto has = [](const ArrayOperand& o, size_t axis) {
      return std::find(o.axes.begin(), o.axes.end(), static_cast<int>(axis)) != o.axes.end();
    };
    std::vector<ContractAxis> axes;
    for (size_t i = 0; i < rank; ++i) {
      const bool summed = i >= n.shape.size();
      axes.push_back({n.space[i], a[i], b[i], summed ? 0 : c[i], has(n.operands[0], i),
                      has(n.operands[1], i), summed});
    }
    ContractStep::Mask mask;
    Staircase stairs = graph_.StaircaseOf(n.stairs);
    // With both factors zeroed there is nothing to check.
    const bool one_zeroed = stairs.present() && !(axes[static_cast<size_t>(stairs.of)].in_b &&
                                                  axes[static_cast<size_t>(stairs.along)].in_b);
    if (n.operands.size() > 2 || one_zeroed) {
      mask.present = true;
      if (n.operands.size() > 2) {
        mask.address = AddressOf(n.operands[2].array);
        mask.strides = OverSpace(n.operands[2], rank);
      }
      mask.checked = AddressOf(n.operands[1].array);
      mask.checked_cells = CellsOf(graph_.node(n.operands[1].array).shape);
      // A view is checked as far as the array it looks into goes.
      if (graph_.node(n.operands[1].array).op == ArrayOp::kSlice) {
        const int owner = Owner(n.operands[1].array);
        mask.checked = AddressOf(owner);
        mask.checked_cells = CellsOf(graph_.node(owner).shape);
      }
    }
    if (!stairs.present()) stairs = graph_.StaircaseOf(read_cells_[static_cast<size_t>(p.id)]);
    return std::make_unique<ContractStep>(
        n.type, std::move(axes), AddressOf(n.operands[0].array), AddressOf(n.operands[1].array),
        AddressOf(p.id), std::move(mask), std::move(stairs), Label("Contract", shape, p));
  }

  std::vector<ArrayIndex> BuildIndices(const ArrayNode& n, size_t rank,
                                       const std::vector<int64_t>& strides) {
    std::vector<ArrayIndex> out;
    for (size_t j = 0; j + 1 < n.operands.size(); ++j) {
      const ArrayOperand& o = n.operands[j + 1];
      out.push_back({AddressOf(o.array), graph_.node(o.array).type, OverSpace(o, rank),
                     n.origins[j], strides[j]});
    }
    return out;
  }

  std::unique_ptr<Step> BuildGather(const Pending& p, const ArrayNode& n,
                                    const std::string& shape) {
    const std::vector<int64_t>& source = StridesOf(n.operands[0].array);
    std::vector<int64_t> strides;
    for (int axis : n.indexed) strides.push_back(source[static_cast<size_t>(axis)]);
    return std::make_unique<GatherStep>(
        n.type, n.shape, AddressOf(n.operands[0].array), OverSpace(n.operands[0], n.shape.size()),
        BuildIndices(n, n.shape.size(), strides), AddressOf(p.id), Label("Gather", shape, p));
  }

  std::unique_ptr<Step> BuildScatter(const Pending& p, const ArrayNode& n,
                                     const std::string& shape) {
    const std::vector<int64_t> out = DenseStrides(n.shape);
    std::vector<int64_t> direct(n.space.size(), 0), strides(n.origins.size(), 0);
    for (size_t a = 0; a < n.kept.size(); ++a) {
      if (n.kept[a] >= 0) {
        direct[static_cast<size_t>(n.kept[a])] += out[a];
      } else {
        strides[static_cast<size_t>(-n.kept[a] - 1)] += out[a];
      }
    }
    return std::make_unique<ScatterStep>(n.type, n.space, AddressOf(n.operands[0].array),
                                         OverSpace(n.operands[0], n.space.size()), direct,
                                         BuildIndices(n, n.space.size(), strides), AddressOf(p.id),
                                         CellsOf(n.shape), Label("Scatter", shape, p));
  }

  const ArrayGraph& graph_;
  const std::vector<int>& roots_;
  const PlanOptions& options_;
  int step_number_;
  std::vector<bool> reached_, forced_, stored_, written_;
  std::vector<bool> once_;  // made of constants and parameters alone
  std::vector<int> cost_;
  std::vector<std::vector<int>> readers_;
  std::vector<ArrayOperand> read_cells_;  // by id
  ArrayPlan plan_;
  std::vector<Pending> pending_;
  absl::flat_hash_map<int, int> input_base_;
  std::map<int, std::vector<int64_t>> strides_;  // references stay valid
  absl::flat_hash_map<int, ArrayAddress> address_;
  ArrayProgram program_;
};

}  // namespace

ArrayProgram CompileArrays(const ArrayGraph& graph, const std::vector<int>& roots,
                           const PlanOptions& options, int first_step) {
  return Compiler(graph, roots, options, first_step).Compile();
}

}  // namespace adjoin
