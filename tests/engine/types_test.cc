#include "engine/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "absl/container/flat_hash_set.h"
#include "engine/parse_element.h"
#include "engine/status.h"

namespace adjoin {
namespace {

std::string Double(double v) { return ToText(Value::Float(v), TypeId::kFloat64); }
std::string Real(float v) { return ToText(Value::Float(v), TypeId::kFloat32); }

TEST(ToTextTest, DoublesAsPostgreSql) {
  EXPECT_EQ(Double(0), "0");
  EXPECT_EQ(Double(-0.0), "-0");
  EXPECT_EQ(Double(1), "1");
  EXPECT_EQ(Double(-1.5), "-1.5");
  EXPECT_EQ(Double(0.1), "0.1");
  EXPECT_EQ(Double(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(Double(0.0001), "0.0001");
  EXPECT_EQ(Double(0.00012345), "0.00012345");
  EXPECT_EQ(Double(0.00001), "1e-05");
  EXPECT_EQ(Double(1e120), "1e+120");
  EXPECT_EQ(Double(1e14), "100000000000000");
  EXPECT_EQ(Double(123456789012345.0), "123456789012345");
  EXPECT_EQ(Double(1e15), "1e+15");
  EXPECT_EQ(Double(1234567890123456.0), "1.234567890123456e+15");
  EXPECT_EQ(Double(5e-324), "5e-324");
  EXPECT_EQ(Double(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(Double(NAN), "NaN");
  EXPECT_EQ(Double(INFINITY), "Infinity");
  EXPECT_EQ(Double(-INFINITY), "-Infinity");
}

TEST(ToTextTest, RealsAreTheShortestFloat) {
  EXPECT_EQ(Real(0.1f), "0.1");
  EXPECT_EQ(Real(123456.0f), "123456");
  EXPECT_EQ(Real(1e6f), "1e+06");
  EXPECT_EQ(Real(1234567.0f), "1.234567e+06");
  EXPECT_EQ(Real(0.00001f), "1e-05");
  EXPECT_EQ(Real(3.4028235e38f), "3.4028235e+38");
}

TEST(ToTextTest, OtherTypes) {
  EXPECT_EQ(ToText(Value(), TypeId::kInt64), "");
  EXPECT_EQ(ToText(Value::Bool(true), TypeId::kBool), "t");
  EXPECT_EQ(ToText(Value::Bool(false), TypeId::kBool), "f");
  EXPECT_EQ(ToText(Value::Int(INT64_MIN), TypeId::kInt64), "-9223372036854775808");
  EXPECT_EQ(ToText(Value::Text("a'b"), TypeId::kText), "a'b");
}

TEST(ToTextTest, DoublesReadBackAsTheSameBits) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    const auto v = std::bit_cast<double>(random());
    if (std::isnan(v)) continue;
    double back = 0;
    ASSERT_TRUE(ParseElement(Double(v), TypeId::kFloat64, &back).ok()) << Double(v);
    ASSERT_EQ(std::bit_cast<uint64_t>(back), std::bit_cast<uint64_t>(v)) << Double(v);
  }
}

TEST(ValueTest, IdentityIsBitwise) {
  EXPECT_EQ(Value::Float(NAN), Value::Float(NAN));
  EXPECT_FALSE(Value::Float(0.0) == Value::Float(-0.0));
  EXPECT_FALSE(Value::Int(1) == Value::Float(1));
  EXPECT_FALSE(Value::Int(1) == Value::Bool(true));
  EXPECT_EQ(Value(), Value());
  absl::flat_hash_set<Value> set = {
      Value(),          Value::Int(1),     Value::Float(1),    Value::Bool(true),
      Value::Text("1"), Value::Float(0.0), Value::Float(-0.0), Value::Float(NAN)};
  EXPECT_EQ(set.size(), 8u);
  EXPECT_TRUE(set.contains(Value::Float(NAN)));
}

TEST(CompareValuesTest, TotalOrder) {
  EXPECT_EQ(CompareValues(Value::Float(NAN), Value::Float(INFINITY)), 1);
  EXPECT_EQ(CompareValues(Value::Float(-INFINITY), Value::Float(NAN)), -1);
  EXPECT_EQ(CompareValues(Value::Float(NAN), Value::Float(NAN)), 0);
  EXPECT_EQ(CompareValues(Value::Float(0.0), Value::Float(-0.0)), 0);
  EXPECT_EQ(CompareValues(Value::Int(INT64_MAX), Value::Int(INT64_MAX - 1)), 1);
  EXPECT_EQ(CompareValues(Value::Bool(false), Value::Bool(true)), -1);
  EXPECT_EQ(CompareValues(Value::Text("Z"), Value::Text("a")), -1);
  EXPECT_EQ(CompareValues(Value::Text("\xc3\xa9"), Value::Text("z")), 1);
}

std::string ParseError(std::string_view text, TypeId type) {
  int64_t out = 0;
  const absl::Status status = ParseElement(text, type, &out);
  return status.ok() ? "" : SqlStateOf(status) + " " + std::string(status.message());
}

TEST(ParseElementTest, Errors) {
  EXPECT_EQ(ParseError("x", TypeId::kInt32), "22P02 invalid input syntax for type integer: \"x\"");
  EXPECT_EQ(ParseError("", TypeId::kInt32), "22P02 invalid input syntax for type integer: \"\"");
  EXPECT_EQ(ParseError("1 2", TypeId::kInt32),
            "22P02 invalid input syntax for type integer: \"1 2\"");
  EXPECT_EQ(ParseError("+-1", TypeId::kInt32),
            "22P02 invalid input syntax for type integer: \"+-1\"");
  EXPECT_EQ(ParseError("99999", TypeId::kInt16),
            "22003 value \"99999\" is out of range for type smallint");
  EXPECT_EQ(ParseError("9223372036854775808", TypeId::kInt64),
            "22003 value \"9223372036854775808\" is out of range for type bigint");
  EXPECT_EQ(ParseError("1.5.2", TypeId::kFloat64),
            "22P02 invalid input syntax for type double precision: \"1.5.2\"");
  EXPECT_EQ(ParseError("1e999", TypeId::kFloat64),
            "22003 \"1e999\" is out of range for type double precision");
  EXPECT_EQ(ParseError("1e39", TypeId::kFloat32), "22003 \"1e39\" is out of range for type real");
  EXPECT_EQ(ParseError("1e-999", TypeId::kFloat64),
            "22003 \"1e-999\" is out of range for type double precision");
  EXPECT_EQ(ParseError("o", TypeId::kBool), "22P02 invalid input syntax for type boolean: \"o\"");
}

TEST(ParseElementTest, Values) {
  int16_t small = 0;
  ASSERT_TRUE(ParseElement(" +12 ", TypeId::kInt16, &small).ok());
  EXPECT_EQ(small, 12);
  double v = 0;
  ASSERT_TRUE(ParseElement("-Infinity", TypeId::kFloat64, &v).ok());
  EXPECT_EQ(v, -INFINITY);
  ASSERT_TRUE(ParseElement("nan", TypeId::kFloat64, &v).ok());
  EXPECT_TRUE(std::isnan(v));
  ASSERT_TRUE(ParseElement("0e-999", TypeId::kFloat64, &v).ok());
  EXPECT_EQ(v, 0);
  float r = 0;
  ASSERT_TRUE(ParseElement("0.1", TypeId::kFloat32, &r).ok());
  EXPECT_EQ(r, 0.1f);
  for (const char* word : {"t", "TRUE", "yes", "on", "1", " tr "}) {
    uint8_t b = 0;
    ASSERT_TRUE(ParseElement(word, TypeId::kBool, &b).ok()) << word;
    EXPECT_EQ(b, 1) << word;
  }
  for (const char* word : {"f", "False", "no", "of", "0"}) {
    uint8_t b = 1;
    ASSERT_TRUE(ParseElement(word, TypeId::kBool, &b).ok()) << word;
    EXPECT_EQ(b, 0) << word;
  }
}

TEST(StatusTest, CarriesSqlState) {
  const absl::Status status = SqlErrorWithDetail("23505", "m", "d", "h");
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(SqlStateOf(status), "23505");
  EXPECT_EQ(DetailOf(status), "d");
  EXPECT_EQ(HintOf(status), "h");
  EXPECT_EQ(PositionOf(status), std::nullopt);
  EXPECT_EQ(PositionOf(WithPosition(status, 7)), 7);
  EXPECT_EQ(PositionOf(WithPosition(WithPosition(status, 7), 9)), 7);
  EXPECT_EQ(SqlStateOf(absl::InternalError("x")), "XX000");
  EXPECT_EQ(SqlError("0A000", "").code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(SqlError("42703", "", 3).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(SqlError("57014", "").code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(SqlError("53200", "").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(SqlError("42601", "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(WithPosition(absl::OkStatus(), 1).ok());
}

}  // namespace
}  // namespace adjoin
