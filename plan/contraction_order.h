// The order in which a product of many factors, summed over some axes, is taken two at a time.
#pragma once

#include <cstdint>
#include <vector>

namespace adjoin {

// SUM over the axes not kept of the product of the factors, each an array over its own axes.
// REQUIRES: at most 64 axes.
struct ProductSum {
  std::vector<int64_t> extents;           // of each axis
  std::vector<std::vector<int>> factors;  // the axes of each
  std::vector<int> kept;
};

// The product of two operands, summed over the axes that neither the rest nor the result has.
// Operands are numbered: the factors, then the products in their order.
struct PairProduct {
  int left, right;
  std::vector<int> axes;  // of the product: the left's, then those of the right alone
};

// One product fewer than factors, the last being the whole: those with the fewest multiplications
// in all, and of these with the fewest stored cells, by dynamic programming up to 10 factors
// (3^10 splits, 0.4 ms); beyond, always the pair that stores the fewest cells more than it frees.
// Follows from axes and extents alone. REQUIRES: two factors or more.
std::vector<PairProduct> OrderProducts(const ProductSum& sum);

}  // namespace adjoin
