#include "ops/window_needs.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/status.h"
#include "ops/column_access.h"

namespace adjoin {
namespace {

// Which aggregate a window function is; none for what reads positions.
std::optional<AggregateKind> AggregateOf(WindowKind kind) {
  switch (kind) {
    case WindowKind::kCountStar:
      return AggregateKind::kCountStar;
    case WindowKind::kCount:
      return AggregateKind::kCount;
    case WindowKind::kSum:
      return AggregateKind::kSum;
    case WindowKind::kAvg:
      return AggregateKind::kAvg;
    case WindowKind::kMin:
      return AggregateKind::kMin;
    case WindowKind::kMax:
      return AggregateKind::kMax;
    case WindowKind::kBoolAnd:
      return AggregateKind::kBoolAnd;
    case WindowKind::kBoolOr:
      return AggregateKind::kBoolOr;
    case WindowKind::kComoment:
      return AggregateKind::kComoment;
    default:
      return std::nullopt;
  }
}

bool ReadsFrame(WindowKind kind) {
  return AggregateOf(kind).has_value() || kind == WindowKind::kStringAgg ||
         kind == WindowKind::kFirstValue || kind == WindowKind::kLastValue ||
         kind == WindowKind::kNthValue;
}

}  // namespace

bool IsAggregate(WindowKind kind) { return AggregateOf(kind).has_value(); }

bool IsGroupBy(const WindowStepSpec& spec) {
  return spec.num_order == 0 && IsWholePartition(spec.frame, /*one_peer_group=*/true) &&
         std::all_of(spec.calls.begin(), spec.calls.end(),
                     [](const auto& call) { return AggregateOf(call.kind).has_value(); });
}

absl::StatusOr<ColumnRef> AggregatePartitions(const WindowCallSpec& call,
                                              std::span<const int64_t> ids, int64_t partitions,
                                              std::span<const Vector> exprs,
                                              std::pmr::memory_resource* memory,
                                              const std::shared_ptr<MemoryBudget>& budget) {
  const auto rows = static_cast<int64_t>(ids.size());
  std::vector<Vector> args;
  for (int arg : {call.arg, call.second}) {
    if (arg >= 0) args.push_back(exprs[arg]);
  }
  std::pmr::vector<uint8_t> take(memory);
  if (call.filter >= 0) {
    const Vector& filter = exprs[call.filter];
    take.resize(static_cast<size_t>(rows));
    for (int64_t r = 0; r < rows; ++r)
      take[r] = !filter.is_null(r) && filter.as<uint8_t>()[r] != 0 ? 1 : 0;
  }
  const auto accumulator = MakeAccumulator(
      *AggregateOf(call.kind), args.empty() ? TypeId::kInt64 : args[0].type, call.result);
  accumulator->Resize(partitions);
  accumulator->Update(args, take.empty() ? nullptr : take.data(), ids.data(), rows);
  BatchArena arena;
  ADJOIN_ASSIGN_OR_RETURN(const Vector values, accumulator->Result(0, partitions, arena));
  return MakeColumn(values, partitions, budget);
}

bool NeedsPeers(const WindowStepSpec& spec) {
  const WindowFrameShape& frame = spec.frame;
  const bool whole = IsWholePartition(frame, /*one_peer_group=*/false);
  const bool frame_does = (!whole && frame.mode != WindowFrameMode::kRows) ||
                          frame.exclusion != WindowFrameExclusion::kNone;
  return std::any_of(spec.calls.begin(), spec.calls.end(), [&](const WindowCallSpec& call) {
    return call.kind == WindowKind::kRank || call.kind == WindowKind::kDenseRank ||
           call.kind == WindowKind::kPercentRank || call.kind == WindowKind::kCumeDist ||
           (frame_does && ReadsFrame(call.kind));
  });
}

bool NeedsRanges(const WindowStepSpec& spec) {
  return IsByDistance(spec.frame) &&
         std::ranges::any_of(spec.calls, [](const auto& call) { return ReadsFrame(call.kind); });
}

}  // namespace adjoin
