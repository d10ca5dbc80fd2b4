#include "tests/reference/random_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "plan/scalar_functions.h"

namespace adjoin::reference {
namespace {

constexpr size_t kMostRows = 300;
constexpr TypeId kTypes[] = {TypeId::kBool,    TypeId::kInt16,   TypeId::kInt32, TypeId::kInt64,
                             TypeId::kFloat32, TypeId::kFloat64, TypeId::kText};

std::vector<ColumnTraits> Concat(std::vector<ColumnTraits> a, const std::vector<ColumnTraits>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<TypeId> Concat(std::vector<TypeId> a, const std::vector<TypeId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TypeId SumType(TypeId type) { return IsInteger(type) ? TypeId::kInt64 : type; }

// Whether every value's sums are without rounding: moderate multiples of 1/16 (or not finite).
bool SumsExactly(const Rows& rows, int column) {
  return std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
    const Value& v = row[static_cast<size_t>(column)];
    if (!v.is_float() || !std::isfinite(v.as_float())) return true;
    return std::fabs(v.as_float()) < 1024 && v.as_float() * 16 == std::floor(v.as_float() * 16);
  });
}

}  // namespace

RandomPlan::RandomPlan(uint64_t seed, int operators, bool float_keys)
    : random_(seed), float_keys_(float_keys) {
  for (int i = 0; i < 3; ++i) AddRowsTable();
  for (int i = 0; i < 2; ++i) AddGridTable();
  for (int made = 0, tries = 0; made < operators && tries < 20 * operators; ++tries)
    made += AddOperator();
  root_ = Visible(nodes_.back());
}

Value RandomPlan::RandomValue(TypeId type) {
  static const char* words[] = {"", "a", "b", "ab", "B", "a rather long word", "\xC3\xA9t\xC3\xA9"};
  if (Chance(15)) return Value();
  if (type == TypeId::kBool) return Value::Bool(Chance(50));
  if (type == TypeId::kText) return Value::Text(words[Below(7)]);
  if (IsInteger(type)) return Value::Int(Below(9) - 3);
  switch (Below(24)) {
    case 0:
      return Value::Float(std::numeric_limits<double>::quiet_NaN());
    case 1:
      return Value::Float(std::numeric_limits<double>::infinity());
    case 2:
      return Value::Float(-std::numeric_limits<double>::infinity());
    case 3:
      return Value::Float(-0.0);
    case 4:
      return Value::Float(0.0);
    default:
      return Value::Float((Below(33) - 16) / 4.0);
  }
}

void RandomPlan::AddRowsTable() {
  const int sizes[] = {0, 1, 2, 7, 12, 30};
  Schema schema;
  const int width = 3 + Below(3);
  for (int c = 0; c < width; ++c) schema.fields.push_back({absl::StrCat("c", c), AnyType()});
  Rows rows(static_cast<size_t>(sizes[Below(6)]));
  for (Row& row : rows) {
    for (const Field& field : schema.fields) row.push_back(RandomValue(field.type));
  }
  const uint64_t id = tables_.size() + 1;
  tables_[id] = TableOf(schema, rows).value();
  Add(planner_.Make(Scan{absl::StrCat("t", id), id, schema}, {}), Traits(schema.fields.size()));
}

void RandomPlan::AddGridTable() {
  const int dims = 1 + Below(3);
  Schema schema;
  std::vector<int64_t> extents;
  int64_t cells = 1;
  for (int d = 0; d < dims; ++d) {
    schema.dims.push_back(d);
    schema.fields.push_back(
        {absl::StrCat("d", d), Chance(70) ? TypeId::kInt64 : TypeId::kInt32, true});
    extents.push_back(1 + Below(dims == 1 ? 9 : 4));
    cells *= extents.back();
  }
  schema.fields.push_back({"v", Chance(80) ? TypeId::kFloat64 : TypeId::kFloat32});
  if (Chance(30)) schema.fields.push_back({"n", TypeId::kInt64});
  Rows rows;
  for (int64_t cell = 0; cell < cells; ++cell) {
    Row row(static_cast<size_t>(dims));
    int64_t rest = cell;
    for (size_t d = static_cast<size_t>(dims); d-- > 0; rest /= extents[d])
      row[d] = Value::Int(rest % extents[d]);
    row.push_back(Value::Float((Below(33) - 16) / 4.0));
    if (schema.fields.size() > row.size()) row.push_back(Value::Int(Below(6)));
    rows.push_back(std::move(row));
  }
  const uint64_t id = tables_.size() + 1;
  tables_[id] = TableOf(schema, rows).value();
  Add(planner_.Make(Scan{absl::StrCat("g", id), id, schema}, {}), Traits(schema.fields.size()));
}

const RandomNode& RandomPlan::Any() {
  // Recent nodes more often, so that plans get deep.
  if (Chance(40))
    return nodes_[nodes_.size() - 1 -
                  static_cast<size_t>(Below(std::min<int>(3, static_cast<int>(nodes_.size()))))];
  return nodes_[static_cast<size_t>(Below(static_cast<int>(nodes_.size())))];
}

TypeId RandomPlan::AnyType() {
  return Chance(40) ? (Chance(70) ? TypeId::kFloat64 : TypeId::kInt64) : kTypes[Below(7)];
}

bool RandomPlan::Add(NodeRef node, Traits traits) {
  if (node == nullptr) return false;
  absl::StatusOr<Rows> rows = Interpret(node, tables_);
  if (!rows.ok() || rows->size() > kMostRows) return false;
  // Nothing comes of nothing: few nodes may be empty.
  if (rows->empty() && !node->inputs.empty() && Chance(85)) return false;
  nodes_.push_back({std::move(node), std::move(traits), *std::move(rows)});
  return true;
}

RandomNode RandomPlan::Visible(const RandomNode& n) {
  std::vector<ExprRef> exprs;
  RandomNode out;
  for (size_t c = 0; c < n.traits.size(); ++c) {
    if (n.traits[c].opaque) continue;
    exprs.push_back(ColumnExpr(static_cast<int>(c), n.node->types[c]));
    out.traits.push_back(n.traits[c]);
  }
  if (exprs.size() == n.traits.size()) return n;
  out.node = planner_.Make(Project{exprs}, {n.node});
  out.rows = Interpret(out.node, tables_).value();
  return out;
}

bool RandomPlan::AddOperator() {
  switch (Below(23)) {
    case 0:
    case 1:
      return AddFilter();
    case 2:
    case 3:
      return AddProject();
    case 4:
    case 5:
    case 6:
    case 7:
      return AddJoin();
    case 8:
    case 9:
    case 10:
      return AddGroupBy();
    case 11:
    case 12:
      return AddWindow();
    case 13:
      return AddSort();
    case 22:
      return AddRecursion();
    case 14:
      return AddLimit();
    case 15:
      return AddUnion();
    case 16:
    case 17:
      return AddContraction();
    case 18:
      return AddRowId();
    case 19:
      return AddLookup();
    case 20:
      return AddCollect();
    default:
      return Chance(50) ? AddRequire() : Chance(50) ? AddValues() : AddSeries();
  }
}

// ---- Operators.

bool RandomPlan::AddFilter() {
  const RandomNode n = Any();
  return Add(planner_.Make(Filter{Predicate(n.traits, n.node->types)}, {n.node}), n.traits);
}

bool RandomPlan::AddProject() {
  const RandomNode n = Any();
  Project project;
  Traits traits;
  for (int c = 1 + Below(5); c > 0; --c) {
    const Term term = Expression(n.traits, n.node->types, AnyType(), 3, Chance(60));
    project.exprs.push_back(term.expr);
    traits.push_back({term.exact, false});
  }
  return Add(planner_.Make(project, {n.node}), traits);
}

bool RandomPlan::AddJoin() {
  static const JoinKind kinds[] = {JoinKind::kInner,         JoinKind::kInner,  JoinKind::kLeft,
                                   JoinKind::kFull,          JoinKind::kSemi,   JoinKind::kAnti,
                                   JoinKind::kNullAwareAnti, JoinKind::kSingle, JoinKind::kSingle,
                                   JoinKind::kFull};
  const RandomNode left = Any(), right = Any();
  Join join;
  join.kind = kinds[Below(static_cast<int>(std::size(kinds)))];
  join.keys = Keys(left, right, Below(3));
  if (join.kind == JoinKind::kNullAwareAnti) {
    if (join.keys.empty()) return false;
    join.keys[0].null_safe = false;
  }
  const Traits both = Concat(left.traits, right.traits);
  if (Chance(30)) join.residual = Predicate(both, Concat(left.node->types, right.node->types));
  const bool left_only = join.kind == JoinKind::kSemi || join.kind == JoinKind::kAnti ||
                         join.kind == JoinKind::kNullAwareAnti;
  return Add(planner_.Make(join, {left.node, right.node}), left_only ? left.traits : both);
}

bool RandomPlan::AddGroupBy() {
  static const AggregateFunction functions[] = {
      AggregateFunction::kCountStar, AggregateFunction::kCount,   AggregateFunction::kSum,
      AggregateFunction::kSum,       AggregateFunction::kAvg,     AggregateFunction::kMin,
      AggregateFunction::kMax,       AggregateFunction::kBoolAnd, AggregateFunction::kBoolOr};
  const RandomNode n = Any();
  GroupBy group_by;
  Traits traits;
  for (int k = Below(3); k > 0; --k) {
    group_by.keys.push_back(Key(n));
    const ExprRef& key = group_by.keys.back();
    traits.push_back(key->kind == ExprKind::kColumn ? n.traits[static_cast<size_t>(key->index)]
                                                    : ColumnTraits{});
  }
  for (int a = Below(4) + (group_by.keys.empty() ? 1 : 0); a > 0; --a) {
    const AggregateFunction f = functions[Below(9)];
    const bool boolean = f == AggregateFunction::kBoolAnd || f == AggregateFunction::kBoolOr;
    const bool adds = f == AggregateFunction::kSum || f == AggregateFunction::kAvg;
    TypeId type = boolean ? TypeId::kBool : AnyType();
    while ((adds && !IsNumeric(type)) || (type == TypeId::kBool && !boolean)) type = AnyType();
    const bool distinct = f != AggregateFunction::kCountStar && !boolean && Chance(20);
    const Term arg =
        Expression(n.traits, n.node->types, type, Chance(50) ? 0 : 2, distinct || Chance(50));
    Aggregate aggregate{f, arg.expr, nullptr, distinct, type};
    bool exact = arg.exact;
    if (f == AggregateFunction::kCountStar) aggregate.arg = nullptr;
    if (f == AggregateFunction::kCountStar || f == AggregateFunction::kCount)
      aggregate.type = TypeId::kInt64;
    if (f == AggregateFunction::kSum) {
      aggregate.type = SumType(type);
      const bool column = arg.expr->kind == ExprKind::kColumn;
      if (IsFloat(type)) exact = exact && column && SumsExactly(n.rows, arg.expr->index);
    }
    if (f == AggregateFunction::kAvg) {
      aggregate.type = TypeId::kFloat64;
      exact = false;
    }
    if (Chance(25)) aggregate.filter = Predicate(n.traits, n.node->types);
    group_by.aggregates.push_back(aggregate);
    traits.push_back({exact, false});
  }
  if (Chance(15)) {
    const TypeId type = TypeId::kFloat64;
    const ExprRef x = Expression(n.traits, n.node->types, type, 1, false).expr;
    const ExprRef y = Expression(n.traits, n.node->types, type, 1, false).expr;
    group_by.aggregates.push_back(
        {AggregateFunction::kComoment, x, nullptr, false, type, Chance(50) ? x : y});
    traits.push_back({false, false});
  }
  if (Chance(15)) {
    const TypeId type = TypeId::kFloat64;
    const ExprRef x = Expression(n.traits, n.node->types, type, 1, true).expr;
    group_by.aggregates.push_back(
        {Chance(50) ? AggregateFunction::kPercentileUp : AggregateFunction::kPercentileDown, x,
         nullptr, false, type, FloatConst(Below(5) / 4.0, type)});
    traits.push_back({false, false});
  }
  if (group_by.keys.empty() && group_by.aggregates.empty()) return false;
  return Add(planner_.Make(group_by, {n.node}), traits);
}

bool RandomPlan::AddWindow() {
  const RandomNode n = Any();
  Window window;
  if (Chance(60)) window.partition.push_back(Key(n));
  if (Chance(75)) window.order = Order(n);
  static const FrameBound starts[] = {FrameBound::kUnboundedPreceding, FrameBound::kPreceding,
                                      FrameBound::kCurrentRow, FrameBound::kFollowing};
  static const FrameBound ends[] = {FrameBound::kPreceding, FrameBound::kCurrentRow,
                                    FrameBound::kFollowing, FrameBound::kUnboundedFollowing};
  Frame& frame = window.frame;
  if (Chance(70) && !window.order.empty()) {
    frame.mode = static_cast<FrameMode>(Below(3));
    frame.start = starts[Below(4)];
    frame.end = ends[Below(4)];
    const auto below_3 = [&] { return ConstantExpr(Value::Int(Below(3)), TypeId::kInt64); };
    frame.start_offset = below_3();
    frame.end_offset = below_3();
    if (frame.mode == FrameMode::kRange) {
      // Offsets need a single numeric key; without them RANGE goes by peers.
      frame.start = Chance(50) ? FrameBound::kUnboundedPreceding : FrameBound::kCurrentRow;
      frame.end = Chance(50) ? FrameBound::kUnboundedFollowing : FrameBound::kCurrentRow;
    }
    if (frame.start > frame.end) std::swap(frame.start, frame.end);
    if (Chance(20)) frame.exclusion = static_cast<FrameExclusion>(Below(4));
  }
  Traits traits = n.traits;
  for (int c = 1 + Below(2); c > 0; --c) {
    WindowCall call{static_cast<WindowFunction>(Below(13)), {}, nullptr, TypeId::kInt64};
    const WindowFunction f = call.function;
    const bool adds = f == WindowFunction::kSum || f == WindowFunction::kAvg;
    const bool numbers = f == WindowFunction::kCountStar || f == WindowFunction::kRowNumber ||
                         f == WindowFunction::kRank || f == WindowFunction::kDenseRank;
    bool exact = true;
    if (!numbers) {
      TypeId type = AnyType();
      while ((adds && !IsNumeric(type)) || type == TypeId::kBool) type = AnyType();
      const Term arg = Expression(n.traits, n.node->types, type, 1, Chance(50));
      call.args.push_back(arg.expr);
      exact = arg.exact && !(adds && IsFloat(type));
      call.type = f == WindowFunction::kAvg   ? TypeId::kFloat64
                  : f == WindowFunction::kSum ? SumType(type)
                                              : type;
      if (f == WindowFunction::kCount) call.type = TypeId::kInt64;
      if (f == WindowFunction::kAvg) exact = false;
      if (f == WindowFunction::kCount) exact = true;
      if (f == WindowFunction::kLag || f == WindowFunction::kLead) {
        call.args.push_back(ConstantExpr(Value::Int(Below(3)), TypeId::kInt64));
        if (Chance(50)) call.args.push_back(Constant(type));
      }
    }
    const bool aggregates = f <= WindowFunction::kMax;
    if (aggregates && Chance(25)) call.filter = Predicate(n.traits, n.node->types);
    traits.push_back({exact, false});
    window.calls.push_back(std::move(call));
  }
  return Add(planner_.Make(window, {n.node}), traits);
}

bool RandomPlan::AddSort() {
  const RandomNode n = Any();
  return Add(planner_.Make(Sort{Order(n)}, {n.node}), n.traits);
}

bool RandomPlan::AddLimit() {
  const RandomNode n = Any();
  Limit limit;
  if (Chance(80)) limit.limit = ConstantExpr(Value::Int(Below(12)), TypeId::kInt64);
  if (Chance(50)) limit.offset = ConstantExpr(Value::Int(Below(5)), TypeId::kInt64);
  return Add(planner_.Make(limit, {n.node}), n.traits);
}

bool RandomPlan::AddUnion() {
  const RandomNode a = Any();
  Project project;
  Traits traits = a.traits;
  const RandomNode b = Any();
  for (size_t c = 0; c < traits.size(); ++c) {
    const Term term = Expression(b.traits, b.node->types, a.node->types[c], 1, Chance(50));
    project.exprs.push_back(term.expr);
    traits[c].exact = traits[c].exact && term.exact;
  }
  return Add(planner_.Make(UnionAll{}, {a.node, planner_.Make(project, {b.node})}), traits);
}

bool RandomPlan::AddContraction() {
  const RandomNode left = Any(), right = Any();
  Contraction c;
  for (const JoinKey& key : Keys(left, right, 1 + Below(2))) {
    const bool columns =
        key.left->kind == ExprKind::kColumn && key.right->kind == ExprKind::kColumn;
    if (columns) c.on.push_back(key);
  }
  if (c.on.empty()) return false;
  for (int k = Below(3); k > 0; --k) {
    const int side = Below(2);
    const ExprRef key = Key(side == 0 ? left : right);
    if (key->kind == ExprKind::kColumn) c.keys.push_back({side, key->index});
  }
  const TypeId type = Chance(70) ? TypeId::kFloat64 : TypeId::kFloat32;
  c.left_factor = Expression(left.traits, left.node->types, type, 2, false).expr;
  c.right_factor = Expression(right.traits, right.node->types, type, 1, false).expr;
  c.count = Chance(30);
  // A mask may read the columns of `on` and of the keys.
  std::vector<ExprRef> readable;
  for (const ContractionKey& key : c.keys) {
    const RandomNode& side = key.side == 0 ? left : right;
    const int at = key.column + (key.side == 0 ? 0 : left.node->width());
    readable.push_back(ColumnExpr(at, side.node->types[static_cast<size_t>(key.column)]));
  }
  if (readable.size() == 2 && readable[0]->type == readable[1]->type && Chance(50)) {
    c.mask = CallNamed(Chance(50) ? "<=" : "<>", readable, TypeId::kBool);
  }
  Traits traits;
  for (const ContractionKey& key : c.keys) {
    traits.push_back((key.side == 0 ? left : right).traits[static_cast<size_t>(key.column)]);
  }
  traits.push_back({false, false});
  if (c.count) traits.push_back({});
  return Add(planner_.Make(c, {left.node, right.node}), traits);
}

// The rows that come of moving values from column to column, of those in another relation at times:
// it ends because UNION drops what was there.
bool RandomPlan::AddRecursion() {
  const RandomNode from = Any();
  Project exact;
  for (size_t c = 0; c < from.traits.size(); ++c) {
    if (from.traits[c].exact && !from.traits[c].opaque)
      exact.exprs.push_back(ColumnExpr(static_cast<int>(c), from.node->types[c]));
  }
  if (exact.exprs.empty()) return false;
  const Traits traits(exact.exprs.size());
  const RandomNode base{planner_.Make(exact, {from.node}), traits, {}};
  const std::vector<TypeId>& types = base.node->types;
  const int id = static_cast<int>(nodes_.size());
  NodeRef body = planner_.Make(RecursionInput{id, 0, types}, {});
  std::vector<NodeRef> inputs = {base.node};
  const RandomNode other = Any();
  if (const std::vector<JoinKey> keys = Keys(base, other, 1); !keys.empty() && Chance(60)) {
    inputs.push_back(other.node);
    const NodeRef among = planner_.Make(RecursionInput{id, 1, other.node->types}, {});
    body = planner_.Make(Join{JoinKind::kSemi, keys, nullptr}, {body, among});
  }
  Project moved;
  for (const TypeId type : types) {
    int source = Below(static_cast<int>(types.size()));
    while (types[static_cast<size_t>(source)] != type)
      source = Below(static_cast<int>(types.size()));
    moved.exprs.push_back(ColumnExpr(source, type));
  }
  return Add(planner_.Make(Recursion{id, planner_.Make(moved, {body}), true}, inputs), traits);
}

bool RandomPlan::AddRowId() {
  const RandomNode n = Any();
  Traits traits = n.traits;
  traits.push_back({true, true});
  return Add(planner_.Make(RowId{}, {n.node}), traits);
}

bool RandomPlan::AddLookup() {
  const RandomNode left = Any(), any = Any();
  const std::vector<JoinKey> keys = Keys(left, any, 1 + Below(2));
  if (keys.empty()) return false;
  // Grouping makes the right side unique on its keys.
  GroupBy group_by;
  Lookup lookup;
  Traits traits = left.traits;
  for (const JoinKey& key : keys) {
    group_by.keys.push_back(key.right);
    lookup.left_keys.push_back(key.left);
    lookup.right_keys.push_back(
        ColumnExpr(static_cast<int>(traits.size() - left.traits.size()), key.right->type));
    traits.push_back({true, false});
  }
  group_by.aggregates.push_back(
      {AggregateFunction::kCountStar, nullptr, nullptr, false, TypeId::kInt64});
  traits.push_back({true, false});
  return Add(planner_.Make(lookup, {left.node, planner_.Make(group_by, {any.node})}), traits);
}

// Sums over a join, back to the rows of its left side: how derivatives use row ids.
bool RandomPlan::AddCollect() {
  const RandomNode left = Any(), right = Any();
  const NodeRef numbered = planner_.Make(RowId{}, {left.node});
  const std::vector<JoinKey> keys = Keys(left, right, 1);
  if (keys.empty()) return false;
  const int id = left.node->width();
  const NodeRef join = planner_.Make(
      Join{Chance(50) ? JoinKind::kInner : JoinKind::kLeft, keys, nullptr}, {numbered, right.node});
  Traits traits = left.traits, of_join = left.traits;
  traits.push_back({true, true});
  of_join = Concat(traits, right.traits);
  const Term value = Expression(of_join, join->types, TypeId::kFloat64, 2, false);
  traits.push_back({false, false});
  return Add(planner_.Make(Collect{id, id, {value.expr}}, {numbered, join}), traits);
}

bool RandomPlan::AddRequire() {
  const RandomNode n = Any();
  Require require{Require::What::kUnique, {}, "AD002", "rows are not distinct"};
  for (int c = 0; c < n.node->width(); ++c) require.columns.push_back(c);
  return Add(planner_.Make(require, {n.node}), n.traits);
}

bool RandomPlan::AddValues() {
  Values values;
  for (int c = 1 + Below(3); c > 0; --c) values.types.push_back(AnyType());
  for (int r = Below(4); r > 0; --r) {
    std::vector<ExprRef>& row = values.rows.emplace_back();
    for (TypeId type : values.types) row.push_back(Constant(type));
  }
  const size_t width = values.types.size();
  return Add(planner_.Make(values, {}), Traits(width));
}

bool RandomPlan::AddSeries() {
  const auto constant = [&](int v) { return ConstantExpr(Value::Int(v), TypeId::kInt64); };
  const int step = Chance(50) ? 1 : -2;
  return Add(planner_.Make(Series{constant(Below(5)), constant(Below(9)), constant(step)}, {}),
             Traits(1));
}

}  // namespace adjoin::reference
