// What steps are predicted to take, and what each rule is predicted to have saved.
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "plan/array_compiler.h"

namespace adjoin {
namespace {

// In doubles: a REAL is half of one.
double Width(const ArrayGraph& graph, const ArrayNode& n) {
  int64_t width = WidthOf(n.type);
  for (const ArrayOperand& o : n.operands)
    width = std::max(width, WidthOf(graph.node(o.array).type));
  return static_cast<double>(width) / 8;
}

double Cells(const std::vector<int64_t>& extents) { return static_cast<double>(CellsOf(extents)); }

}  // namespace

double ArrayCompiler::KeptBy(const ArrayOperand& mask) const {
  const Staircase stairs = graph_.StaircaseOf(mask);
  if (!stairs.present()) return 1;
  const double kept =
      static_cast<double>(std::accumulate(stairs.ends.begin(), stairs.ends.end(), int64_t{0}));
  return kept / std::max(1.0, Cells(graph_.node(mask.array).shape));
}

StepWork WorkOfNode(const ArrayGraph& graph, int id) {
  const ArrayNode& n = graph.node(id);
  const double width = Width(graph, n);
  StepWork work;
  work.cells = Cells(n.shape);
  switch (n.op) {
    case ArrayOp::kMap:
      if (n.scalar == ScalarOp::kTanh) {
        work.tanhs = work.cells * width;
      } else if (const int cost = AdditionsOf(n.scalar); cost < kTranscendental) {
        work.additions = work.cells * width * cost;
      } else {
        work.exps = work.cells * width;
      }
      break;
    case ArrayOp::kReduce:
      work.cells = Cells(n.space);
      work.additions = work.cells * width;
      break;
    case ArrayOp::kContract:
      work.cells = Cells(n.space);
      work.flops = 2 * work.cells;
      work.is_real = n.type == TypeId::kFloat32;
      break;
    case ArrayOp::kScatter:
      work.cells = Cells(n.space);
      work.positions = work.cells * static_cast<double>(n.operands.size() / (1 + n.origins.size()));
      break;
    case ArrayOp::kGather:
      work.positions = work.cells;
      break;
    default:
      break;
  }
  return work;
}

StepWork ArrayCompiler::OwnWork(int id) const {
  StepWork work = WorkOfNode(graph_, id);
  if (work.flops > 0) {
    const ArrayOperand& read = read_cells_[static_cast<size_t>(id)];
    work.flops *= std::min(KeptBy(graph_.node(id).stairs), KeptBy(read));
  }
  return work;
}

void ArrayCompiler::AddWork(int id, StepWork& work, absl::flat_hash_set<int>& seen) const {
  std::vector<int> open = {id};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const StepWork own = OwnWork(at);
    work.additions += own.additions;
    work.exps += own.exps;
    work.tanhs += own.tanhs;
    for (const ArrayOperand& o : graph_.node(at).operands) {
      if (graph_.node(o.array).op == ArrayOp::kMap && !stored_[static_cast<size_t>(o.array)])
        open.push_back(o.array);
    }
  }
}

StepWork ArrayCompiler::WorkOf(const Pending& p) const {
  StepWork work;
  if (p.region >= 0) {
    const ArrayRegion& region = plan_.regions[static_cast<size_t>(p.region)];
    absl::flat_hash_set<int> seen;
    for (int member : region.members) AddWork(member, work, seen);
    const double kept = KeptBy(CutMask(region, p));
    for (double* part : {&work.additions, &work.exps, &work.tanhs}) *part *= kept;
    work.cells = Cells(region.extents);
  } else {
    work = OwnWork(p.id);
    absl::flat_hash_set<int> seen;
    if (graph_.node(p.id).op == ArrayOp::kReduce) {
      work.additions = 0;
      AddWork(p.id, work, seen);
    }
  }
  const auto steps = static_cast<double>(1 + p.stacked.size());
  for (double* part :
       {&work.additions, &work.exps, &work.tanhs, &work.positions, &work.flops, &work.cells})
    *part *= steps;
  absl::flat_hash_set<int> arrays(p.reads.begin(), p.reads.end());
  arrays.insert(p.stores.begin(), p.stores.end());
  for (int id : arrays) work.bytes += static_cast<double>(BytesOf(id));
  return work;
}

double ArrayCompiler::CopyUs(int id, double times) const {
  const auto bytes = static_cast<double>(BytesOf(id));
  return times * bytes / 16 * CopyCost(options_.costs, bytes) / 1000;
}

void ArrayCompiler::Note(std::string_view rule, std::string did, double saved_us) {
  if (!did.empty()) program_.rules.push_back({std::string(rule), std::move(did), saved_us});
}

void ArrayCompiler::NoteRules() {
  NoteShare();
  NoteContractions();
  NoteInline();
  NoteStore();
  NoteStacks();
  NoteTilesAndStages();
}

void ArrayCompiler::NoteStacks() {
  int into = 0;
  double steps = 0;
  for (const Pending& p : pending_) {
    into += p.stacked.empty() ? 0 : 1;
    steps += static_cast<double>(p.stacked.size());
  }
  if (into == 0) return;
  Note("stack", absl::StrCat(steps + into, " steps as ", into), steps * options_.costs.call / 1000);
}

void ArrayCompiler::NoteShare() {
  int arrays = 0;
  double saved = 0;
  for (size_t id = 0; id < reached_.size(); ++id) {
    const int array = static_cast<int>(id), found = graph_.found_again(array);
    if (!reached_[id] || found == 0 || graph_.node(array).operands.empty()) continue;
    ++arrays;
    const double call = stored_[id] ? 0 : options_.costs.call / 1000;
    saved += found * (Microseconds(OwnWork(array), options_.costs) - call);
  }
  if (arrays > 0) Note("share", absl::StrCat(arrays, " arrays computed once"), saved);
}

void ArrayCompiler::NoteContractions() {
  double saved = 0;
  for (const Pending& p : pending_) {
    if (p.work.flops == 0) continue;
    StepWork pairs;  // a join and a sum: a multiplication and an addition a pair
    pairs.additions = 2 * p.work.cells * (p.work.is_real ? 0.5 : 1);
    saved += Microseconds(pairs, options_.costs) - Microseconds(p.work, options_.costs);
  }
  if (program_.contractions > 0)
    Note("contraction", absl::StrCat(program_.contractions, " products"), saved);
}

void ArrayCompiler::NoteInline() {
  if (!options_.inline_maps) return;
  const double call = options_.costs.call / 1000;
  int values = 0, merged = 0, sums = 0;
  double saved = 0;
  for (size_t id = 0; id < reached_.size(); ++id) {
    const ArrayNode& n = graph_.node(static_cast<int>(id));
    if (!reached_[id]) continue;
    if (n.op == ArrayOp::kContract && n.adds) {
      ++sums;
      saved += call + CopyUs(static_cast<int>(id), 2);
    } else if (n.op == ArrayOp::kMap && !stored_[id] && !once_[id] && IsReadOnce(id)) {
      ++values;
      saved += call + CopyUs(static_cast<int>(id), 2);
    }
  }
  for (const ArrayRegion& region : plan_.regions) {
    merged += static_cast<int>(region.members.size()) - 1;
    saved += static_cast<double>(region.members.size() - 1) * call;
    for (int member : region.members)
      saved += written_[static_cast<size_t>(member)] ? 0 : CopyUs(member, 2);
  }
  if (values + merged + sums == 0) return;
  Note("inline",
       absl::StrCat(values, " values inside their readers, ", merged, " steps into others, ", sums,
                    " sums into products"),
       saved);
}

void ArrayCompiler::NoteStore() {
  int stored = 0, computed = 0;
  double saved = 0;
  for (size_t id = 0; id < reached_.size(); ++id) {
    const int array = static_cast<int>(id);
    const ArrayNode& n = graph_.node(array);
    if (!reached_[id] || n.op != ArrayOp::kMap || forced_[id] || once_[id] || IsReadOnce(id))
      continue;
    // Being stored is a write, where it is no region's own, and a read by each reader.
    const auto readers = static_cast<double>(readers_[id].size());
    const double copies = stored_[id] && !written_[id] ? 0 : CopyUs(array, 1 + readers);
    const double again = std::max(readers - 1, 1.0) * Cells(n.shape) * Width(graph_, n) *
                         cost_[id] * options_.costs.add / 1000;
    ++(stored_[id] ? stored : computed);
    saved += stored_[id] ? again - copies : copies - again;
  }
  if (stored + computed == 0) return;
  Note("store", absl::StrCat(stored, " values stored, ", computed, " computed by each reader"),
       saved);
}

void ArrayCompiler::NoteTilesAndStages() {
  size_t tiled = 0, staged = 0;
  double saved = 0;
  for (const auto& [id, indices] : tile_of_) {
    const auto bytes = static_cast<double>(BytesOf(id));
    const auto times = static_cast<double>(1 + readers_[static_cast<size_t>(id)].size());
    saved += times * bytes / 16000 * (CopyCost(options_.costs, bytes) - options_.costs.copy_l2);
  }
  for (const Tiling& tiling : program_.tilings) tiled += tiling.last - tiling.first;
  if (tiled > 0) {
    Note("tile", absl::StrCat(tiled, " steps in ", program_.tilings.size(), " groups"), saved);
  }
  saved = 0;
  for (const Stage& stage : program_.stages) {
    staged += stage.last - stage.first;
    double sum = 0, longest = 0;
    for (size_t s = stage.first; s < stage.last; ++s) {
      const double us = Microseconds(pending_[s].work, options_.costs);
      sum += us, longest = std::max(longest, us);
    }
    saved += sum - std::max(longest, sum / 2) - options_.costs.task / 1000;
  }
  if (staged > 0) {
    Note("stage",
         absl::StrCat(staged, " steps in ", program_.stages.size(), " groups, on two threads"),
         saved);
  }
}

}  // namespace adjoin
