// Which arrays are stored, which are computed again by their readers, and which of a region reach
// memory.
#include <algorithm>
#include <utility>

#include "plan/array_compiler.h"
#include "plan/array_rewrites.h"

namespace adjoin {

int AdditionsOf(ScalarOp op) {
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
      return kTranscendental;
  }
}

namespace {

// No expression is larger, whatever speaks for computing it again: expressions are built by
// recursion.
constexpr int kMostCost = 4000;

}  // namespace

void ArrayCompiler::FindReaders() {
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

void ArrayCompiler::ChooseStored() {
  gathered_axes_ = GatheredAxes(graph_, roots_);
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
    int cost = AdditionsOf(n.scalar);
    bool once = true;
    for (const ArrayOperand& o : n.operands) {
      const size_t at = static_cast<size_t>(o.array);
      if (!stored_[at]) cost += cost_[at];
      const ArrayOp op = graph_.node(o.array).op;
      once = once && (op == ArrayOp::kConstant || op == ArrayOp::kParameter ||
                      (op == ArrayOp::kMap && once_[at]));
    }
    once_[id] = once;
    stored_[id] = forced_[id] || IsStored(id, cost);
    cost_[id] = cost;
  }
}

bool ArrayCompiler::IsStored(size_t id, int cost) const {
  if (cost > kMostCost) return true;
  const bool by_tile = options_.tile != RuleUse::kOff && gathered_axes_[id] >= 0;
  if (!by_tile && BytesOf(static_cast<int>(id)) > options_.work_mem / kLargestStoredShare)
    return false;
  if (once_[id]) return false;  // computed when its step is prepared
  return IsReadOnce(id) ? !Inlines(cost) : Stores(cost);
}

bool ArrayCompiler::IsReadOnce(size_t id) const {
  if (readers_[id].size() != 1) return false;
  const ArrayNode& reader = graph_.node(readers_[id][0]);
  const int64_t loops = CellsOf(reader.op == ArrayOp::kReduce ? reader.space : reader.shape);
  return loops == CellsOf(graph_.node(static_cast<int>(id)).shape);
}

void ArrayCompiler::AddInputs() {
  for (size_t id = 0; id < reached_.size(); ++id) {
    const ArrayNode& n = graph_.node(static_cast<int>(id));
    if (!reached_[id] || n.op != ArrayOp::kInput) continue;
    AddInput(static_cast<int>(id));
    stored_[id] = n.valid;
  }
  for (size_t k = 0; k < outputs_; ++k)
    output_base_.emplace(roots_[k], static_cast<int>(program_.inputs.size() + 1 + k));
}

void ArrayCompiler::AddInput(int id) {
  const ArrayNode& n = graph_.node(id);
  input_base_[id] = static_cast<int>(program_.inputs.size()) + 1;
  program_.inputs.push_back({n.table_id, n.column, n.valid, n.guard, input_base_[id]});
}

void ArrayCompiler::ChooseWritten() {
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
    for (const ArrayOperand& leaf : plan_.leaves[id]) {
      const auto at = static_cast<size_t>(leaf.array);
      if (region_of[id] < 0 || region_of[at] != region_of[id]) written_[at] = true;
    }
  }
  for (size_t id = 0; id < stored_.size(); ++id) {
    if (written_[id] && region_of[id] >= 0) FindTwin(static_cast<int>(id), region_of);
  }
}

void ArrayCompiler::FindTwin(int id, const std::vector<int>& region_of) {
  const ArrayNode& n = graph_.node(id);
  if (n.op != ArrayOp::kMap || n.scalar != ScalarOp::kSelect) return;
  const ArrayOperand& x = n.operands[1];
  const auto at = static_cast<size_t>(x.array);
  const bool same =
      x.IsWhole(n.shape.size()) && region_of[at] == region_of[static_cast<size_t>(id)];
  if (same && written_[at] && read_cells_[at] == n.operands[0] &&
      graph_.StaircaseOf(n.operands[0]).present()) {
    written_[at] = false;
    twin_[x.array] = id;
  }
}

int ArrayCompiler::Held(int id) const {
  const auto it = twin_.find(id);
  return it == twin_.end() ? id : it->second;
}

}  // namespace adjoin
