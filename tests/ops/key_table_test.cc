#include "ops/key_table.h"

#include <limits>
#include <map>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "ops/column_access.h"
#include "ops/pair_groups.h"

namespace adjoin {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(KeyTableTest, FloatsAreNormalised) {
  KeyTable table({TypeId::kFloat64});
  const std::vector<double> keys = {0.0, -0.0, kNan, -kNan, 1.0};
  std::vector<int64_t> ids(5);
  const Vector key{TypeId::kFloat64, keys.data(), nullptr};
  table.FindOrAdd({&key, 1}, 5, ids.data());
  EXPECT_EQ(ids, (std::vector<int64_t>{0, 0, 1, 1, 2}));
}

TEST(KeyTableTest, NullsAreOneKey) {
  for (const TypeId second : {TypeId::kInt32, TypeId::kText}) {
    KeyTable table({TypeId::kInt64, second});
    const std::vector<int64_t> a = {1, 1, 1, 9};
    const std::vector<uint8_t> a_valid = {1, 1, 0, 0};
    const std::vector<int32_t> b = {5, 6, 5, 5};
    const std::vector<std::string_view> text = {"5", "6", "5", "5"};
    const Vector keys[] = {
        {TypeId::kInt64, a.data(), a_valid.data()},
        {second, second == TypeId::kText ? static_cast<const void*>(text.data()) : b.data(),
         nullptr}};
    std::vector<int64_t> ids(4);
    table.FindOrAdd(keys, 4, ids.data());
    EXPECT_EQ(ids, (std::vector<int64_t>{0, 1, 2, 2}));
    BatchArena arena;
    const Vector first = table.Key(0, 0, 3, arena);
    EXPECT_TRUE(first.is_null(2));
    EXPECT_EQ(first.as<int64_t>()[1], 1);
  }
}

TEST(KeyTableTest, EqualDecimalsAreOneKeyAtAnyScale) {
  KeyTable table({TypeId::kDecimal});
  const std::vector<Decimal> keys = {Decimal::Of(110, 2), Decimal::Of(11, 1), Decimal::Of(0, 0),
                                     Decimal::Of(0, 5),   Decimal(),          Decimal::Of(-11, 1)};
  const std::vector<uint8_t> valid = {1, 1, 1, 1, 0, 1};
  const Vector key{TypeId::kDecimal, keys.data(), valid.data()};
  std::vector<int64_t> ids(6);
  table.FindOrAdd({&key, 1}, 6, ids.data());
  EXPECT_EQ(ids, (std::vector<int64_t>{0, 0, 1, 1, 2, 3}));
  BatchArena arena;
  const Vector stored = table.Key(0, 0, 4, arena);
  EXPECT_EQ(stored.as<Decimal>()[0].scale(), 2);  // the first that came
  EXPECT_TRUE(stored.is_null(2));
  const std::vector<Decimal> asked = {Decimal::Of(-110000, 5), Decimal::Of(12, 1), Decimal(),
                                      Decimal::Of(1100, 3)};
  const Vector probe{TypeId::kDecimal, asked.data(), nullptr};
  KeyScratch scratch;
  table.Find({&probe, 1}, 4, ids.data(), scratch);
  EXPECT_EQ(std::vector<int64_t>(ids.begin(), ids.begin() + 4),
            (std::vector<int64_t>{3, -1, 1, 0}));
}

// Ranges that grow up, down and away, against a map: the array must hand over to hashing with its
// ids.
TEST(KeyTableTest, IntegersMatchAMap) {
  std::mt19937_64 random(7);
  for (const int64_t range :
       {int64_t{10}, int64_t{5000}, int64_t{1} << 20, std::numeric_limits<int64_t>::max()}) {
    KeyTable table({TypeId::kInt64});
    std::map<int64_t, int64_t> expected;
    std::vector<int64_t> seen;
    for (int batch = 0; batch < 40; ++batch) {
      std::vector<int64_t> keys(100);
      for (int64_t& key : keys) {
        key = static_cast<int64_t>(random() % static_cast<uint64_t>(range)) *
              (batch % 2 == 0 ? 1 : -1);
      }
      std::vector<int64_t> ids(100);
      const Vector key{TypeId::kInt64, keys.data(), nullptr};
      KeyScratch scratch;
      table.Find({&key, 1}, 100, ids.data(), scratch);
      for (size_t i = 0; i < 100; ++i) {
        const auto it = expected.find(keys[i]);
        EXPECT_EQ(ids[i], it == expected.end() ? -1 : it->second);
      }
      table.FindOrAdd({&key, 1}, 100, ids.data());
      for (size_t i = 0; i < 100; ++i) {
        const auto [it, added] = expected.emplace(keys[i], static_cast<int64_t>(expected.size()));
        if (added) seen.push_back(keys[i]);
        ASSERT_EQ(ids[i], it->second);
      }
    }
    ASSERT_EQ(table.size(), static_cast<int64_t>(expected.size()));
    BatchArena arena;
    const Vector all = table.Key(0, 0, table.size(), arena);
    for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(all.as<int64_t>()[i], seen[i]);
  }
}

// The array of ascending keys grows where they are close, and hands over to hashing where not.
TEST(KeyTableTest, AscendingIntegersKeepTheirIds) {
  for (const int64_t step : {1, 4, 7, 9, 15, 40, 3000}) {
    KeyTable table({TypeId::kInt64});
    std::vector<int64_t> keys(60000), ids(1000), all(60000);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int64_t>(i) * step;
    for (size_t begin = 0; begin < keys.size(); begin += 1000) {
      const Vector key{TypeId::kInt64, keys.data() + begin, nullptr};
      for (int repeat = 0; repeat < 2; ++repeat) {
        table.FindOrAdd({&key, 1}, 1000, ids.data());
        for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(ids[i], static_cast<int64_t>(begin + i));
      }
      KeyScratch scratch;
      const Vector so_far{TypeId::kInt64, keys.data(), nullptr};
      const auto n = static_cast<int64_t>(begin + 1000);
      table.Find({&so_far, 1}, n, all.data(), scratch);
      for (int64_t i = 0; i < n; i += 97) ASSERT_EQ(all[i], i) << step;
      const std::vector<int64_t> absent = {-1, n * step, n * step + (int64_t{1} << 40)};
      const Vector others{TypeId::kInt64, absent.data(), nullptr};
      table.Find({&others, 1}, 3, all.data(), scratch);
      for (int i = 0; i < 3; ++i) ASSERT_EQ(all[i], -1);
    }
    BatchArena arena;
    const Vector stored = table.Key(0, 0, table.size(), arena);
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(stored.as<int64_t>()[i], keys[i]);
  }
}

TEST(KeyTableTest, ExtremeIntegers) {
  KeyTable table({TypeId::kInt64});
  const std::vector<int64_t> keys = {INT64_MAX, INT64_MAX - 1, INT64_MIN, 0, INT64_MIN};
  for (size_t i = 0; i < keys.size(); ++i) {
    int64_t id = -1;
    const Vector key{TypeId::kInt64, &keys[i], nullptr};
    table.FindOrAdd({&key, 1}, 1, &id);
    EXPECT_EQ(id, i == 4 ? 2 : static_cast<int64_t>(i));
  }
}

// Keys that are expected get fields, and an array where they are close, before the first is added.
TEST(KeyTableTest, ExpectedKeysAreFoundAsOthers) {
  std::mt19937_64 random(7);
  for (const int64_t range : {int64_t{10}, int64_t{50000}, int64_t{1} << 40, INT64_MAX}) {
    for (const int64_t nulls_every : {1, 3, 100000}) {
      std::vector<int64_t> values(5000), nearby(5000);
      std::vector<uint8_t> valid(5000);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<int64_t>(random() % static_cast<uint64_t>(range)) - range / 2;
        nearby[i] = values[i] + static_cast<int64_t>(i % 3) - 1;
        valid[i] = (i + 1) % static_cast<size_t>(nulls_every) == 0 ? 0 : 1;
      }
      const Vector keys{TypeId::kInt64, values.data(), valid.data()};
      const Vector asked{TypeId::kInt64, nearby.data(), nullptr};
      KeyTable expecting({TypeId::kInt64}), plain({TypeId::kInt64});
      expecting.Expect({&keys, 1}, 5000);
      for (KeyTable* table : {&expecting, &plain}) {
        std::vector<int64_t> ids(1000);
        for (int64_t begin = 0; begin < 5000; begin += 1000) {
          const Vector slice = Slice(keys, begin);
          table->FindOrAdd({&slice, 1}, 1000, ids.data());
        }
      }
      std::vector<int64_t> ids(5000), expected(5000);
      KeyScratch scratch, plain_scratch;
      expecting.Find({&asked, 1}, 5000, ids.data(), scratch);
      plain.Find({&asked, 1}, 5000, expected.data(), plain_scratch);
      EXPECT_EQ(ids, expected) << range << " " << nulls_every;
      EXPECT_EQ(expecting.size(), plain.size());
    }
  }
}

TEST(KeyTableTest, TextPastOneBatchAndReusedAddresses) {
  KeyTable table({TypeId::kText});
  char buffer[32];
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3000; ++i) {
      const int length =
          std::snprintf(buffer, sizeof(buffer), "key-%d", i);  // always at the same address
      const std::string_view text(buffer, static_cast<size_t>(length));
      int64_t id = -1;
      const Vector key{TypeId::kText, &text, nullptr};
      table.FindOrAdd({&key, 1}, 1, &id);
      ASSERT_EQ(id, i);
    }
  }
  BatchArena arena;
  EXPECT_EQ(table.Key(0, 2999, 1, arena).as<std::string_view>()[0], "key-2999");
}

ColumnRef TextColumn(const std::vector<std::string>& texts) {
  ColumnBuilder builder(TypeId::kText, std::make_shared<MemoryBudget>());
  for (const std::string& text : texts) {
    EXPECT_TRUE(builder.Append(text.empty() ? Value() : Value::Text(text)).ok());
  }
  return *builder.Finish();
}

// Codes of two dictionaries and computed text, in turn, against the same strings without codes.
TEST(KeyTableTest, CodesOfTextFindWhatTheStringsFind) {
  const ColumnRef columns[] = {TextColumn({"a", "b", "", "a", "c", "b"}),
                               TextColumn({"c", "", "d", "a", "d", "e"})};
  const auto without_codes = [](Vector key) {
    key.codes = nullptr, key.column = nullptr;
    return key;
  };
  for (const int num_keys : {1, 2}) {
    const std::vector<TypeId> types(static_cast<size_t>(num_keys), TypeId::kText);
    KeyTable coded(types), plain(types);
    KeyScratch coded_scratch, plain_scratch;
    BatchArena arena;
    for (int round = 0; round < 6; ++round) {
      std::vector<Vector> keys, plain_keys;
      for (int k = 0; k < num_keys; ++k) {
        keys.push_back(ReadColumn(*columns[(round + k) % 2], 0, 6, arena));
        plain_keys.push_back(without_codes(WithViews(keys[k], 6, arena)));
        if (round % 3 == 2) keys[k] = plain_keys[k];
      }
      std::vector<int64_t> ids(6), expected(6);
      coded.Find(keys, 6, ids.data(), coded_scratch);
      plain.Find(plain_keys, 6, expected.data(), plain_scratch);
      EXPECT_EQ(ids, expected);
      coded.FindOrAdd(keys, 6, ids.data());
      plain.FindOrAdd(plain_keys, 6, expected.data());
      EXPECT_EQ(ids, expected);
      coded.Find(keys, 6, ids.data(), coded_scratch);
      EXPECT_EQ(ids, expected);
    }
  }
}

// Packed words must widen, change their number and leave arrays without mixing keys up: several
// keys with ranges that grow in turn, NULLs that come late, against a map of the values.
TEST(KeyTableTest, ManyKeysMatchAMap) {
  std::mt19937_64 random(11);
  for (const int num_keys : {2, 3, 5}) {
    const std::vector<TypeId> all = {TypeId::kInt32, TypeId::kFloat64, TypeId::kInt16,
                                     TypeId::kInt64, TypeId::kFloat32};
    const std::vector<TypeId> types(all.begin(), all.begin() + num_keys);
    KeyTable table(types);
    using Key = std::vector<std::pair<bool, double>>;
    std::map<Key, int64_t> expected;
    KeyScratch scratch;
    for (int batch = 0; batch < 60; ++batch) {
      constexpr int64_t kRows = 64;
      BatchArena arena;
      std::vector<Vector> keys;
      std::vector<Key> rows(kRows);
      for (TypeId type : types) {
        uint8_t* valid = arena.Make<uint8_t>(kRows);
        WithElementType(type, [&](auto zero) {
          using T = decltype(zero);
          if constexpr (std::is_arithmetic_v<T>) {
            T* values = arena.Make<T>(kRows);
            for (int64_t r = 0; r < kRows; ++r) {
              const auto spread = static_cast<int64_t>(random() % 4) << (batch / 4);
              values[r] = static_cast<T>(random() % 2 == 0 ? spread : -spread);
              valid[r] = batch > 20 && random() % 8 == 0 ? 0 : 1;
              rows[r].emplace_back(valid[r] == 0, valid[r] == 0 ? 0 : double(values[r]));
            }
            keys.push_back({type, values, batch > 20 ? valid : nullptr});
          }
        });
      }
      std::vector<int64_t> ids(kRows);
      table.Find(keys, kRows, ids.data(), scratch);
      for (int64_t r = 0; r < kRows; ++r) {
        const auto it = expected.find(rows[r]);
        ASSERT_EQ(ids[r], it == expected.end() ? -1 : it->second);
      }
      table.FindOrAdd(keys, kRows, ids.data());
      for (int64_t r = 0; r < kRows; ++r) {
        const int64_t next = static_cast<int64_t>(expected.size());
        ASSERT_EQ(ids[r], expected.emplace(rows[r], next).first->second);
      }
    }
    ASSERT_EQ(table.size(), static_cast<int64_t>(expected.size()));
    BatchArena arena;
    for (int k = 0; k < num_keys; ++k) {
      const Vector values = table.Key(k, 0, table.size(), arena);
      for (const auto& [key, id] : expected) {
        ASSERT_EQ(values.is_null(id), key[k].first);
        WithElementType(types[k], [&](auto zero) {
          using T = decltype(zero);
          if constexpr (std::is_arithmetic_v<T>) {
            if (key[k].first) return;
            EXPECT_EQ(double(values.as<T>()[id]), key[k].second);
          }
        });
      }
    }
  }
}

// Codes stay the dictionary's until text of another comes.
TEST(KeyTableTest, BorrowedCodesGiveWayToStrings) {
  const ColumnRef one = TextColumn({"x", "a", "b", "", "a"});
  const ColumnRef two = TextColumn({"b", "c", "", "x", "a"});
  for (const bool leave : {false, true}) {
    KeyTable table({TypeId::kText, TypeId::kInt64});
    table.BorrowCodes();
    BatchArena arena;
    const std::vector<int64_t> numbers = {7, 7, 7, 7, 7};
    const Vector number{TypeId::kInt64, numbers.data(), nullptr};
    std::vector<int64_t> ids(5);
    const Vector first[] = {Slice(ReadColumn(*one, 0, 5, arena), 1), number};
    table.FindOrAdd(first, 4, ids.data());
    EXPECT_EQ(ids, (std::vector<int64_t>{0, 1, 2, 0, 0}));
    if (leave) {
      const Vector second[] = {ReadColumn(*two, 0, 5, arena), number};
      table.FindOrAdd(second, 5, ids.data());
      EXPECT_EQ(ids, (std::vector<int64_t>{1, 3, 2, 4, 0}));
    }
    const Vector key = table.Key(0, 0, table.size(), arena);
    EXPECT_EQ(key.codes == nullptr, leave);
    EXPECT_EQ(TextAt(key, 0), "a");
    EXPECT_EQ(TextAt(key, 1), "b");
    EXPECT_TRUE(key.is_null(2));
    if (leave) {
      EXPECT_EQ(TextAt(key, 4), "x");
    }
  }
}

TEST(PairGroupsTest, MatrixHandsOverToHashing) {
  PairGroups pairs(1000);
  std::mt19937_64 random(3);
  std::map<std::pair<int64_t, int64_t>, int64_t> expected;
  for (int batch = 0; batch < 100; ++batch) {
    std::vector<int64_t> left(50), right(50), ids(50);
    for (size_t i = 0; i < 50; ++i) {
      left[i] = static_cast<int64_t>(random() % static_cast<uint64_t>(batch * 100 + 1));
      right[i] = static_cast<int64_t>(random() % 1000);
    }
    pairs.FindOrAdd(left.data(), right.data(), 50, ids.data());
    for (size_t i = 0; i < 50; ++i) {
      const auto id =
          expected.emplace(std::pair(left[i], right[i]), static_cast<int64_t>(expected.size()))
              .first->second;
      ASSERT_EQ(ids[i], id);
      EXPECT_EQ(pairs.left()[static_cast<size_t>(id)], left[i]);
    }
  }
}

}  // namespace
}  // namespace adjoin
