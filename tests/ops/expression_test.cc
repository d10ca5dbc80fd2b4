#include "ops/expression.h"

#include <array>
#include <limits>
#include <optional>
#include <string>

#include "engine/parse_element.h"
#include "engine/status.h"
#include "gtest/gtest.h"
#include "ops/batch.h"
#include "ops/like.h"
#include "ops/scalar_error.h"
#include "ops/text_functions.h"

namespace adjoin {
namespace {

using Id = ExprBuilder::Id;

template <typename T>
Vector Of(TypeId type, const std::vector<T>& values, const std::vector<uint8_t>* valid = nullptr) {
  return {type, values.data(), valid == nullptr ? nullptr : valid->data()};
}

Id Call(ExprBuilder& b, ScalarOp op, Id x, Id y, Id active = ExprBuilder::kAlways) {
  const Id args[] = {x, y};
  return b.Strict(op, b.type(x), b.type(x), args, active);
}

TEST(ExpressionTest, StrictCallsAndTheirNulls) {
  ExprBuilder b;
  b.Output(Call(b, ScalarOp::kAdd, b.Input(0, TypeId::kFloat64), b.Input(1, TypeId::kFloat64)));
  const CompiledExpr expr = std::move(b).Build();
  EXPECT_EQ(expr.input_columns(), (std::vector<int>{0, 1}));
  const std::vector<double> x = {1, 2, 3}, y = {10, 20, 30};
  const std::vector<uint8_t> valid = {1, 0, 1};
  ExprScratch scratch;
  expr.Prepare(scratch, 3, {});
  const std::array inputs = {Of(TypeId::kFloat64, x), Of(TypeId::kFloat64, y)};
  ASSERT_TRUE(expr.Run(scratch, inputs, 3).ok());
  EXPECT_EQ(expr.output(scratch, 0).valid, nullptr);
  EXPECT_EQ(expr.output(scratch, 0).as<double>()[2], 33);
  const std::array with_nulls = {Of(TypeId::kFloat64, x, &valid), Of(TypeId::kFloat64, y)};
  ASSERT_TRUE(expr.Run(scratch, with_nulls, 3).ok());
  EXPECT_TRUE(expr.output(scratch, 0).is_null(1));
  EXPECT_FALSE(expr.output(scratch, 0).is_null(2));
}

TEST(ExpressionTest, WritesIntoTargets) {
  ExprBuilder b;
  const Id x = b.Input(0, TypeId::kFloat64);
  const Id twice = Call(b, ScalarOp::kAdd, x, x);
  b.Output(twice);
  b.Output(twice);
  b.Output(x);
  b.Output(b.Constant(Value::Float(7), TypeId::kFloat64));
  const CompiledExpr expr = std::move(b).Build();
  const std::vector<double> in = {1, 2};
  std::vector<double> out[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
  ExprScratch scratch;
  expr.Prepare(scratch, 2, {});
  const std::array inputs = {Of(TypeId::kFloat64, in)};
  const std::array<void*, 4> targets = {out[0].data(), out[1].data(), out[2].data(), out[3].data()};
  ASSERT_TRUE(expr.Run(scratch, inputs, 2, targets).ok());
  EXPECT_EQ(out[0], (std::vector<double>{2, 4}));
  EXPECT_EQ(out[1], (std::vector<double>{2, 4}));
  EXPECT_EQ(out[2], in);
  EXPECT_EQ(out[3], (std::vector<double>{7, 7}));
}

TEST(ExpressionTest, EqualInstructionsAreOneAndDeadOnesGo) {
  ExprBuilder b;
  const Id x = b.Input(0, TypeId::kInt64);
  const Id a = Call(b, ScalarOp::kMultiply, x, x);
  EXPECT_EQ(a, Call(b, ScalarOp::kMultiply, x, x));
  const Id mask = b.Mask(ExprOpcode::kMaskNull, ExprBuilder::kAlways, x);
  // Where every row is active the value has been checked already.
  EXPECT_EQ(a, Call(b, ScalarOp::kMultiply, x, x, mask));
  const Id masked = Call(b, ScalarOp::kAdd, x, x, mask);
  EXPECT_NE(masked, Call(b, ScalarOp::kAdd, x, x));
  Call(b, ScalarOp::kDivide, x, x);
  b.Output(x);
  const CompiledExpr expr = std::move(b).Build();
  EXPECT_EQ(expr.bytes_per_row(), 0);
  EXPECT_EQ(expr.output_input(0), 0);
}

// TEXT as scans hand it on: codes, which mean nothing under a NULL, and no strings.
struct CodedText {
  explicit CodedText(const std::vector<std::optional<std::string>>& texts) {
    ColumnBuilder builder(TypeId::kText, std::make_shared<MemoryBudget>());
    for (const auto& text : texts) {
      EXPECT_TRUE(builder.Append(text.has_value() ? Value::Text(*text) : Value()).ok());
      valid.push_back(text.has_value() ? 1 : 0);
    }
    column = *builder.Finish();
    for (size_t i = 0; i < texts.size(); ++i)
      codes.push_back(valid[i] != 0 ? column->values<int32_t>()[i] : 1 << 30);
  }
  Vector vector() const {
    return {TypeId::kText, nullptr, column->has_nulls() ? valid.data() : nullptr, codes.data(),
            column.get()};
  }
  ColumnRef column;
  std::vector<int32_t> codes;
  std::vector<uint8_t> valid;
};

TEST(ExpressionTest, PredicatesOfTextByItsCodes) {
  ExprBuilder b;
  const Id s = b.Input(0, TypeId::kText);
  const Id m = b.Constant(Value::Text("m"), TypeId::kText);
  const Id pattern[] = {s, b.Constant(Value::Text("%a_"), TypeId::kText)};
  b.Output(b.Compare(ScalarOp::kEqual, s, m));
  b.Output(b.Compare(ScalarOp::kLess, m, s));
  b.Output(b.Compare(ScalarOp::kLessEqual, s, b.Parameter(0, TypeId::kText)));
  b.Output(b.Rows(&kLike, pattern, ExprBuilder::kAlways));
  b.Output(b.IsNull(s));
  const CompiledExpr expr = std::move(b).Build();
  std::vector<std::optional<std::string>> many = {"bay", "m", std::nullopt, "m", "", "zap", "bay"};
  std::vector<std::optional<std::string>> large = many;  // a dictionary too large for it
  for (int i = 0; i < (1 << 16); ++i) large.push_back(std::to_string(i));
  ExprScratch scratch;
  for (const char* parameter : {"b", "n", "zz"}) {
    const std::array parameters = {Value::Text(parameter)};
    expr.Prepare(scratch, 7, parameters);
    // The same rows by codes, by codes of other dictionaries, and as strings.
    const CodedText coded(many), other({"zap", "m", "a", "bay", std::nullopt, "m", "x"}),
        of_large(large);
    std::vector<std::string_view> views;
    for (const auto& text : many)
      views.push_back(text.has_value() ? std::string_view(*text) : std::string_view());
    const std::vector<uint8_t> valid = {1, 1, 0, 1, 1, 1, 1};
    const std::array inputs = {coded.vector(), other.vector(), of_large.vector(), coded.vector(),
                               Of(TypeId::kText, views, &valid)};
    for (size_t k = 0; k < inputs.size(); ++k) {
      ASSERT_TRUE(expr.Run(scratch, {&inputs[k], 1}, 7).ok());
      for (int64_t i = 0; i < 7; ++i) {
        const Vector& in = inputs[k];
        const bool null = in.is_null(i);
        const std::string_view text = null ? "" : TextAt(in, i);
        const bool expected[] = {text == "m", "m" < text, text <= parameter,
                                 text.size() >= 2 && text[text.size() - 2] == 'a'};
        for (int o = 0; o < 4; ++o) {
          const Vector& out = expr.output(scratch, o);
          EXPECT_EQ(out.is_null(i), null) << k << " " << i << " " << o;
          EXPECT_TRUE(null || (out.as<uint8_t>()[i] != 0) == expected[o])
              << k << " " << i << " " << o;
        }
        EXPECT_EQ(expr.output(scratch, 4).as<uint8_t>()[i] != 0, null);
      }
    }
  }
}

TEST(ExpressionTest, PredicatesByCodesFailOnlyInRowsThatCount) {
  ExprBuilder b;
  const Id s = b.Input(0, TypeId::kText);
  const Id mask = b.Mask(ExprOpcode::kMaskTrue, ExprBuilder::kAlways, b.Input(1, TypeId::kBool));
  const Id pattern[] = {s, b.Constant(Value::Text("a\\"), TypeId::kText)};  // ends in its escape
  b.Output(b.Rows(&kLike, pattern, mask));
  const CompiledExpr expr = std::move(b).Build();
  ExprScratch scratch;
  expr.Prepare(scratch, 3, {});
  const CodedText coded({"ab", std::nullopt, "ac"});
  for (const bool counts : {false, true}) {
    const std::vector<uint8_t> active = {counts ? uint8_t{1} : uint8_t{0}, 1, 0};
    const std::array inputs = {coded.vector(), Of(TypeId::kBool, active)};
    EXPECT_EQ(expr.Run(scratch, inputs, 3).ok(), !counts);
  }
}

TEST(ExpressionTest, ErrorsOnlyInActiveRowsThatAreNotNull) {
  ExprBuilder b;
  const Id x = b.Input(0, TypeId::kInt32);
  const Id zero = b.Constant(Value::Int(0), TypeId::kInt32);
  const Id nonzero = b.Compare(ScalarOp::kNotEqual, x, zero);
  const Id mask = b.Mask(ExprOpcode::kMaskTrue, ExprBuilder::kAlways, nonzero);
  const Id ten = b.Constant(Value::Int(10), TypeId::kInt32);
  b.Output(b.Blend(mask, Call(b, ScalarOp::kDivide, ten, x, mask), zero));
  const CompiledExpr guarded = std::move(b).Build();
  const std::vector<int32_t> in = {5, 0, 0};
  const std::vector<uint8_t> valid = {1, 1, 0};
  ExprScratch scratch;
  guarded.Prepare(scratch, 3, {});
  const std::array inputs = {Of(TypeId::kInt32, in, &valid)};
  ASSERT_TRUE(guarded.Run(scratch, inputs, 3).ok());
  EXPECT_EQ(guarded.output(scratch, 0).as<int32_t>()[0], 2);
  EXPECT_EQ(guarded.output(scratch, 0).as<int32_t>()[1], 0);

  ExprBuilder plain;
  const Id y = plain.Input(0, TypeId::kInt32);
  plain.Output(Call(plain, ScalarOp::kDivide, y, y));
  const CompiledExpr divide = std::move(plain).Build();
  divide.Prepare(scratch, 3, {});
  const absl::Status status = divide.Run(scratch, inputs, 3);
  EXPECT_EQ(SqlStateOf(status), sqlstate::kDivisionByZero);
  const std::vector<uint8_t> only_first = {1, 0, 0};
  const std::array nulls = {Of(TypeId::kInt32, in, &only_first)};
  EXPECT_TRUE(divide.Run(scratch, nulls, 3).ok());
}

TEST(ExpressionTest, ThreeValuedLogic) {
  ExprBuilder b;
  const Id x = b.Input(0, TypeId::kBool);
  const Id y = b.Input(1, TypeId::kBool);
  b.Output(b.And(x, y));
  b.Output(b.Or(x, y));
  const CompiledExpr expr = std::move(b).Build();
  // Rows: every pair of FALSE, TRUE, NULL.
  const std::vector<uint8_t> a = {0, 0, 0, 1, 1, 1, 0, 0, 1}, a_valid = {1, 1, 1, 1, 1, 1, 0, 0, 0};
  const std::vector<uint8_t> c = {0, 1, 0, 0, 1, 1, 0, 1, 0}, c_valid = {1, 1, 0, 1, 1, 0, 1, 1, 0};
  ExprScratch scratch;
  expr.Prepare(scratch, 9, {});
  const std::array inputs = {Of(TypeId::kBool, a, &a_valid), Of(TypeId::kBool, c, &c_valid)};
  ASSERT_TRUE(expr.Run(scratch, inputs, 9).ok());
  const auto text = [&](int output) {
    std::string result;
    const Vector& v = expr.output(scratch, output);
    for (int i = 0; i < 9; ++i) result += v.is_null(i) ? 'n' : v.as<uint8_t>()[i] != 0 ? 't' : 'f';
    return result;
  };
  EXPECT_EQ(text(0), std::string("fff") + "ftn" + "fnn");
  EXPECT_EQ(text(1), std::string("ftn") + "ttt" + "ntn");
}

TEST(ExpressionTest, NullsAreSkippedByGreatestAndAccumulate) {
  ExprBuilder b;
  const Id x = b.Input(0, TypeId::kFloat64);
  const Id y = b.Input(1, TypeId::kFloat64);
  b.Output(b.Greatest(x, y));
  b.Output(b.Least(x, y));
  b.Output(b.Accumulate(x, y, ExprBuilder::kAlways));
  b.Output(b.Coalesce(x, y));
  const CompiledExpr expr = std::move(b).Build();
  const std::vector<double> a = {1, 2, 3, 4}, c = {10, 20, -30, 40};
  const std::vector<uint8_t> a_valid = {1, 0, 1, 0}, c_valid = {1, 1, 0, 0};
  ExprScratch scratch;
  expr.Prepare(scratch, 4, {});
  const std::array inputs = {Of(TypeId::kFloat64, a, &a_valid), Of(TypeId::kFloat64, c, &c_valid)};
  ASSERT_TRUE(expr.Run(scratch, inputs, 4).ok());
  const double expected[4][3] = {{10, 20, 3}, {1, 20, 3}, {11, 20, 3}, {1, 20, 3}};
  for (int o = 0; o < 4; ++o) {
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(expr.output(scratch, o).as<double>()[i], expected[o][i]) << o << i;
    EXPECT_TRUE(expr.output(scratch, o).is_null(3));
    EXPECT_FALSE(expr.output(scratch, o).is_null(1));
  }
}

TEST(ExpressionTest, TextGoesInAndOut) {
  ExprBuilder b;
  const Id s = b.Input(0, TypeId::kText);
  const Id args[] = {s, s};
  b.Output(b.Rows(&kRowFunction<text::Concat>, args, ExprBuilder::kAlways));
  b.Output(
      b.Cast(b.Cast(s, TypeId::kInt64, ExprBuilder::kAlways), TypeId::kText, ExprBuilder::kAlways));
  b.Output(b.Compare(ScalarOp::kLess, s, b.Constant(Value::Text("2"), TypeId::kText)));
  const CompiledExpr expr = std::move(b).Build();
  const std::vector<std::string_view> in = {"12", " -3 "};
  ExprScratch scratch;
  expr.Prepare(scratch, 2, {});
  const std::array inputs = {Of(TypeId::kText, in)};
  ASSERT_TRUE(expr.Run(scratch, inputs, 2).ok());
  EXPECT_EQ(expr.output(scratch, 0).as<std::string_view>()[0], "1212");
  EXPECT_EQ(expr.output(scratch, 1).as<std::string_view>()[1], "-3");
  EXPECT_EQ(expr.output(scratch, 2).as<uint8_t>()[0], 1);
}

TEST(TextCastTest, SpellingsAndErrors) {
  EXPECT_EQ(*ParseText(" +42 ", TypeId::kInt32), Value::Int(42));
  EXPECT_EQ(*ParseText("-1e3", TypeId::kFloat64), Value::Float(-1000));
  EXPECT_EQ(*ParseText("-Infinity", TypeId::kFloat64),
            Value::Float(-std::numeric_limits<double>::infinity()));
  EXPECT_EQ(*ParseText("yes", TypeId::kBool), Value::Bool(true));
  EXPECT_EQ(*ParseText("F", TypeId::kBool), Value::Bool(false));
  const auto message = [](const char* text, TypeId type) {
    return std::string(ParseText(text, type).status().message());
  };
  EXPECT_EQ(message("x", TypeId::kInt32), "invalid input syntax for type integer: \"x\"");
  EXPECT_EQ(message("", TypeId::kInt64), "invalid input syntax for type bigint: \"\"");
  EXPECT_EQ(message("1.5", TypeId::kInt64), "invalid input syntax for type bigint: \"1.5\"");
  EXPECT_EQ(message("70000", TypeId::kInt16), "value \"70000\" is out of range for type smallint");
  EXPECT_EQ(message("1e999", TypeId::kFloat64),
            "\"1e999\" is out of range for type double precision");
  EXPECT_EQ(message("1e-60", TypeId::kFloat32), "\"1e-60\" is out of range for type real");
  EXPECT_EQ(message("o", TypeId::kBool), "invalid input syntax for type boolean: \"o\"");
}

}  // namespace
}  // namespace adjoin
