#include "ops/functions.h"

namespace adjoin {

bool IsByDistance(const WindowFrameShape& frame) {
  return frame.mode == WindowFrameMode::kRange && (IsOffset(frame.start) || IsOffset(frame.end));
}

bool IsWholePartition(const WindowFrameShape& frame, bool one_peer_group) {
  const bool by_peers = one_peer_group && frame.mode != WindowFrameMode::kRows;
  const auto reaches = [&](WindowFrameBound bound, WindowFrameBound all) {
    return bound == all || (by_peers && bound == WindowFrameBound::kCurrentRow);
  };
  return frame.exclusion == WindowFrameExclusion::kNone &&
         reaches(frame.start, WindowFrameBound::kUnboundedPreceding) &&
         reaches(frame.end, WindowFrameBound::kUnboundedFollowing);
}

}  // namespace adjoin
