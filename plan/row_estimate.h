// Rough row counts, for choices that never change a result.
#pragma once

#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/node.h"

namespace adjoin {

using RowEstimates = absl::flat_hash_map<const Node*, double>;

// Of a node whose inputs have `in` rows.
double RowsFromInputs(const Node& node, const std::function<double(size_t input)>& in);

// By node; `order` has inputs before readers. `known` gives the rows of nodes that are known
// (scans, provided ones); negative: not known.
RowEstimates EstimateRows(const std::vector<NodeRef>& order,
                          const std::function<double(const NodeRef&)>& known);

}  // namespace adjoin
