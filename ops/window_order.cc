#include "ops/window_order.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "ops/key_table.h"

namespace adjoin {

PartitionIds FindPartitions(std::span<const Vector> keys, int64_t rows, int64_t batch_rows) {
  PartitionIds result;
  if (keys.empty()) {
    result.ids.assign(static_cast<size_t>(rows), 0);
    result.count = rows > 0 ? 1 : 0;
    return result;
  }
  result.ids.resize(static_cast<size_t>(rows));
  std::vector<TypeId> types;
  for (const Vector& key : keys) types.push_back(key.type);
  KeyTable table(types);
  table.BorrowCodes();
  std::vector<Vector> slices(keys.size());
  for (int64_t begin = 0; begin < rows; begin += batch_rows) {
    for (size_t k = 0; k < keys.size(); ++k) slices[k] = Slice(keys[k], begin);
    table.FindOrAdd(slices, std::min(batch_rows, rows - begin), result.ids.data() + begin);
  }
  result.count = table.size();
  return result;
}

WindowOrder::WindowOrder(const PartitionIds& partitions, const SortCodes& order,
                         int64_t rows_a_task)
    : order_(order), begins_(static_cast<size_t>(partitions.count) + 1), task_begins_{0} {
  const LargeVector<int64_t>& ids = partitions.ids;
  const auto rows = static_cast<int64_t>(ids.size());
  for (int64_t id : ids) ++begins_[id + 1];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  int64_t most_partitions = 0;
  for (int64_t p = 0; p < partitions.count; ++p) {
    if (p + 1 < partitions.count && begins_[p + 1] - begins_[task_begins_.back()] < rows_a_task)
      continue;
    most_partitions = std::max(most_partitions, p + 1 - task_begins_.back());
    task_begins_.push_back(p + 1);
  }
  rows_.resize(static_cast<size_t>(rows));
  if (order.single() && rows > 0) {
    const CodeRange range = order.FirstRange(rows);
    row_bits_ = std::bit_width(static_cast<uint64_t>(rows));
    code_bits_ = std::bit_width(range.last - range.first);
    const int partition_bits = std::bit_width(static_cast<uint64_t>(most_partitions));
    if (row_bits_ + code_bits_ + partition_bits <= 64) {
      std::vector<int64_t> task_of(static_cast<size_t>(partitions.count));
      std::vector<int64_t> next;
      for (int64_t t = 0; t < num_tasks(); ++t) {
        next.push_back(begins_[task_begins_[t]]);
        std::fill(task_of.begin() + task_begins_[t], task_of.begin() + task_begins_[t + 1], t);
      }
      packed_.resize(static_cast<size_t>(rows));
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t task = task_of[ids[row]];
        const auto partition = static_cast<uint64_t>(ids[row] - task_begins_[task]);
        const uint64_t code = order.First(row) - range.first;
        packed_[next[task]++] =
            (partition << code_bits_ | code) << row_bits_ | static_cast<uint64_t>(row);
      }
      return;
    }
  }
  std::vector<int64_t> next(begins_.begin(), begins_.end() - 1);
  for (int64_t row = 0; row < rows; ++row) rows_[next[ids[row]]++] = row;
}

void WindowOrder::SortPacked(int64_t task) {
  const int64_t begin = begins_[task_begins_[task]];
  const int64_t end = begins_[task_begins_[task + 1]];
  const auto partitions = static_cast<uint64_t>(task_begins_[task + 1] - task_begins_[task]);
  const auto items =
      std::span(packed_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  const int high = row_bits_ + code_bits_ + std::bit_width(partitions - 1);
  // Rows come ascending, so that equal codes keep their order.
  const auto less = [this](uint64_t a, uint64_t b) { return a >> row_bits_ < b >> row_bits_; };
  if (!std::is_sorted(items.begin(), items.end(), less)) SortBits(items, row_bits_, high);
  const uint64_t mask = (uint64_t{1} << row_bits_) - 1;
  for (size_t i = 0; i < items.size(); ++i) {
    rows_[static_cast<size_t>(begin) + i] = static_cast<int64_t>(items[i] & mask);
    items[i] >>= row_bits_;
  }
}

void WindowOrder::SortTask(int64_t task) {
  if (!packed_.empty()) return SortPacked(task);
  for (int64_t p = task_begins_[task]; p < task_begins_[task + 1]; ++p) {
    SortRows(order_, std::span(rows_).subspan(static_cast<size_t>(begins_[p]),
                                              static_cast<size_t>(begins_[p + 1] - begins_[p])));
  }
}

}  // namespace adjoin
