// Rows in files, cut by a hash of their keys into parts that fit memory one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ops/column_file.h"
#include "ops/expression.h"
#include "ops/key_hash.h"
#include "ops/merge_runs.h"
#include "ops/pipeline.h"

namespace adjoin {

// A part that has no room is cut into as many again. 16 parts of a block of 256 KiB are pieces of
// 16 KiB, four pages.
inline constexpr int kPartitions = 16;
// Cut deeper, rows have the hash of one key.
inline constexpr int kMostLevels = 5;

// Which part of `level` each row of a batch is in: equal keys are in the same.
void FindParts(std::span<const Vector> keys, int64_t n, int level, KeyHasher& hasher,
               uint8_t* parts);

// Immutable: parts, and in them the rows of each of a pipeline's blocks, in their order.
struct RowPartitions {
  TableRef table;            // the columns that were kept, and last the order of the rows
  std::vector<int> columns;  // which those are of the batches that came; the order: after them all
  int width = 0;             // of the batches
  int level = 0;             // of the cut
  int64_t blocks = 0;
  std::vector<std::vector<RowRun>> parts;  // by block
  // The order by row. REQUIRES: there are rows.
  const int64_t* orders() const {
    return table->column(table->num_columns() - 1)->values<int64_t>();
  }
  int64_t RowsOf(size_t part) const;
  // Whether a deeper cut is likely to divide a part. One that has most rows has most likely those
  // of one key, which no cut divides.
  bool MayDivide(size_t part) const {
    return 2 * RowsOf(part) < table->num_rows() && level + 1 < kMostLevels;
  }
};

// What a PartitionSink fills, or several do one after another.
class RowPartitionsBuilder {
 public:
  RowPartitionsBuilder(const RunState& run, int parts)
      : file_(*run.spill, run.budget), parts_(parts) {}
  RowFile& file() { return file_; }
  void Add(size_t part, const RowRun& run) { parts_[part].push_back(run); }
  absl::StatusOr<RowPartitions> Finish(std::vector<int> columns, int width, int64_t blocks);
  int64_t blocks = 0;  // that the last sink was given

 private:
  RowFile file_;
  std::vector<std::vector<RowRun>> parts_;
};

// A row's order: its number in what its block gives, counted in whole batches, so that where one
// batch ends and the next begins is known; its position in the source; or the batch's last column.
enum class RowOrder : uint8_t { kInBlock, kPosition, kLastColumn };

struct PartitionSpec {
  const CompiledExpr* keys = nullptr;  // null: all rows are in `part`
  int num_keys = 0;                    // the first outputs
  int level = 0;
  int part = 0;
  std::vector<int> columns;  // of the batches, that are kept
  int width = 0;             // of the batches, without an order
  RowOrder order = RowOrder::kInBlock;
};

class PartitionSink final : public PipelineSink {
 public:
  PartitionSink(PartitionSpec spec, RowPartitionsBuilder& out)
      : spec_(std::move(spec)), out_(out) {}
  absl::StatusOr<std::unique_ptr<SharedState>> Open(RunState& run,
                                                    const PipelineOptions& options) const override;
  std::unique_ptr<LocalState> MakeBlock(const SharedState& shared) const override;
  absl::Status Consume(const Batch& batch, const SharedState& shared,
                       LocalState& block) const override;
  absl::Status Merge(std::unique_ptr<LocalState> block, SharedState& shared,
                     bool* done) const override;
  absl::StatusOr<TableRef> Finish(SharedState& shared, RunState& run) const override;
  std::string Describe() const override { return "partition"; }

 private:
  Vector OrderOf(const Batch& batch, int64_t first_in_block, BatchArena& arena) const;
  PartitionSpec spec_;
  RowPartitionsBuilder& out_;
};

// The rows of one part, block by block; batches have the columns in their places and the order
// after them, which tells the rows of all blocks apart where `all_blocks`.
class PartitionSource final : public Source {
 public:
  PartitionSource(const RowPartitions& rows, size_t part, bool all_blocks, int64_t batch_rows)
      : rows_(rows), part_(part), all_blocks_(all_blocks), batch_rows_(batch_rows) {}
  int64_t Blocks(const SharedState&) const override { return rows_.blocks; }
  std::unique_ptr<LocalState> MakeLocal(const SharedState& shared) const override;
  absl::Status Produce(int64_t block, const SharedState& shared, LocalState& local,
                       BatchConsumer next) const override;
  std::string Describe() const override { return "part"; }

 private:
  const RowPartitions& rows_;
  size_t part_;
  bool all_blocks_;
  int64_t batch_rows_;
};

// All parts of rows by their order, block by block. Batches have the kept columns, without the
// order; they end where those ended that the order was counted in.
class MergedSource final : public Source {
 public:
  MergedSource(RowPartitions rows, int64_t batch_rows)
      : rows_(std::move(rows)), batch_rows_(batch_rows) {}
  int64_t Blocks(const SharedState&) const override { return rows_.blocks; }
  std::unique_ptr<LocalState> MakeLocal(const SharedState& shared) const override;
  absl::Status Produce(int64_t block, const SharedState& shared, LocalState& local,
                       BatchConsumer next) const override;
  std::string Describe() const override { return "merge"; }

 private:
  const RowPartitions rows_;
  const int64_t batch_rows_;
};

// Cuts all rows of a pipeline, or one part of `rows` a level deeper: 53200 where there is none.
absl::StatusOr<RowPartitions> Partition(const std::vector<Branch>& branches, int64_t first_block,
                                        const PartitionSpec& spec, RunState& run,
                                        const PipelineOptions& options);
absl::StatusOr<RowPartitions> PartitionAgain(const RowPartitions& rows, size_t part,
                                             PartitionSpec spec, RunState& run,
                                             const PipelineOptions& options);

// Calls f(rows, part) for each part that has rows. One that f has no room for (53200) is cut a
// level deeper, and f called for its parts instead. `spec`: what `rows` were cut by.
absl::Status ForEachPart(const RowPartitions& rows, PartitionSpec spec, RunState& run,
                         const PipelineOptions& options,
                         absl::FunctionRef<absl::Status(const RowPartitions&, size_t)> f);

// One part as a table in memory, which has the batches' columns in their places, of those that were
// kept, and then the order. `types`: of the batches' columns, where there are no rows.
absl::StatusOr<TableRef> LoadPart(const RowPartitions& rows, size_t part,
                                  std::span<const TypeId> types, const RunState& run);

}  // namespace adjoin
