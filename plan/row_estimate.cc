#include "plan/row_estimate.h"

#include <algorithm>
#include <cmath>

namespace adjoin {
namespace {

constexpr double kUnknownRows = 1000;

double ConstantOr(const ExprRef& expr, double otherwise) {
  if (expr == nullptr || expr->kind != ExprKind::kConstant || !expr->constant.is_int())
    return otherwise;
  return static_cast<double>(expr->constant.as_int());
}

class RowEstimator {
 public:
  RowEstimator(const Node& node, const RowEstimates& estimates)
      : node_(node), estimates_(estimates) {}
  double operator()(const Scan&) const { return kUnknownRows; }
  double operator()(const RecursionInput&) const { return kUnknownRows; }
  double operator()(const Values& v) const { return static_cast<double>(v.rows.size()); }
  double operator()(const Series& s) const {
    const double step = ConstantOr(s.step, 1);
    const double start = ConstantOr(s.start, 1);
    return step == 0
               ? 0
               : std::max(0.0, std::floor((ConstantOr(s.stop, kUnknownRows) - start) / step) + 1);
  }
  double operator()(const Filter&) const { return in(0) / 2; }
  double operator()(const Join& j) const {
    if (j.kind == JoinKind::kSemi || j.kind == JoinKind::kAnti ||
        j.kind == JoinKind::kNullAwareAnti)
      return in(0);
    if (j.kind == JoinKind::kSingle) return in(0);
    if (j.keys.empty()) return in(0) * in(1);
    return std::max(in(0), in(1));
  }
  double operator()(const GroupBy& g) const { return g.keys.empty() ? 1 : in(0); }
  double operator()(const Limit& l) const { return std::min(in(0), ConstantOr(l.limit, in(0))); }
  double operator()(const UnionAll&) const {
    double sum = 0;
    for (size_t i = 0; i < node_.inputs.size(); ++i) sum += in(i);
    return sum;
  }
  double operator()(const Contraction& c) const {
    return c.keys.empty() ? 1 : std::max(in(0), in(1));
  }
  template <typename Other>
  double operator()(const Other&) const {
    return in(0);
  }

 private:
  double in(size_t i) const { return estimates_.at(node_.inputs[i].get()); }
  const Node& node_;
  const RowEstimates& estimates_;
};

}  // namespace

RowEstimates EstimateRows(const std::vector<NodeRef>& order,
                          const std::function<double(const NodeRef&)>& known) {
  RowEstimates estimates;
  for (const NodeRef& node : order) {
    double rows = known(node);
    if (rows < 0) rows = std::visit(RowEstimator(*node, estimates), node->op);
    estimates[node.get()] = rows;
  }
  return estimates;
}

}  // namespace adjoin
