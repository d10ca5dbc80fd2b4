// Sums of products of rows of two relations at the positions that a third one, the sample, names:
// of two dense factors the products of their rows where a sparse matrix has cells (SDDMM).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/join_index.h"
#include "ops/step.h"

namespace adjoin {

struct SampledStructure;  // ops/sampled_structure.h

struct SampledProductSpec {
  RelationRef sample;
  CompiledExpr keys;           // of the groups, over the sample
  CompiledExpr sample_factor;  // over it; no output: 1
  struct Side {
    RelationRef relation;
    JoinKeys on;             // over the relation
    CompiledExpr sample_on;  // the same keys over the sample
    CompiledExpr between;    // over the relation: what rows of both sides meet by
    CompiledExpr factor;     // one output
  } sides[2];
  std::vector<bool> null_safe;  // by key between: NULL equals NULL
  bool real = false;  // factors are REAL: products are rounded to it, and summed in double
  Schema schema;      // keys, then the sum
};

// A row of the sample meets rows of both sides by keys, and those meet each other where what is
// between them is equal. Groups in first-seen order of the sample's rows that have
// such pairs. Products are added sample row by sample row, of one in the order in which the first
// side's rows have shown what is between; long runs in eight sums, whatever the threads. A sum is
// NULL where no product is not NULL. Of base tables what is known of keys is kept in the column
// cache.
class SampledProductStep final : public Step {
 public:
  SampledProductStep(SampledProductSpec spec, int out_slot, PipelineOptions options)
      : spec_(std::move(spec)), out_slot_(out_slot), options_(options) {}
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;

 private:
  std::string Identity(const RunState& state) const;
  absl::StatusOr<std::shared_ptr<const SampledStructure>> StructureOf(const Table& sample,
                                                                      const Table* const sides[2],
                                                                      RunState& state) const;
  SampledProductSpec spec_;
  int out_slot_;
  PipelineOptions options_;
};

}  // namespace adjoin
