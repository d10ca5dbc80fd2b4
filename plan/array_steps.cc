#include "plan/array_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/array_contract.h"
#include "ops/array_gather.h"
#include "ops/array_map.h"
#include "ops/unpack_validity.h"
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
    for (size_t id = 0; id < reached_.size(); ++id) {
      if (reached_[id]) Emit(static_cast<int>(id));
    }
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
      for (const ArrayOperand& o : n.operands) {
        if (!stored_[static_cast<size_t>(o.array)]) cost += cost_[static_cast<size_t>(o.array)];
      }
      stored_[id] = forced_[id] || !Inlines(id, cost);
      cost_[id] = stored_[id] ? 0 : cost;
    }
  }

  // A map is fused into its reader where that reads it once a cell, and recomputed where that is
  // next to nothing.
  bool Inlines(size_t id, int cost) const {
    if (BytesOf(static_cast<int>(id)) > options_.work_mem / kLargestStoredShare) return true;
    if (CellsOf(graph_.node(static_cast<int>(id)).shape) == 1 && cost <= kRecomputeCost)
      return true;
    if (!options_.inline_maps) return false;
    if (cost <= kRecomputeCost) return true;
    if (readers_[id].size() != 1 || cost > kMostFusedCost) return false;
    const ArrayNode& reader = graph_.node(readers_[id][0]);
    const int64_t loops = CellsOf(reader.op == ArrayOp::kReduce ? reader.space : reader.shape);
    return loops == CellsOf(graph_.node(static_cast<int>(id)).shape);
  }

  // ---- Steps, with arrays still by id.

  struct Pending {
    int id;                                          // the array it stores
    std::vector<int64_t> loops;                      // of the block program
    std::vector<int> load_ids;                       // stored arrays it loads, ...
    std::vector<std::vector<int64_t>> load_strides;  // ... and how, over the loops
    CompiledExpr expr;
    int64_t outer = 1, reduced = 1, inner = 1;
    std::vector<int> reads;  // every stored array or input read
  };

  void Emit(int id) {
    const ArrayNode& n = graph_.node(id);
    const size_t at = static_cast<size_t>(id);
    if (n.op == ArrayOp::kIndex || n.op == ArrayOp::kInput) {
      if (n.op == ArrayOp::kInput) AddInput(id);
      if (n.op == ArrayOp::kInput && !n.valid) return;
      stored_[at] = true;
      if (n.op == ArrayOp::kInput) pending_.push_back({id, {}, {}, {}, {}, 1, 1, 1, {}});
      return;
    }
    if (!stored_[at]) return;
    Pending p{id, {}, {}, {}, {}, 1, 1, 1, {}};
    if (n.op == ArrayOp::kMap || n.op == ArrayOp::kConstant || n.op == ArrayOp::kParameter) {
      Fuse(id, n.shape, {id}, p);
      p.loops = n.shape;
    } else if (n.op == ArrayOp::kReduce) {
      Fuse(n.operands[0].array, n.space, n.operands[0].axes, p, /*inner_of=*/id);
    } else {
      for (const ArrayOperand& o : n.operands) p.reads.push_back(o.array);
    }
    pending_.push_back(std::move(p));
  }

  // Builds the expression of array `id` over `space`, whose axes its own axes are `axes` of; every
  // stored array below becomes a load. For a map the root is `id` itself; for a reduction
  // (`reduction` its id) the operand.
  void Fuse(int id, const std::vector<int64_t>& space, const std::vector<int>& axes, Pending& p,
            int reduction = -1) {
    ExprBuilder builder;
    Fusion f{builder, space, p, {}};
    std::vector<int> own = axes;
    if (reduction < 0) {
      own.clear();
      for (size_t k = 0; k < space.size(); ++k) own.push_back(static_cast<int>(k));
    }
    builder.Output(FuseNode(f, id, own, reduction < 0));
    p.expr = std::move(builder).Build();
    p.loops = space;
    if (reduction >= 0) OrderReduction(graph_.node(reduction), p);
    for (int load : p.load_ids) p.reads.push_back(load);
  }

  struct Fusion {
    ExprBuilder& builder;
    const std::vector<int64_t>& space;
    Pending& pending;
    absl::flat_hash_map<std::pair<int, std::vector<int>>, ExprBuilder::Id> known;
  };

  ExprBuilder::Id FuseNode(Fusion& f, int id, const std::vector<int>& axes, bool is_root) {
    const std::pair<int, std::vector<int>> key{id, axes};
    if (auto it = f.known.find(key); it != f.known.end()) return it->second;
    const ArrayNode& n = graph_.node(id);
    ExprBuilder::Id out;
    if (n.op == ArrayOp::kConstant) {
      out = f.builder.Constant(n.constant, n.type);
    } else if (n.op == ArrayOp::kParameter) {
      const ExprBuilder::Id parameter =
          f.builder.Parameter(n.column, n.valid ? TypeOfParameter(n.column) : n.type);
      const Value zero = IsFloat(n.type)           ? Value::Float(0)
                         : n.type == TypeId::kBool ? Value::Bool(false)
                                                   : Value::Int(0);
      out = n.valid ? f.builder.IsNotNull(parameter)
                    : f.builder.Coalesce(parameter, f.builder.Constant(zero, n.type));
    } else if (n.op == ArrayOp::kMap && (is_root || !stored_[static_cast<size_t>(id)])) {
      std::vector<ExprBuilder::Id> args;
      for (const ArrayOperand& o : n.operands) {
        std::vector<int> operand_axes;
        for (int axis : o.axes) operand_axes.push_back(axes[static_cast<size_t>(axis)]);
        args.push_back(FuseNode(f, o.array, operand_axes, false));
      }
      out = FuseCall(f, n, args);
    } else {
      out = f.builder.Input(AddLoad(f, id, axes), n.type);
    }
    f.known.emplace(key, out);
    return out;
  }

  ExprBuilder::Id FuseCall(Fusion& f, const ArrayNode& n,
                           const std::vector<ExprBuilder::Id>& args) {
    if (n.scalar == ScalarOp::kCount) {
      if (f.builder.type(args[0]) == n.type) return args[0];
      // What is left of casts are the planner's own: of a REAL sum back from DOUBLE PRECISION. Past
      // REAL it is infinite.
      const ExprBuilder::Id never =
          f.builder.Mask(ExprOpcode::kMaskTrue, ExprBuilder::kAlways,
                         f.builder.Constant(Value::Bool(false), TypeId::kBool));
      return f.builder.Cast(args[0], n.type, never);
    }
    if (n.scalar == ScalarOp::kSelect) return f.builder.Blend(args[0], args[1], args[2]);
    return f.builder.Strict(n.scalar, f.builder.type(args[0]), n.type, args, ExprBuilder::kAlways);
  }

  TypeId TypeOfParameter(int number) const {
    for (int id = 0; id < graph_.size(); ++id) {
      const ArrayNode& n = graph_.node(id);
      if (n.op == ArrayOp::kParameter && n.column == number && !n.valid) return n.type;
    }
    return TypeId::kBool;
  }

  int AddLoad(Fusion& f, int id, const std::vector<int>& axes) {
    f.pending.load_ids.push_back(id);
    const std::vector<int64_t>& own = StridesOf(id);
    std::vector<int64_t> strides(f.space.size(), 0);
    for (size_t k = 0; k < axes.size(); ++k) strides[static_cast<size_t>(axes[k])] += own[k];
    f.pending.load_strides.push_back(std::move(strides));
    return static_cast<int>(f.pending.load_ids.size()) - 1;
  }

  // Orders a reduction's loops after its largest operand's memory: [outer, reduced, inner], where
  // `inner` are the last output axes, if they step less far than the reduced ones.
  void OrderReduction(const ArrayNode& n, Pending& p) {
    const size_t kept = n.shape.size();
    int64_t largest = -1;
    const std::vector<int64_t>* main = nullptr;
    for (const auto& strides : p.load_strides) {
      int64_t cells = 1;
      for (size_t i = 0; i < strides.size(); ++i) cells *= strides[i] != 0 ? n.space[i] : 1;
      if (cells > largest) largest = cells, main = &strides;
    }
    const std::vector<int64_t> dense = DenseStrides(n.space);
    const std::vector<int64_t> steps = main != nullptr ? *main : dense;
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
    std::vector<size_t> order;
    for (size_t i = 0; i < split; ++i) order.push_back(i), p.outer *= n.space[i];
    for (size_t i : reduced) order.push_back(i), p.reduced *= n.space[i];
    for (size_t i = split; i < kept; ++i) order.push_back(i), p.inner *= n.space[i];
    const auto permute = [&](std::vector<int64_t>& v) {
      std::vector<int64_t> out;
      for (size_t i : order) out.push_back(v[i]);
      v = std::move(out);
    };
    permute(p.loops);
    for (auto& strides : p.load_strides) permute(strides);
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
      lives[p.id] = {p.id, step, step, BytesOf(p.id)};
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
    for (const Pending& p : pending_) order.push_back(lives[p.id]);
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
      program_.base_reads +=
          static_cast<int>(inputs.size()) + (graph_.node(p.id).op == ArrayOp::kInput ? 1 : 0);
      program_.steps.push_back(BuildStep(p));
      ++step_number_;
    }
    for (size_t id = 0; id < reached_.size(); ++id) {
      const ArrayOp op = graph_.node(static_cast<int>(id)).op;
      const bool has_memory =
          stored_[id] || op == ArrayOp::kInput || op == ArrayOp::kIndex || op == ArrayOp::kSlice;
      if (!reached_[id] || !has_memory) continue;
      program_.views[static_cast<int>(id)] = {AddressOf(static_cast<int>(id)),
                                              StridesOf(static_cast<int>(id))};
    }
  }

  std::unique_ptr<Step> BuildStep(Pending& p) {
    const ArrayNode& n = graph_.node(p.id);
    const std::string shape = absl::StrCat("%", p.id, "[", absl::StrJoin(n.shape, ","), "]");
    switch (n.op) {
      case ArrayOp::kInput:
        return std::make_unique<UnpackValidity>(ArrayAddress{input_base_.find(p.id)->second, 0},
                                                CellsOf(n.shape), AddressOf(p.id),
                                                absl::StrCat("UnpackValidity ", shape));
      case ArrayOp::kReduce:
        return std::make_unique<FusedReduce>(step_number_, static_cast<ArrayReduction>(n.reduce),
                                             p.outer, p.reduced, p.inner, MakeProgram(p),
                                             AddressOf(p.id), Label("Reduce", shape, p));
      case ArrayOp::kContract:
        ++program_.contractions;
        return BuildContract(p, n, shape);
      case ArrayOp::kGather:
        return BuildGather(p, n, shape);
      case ArrayOp::kScatter:
        return BuildScatter(p, n, shape);
      default:
        return std::make_unique<FusedMap>(step_number_, MakeProgram(p),
                                          std::vector<ArrayAddress>{AddressOf(p.id)},
                                          Label("Map", shape, p));
    }
  }

  std::string Label(std::string_view kind, const std::string& shape, const Pending& p) const {
    std::vector<int> reads = p.reads;
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    return absl::StrCat(
        absl::string_view(kind.data(), kind.size()), " ", shape, " <- ",
        absl::StrJoin(reads, " ", [](std::string* out, int id) { absl::StrAppend(out, "%", id); }));
  }

  BlockProgram MakeProgram(Pending& p) {
    std::vector<ArrayLoad> loads;
    for (size_t l = 0; l < p.load_ids.size(); ++l) {
      loads.push_back(
          {AddressOf(p.load_ids[l]), graph_.node(p.load_ids[l]).type, p.load_strides[l]});
    }
    return BlockProgram(p.loops, std::move(loads), std::move(p.expr));
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
        step_number_, n.type, std::move(axes), AddressOf(n.operands[0].array),
        AddressOf(n.operands[1].array), AddressOf(p.id), std::move(mask), std::move(stairs),
        Label("Contract", shape, p));
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
  std::vector<bool> reached_, forced_, stored_;
  std::vector<int> cost_;
  std::vector<std::vector<int>> readers_;
  std::vector<ArrayOperand> read_cells_;  // by id
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
