// Debian's Abseil is built with a string_view of its own; std's must be handed to it by name.
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace adjoin {

inline absl::string_view ToAbsl(std::string_view s) {
  return absl::string_view(s.data(), s.size());
}
inline std::string_view ToStd(absl::string_view s) { return std::string_view(s.data(), s.size()); }

}  // namespace adjoin
