// A product that leaves out a staircase has the bits of the whole one, in each role that the
// staircase's axes can play.
#include "ops/array_contract.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/status.h"
#include "gtest/gtest.h"

namespace adjoin {
namespace {

constexpr int64_t kBatch = 2, kRows = 300, kOther = 530, kFree = 19;

struct Operands {
  std::vector<double> a, b, c;
  bool skips = false;
};

// Axes: 0 the batch, 1 and 2 those of the staircase, 3 free or summed.
absl::Status Multiply(const std::vector<ContractAxis>& axes, const Staircase& stairs, bool checked,
                      Operands& run) {
  ContractStep::Mask mask;
  mask.present = checked;
  mask.checked = {1, 0};
  mask.checked_cells = std::ssize(run.b);
  const ContractStep step(TypeId::kFloat64, axes, {0, 0}, {1, 0}, {2, 0}, mask, stairs, "test");
  run.skips = step.Describe().find("staircase") != std::string::npos;
  RunState state;
  state.bases = {reinterpret_cast<std::byte*>(run.a.data()),
                 reinterpret_cast<std::byte*>(run.b.data()),
                 reinterpret_cast<std::byte*>(run.c.data())};
  ADJOIN_ASSIGN_OR_RETURN(state.scratch,
                          Buffer::Allocate(step.scratch_bytes(), std::make_shared<MemoryBudget>()));
  return step.Run(state);
}

std::vector<double> Normal(int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<size_t>(n));
  for (double& value : values) value = normal(random);
  return values;
}

// Row i of kRows takes part with the first Ends(i) of kOther.
int64_t Ends(int64_t i) { return i < 5 ? 0 : i < 100 ? i / 2 : std::min<int64_t>(kOther, 2 * i); }
Staircase Stairs(bool turned) {
  Staircase stairs{turned ? 2 : 1, turned ? 1 : 2, {}};
  for (int64_t i = 0; i < kRows; ++i) stairs.ends.push_back(Ends(i));
  return stairs;
}
bool SameBits(double x, double y) { return std::memcmp(&x, &y, sizeof(x)) == 0; }

class StaircaseTest : public testing::TestWithParam<std::tuple<bool, bool>> {};

// Both axes are kept: c(batch, x, y) of a(batch, x, f) and b(batch, y, f), or the other way round.
TEST_P(StaircaseTest, LeavesOutCells) {
  const auto [turned, swapped] = GetParam();
  const int64_t x = turned ? kOther : kRows, y = turned ? kRows : kOther;
  std::vector<ContractAxis> axes = {{kBatch, x * kFree, y * kFree, x * y, true, true, false},
                                    {x, kFree, 0, y, true, false, false},
                                    {y, 0, kFree, 1, false, true, false},
                                    {kFree, 1, 1, 0, true, true, true}};
  Operands part{Normal(kBatch * x * kFree, 1), Normal(kBatch * y * kFree, 2), {}};
  if (swapped) {
    std::swap(part.a, part.b);
    for (ContractAxis& axis : axes) std::swap(axis.a, axis.b), std::swap(axis.in_a, axis.in_b);
  }
  part.c.assign(static_cast<size_t>(kBatch * x * y), std::nan(""));
  Operands whole = part;
  ASSERT_TRUE(Multiply(axes, Stairs(turned), false, part).ok());
  ASSERT_TRUE(Multiply(axes, {}, false, whole).ok());
  EXPECT_TRUE(part.skips);
  for (int64_t cell = 0; cell < std::ssize(whole.c); ++cell) {
    const int64_t i = cell / y % x, j = cell % y;
    const double value = part.c[static_cast<size_t>(cell)];
    if (turned ? i < Ends(j) : j < Ends(i)) {
      ASSERT_TRUE(SameBits(value, whole.c[static_cast<size_t>(cell)])) << i << "," << j;
    } else {
      ASSERT_TRUE(std::isfinite(value)) << i << "," << j;
    }
  }
}

// One is summed: c(batch, x, f) of a(batch, x, y), zero outside, and b(batch, y, f).
TEST_P(StaircaseTest, LeavesOutTerms) {
  const auto [turned, swapped] = GetParam();
  const int64_t x = turned ? kOther : kRows, y = turned ? kRows : kOther;
  std::vector<ContractAxis> axes = {{kBatch, x * y, y * kFree, x * kFree, true, true, false},
                                    {x, y, 0, kFree, true, false, false},
                                    {y, 1, kFree, 0, true, true, true},
                                    {kFree, 0, 1, 1, false, true, false}};
  Operands part{Normal(kBatch * x * y, 1), Normal(kBatch * y * kFree, 2), {}};
  for (int64_t cell = 0; cell < std::ssize(part.a); ++cell) {
    const int64_t i = cell / y % x, j = cell % y;
    if (!(turned ? i < Ends(j) : j < Ends(i))) part.a[static_cast<size_t>(cell)] = 0;
  }
  if (swapped) {
    std::swap(part.a, part.b);
    for (ContractAxis& axis : axes) std::swap(axis.a, axis.b), std::swap(axis.in_a, axis.in_b);
  }
  part.c.assign(static_cast<size_t>(kBatch * x * kFree), std::nan(""));
  Operands whole = part;
  ASSERT_TRUE(Multiply(axes, Stairs(turned), true, part).ok());
  ASSERT_TRUE(Multiply(axes, {}, false, whole).ok());
  EXPECT_TRUE(part.skips);
  for (size_t cell = 0; cell < whole.c.size(); ++cell) {
    ASSERT_TRUE(SameBits(part.c[cell], whole.c[cell])) << cell;
  }
  if (swapped) return;  // the factor that is checked is b
  // An infinity reaches the cells of the staircase alone.
  part.b[static_cast<size_t>((y - 1) * kFree)] = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(Multiply(axes, Stairs(turned), true, part).ok());
  for (int64_t i = 0; i < x; ++i) {
    const bool takes_part = turned ? i < Ends(y - 1) : y - 1 < Ends(i);
    EXPECT_EQ(std::isfinite(part.c[static_cast<size_t>(i * kFree)]), !takes_part) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, StaircaseTest, testing::Combine(testing::Bool(), testing::Bool()));

}  // namespace
}  // namespace adjoin
