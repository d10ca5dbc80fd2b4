// Sums of right rows onto the left rows that they name: the transpose of a lookup.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/accumulator.h"
#include "ops/expression.h"
#include "ops/join_index.h"
#include "ops/pipeline.h"

namespace adjoin {

struct CollectSpec {
  RelationRef left;
  JoinKeys left_key;              // one, over the left relation's columns; unique
  std::vector<int> left_columns;  // that go out
  CompiledExpr right;             // over batch columns: the key, then the values
  Schema schema;                  // of the result: left columns, then a sum a value
};

// Consumes the right side. Output: every left row in order; a sum is NULL where nothing was added.
class CollectSink final : public PipelineSink {
 public:
  explicit CollectSink(CollectSpec spec) : spec_(std::move(spec)) {}
  absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                    const PipelineOptions& options) const override;
  std::unique_ptr<LocalState> MakeBlock(const SharedState& shared) const override;
  absl::Status Consume(const Batch& batch, const SharedState& shared,
                       LocalState& block) const override;
  absl::Status Merge(std::unique_ptr<LocalState> block, SharedState& shared,
                     bool* done) const override;
  absl::StatusOr<TableRef> Finish(SharedState& shared, RunState& run) const override;
  std::string Describe() const override;

 private:
  std::vector<std::unique_ptr<Accumulator>> MakeSums() const;
  CollectSpec spec_;
};

}  // namespace adjoin
