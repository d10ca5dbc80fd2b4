// Sinks that keep rows as they come: all of them, or those of LIMIT and OFFSET.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/expression.h"
#include "ops/pipeline.h"

namespace adjoin {

class StoredRows;

// The rows of the pipeline as a table with `schema`'s columns.
class MaterializeSink final : public PipelineSink {
 public:
  explicit MaterializeSink(Schema schema) : schema_(std::move(schema)) {}
  // `bounds`: outputs 0 and 1 are BIGINT limit and offset, NULL for none. Errors: 2201W, 2201X
  // where negative.
  MaterializeSink(Schema schema, CompiledExpr bounds)
      : schema_(std::move(schema)), limited_(true), bounds_(std::move(bounds)) {}
  absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                    const PipelineOptions& options) const override;
  std::unique_ptr<LocalState> MakeBlock(const SharedState& shared) const override;
  absl::Status Consume(const Batch& batch, const SharedState& shared,
                       LocalState& block) const override;
  absl::Status Merge(std::unique_ptr<LocalState> block, SharedState& shared,
                     bool* done) const override;
  absl::StatusOr<TableRef> Finish(SharedState& shared, RunState& run) const override;
  std::string Describe() const override { return limited_ ? "limit" : "store"; }

 private:
  Schema schema_;
  bool limited_ = false;
  CompiledExpr bounds_;
};

// The columns of two tables at the pairs of rows that a join makes: what HashJoinSpec::rows_only
// sends. Columns are gathered once, when all pairs are known.
struct MaterializePairsSpec {
  RelationRef left, right;
  struct From {
    bool right;
    int column;
  };
  std::vector<From> columns;
  Schema schema;
  bool outer = false;  // rows of the right may be NULL
};

class MaterializePairsSink final : public PipelineSink {
 public:
  explicit MaterializePairsSink(MaterializePairsSpec spec) : spec_(std::move(spec)) {}
  absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                    const PipelineOptions& options) const override;
  std::unique_ptr<LocalState> MakeBlock(const SharedState& shared) const override;
  absl::Status Consume(const Batch& batch, const SharedState& shared,
                       LocalState& block) const override;
  absl::Status Merge(std::unique_ptr<LocalState> block, SharedState& shared,
                     bool* done) const override;
  absl::StatusOr<TableRef> Finish(SharedState& shared, RunState& run) const override;
  std::string Describe() const override { return "store pairs"; }

 private:
  absl::StatusOr<TableRef> TakeWhole(StoredRows& pairs, const Table& left, const Table& right,
                                     RunState& run) const;
  MaterializePairsSpec spec_;
};

// A table of some columns of another, shared and not copied.
class ViewStep final : public Step {
 public:
  ViewStep(RelationRef from, std::vector<int> columns, Schema schema, int out_slot)
      : from_(from),
        columns_(std::move(columns)),
        schema_(std::move(schema)),
        out_slot_(out_slot) {}
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;

 private:
  RelationRef from_;
  std::vector<int> columns_;
  Schema schema_;
  int out_slot_;
};

// Puts a step's table into its slot.
void SetRelation(RunState& state, int slot, TableRef table);

}  // namespace adjoin
