#include "sql/statistics.h"

#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

constexpr TypeId kDouble = TypeId::kFloat64;

struct NamedStatistic {
  std::string_view name;
  Statistic statistic;
};
constexpr NamedStatistic kStatistics[] = {
    {"var_pop", Statistic::kVarPop},
    {"var_samp", Statistic::kVarSamp},
    {"variance", Statistic::kVarSamp},
    {"stddev_pop", Statistic::kStddevPop},
    {"stddev_samp", Statistic::kStddevSamp},
    {"stddev", Statistic::kStddevSamp},
    {"covar_pop", Statistic::kCovarPop},
    {"covar_samp", Statistic::kCovarSamp},
    {"corr", Statistic::kCorr},
    {"regr_slope", Statistic::kRegrSlope},
    {"regr_r2", Statistic::kRegrR2},
    {"regr_intercept", Statistic::kRegrIntercept},
    {"regr_sxx", Statistic::kRegrSxx},
    {"regr_syy", Statistic::kRegrSyy},
    {"regr_sxy", Statistic::kRegrSxy},
    {"regr_avgx", Statistic::kRegrAvgX},
    {"regr_avgy", Statistic::kRegrAvgY},
    {"regr_count", Statistic::kRegrCount},
};

ExprRef Number(double value) { return FloatConst(value, kDouble); }
ExprRef Sqrt(const ExprRef& e) { return CallNamed("sqrt", {e}, kDouble); }
ExprRef IsZero(const ExprRef& e) { return CallNamed("=", {e, Number(0)}, TypeId::kBool); }
ExprRef NullWhen(const ExprRef& condition, const ExprRef& value) {
  return CaseExpr({condition, NullExpr(kDouble), value});
}
// e where `other` is not NULL.
ExprRef Paired(const ExprRef& e, const ExprRef& other) {
  return CaseExpr({CallNamed("is not null", {other}, TypeId::kBool), e, NullExpr(kDouble)});
}

// The sums that statistics are made of; NULL where no row counts.
struct Sums {
  const AddAggregate& add;
  ExprRef Of(const ExprRef& a, const ExprRef& b) const {
    return add({AggregateFunction::kComoment, a, nullptr, false, kDouble, b});
  }
  ExprRef Average(const ExprRef& a) const {
    return add({AggregateFunction::kAvg, a, nullptr, false, kDouble, nullptr});
  }
  ExprRef Rows(const ExprRef& a) const {
    return add({AggregateFunction::kCount, a, nullptr, false, TypeId::kInt64, nullptr});
  }
  ExprRef Count(const ExprRef& a) const { return CastTo(Rows(a), kDouble); }
  // The sum for each row, and for each row but one.
  ExprRef Population(const ExprRef& a, const ExprRef& b) const { return Div(Of(a, b), Count(a)); }
  ExprRef Sample(const ExprRef& a, const ExprRef& b) const {
    const ExprRef count = Count(a);
    const ExprRef several = CallNamed("<", {Number(1), count}, TypeId::kBool);
    return CaseExpr({several, Div(Of(a, b), Sub(count, Number(1))), NullExpr(kDouble)});
  }
};

// `y` and `x` are NULL together.
ExprRef PairStatistic(Statistic statistic, const ExprRef& y, const ExprRef& x, const Sums& sums) {
  const auto sxx = [&] { return sums.Of(x, x); };
  const auto syy = [&] { return sums.Of(y, y); };
  const auto sxy = [&] { return sums.Of(y, x); };
  const auto slope = [&] { return NullWhen(IsZero(sxx()), Div(sxy(), sxx())); };
  switch (statistic) {
    case Statistic::kCovarPop:
      return sums.Population(y, x);
    case Statistic::kCovarSamp:
      return sums.Sample(y, x);
    case Statistic::kCorr:
      return NullWhen(CallNamed("or", {IsZero(sxx()), IsZero(syy())}, TypeId::kBool),
                      Div(sxy(), Sqrt(Mul(sxx(), syy()))));
    case Statistic::kRegrSlope:
      return slope();
    case Statistic::kRegrIntercept:
      return Sub(sums.Average(y), Mul(slope(), sums.Average(x)));
    case Statistic::kRegrR2:
      return CaseExpr({IsZero(sxx()), NullExpr(kDouble), IsZero(syy()), Number(1),
                       Div(Mul(sxy(), sxy()), Mul(sxx(), syy()))});
    case Statistic::kRegrSxx:
      return sxx();
    case Statistic::kRegrSyy:
      return syy();
    case Statistic::kRegrSxy:
      return sxy();
    case Statistic::kRegrAvgX:
      return sums.Average(x);
    case Statistic::kRegrAvgY:
      return sums.Average(y);
    default:
      return sums.Rows(y);
  }
}

}  // namespace

std::optional<Statistic> StatisticNamed(std::string_view name) {
  for (const NamedStatistic& s : kStatistics) {
    if (s.name == name) return s.statistic;
  }
  return std::nullopt;
}

int NumArguments(Statistic statistic) { return statistic <= Statistic::kStddevSamp ? 1 : 2; }

ExprRef StatisticValue(Statistic statistic, const ExprRef& y, const ExprRef& x,
                       const AddAggregate& add) {
  const Sums sums{add};
  switch (statistic) {
    case Statistic::kVarPop:
      return sums.Population(y, y);
    case Statistic::kVarSamp:
      return sums.Sample(y, y);
    case Statistic::kStddevPop:
      return Sqrt(sums.Population(y, y));
    case Statistic::kStddevSamp:
      return Sqrt(sums.Sample(y, y));
    default:
      return PairStatistic(statistic, Paired(y, x), Paired(x, y), sums);
  }
}

}  // namespace adjoin
