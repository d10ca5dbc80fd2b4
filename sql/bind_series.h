// generate_series in FROM.
#pragma once

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// One column: integers, or NUMERICs or timestamps, whose values are computed from their numbers.
absl::StatusOr<NodeRef> BindSeries(BindState& state, const Json& call, Level& level);

}  // namespace adjoin
