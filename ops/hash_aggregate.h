// GROUP BY by hashing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/accumulator.h"
#include "ops/expression.h"
#include "ops/pipeline.h"

namespace adjoin {

struct AggregateSpec {
  AggregateKind kind = AggregateKind::kCountStar;
  int arg = -1;     // output of exprs; -1 for COUNT(*)
  int second = -1;  // the second argument, where there is one; of kComoment not that is `arg` too
  int filter = -1;  // output of exprs, a condition; -1: every row
  bool distinct = false;
  TypeId result = TypeId::kInt64;
};

struct HashAggregateSpec {
  CompiledExpr exprs;  // over batch columns: the keys, then what the aggregates read
  int num_keys = 0;
  std::vector<AggregateSpec> aggregates;
  Schema schema;   // of the result: keys, then aggregates
  int order = -1;  // the batch column that says where a row is among all; -1: none
  double expected_groups = 0;
};

// Groups in first-seen order; without keys one row always. Blocks are aggregated apart and merged
// in order. Where there is an `order`, the result has one column more: that of a group's first row.
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
  // merged by their first rows.
  bool CanSpill() const override { return spec_.num_keys > 0; }
  absl::StatusOr<TableRef> RunSpilled(const std::vector<Branch>& branches, RunState& run,
                                      const PipelineOptions& options) const override;
  std::string Describe() const override;

 private:
  HashAggregateSpec spec_;
};

}  // namespace adjoin
