#include "ops/column_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/status.h"

namespace adjoin {
namespace {

class ColumnFileTest : public ::testing::Test {
 protected:
  ColumnFileTest() { spill_.directory = ::testing::TempDir(); }
  Spill spill_;
  const std::shared_ptr<MemoryBudget> budget_ = std::make_shared<MemoryBudget>();
};

std::vector<std::string> TextsOf(const Column& column) {
  std::vector<std::string> texts;
  for (int64_t r = 0; r < column.length(); ++r)
    texts.emplace_back(column.is_null(r) ? "NULL" : column.text(r));
  return texts;
}

ColumnRef TextColumn(const std::vector<const char*>& texts) {
  ColumnBuilder builder(TypeId::kText, std::make_shared<MemoryBudget>());
  for (const char* text : texts)
    EXPECT_TRUE((text == nullptr ? builder.AppendNull() : builder.Append(Value::Text(text))).ok());
  return *builder.Finish();
}

TEST_F(ColumnFileTest, NullsMayStartAtAnyRowAndChunksEndAtAny) {
  for (int64_t first_null : {0, 1, 7, 8, 9, 30}) {
    ColumnFile file(TypeId::kInt32, spill_, budget_);
    int32_t next = 0;
    for (int64_t n : {1, 7, 3, 8, 21}) {
      ColumnChunk chunk(TypeId::kInt32);
      std::vector<int32_t> values;
      std::vector<uint8_t> valid;
      for (int64_t i = 0; i < n; ++i, ++next) {
        values.push_back(next);
        valid.push_back(next >= first_null && next % 3 == first_null % 3 ? 0 : 1);
      }
      chunk.Append({TypeId::kInt32, values.data(), valid.data()}, n);
      ASSERT_TRUE(file.Append(chunk).ok());
    }
    const ColumnRef column = *file.Finish();
    ASSERT_EQ(column->length(), 40);
    for (int64_t r = 0; r < 40; ++r) {
      EXPECT_EQ(column->values<int32_t>()[r], r);
      EXPECT_EQ(column->is_null(r), r >= first_null && r % 3 == first_null % 3) << r;
    }
  }
  EXPECT_GT(spill_.bytes, 6 * 40 * 4);
}

TEST_F(ColumnFileTest, TextOfOneColumnKeepsItsDictionary) {
  const ColumnRef from = TextColumn({"b", "a", nullptr, "b"});
  ColumnFile file(TypeId::kText, spill_, budget_);
  BatchArena arena;
  for (int64_t begin : {0, 2}) {
    ColumnChunk chunk(TypeId::kText);
    chunk.Append(ReadColumn(*from, begin, 2, arena), 2);
    ASSERT_TRUE(file.Append(chunk).ok());
  }
  const ColumnRef column = *file.Finish();
  EXPECT_EQ(column->dictionary(), from->dictionary());
  EXPECT_THAT(TextsOf(*column), ::testing::ElementsAre("b", "a", "NULL", "b"));
}

TEST_F(ColumnFileTest, TextOfSeveralColumnsGetsOneDictionary) {
  ColumnFile file(TypeId::kText, spill_, budget_);
  BatchArena arena;
  for (const ColumnRef& from : {TextColumn({"b", "a"}), TextColumn({nullptr, "a", "c"}),
                                TextColumn({nullptr}), TextColumn({"b"})}) {
    ColumnChunk chunk(TypeId::kText);
    chunk.Append(ReadColumn(*from, 0, from->length(), arena), from->length());
    ASSERT_TRUE(file.Append(chunk).ok());
  }
  const ColumnRef column = *file.Finish();
  EXPECT_THAT(TextsOf(*column), ::testing::ElementsAre("b", "a", "NULL", "a", "c", "NULL", "b"));
  EXPECT_EQ(column->values<int32_t>()[0], column->values<int32_t>()[6]);
}

// Strings of other columns' after some, with NULLs; and of files again.
TEST_F(ColumnFileTest, TextGoesToFilesWhereMemoryHasNoRoom) {
  const std::string big(100 << 10, 'x');
  for (const bool borrowed_is_big : {true, false}) {
    const auto budget = std::make_shared<MemoryBudget>(64 << 10);
    const ColumnRef first = TextColumn({"b", nullptr, borrowed_is_big ? big.c_str() : "a"});
    const ColumnRef second = TextColumn({"b", big.c_str(), nullptr, "", "b"});
    const auto append = [](ColumnFile& file, const ColumnRef& from) {
      BatchArena arena;
      ColumnChunk chunk(TypeId::kText);
      chunk.Append(ReadColumn(*from, 0, from->length(), arena), from->length());
      ASSERT_TRUE(file.Append(chunk).ok());
    };
    ColumnFile file(TypeId::kText, spill_, budget);
    append(file, first), append(file, second), append(file, first);
    const ColumnRef column = *file.Finish();
    std::vector<std::string> expected;
    for (const ColumnRef& from : {first, second, first})
      for (const std::string& text : TextsOf(*from)) expected.push_back(text);
    EXPECT_EQ(TextsOf(*column), expected);
    EXPECT_FALSE(column->dictionary()->is_distinct());
    EXPECT_EQ(budget->used(), 0);

    ColumnFile copy(TypeId::kText, spill_, budget);
    append(copy, column);
    append(copy, first);
    for (const std::string& text : TextsOf(*first)) expected.push_back(text);
    EXPECT_EQ(TextsOf(**copy.Finish()), expected);

    // A table's: distinct again.
    const TableRef table = Table::MakeUnchecked({{{"x", TypeId::kText, false}}, {}}, {column}, 11);
    EXPECT_TRUE(IsOutOfMemory(InMemory(table, budget).status()));
    const ColumnRef kept = (*InMemory(table, budget_))->column(0);
    expected.resize(11);
    EXPECT_EQ(TextsOf(*kept), expected);
    EXPECT_TRUE(kept->dictionary()->is_distinct());
    EXPECT_EQ(kept->values<int32_t>()[0], kept->values<int32_t>()[8]);
    EXPECT_GT(budget_->used(), 100 << 10);
  }
}

TEST_F(ColumnFileTest, AppendsAPartOfAChunkAndMayBeEmpty) {
  const std::vector<double> values = {1, 2, 3, 4};
  ColumnChunk chunk(TypeId::kFloat64);
  chunk.Append({TypeId::kFloat64, values.data(), nullptr}, 4);
  ColumnFile file(TypeId::kFloat64, spill_, budget_);
  ASSERT_TRUE(file.Append(chunk, 1, 3).ok());
  const ColumnRef column = *file.Finish();
  EXPECT_EQ(column->length(), 2);
  EXPECT_EQ(column->values<double>()[1], 3);
  for (TypeId type : {TypeId::kInt16, TypeId::kText})
    EXPECT_EQ((*ColumnFile(type, spill_, budget_).Finish())->length(), 0);
}

TEST_F(ColumnFileTest, TextsOfOneAddressAreWrittenOnce) {
  const std::string large(200000, 'x'), small = "y";  // larger than what is written at once
  const std::string_view texts[] = {{}, small, large, large, {}, large, small};
  const uint8_t valid[] = {0, 1, 1, 1, 0, 1, 1};
  int32_t codes[7];
  const auto dictionary = WriteTexts({TypeId::kText, texts, valid}, 7, spill_, codes);
  ASSERT_TRUE(dictionary.ok()) << dictionary.status();
  EXPECT_EQ((*dictionary)->size(), 4);  // one under NULLs
  EXPECT_LT(spill_.bytes, 210000);
  for (int r = 0; r < 7; ++r) {
    ASSERT_LT(codes[r], 4);
    EXPECT_TRUE(valid[r] == 0 || (*dictionary)->at(codes[r]) == texts[r]) << r;
  }
}

}  // namespace
}  // namespace adjoin
