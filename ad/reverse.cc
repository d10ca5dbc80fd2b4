#include "ad/reverse.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

std::vector<int> Iota(int first, int n) {
  std::vector<int> out(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) out[static_cast<size_t>(i)] = first + i;
  return out;
}

// One row at most, whatever the data, where `in` says so of an input.
bool AtMostOneRow(const Node& n, const std::function<bool(size_t input)>& in) {
  if (const auto* g = std::get_if<GroupBy>(&n.op)) return g->keys.empty() || in(0);
  if (const auto* c = std::get_if<Contraction>(&n.op)) return c->keys.empty();
  if (const auto* v = std::get_if<Values>(&n.op)) return v->rows.size() <= 1;
  if (const auto* r = std::get_if<Require>(&n.op))
    return r->what != Require::What::kUnique || in(0);
  if (const auto* j = std::get_if<Join>(&n.op)) {
    const bool left_rows_only =
        n.types.size() == n.inputs[0]->types.size() || j->kind == JoinKind::kSingle;
    return in(0) && (left_rows_only || (j->kind != JoinKind::kFull && in(1)));
  }
  if (std::holds_alternative<UnionAll>(n.op) || std::holds_alternative<Scan>(n.op) ||
      std::holds_alternative<Series>(n.op) || std::holds_alternative<Derivative>(n.op) ||
      std::holds_alternative<Recursion>(n.op) || std::holds_alternative<RecursionInput>(n.op)) {
    return false;
  }
  return in(0);  // operators that keep their (left) input's rows or fewer
}

// Whether the last of `order`, which has inputs before readers, has one row at most.
bool AtMostOneRow(const std::vector<NodeRef>& order) {
  absl::flat_hash_set<const Node*> one;
  for (const NodeRef& node : order) {
    const auto in = [&](size_t i) { return one.contains(node->inputs[i].get()); };
    if (AtMostOneRow(*node, in)) one.insert(node.get());
  }
  return one.contains(order.back().get());
}

// How an operator's transpose reaches input `i`: with the input's rows as they are, or through row
// ids.
bool KeepsRows(const Node& n, size_t i) {
  if (std::holds_alternative<Lookup>(n.op)) return i == 0;
  return std::holds_alternative<Project>(n.op) || std::holds_alternative<GroupBy>(n.op) ||
         std::holds_alternative<Window>(n.op) || std::holds_alternative<Contraction>(n.op) ||
         std::holds_alternative<RowId>(n.op) || std::holds_alternative<Require>(n.op) ||
         std::holds_alternative<Collect>(n.op);
}

// Operators whose output rows are some of input 0's rows, so that its row id identifies them too.
bool InheritsRowId(const Node& n) {
  if (std::holds_alternative<Join>(n.op))
    return n.width() == n.inputs[0]->width();  // semi and anti joins
  return std::holds_alternative<Project>(n.op) || std::holds_alternative<Filter>(n.op) ||
         std::holds_alternative<Sort>(n.op) || std::holds_alternative<Limit>(n.op) ||
         std::holds_alternative<Window>(n.op) || std::holds_alternative<Lookup>(n.op) ||
         std::holds_alternative<Collect>(n.op) || std::holds_alternative<Require>(n.op) ||
         std::holds_alternative<RowId>(n.op);
}

}  // namespace

ExprRef BaseColumn(const NodeRef& base, int column) {
  return ColumnExpr(column, base->types[static_cast<size_t>(column)]);
}

ExprRef IsNotNull(const ExprRef& e) { return CallNamed("is not null", {e}, TypeId::kBool); }

ExprRef WhenTrue(const ExprRef& condition, const ExprRef& value) {
  if (condition == nullptr) return value;
  return CaseExpr({condition, value, NullExpr(value->type)});
}

NodeRef Extend(Planner& planner, const NodeRef& base, const std::vector<ExprRef>& exprs) {
  Project p;
  for (int c = 0; c < base->width(); ++c) p.exprs.push_back(BaseColumn(base, c));
  p.exprs.insert(p.exprs.end(), exprs.begin(), exprs.end());
  return planner.Make(std::move(p), {base});
}

Reverse::Reverse(Planner& planner, NodeRef function,
                 absl::flat_hash_map<const Node*, std::vector<int>> wrt,
                 absl::flat_hash_set<const Node*> with_rowid)
    : planner_(planner),
      function_(std::move(function)),
      wrt_(std::move(wrt)),
      with_rowid_(std::move(with_rowid)),
      order_(TopologicalOrder({function_})),
      activity_(FindActivity(order_, wrt_)) {
  FindRowIdNodes();
}

bool Reverse::IsActive(const NodeRef& node) const {
  const ColumnActivity& columns = ActivityOf(node);
  return std::any_of(columns.begin(), columns.end(), [](const Activity& a) { return a.active; });
}

// A relation needs row ids where a reader does not keep its rows, where several readers' cotangents
// are to be added, or where it would hand on too many columns of what it was computed from: a long
// chain of projections with all of them at each would take memory in the square of its length.
void Reverse::FindRowIdNodes() {
  constexpr int kMostCarried = 256;
  absl::flat_hash_map<const Node*, int> readers;
  for (const NodeRef& node : order_) {
    if (!IsActive(node)) continue;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const NodeRef& input = node->inputs[i];
      if (!IsActive(input)) continue;
      if (++readers[input.get()] > 1 || !KeepsRows(*node, i)) needs_rowid_.insert(input.get());
    }
  }
  for (const Node* node : with_rowid_) needs_rowid_.insert(node);
  absl::flat_hash_map<const Node*, int> handed_on;  // by node: columns that its readers see
  for (const NodeRef& node : order_) {
    int columns = node->width();
    if (std::holds_alternative<Project>(node->op) || std::holds_alternative<Window>(node->op))
      columns += handed_on[node->inputs[0].get()];
    if (columns > kMostCarried && IsActive(node)) needs_rowid_.insert(node.get());
    const bool carries = IsActive(node) && !NeedsRowId(node);
    handed_on[node.get()] = carries ? columns : node->width();
  }
}

ExprRef Reverse::Remap(const ExprRef& expr, const RowView& view) const {
  if (expr == nullptr) return nullptr;
  return MapColumns(expr, [&](const Expr& c) {
    return ColumnExpr(view.columns[static_cast<size_t>(c.index)], c.type);
  });
}

std::vector<ExprRef> Reverse::Remap(const std::vector<ExprRef>& exprs, const RowView& view) const {
  std::vector<ExprRef> out;
  for (const ExprRef& e : exprs) out.push_back(Remap(e, view));
  return out;
}

ColumnActivity Reverse::ViewActivity(const NodeRef& node, const RowView& view) const {
  ColumnActivity out(view.node->types.size());
  const ColumnActivity& own = ActivityOf(node);
  for (size_t c = 0; c < own.size(); ++c) out[static_cast<size_t>(view.columns[c])] = own[c];
  return out;
}

const RowView& Reverse::Augmented(const NodeRef& node) {
  if (auto it = augmented_.find(node.get()); it != augmented_.end()) return it->second;
  RowView view = MakeAugmented(node);
  const bool fresh = with_rowid_.contains(node.get());
  if (NeedsRowId(node) && (view.rowid < 0 || fresh)) {
    view.node = planner_.Make(RowId{}, {view.node});
    view.rowid = view.node->width() - 1;
  }
  return augmented_.emplace(node.get(), std::move(view)).first->second;
}

RowView Reverse::ViewOf(const NodeRef& node) {
  if (!IsActive(node)) return {node, Iota(0, node->width()), -1};
  const RowView& full = Augmented(node);
  if (!NeedsRowId(node)) return full;
  const int width = node->width();
  if (full.rowid == width && full.node->width() == width + 1 && full.columns == Iota(0, width))
    return full;
  Project narrow;
  for (int c : full.columns) narrow.exprs.push_back(BaseColumn(full.node, c));
  narrow.exprs.push_back(BaseColumn(full.node, full.rowid));
  std::vector<std::string> names = node->names;
  names.push_back("rowid");
  return {planner_.Make(std::move(narrow), {full.node}, std::move(names)), Iota(0, width), width};
}

namespace {

// The values of `e` that a comoment with `other` reads.
ExprRef Paired(const ExprRef& e, const ExprRef& other) {
  return SameExpr(e, other) ? e : WhenTrue(IsNotNull(other), e);
}

// Rebuilds an operator over views of its inputs. Gives the operator and where the node's own
// columns are in it.
struct Rebuilder {
  const Node& node;
  const std::vector<RowView>& in;
  std::vector<int> columns = {};  // out

  ExprRef Map(const ExprRef& e, size_t side = 0) const {
    if (e == nullptr) return nullptr;
    return MapColumns(e, [&](const Expr& c) {
      return ColumnExpr(in[side].columns[static_cast<size_t>(c.index)], c.type);
    });
  }
  std::vector<ExprRef> Map(const std::vector<ExprRef>& list, size_t side = 0) const {
    std::vector<ExprRef> out;
    for (const ExprRef& e : list) out.push_back(Map(e, side));
    return out;
  }
  // Over left columns then right columns.
  ExprRef MapBoth(const ExprRef& e) const {
    if (e == nullptr) return nullptr;
    const int split = node.inputs[0]->width(), offset = in[0].node->width();
    return MapColumns(e, [&](const Expr& c) {
      const int to = c.index < split ? in[0].columns[static_cast<size_t>(c.index)]
                                     : offset + in[1].columns[static_cast<size_t>(c.index - split)];
      return ColumnExpr(to, c.type);
    });
  }
  std::vector<JoinKey> Map(const std::vector<JoinKey>& keys) const {
    std::vector<JoinKey> out;
    for (const JoinKey& k : keys) out.push_back({Map(k.left, 0), Map(k.right, 1), k.null_safe});
    return out;
  }
  std::vector<SortKey> Map(const std::vector<SortKey>& keys) const {
    std::vector<SortKey> out;
    for (const SortKey& k : keys) out.push_back({Map(k.expr), k.descending, k.nulls_first});
    return out;
  }
  void KeepColumns(size_t side, int offset) {
    for (int c : in[side].columns) columns.push_back(offset + c);
  }
  void AddColumns(int first, int n) {
    for (int i = 0; i < n; ++i) columns.push_back(first + i);
  }
  int width(size_t side) const { return in[side].node->width(); }

  Operator operator()(const Scan& s) { return AddColumns(0, node.width()), s; }
  Operator operator()(const Values& v) { return AddColumns(0, node.width()), v; }
  Operator operator()(const Series& s) { return AddColumns(0, node.width()), s; }
  Operator operator()(const Derivative& d) { return AddColumns(0, node.width()), d; }
  Operator operator()(const SparseProduct& p) { return AddColumns(0, node.width()), p; }
  Operator operator()(const SampledProduct& p) { return AddColumns(0, node.width()), p; }
  Operator operator()(const Recursion& r) { return AddColumns(0, node.width()), r; }
  Operator operator()(const RecursionInput& r) { return AddColumns(0, node.width()), r; }
  Operator operator()(const Filter& f) { return KeepColumns(0, 0), Filter{Map(f.predicate)}; }
  Operator operator()(const Project& p) {
    Project out;
    for (int c = 0; c < width(0); ++c) out.exprs.push_back(BaseColumn(in[0].node, c));
    for (const ExprRef& e : p.exprs) out.exprs.push_back(Map(e));
    AddColumns(width(0), node.width());
    return out;
  }
  Operator operator()(const Join& j) {
    KeepColumns(0, 0);
    if (node.width() > node.inputs[0]->width()) KeepColumns(1, width(0));
    return Join{j.kind, Map(j.keys), MapBoth(j.residual)};
  }
  Operator operator()(const GroupBy& g) {
    GroupBy out{Map(g.keys), {}};
    for (const Aggregate& a : g.aggregates) {
      out.aggregates.push_back(
          {a.function, Map(a.arg), Map(a.filter), a.distinct, a.type, Map(a.second)});
    }
    // The transpose of AVG divides by the group's count, that of a comoment takes away both means:
    // more aggregates behind.
    for (const Aggregate& a : g.aggregates) {
      if (a.function == AggregateFunction::kAvg) {
        out.aggregates.push_back(
            {AggregateFunction::kCount, Map(a.arg), Map(a.filter), a.distinct, TypeId::kInt64});
      } else if (a.function == AggregateFunction::kComoment) {
        for (const ExprRef& paired : {Paired(a.arg, a.second), Paired(a.second, a.arg)}) {
          out.aggregates.push_back(
              {AggregateFunction::kAvg, Map(paired), Map(a.filter), a.distinct, a.type});
        }
      }
    }
    AddColumns(0, node.width());
    return out;
  }
  Operator operator()(const Window& w) {
    Window out{Map(w.partition), Map(w.order), w.frame, {}};
    out.frame.start_offset = Map(w.frame.start_offset);
    out.frame.end_offset = Map(w.frame.end_offset);
    for (const WindowCall& c : w.calls)
      out.calls.push_back({c.function, Map(c.args), Map(c.filter), c.type});
    for (const WindowCall& c : w.calls) {
      if (c.function == WindowFunction::kAvg) {
        out.calls.push_back({WindowFunction::kCount, Map(c.args), Map(c.filter), TypeId::kInt64});
      } else if (c.function == WindowFunction::kComoment) {
        for (const ExprRef& paired : {Paired(c.args[0], c.args[1]), Paired(c.args[1], c.args[0])})
          out.calls.push_back({WindowFunction::kAvg, {Map(paired)}, Map(c.filter), c.type});
      }
    }
    KeepColumns(0, 0);
    AddColumns(width(0), static_cast<int>(w.calls.size()));
    return out;
  }
  Operator operator()(const Sort& s) { return KeepColumns(0, 0), Sort{Map(s.keys)}; }
  Operator operator()(const Limit& l) { return KeepColumns(0, 0), l; }
  Operator operator()(const UnionAll& u) { return AddColumns(0, node.width()), u; }
  Operator operator()(const Contraction& c) {
    Contraction out = c;
    out.on = Map(c.on);
    out.mask = MapBoth(c.mask);
    for (ContractionKey& k : out.keys)
      k.column = in[static_cast<size_t>(k.side)].columns[static_cast<size_t>(k.column)];
    out.left_factor = Map(c.left_factor, 0);
    out.right_factor = Map(c.right_factor, 1);
    AddColumns(0, node.width());
    return out;
  }
  Operator operator()(const RowId& r) {
    KeepColumns(0, 0);
    AddColumns(width(0), 1);
    return r;
  }
  Operator operator()(const Lookup& l) {
    KeepColumns(0, 0);
    KeepColumns(1, width(0));
    return Lookup{Map(l.left_keys, 0), Map(l.right_keys, 1)};
  }
  Operator operator()(const Collect& c) {
    KeepColumns(0, 0);
    AddColumns(width(0), static_cast<int>(c.values.size()));
    return Collect{in[0].columns[static_cast<size_t>(c.left_key)],
                   in[1].columns[static_cast<size_t>(c.right_key)], Map(c.values, 1)};
  }
  Operator operator()(const Require& r) {
    Require out = r;
    for (int& c : out.columns) c = in[0].columns[static_cast<size_t>(c)];
    KeepColumns(0, 0);
    return out;
  }
};

}  // namespace

// UNION ALL: each branch as its columns, its number, and its row id, so that a cotangent finds its
// way back.
RowView Reverse::MakeAugmented(const NodeRef& node) {
  std::vector<RowView> in;
  for (const NodeRef& input : node->inputs) in.push_back(ViewOf(input));
  std::vector<NodeRef> inputs;
  const bool is_union = std::holds_alternative<UnionAll>(node->op);
  for (size_t i = 0; i < in.size(); ++i) {
    if (!is_union) {
      inputs.push_back(in[i].node);
      continue;
    }
    Project branch;
    for (int c : in[i].columns) branch.exprs.push_back(BaseColumn(in[i].node, c));
    branch.exprs.push_back(ConstantExpr(Value::Int(static_cast<int64_t>(i)), TypeId::kInt64));
    branch.exprs.push_back(in[i].rowid < 0 ? NullExpr(TypeId::kInt64)
                                           : BaseColumn(in[i].node, in[i].rowid));
    inputs.push_back(planner_.Make(std::move(branch), {in[i].node}));
  }
  Rebuilder rebuilder{*node, in};
  Operator op = std::visit(rebuilder, node->op);
  RowView view;
  view.node = planner_.Make(std::move(op), std::move(inputs));
  view.columns = std::move(rebuilder.columns);
  view.rowid = InheritsRowId(*node) && !in.empty() ? in[0].rowid : -1;
  return view;
}

void Reverse::Contribute(const NodeRef& node, Contribution contribution) {
  if (!contribution.cotangents.empty())
    contributions_[node.get()].push_back(std::move(contribution));
}

// Adds up what the readers passed: one that kept the rows is taken as it is, the others are
// collected by row id.
Cotangent Reverse::Gather(const NodeRef& node) {
  std::vector<Contribution>& list = contributions_[node.get()];
  if (list.size() == 1 && list[0].key < 0) return {list[0].base, list[0].cotangents};
  const RowView& full = Augmented(node);
  Cotangent out{full.node, {}};
  for (const Contribution& c : list) {
    ADJOIN_DCHECK(c.key >= 0 && full.rowid >= 0);
    Collect collect{full.rowid, c.key, {}};
    int column = out.base->width();
    for (const auto& [own, d] : c.cotangents) {
      collect.values.push_back(d);
      ExprRef& slot = out.cotangents[own];
      slot = AddCotangents(slot, ColumnExpr(column++, d->type));
    }
    out.base = planner_.Make(std::move(collect), {out.base, c.base});
  }
  return out;
}

// The cotangent of the function itself: 1, or the given relation's values at the rows with equal
// dims. The dims are the function's columns that do not depend on what is differentiated.
absl::Status Reverse::Seed(const NodeRef& cotangent) {
  Contribution seed;
  const RowView& full = Augmented(function_);
  const ColumnActivity& activity = ActivityOf(function_);
  if (cotangent == nullptr) {
    if (function_->width() != 1) {
      return SqlError(sqlstate::kNotScalar,
                      absl::StrCat("grad needs one row and one column, and the function has ",
                                   function_->width(), " columns"));
    }
    if (!activity[0].active) return absl::OkStatus();
    if (!activity[0].blocker.empty()) return NoRule(activity[0].blocker);
    seed.base = full.node;
    if (!AtMostOneRow(order_)) {
      seed.base = planner_.Make(
          Require{Require::What::kOneRow,
                  {},
                  std::string(sqlstate::kNotScalar),
                  "grad needs one row and one column, and the function does not have one row"},
          {full.node});
    }
    seed.cotangents[0] = FloatConst(1, function_->types[0]);
  } else {
    if (cotangent->width() != function_->width()) {
      return SqlError(sqlstate::kNotScalar,
                      absl::StrCat("the cotangent has ", cotangent->width(),
                                   " columns, and the function has ", function_->width()));
    }
    // Cotangent rows with equal dims add up, so that the lookup is unique.
    GroupBy sums;
    Lookup lookup;
    std::vector<int> values;
    for (int c = 0; c < function_->width(); ++c) {
      const size_t i = static_cast<size_t>(c);
      if (activity[i].active) {
        if (!activity[i].blocker.empty()) return NoRule(activity[i].blocker);
        values.push_back(c);
        const ExprRef value = NearestTo(BaseColumn(cotangent, c), function_->types[i]);
        sums.aggregates.push_back(
            {AggregateFunction::kSum, value, nullptr, false, function_->types[i]});
      } else {
        lookup.left_keys.push_back(BaseColumn(full.node, full.columns[i]));
        ADJOIN_ASSIGN_OR_RETURN(ExprRef key,
                                ResolveCast(BaseColumn(cotangent, c), function_->types[i]));
        sums.keys.push_back(key);
      }
    }
    if (values.empty()) return absl::OkStatus();
    const NodeRef right = planner_.Make(std::move(sums), {cotangent});
    for (size_t k = 0; k < lookup.left_keys.size(); ++k)
      lookup.right_keys.push_back(BaseColumn(right, static_cast<int>(k)));
    const int first = full.node->width() + static_cast<int>(lookup.left_keys.size());
    seed.base = planner_.Make(std::move(lookup), {full.node, right});
    for (size_t v = 0; v < values.size(); ++v) {
      seed.cotangents[values[v]] = BaseColumn(seed.base, first + static_cast<int>(v));
    }
  }
  // The function may itself be read by row id (it is differentiated by, or read twice): then so is
  // its seed.
  seed.key = NeedsRowId(function_) ? full.rowid : -1;
  Contribute(function_, std::move(seed));
  return absl::OkStatus();
}

absl::Status Reverse::Run(const NodeRef& cotangent) {
  // Inputs before readers: plans may be too deep to ask on.
  for (const NodeRef& node : order_) {
    if (IsActive(node)) Augmented(node);
  }
  ADJOIN_RETURN_IF_ERROR(Seed(cotangent));
  for (size_t i = order_.size(); i-- > 0;) {
    const NodeRef& node = order_[i];
    if (!contributions_.contains(node.get())) continue;
    Cotangent ct = Gather(node);
    const bool is_wrt = wrt_.contains(node.get());
    bool inputs_active = false;
    for (const NodeRef& input : node->inputs) inputs_active |= IsActive(input);
    if (is_wrt) gathered_.emplace(node.get(), ct);
    if (inputs_active) ADJOIN_RETURN_IF_ERROR(std::visit(Transposer{*this, node, ct}, node->op));
  }
  return absl::OkStatus();
}

NodeRef Reverse::Gradient(const NodeRef& node, const std::vector<int>& columns, bool rowid) {
  const RowView& full = Augmented(node);
  auto it = gathered_.find(node.get());
  const Cotangent ct = it != gathered_.end() ? it->second : Cotangent{full.node, {}};
  Project result;
  std::vector<std::string> names = node->names;
  for (int c : full.columns) result.exprs.push_back(BaseColumn(ct.base, c));
  if (rowid) {
    result.exprs.push_back(BaseColumn(ct.base, full.rowid));
    names.push_back("rowid");
  }
  for (int c : columns) {
    const ExprRef value = result.exprs[static_cast<size_t>(c)];
    const ExprRef zero = FloatConst(0, value->type);
    auto d = ct.cotangents.find(c);
    const ExprRef gradient =
        d == ct.cotangents.end() ? zero : CallNamed("coalesce", {d->second, zero}, value->type);
    result.exprs.push_back(WhenTrue(IsNotNull(value), gradient));
    names.push_back(absl::StrCat("d", node->names[static_cast<size_t>(c)]));
  }
  return planner_.Make(std::move(result), {ct.base}, std::move(names));
}

}  // namespace adjoin
