// The rows of a window by partition and, inside each, in the window's order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/large_vector.h"
#include "ops/sort_codes.h"
#include "ops/vector.h"

namespace adjoin {

// Numbers of partitions by row, from 0 in first-seen order.
struct PartitionIds {
  LargeVector<int64_t> ids;
  int64_t count = 0;
};
PartitionIds FindPartitions(std::span<const Vector> keys, int64_t rows, int64_t batch_rows);

// The rows of a partition, in order.
struct OrderedRows {
  std::span<const int64_t> rows;
  // By row, of peers the same; empty: not known. The codes that rows were sorted by are at hand,
  // those by row number are all over memory: RANK of 1e6 rows took three times as long by them.
  std::span<const uint64_t> keys = {};
};

// Partitions are put in order task by task, where a task is a few of them; tasks may run at once.
class WindowOrder {
 public:
  // `order` must outlive this.
  WindowOrder(const PartitionIds& partitions, const SortCodes& order, int64_t rows_a_task);
  int64_t num_tasks() const { return static_cast<int64_t>(task_begins_.size()) - 1; }
  // Calls f(OrderedRows) for each partition of a task's; it returns a Status.
  template <typename F>
  absl::Status RunTask(int64_t task, F&& f) {
    SortTask(task);
    for (int64_t p = task_begins_[task]; p < task_begins_[task + 1]; ++p) {
      const auto first = static_cast<size_t>(begins_[p]);
      const auto size = static_cast<size_t>(begins_[p + 1]) - first;
      OrderedRows rows{std::span<const int64_t>(rows_).subspan(first, size)};
      if (!packed_.empty()) rows.keys = std::span<const uint64_t>(packed_).subspan(first, size);
      absl::Status status = f(rows);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  void SortTask(int64_t task);
  void SortPacked(int64_t task);

  const SortCodes& order_;
  LargeVector<int64_t> rows_;         // by partition; while packed_ is used, once sorted
  std::vector<int64_t> begins_;       // of partitions in rows_, and the end
  std::vector<int64_t> task_begins_;  // in partitions, and the end
  // Where they fit 64 bits: the partition in its task, the code, and until the task is sorted the
  // row in the lowest bits; by task.
  LargeVector<uint64_t> packed_;
  int row_bits_ = 0, code_bits_ = 0;
};

}  // namespace adjoin
