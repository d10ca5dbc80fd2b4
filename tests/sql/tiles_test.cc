// A long causal attention runs tile by tile: in a fraction of the memory, with the results of its
// steps run whole, and the same bits at every thread count.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "adjoin/database.h"
#include "adjoin/prepared.h"

namespace adjoin::api {
namespace {

constexpr int64_t kPositions = 900, kChannels = 16;

constexpr char kHead[] = R"(WITH scores AS (
  SELECT q.i, k.j, SUM(q.val * k.val) / sqrt(COUNT(*)) AS val
  FROM q JOIN k ON k.d = q.d AND k.j <= q.i GROUP BY q.i, k.j
),
weights AS (SELECT i, j, exp(val - MAX(val) OVER (PARTITION BY i)) AS val FROM scores),
a AS (SELECT i, j, val / SUM(val) OVER (PARTITION BY i) AS val FROM weights),
o AS (SELECT a.i, v.d, SUM(a.val * v.val) AS val FROM a JOIN v ON v.j = a.j GROUP BY a.i, v.d),
loss AS (SELECT SUM(0.5 * val * val) AS l FROM o),
of_q AS (UPDATE q SET gradient = grad(loss, val)),
of_k AS (UPDATE k SET gradient = grad(loss, val))
UPDATE v SET gradient = grad(loss, val))";

struct Gradients {
  std::vector<double> of[3];
  int64_t arena_bytes = 0;
  bool tiled = false;
};

// `infinite`: a value of the last position is infinite, which only the last query sees.
Gradients Differentiate(int threads, const std::string& tile, bool infinite = false) {
  Gradients out;
  auto database = Database::Open({.threads = threads});
  Connection connection = database->Connect();
  EXPECT_TRUE(connection.Set("adjoin.tile", tile).ok());
  for (const char* name : {"q", "k", "v"}) {
    const auto made = connection.Execute(absl::StrReplaceAll(
        "CREATE TABLE $t ($p BIGINT, d BIGINT, val DOUBLE PRECISION, gradient DOUBLE PRECISION, "
        "PRIMARY KEY ($p, d)); INSERT INTO $t SELECT p, d, sin(p * $seed + d * d), 0 FROM "
        "generate_series(0, $last) AS a(p), generate_series(0, $channels) AS b(d)",
        {{"$t", name},
         {"$p", name[0] == 'q' ? "i" : "j"},
         {"$seed", absl::StrCat(static_cast<int>(name[0]))},
         {"$last", absl::StrCat(kPositions - 1)},
         {"$channels", absl::StrCat(kChannels - 1)}}));
    EXPECT_TRUE(made.ok()) << made.status();
  }
  if (infinite) {
    EXPECT_TRUE(connection
                    .Execute(absl::StrCat("UPDATE v SET val = 'Infinity' WHERE d = 0 AND j = ",
                                          kPositions - 1))
                    .ok());
  }
  auto step = connection.Prepare(kHead);
  EXPECT_TRUE(step.ok()) << step.status();
  EXPECT_TRUE(step->Run().ok());
  out.arena_bytes = step->stats().arena_bytes;
  out.tiled = step->Explain().find("in tiles of") != std::string::npos;
  for (int t = 0; t < 3; ++t) {
    const auto table = connection.GetTable(std::string(1, "qkv"[t]));
    const auto values = table->column_data<double>(3);
    out.of[t].assign(values->begin(), values->end());
  }
  return out;
}

TEST(TilesTest, ALongAttentionRunsTileByTile) {
  const Gradients whole = Differentiate(1, "off"), tiled = Differentiate(1, "on");
  EXPECT_FALSE(whole.tiled);
  EXPECT_TRUE(tiled.tiled);
  EXPECT_LT(tiled.arena_bytes, whole.arena_bytes / 3);
  for (int t = 0; t < 3; ++t) {
    double largest = 0;
    for (double x : whole.of[t]) largest = std::max(largest, std::abs(x));
    EXPECT_GT(largest, 0);
    ASSERT_EQ(whole.of[t].size(), static_cast<size_t>(kPositions * kChannels));
    for (size_t i = 0; i < whole.of[t].size(); ++i)
      ASSERT_NEAR(tiled.of[t][i], whole.of[t][i], 1e-12 * largest) << t << " " << i;
  }
}

TEST(TilesTest, TheThreadsDoNotMatter) {
  const Gradients one = Differentiate(1, "on");
  for (int threads : {2, 5}) {
    const Gradients more = Differentiate(threads, "on");
    for (int t = 0; t < 3; ++t) EXPECT_EQ(more.of[t], one.of[t]) << threads << " " << t;
  }
}

// The mask keeps an infinity from the queries before it, whole or by the tile.
TEST(TilesTest, AnInfinityStaysUnderTheMask) {
  const Gradients whole = Differentiate(1, "off", true), tiled = Differentiate(1, "on", true);
  for (int t = 0; t < 3; ++t) {
    int64_t finite = 0;
    for (size_t i = 0; i < whole.of[t].size(); ++i) {
      ASSERT_EQ(std::isfinite(whole.of[t][i]), std::isfinite(tiled.of[t][i])) << t << " " << i;
      finite += std::isfinite(whole.of[t][i]) ? 1 : 0;
    }
    if (t == 0) {
      EXPECT_EQ(finite, (kPositions - 1) * kChannels);
    }
  }
}

}  // namespace
}  // namespace adjoin::api
