// Matrix products against long double for many shapes, strides and transposes; and the promise that
// a cell's bits depend on its row of A, its column of B and nothing else.
#include <gtest/gtest.h>

#include "tests/kernels/kernel_testing.h"

namespace adjoin {
namespace {

enum class Form { kRows, kColumns, kSparse };  // row-major, column-major, gaps in both directions

template <typename T>
struct Matrix {
  Matrix(int64_t rows, int64_t columns, Form form, uint64_t seed) {
    row = form == Form::kRows ? columns : form == Form::kColumns ? 1 : 2 * columns + 3;
    col = form == Form::kRows ? 1 : form == Form::kColumns ? rows : 2;
    values.resize(std::max<int64_t>(0, rows * row + columns * col) + 1);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (T& value : values) value = static_cast<T>(normal(random));
  }
  T at(int64_t i, int64_t j) const { return values[i * row + j * col]; }
  std::vector<T> values;
  int64_t row, col;
};

template <typename T>
void Multiply(const KernelTable& table, int64_t m, int64_t n, int64_t k, const Matrix<T>& a,
              const Matrix<T>& b, Matrix<T>* c, T alpha, bool accumulate,
              const Matrix<T>* addend = nullptr) {
  const int64_t bytes = GemmScratchBytes(m, n, k, sizeof(T));
  std::vector<unsigned char> scratch(bytes + 128, 0xab);
  unsigned char* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
  const int64_t from = addend == nullptr ? 0
                                         : (reinterpret_cast<intptr_t>(addend->values.data()) -
                                            reinterpret_cast<intptr_t>(c->values.data())) /
                                               static_cast<int64_t>(sizeof(T));
  table.reduce<T>().gemm({m, n, k, a.values.data(), a.row, a.col, b.values.data(), b.row, b.col,
                          c->values.data(), c->row, c->col, alpha, accumulate, aligned, from});
  for (int i = 0; i < 64 - static_cast<int>(aligned - scratch.data()) + 64; ++i) {
    if (aligned + bytes + i >= scratch.data() + scratch.size()) break;
    ASSERT_EQ(aligned[bytes + i], 0xab)
        << "wrote behind the scratch: " << m << " " << n << " " << k;
  }
}

template <typename T>
void CheckProduct(int64_t m, int64_t n, int64_t k, Form fa, Form fb, Form fc, T alpha,
                  bool accumulate) {
  const Matrix<T> a(m, k, fa, 1), b(k, n, fb, 2), old(m, n, fc, 3);
  Matrix<T> first = old;
  Multiply(*SupportedKernels()[0], m, n, k, a, b, &first, alpha, accumulate);
  std::vector<uint8_t> is_cell(old.values.size());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      is_cell[i * old.row + j * old.col] = 1;
      long double sum = 0, size = 0;
      for (int64_t p = 0; p < k; ++p) {
        const long double term = static_cast<long double>(a.at(i, p)) * b.at(p, j);
        sum += term;
        size += std::fabs(term);
      }
      const long double before = accumulate ? old.at(i, j) : 0;
      const long double expected = alpha * sum + before;
      const long double bound = (std::min<int64_t>(k, 256) + 8) *
                                std::numeric_limits<T>::epsilon() *
                                (std::fabs(alpha) * size + std::fabs(before));
      ASSERT_LE(std::fabs(first.at(i, j) - expected), bound)
          << m << "x" << n << "x" << k << " forms " << static_cast<int>(fa) << static_cast<int>(fb)
          << static_cast<int>(fc) << " at " << i << "," << j;
    }
  }
  for (size_t i = 0; i < is_cell.size(); ++i) {
    ASSERT_TRUE(is_cell[i] || SameBits(first.values[i], old.values[i])) << "wrote outside C";
  }
  for (const KernelTable* table : SupportedKernels()) {
    Matrix<T> c = old;
    Multiply(*table, m, n, k, a, b, &c, alpha, accumulate);
    for (size_t i = 0; i < c.values.size(); ++i) {
      ASSERT_TRUE(SameBits(c.values[i], first.values[i]))
          << table->isa << " " << m << "x" << n << "x" << k << " forms " << static_cast<int>(fa)
          << static_cast<int>(fb) << static_cast<int>(fc);
    }
    if (!accumulate) continue;
    // The same added from elsewhere: over what C held before.
    Matrix<T> other(m, n, fc, 4);
    Multiply(*table, m, n, k, a, b, &other, alpha, true, &old);
    for (int64_t i = 0; i < m * n; ++i) {
      const size_t at = static_cast<size_t>(i / n * c.row + i % n * c.col);
      ASSERT_TRUE(SameBits(other.values[at], c.values[at]))
          << table->isa << " " << m << "x" << n << "x" << k << " with an addend";
    }
  }
}

template <typename T>
class GemmTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmTest, Types);

TYPED_TEST(GemmTest, SmallShapesOfAllForms) {
  using T = TypeParam;
  for (int64_t m : {1, 2, 5, 8, 13}) {
    for (int64_t n : {1, 2, 7, 16, 17, 31}) {
      for (int64_t k : {0, 1, 8, 16}) {
        for (int form = 0; form < 27; ++form) {
          const bool accumulate = (m + n + form) % 2 == 0;
          CheckProduct<T>(m, n, k, Form(form % 3), Form(form / 3 % 3), Form(form / 9),
                          form % 4 == 0 ? T(1) : T(-0.75), accumulate);
        }
      }
    }
  }
}

TYPED_TEST(GemmTest, LargerShapesCrossEveryBlock) {
  using T = TypeParam;
  const int64_t shapes[][3] = {{97, 65, 130}, {200, 33, 257}, {33, 1100, 40}, {1, 300, 520},
                               {300, 1, 520}, {2, 2100, 300}, {1030, 2, 70},  {64, 64, 64},
                               {193, 129, 9}, {25, 150, 600}, {150, 25, 1},   {1100, 40, 17}};
  int turn = 0;
  for (const auto& shape : shapes) {
    for (int form = 0; form < 9; ++form, ++turn) {
      CheckProduct<T>(shape[0], shape[1], shape[2], Form(form % 3), Form(form / 3), Form(turn % 3),
                      turn % 2 == 0 ? T(1) : T(0.5), turn % 4 < 2);
    }
  }
}

// Stacked products have the bits of separate ones, in both directions and at any cut.
TYPED_TEST(GemmTest, CellsDoNotDependOnTheShapeAroundThem) {
  using T = TypeParam;
  for (const KernelTable* table : SupportedKernels()) {
    for (int form = 0; form < 9; ++form) {
      const int64_t m = 71, n = 83, k = 300;
      const Matrix<T> a(m, k, Form(form % 3), 1), b(k, n, Form(form / 3), 2);
      Matrix<T> whole(m, n, Form::kRows, 3);
      Multiply<T>(*table, m, n, k, a, b, &whole, T(1), false);
      for (int64_t cut : {1, 2, 6, 8, 16, 29, 70}) {
        Matrix<T> parts(m, n, Form::kRows, 4), columns(m, n, Form::kColumns, 4);
        std::vector<unsigned char> scratch(GemmScratchBytes(m, n, k, sizeof(T)) + 64);
        void* at = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
        const auto gemm = table->template reduce<T>().gemm;
        for (int64_t begin : {int64_t{0}, cut}) {
          const int64_t rows = begin == 0 ? cut : m - cut, cols = begin == 0 ? cut : n - cut;
          gemm({rows, n, k, a.values.data() + begin * a.row, a.row, a.col, b.values.data(), b.row,
                b.col, parts.values.data() + begin * parts.row, parts.row, parts.col, T(1), false,
                at});
          gemm({m, cols, k, a.values.data(), a.row, a.col, b.values.data() + begin * b.col, b.row,
                b.col, columns.values.data() + begin * columns.col, columns.row, columns.col, T(1),
                false, at});
        }
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            ASSERT_TRUE(SameBits(parts.at(i, j), whole.at(i, j))) << table->isa << " cut " << cut;
            ASSERT_TRUE(SameBits(columns.at(i, j), whole.at(i, j))) << table->isa << " cut " << cut;
          }
        }
      }
    }
  }
}

TYPED_TEST(GemmTest, EmptyShapesWriteNothingButZeroDepth) {
  using T = TypeParam;
  for (const KernelTable* table : SupportedKernels()) {
    T c = 5;
    std::vector<T> none(1);
    std::vector<unsigned char> scratch(GemmScratchBytes(1, 1, 1, sizeof(T)) + 64);
    void* at = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
    table->template reduce<T>().gemm(
        {0, 1, 1, none.data(), 1, 1, none.data(), 1, 1, &c, 1, 1, T(1), false, at});
    EXPECT_EQ(c, T(5));
    table->template reduce<T>().gemm(
        {1, 1, 0, none.data(), 1, 1, none.data(), 1, 1, &c, 1, 1, T(1), true, at});
    EXPECT_EQ(c, T(5));
    table->template reduce<T>().gemm(
        {1, 1, 0, none.data(), 1, 1, none.data(), 1, 1, &c, 1, 1, T(1), false, at});
    EXPECT_EQ(c, T(0));
  }
}

}  // namespace
}  // namespace adjoin
