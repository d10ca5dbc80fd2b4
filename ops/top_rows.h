// The rows of a stored relation that can be among the first of their partition.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/expression.h"
#include "ops/pipeline.h"
#include "ops/sort_codes.h"

namespace adjoin {

struct TopRowsSpec {
  RelationRef relation;
  CompiledExpr exprs;  // over the relation: partition keys, then order keys
  int num_partition = 0;
  std::vector<SortOrder> orders;  // of the order keys
  int64_t limit = 0;              // rows of a partition, at least one
  std::vector<int> columns;       // of the relation, that go out
  Schema schema;
};

// Gives the first `limit` rows of each partition in the window's order (of equal ones the earlier),
// in the relation's order; all rows where that would leave out few. A row is compared with the last
// that its partition keeps: nothing is sorted, and memory is taken for what is kept and a run of
// rows. Where that has no room, some partitions after others, and where not even that, all rows.
class TopRowsStep final : public Step {
 public:
  TopRowsStep(TopRowsSpec spec, int out_slot, PipelineOptions options)
      : spec_(std::move(spec)), out_slot_(out_slot), options_(options) {}
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;

 private:
  // Their numbers, ascending; of all rows: none.
  absl::StatusOr<std::vector<int64_t>> Find(const Table& table, RunState& state) const;

  TopRowsSpec spec_;
  int out_slot_;
  PipelineOptions options_;
};

}  // namespace adjoin
