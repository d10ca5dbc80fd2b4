// Windows whose partitions have no room in memory: of rows that are sorted in files.
#pragma once

#include "ops/row_partitions.h"
#include "ops/window.h"

namespace adjoin {

// A column for each call and then the rows' order, ascending by it, of one part of the relation's
// rows: the same values as in memory. What computing them takes, a row in memory, is in mapped
// files too.
absl::StatusOr<TableRef> ComputeSortedWindow(const WindowStepSpec& spec,
                                             const WindowFrameSpec& frame,
                                             const RowPartitions& rows, size_t part, RunState& run,
                                             const PipelineOptions& options);

}  // namespace adjoin
