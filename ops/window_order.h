// The rows of a window by partition and, inside each, in the window's order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/sort_codes.h"
#include "ops/vector.h"

namespace adjoin {

// Numbers of partitions by row, from 0 in first-seen order.
struct PartitionIds {
  std::vector<int64_t> ids;
  int64_t count = 0;
};
PartitionIds FindPartitions(std::span<const Vector> keys, int64_t rows, int64_t batch_rows);

// Partitions are put in order task by task, where a task is a few of them; tasks may run at once.
class WindowOrder {
 public:
  // `order` must outlive this.
  WindowOrder(const PartitionIds& partitions, const SortCodes& order, int64_t rows_a_task);
  int64_t num_tasks() const { return static_cast<int64_t>(task_begins_.size()) - 1; }
  // Calls f(rows of a partition, in order) for each of a task's; it returns a Status.
  template <typename F>
  absl::Status RunTask(int64_t task, F&& f) {
    SortTask(task);
    for (int64_t p = task_begins_[task]; p < task_begins_[task + 1]; ++p) {
      const absl::Status status = f(std::span<const int64_t>(rows_).subspan(
          static_cast<size_t>(begins_[p]), static_cast<size_t>(begins_[p + 1] - begins_[p])));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  void SortTask(int64_t task);
  void SortPacked(int64_t task);

  const SortCodes& order_;
  std::vector<int64_t> rows_;         // by partition; while packed_ is used, once sorted
  std::vector<int64_t> begins_;       // of partitions in rows_, and the end
  std::vector<int64_t> task_begins_;  // in partitions, and the end
  // Where they fit 64 bits: the partition in its task, the code, and the row in the lowest bits; by
  // task.
  std::vector<uint64_t> packed_;
  int row_bits_ = 0, code_bits_ = 0;
};

}  // namespace adjoin
