// Kernels over rows side by side on every variant: reductions have the bits of those of one array,
// arithmetic with a value a row those of the kernels of cells, a chain those of its two operations.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kernels/kernel_testing.h"

namespace adjoin {
namespace {

// Up to twenty rows: whole groups of 4 and 8 that are combined together, and what is left over.
constexpr int64_t kMostRows = 20;

std::vector<int64_t> Lengths() {
  std::vector<int64_t> lengths;
  for (int64_t n = 1; n <= 70; ++n) lengths.push_back(n);
  lengths.insert(lengths.end(), {1000, 1024, 1025, 3000});
  return lengths;
}
std::vector<int64_t> FewLengths() { return {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 70, 1025}; }

// Finite values, so that a sum says more than that it is not a number.
template <typename T>
std::vector<T> Plain(int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = static_cast<T>(normal(random));
  return values;
}
// Zeros of both signs alone: which of them an extreme is follows from the order of the lanes.
template <typename T>
std::vector<T> Zeros(int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = random() % 2 == 0 ? T(0) : T(-0.0);
  return values;
}

template <typename T>
const RowReductions<T>& RowsOf(const KernelTable& table) {
  if constexpr (std::is_same_v<T, float>) {
    return table.rows_f32;
  } else {
    return table.rows_f64;
  }
}

// Checks `rows` (rows, length, out) of each variant against `one` (row) of the same variant and of
// the portable one.
template <typename R, typename Rows, typename One>
void CheckReduction(const char* name, int64_t length, const Rows& rows, const One& one) {
  const KernelTable& portable = *SupportedKernels()[0];
  for (const KernelTable* table : SupportedKernels()) {
    std::vector<R> expected;
    for (int64_t r = 0; r < kMostRows; ++r) {
      expected.push_back(one(*table, r));
      ASSERT_TRUE(SameBits(expected.back(), one(portable, r))) << table->isa << name << length;
    }
    for (int64_t n = 0; n <= kMostRows; ++n) {
      Unaligned<R> out(std::vector<R>(static_cast<size_t>(n), R(5)));
      rows(*table, n, out.data());
      ASSERT_TRUE(out.Intact()) << table->isa << name << length;
      for (int64_t r = 0; r < n; ++r) {
        ASSERT_TRUE(SameBits(out.data()[r], expected[static_cast<size_t>(r)]))
            << table->isa << " " << name << " row " << r << " of " << n << ", length " << length
            << ": " << +out.data()[r] << " for " << +expected[static_cast<size_t>(r)];
      }
    }
  }
}

template <typename T>
class RowsTest : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(RowsTest, Floats);

TYPED_TEST(RowsTest, ReductionsAreThoseOfOneArray) {
  using T = TypeParam;
  for (int64_t length : Lengths()) {
    const uint64_t seed = static_cast<uint64_t>(length);
    for (const auto& values :
         {Plain<T>(kMostRows * length, seed), TestValues<T>(kMostRows * length, seed),
          Zeros<T>(kMostRows * length, seed)}) {
      Unaligned<T> x(values);
      const T* cells = x.data();
      CheckReduction<T>(
          "sum", length,
          [&](const KernelTable& k, int64_t n, T* out) { RowsOf<T>(k).sum(cells, n, length, out); },
          [&](const KernelTable& k, int64_t r) {
            return k.reduce<T>().sum(cells + r * length, length);
          });
      CheckReduction<T>(
          "max", length,
          [&](const KernelTable& k, int64_t n, T* out) { RowsOf<T>(k).max(cells, n, length, out); },
          [&](const KernelTable& k, int64_t r) {
            return k.reduce<T>().max(cells + r * length, length);
          });
      CheckReduction<T>(
          "min", length,
          [&](const KernelTable& k, int64_t n, T* out) { RowsOf<T>(k).min(cells, n, length, out); },
          [&](const KernelTable& k, int64_t r) {
            return k.reduce<T>().min(cells + r * length, length);
          });
    }
  }
}

TEST(RowSumsTest, RealsAsDoublesAreThoseOfOneArray) {
  for (int64_t length : Lengths()) {
    const uint64_t seed = static_cast<uint64_t>(length);
    for (const auto& values :
         {Plain<float>(kMostRows * length, seed), TestValues<float>(kMostRows * length, seed)}) {
      Unaligned<float> x(values);
      CheckReduction<double>(
          "sum as double", length,
          [&](const KernelTable& k, int64_t n, double* out) {
            k.sum_rows_f32_as_f64(x.data(), n, length, out);
          },
          [&](const KernelTable& k, int64_t r) {
            return k.sum_f32_as_f64(x.data() + r * length, length);
          });
    }
  }
}

TEST(RowSumsTest, BooleansAreCounted) {
  for (int64_t length : Lengths()) {
    for (bool ones : {false, true}) {
      std::vector<uint8_t> values = TestValues<uint8_t>(kMostRows * length, 5);
      if (ones) std::fill(values.begin(), values.end(), uint8_t{1});
      Unaligned<uint8_t> x(values);
      CheckReduction<double>(
          "count", length,
          [&](const KernelTable& k, int64_t n, double* out) {
            k.count_rows(x.data(), n, length, out);
          },
          [&](const KernelTable&, int64_t r) {
            const uint8_t* row = x.data() + r * length;
            return static_cast<double>(std::count(row, row + length, uint8_t{1}));
          });
    }
  }
}

// values[r] in every cell of row r.
template <typename T>
std::vector<T> SpreadOut(const T* values, int64_t step, int64_t rows, int64_t length) {
  std::vector<T> cells;
  for (int64_t r = 0; r < rows; ++r) {
    cells.insert(cells.end(), static_cast<size_t>(length), values[r * step]);
  }
  return cells;
}

template <typename T, typename R>
void CheckByRow(const KernelTable& table, ScalarOp op, bool row_first, int64_t rows,
                int64_t length) {
  const RowKernel kernel =
      table.by_row[static_cast<int>(op)][static_cast<int>(TypeOf<T>())][row_first ? 1 : 0];
  const int64_t n = rows * length;
  const std::vector<T> values = TestValues<T>(n, 1);
  Unaligned<T> cells(values), per_row(TestValues<T>(rows, 2), 3);
  const std::vector<T> spread = SpreadOut(per_row.data(), 1, rows, length);
  const void* args[] = {values.data(), spread.data()};
  if (row_first) std::swap(args[0], args[1]);
  std::vector<R> expected(static_cast<size_t>(n));
  SupportedKernels()[0]->at(op, TypeOf<T>())(args, nullptr, expected.data(), n);
  Unaligned<R> out(std::vector<R>(static_cast<size_t>(n), R(1)));
  kernel(cells.data(), per_row.data(), rows, length, out.data());
  ASSERT_TRUE(out.Intact());
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_TRUE(SameBits(out.data()[i], expected[static_cast<size_t>(i)]))
        << table.isa << " op " << static_cast<int>(op) << " row first " << row_first << " cell "
        << i << " of " << rows << "x" << length;
  }
  // Over its own cells, which are as wide or wider.
  kernel(cells.data(), per_row.data(), rows, length, cells.data());
  ASSERT_TRUE(cells.Intact());
  for (int64_t i = 0; i < n; ++i) {
    R result;
    std::memcpy(&result, reinterpret_cast<const std::byte*>(cells.data()) + i * int64_t{sizeof(R)},
                sizeof(R));
    ASSERT_TRUE(SameBits(result, expected[static_cast<size_t>(i)]))
        << table.isa << " in place, op " << static_cast<int>(op) << " cell " << i;
  }
}

TYPED_TEST(RowsTest, ArithmeticWithAValueARowIsThatOfCells) {
  using T = TypeParam;
  const ScalarOp ops[] = {ScalarOp::kAdd, ScalarOp::kSubtract, ScalarOp::kMultiply,
                          ScalarOp::kDivide, ScalarOp::kEqual};
  for (const KernelTable* table : SupportedKernels()) {
    for (int op = 0; op < kNumScalarOps; ++op) {
      const auto scalar = static_cast<ScalarOp>(op);
      const auto& pair = table->by_row[op][static_cast<int>(TypeOf<T>())];
      const bool expected = std::find(std::begin(ops), std::end(ops), scalar) != std::end(ops);
      ASSERT_EQ(pair[0] != nullptr, expected) << op;
      ASSERT_EQ(pair[1] != nullptr, expected) << op;
      if (!expected) continue;
      for (int64_t length : FewLengths()) {
        for (int64_t rows : {0, 1, 2, 5}) {
          for (bool row_first : {false, true}) {
            if (scalar == ScalarOp::kEqual) {
              CheckByRow<T, uint8_t>(*table, scalar, row_first, rows, length);
            } else {
              CheckByRow<T, T>(*table, scalar, row_first, rows, length);
            }
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

template <typename T>
class SpreadTest : public testing::Test {};
using Elements = testing::Types<uint8_t, int16_t, int32_t, int64_t, float, double>;
TYPED_TEST_SUITE(SpreadTest, Elements);

TYPED_TEST(SpreadTest, WritesAValueToEveryCellOfItsRow) {
  using T = TypeParam;
  for (const KernelTable* table : SupportedKernels()) {
    for (int64_t length : FewLengths()) {
      for (int64_t rows : {0, 1, 2, 5}) {
        Unaligned<T> values(TestValues<T>(rows, 7));
        const std::vector<T> expected = SpreadOut(values.data(), 1, rows, length);
        Unaligned<T> out(std::vector<T>(expected.size(), T(3)));
        table->spread[static_cast<int>(TypeOf<T>())](values.data(), rows, length, out.data());
        ASSERT_TRUE(out.Intact());
        for (size_t i = 0; i < expected.size(); ++i) {
          ASSERT_TRUE(SameBits(out.data()[i], expected[i])) << table->isa << " " << i;
        }
      }
    }
  }
}

// One operation of a chain, cell by cell.
template <typename T>
std::vector<T> Apply(ChainOp op, const std::vector<T>& a, const std::vector<T>& b) {
  const void* args[] = {a.data(), b.data()};
  if (op == ChainOp::kSubtractFrom) std::swap(args[0], args[1]);
  const ScalarOp scalar = op == ChainOp::kAdd        ? ScalarOp::kAdd
                          : op == ChainOp::kMultiply ? ScalarOp::kMultiply
                                                     : ScalarOp::kSubtract;
  std::vector<T> out(a.size());
  SupportedKernels()[0]->at(scalar, TypeOf<T>())(args, nullptr, out.data(), std::ssize(a));
  return out;
}

// y or z: over cells, or one value for all rows (step 0) or for each (step 1).
struct OperandKind {
  bool cells;
  int64_t step;
};
constexpr OperandKind kOperandKinds[] = {{true, 0}, {false, 0}, {false, 1}};

template <typename T>
void CheckChain(const KernelTable& table, int first, int second, OperandKind y_kind,
                OperandKind z_kind, int64_t rows, int64_t length,
                const std::vector<T> (&values)[3]) {
  const auto& kernels = [&]() -> const auto& {
    if constexpr (std::is_same_v<T, float>) {
      return table.chain_f32;
    } else {
      return table.chain_f64;
    }
  }
  ();
  const ChainKernel kernel = kernels[first][second][y_kind.cells ? 1 : 0][z_kind.cells ? 1 : 0];
  const auto size = static_cast<size_t>(rows * length);
  const auto cells_of = [&](int operand) {
    return std::vector<T>(values[operand].begin(), values[operand].begin() + rows * length);
  };
  const auto over_cells = [&](int operand, OperandKind kind) {
    return kind.cells ? cells_of(operand)
                      : SpreadOut(values[operand].data(), kind.step, rows, length);
  };
  const std::vector<T> expected =
      Apply(static_cast<ChainOp>(second),
            Apply(static_cast<ChainOp>(first), cells_of(0), over_cells(1, y_kind)),
            over_cells(2, z_kind));
  // To memory of its own, then over x, y and z.
  for (int target = 0; target < 4; ++target) {
    if ((target == 2 && !y_kind.cells) || (target == 3 && !z_kind.cells)) continue;
    Unaligned<T> x(cells_of(0)), y(values[1], 3), z(values[2], 5);
    if (y_kind.cells) y = Unaligned<T>(cells_of(1), 3);
    if (z_kind.cells) z = Unaligned<T>(cells_of(2), 5);
    Unaligned<T> own(std::vector<T>(size, T(9)));
    Unaligned<T>& out = target == 0 ? own : target == 1 ? x : target == 2 ? y : z;
    kernel({x.data(), y.data(), z.data(), y_kind.step, z_kind.step}, rows, length, out.data());
    ASSERT_TRUE(out.Intact());
    for (size_t i = 0; i < size; ++i) {
      ASSERT_TRUE(SameBits(out.data()[i], expected[i]))
          << table.isa << " ops " << first << "," << second << " y " << y_kind.cells << y_kind.step
          << " z " << z_kind.cells << z_kind.step << " to " << target << " cell " << i << " of "
          << rows << "x" << length << ": " << out.data()[i] << " for " << expected[i];
    }
  }
}

TYPED_TEST(RowsTest, AChainIsItsTwoOperations) {
  using T = TypeParam;
  for (int64_t length : FewLengths()) {
    for (int64_t rows : {0, 1, 3}) {
      const int64_t n = std::max<int64_t>(rows * length, 1);
      // Specials, then numbers whose products round: contracting them to FMAs would show.
      const std::vector<T> special[3] = {TestValues<T>(n, 1), TestValues<T>(n, 2),
                                         TestValues<T>(n, 3)};
      const std::vector<T> plain[3] = {Plain<T>(n, 1), Plain<T>(n, 2), Plain<T>(n, 3)};
      for (const KernelTable* table : SupportedKernels()) {
        for (int ops = 0; ops < kNumChainOps * kNumChainOps; ++ops) {
          for (OperandKind y : kOperandKinds) {
            for (OperandKind z : kOperandKinds) {
              const int first = ops / kNumChainOps, second = ops % kNumChainOps;
              CheckChain<T>(*table, first, second, y, z, rows, length, special);
              CheckChain<T>(*table, first, second, y, z, rows, length, plain);
              if (testing::Test::HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace adjoin
