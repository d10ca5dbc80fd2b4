#include "engine/decimal.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/decimal_functions.h"
#include "engine/status.h"

namespace adjoin {
namespace {

Decimal Of(std::string_view text) { return *ParseDecimal(text); }
std::string TextOf(const absl::StatusOr<Decimal>& value) {
  if (value.ok()) return ToText(*value);
  return SqlStateOf(value.status()) + ": " + std::string(value.status().message());
}

// PostgreSQL 15's results.
struct Arithmetic {
  const char *a, *b, *sum, *difference, *product, *quotient, *remainder;
};
constexpr Arithmetic kArithmetic[] = {
    {"-11335159239796.3690", "-0.0892", "-11335159239796.4582", "-11335159239796.2798",
     "1011096204189.83611480", "127075776230900.9978", "-0.0890"},
    {"-8464439722063219.97", "704932839.2", "-8464439017130380.77", "-8464440426996059.17",
     "-5966861525511284535346238.824", "-12007441.349546395157", "-246406732.77"},
    {"-9223044.34904724", "-88", "-9223132.34904724", "-9222956.34904724", "811627902.71615712",
     "104807.322148264091", "-28.34904724"},
    {"2746015426998207876277046", "3.31", "2746015426998207876277049.31",
     "2746015426998207876277042.69", "9089311063364068070477022.26", "829611911479821110657717.82",
     "2.73"},
    {"6", "2.98", "8.98", "3.02", "17.88", "2.0134228187919463", "0.04"},
    {"-0.05", "-88866.035600829195", "-88866.085600829195", "88865.985600829195",
     "4443.30178004145975", "0.000000562644655654397819", "-0.050000000000"},
    {"0.0005", "-436099047090008804202090297.2", "-436099047090008804202090297.1995",
     "436099047090008804202090297.2005", "-218049523545004402101045.14860",
     "-0.000000000000000000000000000001146528531388426395", "0.0005"},
    {"-8405174974314623.65", "2.45", "-8405174974314621.20", "-8405174974314626.10",
     "-20592678687070827.9425", "-3430683662985560.6735", "-1.65"},
    {"-4948895395490874431.5", "0.65", "-4948895395490874430.85", "-4948895395490874432.15",
     "-3216782007069068380.475", "-7613685223832114510.00", "0.00"},
    {"-12214663590150.8", "371037170507346841679.6", "371037158292683251528.8",
     "-371037182722010431830.4", "-4532094217188663699877812469489283.68",
     "-0.000000032920323248069130", "-12214663590150.8"},
    {"-0.0009", "8387446514570285072325", "8387446514570285072324.9991",
     "-8387446514570285072325.0009", "-7548701863113256565.0925",
     "-0.00000000000000000000000010730321778345310789", "-0.0009"},
    {"-26617835.8", "709698499867923876709.7", "709698499867897258873.9",
     "-709698499867950494545.5", "-18890638136990719437158238867.26",
     "-0.00000000000003750583635861372888", "-26617835.8"},
    {"-0.5", "0.0403", "-0.4597", "-0.5403", "-0.02015", "-12.4069478908188586", "-0.0164"},
    {"-11", "-6891525834071349.495829519152", "-6891525834071360.495829519152",
     "6891525834071338.495829519152", "75806784174784844.454124710672",
     "0.00000000000000159616321041946406", "-11.000000000000"},
    {"-310788026923.42183529", "59.54363941", "-310788026863.87819588", "-310788026982.96547470",
     "-18505450208073.6014438281727789", "-5219500017.17944764", "-10.68496532"},
    {"2.0", "-0.00126794", "1.99873206", "2.00126794", "-0.002535880", "-1577.3617048125305614",
     "0.00045862"},
    {"6.6", "725", "731.6", "-718.4", "4785.0", "0.00910344827586206897", "6.6"},
    {"13931717059474747380", "0.00000488", "13931717059474747380.00000488",
     "13931717059474747379.99999512", "67986779250236.76721440",
     "2854860053171054790983606.55737705", "0.00000272"},
    {"-23325383106.2875", "0.0003", "-23325383106.2872", "-23325383106.2878", "-6997614.93188625",
     "-77751277020958.3333", "-0.0001"},
    {"-7641229322319268307.7", "-9.3", "-7641229322319268317.0", "-7641229322319268298.4",
     "71063432697569195261.61", "821637561539706269.6", "-6.0"},
    {"0.00000005", "-0.0746", "-0.07459995", "0.07460005", "-0.000000003730",
     "-0.000000670241286863270777", "0.00000005"},
    {"-8910823.97", "22284862064189531", "22284862055278707.03", "-22284862073100354.97",
     "-198576483049723751457858.07", "-0.0000000003998599562489180746", "-8910823.97"},
    {"-0.0086", "-59", "-59.0086", "58.9914", "0.5074", "0.00014576271186440678", "-0.0086"},
    {"-814105695", "0.000000000037", "-814105694.999999999963", "-814105695.000000000037",
     "-0.030121910715", "-22002856621621621621.621621621622", "-0.000000000023"},
    {"-599669.836433951954", "974605.9175", "374936.081066048046", "-1574275.753933951954",
     "-584441771134.7866722790877950", "-0.61529468030749151900", "-599669.836433951954"},
    {"0", "3", "3", "-3", "0", "0.00000000000000000000", "0"},
    {"0.000", "-7.5", "-7.500", "7.500", "0.0000", "0.00000000000000000000", "0.000"},
    {"1", "3", "4", "-2", "3", "0.33333333333333333333", "1"},
    {"2", "3", "5", "-1", "6", "0.66666666666666666667", "2"},
    {"9999", "3", "10002", "9996", "29997", "3333.0000000000000000", "0"},
    {"10000", "3", "10003", "9997", "30000", "3333.3333333333333333", "1"},
    {"0.0001", "3", "3.0001", "-2.9999", "0.0003", "0.000033333333333333333333", "0.0001"},
    {"9", "9", "18", "0", "81", "1.00000000000000000000", "0"},
    {"1", "9999.9999", "10000.9999", "-9998.9999", "9999.9999", "0.00010000000100000001", "1.0000"},
};

TEST(DecimalTest, ArithmeticIsThatOfPostgres) {
  for (const Arithmetic& x : kArithmetic) {
    SCOPED_TRACE(std::string(x.a) + ", " + x.b);
    const Decimal a = Of(x.a), b = Of(x.b);
    EXPECT_EQ(ToText(a), x.a);
    EXPECT_EQ(TextOf(decimal::Add(a, b)), x.sum);
    EXPECT_EQ(TextOf(decimal::Subtract(a, b)), x.difference);
    EXPECT_EQ(TextOf(decimal::Multiply(a, b)), x.product);
    EXPECT_EQ(TextOf(decimal::Divide(a, b)), x.quotient);
    EXPECT_EQ(TextOf(decimal::Remainder(a, b)), x.remainder);
    Decimal quick;
    if (decimal::QuickAdd(a, b, &quick)) {
      EXPECT_EQ(ToText(quick), x.sum);
    }
    if (decimal::QuickSubtract(a, b, &quick)) {
      EXPECT_EQ(ToText(quick), x.difference);
    }
    if (decimal::QuickMultiply(a, b, &quick)) {
      EXPECT_EQ(ToText(quick), x.product);
    }
  }
}

TEST(DecimalTest, TextIsReadAsItIsPrinted) {
  for (const char* text : {"0", "0.00", "-0.01", "1.10", "123456789012345678901234567890.123456",
                           "-999999999999999999999999999999999999", "0.000000000000000000001"}) {
    EXPECT_EQ(TextOf(ParseDecimal(text)), text);
  }
  EXPECT_EQ(TextOf(ParseDecimal(" +1.5e2 ")), "150");
  EXPECT_EQ(TextOf(ParseDecimal("1.5E-3")), "0.0015");
  EXPECT_EQ(TextOf(ParseDecimal("007.")), "7");
  EXPECT_EQ(TextOf(ParseDecimal("-.5")), "-0.5");
  for (const char* text : {"", " ", ".", "-", "1e", "1.2.3", "1,5", "0x1", "1 2", "--1"}) {
    EXPECT_EQ(TextOf(ParseDecimal(text)),
              "22P02: invalid input syntax for type numeric: \"" + std::string(text) + "\"");
  }
  EXPECT_EQ(TextOf(ParseDecimal("-Infinity")), "0A000: numeric -Infinity is not supported");
}

TEST(DecimalTest, DigitsPastThe36thAreRoundedAwayOrTooMany) {
  EXPECT_EQ(TextOf(ParseDecimal("1.9999999999999999999999999999999999949")),
            "1.99999999999999999999999999999999999");
  EXPECT_EQ(TextOf(ParseDecimal("1.999999999999999999999999999999999995")),
            "2.00000000000000000000000000000000000");
  EXPECT_EQ(TextOf(ParseDecimal("1e36")), "22003: value overflows numeric format");
  EXPECT_EQ(TextOf(ParseDecimal("1e35")), "1" + std::string(35, '0'));
  const Decimal most = Of("999999999999999999999999999999999999");
  EXPECT_EQ(TextOf(decimal::Add(most, Of("1"))), "22003: value overflows numeric format");
  EXPECT_EQ(TextOf(decimal::Add(most, Of("0.4"))), ToText(most));
  EXPECT_EQ(TextOf(decimal::Add(most, Of("0.5"))), "22003: value overflows numeric format");
  EXPECT_EQ(TextOf(decimal::Multiply(most, Of("0.1"))), "99999999999999999999999999999999999.9");
  EXPECT_EQ(TextOf(decimal::Multiply(most, most)), "22003: value overflows numeric format");
  EXPECT_EQ(TextOf(decimal::Multiply(Of("0.333333333333333333333"), Of("0.333333333333333333333"))),
            "0.111111111111111111110888888888888889");
  EXPECT_EQ(TextOf(decimal::Divide(most, Of("0.1"))), "22003: value overflows numeric format");
}

TEST(DecimalTest, ValuesCompareAtAnyScale) {
  const std::vector<const char*> ascending = {"-123456789012345678901234567890123456",
                                              "-2.5",
                                              "-0.00000000000000000000000000000000001",
                                              "0.000",
                                              "0.00000000000000000000000000000000001",
                                              "1.1",
                                              "1.11",
                                              "123456789012345678901234567890123456"};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(Of(ascending[i]) < Of(ascending[j]), i < j) << ascending[i] << " " << ascending[j];
      EXPECT_EQ(Of(ascending[i]) == Of(ascending[j]), i == j);
    }
  }
  EXPECT_EQ(Of("1.10"), Of("1.1"));
  EXPECT_EQ(Of("0"), Of("-0.000"));
  EXPECT_EQ(Normalized(Of("100.10")).bits(), Of("100.1").bits());
  EXPECT_EQ(Normalized(Of("100")).bits(), Of("100").bits());
  EXPECT_EQ(Normalized(Of("0.00")).bits(), Of("0").bits());
}

TEST(DecimalTest, RoundsToAColumn) {
  const NumericModifier modifier{4, 2};
  EXPECT_EQ(TextOf(Rounded(Of("1.005"), modifier)), "1.01");
  EXPECT_EQ(TextOf(Rounded(Of("-99.994"), modifier)), "-99.99");
  EXPECT_EQ(TextOf(Rounded(Of("7"), modifier)), "7.00");
  const absl::StatusOr<Decimal> wide = Rounded(Of("99.995"), modifier);
  EXPECT_EQ(TextOf(wide), "22003: numeric field overflow");
  EXPECT_EQ(DetailOf(wide.status()),
            "A field with precision 4, scale 2 must round to an absolute value less than 10^2.");
  EXPECT_EQ(DetailOf(Rounded(Of("1"), {3, 3}).status()),
            "A field with precision 3, scale 3 must round to an absolute value less than 1.");
  EXPECT_EQ(TextOf(Rounded(Of("1.23456"), {})), "1.23456");
}

TEST(DecimalTest, FloatsAreTheNearest) {
  EXPECT_EQ(static_cast<double>(Of("0.1")), 0.1);
  EXPECT_EQ(static_cast<double>(Of("-12345678901234567.891")), -12345678901234567.891);
  EXPECT_EQ(static_cast<double>(Of("0.3333333333333333333333333")), 1.0 / 3);
  EXPECT_EQ(decimal::NearestFloat(Of("0.1")), 0.1F);
  EXPECT_EQ(TextOf(decimal::FromFloat(0.1 + 0.2)), "0.3");
  EXPECT_EQ(TextOf(decimal::FromFloat(0.1F)), "0.1");
  EXPECT_EQ(TextOf(decimal::FromFloat(1e300)), "22003: value overflows numeric format");
}

TEST(DecimalTest, SumsDoNotDependOnTheOrder) {
  const std::vector<const char*> values = {"99999999999999999999999999999999", "0.5", "-1.25",
                                           "-99999999999999999999999999999998", "0.050"};
  for (size_t first = 0; first < values.size(); ++first) {
    DecimalSum all, part;
    for (size_t i = 0; i < values.size(); ++i) {
      DecimalSum& to = i % 2 == 0 ? all : part;
      to.Add(Of(values[(first + i) % values.size()]));
    }
    all.Add(part);
    EXPECT_EQ(TextOf(all.Total()), "0.300");
  }
  DecimalSum too_long;
  too_long.Add(Of("999999999999999999999999999999999999"));
  too_long.Add(Of("0.001"));
  EXPECT_EQ(TextOf(too_long.Total()), "22003: value overflows numeric format");
  DecimalSum sum;
  for (int i = 0; i < 1000; ++i) sum.Add(Of(i % 2 == 0 ? "0.1" : "0.25"));
  EXPECT_EQ(TextOf(sum.Total()), "175.00");
  EXPECT_EQ(TextOf(sum.Average(1000)), "0.17500000000000000000");
  EXPECT_EQ(TextOf(DecimalSum().Average(3)), "0.00000000000000000000");
}

}  // namespace
}  // namespace adjoin
