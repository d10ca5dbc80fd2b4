// Which steps run side by side: those that read nothing of each other's and together are worth more
// than one thread, where the end of each alone would leave threads idle.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "ops/array_contract.h"
#include "ops/array_map.h"
#include "plan/array_compiler.h"

namespace adjoin {
namespace {

// How far ahead of a step others may be that run beside it.
constexpr size_t kMostSteps = 16;

// With more (Pending::load) a step has enough parts of its own. With such steps in stages GPT deep
// took 0.7% longer on two threads.
constexpr double kMostLoad = 8;

}  // namespace

// The work of a step, in what one thread should have at least; 0: it has no Step::parts(), or has
// enough of them to be alone.
double ArrayCompiler::LoadOf(const Pending& p) const {
  if (p.tiled >= 0 || IsOnce(p)) return 0;
  double load = p.work.cells / FusedRows::kFewestCells;
  if (p.region < 0) {
    const ArrayNode& n = graph_.node(p.id);
    const bool is_product = n.op == ArrayOp::kContract;
    if (is_product && ChecksMask(n)) return 0;
    if (!is_product && n.op != ArrayOp::kReduce && n.op != ArrayOp::kGather) return 0;
    if (is_product) load = 2 * p.work.cells / ContractStep::kFewestFlops;
  }
  return load < kMostLoad ? load : 0;
}

size_t ArrayCompiler::BringTogether(const std::vector<size_t>& members) {
  std::vector<Pending> before, together, after;
  absl::flat_hash_set<int> made;
  auto member = members.begin();
  for (size_t s = members.front(); s <= members.back(); ++s) {
    Pending& p = pending_[s];
    const bool depends = Reads(p, made);
    const bool is_member = s == *member;
    if (is_member) ++member;
    if (is_member || depends) made.insert(p.stores.begin(), p.stores.end());
    (is_member ? together : depends ? after : before).push_back(std::move(p));
  }
  auto to = pending_.begin() + static_cast<ptrdiff_t>(members.front());
  for (std::vector<Pending>* steps : {&before, &together, &after})
    to = std::move(steps->begin(), steps->end(), to);
  return members.front() + before.size();
}

void ArrayCompiler::FormStages() {
  if (options_.stage == RuleUse::kOff) return;
  for (Pending& p : pending_) p.load = LoadOf(p);
  auto tiling = program_.tilings.begin();
  for (size_t first = 0; first < pending_.size(); ++first) {
    if (tiling != program_.tilings.end() && first == tiling->first) {
      first = tiling->last - 1;
      ++tiling;
      continue;
    }
    if (pending_[first].load == 0) continue;
    const size_t end = std::min(tiling == program_.tilings.end() ? pending_.size() : tiling->first,
                                first + kMostSteps);
    std::vector<size_t> members;
    absl::flat_hash_set<int> made;
    double load = 0;
    for (size_t s = first; s < end; ++s) {
      const Pending& p = pending_[s];
      const bool depends = Reads(p, made);
      const bool joins = !depends && p.load > 0;
      if (joins) members.push_back(s), load += p.load;
      if (joins || depends) made.insert(p.stores.begin(), p.stores.end());
    }
    if (members.size() < 2 || (load < 1 && options_.stage != RuleUse::kForce)) continue;
    const size_t from = BringTogether(members);
    program_.stages.push_back({from, from + members.size()});
    first = program_.stages.back().last - 1;
  }
}

}  // namespace adjoin
