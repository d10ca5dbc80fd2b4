// Which rows of a partition a window frame holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/functions.h"
#include "ops/sort_codes.h"
#include "ops/window_order.h"

namespace adjoin {

struct PositionRange {
  int64_t begin = 0, end = 0;  // empty where begin >= end
  int64_t size() const { return end > begin ? end - begin : 0; }
};

// One partition: its rows in order, and their peer groups.
class WindowPartition {
 public:
  // `order`: says which are peers; null where nobody asks for peers. `range_key`: the ORDER BY key
  // by table row, where RANGE has offsets.
  WindowPartition(const OrderedRows& ordered, const SortCodes* order,
                  const Vector* range_key = nullptr, bool descending = false);
  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  int64_t row(int64_t position) const { return rows_[static_cast<size_t>(position)]; }
  int64_t group(int64_t position) const { return group_of_[static_cast<size_t>(position)]; }
  PositionRange peers(int64_t position) const { return group_range(group(position)); }
  int64_t num_groups() const { return static_cast<int64_t>(group_begin_.size()) - 1; }
  PositionRange group_range(int64_t group) const {
    return {group_begin_[group], group_begin_[group + 1]};
  }

  // The frame of a row before exclusion, within [0, size()].
  PositionRange FrameOf(const WindowFrameSpec& spec, int64_t position) const;
  // Whether the frame of every row is the whole partition.
  bool IsWhole(const WindowFrameSpec& spec) const;
  // The parts of it that exclusion leaves, ascending; returns how many, 0 to 3, none of them empty.
  int FrameParts(const WindowFrameSpec& spec, int64_t position, PositionRange parts[3]) const;

 private:
  PositionRange RangeFrame(const WindowFrameSpec& spec, int64_t position) const;
  bool IsNumber(int64_t group) const;
  // A distance along the order: of an integer key, of a float key.
  struct Distance {
    int64_t whole;
    double real;
  };
  // Whether the key of `other` is at least / at most `offset` past that of `group`, in the
  // direction of the order.
  bool AtLeast(int64_t group, int64_t other, Distance offset) const;
  bool AtMost(int64_t group, int64_t other, Distance offset) const;
  // -1, 0 or 1 where `other` is less than `offset` past `group`, just as far, or farther.
  int Compare(int64_t group, int64_t other, Distance offset) const;
  int64_t row_of_group(int64_t group) const { return row(group_begin_[group]); }

  const Vector* range_key_;
  bool descending_;
  std::span<const int64_t> rows_;
  std::vector<int32_t> group_of_;
  std::vector<int64_t> group_begin_;  // one more than groups
};

}  // namespace adjoin
