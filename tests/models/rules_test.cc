// Every model's training step with each rule of the planner of steps in another position: the same
// values, to the bit where a rule changes no order of sums.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/models/model_data.h"

namespace adjoin::models {
namespace {

struct Setting {
  const char *rule, *value;
  bool same_bits;  // what a rule does not change the sums of
};
constexpr Setting kSettings[] = {{"stage", "off", true},  {"stage", "force", true},
                                 {"store", "off", false}, {"store", "force", false},
                                 {"share", "off", false}, {"inline", "off", false},
                                 {"tile", "force", false}};

class RulesTest : public testing::TestWithParam<Model> {
 protected:
  // What two steps leave in the tables that they train.
  std::vector<std::vector<double>> Train(const std::map<std::string, std::string>& settings) {
    cases::Config config;
    config.threads = 2;
    config.settings = settings;
    const auto backend = cases::MakeEngineBackend(config, config.threads, std::nullopt).value();
    EXPECT_TRUE(LoadModel(GetParam().folder, *backend).ok());
    const ModelText text = ReadModelText(GetParam().text).value();
    std::vector<std::string> tables = GetParam().wrt;
    std::erase(tables, "x");  // data
    for (int i = 0; i < 2; ++i) {
      const absl::Status done = backend->Setup(SgdStatement(text, tables, "0.001"));
      EXPECT_TRUE(done.ok()) << done;
    }
    std::vector<std::vector<double>> left;
    for (const std::string& table : tables) {
      left.emplace_back();
      const reference::Rows rows = backend->Query("SELECT * FROM " + table).value();
      for (const reference::Row& row : rows) left.back().push_back(row.back().as_float());
    }
    return left;
  }
};

TEST_P(RulesTest, KeepResults) {
  const auto expected = Train({});
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(absl::StrCat(setting.rule, " = ", setting.value));
    const auto actual = Train({{absl::StrCat("adjoin.", setting.rule), setting.value}});
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t t = 0; t < expected.size(); ++t) {
      if (setting.same_bits) {
        EXPECT_EQ(actual[t], expected[t]);
      }
      double largest = 0;
      for (double value : expected[t]) largest = std::max(largest, std::fabs(value));
      EXPECT_LE(LargestDifference(actual[t], expected[t]), 1e-14 * largest);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RulesTest, testing::ValuesIn(Models()),
                         [](const auto& test) { return test.param.folder; });

}  // namespace
}  // namespace adjoin::models
