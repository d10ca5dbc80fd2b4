#include "plan/array_steps.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status.h"
#include "ops/array_contract.h"
#include "ops/array_gather.h"
#include "ops/array_map.h"
#include "ops/unpack_validity.h"
#include "plan/array_compiler.h"
#include "plan/array_rewrites.h"

namespace adjoin {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) & ~int64_t{63}; }

}  // namespace

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    strides[k] = step;
    step *= shape[k];
  }
  return strides;
}

ArrayProgram ArrayCompiler::Compile() {
  FindReaders();
  read_cells_ = graph_.ReadCells(roots_);
  ChooseStored();
  AddInputs();
  plan_ = FormRegions(graph_, stored_, options_.inline_maps);
  ChooseWritten();
  for (const ArrayUnit& unit : plan_.units) Emit(unit);
  FormTiles();
  BuildPrograms();
  FormStacks();
  for (Pending& p : pending_) p.work = WorkOf(p);
  FormStages();
  LayOut();
  BuildSteps();
  NoteRules();
  return std::move(program_);
}

const std::vector<int64_t>& ArrayCompiler::StridesOf(int id) {
  auto it = strides_.find(id);
  if (it != strides_.end()) return it->second;
  const ArrayNode& n = graph_.node(id);
  std::vector<int64_t> s = DenseStrides(n.shape);
  if (n.op == ArrayOp::kSlice) {
    const std::vector<int64_t>& whole = StridesOf(n.operands[0].array);
    for (size_t k = 0; k < whole.size(); ++k) {
      const int axis = n.operands[0].axes[k];
      if (axis >= 0) s[static_cast<size_t>(axis)] = whole[k];
    }
  }
  return strides_.emplace(id, std::move(s)).first->second;
}

int ArrayCompiler::Owner(int id) const {
  while (graph_.node(id).op == ArrayOp::kSlice) id = graph_.node(id).operands[0].array;
  return id;
}

int64_t ArrayCompiler::BytesOf(int id) const {
  const ArrayNode& n = graph_.node(id);
  return Aligned(CellsOf(n.shape) * WidthOf(n.type));
}

// The tiled axis is the outermost in memory.
int64_t ArrayCompiler::BytesAnIndex(int id) {
  const ArrayNode& n = graph_.node(id);
  int64_t cells = 0;
  for (size_t k = 0; k < n.shape.size(); ++k)
    cells = std::max(cells, n.shape[k] > 1 ? StridesOf(id)[k] : 0);
  return cells * WidthOf(n.type);
}

void ArrayCompiler::LayOut() {
  struct Life {
    int id, first, last;
    int64_t bytes, offset = 0;
  };
  absl::flat_hash_map<int, Life> lives;
  // Steps of a tiling and of a stage run at one time.
  std::vector<int> time(pending_.size());
  for (size_t s = 0; s < time.size(); ++s) time[s] = static_cast<int>(s);
  const auto join = [&time](const auto& steps) {
    std::fill(time.begin() + static_cast<ptrdiff_t>(steps.first),
              time.begin() + static_cast<ptrdiff_t>(steps.last), static_cast<int>(steps.first));
  };
  for (const Tiling& tiling : program_.tilings) join(tiling);
  for (const Stage& stage : program_.stages) join(stage);
  for (size_t s = 0; s < pending_.size(); ++s) {
    const Pending& p = pending_[s];
    const int step = time[s];
    for (int stored : p.stores) {
      if (output_base_.contains(stored)) continue;
      const bool once = IsOnce(p);
      const auto tile = tile_of_.find(stored);
      const int64_t bytes =
          tile == tile_of_.end() ? BytesOf(stored) : Aligned(tile->second * BytesAnIndex(stored));
      lives[stored] = {stored, once ? 0 : step, once ? INT_MAX : step, bytes};
    }
    for (int read : p.reads) {
      auto it = lives.find(Owner(read));
      if (it != lives.end()) it->second.last = std::max(it->second.last, step);
    }
  }
  for (int r : roots_) {
    auto it = lives.find(Owner(r));
    if (it != lives.end())
      it->second.last = std::max(it->second.last, static_cast<int>(pending_.size()));
  }
  std::vector<Life> order;
  for (const Pending& p : pending_) {
    for (int stored : p.stores) {
      if (!output_base_.contains(stored)) order.push_back(lives[stored]);
    }
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
    address_[life.id] = {0, at, tile_of_.contains(life.id) ? BytesAnIndex(life.id) : 0};
    placed.push_back(life);
  }
  program_.arena_bytes = end;
}

ArrayAddress ArrayCompiler::AddressOf(int id) {
  const ArrayNode& n = graph_.node(id);
  if (n.op == ArrayOp::kSlice) {
    ArrayAddress a = AddressOf(n.operands[0].array);
    const std::vector<int64_t>& strides = StridesOf(n.operands[0].array);
    for (size_t k = 0; k < strides.size(); ++k)
      a.offset += n.origins[k] * strides[k] * WidthOf(n.type);
    return a;
  }
  if (auto it = output_base_.find(id); it != output_base_.end()) return {it->second, 0};
  if (auto it = address_.find(id); it != address_.end()) return it->second;
  return {input_base_.find(id)->second, 0};
}

void ArrayCompiler::BuildSteps() {
  for (Pending& p : pending_) {
    absl::flat_hash_set<int> inputs;
    for (int read : p.reads) {
      if (graph_.node(Owner(read)).op == ArrayOp::kInput) inputs.insert(Owner(read));
    }
    const bool unpacks = p.id >= 0 && graph_.node(p.id).op == ArrayOp::kInput;
    program_.base_reads += static_cast<int>(inputs.size()) + (unpacks ? 1 : 0);
    program_.once.push_back(IsOnce(p));
    program_.steps.push_back(BuildStep(p));
    for (int stored : p.stores) program_.steps.back()->written_bytes += BytesOf(stored);
    program_.predicted_us.push_back(Microseconds(p.work, options_.costs));
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

std::unique_ptr<Step> ArrayCompiler::BuildStep(Pending& p) {
  if (p.region >= 0) return BuildRows(p);
  const ArrayNode& n = graph_.node(p.id);
  const std::string shape =
      absl::StrJoin(p.stores, " ", [this](std::string* out, int id) { *out += ShapeOf(id); });
  switch (n.op) {
    case ArrayOp::kInput:
      return std::make_unique<UnpackValidity>(ArrayAddress{input_base_.find(p.id)->second, 0},
                                              CellsOf(n.shape), AddressOf(p.id),
                                              absl::StrCat("UnpackValidity ", shape));
    case ArrayOp::kReduce:
      return BuildReduce(p, n, shape);
    case ArrayOp::kContract:
      program_.contractions += 1 + static_cast<int>(p.stacked.size());
      return BuildContract(p, n, shape);
    case ArrayOp::kGather:
      return BuildGather(p, n, shape);
    default:
      ADJOIN_DCHECK(n.op == ArrayOp::kScatter);
      return BuildScatter(p, n, shape);
  }
}

// Indices of the axis that the step is tiled along; 1: it is not tiled.
int64_t ArrayCompiler::TiledExtent(const Pending& p, const std::vector<int64_t>& space) {
  return p.tiled < 0 ? 1 : space[static_cast<size_t>(p.tiled)];
}

std::string ArrayCompiler::ShapeOf(int id) const {
  return absl::StrCat("%", id, "[", absl::StrJoin(graph_.node(id).shape, ","), "]");
}

RowProgram ArrayCompiler::Placed(Pending& p) {
  p.program->Place([this](int id) { return AddressOf(id); });
  return *std::move(p.program);
}

std::unique_ptr<Step> ArrayCompiler::BuildRows(Pending& p) {
  const ArrayRegion& region = plan_.regions[static_cast<size_t>(p.region)];
  const bool reduces = std::any_of(region.members.begin(), region.members.end(), [&](int member) {
    return graph_.node(member).op == ArrayOp::kReduce;
  });
  std::vector<std::string> shapes;
  for (int stored : p.stores) shapes.push_back(ShapeOf(stored));
  std::string label = Label(reduces ? "Rows" : "Map", absl::StrJoin(shapes, " "), p);
  std::vector<RowProgram> programs;
  programs.push_back(Placed(p));
  for (Pending& also : p.stacked) programs.push_back(Placed(also));
  if (programs.size() > 1) absl::StrAppend(&label, " ", programs.size(), " stacked");
  return std::make_unique<FusedRows>(step_number_, std::move(programs),
                                     TiledExtent(p, region.extents), std::move(label));
}

std::unique_ptr<Step> ArrayCompiler::BuildReduce(Pending& p, const ArrayNode& n,
                                                 const std::string& shape) {
  std::vector<FusedReduce::Reduction> reductions;
  reductions.push_back({Placed(p), AddressOf(p.id)});
  for (Pending& also : p.stacked) reductions.push_back({Placed(also), AddressOf(also.id)});
  std::string label = Label("Reduce", shape, p);
  if (reductions.size() > 1) absl::StrAppend(&label, " ", reductions.size(), " stacked");
  return std::make_unique<FusedReduce>(step_number_, static_cast<ArrayReduction>(n.reduce), p.outer,
                                       p.reduced, p.inner, std::move(reductions),
                                       TiledExtent(p, n.space), std::move(label));
}

std::string ArrayCompiler::Label(std::string_view kind, const std::string& shape,
                                 const Pending& p) const {
  std::vector<int> reads = p.reads;
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  return absl::StrCat(
      absl::string_view(kind.data(), kind.size()), " ", shape, " <- ",
      absl::StrJoin(reads, " ", [](std::string* out, int id) { absl::StrAppend(out, "%", id); }));
}

bool ArrayCompiler::ChecksMask(const ArrayNode& product) const {
  if (product.operands.size() > (product.adds ? 3 : 2)) return true;
  const ArrayOperand &stairs = product.stairs, &b = product.operands[1];
  // With both factors zeroed there is nothing to check.
  const Staircase staircase = graph_.StaircaseOf(stairs);
  return staircase.present() && !(b.VariesAlong(staircase.of) && b.VariesAlong(staircase.along));
}

std::vector<ContractStep::Product> ArrayCompiler::ProductsOf(const Pending& p) {
  std::vector<ContractStep::Product> products;
  const auto add = [&](const Pending& of) {
    const int id = of.id;
    const ArrayNode& n = graph_.node(id);
    ContractStep::Product product;
    product.a = AddressOf(n.operands[of.turned ? 1 : 0].array);
    product.b = AddressOf(n.operands[of.turned ? 0 : 1].array);
    product.c = AddressOf(p.sums ? p.id : id);
    product.scale = n.scale;
    // Of a sum only the first adds to an array of its own.
    product.adds = n.adds && !(p.sums && !products.empty());
    if (product.adds) {
      ADJOIN_DCHECK(Along(n.operands.back(), n.shape.size()) == StridesOf(id));
      product.addend = AddressOf(n.operands.back().array);
    }
    products.push_back(product);
  };
  if (!p.sums) add(p);
  for (const Pending& also : p.stacked) add(also);
  if (p.sums) add(p);
  return products;
}

std::unique_ptr<Step> ArrayCompiler::BuildContract(const Pending& p, const ArrayNode& n,
                                                   const std::string& shape) {
  const size_t rank = n.space.size();
  const std::vector<int64_t> a = Along(n.operands[0], rank), b = Along(n.operands[1], rank);
  const std::vector<int64_t>& c = StridesOf(p.id);
  std::vector<ContractAxis> axes;
  for (size_t i = 0; i < rank; ++i) {
    const bool summed = i >= n.shape.size();
    const int axis = static_cast<int>(i);
    axes.push_back({n.space[i], a[i], b[i], summed ? 0 : c[i], n.operands[0].VariesAlong(axis),
                    n.operands[1].VariesAlong(axis), summed});
  }
  ContractStep::Mask mask;
  Staircase stairs = graph_.StaircaseOf(n.stairs);
  if (ChecksMask(n)) {
    mask.present = true;
    if (n.operands.size() > (n.adds ? 3 : 2)) {
      mask.address = AddressOf(n.operands[2].array);
      mask.strides = Along(n.operands[2], rank);
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
  mask.checked_by_tile = p.tiled >= 0 && by_tile_.contains(n.operands[1].array);
  if (!stairs.present()) stairs = graph_.StaircaseOf(read_cells_[static_cast<size_t>(p.id)]);
  std::vector<ContractStep::Product> products = ProductsOf(p);
  const std::string_view kind = products[0].adds ? "ContractAdd" : "Contract";
  return std::make_unique<ContractStep>(
      step_number_, n.type, std::move(axes), std::move(products),
      p.sums ? ContractStep::Stack::kSum : ContractStep::Stack::kEach, std::move(mask),
      std::move(stairs), p.tiled, Label(kind, shape, p));
}

std::vector<ArrayIndex> ArrayCompiler::BuildIndices(const ArrayNode& n, size_t first, size_t rank,
                                                    const std::vector<int64_t>& strides) {
  std::vector<ArrayIndex> out;
  for (size_t j = 0; j < n.origins.size(); ++j) {
    const ArrayOperand& o = n.operands[first + j];
    out.push_back(
        {AddressOf(o.array), graph_.node(o.array).type, Along(o, rank), n.origins[j], strides[j]});
  }
  return out;
}

std::unique_ptr<Step> ArrayCompiler::BuildGather(const Pending& p, const ArrayNode& n,
                                                 const std::string& shape) {
  const std::vector<int64_t>& source = StridesOf(n.operands[0].array);
  std::vector<int64_t> strides;
  for (int axis : n.indexed) strides.push_back(source[static_cast<size_t>(axis)]);
  return std::make_unique<GatherStep>(n.type, n.shape, AddressOf(n.operands[0].array),
                                      Along(n.operands[0], n.shape.size()),
                                      BuildIndices(n, 1, n.shape.size(), strides), AddressOf(p.id),
                                      TiledExtent(p, n.shape), Label("Gather", shape, p));
}

std::unique_ptr<Step> ArrayCompiler::BuildScatter(const Pending& p, const ArrayNode& n,
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
  std::vector<ScatterStep::Value> values;
  const size_t each = 1 + n.origins.size();
  for (size_t first = 0; first < n.operands.size(); first += each) {
    values.push_back({AddressOf(n.operands[first].array), Along(n.operands[first], n.space.size()),
                      BuildIndices(n, first + 1, n.space.size(), strides)});
  }
  return std::make_unique<ScatterStep>(n.type, n.space, std::move(values), direct, AddressOf(p.id),
                                       CellsOf(n.shape), Label("Scatter", shape, p));
}

ArrayProgram CompileArrays(const ArrayGraph& graph, const std::vector<int>& roots, size_t outputs,
                           const PlanOptions& options, int first_step) {
  const auto unrolled = UnrollSums(graph, roots);
  const ArrayGraph& sums = GraphOf(unrolled, graph);
  const std::vector<int> sum_roots = Renumbered(unrolled, roots);
  const auto recomputed =
      RecomputeGathered(sums, sum_roots, options.work_mem / ArrayCompiler::kLargestStoredShare);
  const std::vector<int> compiled = Renumbered(recomputed, sum_roots);
  ArrayProgram program =
      ArrayCompiler(GraphOf(recomputed, sums), compiled, outputs, options, first_step).Compile();
  NumberBack(recomputed, program);
  NumberBack(unrolled, program);
  return program;
}

}  // namespace adjoin
