// What keys find their rows in, in every form and on any number of threads, against a plain map.
#include "ops/join_index.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace adjoin {
namespace {

constexpr PipelineOptions kOptions = {.batch_rows = 512, .morsel_rows = 8192};
constexpr JoinForm kForms[] = {JoinForm::kRanks, JoinForm::kTable, JoinForm::kParts};

using Row = std::vector<Value>;

TableRef MakeTable(const std::vector<TypeId>& types, const std::vector<Row>& rows) {
  const auto budget = std::make_shared<MemoryBudget>();
  Schema schema;
  std::vector<ColumnRef> columns;
  for (size_t c = 0; c < types.size(); ++c) {
    ColumnBuilder builder(types[c], budget);
    for (const Row& row : rows) EXPECT_TRUE(builder.Append(row[c]).ok());
    columns.push_back(*builder.Finish());
    schema.fields.push_back({"c", types[c]});
  }
  return Table::MakeUnchecked(std::move(schema), std::move(columns), std::ssize(rows));
}

JoinKeys KeysOf(const std::vector<TypeId>& types, bool null_safe) {
  ExprBuilder builder;
  for (size_t c = 0; c < types.size(); ++c)
    builder.Output(builder.Input(static_cast<int>(c), types[c]));
  return {std::move(builder).Build(), std::vector<bool>(types.size(), null_safe)};
}

std::string Text(const Value& value) {
  if (value.is_null()) return "NULL";
  if (value.is_text()) return value.as_text();
  if (value.is_int()) return absl::StrCat(value.as_int());
  // Quarters, as Draw makes them.
  return std::isnan(value.as_float()) ? "NaN" : absl::StrCat(std::llround(4 * value.as_float()));
}

// A key as a map orders it; nullopt: it matches nothing.
std::optional<std::string> KeyOf(const Row& row, bool null_safe) {
  std::string key;
  for (const Value& value : row) {
    if (value.is_null() && !null_safe) return std::nullopt;
    key += absl::StrCat(Text(value), "|");
  }
  return key;
}

void Check(const std::vector<TypeId>& types, const std::vector<Row>& build,
           const std::vector<Row>& probe, bool null_safe) {
  std::map<std::string, std::vector<uint32_t>> rows_of;
  for (size_t r = 0; r < build.size(); ++r) {
    if (const auto key = KeyOf(build[r], null_safe)) rows_of[*key].push_back(uint32_t(r));
  }
  const TableRef table = MakeTable(types, build), asking = MakeTable(types, probe);
  const JoinKeys keys = KeysOf(types, null_safe);
  for (JoinForm form : kForms) {
    for (int threads : {1, 2, 4}) {
      SCOPED_TRACE("form " + std::to_string(int(form)) + ", threads " + std::to_string(threads));
      TaskPool pool(threads);
      RunState run;
      run.budget = std::make_shared<MemoryBudget>();
      run.pool = threads == 1 ? nullptr : &pool;
      const auto index = JoinIndex::Build(keys, *table, run, kOptions, 0, form);
      ASSERT_TRUE(index.ok()) << index.status();
      EXPECT_EQ((*index)->num_keys(), std::ssize(rows_of));
      EXPECT_EQ((*index)->ids_are_rows(), rows_of.size() == build.size());
      const auto flat = EvaluateOverTable(keys.exprs, *asking, run, kOptions);
      ASSERT_TRUE(flat.ok());
      const int64_t n = asking->num_rows();
      std::vector<int64_t> ids(static_cast<size_t>(n)), matched(static_cast<size_t>(n));
      std::vector<int32_t> rows(static_cast<size_t>(n));
      KeyScratch scratch;
      (*index)->Find(VectorsOf(*flat), n, ids.data(), scratch);
      int64_t left_out = std::ssize(build), matches = 0;
      const int64_t m =
          (*index)->FindMatches(VectorsOf(*flat), n, rows.data(), matched.data(), scratch);
      for (const auto& [key, of_key] : rows_of) left_out -= std::ssize(of_key);
      EXPECT_EQ((*index)->rows_with_nulls(), left_out);
      double squares = 0;
      for (const auto& [key, of_key] : rows_of) squares += std::pow(double(of_key.size()), 2);
      EXPECT_EQ((*index)->fan_out().rows, double(std::ssize(build) - left_out));
      EXPECT_EQ((*index)->fan_out().squares, squares);
      for (int64_t r = 0; r < n; ++r) {
        const auto key = KeyOf(probe[static_cast<size_t>(r)], null_safe);
        const auto it = key.has_value() ? rows_of.find(*key) : rows_of.end();
        ASSERT_EQ(ids[r] >= 0, it != rows_of.end()) << r;
        if (it == rows_of.end()) continue;
        ASSERT_LT(matches, m);
        EXPECT_EQ(rows[matches], r);
        EXPECT_EQ(matched[matches++], ids[r]);
        const JoinIndex::Rows found = (*index)->RowsOf(ids[r]);
        ASSERT_EQ(std::vector<uint32_t>(found.begin, found.end), it->second) << r;
      }
      EXPECT_EQ(matches, m);
    }
  }
}

// `kind`: 0: uniform, 1: nine of ten rows of one key, 2: all of one, 3: every row its own.
Value Draw(TypeId type, int kind, int64_t row, int64_t apart, std::mt19937_64& random) {
  int64_t key = static_cast<int64_t>(random() % 5000);
  if (kind == 1 && random() % 10 != 0) key = 7;
  if (kind == 2) key = 7;
  if (kind == 3) key = 200000 - row;
  if (kind < 2 && random() % 50 == 0) return Value();
  switch (type) {
    case TypeId::kText:
      return Value::Text("key " + std::to_string(key));
    case TypeId::kFloat64:
      return Value::Float(key == 3 ? std::nan("") : static_cast<double>(key) / 4);
    default:
      return Value::Int((key - 2000) * apart);
  }
}

std::vector<Row> DrawRows(const std::vector<TypeId>& types, int kind, int64_t n, int64_t apart,
                          uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Row> rows(static_cast<size_t>(n));
  for (int64_t r = 0; r < n; ++r) {
    for (TypeId type : types) rows[r].push_back(Draw(type, kind, r, apart, random));
  }
  return rows;
}

TEST(JoinIndexTest, FindsTheRowsOfAMapInAllForms) {
  const std::vector<std::vector<TypeId>> all_types = {
      {TypeId::kInt32},
      {TypeId::kInt64},
      {TypeId::kText},
      {TypeId::kFloat64},
      {TypeId::kInt64, TypeId::kText},
      {TypeId::kFloat64, TypeId::kInt64, TypeId::kFloat64}};
  for (const std::vector<TypeId>& types : all_types) {
    for (int kind : {0, 1, 2, 3}) {
      for (bool null_safe : {false, true}) {
        SCOPED_TRACE("keys " + std::to_string(types.size()) + " of type " +
                     std::to_string(int(types[0])) + ", kind " + std::to_string(kind));
        // Beyond what ranks or an array take, where there is a wide type.
        const int64_t apart = types[0] == TypeId::kInt64 ? int64_t{1} << 40 : 3;
        const auto build = DrawRows(types, kind, 20000, apart, 1);
        auto probe = DrawRows(types, kind, 300, apart, 2);
        for (size_t r = 0; r < 300; ++r) probe.push_back(build[r * 60]);
        Check(types, build, probe, null_safe);
      }
    }
  }
}

// Hot keys of several pieces: more rows than one piece has.
TEST(JoinIndexTest, AHotKeyIsCutIntoPieces) {
  const std::vector<TypeId> types = {TypeId::kInt64, TypeId::kInt64};
  auto build = DrawRows(types, 1, 300000, int64_t{1} << 40, 3);
  for (Row& row : build) row[1] = row[0];  // or hot ones would be rarer
  auto probe = DrawRows(types, 1, 20, int64_t{1} << 40, 4);
  for (size_t r = 0; r < 40; ++r) probe.push_back(build[r * 7000]);
  Check(types, build, probe, false);
}

TEST(JoinIndexTest, NoRowsAndOnlyNulls) {
  for (bool null_safe : {false, true}) {
    Check({TypeId::kInt64}, {}, {{Value::Int(1)}, {Value()}}, null_safe);
    Check({TypeId::kText}, {{Value()}, {Value()}}, {{Value::Text("a")}, {Value()}}, null_safe);
  }
}

TEST(JoinIndexTest, PassesTheBudgetOn) {
  const std::vector<TypeId> types = {TypeId::kInt64};
  const TableRef table = MakeTable(types, DrawRows(types, 3, 50000, 1, 5));
  for (JoinForm form : kForms) {
    RunState run;
    run.budget = std::make_shared<MemoryBudget>(500000);
    const auto index = JoinIndex::Build(KeysOf(types, false), *table, run, kOptions, 0, form);
    EXPECT_EQ(index.status().code(), absl::StatusCode::kResourceExhausted) << int(form);
    EXPECT_EQ(run.budget->used(), 0);
  }
}

TEST(FanOutTest, HotKeysAreExpected) {
  EXPECT_EQ((FanOut{}.Expected()), 0);
  EXPECT_EQ((FanOut{10, 10, 10}.Expected()), 1);
  EXPECT_EQ((FanOut{10, 40, 160}.Expected()), 4);
  FanOut hot{1, 90, 8100};
  hot.Add({10, 10, 10});
  EXPECT_EQ(hot.Expected(), 81.1);
  EXPECT_EQ((FanOut{1000000, 2000000, 1e12}.Expected()), 512);  // at most 256 times the mean
}

// Parts that have no room make way for one table.
TEST(JoinIndexTest, PartsWithoutRoomAreOneTable) {
  const std::vector<TypeId> types = {TypeId::kInt64};
  const auto build = DrawRows(types, 3, 50000, int64_t{1} << 40, 6);
  const TableRef table = MakeTable(types, build);
  int64_t peaks[2];
  for (JoinForm form : {JoinForm::kTable, JoinForm::kParts}) {
    RunState run;
    run.budget = std::make_shared<MemoryBudget>();
    ASSERT_TRUE(JoinIndex::Build(KeysOf(types, false), *table, run, kOptions, 0, form).ok());
    peaks[form == JoinForm::kParts ? 1 : 0] = run.budget->peak();
  }
  ASSERT_LT(peaks[0], peaks[1]);
  RunState run;
  run.budget = std::make_shared<MemoryBudget>(peaks[0]);
  const auto index =
      JoinIndex::Build(KeysOf(types, false), *table, run, kOptions, 0, JoinForm::kParts);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->num_keys(), 50000);
}

}  // namespace
}  // namespace adjoin
