#include "engine/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "engine/status.h"

namespace adjoin {
namespace {

std::shared_ptr<MemoryBudget> Unlimited() { return std::make_shared<MemoryBudget>(); }

template <typename T>
ColumnRef MakeColumn(TypeId type, const std::vector<T>& values,
                     const std::vector<uint8_t>& valid = {}) {
  ColumnBuilder builder(type, Unlimited());
  EXPECT_TRUE(
      builder.AppendMany(values.data(), valid.empty() ? nullptr : valid.data(), std::ssize(values))
          .ok());
  return *builder.Finish();
}
ColumnRef Bigints(const std::vector<int64_t>& values, const std::vector<uint8_t>& valid = {}) {
  return MakeColumn(TypeId::kInt64, values, valid);
}
ColumnRef Doubles(const std::vector<double>& values, const std::vector<uint8_t>& valid = {}) {
  return MakeColumn(TypeId::kFloat64, values, valid);
}

const Schema kMatrix = {{{"i", TypeId::kInt64}, {"j", TypeId::kInt64}, {"v", TypeId::kFloat64}},
                        {0, 1}};

absl::StatusOr<TableRef> Matrix(const std::vector<int64_t>& i, const std::vector<int64_t>& j,
                                const std::vector<double>& v) {
  return Table::Make(kMatrix, {Bigints(i), Bigints(j), Doubles(v)}, std::ssize(v), Unlimited(),
                     "m");
}

TEST(TableTest, FindsAGridInOrder) {
  const auto table = Matrix({5, 5, 5, 6, 6, 6}, {-1, 0, 1, -1, 0, 1}, {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(table.ok());
  const GridShape expected = {{5, -1}, {2, 3}};
  ASSERT_TRUE((*table)->grid().has_value());
  EXPECT_EQ(*(*table)->grid(), expected);
}

TEST(TableTest, DimsOfAGridTakeNoMemoryUntilRead) {
  auto budget = std::make_shared<MemoryBudget>();
  const auto table = Table::Make(
      kMatrix, {Bigints({5, 5, 6, 6}), Bigints({-1, 0, -1, 0}), Doubles({1, 2, 3, 4})}, 4, budget);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(budget->used(), 0);
  // Nor does the same grid again; its axes turned are none in order.
  const ColumnRef i = (*table)->column(0), j = (*table)->column(1), v = (*table)->column(2);
  const auto again = Table::Make(kMatrix, {i, j, v}, 4, budget);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->grid(), (*table)->grid());
  EXPECT_EQ(budget->used(), 0);
  const auto turned = Table::Make(kMatrix, {j, i, v}, 4, Unlimited());
  ASSERT_TRUE(turned.ok());
  const GridShape expected = {{-1, 5}, {2, 2}};
  EXPECT_EQ((*turned)->grid(), expected);
  EXPECT_EQ((*turned)->value(1, 2), Value::Float(3));  // sorted: (-1, 6) was the third row
  const TableRef fresh = Table::WithComputedDims(*table, budget);
  EXPECT_EQ(fresh->value(2, 0), Value::Int(6));
  EXPECT_GE(budget->used(), 32);
  EXPECT_EQ((*table)->value(3, 1), Value::Int(0));
  // Another budget starts anew.
  auto other = std::make_shared<MemoryBudget>();
  const TableRef moved = Table::WithComputedDims(*table, other);
  EXPECT_EQ(other->used(), 0);
  EXPECT_EQ(moved->value(1, 1), Value::Int(0));
  EXPECT_GE(other->used(), 32);
}

TEST(TableTest, SortsAGridInAnotherOrder) {
  const auto table = Matrix({1, 0, 0, 1}, {0, 1, 0, 1}, {10, 1, 0, 11});
  ASSERT_TRUE(table.ok());
  ASSERT_TRUE((*table)->grid().has_value());
  EXPECT_EQ(*(*table)->grid(), (GridShape{{0, 0}, {2, 2}}));
  const std::vector<double> expected = {0, 1, 10, 11};
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ((*table)->value(r, 2), Value::Float(expected[static_cast<size_t>(r)]));
    EXPECT_EQ((*table)->value(r, 0), Value::Int(r / 2));
    EXPECT_EQ((*table)->value(r, 1), Value::Int(r % 2));
  }
}

TEST(TableTest, SortingKeepsNullsAndTextsWithTheirRows) {
  ColumnBuilder text(TypeId::kText, Unlimited());
  for (const Value& v : {Value::Text("two"), Value(), Value::Text("zero")})
    ASSERT_TRUE(text.Append(v).ok());
  const Schema schema = {{{"i", TypeId::kInt16}, {"t", TypeId::kText}, {"b", TypeId::kBool}}, {0}};
  const auto table = Table::Make(schema,
                                 {MakeColumn<int16_t>(TypeId::kInt16, {2, 1, 0}), *text.Finish(),
                                  MakeColumn<uint8_t>(TypeId::kBool, {1, 0, 0}, {1, 1, 0})},
                                 3, Unlimited());
  ASSERT_TRUE(table.ok());
  ASSERT_TRUE((*table)->grid().has_value());
  EXPECT_EQ((*table)->value(0, 1), Value::Text("zero"));
  EXPECT_EQ((*table)->value(1, 1), Value());
  EXPECT_EQ((*table)->value(2, 1), Value::Text("two"));
  EXPECT_EQ((*table)->value(0, 2), Value());
  EXPECT_EQ((*table)->value(2, 2), Value::Bool(true));
}

TEST(TableTest, KeyOrderIsTheOrderOfDims) {
  const Schema schema = {{{"j", TypeId::kInt64}, {"i", TypeId::kInt32}}, {1, 0}};
  const auto table = Table::Make(
      schema,
      {Bigints({0, 1, 2, 0, 1, 2}), MakeColumn<int32_t>(TypeId::kInt32, {0, 0, 0, 1, 1, 1})}, 6,
      Unlimited());
  ASSERT_TRUE(table.ok());
  ASSERT_TRUE((*table)->grid().has_value());
  EXPECT_EQ((*table)->grid()->extents, (std::vector<int64_t>{2, 3}));
}

TEST(TableTest, NoGridWhereACoordinateIsMissing) {
  const auto table = Matrix({0, 0, 1}, {0, 1, 0}, {1, 2, 3});
  ASSERT_TRUE(table.ok());
  EXPECT_FALSE((*table)->grid().has_value());
  EXPECT_EQ((*table)->value(2, 2), Value::Float(3));
  const auto empty = Matrix({}, {}, {});
  ASSERT_TRUE(empty.ok());
  EXPECT_FALSE((*empty)->grid().has_value());
  const auto huge = Matrix({INT64_MIN, INT64_MAX}, {0, 0}, {1, 2});
  ASSERT_TRUE(huge.ok());
  EXPECT_FALSE((*huge)->grid().has_value());
}

void ExpectDuplicate(const absl::StatusOr<TableRef>& table, std::string_view detail) {
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(SqlStateOf(table.status()), "23505");
  EXPECT_EQ(table.status().message(), "duplicate key value violates unique constraint \"m_pkey\"");
  EXPECT_EQ(DetailOf(table.status()), detail);
}

TEST(TableTest, DuplicateKeys) {
  ExpectDuplicate(Matrix({0, 1, 1, 0}, {0, 2, 2, 1}, {1, 2, 3, 4}),
                  "Key (i, j)=(1, 2) already exists.");
  ExpectDuplicate(Matrix({0, 1000000000, 1000000000}, {0, 2, 2}, {1, 2, 3}),
                  "Key (i, j)=(1000000000, 2) already exists.");
  const Schema by_value = {{{"v", TypeId::kFloat64}}, {0}};
  ExpectDuplicate(Table::Make(by_value, {Doubles({NAN, 1, NAN})}, 3, Unlimited(), "m"),
                  "Key (v)=(NaN) already exists.");
  ExpectDuplicate(Table::Make(by_value, {Doubles({0.0, -0.0})}, 2, Unlimited(), "m"),
                  "Key (v)=(-0) already exists.");
}

TEST(TableTest, NullsInKeysAndNotNullColumns) {
  const auto in_key = Table::Make(
      kMatrix, {Bigints({0, 1}, {1, 0}), Bigints({0, 0}), Doubles({1, 2})}, 2, Unlimited(), "m");
  EXPECT_EQ(SqlStateOf(in_key.status()), "23502");
  EXPECT_EQ(in_key.status().message(),
            "null value in column \"i\" of relation \"m\" violates not-null constraint");
  EXPECT_EQ(DetailOf(in_key.status()), "Failing row contains (null, 0, 2).");
  const Schema schema = {{{"v", TypeId::kFloat64, true}}, {}};
  EXPECT_EQ(SqlStateOf(Table::Make(schema, {Doubles({1}, {0})}, 1, Unlimited(), "m").status()),
            "23502");
}

TEST(TableTest, RandomGridsInRandomOrder) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    const std::vector<int64_t> extents = {1 + static_cast<int64_t>(random() % 5),
                                          1 + static_cast<int64_t>(random() % 7),
                                          1 + static_cast<int64_t>(random() % 3)};
    const int64_t n = extents[0] * extents[1] * extents[2];
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int64_t> a, b, c;
    std::vector<double> v;
    for (int64_t cell : order) {
      a.push_back(cell / (extents[1] * extents[2]) - 3);
      b.push_back(cell / extents[2] % extents[1] + 10);
      c.push_back(cell % extents[2]);
      v.push_back(static_cast<double>(cell));
    }
    const Schema schema = {{{"a", TypeId::kInt64},
                            {"b", TypeId::kInt64},
                            {"c", TypeId::kInt64},
                            {"v", TypeId::kFloat64}},
                           {0, 1, 2}};
    const auto table =
        Table::Make(schema, {Bigints(a), Bigints(b), Bigints(c), Doubles(v)}, n, Unlimited());
    ASSERT_TRUE(table.ok());
    ASSERT_TRUE((*table)->grid().has_value());
    EXPECT_EQ(*(*table)->grid(), (GridShape{{-3, 10, 0}, extents}));
    for (int64_t r = 0; r < n; ++r)
      ASSERT_EQ((*table)->value(r, 3), Value::Float(static_cast<double>(r)));
  }
}

TEST(TableTest, UniqueColumns) {
  ColumnBuilder text(TypeId::kText, Unlimited());
  for (const Value& v : {Value::Text("x"), Value(), Value::Text("x"), Value()})
    ASSERT_TRUE(text.Append(v).ok());
  const Schema schema = {{{"k", TypeId::kInt64}, {"t", TypeId::kText}, {"u", TypeId::kInt64}}, {0}};
  const auto table = Table::Make(
      schema, {Bigints({3, 1, 2, 9}), *text.Finish(), Bigints({7, 7, 8, 7}, {1, 1, 1, 1})}, 4,
      Unlimited());
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE((*table)->IsUnique({0}));
  EXPECT_TRUE((*table)->IsUnique({1, 0}));
  EXPECT_FALSE((*table)->IsUnique({1}));
  EXPECT_FALSE((*table)->IsUnique({1, 2}));  // two rows (NULL, 7)
  EXPECT_FALSE((*table)->IsUnique({}));
}

TEST(TableTest, VersionsDiffer) {
  const auto a = Matrix({0}, {0}, {1});
  const auto b = Matrix({0}, {0}, {1});
  EXPECT_NE((*a)->version(), (*b)->version());
}

TEST(TableTest, WorkingMemoryIsCharged) {
  std::vector<int64_t> keys(10000);
  for (size_t i = 0; i < keys.size(); ++i)
    keys[i] = static_cast<int64_t>((i * 7919) % 10007) * 1000003;
  const Schema schema = {{{"k", TypeId::kInt64}}, {0}};
  auto budget = std::make_shared<MemoryBudget>(1000);
  const auto table = Table::Make(schema, {Bigints(keys)}, std::ssize(keys), budget);
  EXPECT_EQ(SqlStateOf(table.status()), "53200");
  EXPECT_EQ(budget->used(), 0);
}

TEST(SchemaTest, Find) {
  EXPECT_EQ(kMatrix.Find("v"), 2);
  EXPECT_EQ(kMatrix.Find("V"), -1);
}

}  // namespace
}  // namespace adjoin
