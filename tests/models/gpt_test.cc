// The character GPT against JAX's export: losses, activations, gradients, and twenty steps of
// training.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/models/model_data.h"

namespace adjoin::models {
namespace {

struct Parameter {
  std::string name;
  std::vector<std::string> dims;
};

const std::vector<Parameter>& Parameters() {
  static const auto* parameters = new std::vector<Parameter>{{"wte", {"v", "c"}},
                                                             {"wpe", {"t", "c"}},
                                                             {"h0_ln_1", {"c"}},
                                                             {"h0_wq", {"c", "h", "d"}},
                                                             {"h0_wk", {"c", "h", "d"}},
                                                             {"h0_wv", {"c", "h", "d"}},
                                                             {"h0_wo", {"h", "d", "c"}},
                                                             {"h0_ln_2", {"c"}},
                                                             {"h0_w_fc", {"c", "f"}},
                                                             {"h0_w_proj", {"f", "c"}},
                                                             {"ln_f", {"c"}}};
  return *parameters;
}

class GptTest : public testing::TestWithParam<std::tuple<std::string, Variant>> {
 protected:
  void SetUp() override {
    backend_ = MakeBackend(std::get<1>(GetParam())).value();
    text_ = ReadModelText("gpt_tied").value();
    const absl::Status made = backend_->Setup(
        "CREATE TABLE batch (b BIGINT, t BIGINT, token BIGINT, target BIGINT, PRIMARY KEY (b, "
        "t));");
    ASSERT_TRUE(made.ok()) << made;
    x_ = ReadArray(folder() + "batch/x.npy").value();
    y_ = ReadArray(folder() + "batch/y.npy").value();
    SetBatch(0);
    for (const Parameter& p : Parameters()) {
      Schema schema;
      for (const std::string& dim : p.dims) {
        schema.dims.push_back(static_cast<int>(schema.fields.size()));
        schema.fields.push_back({dim, TypeId::kInt64, true});
      }
      schema.fields.push_back({"val", TypeId::kFloat64});
      const absl::Status created =
          backend_->CreateTable(p.name, schema, CellsOf(Read("init", p.name)));
      ASSERT_TRUE(created.ok()) << created;
    }
  }

  std::string folder() const { return std::get<0>(GetParam()) + "/"; }
  Array Read(const std::string& role, const std::string& name) const {
    return ReadArray(absl::StrCat(folder(), role, "/", name, ".npy")).value();
  }

  // The base size by hash joins takes seconds a step.
  bool slow() const {
    return folder() == "gpt_base/" && std::get<1>(GetParam()).name == "grid_off";
  }

  // Row s of the batches becomes the batch table.
  void SetBatch(int64_t s) {
    const int64_t rows = x_.shape[1], width = x_.shape[2];
    reference::Rows batch;
    for (int64_t b = 0; b < rows; ++b) {
      for (int64_t t = 0; t < width; ++t) {
        const size_t at = static_cast<size_t>((s * rows + b) * width + t);
        batch.push_back({Value::Int(b), Value::Int(t),
                         Value::Int(static_cast<int64_t>(x_.values[at])),
                         Value::Int(static_cast<int64_t>(y_.values[at]))});
      }
    }
    const absl::Status replaced = backend_->ReplaceTable("batch", batch);
    ASSERT_TRUE(replaced.ok()) << replaced;
  }

  double Loss() {
    return backend_->Query(absl::StrCat(text_.ctes, "\n", text_.select)).value()[0][0].as_float();
  }

  // Places rows of dims and a value into an array of `like`'s shape; cells without a row are 0.
  static std::vector<double> Dense(const reference::Rows& rows, const Array& like) {
    std::vector<double> out(like.values.size(), 0.0);
    for (const reference::Row& row : rows) {
      int64_t at = 0;
      for (size_t d = 0; d < like.shape.size(); ++d) at = at * like.shape[d] + row[d].as_int();
      out[static_cast<size_t>(at)] = row.back().as_float();
    }
    return out;
  }

  void ExpectRelation(const std::string& select, const Array& expected, double tolerance) {
    const absl::StatusOr<reference::Rows> rows =
        backend_->Query(absl::StrCat(text_.ctes, "\n", select));
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_LE(LargestDifference(Dense(*rows, expected), expected.values),
              tolerance * expected.largest());
  }

  void ExpectParameters(const std::string& role) {
    for (const Parameter& p : Parameters()) {
      SCOPED_TRACE(absl::StrCat(role, " ", p.name));
      const Array expected = Read(role, p.name);
      const reference::Rows rows = backend_->Query("SELECT * FROM " + p.name).value();
      ASSERT_EQ(rows.size(), expected.values.size());
      EXPECT_LE(LargestDifference(Dense(rows, expected), expected.values),
                1e-10 * expected.largest());
    }
  }

  std::unique_ptr<cases::Backend> backend_;
  ModelText text_;
  Array x_, y_;
};

TEST_P(GptTest, LossAndLogits) {
  const double expected = Read("out", "losses").values[0];
  EXPECT_NEAR(Loss(), expected, 1e-13 * expected);
  ExpectRelation("SELECT b, t, v, val FROM logits", Read("out", "logits"), 1e-12);
}

TEST_P(GptTest, Activations) {
  if (folder() != "gpt_small/") GTEST_SKIP() << "only the small size has activations";
  struct Activation {
    const char* file;
    const char* select;
  };
  const Activation activations[] = {
      {"x0", "SELECT b, t, c, val FROM x0"},     {"h0_n1", "SELECT b, t, c, val FROM n1"},
      {"h0_q", "SELECT b, h, t, d, val FROM q"}, {"h0_k", "SELECT b, h, t, d, val FROM k"},
      {"h0_v", "SELECT b, h, t, d, val FROM v"}, {"h0_att", "SELECT b, h, i, j, val FROM att"},
      {"h0_o", "SELECT b, h, t, d, val FROM o"}, {"h0_x1", "SELECT b, t, c, val FROM x1"},
      {"h0_n2", "SELECT b, t, c, val FROM n2"},  {"h0_u", "SELECT b, t, f, val FROM u"},
      {"h0_g", "SELECT b, t, f, val FROM gelu"}, {"h0_x2", "SELECT b, t, c, val FROM x2"},
      {"n_f", "SELECT b, t, c, val FROM n3"}};
  for (const Activation& a : activations) {
    SCOPED_TRACE(a.file);
    ExpectRelation(a.select, Read("act", a.file), 1e-12);
  }
}

TEST_P(GptTest, Gradients) {
  if (slow()) GTEST_SKIP() << "the step below has every gradient in one backward pass";
  for (const Parameter& p : Parameters()) {
    SCOPED_TRACE(p.name);
    ExpectRelation(absl::StrCat("SELECT ", absl::StrJoin(p.dims, ", "),
                                ", grad(loss, val) AS val FROM ", p.name),
                   Read("grad", p.name), 1e-11);
  }
}

TEST_P(GptTest, TwentyStepsOfOnePreparedStatement) {
  std::vector<std::string> names;
  for (const Parameter& p : Parameters()) names.push_back(p.name);
  const absl::Status prepared = backend_->Prepare("step", SgdStatement(text_, names, "0.1"));
  ASSERT_TRUE(prepared.ok()) << prepared;
  const Array losses = Read("out", "losses");
  const int64_t steps = slow() ? 1 : 20;
  for (int64_t s = 0; s < steps; ++s) {
    SetBatch(s);
    EXPECT_NEAR(Loss(), losses.values[static_cast<size_t>(s)], 1e-10) << "before step " << s;
    const auto step = backend_->Execute("step");
    ASSERT_TRUE(step.ok()) << step.status();
    if (s == 0) ExpectParameters("after_1");
  }
  if (slow()) return;
  ExpectParameters("after_20");
  SetBatch(0);
  EXPECT_NEAR(Loss(), losses.values[20], 1e-10);
}

std::vector<Variant> Named(const std::vector<std::string>& names) {
  std::vector<Variant> out;
  for (const Variant& v : AllVariants()) {
    for (const std::string& name : names) {
      if (v.name == name) out.push_back(v);
    }
  }
  return out;
}

std::string TestName(const testing::TestParamInfo<GptTest::ParamType>& test) {
  return std::get<1>(test.param).name;
}

INSTANTIATE_TEST_SUITE_P(
    Small, GptTest,
    testing::Combine(testing::Values("gpt_small"),
                     testing::ValuesIn(Named({"engine", "grid_off", "contraction_off", "inline_off",
                                              "tile_force", "stack_force", "threads_4"}))),
    TestName);
INSTANTIATE_TEST_SUITE_P(Base, GptTest,
                         testing::Combine(testing::Values("gpt_base"),
                                          testing::ValuesIn(Named({"engine", "grid_off",
                                                                   "threads_4"}))),
                         TestName);

}  // namespace
}  // namespace adjoin::models
