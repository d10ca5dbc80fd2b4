#include "plan/contraction_order.h"

#include <bit>
#include <cstddef>
#include <tuple>
#include <utility>

namespace adjoin {
namespace {

constexpr size_t kMostExact = 10;

using AxisSet = uint64_t;

AxisSet SetOf(const std::vector<int>& axes) {
  AxisSet set = 0;
  for (int axis : axes) set |= AxisSet{1} << axis;
  return set;
}

struct Operand {
  int number;  // as PairProduct counts
  AxisSet axes;
};

class Orderer {
 public:
  explicit Orderer(const ProductSum& sum) : sum_(sum), kept_(SetOf(sum.kept)) {}

  // Axes of one factor alone that are not kept count as summed already.
  std::vector<Operand> Factors() const {
    std::vector<Operand> out;
    for (size_t f = 0; f < sum_.factors.size(); ++f) {
      AxisSet needed = kept_;
      for (size_t other = 0; other < sum_.factors.size(); ++other) {
        if (other != f) needed |= SetOf(sum_.factors[other]);
      }
      out.push_back({static_cast<int>(f), SetOf(sum_.factors[f]) & needed});
    }
    return out;
  }

  double Cells(AxisSet axes) const {
    double cells = 1;
    for (; axes != 0; axes &= axes - 1)
      cells *= static_cast<double>(sum_.extents[static_cast<size_t>(std::countr_zero(axes))]);
    return cells;
  }

  Operand Multiply(const Operand& left, const Operand& right, AxisSet needed) {
    PairProduct product{left.number, right.number, {}};
    const AxisSet axes = (left.axes | right.axes) & needed;
    for (const AxisSet side : {axes & left.axes, axes & ~left.axes}) {
      for (int axis = 0; axis < static_cast<int>(sum_.extents.size()); ++axis) {
        if ((side >> axis & 1) != 0) product.axes.push_back(axis);
      }
    }
    products_.push_back(std::move(product));
    return {static_cast<int>(sum_.factors.size() + products_.size()) - 1, axes};
  }

  AxisSet kept() const { return kept_; }
  std::vector<PairProduct> Take() { return std::move(products_); }

 private:
  const ProductSum& sum_;
  AxisSet kept_;
  std::vector<PairProduct> products_;
};

// Over sets of factors, as bits: the best way to a set's product is the best split of it in two.
class ExactOrder {
 public:
  ExactOrder(Orderer& orderer, std::vector<Operand> factors)
      : orderer_(orderer), factors_(std::move(factors)), best_(size_t{1} << factors_.size()) {
    const size_t all = best_.size() - 1;
    std::vector<AxisSet> axes(best_.size(), 0);  // of any factor of the set
    for (size_t set = 1; set <= all; ++set)
      axes[set] = axes[set & (set - 1)] | factors_[static_cast<size_t>(std::countr_zero(set))].axes;
    for (size_t set = 1; set <= all; ++set) {
      Best& best = best_[set];
      best.needed = orderer_.kept() | axes[all & ~set];
      best.axes = axes[set] & best.needed;
      const size_t rest = set & (set - 1);  // the first factor stays on the left
      for (size_t right = rest; right != 0; right = (right - 1) & rest) {
        const Best &l = best_[set & ~right], &r = best_[right];
        const double multiplied = l.multiplied + r.multiplied + orderer_.Cells(l.axes | r.axes);
        const double stored = l.stored + r.stored + orderer_.Cells(best.axes);
        const int later = std::popcount(right);  // equal costs: as in the text, from the left
        if (best.right == 0 || std::tie(multiplied, stored, later) <
                                   std::tie(best.multiplied, best.stored, best.later)) {
          best.right = right;
          best.later = later;
          best.multiplied = multiplied;
          best.stored = stored;
        }
      }
    }
  }

  Operand Multiply(size_t set) {
    const Best& best = best_[set];
    if (best.right == 0) return factors_[static_cast<size_t>(std::countr_zero(set))];
    const Operand left = Multiply(set & ~best.right), right = Multiply(best.right);
    return orderer_.Multiply(left, right, best.needed);
  }
  size_t all() const { return best_.size() - 1; }

 private:
  struct Best {
    AxisSet needed = 0, axes = 0;
    size_t right = 0;  // the split; 0: one factor
    double multiplied = 0, stored = 0;
    int later = 0;
  };
  Orderer& orderer_;
  std::vector<Operand> factors_;
  std::vector<Best> best_;
};

void OrderGreedily(Orderer& orderer, std::vector<Operand> operands) {
  while (operands.size() > 1) {
    size_t left = 0, right = 0;
    AxisSet needed_by_rest = 0;
    std::tuple<double, double> least;
    for (size_t i = 0; i < operands.size(); ++i) {
      for (size_t j = i + 1; j < operands.size(); ++j) {
        AxisSet needed = orderer.kept();
        for (size_t k = 0; k < operands.size(); ++k) {
          if (k != i && k != j) needed |= operands[k].axes;
        }
        const AxisSet both = operands[i].axes | operands[j].axes;
        const std::tuple grown{orderer.Cells(both & needed) - orderer.Cells(operands[i].axes) -
                                   orderer.Cells(operands[j].axes),
                               orderer.Cells(both)};
        if (right == 0 || grown < least) {
          left = i, right = j;
          least = grown;
          needed_by_rest = needed;
        }
      }
    }
    operands[left] = orderer.Multiply(operands[left], operands[right], needed_by_rest);
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(right));
  }
}

}  // namespace

std::vector<PairProduct> OrderProducts(const ProductSum& sum) {
  Orderer orderer(sum);
  if (sum.factors.size() <= kMostExact) {
    ExactOrder order(orderer, orderer.Factors());
    order.Multiply(order.all());
  } else {
    OrderGreedily(orderer, orderer.Factors());
  }
  return orderer.Take();
}

}  // namespace adjoin
