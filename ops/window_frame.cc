#include "ops/window_frame.h"

#include <algorithm>

namespace adjoin {
namespace {

// a + b for offsets that a user chose: huge ones end at the partition's ends.
int64_t Shifted(int64_t position, int64_t offset, int64_t size) {
  if (offset > size) return size + 1;
  if (offset < -size) return -1;
  return position + offset;
}

}  // namespace

WindowPartition::WindowPartition(std::span<const int64_t> rows, const SortCodes& order)
    : rows_(rows) {
  group_of_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || !order.Equal(rows[i - 1], rows[i]))
      group_begin_.push_back(static_cast<int64_t>(i));
    group_of_[i] = static_cast<int32_t>(group_begin_.size()) - 1;
  }
  group_begin_.push_back(static_cast<int64_t>(rows.size()));
}

PositionRange WindowPartition::FrameOf(const WindowFrameSpec& spec, int64_t position) const {
  const bool rows = spec.mode == WindowFrameMode::kRows;
  const int64_t here = rows ? position : group(position);
  const int64_t units = rows ? size() : num_groups();
  int64_t first = 0;
  switch (spec.start) {
    case WindowFrameBound::kUnboundedPreceding:
      first = 0;
      break;
    case WindowFrameBound::kPreceding:
      first = Shifted(here, -spec.start_offset, units);
      break;
    case WindowFrameBound::kCurrentRow:
      first = here;
      break;
    case WindowFrameBound::kFollowing:
      first = Shifted(here, spec.start_offset, units);
      break;
    case WindowFrameBound::kUnboundedFollowing:
      first = units;
      break;
  }
  int64_t last = 0;  // one past
  switch (spec.end) {
    case WindowFrameBound::kUnboundedPreceding:
      last = 0;
      break;
    case WindowFrameBound::kPreceding:
      last = Shifted(here, -spec.end_offset, units) + 1;
      break;
    case WindowFrameBound::kCurrentRow:
      last = here + 1;
      break;
    case WindowFrameBound::kFollowing:
      last = Shifted(here, spec.end_offset, units) + 1;
      break;
    case WindowFrameBound::kUnboundedFollowing:
      last = units;
      break;
  }
  first = std::clamp<int64_t>(first, 0, units);
  last = std::clamp<int64_t>(last, 0, units);
  if (rows) return {first, last};
  return {group_begin_[first], group_begin_[last]};
}

int WindowPartition::FrameParts(const WindowFrameSpec& spec, int64_t position,
                                PositionRange parts[3]) const {
  const PositionRange frame = FrameOf(spec, position);
  int count = 0;
  const auto add = [&](int64_t begin, int64_t end) {
    begin = std::max(begin, frame.begin);
    end = std::min(end, frame.end);
    if (begin < end) parts[count++] = {begin, end};
  };
  if (spec.exclusion == WindowFrameExclusion::kNone) {
    add(frame.begin, frame.end);
    return count;
  }
  const PositionRange hole = spec.exclusion == WindowFrameExclusion::kCurrentRow
                                 ? PositionRange{position, position + 1}
                                 : peers(position);
  add(frame.begin, hole.begin);
  if (spec.exclusion == WindowFrameExclusion::kTies) add(position, position + 1);
  add(hole.end, frame.end);
  return count;
}

}  // namespace adjoin
