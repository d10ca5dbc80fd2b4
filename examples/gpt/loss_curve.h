// The course of a training, as CSV and as a picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace gpt {

struct CurvePoint {
  int64_t step;
  double train_loss, valid_loss;
};

// `step,train_loss,valid_loss`, one line a point. Errors: Unavailable for a file that cannot be
// written, here and below.
absl::Status WriteCurveCsv(const std::vector<CurvePoint>& curve, const std::string& path);

// Both losses over the steps as an SVG picture of two lines. REQUIRES: a point at least.
absl::Status WriteCurveSvg(const std::vector<CurvePoint>& curve, const std::string& path);

}  // namespace gpt
