// The model texts against JAX's losses, gradients and Hessian-vector products.
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/model_data.h"
#include "tests/reference/interpreter.h"

namespace adjoin::models {
namespace {

class ModelTest : public testing::TestWithParam<std::tuple<Model, Variant>> {
 protected:
  void SetUp() override {
    backend_ = MakeBackend(std::get<1>(GetParam())).value();
    const absl::Status loaded = LoadModel(model().folder, *backend_);
    ASSERT_TRUE(loaded.ok()) << loaded;
    text_ = ReadModelText(model().text).value();
  }
  const Model& model() const { return std::get<0>(GetParam()); }

  // The expected rows of a differentiated table: dims, gradient, Hessian-vector product.
  reference::Rows Expected(const std::string& table, size_t dims) {
    std::vector<TypeId> types;
    const Schema schema = backend_->SchemaOf(table).value();
    for (size_t d = 0; d < dims; ++d) types.push_back(schema.fields[d].type);
    types.insert(types.end(), 2, TypeId::kFloat64);
    return ReadCsv(absl::StrCat("tests/data/expected/", model().folder, "/", table, ".csv"), types)
        .value()
        .rows;
  }

  std::string DimsOf(const std::string& table, size_t* count) {
    const Schema schema = backend_->SchemaOf(table).value();
    *count = schema.fields.size() - 1;
    return absl::StrJoin(schema.fields.begin(), schema.fields.end() - 1, ", ",
                         [](std::string* out, const Field& f) { absl::StrAppend(out, f.name); });
  }

  // Compares rows of dims and one value, in any order, with column `column` of the expected rows.
  void ExpectColumn(const reference::Rows& actual, const reference::Rows& expected, size_t dims,
                    size_t column, double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    double largest = 0;
    std::map<reference::Row, Value, reference::RowLess> by_dims;
    for (const reference::Row& row : expected) {
      by_dims[reference::Row(row.begin(), row.begin() + static_cast<int64_t>(dims))] = row[column];
      if (!row[column].is_null()) largest = std::max(largest, std::fabs(row[column].as_float()));
    }
    double worst = 0;
    for (const reference::Row& row : actual) {
      const auto want =
          by_dims.find(reference::Row(row.begin(), row.begin() + static_cast<int64_t>(dims)));
      ASSERT_NE(want, by_dims.end());
      ASSERT_EQ(row.back().is_null(), want->second.is_null());
      if (row.back().is_null()) continue;
      const double error = std::fabs(row.back().as_float() - want->second.as_float());
      if (!(error <= worst)) worst = error;
    }
    EXPECT_LE(worst, tolerance * largest);
  }

  std::unique_ptr<cases::Backend> backend_;
  ModelText text_;
};

TEST_P(ModelTest, Loss) {
  const double expected =
      ReadCsv(absl::StrCat("tests/data/expected/", model().folder, "/loss.csv"), {TypeId::kFloat64})
          .value()
          .rows[0][0]
          .as_float();
  const absl::StatusOr<reference::Rows> rows =
      backend_->Query(absl::StrCat(text_.ctes, "\n", text_.select));
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_NEAR((*rows)[0][0].as_float(), expected, 1e-12 * std::fabs(expected));
}

TEST_P(ModelTest, Gradients) {
  for (const std::string& table : model().wrt) {
    SCOPED_TRACE(table);
    size_t dims = 0;
    const std::string columns = DimsOf(table, &dims);
    const absl::StatusOr<reference::Rows> rows = backend_->Query(
        absl::StrCat(text_.ctes, "\nSELECT ", columns, ", grad(loss, val) AS val FROM ", table));
    ASSERT_TRUE(rows.ok()) << rows.status();
    ExpectColumn(*rows, Expected(table, dims), dims, dims, 1e-11);
  }
}

// One statement updates every table; each new value must be the old one less its own gradient at
// the old values.
TEST_P(ModelTest, AllTablesInOneStep) {
  std::map<std::string, reference::Rows> before;
  for (const std::string& table : model().wrt)
    before[table] = backend_->Query("SELECT * FROM " + table).value();
  const absl::Status step = backend_->Setup(SgdStatement(text_, model().wrt, "0.5"));
  ASSERT_TRUE(step.ok()) << step;
  for (const std::string& table : model().wrt) {
    SCOPED_TRACE(table);
    const reference::Rows after = backend_->Query("SELECT * FROM " + table).value();
    const size_t dims = after[0].size() - 1;
    reference::Rows slopes;
    ASSERT_EQ(after.size(), before[table].size());
    double largest = 0;
    for (size_t r = 0; r < after.size(); ++r) {
      const Value& old = before[table][r].back();
      slopes.push_back(after[r]);
      ASSERT_EQ(old.is_null(), after[r].back().is_null());
      if (old.is_null()) continue;
      largest = std::max(largest, std::fabs(old.as_float()));
      slopes.back().back() = Value::Float((old.as_float() - after[r].back().as_float()) / 0.5);
    }
    // The subtraction loses what the table's values are larger than their gradients.
    const reference::Rows expected = Expected(table, dims);
    double slope = 0;
    for (const reference::Row& row : expected) {
      if (!row[dims].is_null()) slope = std::max(slope, std::fabs(row[dims].as_float()));
    }
    ExpectColumn(slopes, expected, dims, dims, 1e-11 + 1e-14 * largest / slope);
  }
}

// H v by a gradient of a gradient: d/dw of (gradient . constant v).
TEST_P(ModelTest, HessianVectorProducts) {
  for (const std::string& table : model().wrt) {
    SCOPED_TRACE(table);
    size_t dims = 0;
    const std::string columns = DimsOf(table, &dims);
    const absl::StatusOr<reference::Rows> rows = backend_->Query(absl::StrCat(
        text_.ctes, ",\nslope AS (SELECT SUM(grad(loss, val) * stop_gradient(val)) AS l FROM ",
        table, ")\nSELECT ", columns, ", grad(slope, val) AS val FROM ", table));
    ASSERT_TRUE(rows.ok()) << rows.status();
    ExpectColumn(*rows, Expected(table, dims), dims, dims + 1, 1e-10);
  }
}

// The oracle takes minutes for a GPT.
std::vector<std::tuple<Model, Variant>> Runs() {
  std::vector<std::tuple<Model, Variant>> runs;
  for (const Model& m : Models()) {
    for (const Variant& v : AllVariants()) {
      if (!v.config.reference || m.text.rfind("gpt", 0) != 0) runs.emplace_back(m, v);
    }
  }
  return runs;
}

INSTANTIATE_TEST_SUITE_P(All, ModelTest, testing::ValuesIn(Runs()),
                         [](const testing::TestParamInfo<ModelTest::ParamType>& test) {
                           return std::get<0>(test.param).folder + "_" +
                                  std::get<1>(test.param).name;
                         });

}  // namespace
}  // namespace adjoin::models
