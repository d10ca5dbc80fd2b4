// Which steps become one: products of one shape that read a common array, sums of products, and
// regions of one shape. Nothing is concatenated: the step has the arrays of all of them, and each
// cell is computed as it was alone.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "ops/array_map.h"
#include "plan/array_compiler.h"

namespace adjoin {
namespace {

// How far ahead of a step others may be that join it, as what it reads is kept so long. A step of
// the GPT on one thread (AVX2, minima of interleaved rounds on a busy machine), apart and stacked:
//           small f32       small f64       base f32    base f64    deep f32
//   steps   52, 44          52, 44          52, 45      52, 48      232, 191
//   ms      0.0814, 0.0809  0.1306, 0.1302  15.8, 15.7  33.5, 33.1  891, 893
// Small steps gain what eight steps cost beyond their work. Of the large ones the difference is
// within the noise, which was 3%.
constexpr size_t kMostSteps = 16;

}  // namespace

void ArrayCompiler::Erase(size_t first, size_t last) {
  pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(first),
                 pending_.begin() + static_cast<ptrdiff_t>(last));
  for (Tiling& tiling : program_.tilings) {
    if (tiling.first < last) continue;
    tiling.first -= last - first;
    tiling.last -= last - first;
  }
}

bool ArrayCompiler::CanStack(const Pending& p) const {
  if (p.tiled >= 0 || IsOnce(p)) return false;
  if (p.region >= 0) return true;
  const ArrayNode& n = graph_.node(p.id);
  return n.op == ArrayOp::kReduce || (n.op == ArrayOp::kContract && !ChecksMask(n));
}

bool ArrayCompiler::IsSameProduct(const Pending& p, const Pending& q, bool turned) {
  const ArrayNode &m = graph_.node(p.id), &n = graph_.node(q.id);
  if (m.type != n.type || m.shape != n.shape || m.space != n.space || !(m.stairs == n.stairs) ||
      !(read_cells_[static_cast<size_t>(p.id)] == read_cells_[static_cast<size_t>(q.id)]) ||
      StridesOf(p.id) != StridesOf(q.id)) {
    return false;
  }
  for (size_t k : {size_t{0}, size_t{1}}) {
    const ArrayOperand &of_p = m.operands[k], &of_q = n.operands[turned ? 1 - k : k];
    if (of_p.axes != of_q.axes || Along(of_p, m.space.size()) != Along(of_q, n.space.size()))
      return false;
  }
  return true;
}

bool ArrayCompiler::IsFree(const Pending& p) const {
  const auto is_output = [this](int id) { return output_base_.contains(id); };
  return std::all_of(p.stores.begin(), p.stores.end(), is_output) &&
         std::all_of(p.reads.begin(), p.reads.end(), [&](int id) {
           const int owner = Owner(id);
           const ArrayNode& n = graph_.node(owner);
           // Of structure alone: it stays in the arena anyway.
           return n.structural || is_output(owner) || (n.op == ArrayOp::kInput && !n.valid);
         });
}

// SUM(a b) + SUM(c d) + ..., of which nothing else reads what all but the last add up to.
void ArrayCompiler::SumProducts() {
  absl::flat_hash_map<int, size_t> products;  // by array
  for (size_t s = 0; s < pending_.size(); ++s) {
    const Pending& p = pending_[s];
    if (p.region < 0 && graph_.node(p.id).op == ArrayOp::kContract && CanStack(p))
      products[p.id] = s;
  }
  for (size_t s = 0; s < pending_.size(); ++s) {
    Pending& p = pending_[s];
    if (!products.contains(p.id) || !graph_.node(p.id).adds) continue;
    const int added = graph_.node(p.id).operands.back().array;
    const auto at = products.find(added);
    const bool is_root = std::find(roots_.begin(), roots_.end(), added) != roots_.end();
    const bool is_factor = std::count(p.reads.begin(), p.reads.end(), added) > 1;
    if (at == products.end() || is_root || is_factor ||
        readers_[static_cast<size_t>(added)].size() != 1)
      continue;
    const bool same = IsSameProduct(p, pending_[at->second], false);
    if (!same && !IsSameProduct(p, pending_[at->second], true)) continue;
    Pending before = std::move(pending_[at->second]);
    pending_[at->second].id = -1;
    written_[static_cast<size_t>(added)] = false;
    std::erase(p.reads, added);
    p.reads.insert(p.reads.begin(), before.reads.begin(), before.reads.end());
    p.stacked = std::move(before.stacked);
    before.stacked.clear();
    p.stacked.push_back(std::move(before));
    for (Pending& term : p.stacked) term.turned = term.turned != !same;
    p.sums = true;
  }
  for (size_t s = pending_.size(); s-- > 0;) {
    if (pending_[s].region < 0 && pending_[s].id < 0) Erase(s, s + 1);
  }
}

bool ArrayCompiler::Stacks(const Pending& p, Pending& q) {
  if (!CanStack(q) || p.sums || !q.stacked.empty() || (p.region < 0) != (q.region < 0))
    return false;
  if (p.program.has_value() != q.program.has_value()) return false;
  if (p.program.has_value()) {
    // Of more cells what a step costs beyond them (30 ns) is nothing, and the caches have forgotten
    // what is read later than it was made.
    const bool is_small = p.program->rows() * p.program->length() < FusedRows::kFewestCells;
    if (!is_small && options_.stack != RuleUse::kForce && !(IsFree(p) && IsFree(q))) return false;
    return p.program->HasShapeOf(*q.program) && p.outer == q.outer && p.reduced == q.reduced &&
           (p.region >= 0 || graph_.node(p.id).reduce == graph_.node(q.id).reduce);
  }
  const bool turned = !IsSameProduct(p, q, false);
  if (turned && !IsSameProduct(p, q, true)) return false;
  const ArrayNode &m = graph_.node(p.id), &n = graph_.node(q.id);
  const bool share = m.operands[0].array == n.operands[turned ? 1 : 0].array ||
                     m.operands[1].array == n.operands[turned ? 0 : 1].array;
  if (!share && options_.stack != RuleUse::kForce) return false;
  q.turned = turned;
  return true;
}

void ArrayCompiler::Stack(const std::vector<size_t>& members) {
  const size_t first = BringTogether(members), last = first + members.size();
  Pending& p = pending_[first];
  for (size_t s = first + 1; s < last; ++s) {
    Pending& q = pending_[s];
    p.stores.insert(p.stores.end(), q.stores.begin(), q.stores.end());
    p.reads.insert(p.reads.end(), q.reads.begin(), q.reads.end());
    p.stacked.push_back(std::move(q));
  }
  Erase(first + 1, last);
}

bool ArrayCompiler::StackOn(size_t first) {
  if (!CanStack(pending_[first])) return false;
  size_t end =
      IsFree(pending_[first]) ? pending_.size() : std::min(pending_.size(), first + kMostSteps);
  for (const Tiling& tiling : program_.tilings) {
    if (tiling.first > first) end = std::min(end, tiling.first);
  }
  std::vector<size_t> members = {first};
  absl::flat_hash_set<int> made(pending_[first].stores.begin(), pending_[first].stores.end());
  for (size_t s = first + 1; s < end; ++s) {
    Pending& p = pending_[s];
    const bool depends = Reads(p, made);
    const bool is_near = s < first + kMostSteps || IsFree(p);
    const bool joins = !depends && is_near && Stacks(pending_[first], p);
    if (joins) members.push_back(s);
    if (joins || depends) made.insert(p.stores.begin(), p.stores.end());
  }
  if (members.size() > 1) Stack(members);
  return members.size() > 1;
}

void ArrayCompiler::FormStacks() {
  if (options_.stack == RuleUse::kOff) return;
  SumProducts();
  // After a stack another step may have the first's place: one that had not to wait.
  for (size_t first = 0; first < pending_.size();) first += StackOn(first) ? 0 : 1;
}

}  // namespace adjoin
