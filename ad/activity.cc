#include "ad/activity.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/text.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

// Arguments that carry a value into the result; CASE conditions only select.
bool CarriesValue(const Expr& call, size_t arg) {
  if (call.function->null_rule == NullRule::kCase)
    return arg % 2 == 1 || arg + 1 == call.args.size();
  if (call.function->null_rule == NullRule::kNullIf) return arg == 0;
  return true;
}

struct ExprWalk {
  const ColumnActivity& columns;
  absl::flat_hash_map<const Expr*, Activity> memo;

  Activity Visit(const ExprRef& e) {
    if (e->kind == ExprKind::kColumn) return columns[static_cast<size_t>(e->index)];
    if (e->kind != ExprKind::kCall) return {};
    if (auto it = memo.find(e.get()); it != memo.end()) return it->second;
    Activity result = VisitCall(*e);
    memo.emplace(e.get(), result);
    return result;
  }

  Activity VisitCall(const Expr& e) {
    if (e.function->derivative_kind == DerivativeKind::kZero ||
        e.function->null_rule == NullRule::kIdentity)
      return {};
    Activity out;
    for (size_t i = 0; i < e.args.size(); ++i) {
      if (!CarriesValue(e, i)) continue;
      const Activity arg = Visit(e.args[i]);
      out.active |= arg.active;
      // A blocked argument of a differentiable function is caught when its own cotangent is formed.
    }
    if (!out.active || IsFloat(e.type)) {
      if (out.active && e.function->derivative_kind == DerivativeKind::kNone) {
        out.blocker = absl::StrCat("the function ", ToAbsl(e.function->name));
      }
      return out;
    }
    out.blocker = e.function->null_rule == NullRule::kCast
                      ? absl::StrCat("a cast to ", ToAbsl(TypeName(e.type)))
                      : absl::StrCat("a value of type ", ToAbsl(TypeName(e.type)));
    return out;
  }
};

struct NodeActivity {
  const Node& node;
  const std::vector<const ColumnActivity*>& in;

  ColumnActivity Both() const {
    ColumnActivity out = *in[0];
    out.insert(out.end(), in[1]->begin(), in[1]->end());
    return out;
  }
  ColumnActivity None() const { return ColumnActivity(node.types.size()); }

  ColumnActivity operator()(const Scan&) const { return None(); }
  ColumnActivity operator()(const Values&) const { return None(); }
  ColumnActivity operator()(const Series&) const { return None(); }
  ColumnActivity operator()(const Filter&) const { return *in[0]; }
  ColumnActivity operator()(const Project& p) const {
    ColumnActivity out;
    for (const ExprRef& e : p.exprs) out.push_back(ExprActivity(e, *in[0]));
    return out;
  }
  ColumnActivity operator()(const Join&) const {
    return node.types.size() == in[0]->size() ? *in[0] : Both();
  }
  ColumnActivity operator()(const GroupBy& g) const {
    ColumnActivity out;
    for (const ExprRef& e : g.keys) {
      Activity a = ExprActivity(e, *in[0]);
      if (a.active) a.blocker = "the value of a GROUP BY key or DISTINCT column";
      out.push_back(std::move(a));
    }
    for (const Aggregate& a : g.aggregates) out.push_back(OfAggregate(a));
    return out;
  }
  Activity OfAggregate(const Aggregate& a) const {
    const bool sums =
        a.function == AggregateFunction::kSum || a.function == AggregateFunction::kAvg;
    const bool extreme =
        a.function == AggregateFunction::kMin || a.function == AggregateFunction::kMax;
    const bool comoment = a.function == AggregateFunction::kComoment;
    if (!sums && !extreme && !comoment && !IsPercentile(a.function)) return {};
    Activity out = ExprActivity(a.arg, *in[0]);
    if (comoment) out.active |= ExprActivity(a.second, *in[0]).active;
    if (!out.active) return {};
    if (!extreme && a.distinct) {
      out.blocker = "an aggregate of DISTINCT values";
    } else if (!IsFloat(a.arg->type) && out.blocker.empty()) {
      out.blocker = "an aggregate of integers";
    }
    return out;
  }
  ColumnActivity operator()(const Window& w) const {
    ColumnActivity out = *in[0];
    bool order_active = false;
    for (const SortKey& k : w.order) order_active |= ExprActivity(k.expr, *in[0]).active;
    for (const WindowCall& c : w.calls) out.push_back(OfCall(w, c, order_active));
    return out;
  }
  Activity OfCall(const Window& w, const WindowCall& c, bool order_active) const {
    const bool ranks =
        c.function == WindowFunction::kRowNumber || c.function == WindowFunction::kRank ||
        c.function == WindowFunction::kDenseRank || c.function == WindowFunction::kPercentRank ||
        c.function == WindowFunction::kCumeDist || c.function == WindowFunction::kNtile;
    if (ranks) return order_active ? Activity{true, "a rank used as a value"} : Activity{};
    if (c.function == WindowFunction::kCount || c.function == WindowFunction::kCountStar) return {};
    Activity out = ExprActivity(c.args[0], *in[0]);
    const bool shifts = c.function == WindowFunction::kLag || c.function == WindowFunction::kLead;
    if (shifts && c.args.size() > 2) out.active |= ExprActivity(c.args[2], *in[0]).active;
    if (c.function == WindowFunction::kComoment)
      out.active |= ExprActivity(c.args[1], *in[0]).active;
    if (!out.active) return {};
    out.blocker = Blocker(w, c);
    return out;
  }
  static std::string Blocker(const Window& w, const WindowCall& c) {
    // The end of a month is a month from several days: no frame is the mirror of such a one.
    for (const ExprRef& offset : {w.frame.start_offset, w.frame.end_offset}) {
      if (offset == nullptr || offset->type != TypeId::kInterval) continue;
      if (offset->kind != ExprKind::kConstant)
        return "a RANGE frame of an interval that is computed";
      if (!offset->constant.is_null() && offset->constant.as_interval().months != 0)
        return "a RANGE frame of months";
    }
    switch (c.function) {
      case WindowFunction::kMin:
      case WindowFunction::kMax:
        if (!IsWholePartition(w)) return "MIN or MAX over a moving frame";
        break;
      case WindowFunction::kFirstValue:
      case WindowFunction::kLastValue:
        return "FIRST_VALUE or LAST_VALUE";
      case WindowFunction::kNthValue:
        return "NTH_VALUE";
      case WindowFunction::kComoment:
        if (!IsWholePartition(w)) return "a variance or covariance over a moving frame";
        break;
      case WindowFunction::kLag:
      case WindowFunction::kLead:
        if (c.args.size() > 1 && c.args[1]->kind != ExprKind::kConstant)
          return "LAG or LEAD by a varying offset";
        break;
      default:
        break;
    }
    return IsFloat(c.type) ? "" : "a window function of integers";
  }
  ColumnActivity operator()(const Sort&) const { return *in[0]; }
  ColumnActivity operator()(const Limit&) const { return *in[0]; }
  ColumnActivity operator()(const UnionAll&) const {
    ColumnActivity out(node.types.size());
    for (size_t c = 0; c < out.size(); ++c) {
      for (const ColumnActivity* input : in) {
        out[c].active |= (*input)[c].active;
        if (out[c].blocker.empty()) out[c].blocker = (*input)[c].blocker;
      }
      if (out[c].active && out[c].blocker.empty() && !IsFloat(node.types[c])) {
        out[c].blocker = "an integer column";
      }
    }
    return out;
  }
  ColumnActivity operator()(const Contraction& c) const {
    ColumnActivity out;
    for (const ContractionKey& k : c.keys) {
      Activity a = (*in[static_cast<size_t>(k.side)])[static_cast<size_t>(k.column)];
      if (a.active) a.blocker = "the value of a GROUP BY key or DISTINCT column";
      out.push_back(std::move(a));
    }
    Activity sum;
    sum.active =
        ExprActivity(c.left_factor, *in[0]).active || ExprActivity(c.right_factor, *in[1]).active;
    out.push_back(std::move(sum));
    if (c.count) out.emplace_back();
    return out;
  }
  ColumnActivity operator()(const SparseProduct&) const { return None(); }
  ColumnActivity operator()(const SampledProduct&) const { return None(); }
  ColumnActivity operator()(const RowId&) const {
    ColumnActivity out = *in[0];
    out.emplace_back();
    return out;
  }
  ColumnActivity operator()(const Lookup&) const { return Both(); }
  ColumnActivity operator()(const Collect& c) const {
    ColumnActivity out = *in[0];
    for (const ExprRef& v : c.values) out.push_back(ExprActivity(v, *in[1]));
    return out;
  }
  ColumnActivity operator()(const Require&) const { return *in[0]; }
  ColumnActivity operator()(const Derivative&) const { return None(); }
  ColumnActivity operator()(const Recursion&) const {
    bool active = false;
    for (const ColumnActivity* input : in) {
      for (const Activity& a : *input) active |= a.active;
    }
    return ColumnActivity(node.types.size(),
                          active ? Activity{true, "WITH RECURSIVE"} : Activity{});
  }
  ColumnActivity operator()(const RecursionInput&) const { return None(); }
};

}  // namespace

Activity ExprActivity(const ExprRef& expr, const ColumnActivity& columns) {
  if (expr == nullptr) return {};
  return ExprWalk{columns, {}}.Visit(expr);
}

absl::flat_hash_map<const Node*, ColumnActivity> FindActivity(
    const std::vector<NodeRef>& order,
    const absl::flat_hash_map<const Node*, std::vector<int>>& wrt) {
  absl::flat_hash_map<const Node*, ColumnActivity> result;
  result.reserve(order.size());
  for (const NodeRef& node : order) {
    std::vector<const ColumnActivity*> in;
    for (const NodeRef& input : node->inputs) in.push_back(&result.find(input.get())->second);
    ColumnActivity activity = std::visit(NodeActivity{*node, in}, node->op);
    if (auto it = wrt.find(node.get()); it != wrt.end()) {
      for (int c : it->second) activity[static_cast<size_t>(c)] = {true, ""};
    }
    result.emplace(node.get(), std::move(activity));
  }
  return result;
}

}  // namespace adjoin
