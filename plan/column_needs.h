// Column pruning: which columns of each node anybody reads.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/node.h"

namespace adjoin {

// By node: 1 for each output column that is read. `order` has inputs before readers; every column
// of the roots is read.
using ColumnNeeds = absl::flat_hash_map<const Node*, std::vector<uint8_t>>;
ColumnNeeds FindColumnNeeds(const std::vector<NodeRef>& order, const std::vector<NodeRef>& roots,
                            const std::vector<NodeRef>& provided);

}  // namespace adjoin
