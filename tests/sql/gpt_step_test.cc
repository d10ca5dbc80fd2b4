// A whole training step of the GPT as one prepared statement: allocations, bits under threads, and
// the plan's size.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "adjoin/connection.h"
#include "adjoin/database.h"
#include "adjoin/prepared.h"
#include "tests/sql/counted_allocations.h"

namespace adjoin::api {
namespace {

struct Parameter {
  const char* name;
  const char* dims;
};
constexpr Parameter kParameters[] = {{"wte", "v c"},       {"wpe", "t c"},     {"h0_ln_1", "c"},
                                     {"h0_wq", "c h d"},   {"h0_wk", "c h d"}, {"h0_wv", "c h d"},
                                     {"h0_wo", "h d c"},   {"h0_ln_2", "c"},   {"h0_w_fc", "c f"},
                                     {"h0_w_proj", "f c"}, {"ln_f", "c"}};

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string Create(const std::string& name, const std::string& dims, const std::string& file,
                   const std::string& type) {
  const std::string list = Replace(dims, " ", ", ");
  return "CREATE TABLE " + name + " (" + Replace(dims, " ", " BIGINT, ") + " BIGINT, val " + type +
         ", PRIMARY KEY (" + list + "));" + "COPY " + name + " FROM '" + file + "' (FORMAT npy);";
}

// The tables of a reference export, with the batch of step 0.
std::string Tables(const std::string& size, const std::string& type = "DOUBLE PRECISION") {
  const std::string folder = std::string(ADJOIN_SOURCE_DIR) + "/tests/data/gpt_" + size + "/";
  std::string sql;
  for (const Parameter& p : kParameters)
    sql += Create(p.name, p.dims, folder + "init/" + p.name + ".npy", type);
  for (const char* part : {"x", "y"}) {
    sql += std::string("CREATE TABLE all_") + part +
           " (s BIGINT, b BIGINT, t BIGINT, val INTEGER, PRIMARY KEY (s, b, t));" + "COPY all_" +
           part + " FROM '" + folder + "batch/" + part + ".npy' (FORMAT npy);";
  }
  return sql +
         "CREATE TABLE batch (b BIGINT, t BIGINT, token BIGINT, target BIGINT, PRIMARY KEY (b, t));"
         "INSERT INTO batch SELECT x.b, x.t, x.val, y.val FROM all_x x JOIN all_y y ON y.s = x.s "
         "AND y.b = x.b AND "
         "y.t = x.t WHERE x.s = 0;";
}

std::string Step() {
  std::ifstream in(std::string(ADJOIN_SOURCE_DIR) + "/examples/models/gpt_tied.sql");
  std::stringstream text;
  text << in.rdbuf();
  std::string sql = text.str();
  sql.resize(sql.rfind("\nSELECT "));
  for (const Parameter& p : kParameters) {
    const std::string name = p.name,
                      update = "UPDATE " + name + " SET val = val - 0.1 * grad(loss, val)";
    sql += name == "ln_f" ? "\n" + update : ",\nstep_" + name + " AS (" + update + ")";
  }
  return sql;
}

TEST(GptStepTest, AWarmStepAllocatesNothing) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "a sanitizer owns operator new";
  const Database database = *Database::Open({.threads = 1});
  Connection connection = database.Connect();
  const auto made = connection.Execute(Tables("small"));
  ASSERT_TRUE(made.ok()) << made.status();
  auto step = connection.Prepare(Step());
  ASSERT_TRUE(step.ok()) << step.status();
  for (int i = 0; i < 4; ++i) {
    const auto result = step->Run();
    ASSERT_TRUE(result.ok()) << result.status();
  }
  const int64_t before = g_allocations.load();
  for (int i = 0; i < 10; ++i) {
    if (!step->Run().ok()) FAIL();
  }
  EXPECT_EQ(g_allocations.load() - before, 0);
}

// The plan is exact: a lost product or a forward pass that is computed twice shows here first.
TEST(GptStepTest, ThePlanSharesForwardAndBackward) {
  const Database database = *Database::Open({.threads = 1});
  Connection connection = database.Connect();
  ASSERT_TRUE(connection.Execute(Tables("small")).ok());
  auto step = connection.Prepare(Step());
  ASSERT_TRUE(step.ok()) << step.status();
  ASSERT_TRUE(step->Run().ok());
  const std::string plan = step->Explain();
  // 9 products forward (q, k, v, scores, o, y1, u, y2, logits) and two a piece backward.
  EXPECT_NE(plan.find(" 27 contractions"), std::string::npos) << plan;
  EXPECT_NE(plan.find("in place"), std::string::npos);
}

TEST(GptStepTest, TheSameBitsOnAnyNumberOfThreads) {
  std::vector<std::vector<double>> expected;
  for (int threads : {1, 2, 5}) {
    const Database database = *Database::Open({.threads = threads});
    Connection connection = database.Connect();
    ASSERT_TRUE(connection.Execute(Tables("base")).ok());
    auto step = connection.Prepare(Step());
    ASSERT_TRUE(step.ok()) << step.status();
    for (int i = 0; i < 2; ++i) {
      const auto result = step->Run();
      ASSERT_TRUE(result.ok()) << result.status();
    }
    EXPECT_NE(step->Explain().find("  beside "), std::string::npos) << "no steps side by side";
    size_t at = 0;
    for (const Parameter& p : kParameters) {
      const Table table = *connection.GetTable(p.name);
      const auto values = *table.column_data<double>(table.num_columns() - 1);
      if (threads == 1) {
        expected.emplace_back(values.begin(), values.end());
      } else {
        EXPECT_EQ(std::memcmp(values.data(), expected[at].data(), values.size_bytes()), 0)
            << p.name << " on " << threads << " threads";
      }
      ++at;
    }
  }
}

// The values of all parameters after two steps, one after another.
template <typename T>
std::vector<T> TwoSteps(const std::string& size, int threads, const std::string& stack,
                        std::string* plan) {
  std::vector<T> out;
  const Database database = *Database::Open({.threads = threads});
  Connection connection = database.Connect();
  const char* type = sizeof(T) == 4 ? "REAL" : "DOUBLE PRECISION";
  const auto made = connection.Execute(Tables(size, type));
  EXPECT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(connection.Set("adjoin.stack", stack).ok());
  auto step = connection.Prepare(Step());
  EXPECT_TRUE(step.ok()) << step.status();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(step->Run().ok());
  *plan = step->Explain();
  for (const Parameter& p : kParameters) {
    const Table table = *connection.GetTable(p.name);
    const auto values = *table.column_data<T>(table.num_columns() - 1);
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

template <typename T>
void ExpectSameBitsStacked(const std::string& size, const std::vector<int>& threads) {
  std::string plan;
  const std::vector<T> expected = TwoSteps<T>(size, 1, "off", &plan);
  EXPECT_EQ(plan.find(" stacked "), std::string::npos) << plan;
  EXPECT_EQ(plan.find(" summed "), std::string::npos) << plan;
  for (int n : threads) {
    for (const char* stack : {"on", "force"}) {
      const std::vector<T> stacked = TwoSteps<T>(size, n, stack, &plan);
      EXPECT_EQ(std::memcmp(stacked.data(), expected.data(), expected.size() * sizeof(T)), 0)
          << size << " on " << n << " threads, stack = " << stack;
      // Large products are stacked by force alone.
      const bool stacks = size == "small" || std::string_view(stack) == "force";
      EXPECT_EQ(plan.find(" 3 stacked ") != std::string::npos, stacks) << "q, k and v\n" << plan;
      if (size == "small") {  // else it may be in tiles
        EXPECT_NE(plan.find(" 3 summed "), std::string::npos) << "their gradients are\n" << plan;
      }
    }
  }
}

TEST(GptStepTest, StackedItHasTheSameBits) {
  ExpectSameBitsStacked<float>("small", {1, 2, 4});
  ExpectSameBitsStacked<double>("small", {1, 2, 4});
  ExpectSameBitsStacked<float>("base", {1, 4});
  ExpectSameBitsStacked<double>("base", {4});
}

}  // namespace
}  // namespace adjoin::api
