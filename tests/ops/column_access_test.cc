#include "ops/column_access.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace adjoin {
namespace {

using Texts = std::vector<std::optional<std::string>>;

ColumnRef TextColumn(const Texts& texts) {
  ColumnBuilder builder(TypeId::kText, std::make_shared<MemoryBudget>());
  for (const auto& text : texts) {
    EXPECT_TRUE(builder.Append(text.has_value() ? Value::Text(*text) : Value()).ok());
  }
  return *builder.Finish();
}

Texts TextsOf(const Column& column) {
  Texts texts;
  for (int64_t r = 0; r < column.length(); ++r) {
    texts.push_back(column.is_null(r) ? std::nullopt : std::optional<std::string>(column.text(r)));
  }
  return texts;
}

// What is appended in turn to one chunk, or to one chunk each.
ColumnRef Assemble(const std::vector<std::pair<Vector, int64_t>>& parts, bool one_chunk) {
  ColumnAssembler assembler(TypeId::kText);
  ColumnChunk chunk(TypeId::kText);
  for (const auto& [values, n] : parts) {
    chunk.Append(values, n);
    if (one_chunk) continue;
    assembler.Add(std::move(chunk));
    chunk = ColumnChunk(TypeId::kText);
  }
  assembler.Add(std::move(chunk));
  return *assembler.Finish(std::make_shared<MemoryBudget>());
}

TEST(ColumnAccessTest, TextOfOneColumnKeepsItsDictionary) {
  const ColumnRef from = TextColumn({"a", std::nullopt, "b", "a"});
  BatchArena arena;
  const std::vector<int64_t> rows = {3, -1, 2, 1};
  for (bool one_chunk : {true, false}) {
    const ColumnRef column = Assemble({{ReadColumn(*from, 1, 3, arena), 3},
                                       {GatherColumn(*from, rows.data(), 4, true, arena), 4}},
                                      one_chunk);
    EXPECT_EQ(column->dictionary(), from->dictionary());
    EXPECT_EQ(TextsOf(*column),
              (Texts{std::nullopt, "b", "a", "a", std::nullopt, "b", std::nullopt}));
  }
}

TEST(ColumnAccessTest, TextOfSeveralColumnsAndComputedTextMix) {
  const ColumnRef one = TextColumn({"a", std::nullopt, "b"});
  const ColumnRef other = TextColumn({"b", "c", std::nullopt});
  const ColumnRef nulls = TextColumn({std::nullopt, std::nullopt});
  const std::vector<std::string_view> texts = {"c", "d"};
  const Vector computed = {TypeId::kText, texts.data(), nullptr};
  BatchArena arena;
  const std::pair<Vector, int64_t> a = {ReadColumn(*one, 0, 3, arena), 3};
  const std::pair<Vector, int64_t> b = {ReadColumn(*other, 0, 3, arena), 3};
  const std::pair<Vector, int64_t> c = {computed, 2};
  const std::pair<Vector, int64_t> d = {ReadColumn(*nulls, 0, 2, arena), 2};
  const Texts of_a = {"a", std::nullopt, "b"}, of_b = {"b", "c", std::nullopt};
  const Texts of_c = {"c", "d"}, of_d = {std::nullopt, std::nullopt};
  const auto joined = [](std::initializer_list<Texts> parts) {
    Texts all;
    for (const Texts& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  for (bool one_chunk : {true, false}) {
    EXPECT_EQ(TextsOf(*Assemble({a, b, c, d}, one_chunk)), joined({of_a, of_b, of_c, of_d}));
    EXPECT_EQ(TextsOf(*Assemble({d, c, b, a}, one_chunk)), joined({of_d, of_c, of_b, of_a}));
    EXPECT_EQ(TextsOf(*Assemble({c, a, d}, one_chunk)), joined({of_c, of_a, of_d}));
    EXPECT_EQ(TextsOf(*Assemble({d}, one_chunk)), of_d);
  }
}

TEST(ColumnAccessTest, AFewRowsDoNotKeepALargeDictionary) {
  Texts many;
  for (int i = 0; i < 100; ++i) many.push_back(std::to_string(i));
  const ColumnRef from = TextColumn(many);
  BatchArena arena;
  const ColumnRef column = Assemble({{ReadColumn(*from, 40, 2, arena), 2}}, true);
  EXPECT_EQ(column->dictionary()->size(), 2);
  EXPECT_EQ(TextsOf(*column), (Texts{"40", "41"}));
}

}  // namespace
}  // namespace adjoin
