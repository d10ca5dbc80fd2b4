// The process-wide count that table versions come from.
#pragma once

#include <cstdint>

namespace adjoin {

// Never gives a number twice. Thread-safe.
uint64_t NextTableVersion();

}  // namespace adjoin
