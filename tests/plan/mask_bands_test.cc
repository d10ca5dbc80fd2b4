// Bands of masks are held against the masks' cells.
#include "plan/mask_bands.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/array.h"

namespace adjoin {
namespace {

using Cells = std::vector<double>;

Cells CellsOf(const MaskBands& bands) {
  Cells cells;
  for (const MaskBands::Run& run : bands.runs) {
    for (int64_t j = 0; j < bands.columns; ++j) cells.push_back(j >= run.first && j < run.last);
  }
  return cells;
}

Cells Turned(const Cells& cells, int64_t columns) {
  Cells out;
  const int64_t rows = std::ssize(cells) / columns;
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) out.push_back(cells[static_cast<size_t>(i * columns + j)]);
  }
  return out;
}

TEST(MaskBandsTest, ComparisonsAreThoseOfTheCells) {
  const Cells rows = {3, -1, 2, 2, 9, 0}, columns = {-2, 0, 0, 2, 3};
  for (const ScalarOp op : {ScalarOp::kLess, ScalarOp::kLessEqual, ScalarOp::kEqual}) {
    for (const bool swapped : {false, true}) {
      const auto bands = CompareBands(op, rows, columns, swapped);
      ASSERT_TRUE(bands.has_value());
      Cells expected;
      for (double r : rows) {
        for (double c : columns) {
          const double a = swapped ? c : r, b = swapped ? r : c;
          expected.push_back(op == ScalarOp::kLess        ? a < b
                             : op == ScalarOp::kLessEqual ? a <= b
                                                          : a == b);
        }
      }
      EXPECT_EQ(CellsOf(*bands), expected) << static_cast<int>(op) << swapped;
    }
  }
  EXPECT_FALSE(CompareBands(ScalarOp::kNotEqual, rows, columns, false).has_value());
  EXPECT_FALSE(CompareBands(ScalarOp::kLess, columns, rows, false).has_value());  // not sorted
  EXPECT_FALSE(CompareBands(ScalarOp::kLess, Cells{std::nan("")}, columns, false).has_value());
}

TEST(MaskBandsTest, TransposesAndIntersectsAsCells) {
  std::mt19937_64 random(7);
  int turned = 0;
  for (int round = 0; round < 2000; ++round) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % 5);
    MaskBands a{{}, 1 + static_cast<int64_t>(random() % 5)}, b = a;
    for (MaskBands* bands : {&a, &b}) {
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t first = static_cast<int64_t>(random() % 5) % a.columns;
        const int64_t last = static_cast<int64_t>(random() % 6) % (a.columns + 1);
        bands->runs.push_back(first < last ? MaskBands::Run{first, last} : MaskBands::Run{});
      }
    }
    const Cells cells = CellsOf(a), expected = Turned(cells, a.columns);
    const auto own = BandsOfCells(cells, a.columns);
    ASSERT_TRUE(own.has_value());
    EXPECT_EQ(CellsOf(*own), cells);
    const auto transposed = Transpose(a);
    EXPECT_EQ(transposed.has_value(), BandsOfCells(expected, rows).has_value());
    if (transposed) {
      EXPECT_EQ(CellsOf(*transposed), expected);
    }
    turned += transposed.has_value();
    const Cells both = CellsOf(Intersect(a, b)), other = CellsOf(b);
    for (size_t i = 0; i < both.size(); ++i) EXPECT_EQ(both[i], cells[i] * other[i]);
    EXPECT_EQ(AllTrue(a), std::count(cells.begin(), cells.end(), 0) == 0);
  }
  EXPECT_GT(turned, 200);
}

// A mask of a graph over the axes (0, 1).
class MaskGraph {
 public:
  int Index(int64_t extent, int64_t origin) {
    ArrayNode n;
    n.op = ArrayOp::kIndex;
    n.type = TypeId::kInt64;
    n.shape = {extent};
    n.origins = {origin};
    return graph.Add(std::move(n));
  }
  int Map(ScalarOp op, TypeId type, std::vector<int64_t> shape,
          std::vector<ArrayOperand> operands) {
    ArrayNode n;
    n.op = ArrayOp::kMap;
    n.scalar = op;
    n.type = type;
    n.shape = std::move(shape);
    n.operands = std::move(operands);
    return graph.Add(std::move(n));
  }
  int Reduce(ReduceOp op, TypeId type, std::vector<int64_t> shape, std::vector<int64_t> space,
             ArrayOperand operand) {
    ArrayNode n;
    n.op = ArrayOp::kReduce;
    n.reduce = op;
    n.type = type;
    n.shape = std::move(shape);
    n.space = std::move(space);
    n.operands = {std::move(operand)};
    return graph.Add(std::move(n));
  }
  ArrayGraph graph;
};

// Positions 5.. of 6000 see those up to their own: too many cells to look at.
TEST(MaskBandsTest, GraphsOfAnySizeKnowTheirStaircases) {
  constexpr int64_t kRows = 6000, kColumns = 5000;
  MaskGraph m;
  const ArrayOperand rows{m.Index(kRows, 5), {0}}, columns{m.Index(kColumns, 0), {1}};
  const int mask = m.Map(ScalarOp::kLessEqual, TypeId::kBool, {kRows, kColumns}, {columns, rows});
  const Staircase stairs = m.graph.StaircaseOf({mask, {3, 2}});
  EXPECT_EQ(stairs.of, 3);
  EXPECT_EQ(stairs.along, 2);
  EXPECT_EQ(stairs.ends[0], 6);
  EXPECT_EQ(stairs.ends[100], 106);
  EXPECT_EQ(stairs.ends.back(), kColumns);
  EXPECT_FALSE(m.graph.IsTrueEverywhere(mask));

  const int all = m.Map(ScalarOp::kLess, TypeId::kBool, {kRows, kColumns},
                        {{m.Index(kRows, -kRows), {0}}, columns});
  EXPECT_TRUE(m.graph.IsTrueEverywhere(all));
  const int both =
      m.Map(ScalarOp::kAnd, TypeId::kBool, {kColumns, kRows}, {{mask, {1, 0}}, {all, {1, 0}}});
  EXPECT_EQ(m.graph.StaircaseOf({both, {0, 1}}).of, 1);

  const int any =
      m.Reduce(ReduceOp::kAny, TypeId::kBool, {kColumns}, {kColumns, kRows}, {mask, {1, 0}});
  EXPECT_TRUE(m.graph.IsTrueEverywhere(any));
  const int one = m.Map(ScalarOp::kCount, TypeId::kFloat64, {kRows, kColumns}, {{mask, {0, 1}}});
  const auto count = m.graph.Evaluate(
      m.Reduce(ReduceOp::kSum, TypeId::kFloat64, {kRows}, {kRows, kColumns}, {one, {0, 1}}));
  ASSERT_NE(count, nullptr);
  EXPECT_EQ((*count)[7], 13);
  const auto total = m.graph.Evaluate(
      m.Reduce(ReduceOp::kSum, TypeId::kFloat64, {}, {kRows, kColumns}, {one, {0, 1}}));
  ASSERT_NE(total, nullptr);
  double expected = 0;
  for (int64_t end : stairs.ends) expected += static_cast<double>(end);
  EXPECT_EQ(*total, Cells{expected});
}

}  // namespace
}  // namespace adjoin
