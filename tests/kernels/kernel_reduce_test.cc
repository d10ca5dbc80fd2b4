// Reductions and moves on every variant: sums to rounding error and the same bits in all variants,
// the rest exactly.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/kernels/kernel_testing.h"

namespace adjoin {
namespace {

std::vector<int64_t> ReduceSizes() {
  std::vector<int64_t> sizes = TestSizes();
  for (int64_t n : {2047, 2048, 2049, 3000, 4096, 5000, 8192, 9001, 20000, 33333, 65536}) {
    sizes.push_back(n);
  }
  return sizes;
}

template <typename T>
std::vector<T> Plain(int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(n);
  for (T& value : values) value = static_cast<T>(normal(random));
  return values;
}

template <typename T>
class ReduceTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ReduceTest, Types);

TYPED_TEST(ReduceTest, SumAndDotAreAccurateAndTheSameOnAllVariants) {
  using T = TypeParam;
  for (int64_t n : ReduceSizes()) {
    Unaligned<T> x(Plain<T>(n, n)), y(Plain<T>(n, n + 1), 3);
    long double sum = 0, sum_size = 0, dot = 0, dot_size = 0;
    for (int64_t i = 0; i < n; ++i) {
      const long double a = x.data()[i], b = y.data()[i];
      sum += a;
      sum_size += std::fabs(a);
      dot += a * b;
      dot_size += std::fabs(a * b);
    }
    const ReduceKernels<T>& portable = SupportedKernels()[0]->reduce<T>();
    const T first_sum = portable.sum(x.data(), n), first_dot = portable.dot(x.data(), y.data(), n);
    // A chain is at most 1024 / 16 + 4 + log2(blocks) additions long.
    const long double bound = 80 * std::numeric_limits<T>::epsilon();
    EXPECT_LE(std::fabs(first_sum - sum), bound * sum_size);
    EXPECT_LE(std::fabs(first_dot - dot), bound * dot_size);
    for (const KernelTable* table : SupportedKernels()) {
      EXPECT_TRUE(SameBits(table->reduce<T>().sum(x.data(), n), first_sum)) << table->isa << n;
      EXPECT_TRUE(SameBits(table->reduce<T>().dot(x.data(), y.data(), n), first_dot))
          << table->isa << n;
    }
  }
}

// The order that the header fixes, written out.
TYPED_TEST(ReduceTest, SumFollowsTheDocumentedOrder) {
  using T = TypeParam;
  const int64_t n = 5 * 1024 + 37;
  const std::vector<T> x = Plain<T>(n, 3);
  const auto pairwise = [](std::vector<T> v) {
    while (v.size() > 1) {
      std::vector<T> half;
      for (size_t i = 0; i + 1 < v.size(); i += 2) half.push_back(v[i] + v[i + 1]);
      if (v.size() % 2 == 1) half.push_back(v.back());
      v = half;
    }
    return v[0];
  };
  std::vector<T> blocks;
  for (int64_t begin = 0; begin < n; begin += 1024) {
    std::vector<T> lanes(16, T(0));
    for (int64_t i = begin; i < std::min(n, begin + 1024); ++i) lanes[(i - begin) % 16] += x[i];
    blocks.push_back(pairwise(lanes));
  }
  for (const KernelTable* table : SupportedKernels()) {
    EXPECT_TRUE(SameBits(table->reduce<T>().sum(x.data(), n), pairwise(blocks))) << table->isa;
  }
}

TYPED_TEST(ReduceTest, ExtremesFollowSqlOrder) {
  using T = TypeParam;
  for (int64_t n : ReduceSizes()) {
    if (n == 0) continue;
    for (bool with_specials : {false, true}) {
      Unaligned<T> x(with_specials ? TestValues<T>(n, n) : Plain<T>(n, n));
      T largest = x.data()[0], smallest = largest;
      const auto less = [](T a, T b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
      for (int64_t i = 1; i < n; ++i) {
        if (less(largest, x.data()[i])) largest = x.data()[i];
        if (less(x.data()[i], smallest)) smallest = x.data()[i];
      }
      const ReduceKernels<T>& portable = SupportedKernels()[0]->reduce<T>();
      for (const KernelTable* table : SupportedKernels()) {
        const T max = table->reduce<T>().max(x.data(), n),
                min = table->reduce<T>().min(x.data(), n);
        EXPECT_TRUE(max == largest || (std::isnan(max) && std::isnan(largest))) << table->isa;
        EXPECT_TRUE(min == smallest || (std::isnan(min) && std::isnan(smallest))) << table->isa;
        EXPECT_TRUE(SameBits(max, portable.max(x.data(), n)) &&
                    SameBits(min, portable.min(x.data(), n)));
      }
    }
  }
}

TYPED_TEST(ReduceTest, MovesAndAccumulationAreExact) {
  using T = TypeParam;
  for (const KernelTable* table : SupportedKernels()) {
    const ReduceKernels<T>& kernels = table->reduce<T>();
    for (int64_t n : TestSizes()) {
      const std::vector<T> a = Plain<T>(n, 1), b = Plain<T>(n, 2);
      const std::vector<T> wide = Plain<T>(3 * n + 1, 3);
      Unaligned<T> x(a), sum(b), largest(b), smallest(b), filled(b), strided(b), gathered(b);
      kernels.add_to(x.data(), sum.data(), n);
      kernels.max_to(x.data(), largest.data(), n);
      kernels.min_to(x.data(), smallest.data(), n);
      kernels.fill(T(2.5), filled.data(), n);
      kernels.load_strided(wide.data(), 3, strided.data(), n);
      std::vector<int64_t> index(n);
      for (int64_t i = 0; i < n; ++i) index[i] = (i * 7919) % (n / 2 + 1);
      kernels.gather(wide.data(), index.data(), gathered.data(), n);
      std::vector<T> scattered(n, T(1)), expected(n, T(1));
      kernels.scatter_add(index.data(), a.data(), scattered.data(), n);
      for (int64_t i = 0; i < n; ++i) expected[index[i]] += a[i];
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(sum.data()[i], b[i] + a[i]);
        EXPECT_EQ(largest.data()[i], std::max(a[i], b[i]));
        EXPECT_EQ(smallest.data()[i], std::min(a[i], b[i]));
        EXPECT_EQ(filled.data()[i], T(2.5));
        EXPECT_EQ(strided.data()[i], wide[3 * i]);
        EXPECT_EQ(gathered.data()[i], wide[index[i]]);
      }
      EXPECT_EQ(scattered, expected);
      EXPECT_TRUE(sum.Intact() && filled.Intact() && strided.Intact() && gathered.Intact());
    }
  }
}

TEST(SumF32AsF64Test, IsTheSumInDouble) {
  for (int64_t n : ReduceSizes()) {
    Unaligned<float> x(Plain<float>(n, n));
    std::vector<double> wide(x.data(), x.data() + n);
    const double expected = SupportedKernels()[0]->f64.sum(wide.data(), n);
    for (const KernelTable* table : SupportedKernels()) {
      EXPECT_TRUE(SameBits(table->sum_f32_as_f64(x.data(), n), expected)) << table->isa << n;
    }
  }
}

TEST(HashTest, IsTheSameOnAllVariantsAndSpreads) {
  const int64_t n = 4099;
  std::vector<uint64_t> keys(n);
  std::iota(keys.begin(), keys.end(), 0);
  std::vector<uint64_t> expected(n);
  SupportedKernels()[0]->hash_u64(keys.data(), false, expected.data(), n);
  std::set<uint64_t> low, high;
  for (uint64_t hash : expected) {
    low.insert(hash & 0xffff);
    high.insert(hash >> 48);
  }
  // 4099 random draws of 65536 leave about 3974 different ones.
  EXPECT_GT(low.size(), 3900u);
  EXPECT_GT(high.size(), 3900u);
  std::vector<uint64_t> combined = expected;
  SupportedKernels()[0]->hash_u64(keys.data(), true, combined.data(), n);
  EXPECT_NE(combined, expected);
  EXPECT_EQ(std::set<uint64_t>(combined.begin(), combined.end()).size(), static_cast<size_t>(n));
  for (const KernelTable* table : SupportedKernels()) {
    std::vector<uint64_t> out(n);
    table->hash_u64(keys.data(), false, out.data(), n);
    EXPECT_EQ(out, expected) << table->isa;
    table->hash_u64(keys.data(), true, out.data(), n);
    EXPECT_EQ(out, combined) << table->isa;
  }
}

}  // namespace
}  // namespace adjoin
