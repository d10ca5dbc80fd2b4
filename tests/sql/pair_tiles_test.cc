// Sums over a list of pairs of leaves run pair by pair: gathers, kernels of pairs of points,
// products and scatters of some pairs at a time, forwards and backwards, in memory that does not
// grow with the list.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "adjoin/database.h"
#include "adjoin/prepared.h"

namespace adjoin::api {
namespace {

constexpr int64_t kLeaves = 80, kPoints = 16;

constexpr char kStep[] = R"(WITH first AS (
  SELECT n.p, u.c, u.m, u.val FROM pair n JOIN x u ON u.leaf = n.a
),
second AS (SELECT n.p, v.c, v.m, v.val FROM pair n JOIN x v ON v.leaf = n.b),
square AS (
  SELECT u.p, u.m AS i, v.m AS j, SUM((u.val - v.val) * (u.val - v.val)) AS val
  FROM first u JOIN second v ON v.p = u.p AND v.c = u.c GROUP BY u.p, u.m, v.m
),
weight AS (SELECT SUM(h) AS w FROM width),
kernel AS (SELECT p, i, j, exp(-0.5 * w * val) AS val FROM square CROSS JOIN weight),
pull AS (
  SELECT k.p, v.c, k.i AS m, SUM(k.val * v.val) AS val
  FROM kernel k JOIN second v ON v.p = k.p AND v.m = k.j GROUP BY k.p, v.c, k.i
),
total AS (
  SELECT n.a AS leaf, t.c, t.m, SUM(t.val) AS val
  FROM pull t JOIN pair n ON n.p = t.p GROUP BY n.a, t.c, t.m
),
loss AS (SELECT SUM(val * val) AS l FROM total),
of_h AS (UPDATE width SET gradient = grad(loss, h))
UPDATE x SET gradient = grad(loss, val))";

struct Settings {
  int threads = 1;
  std::string tile = "on", work_mem = "1MB", inlines = "on";
  int64_t reach = kLeaves;  // of a pair: b - a
};
struct Gradients {
  std::vector<double> x, h;
  int64_t arena_bytes = 0;
  std::string plan;
};

Gradients Differentiate(const Settings& settings) {
  auto database = Database::Open({.threads = settings.threads});
  Connection connection = database->Connect();
  EXPECT_TRUE(connection.Set("adjoin.tile", settings.tile).ok());
  EXPECT_TRUE(connection.Set("adjoin.inline", settings.inlines).ok());
  EXPECT_TRUE(connection.Set("work_mem", settings.work_mem).ok());
  const auto made = connection.Execute(absl::StrReplaceAll(
      R"(CREATE TABLE x (leaf BIGINT, c BIGINT, m BIGINT, val DOUBLE PRECISION,
                         gradient DOUBLE PRECISION, PRIMARY KEY (leaf, c, m));
      INSERT INTO x SELECT l, c, m, sin(l * 100 + c * 17 + m * m), 0
      FROM generate_series(0, $leaves - 1) AS a(l), generate_series(0, 2) AS b(c),
           generate_series(0, $points - 1) AS d(m);
      CREATE TABLE width (id BIGINT PRIMARY KEY, h DOUBLE PRECISION, gradient DOUBLE PRECISION);
      INSERT INTO width VALUES (0, 0.7, 0);
      CREATE TABLE pair (p BIGINT PRIMARY KEY, a BIGINT, b BIGINT);
      INSERT INTO pair SELECT ROW_NUMBER() OVER (ORDER BY a, b) - 1, a, b
      FROM generate_series(0, $leaves - 1) AS f(a), generate_series(0, $leaves - 1) AS g(b)
      WHERE a <= b AND b - a <= $reach)",
      {{"$leaves", absl::StrCat(kLeaves)},
       {"$points", absl::StrCat(kPoints)},
       {"$reach", absl::StrCat(settings.reach)}}));
  EXPECT_TRUE(made.ok()) << made.status();
  Gradients out;
  auto step = connection.Prepare(kStep);
  EXPECT_TRUE(step.ok()) << step.status();
  if (!step.ok()) return out;
  EXPECT_TRUE(step->Run().ok());
  out.arena_bytes = step->stats().arena_bytes;
  out.plan = step->Explain();
  const auto column = [&](const char* table, int number) {
    const auto values = connection.GetTable(table)->column_data<double>(number);
    return std::vector<double>(values->begin(), values->end());
  };
  out.x = column("x", 4);
  out.h = column("width", 2);
  return out;
}

bool IsTiled(const std::string& plan, const std::string& kind) {
  for (size_t at = plan.find(kind); at != std::string::npos; at = plan.find(kind, at + 1)) {
    const std::string line = plan.substr(at, plan.find('\n', at) - at);
    if (line.find("in tiles of") != std::string::npos) return true;
  }
  return false;
}

TEST(PairTilesTest, EveryKindOfStepIsTiled) {
  const std::string plan = Differentiate({}).plan;
  for (const char* kind : {": Gather", ": Map", ": Contract", ": Scatter", ": Reduce"})
    EXPECT_TRUE(IsTiled(plan, kind)) << kind << "\n" << plan;
  EXPECT_EQ(plan.find("GridRows"), std::string::npos) << plan;
}

TEST(PairTilesTest, SameBitsHoweverItRuns) {
  const Gradients one = Differentiate({});
  EXPECT_NE(one.x, std::vector<double>(one.x.size(), 0));
  EXPECT_NE(one.h, std::vector<double>(1, 0));
  for (const Settings& settings :
       {Settings{.threads = 3}, Settings{.tile = "force"}, Settings{.tile = "off"},
        Settings{.work_mem = "64kB"}, Settings{.work_mem = "4GB"},
        Settings{.tile = "off", .work_mem = "4GB"}, Settings{.inlines = "off"}}) {
    SCOPED_TRACE(absl::StrCat(settings.threads, " ", settings.tile, " ", settings.work_mem, " ",
                              settings.inlines));
    const Gradients other = Differentiate(settings);
    EXPECT_EQ(other.x, one.x);
    EXPECT_EQ(other.h, one.h);
  }
}

TEST(PairTilesTest, MemoryDoesNotGrowWithThePairs) {
  const Gradients some = Differentiate({.reach = 30}), all = Differentiate({});
  EXPECT_LT(all.arena_bytes, some.arena_bytes + (int64_t{256} << 10));
  // The kernel of all pairs alone, and what is kept of it for the backward pass within work_mem.
  EXPECT_LT(all.arena_bytes, kLeaves * (kLeaves + 1) / 2 * kPoints * kPoints * 8 / 2);
  EXPECT_GT(Differentiate({.tile = "off", .work_mem = "4GB"}).arena_bytes, 2 * all.arena_bytes);
}

// Groups need no mask while the list has all of them, which is looked at where it has changed.
TEST(PairTilesTest, AListThatNoLongerHasAGroupIsPlannedAnew) {
  auto database = Database::Open({.threads = 1});
  Connection connection = database->Connect();
  ASSERT_TRUE(connection
                  .Execute("CREATE TABLE y (leaf BIGINT PRIMARY KEY, val DOUBLE PRECISION);"
                           "INSERT INTO y VALUES (0, 1), (1, 2), (2, 4);"
                           "CREATE TABLE pair (p BIGINT PRIMARY KEY, a BIGINT, b BIGINT);"
                           "INSERT INTO pair VALUES (0, 0, 1), (1, 1, 2), (2, 2, 2), (3, 0, 2)")
                  .ok());
  auto sums = connection.Prepare(
      "WITH met AS (SELECT n.p, n.a, u.val * v.val AS val FROM pair n JOIN y u ON u.leaf = n.a "
      "JOIN y v ON v.leaf = n.b) SELECT a, SUM(val) AS s FROM met GROUP BY a ORDER BY a");
  ASSERT_TRUE(sums.ok()) << sums.status();
  const auto run = [&] {
    std::vector<double> values;
    const auto result = sums->Run();
    EXPECT_TRUE(result.ok()) << result.status();
    const std::span<const double> sums_of = *result->rows.column_data<double>(1);
    values.assign(sums_of.begin(), sums_of.end());
    return values;
  };
  EXPECT_EQ(run(), (std::vector<double>{6, 8, 16}));
  ASSERT_TRUE(connection.Execute("UPDATE pair SET a = 2 WHERE a = 1").ok());
  EXPECT_EQ(run(), (std::vector<double>{6, 32}));
}

}  // namespace
}  // namespace adjoin::api
