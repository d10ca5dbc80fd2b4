// A product that leaves out a staircase has the bits of the whole one, in each role that the
// staircase's axes can play.
#include "ops/array_contract.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "gtest/gtest.h"

namespace adjoin {
namespace {

constexpr int64_t kBatch = 2, kRows = 300, kOther = 530, kFree = 19;

struct Operands {
  std::vector<double> a, b, c, addend = {};
  double scale = 1;
  bool adds = false;  // `addend`
  bool skips = false;
  int tiled = -1;  // the axis
  int64_t tile = 0;
  bool checked_by_tile = false;
};

// Axes: 0 the batch, 1 and 2 those of the staircase, 3 free or summed.
absl::Status Multiply(const std::vector<ContractAxis>& axes, const Staircase& stairs, bool checked,
                      Operands& run) {
  ContractStep::Mask mask;
  mask.present = checked;
  mask.checked = {1, 0};
  mask.checked_cells = std::ssize(run.b);
  mask.checked_by_tile = run.checked_by_tile;
  const ContractStep step(0, TypeId::kFloat64, axes,
                          {{{0, 0}, {1, 0}, {2, 0}, run.scale, run.adds, {3, 0}}},
                          ContractStep::Stack::kEach, mask, stairs, run.tiled, "test");
  run.skips = step.Describe().find("staircase") != std::string::npos;
  RunState state;
  state.bases = {
      reinterpret_cast<std::byte*>(run.a.data()), reinterpret_cast<std::byte*>(run.b.data()),
      reinterpret_cast<std::byte*>(run.c.data()), reinterpret_cast<std::byte*>(run.addend.data())};
  ADJOIN_ASSIGN_OR_RETURN(state.scratch,
                          Buffer::Allocate(step.scratch_bytes(), std::make_shared<MemoryBudget>()));
  state.step_states.resize(1);
  ADJOIN_RETURN_IF_ERROR(step.Prepare(state));
  if (run.tiled < 0) return step.Run(state);
  const int64_t extent = axes[static_cast<size_t>(run.tiled)].extent;
  for (int64_t first = 0; first < extent; first += run.tile)
    step.RunTile(state, first, std::min(first + run.tile, extent));
  return absl::OkStatus();
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

// Tile by tile a product has the bits of the whole one where the tiled axis is kept, and its cells
// up to rounding where it is summed; with a staircase as without.
struct TiledCase {
  const char* name;
  int tiled;
  bool summed_stairs;  // the staircase's second axis is summed
  bool has_batch;
};
class TilesTest : public testing::TestWithParam<std::tuple<TiledCase, bool, bool, int64_t>> {};

TEST_P(TilesTest, AddUpToTheWhole) {
  const auto& [tiled, swapped, with_stairs, tile] = GetParam();
  const int64_t batch = tiled.has_batch ? kBatch : 1, x = kRows, y = kOther;
  std::vector<ContractAxis> axes;
  Operands part;
  if (tiled.summed_stairs) {
    axes = {{batch, x * y, y * kFree, x * kFree, true, true, false},
            {x, y, 0, kFree, true, false, false},
            {kFree, 0, 1, 1, false, true, false},
            {y, 1, kFree, 0, true, true, true}};
    part.a = Normal(batch * x * y, 1), part.b = Normal(batch * y * kFree, 2);
    part.c.assign(static_cast<size_t>(batch * x * kFree), std::nan(""));
    for (int64_t cell = 0; with_stairs && cell < std::ssize(part.a); ++cell) {
      if (cell % y >= Ends(cell / y % x)) part.a[static_cast<size_t>(cell)] = 0;
    }
  } else {
    axes = {{batch, x * kFree, y * kFree, x * y, true, true, false},
            {x, kFree, 0, y, true, false, false},
            {y, 0, kFree, 1, false, true, false},
            {kFree, 1, 1, 0, true, true, true}};
    part.a = Normal(batch * x * kFree, 1), part.b = Normal(batch * y * kFree, 2);
    part.c.assign(static_cast<size_t>(batch * x * y), std::nan(""));
  }
  if (swapped) {
    std::swap(part.a, part.b);
    for (ContractAxis& axis : axes) std::swap(axis.a, axis.b), std::swap(axis.in_a, axis.in_b);
  }
  Staircase stairs;
  if (with_stairs) stairs = Stairs(false), stairs.along = tiled.summed_stairs ? 3 : 2;
  const bool checked = with_stairs && tiled.summed_stairs && !swapped;
  Operands whole = part;
  ASSERT_TRUE(Multiply(axes, stairs, checked, whole).ok());
  part.tiled = tiled.tiled;
  part.tile = tile;
  part.checked_by_tile = checked && tiled.tiled == 3 && !tiled.has_batch;
  ASSERT_TRUE(Multiply(axes, stairs, checked, part).ok());
  // 0.25 * product + addend, from what the product itself was.
  Operands fused = part;
  fused.addend = Normal(std::ssize(whole.c), 5);
  fused.scale = 0.25;
  fused.adds = true;
  for (int axis : {-1, tiled.tiled}) {
    fused.tiled = axis;
    fused.c.assign(whole.c.size(), std::nan(""));
    ASSERT_TRUE(Multiply(axes, stairs, checked, fused).ok());
    for (size_t cell = 0; cell < fused.c.size(); ++cell) {
      const auto at = static_cast<int64_t>(cell);
      if (with_stairs && !tiled.summed_stairs && at % y >= Ends(at / y % x)) continue;
      const double expected = 0.25 * whole.c[cell] + fused.addend[cell];
      ASSERT_NEAR(fused.c[cell], expected, 1e-12 * (1 + std::abs(whole.c[cell]))) << cell;
    }
  }
  const bool kept = !axes[static_cast<size_t>(tiled.tiled)].summed;
  for (int64_t cell = 0; cell < std::ssize(whole.c); ++cell) {
    const double value = part.c[static_cast<size_t>(cell)];
    const double expected = whole.c[static_cast<size_t>(cell)];
    if (with_stairs && !tiled.summed_stairs && cell % y >= Ends(cell / y % x)) {
      ASSERT_TRUE(std::isfinite(value)) << cell;
    } else if (kept) {
      ASSERT_TRUE(SameBits(value, expected)) << cell;
    } else {
      ASSERT_NEAR(value, expected, 1e-12 * (1 + std::abs(expected))) << cell;
    }
  }
  if (!checked) return;
  // An infinity under the mask's zeros does not reach their cells.
  part.b[static_cast<size_t>((y - 1) * kFree)] = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(Multiply(axes, stairs, checked, part).ok());
  for (int64_t i = 0; i < x; ++i)
    EXPECT_EQ(std::isfinite(part.c[static_cast<size_t>(i * kFree)]), y - 1 >= Ends(i)) << i;
  fused.b = part.b;
  ASSERT_TRUE(Multiply(axes, stairs, checked, fused).ok());
  for (int64_t i = 0; i < x; ++i) {
    const auto at = static_cast<size_t>(i * kFree);
    if (y - 1 < Ends(i)) {
      EXPECT_FALSE(std::isfinite(fused.c[at])) << i;
    } else {
      EXPECT_NEAR(fused.c[at], 0.25 * whole.c[at] + fused.addend[at], 1e-9) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TilesTest,
    testing::Combine(testing::Values(TiledCase{"batch_of_cells", 0, false, true},
                                     TiledCase{"batch_of_terms", 0, true, true},
                                     TiledCase{"rows_of_cells", 1, false, false},
                                     TiledCase{"rows_of_terms", 1, true, false},
                                     TiledCase{"summed_of_cells", 3, false, true},
                                     TiledCase{"summed_of_terms", 3, true, true},
                                     TiledCase{"summed_of_one", 3, true, false}),
                     testing::Bool(), testing::Bool(), testing::Values(1, 7, 96, 1000)),
    [](const auto& test) {
      return absl::StrCat(std::get<0>(test.param).name, std::get<1>(test.param) ? "_swapped" : "",
                          std::get<2>(test.param) ? "_stairs" : "", "_", std::get<3>(test.param));
    });

// Cut into parts a product has the bits of one computed a few rows at a time, which is not cut.
struct CutCase {
  int64_t batch, rows, columns;
};
class CutTest : public testing::TestWithParam<std::tuple<CutCase, bool>> {};

TEST_P(CutTest, KeepsBits) {
  const auto& [sizes, turned] = GetParam();
  constexpr int64_t kInner = 300;
  const auto& [batch, rows, columns] = sizes;
  const auto axes_of = [&, turned = turned, columns = columns](int64_t batches, int64_t m) {
    return std::vector<ContractAxis>{
        {batches, m * kInner, kInner * columns, m * columns, true, true, false},
        {m, kInner, 0, turned ? 1 : columns, true, false, false},
        {columns, 0, 1, turned ? m : 1, false, true, false},
        {kInner, 1, columns, 0, true, true, true}};
  };
  Operands whole{Normal(batch * rows * kInner, 1), Normal(batch * kInner * columns, 2), {}};
  whole.c.assign(static_cast<size_t>(batch * rows * columns), std::nan(""));
  ASSERT_TRUE(Multiply(axes_of(batch, rows), {}, false, whole).ok());
  constexpr int64_t kFew = 6;
  for (int64_t q = 0; q < batch; ++q) {
    for (int64_t first = 0; first < rows; first += kFew) {
      const int64_t m = std::min(kFew, rows - first);
      const auto a = whole.a.begin() + (q * rows + first) * kInner;
      const auto b = whole.b.begin() + q * kInner * columns;
      Operands few{{a, a + m * kInner}, {b, b + kInner * columns}, {}};
      few.c.assign(static_cast<size_t>(m * columns), std::nan(""));
      ASSERT_TRUE(Multiply(axes_of(1, m), {}, false, few).ok());
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t at = turned ? j * rows + first + i : (first + i) * columns + j;
          const double value = whole.c[static_cast<size_t>(q * rows * columns + at)];
          const double expected = few.c[static_cast<size_t>(turned ? j * m + i : i * columns + j)];
          ASSERT_TRUE(SameBits(value, expected)) << q << ": " << first + i << "," << j;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CutTest,
                         testing::Combine(testing::Values(CutCase{1, 128, 400},  // by columns,
                                                          CutCase{1, 65, 196},   // few of them,
                                                          CutCase{3, 50, 500},   // of a batch,
                                                          CutCase{1, 500, 98},   // by rows
                                                          CutCase{3, 400, 50}),
                                          testing::Bool()));

// Several products in one step have the bits of each in a step of its own: stored each, or summed
// in their order; whole and cut into parts, which run in any order.
class StackTest : public testing::TestWithParam<std::tuple<CutCase, bool, int>> {};

TEST_P(StackTest, KeepsBits) {
  const auto& [sizes, turned, count] = GetParam();
  constexpr int64_t kInner = 70;
  const auto& [batch, rows, columns] = sizes;
  const std::vector<ContractAxis> axes = {
      {batch, rows * kInner, kInner * columns, rows * columns, true, true, false},
      {rows, kInner, 0, turned ? 1 : columns, true, false, false},
      {columns, 0, 1, turned ? rows : 1, false, true, false},
      {kInner, 1, columns, 0, true, true, true}};
  const int64_t cells = batch * rows * columns;
  // The arrays: a, which all share, what the first adds to, and of each its b and its c.
  std::vector<std::vector<double>> arrays = {Normal(batch * rows * kInner, 1), Normal(cells, 2)};
  for (int p = 0; p < count; ++p) {
    arrays.push_back(Normal(batch * kInner * columns, 3 + static_cast<uint64_t>(p)));
    arrays.emplace_back(static_cast<size_t>(cells), std::nan(""));
  }
  RunState state;
  state.step_states.resize(1);
  for (auto& array : arrays) state.bases.push_back(reinterpret_cast<std::byte*>(array.data()));
  const auto product = [&](int p, int c) {
    return ContractStep::Product{{0, 0}, {2 + 2 * p, 0}, {c, 0}, 0.5 + p, p == 0, {1, 0}};
  };
  const auto run = [&](std::vector<ContractStep::Product> products, ContractStep::Stack stack) {
    const ContractStep step(0, TypeId::kFloat64, axes, std::move(products), stack, {}, {}, -1, "");
    auto scratch = Buffer::Allocate(step.scratch_bytes(), std::make_shared<MemoryBudget>());
    ASSERT_TRUE(scratch.ok());
    state.scratch = *scratch;
    for (int64_t part = step.parts(); part-- > 0;) step.RunPart(state, part, 0);
  };
  // Each alone, then what they add up to when each adds to the one before.
  std::vector<std::vector<double>> alone;
  for (int p = 0; p < count; ++p) {
    run({product(p, 3)}, ContractStep::Stack::kEach);
    alone.push_back(arrays[3]);
  }
  run({product(0, 3)}, ContractStep::Stack::kEach);
  for (int p = 1; p < count; ++p) {
    ContractStep::Product next = product(p, 3);
    next.adds = true;
    next.addend = {3, 0};
    run({next}, ContractStep::Stack::kEach);
  }
  const std::vector<double> sum = arrays[3];

  std::vector<ContractStep::Product> each, summed;
  for (int p = 0; p < count; ++p) {
    each.push_back(product(p, 3 + 2 * p));
    summed.push_back(product(p, 3));
  }
  run(each, ContractStep::Stack::kEach);
  for (int p = 0; p < count; ++p) {
    const std::vector<double>& c = arrays[static_cast<size_t>(3 + 2 * p)];
    EXPECT_EQ(std::memcmp(c.data(), alone[static_cast<size_t>(p)].data(), c.size() * 8), 0) << p;
  }
  run(summed, ContractStep::Stack::kSum);
  EXPECT_EQ(std::memcmp(arrays[3].data(), sum.data(), sum.size() * 8), 0);
}

INSTANTIATE_TEST_SUITE_P(All, StackTest,
                         testing::Combine(testing::Values(CutCase{1, 7, 20},     // one part
                                                          CutCase{8, 64, 40},    // a part a product
                                                          CutCase{40, 30, 60},   // by batches,
                                                          CutCase{1, 100, 500},  // by columns,
                                                          CutCase{2, 500, 100}),  // by rows
                                          testing::Bool(), testing::Values(2, 3, 5)));

}  // namespace
}  // namespace adjoin
