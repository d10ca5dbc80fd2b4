// The room that gemm.simd.cc needs for packed tiles, enough for every variant.
#include <algorithm>

#include "kernels/kernel_table.h"

namespace adjoin {

int64_t GemmScratchBytes(int64_t m, int64_t n, int64_t k, int64_t element_bytes) {
  constexpr int64_t kBlockM = 128, kBlockN = 1024, kMaxTileColumns = 64;
  // The operands may swap roles, so both bounds cover both.
  const int64_t longer = std::max(m, n);
  const int64_t depth = std::clamp<int64_t>(k, 1, kGemmBlockK);
  const int64_t columns = std::min(longer, kBlockN) + kMaxTileColumns;
  const int64_t rows = std::min(longer, kBlockM);
  return (columns + rows) * depth * element_bytes + 64;
}

}  // namespace adjoin
