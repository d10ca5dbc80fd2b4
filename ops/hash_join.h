// Hash joins: the right side is indexed when the pipeline opens, left batches stream through. Joins
// without keys: nested loops over the right side where it lies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/expression.h"
#include "ops/join_index.h"
#include "ops/pipeline.h"

namespace adjoin {

enum class JoinType : uint8_t {
  kInner,
  kLeft,  // unmatched left rows once, with NULLs on the right
  kSemi,
  kAnti,
  kNullAwareAnti,  // NOT IN by one key, without residual
  kSingle,         // kLeft, and an error (21000) where a left row matches two
};

struct HashJoinSpec {
  JoinType type = JoinType::kInner;
  JoinKeys left, right;  // over the batch's columns; over the right table's
  RelationRef right_relation;
  double probes = 0;  // left rows, about
  // A *pair* has the batch's columns, then these of the right table.
  int left_width = 0;
  std::vector<int> right_columns;
  std::optional<CompiledExpr> residual;  // over a pair
  std::vector<int> output;               // columns of a pair; semi and anti joins: of the batch
  // In place of `output`: the source's row of the left side and the row of the right table (-1:
  // NULLs), two BIGINTs. REQUIRES: batches are consecutive rows of the source.
  bool rows_only = false;
};

// The right side as it is probed: all of it, or a part that has the rows of some keys.
struct BuildSide final : SharedState {
  double expansion() const override {
    return index == nullptr ? static_cast<double>(num_rows) : index->fan_out().Expected();
  }
  TableRef table;
  std::unique_ptr<JoinIndex> index;  // null where there are no keys: every row is a candidate
  // Of the whole right side.
  int64_t num_rows = 0;
  int64_t rows_with_nulls = 0;  // left out because a key was NULL
  // Of a part: the rows' numbers in the whole. Left batches have one column more then, their order,
  // and so has what comes out.
  const int64_t* row_numbers = nullptr;
  bool is_part = false;
};

// Output: left rows in order, a row's matches in right row order. Without keys a right side that is
// in a file is read from there once a left row, in order; that is 8 bytes a column and pair beside
// the nanoseconds that its condition takes.
class HashJoin final : public StreamOperator {
 public:
  explicit HashJoin(HashJoinSpec spec) : spec_(std::move(spec)) {}
  absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                    const PipelineOptions& options) const override;
  // Null where there are no keys: the state takes no memory then.
  absl::StatusOr<std::unique_ptr<SpilledOperator>> OpenSpilled(
      RunState& run, const PipelineOptions& options) const override;
  std::unique_ptr<LocalState> MakeLocal(const SharedState* shared, const RunState& run,
                                        const PipelineOptions& options) const override;
  absl::Status Push(const Batch& in, const SharedState* shared, LocalState& local,
                    BatchConsumer next) const override;
  std::string Describe() const override;

 private:
  HashJoinSpec spec_;
};

}  // namespace adjoin
