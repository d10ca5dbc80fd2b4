// w(r) = aggregate of e over the frame of row r: row j receives from every row whose frame holds j,
// which is the mirrored frame over the cotangents.
#include "ad/reverse.h"
#include "engine/status.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

FrameBound Mirror(FrameBound bound) {
  switch (bound) {
    case FrameBound::kUnboundedPreceding:
      return FrameBound::kUnboundedFollowing;
    case FrameBound::kPreceding:
      return FrameBound::kFollowing;
    case FrameBound::kCurrentRow:
      return FrameBound::kCurrentRow;
    case FrameBound::kFollowing:
      return FrameBound::kPreceding;
    case FrameBound::kUnboundedFollowing:
      return FrameBound::kUnboundedPreceding;
  }
  return bound;
}

// The frame of j that holds exactly the rows whose `frame` holds j. Peers and exclusions are
// symmetric.
Frame Mirror(const Frame& frame) {
  Frame out = frame;
  out.start = Mirror(frame.end);
  out.end = Mirror(frame.start);
  out.start_offset = frame.end_offset;
  out.end_offset = frame.start_offset;
  return out;
}

ExprRef And(const ExprRef& a, const ExprRef& b) {
  return a == nullptr ? b : CallNamed("and", {a, b}, TypeId::kBool);
}

// Collects window calls over one base, then makes them in one node.
struct Calls {
  Window window;
  int first;
  int Add(WindowFunction f, std::vector<ExprRef> args, ExprRef filter, TypeId type) {
    window.calls.push_back({f, std::move(args), std::move(filter), type});
    return first + static_cast<int>(window.calls.size()) - 1;
  }
};

}  // namespace

absl::Status Transposer::operator()(const Window& w) {
  const RowView view = reverse.ViewOf(input(0));
  const bool whole = IsWholePartition(w);
  Window mirrored{reverse.Remap(w.partition, view), {}, {}, {}};
  if (!whole) {
    mirrored.frame = Mirror(w.frame);
    for (ExprRef* offset : {&mirrored.frame.start_offset, &mirrored.frame.end_offset})
      *offset = reverse.Remap(*offset, view);
    for (const SortKey& k : w.order) {
      mirrored.order.push_back({reverse.Remap(k.expr, view), k.descending, k.nulls_first});
    }
  }
  Window ordered = mirrored;  // LAG and LEAD look at the partition's order, whatever the frame
  ordered.order.clear();
  for (const SortKey& k : w.order)
    ordered.order.push_back({reverse.Remap(k.expr, view), k.descending, k.nulls_first});
  ordered.frame = Frame{};

  Calls sums{mirrored, ct.base->width()};
  struct Pending {
    const WindowCall* call;
    ExprRef e, filter, hit;
    int sum = -1, ties = -1, means = -1;
  };
  std::vector<Pending> pending;
  int next_behind = node->width() - input(0)->width() + view.node->width();
  const int first_call = input(0)->width();
  for (size_t i = 0; i < w.calls.size(); ++i) {
    const WindowCall& call = w.calls[i];
    const bool averages = call.function == WindowFunction::kAvg;
    const bool centres = call.function == WindowFunction::kComoment;
    const int behind = next_behind;
    next_behind += averages ? 1 : centres ? 2 : 0;
    auto it = ct.cotangents.find(first_call + static_cast<int>(i));
    const bool shifts =
        call.function == WindowFunction::kLag || call.function == WindowFunction::kLead;
    if (it == ct.cotangents.end() || shifts) continue;
    Pending p{&call, reverse.Remap(call.args[0], view), reverse.Remap(call.filter, view), nullptr};
    ExprRef d = it->second;
    if (averages) d = Div(d, CastTo(BaseColumn(ct.base, behind), d->type));
    if (centres) p.means = behind;
    p.sum = sums.Add(WindowFunction::kSum, {d}, nullptr, d->type);
    if (call.function == WindowFunction::kMin || call.function == WindowFunction::kMax) {
      const int value = view.node->width() + static_cast<int>(i);
      const ExprRef equal = CallNamed("=", {p.e, BaseColumn(ct.base, value)}, TypeId::kBool);
      p.hit = p.filter == nullptr ? equal : And(p.filter, equal);
      p.ties = sums.Add(WindowFunction::kCountStar, {}, p.hit, TypeId::kInt64);
    }
    pending.push_back(std::move(p));
  }
  NodeRef base = ct.base;
  if (!sums.window.calls.empty()) base = planner().Make(sums.window, {base});

  const ColumnActivity activity = reverse.ViewActivity(input(0), view);
  ColumnCotangents by_view;
  for (const Pending& p : pending) {
    ExprRef d = BaseColumn(base, p.sum);
    if (p.means >= 0) {
      const ExprRef y = reverse.Remap(p.call->args[1], view);
      const ExprRef pair = And(And(p.filter, IsNotNull(p.e)), IsNotNull(y));
      const ExprRef dx = Mul(d, Sub(y, BaseColumn(base, p.means + 1)));
      const ExprRef dy = Mul(d, Sub(p.e, BaseColumn(base, p.means)));
      ADJOIN_RETURN_IF_ERROR(Backpropagate(y, WhenTrue(pair, dy), activity, &by_view));
      d = WhenTrue(pair, dx);
    } else if (p.ties >= 0) {
      d = WhenTrue(p.hit, Div(d, CastTo(BaseColumn(base, p.ties), d->type)));
    } else {
      d = WhenTrue(And(p.filter, IsNotNull(p.e)), d);
    }
    ADJOIN_RETURN_IF_ERROR(Backpropagate(p.e, NearestTo(d, p.e->type), activity, &by_view));
  }

  // LAG(e, k): e'(j) = the cotangent k rows later. Rows without a source pass theirs to the
  // default.
  Calls shifts{ordered, base->width()};
  struct Shift {
    const WindowCall* call;
    ExprRef d;
    int back, source;
  };
  std::vector<Shift> shifted;
  for (size_t i = 0; i < w.calls.size(); ++i) {
    const WindowCall& call = w.calls[i];
    const bool lag = call.function == WindowFunction::kLag;
    auto it = ct.cotangents.find(first_call + static_cast<int>(i));
    if (it == ct.cotangents.end() || (!lag && call.function != WindowFunction::kLead)) continue;
    const ExprRef offset =
        call.args.size() > 1 ? call.args[1] : ConstantExpr(Value::Int(1), TypeId::kInt32);
    const ExprRef marker = ConstantExpr(Value::Int(1), TypeId::kInt64);
    Shift s{&call, it->second, 0, 0};
    s.back = shifts.Add(lag ? WindowFunction::kLead : WindowFunction::kLag, {it->second, offset},
                        nullptr, s.d->type);
    s.source = shifts.Add(call.function, {marker, offset}, nullptr, TypeId::kInt64);
    shifted.push_back(std::move(s));
  }
  if (!shifted.empty()) base = planner().Make(shifts.window, {base});
  for (const Shift& s : shifted) {
    ADJOIN_RETURN_IF_ERROR(Backpropagate(reverse.Remap(s.call->args[0], view),
                                         BaseColumn(base, s.back), activity, &by_view));
    if (s.call->args.size() < 3) continue;
    const ExprRef no_source = CallNamed("is null", {BaseColumn(base, s.source)}, TypeId::kBool);
    ADJOIN_RETURN_IF_ERROR(Backpropagate(reverse.Remap(s.call->args[2], view),
                                         WhenTrue(no_source, s.d), activity, &by_view));
  }

  // The input's own columns pass through.
  for (const auto& [column, d] : ct.cotangents) {
    if (column >= first_call) continue;
    const int at = view.columns[static_cast<size_t>(column)];
    by_view[at] = AddCotangents(by_view.contains(at) ? by_view[at] : nullptr, d);
  }
  ContributeByView(0, view, base, by_view);
  return absl::OkStatus();
}

}  // namespace adjoin
