// A column's validity bitmap as one byte a cell, as array programs compute with it.
#pragma once

#include <string>
#include <utility>

#include "ops/row_program.h"

namespace adjoin {

class UnpackValidity final : public Step {
 public:
  UnpackValidity(ArrayAddress bitmap, int64_t cells, ArrayAddress out, std::string label)
      : bitmap_(bitmap), cells_(cells), out_(out), label_(std::move(label)) {}
  absl::Status Run(RunState& state) const override {
    // A column without NULLs has no bitmap.
    const std::byte* base = state.bases[static_cast<size_t>(bitmap_.base)];
    auto* out = reinterpret_cast<uint8_t*>(out_.In(state));
    const auto* bits = reinterpret_cast<const uint8_t*>(base);
    for (int64_t i = 0; i < cells_; ++i)
      out[i] = bits == nullptr ? 1 : (bits[i >> 3] >> (i & 7)) & 1;
    return absl::OkStatus();
  }
  std::string Describe() const override { return label_; }

 private:
  ArrayAddress bitmap_;
  int64_t cells_;
  ArrayAddress out_;
  std::string label_;
};

}  // namespace adjoin
