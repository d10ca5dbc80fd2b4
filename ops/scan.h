// Sources: stored tables, VALUES, generate_series.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/expression.h"
#include "ops/pipeline.h"

namespace adjoin {

// Rows of a table in morsels; batches have the chosen columns and their positions.
class ScanSource : public Source {
 public:
  ScanSource(RelationRef relation, std::vector<int> columns)
      : relation_(relation), columns_(std::move(columns)) {}
  absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                    const PipelineOptions& options) const override;
  int64_t Blocks(const SharedState& shared) const override;
  std::unique_ptr<LocalState> MakeLocal(const SharedState& shared) const override;
  absl::Status Produce(int64_t block, const SharedState& shared, LocalState& local,
                       BatchConsumer next) const override;
  std::string Describe() const override;

  const RelationRef& relation() const { return relation_; }
  const std::vector<int>& columns() const { return columns_; }

 private:
  RelationRef relation_;
  std::vector<int> columns_;
};

// Literal rows. A cell is a value, or an output of `exprs` (parameters and what is computed of
// them).
struct ValuesCell {
  Value value;
  int output = -1;
};
class ValuesSource final : public ScanSource {
 public:
  ValuesSource(std::vector<std::vector<ValuesCell>> rows, std::vector<TypeId> types,
               CompiledExpr exprs);
  absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                    const PipelineOptions& options) const override;
  std::string Describe() const override;

 private:
  std::vector<std::vector<ValuesCell>> rows_;
  std::vector<TypeId> types_;
  CompiledExpr exprs_;
};

// generate_series: outputs start, stop, step of `bounds` give start, start + step, ... up to stop.
// A NULL gives no rows; a step of zero is an error (22023).
class SeriesSource final : public Source {
 public:
  SeriesSource(CompiledExpr bounds, TypeId type) : bounds_(std::move(bounds)), type_(type) {}
  absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                    const PipelineOptions& options) const override;
  int64_t Blocks(const SharedState& shared) const override;
  std::unique_ptr<LocalState> MakeLocal(const SharedState& shared) const override;
  absl::Status Produce(int64_t block, const SharedState& shared, LocalState& local,
                       BatchConsumer next) const override;
  std::string Describe() const override;

 private:
  CompiledExpr bounds_;
  TypeId type_;
};

// The value of output `output` of expressions that read no columns, after a Run over one row.
Value SingleValue(const CompiledExpr& exprs, const ExprScratch& scratch, int output);

}  // namespace adjoin
