// SUM((x - mean of x) * (y - mean of y)) without cancellation.
#pragma once

#include <array>
#include <cstdint>

namespace adjoin {

// 1 / n. A division a row and sum was a third of h2o q9.
inline double Reciprocal(int64_t n) {
  static constexpr auto kReciprocals = [] {
    std::array<double, 1024> reciprocals = {};
    for (size_t i = 1; i < reciprocals.size(); ++i) reciprocals[i] = 1.0 / static_cast<double>(i);
    return reciprocals;
  }();
  return n < std::ssize(kReciprocals) ? kReciprocals[static_cast<size_t>(n)]
                                      : 1.0 / static_cast<double>(n);
}

// Of two values, x and y, or of one that is both. The means are kept up to date with each (Welford
// 1962), and partial results are merged as Chan, Golub and LeVeque (1979) do: values near 1e9 keep
// their digits.
template <size_t kValues>
class CentredSumOf {
 public:
  void Add(const std::array<double, kValues>& values) {
    ++count_;
    const double weight = Reciprocal(count_);
    const double dx = values[0] - means_[0];
    for (size_t i = 0; i < kValues; ++i) means_[i] += (values[i] - means_[i]) * weight;
    sum_ += dx * (values[kValues - 1] - means_[kValues - 1]);
  }
  void Add(const CentredSumOf& other) {
    if (other.count_ == 0) return;
    if (count_ == 0) {
      *this = other;
      return;
    }
    const auto mine = static_cast<double>(count_);
    const auto others = static_cast<double>(other.count_);
    const double share = others / (mine + others);
    std::array<double, kValues> d;
    for (size_t i = 0; i < kValues; ++i) d[i] = other.means_[i] - means_[i];
    sum_ += other.sum_ + d[0] * d[kValues - 1] * mine * share;
    for (size_t i = 0; i < kValues; ++i) means_[i] += d[i] * share;
    count_ += other.count_;
  }
  int64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  int64_t count_ = 0;
  std::array<double, kValues> means_ = {};
  double sum_ = 0;
};
using CentredSum = CentredSumOf<2>;
using CentredSquares = CentredSumOf<1>;  // the bits of CentredSum of the same value twice

}  // namespace adjoin
