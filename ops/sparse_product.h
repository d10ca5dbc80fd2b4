// SUMs of products over the pairs of a join, by group, as sparse matrix products: a row of the left
// matrix at a time is multiplied by rows of the right one (Gustavson 1978), and no pair is written.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/sparse_structure.h"
#include "ops/step.h"

namespace adjoin {

struct SparseProductSpec {
  SparseKeys left, right;
  CompiledExpr left_factors, right_factors;  // over the relations; all REAL or all DOUBLE
  struct Sum {
    int left, right;  // factors; -1: 1. Without either: COUNT(*)
  };
  std::vector<Sum> sums;
  bool real = false;  // factors are REAL: products are rounded to it, and summed in double
  struct Key {
    int side, number;  // 0 left, 1 right; among that side's
  };
  std::vector<Key> keys;  // of the left at least one
  Schema schema;          // keys, then sums
};

// Groups by the left's keys in first-seen order of the rows that have a match, within one by the
// right's in first-seen order of its rows. A group's products are added in the order of its pairs,
// left row by left row, whatever the threads. A sum is NULL where no product of its pairs is not
// NULL. Of base tables the structure and the key columns of the result are kept in the column
// cache, for every statement that joins and groups the same versions of their columns alike.
class SparseProductStep final : public Step {
 public:
  SparseProductStep(SparseProductSpec spec, int out_slot, PipelineOptions options)
      : spec_(std::move(spec)), out_slot_(out_slot), options_(options) {}
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override;

 private:
  struct Kept;
  std::string KeysIdentity(const RunState& state) const;
  absl::StatusOr<std::shared_ptr<const Kept>> StructureOf(const Table& left, const Table& right,
                                                          RunState& state) const;
  SparseProductSpec spec_;
  int out_slot_;
  PipelineOptions options_;
};

}  // namespace adjoin
