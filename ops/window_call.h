// One window function over one partition.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/budget_charge.h"
#include "engine/mapped_memory.h"
#include "ops/arena.h"
#include "ops/window.h"

namespace adjoin {

// The results of one call for all rows of the relation, by row. Partitions write disjoint rows, so
// several may be computed at once.
class WindowColumn {
 public:
  // `mapped`: where all is; null: the budget's memory, which counts the values. Error: 53200.
  static absl::StatusOr<std::unique_ptr<WindowColumn>> Make(const WindowCallSpec& spec,
                                                            std::vector<Vector> exprs, int64_t rows,
                                                            std::shared_ptr<MemoryBudget> budget,
                                                            MappedMemory* mapped = nullptr);
  // Errors: 22003 where an integer sum does not fit, 22014 and 22016 where the number of NTILE or
  // NTH_VALUE is not positive, 53200 and what `mapped` says.
  absl::Status Compute(const WindowFrameSpec& frame, const WindowPartition& partition);
  Vector results() const { return {spec_.result, data_, valid_.data()}; }
  absl::StatusOr<ColumnRef> Finish();  // the last call. REQUIRES: no `mapped`

 private:
  WindowColumn(const WindowCallSpec& spec, std::vector<Vector> exprs, int64_t rows,
               std::shared_ptr<MemoryBudget> budget, MappedMemory* mapped);
  template <typename T>
  std::pmr::vector<T> Items(int64_t n) const {
    return std::pmr::vector<T>(static_cast<size_t>(n), memory_);
  }
  absl::Status ComputeAggregate(const WindowFrameSpec& frame, const WindowPartition& partition);
  void ComputeRank(const WindowPartition& partition);
  absl::Status ComputeNtile(const WindowPartition& partition);
  void ComputeShift(const WindowPartition& partition);
  void ShiftBy(int64_t offset, const WindowPartition& partition);
  void ComputeEnd(const WindowFrameSpec& frame, const WindowPartition& partition);
  absl::Status ComputeNth(const WindowFrameSpec& frame, const WindowPartition& partition);
  absl::Status ComputeTexts(const WindowFrameSpec& frame, const WindowPartition& partition);
  absl::Status ComputeComoment(const WindowFrameSpec& frame, const WindowPartition& partition);
  template <typename F>
  absl::Status ForEachFrame(const WindowFrameSpec& spec, const WindowPartition& partition, F&& f);
  void Repeat(const WindowPartition& partition);
  template <typename T>
  absl::Status Sum(const WindowFrameSpec& frame, const WindowPartition& partition);
  absl::Status SumDecimals(const WindowFrameSpec& frame, const WindowPartition& partition);
  template <typename T>
  void MinMax(const WindowFrameSpec& frame, const WindowPartition& partition);
  std::pmr::vector<int64_t> RunningCounts(const WindowPartition& partition) const;
  bool IsTaken(int64_t row) const;
  absl::StatusOr<char*> AllocateText(int64_t bytes);
  void Set(int64_t row, const Vector& from, int64_t at);
  void SetNull(int64_t row);
  template <typename T>
  void Put(int64_t row, T value) {
    static_cast<T*>(data_)[row] = value;
  }

  const WindowCallSpec& spec_;
  const std::vector<Vector> exprs_;
  const int64_t rows_;
  const std::shared_ptr<MemoryBudget> budget_;
  MappedMemory* const mapped_;  // may be null
  std::pmr::memory_resource* const memory_;
  std::shared_ptr<Buffer> values_;            // of the column; of TEXT:
  std::pmr::vector<std::string_view> views_;  // which then are interned
  std::pmr::vector<std::byte> bytes_;         // in place of values_ where `mapped` was given
  void* data_ = nullptr;                      // of these
  std::pmr::vector<uint8_t> valid_;
  std::mutex text_mutex_;
  TextArena texts_;           // of STRING_AGG
  BudgetCharge text_charge_;  // of their bytes
};

}  // namespace adjoin
