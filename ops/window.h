// Window functions over a stored relation.
#pragma once

#include <string>
#include <vector>

#include "ops/accumulator.h"
#include "ops/expression.h"
#include "ops/functions.h"
#include "ops/pipeline.h"
#include "ops/sort_codes.h"
#include "ops/window_frame.h"
#include "ops/window_order.h"

namespace adjoin {

// Numbers are outputs of WindowStepSpec::exprs; -1 for absent. `second`: the offset of LAG and LEAD
// where it is not the constant `offset`, the number of NTH_VALUE, the second argument of an
// aggregate.
struct WindowCallSpec {
  WindowKind kind = WindowKind::kRowNumber;
  int arg = -1, second = -1, fallback = -1, filter = -1;
  int64_t offset = 1;
  TypeId result = TypeId::kInt64;
};

struct WindowStepSpec {
  RelationRef relation;
  CompiledExpr exprs;  // over the relation: partition keys, order keys, then what calls read
  int num_partition = 0, num_order = 0;
  std::vector<SortOrder> orders;  // of the order keys
  WindowFrameShape frame;
  // The frame's offsets, which are the same in every row: of the start and then of the end, those
  // that it has. Computed once, of the first row. Errors: 22004, 22013.
  CompiledExpr offsets;
  std::vector<WindowCallSpec> calls;
  std::vector<int> columns;  // of the relation, that go out before the calls
  Schema schema;             // of the result
};

// Output rows are the relation's, in its order. Partitions are computed side by side on the pool;
// aggregates of whole partitions without an order are a group-by whose groups are given back to
// the rows. Where a relation has no room, its partitions are computed a few at a time.
class WindowStep final : public Step {
 public:
  WindowStep(WindowStepSpec spec, int out_slot, PipelineOptions options)
      : spec_(std::move(spec)), out_slot_(out_slot), options_(options) {}
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;

 private:
  WindowStepSpec spec_;
  int out_slot_;
  PipelineOptions options_;
};

// A column for each call, for all rows of a table that has the relation's columns. `frame`: the
// spec's, with this run's offsets.
absl::StatusOr<std::vector<ColumnRef>> ComputeWindow(const WindowStepSpec& spec,
                                                     const WindowFrameSpec& frame,
                                                     const Table& table, RunState& run,
                                                     const PipelineOptions& options);

// The same, of the relation: rows are cut by a hash of the partition keys, and the parts' results
// merged in the rows' order. A partition that has no room, and where there are no keys, is computed
// of rows that are sorted in files (sorted_window.h).
absl::StatusOr<std::vector<ColumnRef>> ComputeWindowInFiles(const WindowStepSpec& spec,
                                                            const WindowFrameSpec& frame,
                                                            const Table& table, RunState& run,
                                                            const PipelineOptions& options);

}  // namespace adjoin
