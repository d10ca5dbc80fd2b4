#include "engine/column_cache.h"

#include <gtest/gtest.h>

#include "engine/status.h"

namespace adjoin {
namespace {

class Charged final : public CachedValue {
 public:
  Charged(int64_t bytes, std::shared_ptr<MemoryBudget> budget)
      : buffer_(*Buffer::Allocate(bytes, std::move(budget))) {}
  int64_t bytes() const override { return buffer_->size(); }

 private:
  std::shared_ptr<Buffer> buffer_;
};

class ColumnCacheTest : public ::testing::Test {
 protected:
  ColumnRef MakeColumn(int64_t value) const {
    ColumnBuilder builder(TypeId::kInt64, unlimited_);
    EXPECT_TRUE(builder.Append(Value::Int(value)).ok());
    return *builder.Finish();
  }
  void Keep(std::string_view what, const std::vector<ColumnRef>& columns, int64_t bytes) {
    cache_.Keep(what, columns, std::make_shared<Charged>(bytes, budget_));
  }
  bool Has(std::string_view what, const std::vector<ColumnRef>& columns) {
    return cache_.Find(what, columns) != nullptr;
  }

  std::shared_ptr<MemoryBudget> unlimited_ = std::make_shared<MemoryBudget>();
  std::shared_ptr<MemoryBudget> budget_ = std::make_shared<MemoryBudget>(10000);
  ColumnCache cache_{budget_};
};

TEST_F(ColumnCacheTest, EntriesAreOfTheseColumnsAndGoWithAnyOfThem) {
  ColumnRef a = MakeColumn(1), b = MakeColumn(1);
  EXPECT_NE(a->version(), b->version());
  EXPECT_EQ(a->version(), a->version());
  Keep("sum", {a, b}, 1000);
  Keep("sum", {a, b}, 2000);  // somebody was faster
  EXPECT_TRUE(Has("sum", {a, b}));
  EXPECT_FALSE(Has("sum", {b, a}));
  EXPECT_FALSE(Has("max", {a, b}));
  EXPECT_EQ(cache_.bytes(), 1000);
  cache_.DropStale();
  EXPECT_TRUE(Has("sum", {a, b}));
  b = nullptr;
  cache_.DropStale();
  EXPECT_EQ(cache_.bytes(), 0);
  EXPECT_EQ(budget_->used(), 0);
}

TEST_F(ColumnCacheTest, OtherValuesInAColumnsMemoryAreAnotherVersion) {
  const ColumnRef a = MakeColumn(1);
  Keep("sum", {a}, 1000);
  a->NewVersion();
  EXPECT_FALSE(Has("sum", {a}));
  cache_.DropStale();
  EXPECT_EQ(budget_->used(), 0);
}

TEST_F(ColumnCacheTest, WhatNobodyUsesGoesBeforeAChargeIsRefused) {
  const ColumnRef a = MakeColumn(1);
  for (const char* what : {"x", "y", "z"}) Keep(what, {a}, 3000);
  EXPECT_TRUE(Has("x", {a}));  // used after y and z
  EXPECT_EQ(budget_->available(), 10000 - budget_->used() + 9000);
  const auto used = cache_.Find("z", std::vector<ColumnRef>{a});
  {
    EXPECT_TRUE(Buffer::Allocate(2000, budget_).ok());
    EXPECT_FALSE(Has("y", {a}));
    EXPECT_TRUE(Has("x", {a}));
    EXPECT_TRUE(Buffer::Allocate(6000, budget_).ok());
    EXPECT_FALSE(Has("x", {a}));
    EXPECT_EQ(SqlStateOf(Buffer::Allocate(8000, budget_).status()), sqlstate::kOutOfMemory);
    EXPECT_TRUE(Has("z", {a}));
  }
  EXPECT_EQ(used->bytes(), 3000);
}

}  // namespace
}  // namespace adjoin
