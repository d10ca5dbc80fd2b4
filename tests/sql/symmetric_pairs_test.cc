// Sums over lists of pairs that hold both orders: the same bits whether one of them is computed or
// both, and an error where a list that is declared symmetric is not.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

constexpr int kParticles = 40;

// A part that is the same for both orders, one that changes its sign, behind a division too, and
// one of each side's own; with a column of the list.
constexpr char kForce[] =
    "CREATE VIEW force AS SELECT n.a, SUM(exp(-((u.x - v.x) * (u.x - v.x) + (u.y - v.y) * (u.y - "
    "v.y))) * (n.w * v.s + (u.x - v.x) / (2 + abs(u.y - v.y)) + 1 / (0.1 + (u.x - v.x)))) AS val "
    "FROM near n JOIN particle u ON u.i = n.a JOIN particle v ON v.i = n.b GROUP BY n.a;"
    "CREATE VIEW loss AS SELECT SUM(val * val) AS l FROM force;";
constexpr char kSums[] = "SELECT a, val FROM force ORDER BY a";
constexpr char kGradients[] =
    "SELECT i, grad(loss, x) AS dx, grad(loss, y) AS dy, grad(loss, s) AS ds FROM particle";

class SymmetricPairsTest : public ConnectionTest {
 protected:
  void MakeParticles(const char* type = "DOUBLE PRECISION") {
    Run(absl::StrCat("CREATE TABLE particle (i BIGINT PRIMARY KEY, x ", type, ", y ", type, ", s ",
                     type, ");"));
    Run(
        absl::StrCat("INSERT INTO particle SELECT i, random_normal(1, i), random_normal(2, i), "
                     "random_normal(3, i) FROM generate_series(0, ",
                     kParticles - 1, ") AS a(i)"));
    Run(absl::StrCat("CREATE TABLE near (p BIGINT PRIMARY KEY, a BIGINT, b BIGINT, w ", type, ")"));
    Run(kForce);
  }
  void MakeNear(const Pairs& rows) {
    Run("DELETE FROM near");
    std::string values;
    for (size_t p = 0; p < rows.size(); ++p) {
      absl::StrAppend(&values, p > 0 ? ", (" : "(", p, ", ", rows[p].first, ", ", rows[p].second,
                      ", ", 0.25 + static_cast<double>(p % 7), ")");
    }
    Run("INSERT INTO near VALUES " + values);
  }
  std::string With(const std::string& use, const std::string& sql) {
    Run("SET adjoin.pairs = " + use);
    return Rows(sql);
  }
  bool Applies(const std::string& use, const std::string& sql) {
    return With(use, "EXPLAIN " + sql).find("Rule pairs: near by ") != std::string::npos;
  }
  // Both orders of random pairs and of (a, a), some of them several times; every particle has some.
  static Pairs Symmetric(uint64_t seed) {
    std::mt19937_64 random(seed);
    Pairs rows;
    for (int i = 0; i < kParticles; ++i) {
      for (int k = 0; k < 4; ++k) {
        const int j = static_cast<int>(random() % kParticles);
        rows.emplace_back(i, j);
        if (i != j) rows.emplace_back(j, i);
      }
      if (random() % 2 == 0) rows.emplace_back(i, i);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  // Largest difference of the numbers of two texts, of the largest of all.
  static double Difference(const std::string& left, const std::string& right) {
    const std::vector<double> a = Numbers(left), b = Numbers(right);
    EXPECT_EQ(a.size(), b.size());
    double most = 0, difference = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      most = std::max(most, std::abs(a[i]));
      difference = std::max(difference, std::abs(a[i] - b[i]));
    }
    return difference / most;
  }
  static std::vector<double> Numbers(const std::string& text) {
    std::vector<double> out;
    for (const char* at = text.c_str(); *at != 0;) {
      char* end = nullptr;
      const double value = std::strtod(at, &end);
      if (end != at) out.push_back(value);
      at = end == at ? at + 1 : end;
    }
    return out;
  }
};

TEST_F(SymmetricPairsTest, SameBitsWhereRowsAreInOrder) {
  MakeParticles();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    MakeNear(Symmetric(seed));
    for (const char* sql : {kSums, kGradients}) {
      const std::string off = With("off", sql);
      EXPECT_FALSE(Applies("off", sql));
      EXPECT_TRUE(Applies("force", sql)) << Rows(absl::StrCat("EXPLAIN ", sql));
      EXPECT_EQ(With("on", sql), off) << seed << " " << sql;
      EXPECT_EQ(With("force", sql), off) << seed << " " << sql;
    }
  }
}

TEST_F(SymmetricPairsTest, SameBitsInReal) {
  MakeParticles("REAL");
  MakeNear(Symmetric(50));
  for (const char* sql : {kSums, kGradients}) {
    EXPECT_TRUE(Applies("force", sql));
    EXPECT_EQ(With("force", sql), With("off", sql)) << sql;
  }
}

TEST_F(SymmetricPairsTest, OtherOrdersOnlyWhereForced) {
  MakeParticles();
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Pairs rows = Symmetric(seed);
    std::mt19937_64 random(seed);
    std::shuffle(rows.begin(), rows.end(), random);
    MakeNear(rows);
    for (const char* sql : {kSums, kGradients}) {
      const std::string off = With("off", sql);
      EXPECT_FALSE(Applies("on", sql));
      EXPECT_EQ(With("on", sql), off);
      EXPECT_TRUE(Applies("force", sql));
      EXPECT_LE(Difference(With("force", sql), off), 1e-13) << seed;
    }
    EXPECT_THAT(With("force", absl::StrCat("EXPLAIN ", kSums)),
                testing::HasSubstr("sums in another order"));
  }
}

TEST_F(SymmetricPairsTest, ListsThatAreNotSymmetric) {
  MakeParticles();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Pairs rows = Symmetric(seed);
    std::mt19937_64 random(seed);
    size_t gone = random() % rows.size();
    while (rows[gone].first == rows[gone].second) gone = random() % rows.size();
    rows.erase(rows.begin() + static_cast<ptrdiff_t>(gone));
    MakeNear(rows);
    for (const char* sql : {kSums, kGradients}) {
      EXPECT_FALSE(Applies("on", sql));
      EXPECT_EQ(With("on", sql), With("off", sql));
      EXPECT_THAT(With("force", sql), testing::HasSubstr("relation \"near\" is not symmetric"));
    }
  }
  MakeNear({{0, 0}, {0, 1}, {1, 0}, {1, 2}});
  Run("SET adjoin.pairs = force");
  EXPECT_EQ(Error(kSums),
            "23514 relation \"near\" is not symmetric: of (a, b) it has (1, 2) more often than (2, "
            "1)");
}

TEST_F(SymmetricPairsTest, ListsWithNulls) {
  MakeParticles();
  Pairs rows = Symmetric(3);
  MakeNear(rows);
  Run("UPDATE near SET b = NULL WHERE p % 5 = 0");
  for (const char* sql : {kSums, kGradients}) {
    const std::string off = With("off", sql);
    EXPECT_EQ(With("on", sql), off);
    EXPECT_EQ(With("force", sql), off);
  }
  // NULLs of what is summed are left out for both orders.
  MakeNear(rows);
  Run("UPDATE particle SET x = NULL WHERE i % 7 = 0");
  for (const char* sql : {kSums, kGradients}) {
    EXPECT_EQ(With("on", sql), With("off", sql));
    EXPECT_EQ(With("force", sql), With("off", sql));
  }
}

// A prepared statement looks at the list again where it has changed.
TEST_F(SymmetricPairsTest, ListsThatChange) {
  MakeParticles();
  MakeNear(Symmetric(4));
  Run(absl::StrCat("PREPARE sums AS ", kSums));
  const std::string both = Rows("EXECUTE sums");
  EXPECT_EQ(both, With("off", kSums));
  Run("SET adjoin.pairs = on");
  Run("UPDATE near SET b = a WHERE a < b AND p % 3 = 0");
  const std::string fewer = Rows("EXECUTE sums");
  EXPECT_NE(fewer, both);
  EXPECT_EQ(fewer, With("off", kSums));
  Run("SET adjoin.pairs = force");
  EXPECT_THAT(Error("EXECUTE sums"), testing::HasSubstr("is not symmetric"));
  Run("SET adjoin.pairs = on");
  EXPECT_EQ(Rows("EXECUTE sums"), fewer);
  // A column of the list that is no key.
  MakeNear(Symmetric(4));
  EXPECT_EQ(Rows("EXECUTE sums"), both);
  Run("UPDATE near SET w = w + 1");
  EXPECT_EQ(Rows("EXECUTE sums"), With("off", kSums));
}

TEST_F(SymmetricPairsTest, GradientsAgreeWithDifferences) {
  MakeParticles();
  MakeNear(Symmetric(5));
  Run("SET adjoin.pairs = force");
  constexpr double kStep = 1e-6;
  const auto loss = [&] { return Numbers(Rows("SELECT l FROM loss")).at(0); };
  const std::vector<double> gradients = Numbers(Rows(kGradients));
  for (int i : {0, 7, 23}) {
    for (int c = 0; c < 3; ++c) {
      const char* column = c == 0 ? "x" : c == 1 ? "y" : "s";
      const auto move = [&](double by) {
        Run(absl::StrCat("UPDATE particle SET ", column, " = ", column, " + ", by,
                         " WHERE i = ", i));
      };
      move(kStep);
      const double above = loss();
      move(-2 * kStep);
      const double below = loss();
      move(kStep);
      const double gradient = gradients[static_cast<size_t>(4 * i + 1 + c)];
      EXPECT_NEAR((above - below) / (2 * kStep), gradient, 1e-4 * (1 + std::abs(gradient)))
          << column << " of " << i;
    }
  }
}

// What is read by row of the list, or added up as a whole, is not for pairs.
TEST_F(SymmetricPairsTest, WhatReadsTheListByRow) {
  MakeParticles();
  MakeNear(Symmetric(6));
  Run("CREATE VIEW total AS SELECT SUM(exp(-(u.x - v.x) * (u.x - v.x))) AS t FROM near n "
      "JOIN particle u ON u.i = n.a JOIN particle v ON v.i = n.b");
  EXPECT_FALSE(Applies("force", "SELECT t FROM total"));
  EXPECT_EQ(With("force", "SELECT t FROM total"), With("off", "SELECT t FROM total"));
}

// Matrices of the particles of two groups: the mirror's is the transposed one.
TEST_F(SymmetricPairsTest, GroupsOfRows) {
  Run("CREATE TABLE x (leaf BIGINT, c BIGINT, m BIGINT, val DOUBLE PRECISION, PRIMARY KEY (leaf, "
      "c, m));"
      "INSERT INTO x SELECT l, c, m, sin(l * 100 + c * 17 + m * m) FROM generate_series(0, 11) AS "
      "a(l), generate_series(0, 2) AS b(c), generate_series(0, 7) AS d(m);"
      "CREATE TABLE near (p BIGINT PRIMARY KEY, a BIGINT, b BIGINT);"
      "INSERT INTO near SELECT ROW_NUMBER() OVER (ORDER BY a, b) - 1, a, b FROM "
      "generate_series(0, 11) AS f(a), generate_series(0, 11) AS g(b) WHERE abs(a - b) <= 4;"
      "CREATE VIEW total AS WITH first AS (SELECT n.p, u.c, u.m, u.val FROM near n JOIN x u ON "
      "u.leaf = n.a), second AS (SELECT n.p, v.c, v.m, v.val FROM near n JOIN x v ON v.leaf = "
      "n.b), square AS (SELECT u.p, u.m AS i, v.m AS j, SUM((u.val - v.val) * (u.val - v.val)) AS "
      "val FROM first u JOIN second v ON v.p = u.p AND v.c = u.c GROUP BY u.p, u.m, v.m), kernel "
      "AS (SELECT p, i, j, exp(-0.5 * val) AS val FROM square), pull AS (SELECT k.p, v.c, k.i AS "
      "m, SUM(k.val * v.val) AS val FROM kernel k JOIN second v ON v.p = k.p AND v.m = k.j GROUP "
      "BY k.p, v.c, k.i) SELECT n.a AS leaf, t.c, t.m, SUM(t.val) AS val FROM pull t JOIN near n "
      "ON n.p = t.p GROUP BY n.a, t.c, t.m;"
      "CREATE VIEW loss AS SELECT SUM(val * val) AS l FROM total;");
  for (const std::string sql :
       {"SELECT leaf, c, m, val FROM total", "SELECT leaf, c, m, grad(loss, val) AS d FROM x"}) {
    const std::string off = With("off", sql);
    // The backward pass would read the transposed kernel in maps.
    EXPECT_EQ(Applies("on", sql), sql.find("grad") == std::string::npos);
    for (const char* setting :
         {"adjoin.threads = 1", "adjoin.tile = force", "adjoin.tile = off", "work_mem = '64kB'",
          "work_mem = '1GB'", "adjoin.inline = off", "adjoin.store = force", "adjoin.share = off",
          "adjoin.stack = force", "adjoin.stage = force", "adjoin.threads = 4"}) {
      Run(absl::StrCat("SET ", setting));
      EXPECT_EQ(With("on", sql), off) << setting << "\n" << sql;
      EXPECT_LE(Difference(With("force", sql), off), 1e-13) << setting << "\n" << sql;
    }
    // The kernel of the other order is read from this one's, not computed.
    const std::string plan = With("force", "EXPLAIN " + sql);
    EXPECT_THAT(plan, testing::HasSubstr("Rule pairs: near by 50 pairs of 88 rows, ")) << plan;
    for (const char* name : {"tile", "inline", "store", "share", "stack", "stage", "threads"})
      Run(absl::StrCat("RESET adjoin.", name));
    Run("RESET work_mem");
  }
}

}  // namespace
}  // namespace adjoin::api
