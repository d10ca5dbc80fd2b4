// Which rows of a partition a window frame holds.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "engine/types.h"
#include "ops/functions.h"
#include "ops/sort_codes.h"
#include "ops/window_order.h"

namespace adjoin {

// A frame as a run has it. Offsets count rows or peer groups; those of RANGE are distances along
// the one ORDER BY key: a BIGINT of integers, a DOUBLE PRECISION of floats, a NUMERIC of NUMERICs,
// an INTERVAL of dates, timestamps and intervals.
struct WindowFrameSpec : WindowFrameShape {
  int64_t start_offset = 0, end_offset = 0;
  Value start_distance = {}, end_distance = {};
};

struct PositionRange {
  int64_t begin = 0, end = 0;  // empty where begin >= end
  int64_t size() const { return end > begin ? end - begin : 0; }
};

// One partition: its rows in order, and their peer groups.
class WindowPartition {
 public:
  // `order`: says which are peers; null where nobody asks for peers. `memory`: where what it knows
  // of its rows is.
  WindowPartition(const OrderedRows& ordered, const SortCodes* order,
                  std::pmr::memory_resource* memory = std::pmr::get_default_resource());
  // Before FrameOf where IsByDistance(spec); `key`: the ORDER BY key by table row. Errors: 22013
  // for a negative distance; what moving a key may raise ("timestamp out of range").
  absl::Status FindRanges(const WindowFrameSpec& spec, const Vector& key, bool descending);
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
  template <typename Key>
  absl::Status FindRangesOf(const WindowFrameSpec& spec, const Vector& key, bool descending);
  int64_t row_of_group(int64_t group) const { return row(group_begin_[group]); }

  std::span<const int64_t> rows_;
  std::pmr::vector<int32_t> group_of_;
  std::pmr::vector<int64_t> group_begin_;   // one more than groups
  std::pmr::vector<PositionRange> ranges_;  // by peer group; of frames by distance
};

}  // namespace adjoin
