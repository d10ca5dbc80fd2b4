#include "engine/column.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/status.h"

namespace adjoin {
namespace {

std::shared_ptr<MemoryBudget> Unlimited() { return std::make_shared<MemoryBudget>(); }

TEST(BufferTest, ChargesAndReleases) {
  auto budget = std::make_shared<MemoryBudget>(1 << 20);
  {
    auto buffer = Buffer::Allocate(1000, budget);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*buffer)->data()) % 64, 0u);
    EXPECT_EQ((*buffer)->size(), 1000);
    EXPECT_GE(budget->used(), 1000);
    const auto too_much = Buffer::Allocate(1 << 20, budget);
    EXPECT_EQ(SqlStateOf(too_much.status()), "53200");
    EXPECT_EQ(too_much.status().message(), "out of memory");
    EXPECT_LT(budget->used(), 2000);
  }
  EXPECT_EQ(budget->used(), 0);
  EXPECT_GE(budget->peak(), 1000);
  budget->reset_peak();
  EXPECT_EQ(budget->peak(), 0);
  EXPECT_TRUE(Buffer::Allocate(0, budget).ok());
  EXPECT_FALSE(Buffer::Allocate(INT64_MAX, Unlimited()).ok());
}

TEST(BufferTest, WrapKeepsTheOwner) {
  auto owner = std::make_shared<std::string>("abc");
  const std::weak_ptr<std::string> watch = owner;
  auto buffer = Buffer::Wrap(owner->data(), 3, owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(buffer->as<char>()[1], 'b');
  buffer.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(ColumnBuilderTest, ValuesOfEveryType) {
  const std::vector<std::pair<TypeId, Value>> cases = {
      {TypeId::kBool, Value::Bool(true)},        {TypeId::kInt16, Value::Int(-5)},
      {TypeId::kInt32, Value::Int(70000)},       {TypeId::kInt64, Value::Int(INT64_MIN)},
      {TypeId::kFloat32, Value::Float(0.5)},     {TypeId::kFloat64, Value::Float(1e-300)},
      {TypeId::kText, Value::Text("some text")},
  };
  for (const auto& [type, value] : cases) {
    ColumnBuilder builder(type, Unlimited());
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE((i % 3 == 1 ? builder.AppendNull() : builder.Append(value)).ok());
    }
    const auto column = builder.Finish();
    ASSERT_TRUE(column.ok());
    EXPECT_EQ((*column)->length(), 200);
    EXPECT_EQ((*column)->null_count(), 67);
    for (int i = 0; i < 200; ++i)
      EXPECT_EQ((*column)->value(i), i % 3 == 1 ? Value() : value) << TypeName(type);
    EXPECT_EQ(builder.length(), 0);
    ASSERT_TRUE(builder.Append(value).ok());
    const auto second = builder.Finish();
    ASSERT_TRUE(second.ok());
    EXPECT_FALSE((*second)->has_nulls());
    EXPECT_EQ((*second)->validity_buffer(), nullptr);
    EXPECT_EQ((*second)->value(0), value);
  }
}

TEST(ColumnBuilderTest, ChecksRanges) {
  ColumnBuilder small(TypeId::kInt16, Unlimited());
  const absl::Status status = small.Append(Value::Int(32768));
  EXPECT_EQ(SqlStateOf(status), "22003");
  EXPECT_EQ(status.message(), "smallint out of range");
  EXPECT_TRUE(small.Append(Value::Int(-32768)).ok());
  EXPECT_EQ(small.length(), 1);
  ColumnBuilder integer(TypeId::kInt32, Unlimited());
  EXPECT_FALSE(integer.Append(Value::Int(int64_t{1} << 31)).ok());
}

TEST(ColumnBuilderTest, AppendManyMixesWithNulls) {
  ColumnBuilder builder(TypeId::kInt64, Unlimited());
  const std::vector<int64_t> values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<uint8_t> valid = {1, 0, 1, 1, 1, 1, 1, 0, 1};
  ASSERT_TRUE(builder.AppendMany(values.data(), nullptr, 9).ok());
  ASSERT_TRUE(builder.AppendMany(values.data(), valid.data(), 9).ok());
  ASSERT_TRUE(builder.AppendMany(values.data(), nullptr, 9).ok());
  const auto column = builder.Finish();
  ASSERT_TRUE(column.ok());
  EXPECT_EQ((*column)->null_count(), 2);
  for (int i = 0; i < 27; ++i) {
    const bool is_null = i == 10 || i == 16;
    EXPECT_EQ((*column)->is_null(i), is_null) << i;
    if (!is_null) {
      EXPECT_EQ((*column)->values<int64_t>()[i], values[static_cast<size_t>(i % 9)]);
    }
  }
}

TEST(ColumnBuilderTest, TextsShareCodes) {
  ColumnBuilder builder(TypeId::kText, Unlimited());
  const std::vector<std::string_view> texts = {"a", "b", "a", "", "b"};
  const std::vector<uint8_t> valid = {1, 1, 1, 0, 1};
  ASSERT_TRUE(builder.AppendMany(texts.data(), valid.data(), 5).ok());
  const auto column = builder.Finish();
  ASSERT_TRUE(column.ok());
  const int32_t* codes = (*column)->values<int32_t>();
  EXPECT_EQ(codes[0], codes[2]);
  EXPECT_EQ(codes[1], codes[4]);
  EXPECT_EQ((*column)->text(4), "b");
  EXPECT_TRUE((*column)->is_null(3));
  // Readable, though NULL.
  EXPECT_EQ((*column)->text(3), "");
}

TEST(ColumnBuilderTest, StopsAtTheBudget) {
  auto budget = std::make_shared<MemoryBudget>(4096);
  ColumnBuilder builder(TypeId::kFloat64, budget);
  absl::Status status;
  int64_t appended = 0;
  while (status.ok() && appended < 10000) {
    status = builder.Append(Value::Float(1));
    appended += status.ok() ? 1 : 0;
  }
  EXPECT_EQ(SqlStateOf(status), "53200");
  EXPECT_EQ(builder.length(), appended);
  EXPECT_LE(budget->peak(), 4096);
  const auto column = builder.Finish();
  ASSERT_TRUE(column.ok());
  EXPECT_EQ((*column)->length(), appended);
}

// Two threads ask at once; nothing is charged before, and the limit holds nobody up.
TEST(ColumnTest, CoordinatesAreComputedWhenRead) {
  auto budget = std::make_shared<MemoryBudget>(40);
  {
    const Column column(TypeId::kInt32, 12, Column::Coordinates{5, 3, 2}, budget);
    EXPECT_EQ(column.length(), 12);
    EXPECT_FALSE(column.has_nulls());
    EXPECT_EQ(budget->used(), 0);
    std::thread other([&] { EXPECT_EQ(column.values<int32_t>()[11], 7); });
    EXPECT_EQ(column.value(3), Value::Int(6));
    other.join();
    const auto* values = column.values_buffer()->as<int32_t>();
    EXPECT_EQ(std::vector<int32_t>(values, values + 12),
              (std::vector<int32_t>{5, 5, 6, 6, 7, 7, 5, 5, 6, 6, 7, 7}));
    EXPECT_GE(budget->used(), 48);
    EXPECT_FALSE(Buffer::Allocate(1, budget).ok());
  }
  EXPECT_EQ(budget->used(), 0);
}

// Any part of them, without keeping it.
TEST(ColumnTest, CoordinatesAreFilledWherever) {
  auto budget = std::make_shared<MemoryBudget>();
  for (const int64_t inner : {1, 2, 5}) {
    const Column column(TypeId::kInt64, 30, Column::Coordinates{-1, 3, inner}, budget);
    for (int64_t first = 0; first < 30; ++first) {
      for (int64_t n = 0; first + n <= 30; ++n) {
        std::vector<int64_t> cells(static_cast<size_t>(n));
        column.Fill(first, n, cells.data());
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(cells[static_cast<size_t>(i)], -1 + (first + i) / inner % 3)
              << first << " " << i;
      }
    }
    EXPECT_FALSE(column.is_stored());
    EXPECT_EQ(budget->used(), 0);
    EXPECT_EQ(column.value(inner), Value::Int(0));
    EXPECT_TRUE(column.is_stored());
  }
}

TEST(ColumnBuilderTest, EmptyColumn) {
  const auto column = ColumnBuilder(TypeId::kText, Unlimited()).Finish();
  ASSERT_TRUE(column.ok());
  EXPECT_EQ((*column)->length(), 0);
  EXPECT_NE((*column)->dictionary(), nullptr);
}

}  // namespace
}  // namespace adjoin
