// Sampled products: when programs have them, in values and in derivatives, and random ones against
// hash joins and group-bys.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

constexpr char kCells[] =
    "SELECT r.i, r.j, SUM(r.w * u.x * v.x) AS y FROM r JOIN u ON u.i = r.i JOIN v ON v.j = r.j AND "
    "v.k = u.k GROUP BY r.i, r.j";

std::string Gradient(const std::string& of) {
  const std::string column = of == "r" ? "w" : "x";
  const std::string keys = of == "r" ? "i, j" : of == "u" ? "i, k" : "j, k";
  return absl::StrCat("WITH y AS (", std::string(kCells),
                      "), f AS (SELECT SUM(y * y) AS l FROM y) SELECT ", keys, ", grad(f, ", column,
                      ") AS d FROM ", of);
}

class SampledProductTest : public ConnectionTest {
 protected:
  // Factors of `k` columns that lack some rows, and cells at every 7th place or so. `value`: of n.
  void MakeFactors(int rows, int columns, int k, const std::string& value) {
    const auto fill = [&](const std::string& name, const std::string& keys,
                          const std::string& types, int a, int b, const std::string& where) {
      Run(absl::StrCat("DROP TABLE IF EXISTS ", name, "; CREATE TABLE ", name, " (", types,
                       "); INSERT INTO ", name, " SELECT ", keys, ", ", value,
                       " FROM (SELECT a, b, a * 1009 + b AS n FROM generate_series(0, ", a - 1,
                       ") AS s(a) CROSS JOIN generate_series(0, ", b - 1, ") AS t(b)) AS q WHERE ",
                       where));
    };
    const std::string real = "DOUBLE PRECISION, PRIMARY KEY ";
    fill("u", "a * 5 - 7, b", absl::StrCat("i BIGINT, k BIGINT, x ", real, "(i, k)"), rows, k,
         "n % 31 <> 3");
    fill("v", "a * 3 + 1, b", absl::StrCat("j BIGINT, k BIGINT, x ", real, "(j, k)"), columns, k,
         "n % 29 <> 5");
    fill("r", "a * 5 - 7, b * 3 + 1", absl::StrCat("i BIGINT, j BIGINT, w ", real, "(i, j)"), rows,
         columns, "(a * 31 + b * 17) % 7 = 0");
  }
  std::string Plan(const std::string& sql) { return Rows("EXPLAIN " + sql); }
  static int Count(const std::string& text, const std::string& part) {
    return static_cast<int>(std::vector<std::string>(absl::StrSplit(text, part)).size()) - 1;
  }
  std::multiset<std::string> Bag(const std::string& sql) {
    std::multiset<std::string> lines;
    for (auto line : absl::StrSplit(Rows(sql), '\n')) lines.emplace(line);
    return lines;
  }
};

constexpr char kExact[] = "(n * 7 % 23) / 8.0 - 1.0";

TEST_F(SampledProductTest, ValuesAndDerivativesAreProducts) {
  MakeFactors(200, 150, 16, kExact);
  EXPECT_EQ(Count(Plan(kCells), "SampledProduct["), 1);
  // The factors' cotangents are sparse products with the cells', the cells' own is sampled.
  for (const char* factor : {"u", "v"}) {
    const std::string plan = Plan(Gradient(factor));
    const std::string program = plan.substr(plan.find("Sparse products and join filters:"));
    EXPECT_EQ(Count(program, "SampledProduct["), 1) << plan;
    EXPECT_EQ(Count(program, "SparseProduct["), 1) << plan;
    EXPECT_EQ(Count(program, "Contraction["), 0) << plan;
  }
  const std::string plan = Plan(Gradient("r"));
  EXPECT_EQ(Count(plan.substr(plan.find("Sparse products and join filters:")), "SampledProduct["),
            2)
      << plan;
  for (const std::string& sql :
       {std::string(kCells), Gradient("u"), Gradient("v"), Gradient("r")}) {
    Run("SET adjoin.sparse = on");
    const auto product = Bag(sql);
    Run("SET adjoin.sparse = off; SET adjoin.contraction = off");
    EXPECT_EQ(Count(Plan(sql), "Product["), 0);
    EXPECT_EQ(Bag(sql), product) << sql;
    Run("SET adjoin.contraction = on");
  }
}

TEST_F(SampledProductTest, WhatNamesNoRowsIsLeftAlone) {
  MakeFactors(20, 15, 4, kExact);
  for (const char* sql :
       {"SELECT r.i, r.j, SUM(u.x * v.x), COUNT(*) FROM r JOIN u ON u.i = r.i JOIN v ON v.j = r.j "
        "AND v.k = u.k GROUP BY r.i, r.j",
        "SELECT r.i, r.j, SUM(u.x * v.x) FROM r JOIN u ON u.i = r.i JOIN v ON v.j = r.j GROUP BY "
        "r.i, r.j",
        "SELECT r.i, u.k, SUM(u.x * v.x) FROM r JOIN u ON u.i = r.i JOIN v ON v.j = r.j AND v.k = "
        "u.k GROUP BY r.i, u.k",
        "SELECT r.i, r.j, SUM(u.x * v.x / v.k) FROM r JOIN u ON u.i = r.i JOIN v ON v.j = r.j AND "
        "v.k = u.k GROUP BY r.i, r.j"}) {
    EXPECT_EQ(Count(Plan(sql), "SampledProduct["), 0) << sql;
  }
}

TEST_F(SampledProductTest, SameBitsOnAnyNumberOfThreads) {
  MakeFactors(300, 200, 19, "random_normal(5, n)");
  for (const std::string& sql :
       {std::string(kCells), Gradient("u"), Gradient("v"), Gradient("r")}) {
    Run("SET adjoin.threads = 1");
    const std::string alone = Rows(sql);
    EXPECT_GT(alone.size(), 1000u);
    for (const char* threads : {"2", "5"}) {
      Run(absl::StrCat("SET adjoin.threads = ", std::string(threads)));
      EXPECT_EQ(Rows(sql), alone) << sql;
    }
  }
}

TEST_F(SampledProductTest, WhatIsKnownOfKeysIsShared) {
  MakeFactors(200, 150, 16, kExact);
  const int64_t before = database_.memory_used();
  const std::string cells = Rows(kCells);
  const int64_t kept = database_.memory_used();
  EXPECT_GT(kept, before);
  Run("UPDATE u SET x = x + 1; UPDATE u SET x = x - 1");
  Connection other = database_.Connect();
  EXPECT_EQ(RowsOn(other, kCells), cells);
  EXPECT_EQ(database_.memory_used(), kept);
  Run("DROP TABLE v");
  EXPECT_LT(database_.memory_used(), before);
}

// Of values whose sums are exact in any order.
TEST_F(SampledProductTest, RandomOnesAreWhatHashTablesGive) {
  std::mt19937_64 random(11);
  const auto pick = [&](std::vector<std::string> of) { return of[random() % of.size()]; };
  for (int round = 0; round < 60; ++round) {
    const std::string type = pick({"DOUBLE PRECISION", "REAL"});
    for (const std::string name : {"r", "a", "b"}) {
      const auto key = [&](const std::string& as) {
        return absl::StrCat("CASE WHEN n % ", pick({"7", "1000"}), " <> 3 THEN n * ",
                            pick({"3", "5", "11"}), " % ", 1 + random() % 9, " END AS ", as, ", ");
      };
      Run(absl::StrCat("DROP TABLE IF EXISTS ", name, "; CREATE TABLE ", name,
                       " AS SELECT n AS id, ", key("i"), key("j"), key("k"), "CAST(CASE WHEN n % ",
                       pick({"5", "1000"}), " <> 1 THEN n * 11 % 29 / 8.0 - 1.5 END AS ", type,
                       ") AS x FROM generate_series(0, ", 10 + random() % 80, ") AS s(n)"));
    }
    const std::string same = pick({"=", "IS NOT DISTINCT FROM"});
    const std::string between =
        pick({"a.k = b.k", "a.k IS NOT DISTINCT FROM b.k", "a.k = b.k AND a.j = b.i"});
    const std::string keys = pick({"r.id", "r.i", "r.i, r.j", "r.k"});
    const std::string sum =
        pick({"SUM(a.x * b.x)", "SUM(r.x * a.x * b.x)", "SUM(b.x * 2.0 * a.x)"});
    const std::string from =
        random() % 2 == 0
            ? absl::StrCat("r JOIN a ON a.i ", same, " r.i JOIN b ON b.j = r.j AND ", between)
            : absl::StrCat("b JOIN r ON b.j ", same, " r.j JOIN a ON a.i = r.i AND ", between);
    const std::string sql =
        absl::StrCat("SELECT ", keys, ", ", sum, " FROM ", from, " GROUP BY ", keys);
    Run("SET adjoin.sparse = off; SET adjoin.contraction = off; SET adjoin.join_order = off");
    const auto expected = Bag(sql);
    Run("SET adjoin.sparse = on; SET adjoin.contraction = on");
    // The other comparison joins a and b first, where r comes second.
    const bool sampled = Count(Plan(sql), "SampledProduct[") == 1;
    EXPECT_TRUE(sampled || same != "=") << sql << Plan(sql);
    EXPECT_EQ(Bag(sql), expected) << sql;
  }
}

}  // namespace
}  // namespace adjoin::api
