// SUM((x - mean of x) * (y - mean of y)) without cancellation.
#pragma once

#include <cstdint>

namespace adjoin {

// The means are kept up to date with each pair (Welford 1962), and partial results are merged as
// Chan, Golub and LeVeque (1979) do: values near 1e9 keep their digits.
class CentredSum {
 public:
  void Add(double x, double y) {
    ++count_;
    const double weight = 1.0 / static_cast<double>(count_);
    const double dx = x - mean_x_;
    mean_x_ += dx * weight;
    mean_y_ += (y - mean_y_) * weight;
    sum_ += dx * (y - mean_y_);
  }
  void Add(const CentredSum& other) {
    if (other.count_ == 0) return;
    if (count_ == 0) {
      *this = other;
      return;
    }
    const auto mine = static_cast<double>(count_);
    const auto others = static_cast<double>(other.count_);
    const double share = others / (mine + others);
    const double dx = other.mean_x_ - mean_x_;
    const double dy = other.mean_y_ - mean_y_;
    sum_ += other.sum_ + dx * dy * mine * share;
    mean_x_ += dx * share;
    mean_y_ += dy * share;
    count_ += other.count_;
  }
  int64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  int64_t count_ = 0;
  double mean_x_ = 0, mean_y_ = 0, sum_ = 0;
};

// The same of a value with itself, bit by bit.
class CentredSquares {
 public:
  void Add(double x) {
    ++count_;
    const double dx = x - mean_;
    mean_ += dx * (1.0 / static_cast<double>(count_));
    sum_ += dx * (x - mean_);
  }
  void Add(const CentredSquares& other) {
    if (other.count_ == 0) return;
    if (count_ == 0) {
      *this = other;
      return;
    }
    const auto mine = static_cast<double>(count_);
    const auto others = static_cast<double>(other.count_);
    const double share = others / (mine + others);
    const double dx = other.mean_ - mean_;
    sum_ += other.sum_ + dx * dx * mine * share;
    mean_ += dx * share;
    count_ += other.count_;
  }
  int64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  int64_t count_ = 0;
  double mean_ = 0, sum_ = 0;
};

}  // namespace adjoin
