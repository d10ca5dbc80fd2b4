// Aggregates of which one group keeps more than memory has room for.
#pragma once

#include <memory>

#include "ops/hash_aggregate.h"

namespace adjoin {

// What HashAggregate gives, `spec.order` included, of a source's rows, which lie in files and are
// read once for each of these aggregates: what DISTINCT leaves is the result of a GROUP BY, which
// may be in files too; the values of percentiles and the texts of STRING_AGG are in files. What
// must have room are the groups' keys and their other aggregates.
absl::StatusOr<TableRef> AggregateValuesInFiles(const HashAggregateSpec& spec,
                                                std::shared_ptr<const Source> rows, RunState& run,
                                                const PipelineOptions& options);

}  // namespace adjoin
