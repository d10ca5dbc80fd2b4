// The training step of every model is a program of arrays that allocates nothing once it is warm.
#include <regex>

#include "absl/strings/str_cat.h"
#include "adjoin/connection.h"
#include "adjoin/database.h"
#include "gtest/gtest.h"
#include "tests/models/model_data.h"
#include "tests/sql/counted_allocations.h"

namespace adjoin::models {
namespace {

class ModelAllocationTest : public testing::TestWithParam<Model> {};

TEST_P(ModelAllocationTest, AWarmStepAllocatesNothing) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "a sanitizer owns operator new";
  const Model& model = GetParam();
  const api::Database database = *api::Database::Open({.threads = 1, .memory_limit = 0});
  api::Connection connection = database.Connect();
  const std::string folder = absl::StrCat("tests/data/models/", model.folder, "/");
  const std::string schema = ReadText(folder + "schema.sql").value();
  ASSERT_TRUE(connection.Execute(schema).ok());
  const std::regex create("CREATE TABLE (\\w+)");
  for (std::sregex_iterator m(schema.begin(), schema.end(), create), end; m != end; ++m) {
    const std::string table = (*m)[1].str();
    const auto loaded =
        connection.Execute(absl::StrCat("COPY ", table, " FROM '" ADJOIN_SOURCE_DIR "/", folder,
                                        table, ".csv' (FORMAT csv, HEADER)"));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
  }
  std::vector<std::string> parameters = model.wrt;
  std::erase(parameters, "x");  // data: it has NULLs
  auto step =
      connection.Prepare(SgdStatement(ReadModelText(model.text).value(), parameters, "0.001"));
  ASSERT_TRUE(step.ok()) << step.status();
  constexpr int kWarmUp = 4, kRuns = 10;
  for (int i = 0; i < kWarmUp; ++i) {
    const auto result = step->Run();
    ASSERT_TRUE(result.ok()) << result.status();
  }
  const int64_t start = g_allocations.load();
  for (int i = 0; i < kRuns; ++i) {
    if (!step->Run().ok()) FAIL();
  }
  EXPECT_EQ(g_allocations.load() - start, 0) << step->Explain();
  EXPECT_EQ(step->stats().plans, 1);
}

INSTANTIATE_TEST_SUITE_P(All, ModelAllocationTest, testing::ValuesIn(Models()),
                         [](const auto& test) { return test.param.folder; });

}  // namespace
}  // namespace adjoin::models
