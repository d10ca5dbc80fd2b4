// Hash joins whose right side has no room (Grace join): both sides are cut by a hash of their keys,
// and parts are joined one after another.
#pragma once

#include <memory>

#include "ops/hash_join.h"

namespace adjoin {

// Cuts the right side; parts that have no room are cut again. `join` and its `spec` must live
// longer. REQUIRES: the join has keys. Errors: 53200 where the rows of one key have no room.
absl::StatusOr<std::unique_ptr<SpilledOperator>> OpenSpilledJoin(const HashJoin& join,
                                                                 const HashJoinSpec& spec,
                                                                 RunState& run,
                                                                 const PipelineOptions& options);

}  // namespace adjoin
