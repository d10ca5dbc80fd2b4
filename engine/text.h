// Debian's Abseil is built with a string_view of its own; std's must be handed to it by name.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/strings/string_view.h"

namespace adjoin {

inline absl::string_view ToAbsl(std::string_view s) {
  return absl::string_view(s.data(), s.size());
}
inline std::string_view ToStd(absl::string_view s) { return std::string_view(s.data(), s.size()); }

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Whether a byte of UTF-8 is a character's second or later one.
inline bool ContinuesCharacter(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

}  // namespace adjoin
