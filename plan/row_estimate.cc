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
  RowEstimator(const Node& node, const std::function<double(size_t)>& in) : node_(node), in_(in) {}
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
  double operator()(const Filter&) const { return in_(0) / 2; }
  double operator()(const Join& j) const {
    if (j.kind == JoinKind::kSemi || j.kind == JoinKind::kAnti ||
        j.kind == JoinKind::kNullAwareAnti)
      return in_(0);
    if (j.kind == JoinKind::kSingle) return in_(0);
    if (j.keys.empty()) return in_(0) * in_(1);
    return std::max(in_(0), in_(1));
  }
  double operator()(const GroupBy& g) const { return g.keys.empty() ? 1 : in_(0); }
  double operator()(const Limit& l) const { return std::min(in_(0), ConstantOr(l.limit, in_(0))); }
  double operator()(const UnionAll&) const {
    double sum = 0;
    for (size_t i = 0; i < node_.inputs.size(); ++i) sum += in_(i);
    return sum;
  }
  double operator()(const Contraction& c) const {
    return c.keys.empty() ? 1 : std::max(in_(0), in_(1));
  }
  double operator()(const SparseProduct&) const { return std::max(in_(0), in_(1)); }
  template <typename Other>
  double operator()(const Other&) const {
    return in_(0);
  }

 private:
  const Node& node_;
  const std::function<double(size_t)>& in_;
};

}  // namespace

double RowsFromInputs(const Node& node, const std::function<double(size_t input)>& in) {
  return std::visit(RowEstimator(node, in), node.op);
}

RowEstimates EstimateRows(const std::vector<NodeRef>& order,
                          const std::function<double(const NodeRef&)>& known) {
  RowEstimates estimates;
  for (const NodeRef& node : order) {
    double rows = known(node);
    if (rows < 0) {
      rows = RowsFromInputs(*node, [&](size_t i) { return estimates.at(node->inputs[i].get()); });
    }
    estimates[node.get()] = rows;
  }
  return estimates;
}

}  // namespace adjoin
