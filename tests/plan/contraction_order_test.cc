// Orders of products are held against every order there is.
#include "plan/contraction_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <set>
#include <tuple>

namespace adjoin {
namespace {

using AxisSet = std::set<int>;
using Cost = std::pair<double, double>;  // multiplications, stored cells

AxisSet Union(const AxisSet& a, const AxisSet& b) {
  AxisSet out = a;
  out.insert(b.begin(), b.end());
  return out;
}

double Cells(const ProductSum& sum, const AxisSet& axes) {
  double cells = 1;
  for (int axis : axes) cells *= static_cast<double>(sum.extents[static_cast<size_t>(axis)]);
  return cells;
}

// Of `axes`, those that the result or any of the other operands has.
AxisSet Needed(const ProductSum& sum, const AxisSet& axes, const std::vector<AxisSet>& others) {
  AxisSet needed(sum.kept.begin(), sum.kept.end()), out;
  for (const AxisSet& other : others) needed = Union(needed, other);
  std::set_intersection(axes.begin(), axes.end(), needed.begin(), needed.end(),
                        std::inserter(out, out.end()));
  return out;
}

std::vector<AxisSet> FactorsOf(const ProductSum& sum) {
  std::vector<AxisSet> factors, out;
  for (const auto& axes : sum.factors) factors.emplace_back(axes.begin(), axes.end());
  for (size_t f = 0; f < factors.size(); ++f) {
    std::vector<AxisSet> others = factors;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(f));
    out.push_back(Needed(sum, factors[f], others));
  }
  return out;
}

// Multiplies operands i and j of what is left; what is left then, and what it cost.
Cost Multiply(const ProductSum& sum, size_t i, size_t j, std::vector<AxisSet>& left) {
  const AxisSet both = Union(left[i], left[j]);
  left.erase(left.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
  left.erase(left.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
  left.push_back(Needed(sum, both, left));
  return {Cells(sum, both), Cells(sum, left.back())};
}

Cost Best(const ProductSum& sum, const std::vector<AxisSet>& left) {
  if (left.size() == 1) return {0, 0};
  Cost best{HUGE_VAL, HUGE_VAL};
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t j = i + 1; j < left.size(); ++j) {
      std::vector<AxisSet> rest = left;
      const Cost own = Multiply(sum, i, j, rest), more = Best(sum, rest);
      best = std::min(best, Cost{own.first + more.first, own.second + more.second});
    }
  }
  return best;
}

// What the order costs; fails where it is none.
Cost CostOf(const ProductSum& sum, const std::vector<PairProduct>& order) {
  std::vector<AxisSet> left = FactorsOf(sum);
  std::vector<int> numbers(left.size());
  for (size_t f = 0; f < left.size(); ++f) numbers[f] = static_cast<int>(f);
  Cost cost{0, 0};
  for (const PairProduct& p : order) {
    const auto at = [&](int number) {
      const auto found = std::find(numbers.begin(), numbers.end(), number);
      EXPECT_NE(found, numbers.end()) << number << " was multiplied before";
      return static_cast<size_t>(found - numbers.begin());
    };
    const size_t i = at(p.left), j = at(p.right);
    const Cost own = Multiply(sum, i, j, left);
    numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
    numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
    numbers.push_back(static_cast<int>(sum.factors.size()) + static_cast<int>(&p - order.data()));
    EXPECT_EQ(AxisSet(p.axes.begin(), p.axes.end()), left.back());
    EXPECT_EQ(p.axes.size(), left.back().size());
    cost = {cost.first + own.first, cost.second + own.second};
  }
  EXPECT_EQ(numbers.size(), 1u);
  return cost;
}

ProductSum RandomSum(std::mt19937_64& random, size_t factors) {
  ProductSum sum;
  const int axes = 1 + static_cast<int>(random() % 6);
  for (int a = 0; a < axes; ++a) sum.extents.push_back(1 + static_cast<int64_t>(random() % 50));
  for (size_t f = 0; f < factors; ++f) {
    sum.factors.emplace_back();
    for (int a = 0; a < axes; ++a) {
      if (random() % 5 < 2) sum.factors.back().push_back(a);
    }
  }
  for (int a = 0; a < axes; ++a) {
    if (random() % 3 == 0) sum.kept.push_back(a);
  }
  return sum;
}

TEST(ContractionOrderTest, NoOrderIsCheaper) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 600; ++round) {
    const ProductSum sum = RandomSum(random, 2 + static_cast<size_t>(round % 5));
    EXPECT_EQ(CostOf(sum, OrderProducts(sum)), Best(sum, FactorsOf(sum))) << "round " << round;
  }
}

TEST(ContractionOrderTest, ManyFactorsAreOrderedToo) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 100; ++round) {
    const ProductSum sum = RandomSum(random, 11 + static_cast<size_t>(round % 20));
    CostOf(sum, OrderProducts(sum));
  }
  // A chain whose middle is wide: greedily from both narrow ends, never through the wide axes.
  ProductSum chain;
  for (int a = 0; a <= 12; ++a) chain.extents.push_back(a % 2 == 0 ? 2 : 1000);
  for (int f = 0; f < 12; ++f) chain.factors.push_back({f, f + 1});
  chain.kept = {0, 12};
  EXPECT_EQ(CostOf(chain, OrderProducts(chain)).first, 6 * 4000 + 5 * 8);
}

std::vector<std::pair<int, int>> Pairs(const std::vector<PairProduct>& order) {
  std::vector<std::pair<int, int>> out;
  for (const PairProduct& p : order) out.emplace_back(p.left, p.right);
  return out;
}

TEST(ContractionOrderTest, AMatrixChainEndsAtItsVector) {
  using Order = std::vector<std::pair<int, int>>;
  // A(500, 500) B(500, 500) v(500): A (B v), not (A B) v.
  ProductSum sum{{500, 500, 500}, {{0, 1}, {1, 2}, {2}}, {0}};
  EXPECT_EQ(Pairs(OrderProducts(sum)), (Order{{1, 2}, {0, 3}}));
  EXPECT_EQ(CostOf(sum, OrderProducts(sum)).first, 2 * 500 * 500);
  // u A B: from the left.
  sum = {{500, 500, 500}, {{0}, {0, 1}, {1, 2}}, {2}};
  EXPECT_EQ(Pairs(OrderProducts(sum)), (Order{{0, 1}, {3, 2}}));
  // Equal costs: the order of the text.
  sum = {{7, 7, 7, 7}, {{0, 1}, {1, 2}, {2, 3}}, {0, 3}};
  EXPECT_EQ(OrderProducts(sum)[0].axes, (std::vector<int>{0, 2}));
  EXPECT_EQ(Pairs(OrderProducts(sum)), (Order{{0, 1}, {3, 2}}));
}

}  // namespace
}  // namespace adjoin
