// Aggregates without GROUP BY that keep more values than memory has room for.
#pragma once

#include <vector>

#include "ops/hash_aggregate.h"

namespace adjoin {

// What HashAggregate gives, from the rows in a file. What DISTINCT leaves is the result of a GROUP
// BY, which may be in files too; percentiles are found in a file of their values. Those that are
// left keep a few numbers, or a text that must have room (STRING_AGG). REQUIRES: there are no keys.
absl::StatusOr<TableRef> AggregateValuesInFiles(const HashAggregateSpec& spec,
                                                const std::vector<Branch>& branches, RunState& run,
                                                const PipelineOptions& options);

}  // namespace adjoin
