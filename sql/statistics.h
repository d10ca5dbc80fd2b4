// PostgreSQL's statistical aggregates as arithmetic on COUNT, AVG and comoments, so that one
// accumulator and one derivative serve them all.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "plan/node.h"

namespace adjoin {

enum class Statistic {
  kVarPop,
  kVarSamp,
  kStddevPop,
  kStddevSamp,
  kCovarPop,
  kCovarSamp,
  kCorr,
  kRegrSlope,
  kRegrIntercept,
  kRegrR2,
  kRegrSxx,
  kRegrSyy,
  kRegrSxy,
  kRegrAvgX,
  kRegrAvgY,
  kRegrCount
};
std::optional<Statistic> StatisticNamed(std::string_view name);
int NumArguments(Statistic statistic);  // 1, or 2: y, then x

// Takes an aggregate call and gives its value.
using AddAggregate = std::function<ExprRef(const Aggregate&)>;

// The statistic of `y` and, where it has two arguments, `x`, both DOUBLE PRECISION.
ExprRef StatisticValue(Statistic statistic, const ExprRef& y, const ExprRef& x,
                       const AddAggregate& add);

}  // namespace adjoin
