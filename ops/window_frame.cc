#include "ops/window_frame.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

namespace adjoin {
namespace {

// a + b for offsets that a user chose: huge ones end at the partition's ends.
int64_t Shifted(int64_t position, int64_t offset, int64_t size) {
  if (offset > size) return size + 1;
  if (offset < -size) return -1;
  return position + offset;
}

bool IsOffset(WindowFrameBound bound) {
  return bound == WindowFrameBound::kPreceding || bound == WindowFrameBound::kFollowing;
}

}  // namespace

WindowPartition::WindowPartition(const OrderedRows& ordered, const SortCodes* order,
                                 const Vector* range_key, bool descending)
    : range_key_(range_key), descending_(descending), rows_(ordered.rows) {
  if (order == nullptr) return;
  const auto group = [&](auto&& are_peers) {
    group_of_.resize(rows_.size());
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (i == 0 || !are_peers(i - 1, i)) group_begin_.push_back(static_cast<int64_t>(i));
      group_of_[i] = static_cast<int32_t>(group_begin_.size()) - 1;
    }
    group_begin_.push_back(static_cast<int64_t>(rows_.size()));
  };
  if (ordered.keys.empty()) {
    group([&](size_t a, size_t b) { return order->Equal(rows_[a], rows_[b]); });
  } else {
    group([&](size_t a, size_t b) { return ordered.keys[a] == ordered.keys[b]; });
  }
}

bool WindowPartition::IsNumber(int64_t group) const {
  const int64_t at = row_of_group(group);
  if (range_key_->is_null(at)) return false;
  return WithElementType(range_key_->type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) return !std::isnan(range_key_->as<T>()[at]);
    return std::is_integral_v<T>;
  });
}

// Floats are moved and then compared, as PostgreSQL does: an infinity stays where it is, whatever
// the offset, and so does a number that the offset is too small for.
int WindowPartition::Compare(int64_t group, int64_t other, Distance offset) const {
  const int64_t from = row_of_group(group), to = row_of_group(other);
  const auto sign = [this](auto key, auto bound) {
    if (descending_) std::swap(key, bound);
    return key < bound ? -1 : key > bound ? 1 : 0;
  };
  return WithElementType(range_key_->type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T* key = range_key_->as<T>();
      const double distance = descending_ ? -offset.real : offset.real;
      return sign(static_cast<double>(key[to]), static_cast<double>(key[from]) + distance);
    } else if constexpr (std::is_integral_v<T>) {
      const T* key = range_key_->as<T>();
      const __int128 distance = offset.whole;
      return sign(static_cast<__int128>(key[to]), key[from] + (descending_ ? -distance : distance));
    } else {
      return 0;
    }
  });
}

// NULL and NaN have no distance to a number: there the order alone decides.
bool WindowPartition::AtLeast(int64_t group, int64_t other, Distance offset) const {
  if (!IsNumber(other)) return other > group;
  return Compare(group, other, offset) >= 0;
}

bool WindowPartition::AtMost(int64_t group, int64_t other, Distance offset) const {
  if (!IsNumber(other)) return other < group;
  return Compare(group, other, offset) <= 0;
}

// Bounds by distance are found by bisection of the peer groups, whose keys ascend in the order's
// direction.
PositionRange WindowPartition::RangeFrame(const WindowFrameSpec& spec, int64_t position) const {
  const int64_t here = group(position);
  WindowFrameSpec by_peers = spec;
  if (IsOffset(spec.start)) by_peers.start = WindowFrameBound::kCurrentRow;
  if (IsOffset(spec.end)) by_peers.end = WindowFrameBound::kCurrentRow;
  PositionRange frame = FrameOf(by_peers, position);
  if (!IsNumber(here)) return frame;  // the peers of a NULL or NaN, whatever the offset
  const auto groups = std::views::iota(int64_t{0}, num_groups());
  if (IsOffset(spec.start)) {
    const bool before = spec.start == WindowFrameBound::kPreceding;
    const Distance offset{before ? -spec.start_offset : spec.start_offset,
                          before ? -spec.start_distance : spec.start_distance};
    const auto first =
        std::ranges::partition_point(groups, [&](int64_t g) { return !AtLeast(here, g, offset); });
    frame.begin = group_begin_[first - groups.begin()];
  }
  if (IsOffset(spec.end)) {
    const bool before = spec.end == WindowFrameBound::kPreceding;
    const Distance offset{before ? -spec.end_offset : spec.end_offset,
                          before ? -spec.end_distance : spec.end_distance};
    const auto last =
        std::ranges::partition_point(groups, [&](int64_t g) { return AtMost(here, g, offset); });
    frame.end = group_begin_[last - groups.begin()];
  }
  return frame;
}

PositionRange WindowPartition::FrameOf(const WindowFrameSpec& spec, int64_t position) const {
  if (range_key_ != nullptr && spec.mode == WindowFrameMode::kRange &&
      (IsOffset(spec.start) || IsOffset(spec.end))) {
    return RangeFrame(spec, position);
  }
  const bool rows = spec.mode == WindowFrameMode::kRows;
  if (spec.start == WindowFrameBound::kUnboundedPreceding &&
      spec.end == WindowFrameBound::kUnboundedFollowing)
    return {0, size()};
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

bool WindowPartition::IsWhole(const WindowFrameSpec& spec) const {
  return IsWholePartition(spec, num_groups() == 1);
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
