// GROUP BY by hashing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/accumulator.h"
#include "ops/aggregate_arguments.h"
#include "ops/expression.h"
#include "ops/pipeline.h"

namespace adjoin {

// Values of DISTINCT that are added at once, which decides the bits of float sums.
inline constexpr int64_t kDistinctChunk = 4096;

struct HashAggregateSpec {
  CompiledExpr exprs;  // over batch columns: the keys, then what the aggregates read
  int num_keys = 0;
  std::vector<AggregateSpec> aggregates;
  Schema schema;   // of the result: keys, then aggregates
  int order = -1;  // the batch column that says where a row is among all; -1: none
  double expected_groups = 0;
};

// Groups in first-seen order; without keys one row always. Blocks are aggregated apart and merged
// in order; what DISTINCT leaves is added in the end, in first-seen order. Where there is an
// `order`, the result has one column more: that of a group's first row.
class HashAggregate final : public PipelineSink {
 public:
  explicit HashAggregate(HashAggregateSpec spec) : spec_(std::move(spec)) {}
  absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                    const PipelineOptions& options) const override;
  // Each block finds its groups anew, and they are merged one block after another, so that many
  // blocks of many groups cost more than they share out. Merged in pairs, as a tree, h2o q5 at 1e7
  // rows took 95 ms and not 118 on two threads, but 208 and not 125 on one: more blocks' groups are
  // alive than caches hold. 16 is as many parts as any step has.
  int64_t most_blocks() const override { return 16; }
  std::unique_ptr<LocalState> MakeBlock(const SharedState& shared) const override;
  absl::Status Consume(const Batch& batch, const SharedState& shared,
                       LocalState& block) const override;
  absl::Status Merge(std::unique_ptr<LocalState> block, SharedState& shared,
                     bool* done) const override;
  absl::StatusOr<TableRef> Finish(SharedState& shared, RunState& run) const override;
  // Rows are cut by a hash of their keys, parts are aggregated one after another, and their groups
  // merged by their first rows. Without keys, the rows go to a file and aggregates that keep values
  // are computed of it one after another (SpilledValues).
  bool CanSpill() const override;
  absl::StatusOr<TableRef> RunSpilled(const std::vector<Branch>& branches, RunState& run,
                                      const PipelineOptions& options) const override;
  std::string Describe() const override;

 private:
  HashAggregateSpec spec_;
};

}  // namespace adjoin
