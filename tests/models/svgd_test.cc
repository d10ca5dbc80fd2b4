// The partition, the update and the gradients of examples/svgd against those of JAX.
#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/models/model_data.h"

namespace adjoin::models {
namespace {

struct Case {
  std::string folder;
  int leaf_size;
  double theta, loss, grad_h;  // of tests/data/svgd/README.md
  bool all_near;
};

const Case kAllNear{"n512_d3", 32, 0.5, 0.2578725140167801, 1.671150706873878, true};
const Case kMostFar{"n1500_d3", 8, 0.7, 0.4806594621989992, 4.206896277253611, false};

constexpr char kIds[] = "JOIN placed t ON t.leaf = p.leaf AND t.m = p.m ";

std::vector<double> Column(const reference::Rows& rows, size_t column) {
  std::vector<double> values;
  for (const reference::Row& row : rows) {
    const Value& value = row[column];
    values.push_back(value.is_float() ? value.as_float() : static_cast<double>(value.as_int()));
  }
  return values;
}

double RelativeError(const std::vector<double>& actual, const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return NAN;
  double error = 0, size = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    error += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

class Particles {
 public:
  Particles(const Case& which, int threads, std::map<std::string, std::string> settings)
      : case_(which) {
    cases::Config config;
    config.threads = threads;
    config.settings = std::move(settings);
    backend_ = MakeBackend({"engine", config}).value();
    for (const char* name : {"x", "s"}) {
      const Schema schema{
          {{"i", TypeId::kInt64, true}, {"c", TypeId::kInt64, true}, {"val", TypeId::kFloat64}},
          {0, 1}};
      Check(backend_->CreateTable(name, schema, CellsOf(Read(name))));
    }
    Setup(
        absl::StrCat("CREATE TABLE partition_by (leaf_size BIGINT, theta DOUBLE PRECISION);"
                     "INSERT INTO partition_by VALUES (",
                     which.leaf_size, ", ", which.theta,
                     ");"
                     "CREATE TABLE bandwidth (id BIGINT PRIMARY KEY, h DOUBLE PRECISION);"
                     "INSERT INTO bandwidth VALUES (0, 0.5);"));
    for (const char* file : {"partition", "particles", "stein"}) {
      Setup(ReadText(absl::StrCat("examples/svgd/", file, ".sql")).value());
    }
  }
  reference::Rows Query(const std::string& sql) {
    const absl::StatusOr<reference::Rows> rows = backend_->Query(sql);
    Check(rows.status());
    return rows.ok() ? *rows : reference::Rows{};
  }
  reference::Rows Phi() {
    return Query(absl::StrCat("SELECT t.i, p.c, p.val FROM phi p ", kIds, "ORDER BY t.i, p.c"));
  }
  reference::Rows Gradients() {
    return Query(absl::StrCat(
        "WITH p AS (SELECT leaf, c, m, grad(objective, x) AS dx, grad(objective, s) AS ds "
        "FROM particle) SELECT t.i, p.c, p.dx, p.ds FROM p ",
        kIds, "ORDER BY t.i, p.c"));
  }
  double GradH() { return Column(Query("SELECT grad(objective, h) FROM bandwidth"), 0).at(0); }
  double Pairs() { return Column(Query("SELECT COUNT(*) FROM near_pair"), 0).at(0); }
  // Of the gradient in x; -1: EXPLAIN does not say.
  int64_t ArenaBytes() {
    for (const reference::Row& row :
         Query("EXPLAIN SELECT leaf, c, m, grad(objective, x) AS d FROM particle")) {
      const std::string line(row[0].as_text());
      const size_t end = line.find(" bytes of arena");
      if (end == std::string::npos) continue;
      const size_t first = line.rfind(' ', end - 1) + 1;
      int64_t bytes = -1;
      EXPECT_TRUE(absl::SimpleAtoi(line.substr(first, end - first), &bytes)) << line;
      return bytes;
    }
    return -1;
  }
  Array Read(const std::string& name) const {
    return ReadArray(absl::StrCat("svgd/", case_.folder, "/", name, ".npy")).value();
  }

 private:
  static void Check(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }
  void Setup(const std::string& sql) { Check(backend_->Setup(sql)); }

  Case case_;
  std::unique_ptr<cases::Backend> backend_;
};

class SvgdTest : public testing::TestWithParam<Case> {};

TEST_P(SvgdTest, Partition) {
  Particles particles(GetParam(), 1, {});
  EXPECT_EQ(Column(particles.Query("SELECT i FROM slot ORDER BY slot"), 0),
            particles.Read("order").values);
  EXPECT_EQ(Column(particles.Query("SELECT leaf FROM slot ORDER BY i"), 0),
            particles.Read("leaf").values);
  const reference::Rows near = particles.Query("SELECT a, b FROM near WHERE a < b ORDER BY a, b");
  EXPECT_EQ(Column(near, 0), particles.Read("near_a").values);
  EXPECT_EQ(Column(near, 1), particles.Read("near_b").values);
  const reference::Rows far = particles.Query(
      "SELECT a_low, a_high, b_low, b_high FROM far ORDER BY a_low, a_high, b_low, b_high");
  const std::vector<double>& expected = particles.Read("far_slot_ranges").values;
  std::vector<std::vector<double>> ranges, actual;
  for (size_t i = 0; i < expected.size(); i += 4) {
    ranges.emplace_back(expected.begin() + static_cast<int64_t>(i),
                        expected.begin() + static_cast<int64_t>(i) + 4);
  }
  for (const reference::Row& row : far) {
    std::vector<double> range;
    for (const Value& value : row) range.push_back(static_cast<double>(value.as_int()));
    actual.push_back(range);
  }
  std::sort(ranges.begin(), ranges.end());
  EXPECT_EQ(actual, ranges);
}

TEST_P(SvgdTest, UpdateAndGradients) {
  Particles particles(GetParam(), 1, {});
  const double loss = Column(particles.Query("SELECT l FROM objective"), 0).at(0);
  EXPECT_NEAR(loss, GetParam().loss, 1e-12 * GetParam().loss);
  const std::vector<double> phi = Column(particles.Phi(), 2);
  EXPECT_LE(RelativeError(phi, particles.Read("phi_near").values), 1e-12);
  if (GetParam().all_near) {
    EXPECT_LE(RelativeError(phi, particles.Read("phi_exact").values), 1e-14);
  }
  const reference::Rows gradients = particles.Gradients();
  EXPECT_LE(RelativeError(Column(gradients, 2), particles.Read("grad_x_near").values), 1e-12);
  EXPECT_LE(RelativeError(Column(gradients, 3), particles.Read("grad_s_near").values), 1e-12);
  EXPECT_NEAR(particles.GradH(), GetParam().grad_h, 1e-12 * GetParam().grad_h);
}

TEST_P(SvgdTest, SameBitsUnderThreadsAndMorsels) {
  Particles one(GetParam(), 1, {});
  const reference::Rows phi = one.Phi(), gradients = one.Gradients();
  const double grad_h = one.GradH();
  const std::map<std::string, std::string> small{{"adjoin.batch_rows", "3"},
                                                 {"adjoin.morsel_rows", "50"}};
  for (int threads : {1, 2, 4}) {
    SCOPED_TRACE(absl::StrCat(threads, " threads"));
    Particles other(GetParam(), threads, threads == 2 ? small : decltype(small){});
    EXPECT_EQ(Column(other.Phi(), 2), Column(phi, 2));
    const reference::Rows others = other.Gradients();
    EXPECT_EQ(Column(others, 2), Column(gradients, 2));
    EXPECT_EQ(Column(others, 3), Column(gradients, 3));
    EXPECT_EQ(other.GradH(), grad_h);
  }
}

// What is kept for the backward pass, and which steps run by tiles, changes no bit.
TEST_P(SvgdTest, SameBitsUnderBudgetsAndTiles) {
  Particles large(GetParam(), 1, {});
  const reference::Rows phi = large.Phi(), gradients = large.Gradients();
  const double grad_h = large.GradH();
  using Settings = std::map<std::string, std::string>;
  for (const Settings& settings :
       {Settings{{"work_mem", "64kB"}}, Settings{{"work_mem", "1MB"}},
        Settings{{"work_mem", "4GB"}}, Settings{{"adjoin.tile", "force"}},
        Settings{{"adjoin.tile", "off"}}, Settings{{"adjoin.tile", "force"}, {"work_mem", "64kB"}},
        Settings{{"adjoin.inline", "off"}}}) {
    SCOPED_TRACE(absl::StrJoin(settings, ", ", absl::PairFormatter(" = ")));
    Particles other(GetParam(), 4, settings);
    EXPECT_EQ(Column(other.Phi(), 2), Column(phi, 2));
    const reference::Rows others = other.Gradients();
    EXPECT_EQ(Column(others, 2), Column(gradients, 2));
    EXPECT_EQ(Column(others, 3), Column(gradients, 3));
    EXPECT_EQ(other.GradH(), grad_h);
  }
}

// 17766 pairs of leaves instead of some thousands.
TEST(SvgdMemoryTest, DoesNotGrowWithThePairs) {
  const std::map<std::string, std::string> budget{{"work_mem", "1MB"}};
  Particles all({"n1500_d3", 8, 0.0, 0, 0, true}, 1, budget);
  Particles some({"n1500_d3", 8, 0.7, 0, 0, false}, 1, budget);
  const int64_t pairs = static_cast<int64_t>(all.Pairs()),
                fewer = static_cast<int64_t>(some.Pairs());
  EXPECT_EQ(pairs, 188 * 189 / 2);
  EXPECT_LT(fewer, pairs * 3 / 4);
  EXPECT_GT(some.ArenaBytes(), 0);
  EXPECT_LE(all.ArenaBytes(), some.ArenaBytes() + (int64_t{64} << 10));
  EXPECT_LE(all.ArenaBytes(), int64_t{1} << 20);  // one array of all pairs of particles: 9 MB
}

INSTANTIATE_TEST_SUITE_P(Cases, SvgdTest, testing::Values(kAllNear, kMostFar),
                         [](const auto& which) { return which.param.folder; });

}  // namespace
}  // namespace adjoin::models
