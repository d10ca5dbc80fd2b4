// How many values the dims of a plan's relations run over, as far as the shapes of the grids below
// tell.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/table.h"
#include "plan/node.h"

namespace adjoin {

// The shape of the table that a scan reads; no value where it is no grid.
using ShapeOf = std::function<std::optional<GridShape>(const Scan& scan)>;

class DimExtents {
 public:
  explicit DimExtents(ShapeOf shape_of) : shape_of_(std::move(shape_of)) {}
  // By column of the node: at most how many values a dim takes; 0 where that is not known. The
  // reference is good until the next call.
  const std::vector<int64_t>& Of(const NodeRef& node);

 private:
  ShapeOf shape_of_;
  absl::flat_hash_map<const Node*, std::vector<int64_t>> known_;
};

}  // namespace adjoin
