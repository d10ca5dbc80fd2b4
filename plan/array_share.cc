#include "plan/array_share.h"

#include "absl/hash/hash.h"
#include "plan/array.h"

namespace adjoin {
namespace {

uint64_t HashOf(const ArrayNode& n) {
  uint64_t h = absl::HashOf(static_cast<int>(n.op), static_cast<int>(n.type), n.shape, n.space,
                            static_cast<int>(n.scalar), static_cast<int>(n.reduce), n.table_id,
                            n.column, n.valid, n.guard, n.constant);
  h = absl::HashOf(h, n.indexed, n.kept, n.origins);
  for (const ArrayOperand& o : n.operands) h = absl::HashOf(h, o.array, o.axes);
  h = absl::HashOf(h, n.stairs.array, n.stairs.axes);
  return h;
}

}  // namespace

int SharedArrays::Find(const std::vector<ArrayNode>& nodes, const ArrayNode& node) {
  if (!share_ && !node.operands.empty()) return -1;
  std::vector<int>& bucket = by_hash_[HashOf(node)];
  for (int id : bucket) {
    if (!(nodes[static_cast<size_t>(id)] == node)) continue;
    ++found_[id];
    return id;
  }
  bucket.push_back(static_cast<int>(nodes.size()));
  return -1;
}

}  // namespace adjoin
