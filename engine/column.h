// Columns: immutable, shared, Arrow-compatible buffers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "engine/budget_charge.h"
#include "engine/buffer.h"
#include "engine/statistics.h"
#include "engine/types.h"

namespace adjoin {

// Distinct strings in first-seen order; a TEXT column holds codes into it. Immutable once in a
// column.
class Dictionary {
 public:
  Dictionary() = default;
  // Strings that lie in files, of which some may be equal: string c is what `letters` has from
  // offsets[c] to offsets[c + 1], `size` + 1 of int64_t.
  Dictionary(std::shared_ptr<const Buffer> letters, std::shared_ptr<const Buffer> offsets,
             int32_t size);

  int32_t Intern(std::string_view text);  // adds where absent; only while building, in memory
  int32_t size() const { return size_; }
  std::string_view at(int32_t code) const {
    if (letters_ == nullptr) return entries_[static_cast<size_t>(code)];
    const int64_t* offset = offsets_->as<int64_t>() + code;
    return {letters_->as<char>() + offset[0], static_cast<size_t>(offset[1] - offset[0])};
  }
  // Whether equal strings have equal codes. All tables' have; no other is kept beyond a statement
  // but by what it gave.
  bool is_distinct() const { return letters_ == nullptr; }
  int64_t bytes() const { return bytes_; }  // of memory, about
  // Counts what it takes by now against a budget while it lives: 53200 where that has no room. One
  // budget always; called again for strings that came since.
  absl::Status ChargeTo(const std::shared_ptr<MemoryBudget>& budget);

 private:
  int32_t size_ = 0;
  int64_t bytes_ = 0;
  std::unique_ptr<BudgetCharge> charge_;
  std::shared_ptr<const Buffer> letters_, offsets_;  // null in memory
  std::vector<std::string_view> entries_;            // views into storage_
  std::vector<std::unique_ptr<std::string>> storage_;
  absl::flat_hash_map<std::string_view, int32_t> codes_;
};

// `length` values of one type. Element r is NULL where bit r of `validity` (least significant bit
// first) is 0; no validity buffer means no NULLs. The value under a NULL is unspecified but
// readable. Thread-safe: never changes.
class Column {
 public:
  Column(TypeId type, int64_t length, std::shared_ptr<const Buffer> values,
         std::shared_ptr<const Buffer> validity,
         std::shared_ptr<const Dictionary> dictionary = nullptr);

  // Integers that follow from the row: origin + row / inner % extent, as a dim of a Grid table
  // does. Nothing is stored until somebody reads them; then they are charged to `budget`, past its
  // limit if need be. Three dims of BIGINT beside REAL values took six times the values' memory.
  struct Coordinates {
    int64_t origin, extent, inner;
  };
  Column(TypeId type, int64_t length, Coordinates coordinates,
         std::shared_ptr<MemoryBudget> budget);

  TypeId type() const { return type_; }
  int64_t length() const { return length_; }
  bool has_nulls() const { return null_count_ > 0; }
  int64_t null_count() const { return null_count_; }
  bool is_null(int64_t row) const {
    return validity_ != nullptr && ((validity_->as<uint8_t>()[row >> 3] >> (row & 7)) & 1) == 0;
  }
  // BOOLEAN: uint8_t; TEXT: int32_t codes.
  template <typename T>
  const T* values() const {
    return static_cast<const T*>(data());
  }
  const void* data() const {
    const void* known = data_.load(std::memory_order_acquire);
    return known != nullptr ? known : Compute();
  }
  const Coordinates* coordinates() const {  // null: the values do not follow from the row
    return computed_ == nullptr ? nullptr : &computed_->coordinates;
  }
  // Whether the values lie in memory; if not, Fill writes elements [first, first + n) to `out`
  // without keeping them.
  bool is_stored() const { return data_.load(std::memory_order_acquire) != nullptr; }
  void Fill(int64_t first, int64_t n, void* out) const;
  const std::shared_ptr<const Buffer>& values_buffer() const {
    data();
    return values_;
  }
  const std::shared_ptr<const Buffer>& validity_buffer() const { return validity_; }
  const std::shared_ptr<const Dictionary>& dictionary() const { return dictionary_; }
  std::string_view text(int64_t row) const { return dictionary_->at(values<int32_t>()[row]); }
  Value value(int64_t row) const;
  // Computed when first asked for, and kept: two passes over the values.
  const ColumnStatistics& statistics() const;
  // A number that no other column of this process has had; equal versions mean equal values.
  uint64_t version() const;
  // For the only owner, who has written other values into the column's memory.
  void NewVersion() const { version_.store(0, std::memory_order_relaxed); }

 private:
  struct Computed {
    Coordinates coordinates;
    std::shared_ptr<MemoryBudget> budget;
    std::once_flag once;
  };
  const void* Compute() const;

  TypeId type_;
  int64_t length_;
  int64_t null_count_;
  mutable std::atomic<const void*> data_;  // null: not computed yet
  mutable std::shared_ptr<const Buffer> values_;
  std::unique_ptr<Computed> computed_;
  std::shared_ptr<const Buffer> validity_;
  std::shared_ptr<const Dictionary> dictionary_;
  mutable std::atomic<uint64_t> version_{0};  // 0: nobody has asked
  mutable std::once_flag statistics_once_;
  mutable std::unique_ptr<const ColumnStatistics> statistics_;
};
using ColumnRef = std::shared_ptr<const Column>;

// Builds a column value by value or in bulk. Not thread-safe.
class ColumnBuilder {
 public:
  ColumnBuilder(TypeId type, std::shared_ptr<MemoryBudget> budget);
  absl::Status Reserve(int64_t rows);
  absl::Status AppendNull();
  // REQUIRES: `value` is NULL or of this type's family; integers are range-checked (22003).
  absl::Status Append(const Value& value);
  // `n` elements of the type's width (text: std::string_view); `valid` is one byte a row, or null
  // for no NULLs.
  absl::Status AppendMany(const void* values, const uint8_t* valid, int64_t n);
  int64_t length() const { return length_; }
  absl::StatusOr<ColumnRef> Finish();  // leaves the builder empty

 private:
  absl::Status Grow(int64_t rows);
  TypeId type_;
  std::shared_ptr<MemoryBudget> budget_;
  int64_t length_ = 0;
  int64_t capacity_ = 0;
  int64_t null_count_ = 0;
  std::shared_ptr<Buffer> values_;
  std::shared_ptr<Buffer> validity_;  // made at the first NULL
  std::shared_ptr<Dictionary> dictionary_;
};

}  // namespace adjoin
