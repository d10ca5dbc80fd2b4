// Operators that need one batch at a time: filter, project, row ids.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/expression.h"
#include "ops/pipeline.h"

namespace adjoin {

// Rows where output 0 of every condition is TRUE, with the columns `keep`. A condition is computed
// where those before it leave rows; which comes first follows from what they have left so far.
// REQUIRES: of several conditions none can fail.
class FilterRows final : public StreamOperator {
 public:
  FilterRows(std::vector<CompiledExpr> conditions, std::vector<int> keep)
      : conditions_(std::move(conditions)), keep_(std::move(keep)) {}
  std::unique_ptr<LocalState> MakeLocal(const SharedState* shared, const RunState& run,
                                        const PipelineOptions& options) const override;
  absl::Status Push(const Batch& in, const SharedState* shared, LocalState& local,
                    BatchConsumer next) const override;
  std::string Describe() const override { return "filter"; }

 private:
  std::vector<CompiledExpr> conditions_;
  std::vector<int> keep_;
};

// A column an output of `exprs`.
class ProjectRows final : public StreamOperator {
 public:
  explicit ProjectRows(CompiledExpr exprs) : exprs_(std::move(exprs)) {}
  std::unique_ptr<LocalState> MakeLocal(const SharedState* shared, const RunState& run,
                                        const PipelineOptions& options) const override;
  absl::Status Push(const Batch& in, const SharedState* shared, LocalState& local,
                    BatchConsumer next) const override;
  std::string Describe() const override { return "project"; }
  const CompiledExpr& exprs() const { return exprs_; }

 private:
  CompiledExpr exprs_;
};

// The input's columns and a BIGINT that ascends through the rows: where `positions`, the source's
// row numbers (REQUIRES one source and only one-to-one operators so far), else block << 40 plus the
// row's number in what its block gives.
class AppendRowIds final : public StreamOperator {
 public:
  explicit AppendRowIds(bool positions) : positions_(positions) {}
  std::unique_ptr<LocalState> MakeLocal(const SharedState* shared, const RunState& run,
                                        const PipelineOptions& options) const override;
  void StartBlock(int64_t block, LocalState& local) const override;
  absl::Status Push(const Batch& in, const SharedState* shared, LocalState& local,
                    BatchConsumer next) const override;
  std::string Describe() const override { return "row id"; }

 private:
  bool positions_;
};

}  // namespace adjoin
