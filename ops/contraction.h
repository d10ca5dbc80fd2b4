// Grouped sums of products over matching pairs, without writing the pairs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/expression.h"
#include "ops/join_index.h"
#include "ops/pipeline.h"

namespace adjoin {

struct ContractionSpec {
  JoinKeys left_on;   // over batch columns
  CompiledExpr left;  // over batch columns: the left group keys, then the factor
  RelationRef right_relation;
  JoinKeys right_on;   // over the right relation, as what follows
  CompiledExpr right;  // the right group keys, then the factor
  // A pair has the batch's columns, then these of the right relation.
  int left_width = 0;
  std::vector<int> right_columns;
  std::optional<CompiledExpr> mask;  // over a pair
  // Output: keys by side (0 left, 1 right) and their number among that side's, then the sum, then
  // the pairs' count.
  struct Key {
    int side, number;
  };
  std::vector<Key> keys;
  bool count = false;
  Schema schema;
};

// Consumes the left side. Groups in first-seen order of pairs; without keys one row always. A sum
// is NULL where no product of its pairs is not NULL. Factors of REAL and DOUBLE are summed in
// double; integer products are checked (22003) and their sum is exact.
class ContractionSink final : public PipelineSink {
 public:
  explicit ContractionSink(ContractionSpec spec) : spec_(std::move(spec)) {}
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
  int num_left_keys() const { return spec_.left.num_outputs() - 1; }
  int num_right_keys() const { return spec_.right.num_outputs() - 1; }
  ContractionSpec spec_;
};

}  // namespace adjoin
