// The aggregate and window functions and the frames of windows: one list, for plans and for what
// runs them.
#pragma once

#include <cstdint>

namespace adjoin {

enum class AggregateKind : uint8_t {
  kCountStar,
  kCount,
  kSum,
  kAvg,
  kMin,
  kMax,
  kBoolAnd,
  kBoolOr,
  // SUM((arg - its mean) * (second - its mean)) over the rows where neither is NULL, both DOUBLE
  // PRECISION: what VARIANCE, STDDEV, COVAR, CORR and REGR are made of.
  kComoment,
  kStringAgg,  // the texts of arg in row order, each but the first after its `second` (NULL:
               // nothing)
  // The value at the share `second` (a constant) of the way from the first of arg's values to the
  // last, between two in proportion; both DOUBLE PRECISION. Up: the least is first.
  kPercentileUp,
  kPercentileDown,
};
constexpr bool IsPercentile(AggregateKind kind) {
  return kind == AggregateKind::kPercentileUp || kind == AggregateKind::kPercentileDown;
}

enum class WindowKind : uint8_t {
  kCountStar,
  kCount,
  kSum,
  kAvg,
  kMin,
  kMax,
  kRowNumber,
  kRank,
  kDenseRank,
  kLag,
  kLead,
  kFirstValue,
  kLastValue,
  kBoolAnd,
  kBoolOr,
  kComoment,
  kStringAgg,
  kPercentRank,
  kCumeDist,
  kNtile,
  kNthValue
};

enum class WindowFrameMode : uint8_t { kRows, kRange, kGroups };
enum class WindowFrameBound : uint8_t {
  kUnboundedPreceding,
  kPreceding,
  kCurrentRow,
  kFollowing,
  kUnboundedFollowing
};
enum class WindowFrameExclusion : uint8_t { kNone, kCurrentRow, kGroup, kTies };

constexpr bool IsOffset(WindowFrameBound bound) {
  return bound == WindowFrameBound::kPreceding || bound == WindowFrameBound::kFollowing;
}

// A frame but for its offsets.
struct WindowFrameShape {
  WindowFrameMode mode = WindowFrameMode::kRange;
  WindowFrameBound start = WindowFrameBound::kUnboundedPreceding;
  WindowFrameBound end = WindowFrameBound::kCurrentRow;
  WindowFrameExclusion exclusion = WindowFrameExclusion::kNone;
  friend bool operator==(const WindowFrameShape&, const WindowFrameShape&) = default;
};

// Whether a bound is a distance along the order.
bool IsByDistance(const WindowFrameShape& frame);

// Whether every row's frame is its whole partition. `one_peer_group`: all of its rows are peers, as
// they are without an order.
bool IsWholePartition(const WindowFrameShape& frame, bool one_peer_group);

}  // namespace adjoin
