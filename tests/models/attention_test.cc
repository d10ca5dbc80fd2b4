// One attention head, full and causal, against JAX's weights, output and gradients.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/models/model_data.h"

namespace adjoin::models {
namespace {

constexpr char kHead[] = R"(WITH scores AS (
  SELECT q.i, k.j, SUM(q.val * k.val) / sqrt(COUNT(*)) AS val FROM q JOIN k ON k.d = q.d $MASK GROUP BY q.i, k.j
),
weights AS (SELECT i, j, exp(val - MAX(val) OVER (PARTITION BY i)) AS val FROM scores),
a AS (SELECT i, j, val / SUM(val) OVER (PARTITION BY i) AS val FROM weights),
o AS (SELECT a.i, v.d, SUM(a.val * v.val) AS val FROM a JOIN v ON v.j = a.j GROUP BY a.i, v.d),
loss AS (SELECT SUM(0.5 * val * val) AS l FROM o)
)";

class AttentionTest : public testing::TestWithParam<std::tuple<bool, Variant>> {
 protected:
  void SetUp() override {
    backend_ = MakeBackend(std::get<1>(GetParam())).value();
    for (const char* name : {"q", "k", "v"}) {
      const Schema schema{{{name[0] == 'q' ? "i" : "j", TypeId::kInt64, true},
                           {"d", TypeId::kInt64, true},
                           {"val", TypeId::kFloat64}},
                          {0, 1}};
      const absl::Status created = backend_->CreateTable(name, schema, CellsOf(Read(name)));
      ASSERT_TRUE(created.ok()) << created;
    }
  }
  bool causal() const { return std::get<0>(GetParam()); }
  Array Read(const std::string& name) const {
    return ReadArray(
               absl::StrCat("attention/t64_d32_", causal() ? "causal" : "full", "/", name, ".npy"))
        .value();
  }
  absl::StatusOr<reference::Rows> Query(const std::string& select) {
    std::string sql = kHead;
    sql.replace(sql.find("$MASK"), 5, causal() ? "AND k.j <= q.i" : "");
    return backend_->Query(sql + select);
  }
  void ExpectRelation(const std::string& select, const std::string& file) {
    SCOPED_TRACE(select);
    const Array expected = Read(file);
    const absl::StatusOr<reference::Rows> rows = Query(select);
    ASSERT_TRUE(rows.ok()) << rows.status();
    std::vector<double> actual(expected.values.size(), 0.0);
    for (const reference::Row& row : *rows) {
      actual[static_cast<size_t>(row[0].as_int() * expected.shape[1] + row[1].as_int())] =
          row[2].as_float();
    }
    EXPECT_LE(LargestDifference(actual, expected.values), 1e-12 * expected.largest());
  }
  std::unique_ptr<cases::Backend> backend_;
};

TEST_P(AttentionTest, ValuesAndGradients) {
  const absl::StatusOr<reference::Rows> loss = Query("SELECT l FROM loss");
  ASSERT_TRUE(loss.ok()) << loss.status();
  const double expected = causal() ? 116.631512608552 : 33.5156044630988;
  EXPECT_NEAR((*loss)[0][0].as_float(), expected, 1e-12 * expected);
  ExpectRelation("SELECT i, j, val FROM a", "a");
  ExpectRelation("SELECT i, d, val FROM o", "o");
  ExpectRelation("SELECT i, d, grad(loss, val) FROM q", "grad_q");
  ExpectRelation("SELECT j, d, grad(loss, val) FROM k", "grad_k");
  ExpectRelation("SELECT j, d, grad(loss, val) FROM v", "grad_v");
}

// The loss is half the square of o, so pulling back o itself from o gives the same gradient.
TEST_P(AttentionTest, PullsBackACotangent) {
  ExpectRelation("SELECT i, d, vjp(o, val, o) FROM q", "grad_q");
  ExpectRelation("SELECT j, d, vjp(o, val, o) FROM v", "grad_v");
}

INSTANTIATE_TEST_SUITE_P(All, AttentionTest,
                         testing::Combine(testing::Bool(), testing::ValuesIn(AllVariants())),
                         [](const testing::TestParamInfo<AttentionTest::ParamType>& test) {
                           return absl::StrCat(std::get<0>(test.param) ? "causal_" : "full_",
                                               std::get<1>(test.param).name);
                         });

}  // namespace
}  // namespace adjoin::models
