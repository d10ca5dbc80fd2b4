// GROUP BY by hashing.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/groups.h"
#include "ops/pipeline.h"

namespace adjoin {

// Groups in first-seen order; without keys one row always. Blocks are aggregated apart and merged
// in order; what DISTINCT leaves is added in the end, in first-seen order. Where there is an
// `order`, the result has one column more: that of a group's first row.
//
// On more than one thread, a block whose rows nearly all make groups is kept as rows, cut by a hash
// of the keys, and what blocks left is aggregated part by part (PartitionedGroups): the same
// groups, order and bits. h2o q10 at 1e7 rows, as many groups: 476 -> 390 ms on two threads; on one
// 800 either way, with 1.5 GB and not 1.05.
class HashAggregate final : public PipelineSink {
 public:
  explicit HashAggregate(HashAggregateSpec spec) : spec_(std::move(spec)) {}
  absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                    const PipelineOptions& options) const override;
  // Each block finds its groups anew, and they are merged one block after another, so that many
  // blocks of many groups cost more than they share out. Merged in pairs, as a tree, h2o q5 at 1e7
  // rows took 95 ms and not 118 on two threads, but 208 and not 125 on one: more blocks' groups are
  // alive than caches hold. 16 is as many parts as any step has. Where a block
  // leaves a row of numbers, more blocks share out what skewed joins make of few rows.
  int64_t most_blocks() const override { return LeavesOneRow() ? 256 : 16; }
  std::unique_ptr<LocalState> MakeBlock(const SharedState& shared) const override;
  absl::Status Consume(const Batch& batch, const SharedState& shared,
                       LocalState& block) const override;
  absl::Status Merge(std::unique_ptr<LocalState> block, SharedState& shared,
                     bool* done) const override;
  absl::StatusOr<TableRef> Finish(SharedState& shared, RunState& run) const override;
  // Rows are cut by a hash of their keys, parts are aggregated one after another, and their groups
  // merged by their first rows. Without keys the rows are one part. Of a part that has no room and
  // that a deeper cut would not divide, and without keys, aggregates that keep values or texts are
  // computed one after another of the rows in the file (AggregateValuesInFiles).
  bool CanSpill() const override;
  absl::StatusOr<TableRef> RunSpilled(const std::vector<Branch>& branches, RunState& run,
                                      const PipelineOptions& options) const override;
  std::string Describe() const override;

 private:
  bool LeavesOneRow() const {
    return spec_.num_keys == 0 &&
           std::none_of(spec_.aggregates.begin(), spec_.aggregates.end(),
                        [](const AggregateSpec& aggregate) { return aggregate.distinct; });
  }
  bool MayKeepRows(const RunState& run) const;
  HashAggregateSpec spec_;
};

}  // namespace adjoin
