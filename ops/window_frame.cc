#include "ops/window_frame.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/date_functions.h"
#include "engine/decimal_functions.h"
#include "engine/status.h"

namespace adjoin {
namespace {

// a + b for offsets that a user chose: huge ones end at the partition's ends.
int64_t Shifted(int64_t position, int64_t offset, int64_t size) {
  if (offset > size) return size + 1;
  if (offset < -size) return -1;
  return position + offset;
}

absl::StatusOr<Interval> DistanceOf(const Value& by, bool down) {
  return down ? Negate(by.as_interval()) : by.as_interval();
}

// A key of RANGE as it is compared, and one that is moved by a distance, `down` for towards less,
// as PostgreSQL's in_range functions do it: floats are moved and then compared, so that an infinity
// stays where it is, and so does a number that the distance is too small for; a month is the
// calendar's.
template <typename T>
struct RangeKey {
  using Compared = __int128;
  static absl::StatusOr<Compared> Of(T key) { return key; }
  static absl::StatusOr<Compared> Moved(Compared key, const Value& by, bool down) {
    return down ? key - by.as_int() : key + by.as_int();
  }
};
template <typename T>
struct RealRangeKey {
  using Compared = double;
  static absl::StatusOr<Compared> Of(T key) { return key; }
  static absl::StatusOr<Compared> Moved(Compared key, const Value& by, bool down) {
    return down ? key - by.as_float() : key + by.as_float();
  }
};
template <>
struct RangeKey<float> : RealRangeKey<float> {};
template <>
struct RangeKey<double> : RealRangeKey<double> {};
template <>
struct RangeKey<Decimal> {
  using Compared = Decimal;
  static absl::StatusOr<Compared> Of(Decimal key) { return key; }
  static absl::StatusOr<Compared> Moved(Compared key, const Value& by, bool down) {
    return down ? decimal::Subtract(key, by.as_decimal()) : decimal::Add(key, by.as_decimal());
  }
};
template <>
struct RangeKey<Interval> {
  using Compared = Interval;
  static absl::StatusOr<Compared> Of(Interval key) { return key; }
  static absl::StatusOr<Compared> Moved(Compared key, const Value& by, bool down) {
    ADJOIN_ASSIGN_OR_RETURN(const Interval distance, DistanceOf(by, down));
    return Add(key, distance);
  }
};
template <>
struct RangeKey<Timestamp> {
  using Compared = Timestamp;
  static absl::StatusOr<Compared> Of(Timestamp key) { return key; }
  static absl::StatusOr<Compared> Moved(Compared key, const Value& by, bool down) {
    ADJOIN_ASSIGN_OR_RETURN(const Interval distance, DistanceOf(by, down));
    return AddInterval(key, distance);
  }
};
template <>
struct RangeKey<Date> : RangeKey<Timestamp> {
  static absl::StatusOr<Compared> Of(Date key) { return TimestampOf(key); }
};

bool IsNegative(const Value& distance) {
  if (distance.is_int()) return distance.as_int() < 0;
  if (distance.is_float()) return !(distance.as_float() >= 0);
  if (distance.is_decimal()) return distance.as_decimal().coefficient() < 0;
  return distance.is_interval() && distance.as_interval().span() < 0;
}

}  // namespace

WindowPartition::WindowPartition(const OrderedRows& ordered, const SortCodes* order,
                                 std::pmr::memory_resource* memory)
    : rows_(ordered.rows), group_of_(memory), group_begin_(memory), ranges_(memory) {
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

// Keys that have no distance to others, NULL and NaN, stand at the ends of the order: the frames of
// the groups between them are found by going along once, as both ends of frames never go back.
template <typename T>
absl::Status WindowPartition::FindRangesOf(const WindowFrameSpec& spec, const Vector& key,
                                           bool descending) {
  using Key = RangeKey<T>;
  const auto* values = static_cast<const T*>(key.data);
  const auto is_number = [&](int64_t group) {
    const int64_t at = row_of_group(group);
    if (key.is_null(at)) return false;
    if constexpr (std::is_floating_point_v<T>) return !std::isnan(values[at]);
    return true;
  };
  int64_t low = 0, high = num_groups();
  while (low < high && !is_number(low)) ++low;
  while (low < high && !is_number(high - 1)) --high;
  const bool any_key =
      std::ranges::any_of(group_begin_.begin(), group_begin_.end() - 1,
                          [&](int64_t position) { return !key.is_null(row(position)); });
  if (any_key && (IsNegative(spec.start_distance) || IsNegative(spec.end_distance)))
    return SqlError("22013", "invalid preceding or following size in window function");
  std::pmr::vector<typename Key::Compared> keys(ranges_.get_allocator());
  for (int64_t group = low; group < high; ++group) {
    ADJOIN_ASSIGN_OR_RETURN(keys.emplace_back(), Key::Of(values[row_of_group(group)]));
  }
  const auto before = [&](const auto& a, const auto& b) { return descending ? b < a : a < b; };
  size_t first = 0, last = 0;
  for (int64_t group = low; group < high; ++group) {
    const auto& here = keys[static_cast<size_t>(group - low)];
    if (IsOffset(spec.start)) {
      const bool down = (spec.start == WindowFrameBound::kPreceding) != descending;
      ADJOIN_ASSIGN_OR_RETURN(const auto bound, Key::Moved(here, spec.start_distance, down));
      while (first < keys.size() && before(keys[first], bound)) ++first;
      ranges_[group].begin = group_begin_[low + static_cast<int64_t>(first)];
    }
    if (IsOffset(spec.end)) {
      const bool down = (spec.end == WindowFrameBound::kPreceding) != descending;
      ADJOIN_ASSIGN_OR_RETURN(const auto bound, Key::Moved(here, spec.end_distance, down));
      while (last < keys.size() && !before(bound, keys[last])) ++last;
      ranges_[group].end = group_begin_[low + static_cast<int64_t>(last)];
    }
  }
  return absl::OkStatus();
}

absl::Status WindowPartition::FindRanges(const WindowFrameSpec& spec, const Vector& key,
                                         bool descending) {
  // What a distance does not change: the frames of NULL and NaN, and ends without an offset.
  WindowFrameSpec by_peers = spec;
  if (IsOffset(spec.start)) by_peers.start = WindowFrameBound::kCurrentRow;
  if (IsOffset(spec.end)) by_peers.end = WindowFrameBound::kCurrentRow;
  std::pmr::vector<PositionRange> ranges(ranges_.get_allocator());
  for (int64_t group = 0; group < num_groups(); ++group)
    ranges.push_back(FrameOf(by_peers, group_begin_[group]));
  ranges_ = std::move(ranges);
  if (key.type == TypeId::kDate) return FindRangesOf<Date>(spec, key, descending);
  if (key.type == TypeId::kTimestamp) return FindRangesOf<Timestamp>(spec, key, descending);
  return WithElementType(key.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, uint8_t> && !std::is_same_v<T, std::string_view>)
      return FindRangesOf<T>(spec, key, descending);
    return absl::OkStatus();  // BOOLEAN and TEXT have no distances
  });
}

PositionRange WindowPartition::FrameOf(const WindowFrameSpec& spec, int64_t position) const {
  if (!ranges_.empty()) return ranges_[static_cast<size_t>(group(position))];
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
