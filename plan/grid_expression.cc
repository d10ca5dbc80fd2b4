// Scalar expressions over a Grid relation: one map node a function, validity as an array of its own
// where NULLs can be.
#include <algorithm>
#include <utility>

#include "ops/expression.h"
#include "plan/grid.h"
#include "plan/scalar_functions.h"

namespace adjoin {
AxisArray GridLowering::Map(const GridRelation& r, ScalarOp op, TypeId type,
                            const std::vector<AxisArray>& args) {
  std::vector<int> axes;
  for (const AxisArray& a : args) axes.insert(axes.end(), a.axes.begin(), a.axes.end());
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  ArrayNode n;
  n.op = ArrayOp::kMap;
  n.type = type;
  n.scalar = op;
  for (int axis : axes) n.shape.push_back(r.extents[static_cast<size_t>(axis)]);
  for (const AxisArray& a : args) {
    ArrayOperand operand{a.id, {}};
    for (int axis : a.axes) {
      operand.axes.push_back(
          static_cast<int>(std::lower_bound(axes.begin(), axes.end(), axis) - axes.begin()));
    }
    n.operands.push_back(std::move(operand));
  }
  return {graph_.Add(std::move(n)), std::move(axes)};
}

AxisArray GridLowering::Cast(const GridRelation& r, const AxisArray& a, TypeId type) {
  const ArrayNode& n = graph_.node(a.id);
  if (n.type == type) return a;
  if (n.op == ArrayOp::kConstant && IsFloat(type) && !n.constant.is_null() &&
      !n.constant.is_bool()) {
    const double v =
        n.constant.is_int() ? static_cast<double>(n.constant.as_int()) : n.constant.as_float();
    return Constant(Value::Float(type == TypeId::kFloat32 ? static_cast<float>(v) : v), type);
  }
  return Map(r, ScalarOp::kCount, type, {a});
}

AxisArray GridLowering::And(const GridRelation& r, const AxisArray& a, const AxisArray& b) {
  if (a.none() || graph_.IsConstant(a.id, true)) return b;
  if (b.none() || graph_.IsConstant(b.id, true) || (a.id == b.id && a.axes == b.axes)) return a;
  if (graph_.IsConstant(a.id, false)) return a;
  if (graph_.IsConstant(b.id, false)) return b;
  return Map(r, ScalarOp::kAnd, TypeId::kBool, {a, b});
}

AxisArray GridLowering::Or(const GridRelation& r, const AxisArray& a, const AxisArray& b) {
  if (a.none() || b.none()) return {};
  if (graph_.IsConstant(a.id, true) || graph_.IsConstant(b.id, false)) return a;
  if (graph_.IsConstant(b.id, true) || graph_.IsConstant(a.id, false)) return b;
  return Map(r, ScalarOp::kOr, TypeId::kBool, {a, b});
}

AxisArray GridLowering::Not(const GridRelation& r, const AxisArray& a) {
  if (a.none()) return Constant(Value::Bool(false), TypeId::kBool);
  if (graph_.IsConstant(a.id, true)) return Constant(Value::Bool(false), TypeId::kBool);
  if (graph_.IsConstant(a.id, false)) return True();
  return Map(r, ScalarOp::kNot, TypeId::kBool, {a});
}

AxisArray GridLowering::Select(const GridRelation& r, const AxisArray& condition,
                               const AxisArray& a, const AxisArray& b) {
  if (condition.none() || graph_.IsConstant(condition.id, true)) return a;
  if (graph_.IsConstant(condition.id, false)) return b;
  if (a.id == b.id && a.axes == b.axes) return a;
  if (graph_.IsConstant(a.id, true) && graph_.IsConstant(b.id, false)) return condition;
  // A scattered sum, or 0 where nothing was scattered: it is 0 there.
  if (const auto it = zero_outside_.find(a.id); it != zero_outside_.end() &&
                                                it->second.mask == condition.id &&
                                                it->second.axes.size() == condition.axes.size()) {
    const ArrayNode& other = graph_.node(b.id);
    bool is_zero = other.op == ArrayOp::kConstant && other.constant == Value::Float(0);
    for (size_t k = 0; k < condition.axes.size(); ++k)
      is_zero = is_zero && a.axes[static_cast<size_t>(it->second.axes[k])] == condition.axes[k];
    if (is_zero) return a;
  }
  // A choice within the same choice is made.
  const auto chosen = [&](const AxisArray& x, size_t operand) {
    const ArrayNode& n = graph_.node(x.id);
    if (n.op != ArrayOp::kMap || n.scalar != ScalarOp::kSelect) return x;
    const auto at = [&](size_t k) {
      AxisArray out{n.operands[k].array, {}};
      for (int axis : n.operands[k].axes) out.axes.push_back(x.axes[static_cast<size_t>(axis)]);
      return out;
    };
    const AxisArray inner = at(0);
    return inner.id == condition.id && inner.axes == condition.axes ? at(operand) : x;
  };
  const AxisArray x = chosen(a, 1), y = chosen(b, 2);
  if (x.id != a.id || y.id != b.id) return Select(r, condition, x, y);
  return Map(r, ScalarOp::kSelect, TypeOf(a), {condition, a, b});
}

AxisArray GridLowering::Simplify(const AxisArray& mask) {
  if (mask.none() || graph_.IsConstant(mask.id, true)) return {};
  return graph_.IsTrueEverywhere(mask.id) ? AxisArray{} : mask;
}

AxisArray GridLowering::ToArray(const GridRelation& r, const GridColumn& c) {
  if (c.kind == GridColumn::Kind::kArray) return c.value;
  if (c.kind == GridColumn::Kind::kNone) return {};
  const auto index = [&](int axis, int64_t origin, TypeId type) -> AxisArray {
    ArrayNode n;
    n.op = ArrayOp::kIndex;
    n.type = type;
    n.shape = {r.extents[static_cast<size_t>(axis)]};
    n.origins = {origin};
    return {graph_.Add(std::move(n)), {axis}};
  };
  if (c.kind == GridColumn::Kind::kCoordinate) return index(c.axis, c.origin, c.type);
  // A row id is the row-major position in the relation it comes from.
  AxisArray sum = Constant(Value::Int(0), TypeId::kInt64);
  int64_t stride = 1;
  for (size_t p = c.parts.size(); p-- > 0;) {
    const GridColumn::Part& part = c.parts[p];
    AxisArray position = part.axis >= 0 ? index(part.axis, part.origin, TypeId::kInt64)
                                        : Cast(r, part.index, TypeId::kInt64);
    if (part.axis < 0 && part.origin != 0) {
      position = Map(r, ScalarOp::kSubtract, TypeId::kInt64,
                     {position, Constant(Value::Int(part.origin), TypeId::kInt64)});
    }
    const AxisArray scaled = Map(r, ScalarOp::kMultiply, TypeId::kInt64,
                                 {position, Constant(Value::Int(stride), TypeId::kInt64)});
    sum = Map(r, ScalarOp::kAdd, TypeId::kInt64, {sum, scaled});
    stride *= part.extent;
  }
  return sum;
}

std::optional<GridLowering::Typed> GridLowering::Translate(const GridRelation& r,
                                                           const ExprRef& expr) {
  const Expr& e = *expr;
  switch (e.kind) {
    case ExprKind::kColumn: {
      const GridColumn& c = r.columns[static_cast<size_t>(e.index)];
      if (c.kind == GridColumn::Kind::kNone) return std::nullopt;
      return Typed{ToArray(r, c), c.valid};
    }
    case ExprKind::kConstant: {
      if (!IsArrayType(e.type)) return std::nullopt;
      if (!e.constant.is_null()) return Typed{Constant(e.constant, e.type), {}};
      const Value zero = IsFloat(e.type)           ? Value::Float(0)
                         : e.type == TypeId::kBool ? Value::Bool(false)
                                                   : Value::Int(0);
      return Typed{Constant(zero, e.type), Constant(Value::Bool(false), TypeId::kBool)};
    }
    case ExprKind::kParameter: {
      if (!IsArrayType(e.type)) return std::nullopt;
      ArrayNode n;
      n.op = ArrayOp::kParameter;
      n.type = e.type;
      n.column = e.index;
      ArrayNode valid = n;
      valid.type = TypeId::kBool;
      valid.valid = true;
      return Typed{{graph_.Add(std::move(n)), {}}, {graph_.Add(std::move(valid)), {}}};
    }
    case ExprKind::kCall:
      return TranslateCall(r, e);
  }
  return std::nullopt;
}

std::optional<GridLowering::Typed> GridLowering::TranslateCall(const GridRelation& r,
                                                               const Expr& e) {
  const ScalarFunction& f = *e.function;
  if (f.null_rule != NullRule::kStrict && f.null_rule != NullRule::kCast &&
      f.null_rule != NullRule::kNearest && f.null_rule != NullRule::kIdentity) {
    return TranslateSelecting(r, e);
  }
  std::vector<AxisArray> values;
  AxisArray valid;
  for (const ExprRef& arg : e.args) {
    auto t = Translate(r, arg);
    if (!t) return std::nullopt;
    values.push_back(t->value);
    valid = And(r, valid, t->valid);
  }
  const TypeId operand = e.args[0]->type;
  if (f.null_rule == NullRule::kIdentity) return Typed{values[0], valid};
  // What can raise an error needs to know which rows are active: it stays on the Rows layout.
  if (f.null_rule == NullRule::kNearest) return Typed{Cast(r, values[0], e.type), valid};
  if (f.null_rule == NullRule::kCast) {
    if (!IsArrayType(e.type) || !IsArrayType(operand)) return std::nullopt;
    if (ExprBuilder::CastCanRaise(operand, e.type) && !CastStaysInRange(e.type, values[0]))
      return std::nullopt;
    return Typed{Cast(r, values[0], e.type), valid};
  }
  if (!IsArrayType(operand) || Kernels().at(f.op, operand) == nullptr) return std::nullopt;
  if (ExprBuilder::CanRaise(f.op, operand) && !StaysInRange(f.op, e.type, values))
    return std::nullopt;
  return Typed{Map(r, f.op, e.type, values), valid};
}

// Functions with a NULL rule of their own, spelled out over values and validities.
std::optional<GridLowering::Typed> GridLowering::TranslateSelecting(const GridRelation& r,
                                                                    const Expr& e) {
  const NullRule rule = e.function->null_rule;
  if ((rule == NullRule::kIsNull || rule == NullRule::kIsNotNull) &&
      e.args[0]->kind == ExprKind::kColumn) {  // also of TEXT, which has no array
    const GridColumn& c = r.columns[static_cast<size_t>(e.args[0]->index)];
    if (c.kind == GridColumn::Kind::kNone && !c.key) return std::nullopt;
    if (rule == NullRule::kIsNull) return Typed{Not(r, c.valid), {}};
    return Typed{c.valid.none() ? True() : c.valid, {}};
  }
  std::vector<Typed> a;
  for (const ExprRef& arg : e.args) {
    auto t = Translate(r, arg);
    if (!t) return std::nullopt;
    a.push_back(*std::move(t));
  }
  const auto zero = [&](TypeId type) { return Constant(Value::Float(0), type); };
  switch (e.function->null_rule) {
    case NullRule::kAnd: {
      const AxisArray value = And(r, a[0].value, a[1].value);
      if (a[0].valid.none() && a[1].valid.none()) return Typed{value, {}};
      // Known where both are, or where one is known to be false.
      const AxisArray left_false = And(r, a[0].valid, Not(r, a[0].value));
      const AxisArray right_false = And(r, a[1].valid, Not(r, a[1].value));
      const AxisArray known = Or(r, And(r, a[0].valid, a[1].valid), Or(r, left_false, right_false));
      return Typed{And(r, And(r, a[0].valid, a[1].valid), value), known};
    }
    case NullRule::kOr: {
      if (a[0].valid.none() && a[1].valid.none()) return Typed{Or(r, a[0].value, a[1].value), {}};
      const AxisArray left = And(r, a[0].valid, a[0].value), right = And(r, a[1].valid, a[1].value);
      const AxisArray value = Or(r, left, right);
      return Typed{value, Or(r, And(r, a[0].valid, a[1].valid), value)};
    }
    case NullRule::kIsNull:
      return Typed{Not(r, a[0].valid), {}};
    case NullRule::kIsNotNull:
      return Typed{a[0].valid.none() ? True() : a[0].valid, {}};
    case NullRule::kCase: {
      Typed out = a.back();
      for (size_t i = a.size() - 1; i >= 2; i -= 2) {
        const Typed &condition = a[i - 2], &value = a[i - 1];
        const AxisArray taken = And(r, condition.valid, condition.value);
        const bool nulls = !out.valid.none() || !value.valid.none();
        const AxisArray valid = !nulls ? AxisArray{}
                                       : Select(r, taken, value.valid.none() ? True() : value.valid,
                                                out.valid.none() ? True() : out.valid);
        // Where one side is NULL its value does not matter: keep the other, and no select is
        // needed.
        const bool else_null = !out.valid.none() && graph_.IsConstant(out.valid.id, false);
        out = {else_null ? value.value : Select(r, taken, value.value, out.value), valid};
        if (!out.valid.none() && graph_.IsConstant(out.valid.id, true)) out.valid = {};
      }
      return out;
    }
    case NullRule::kCoalesce: {
      Typed out = a.back();
      for (size_t i = a.size() - 1; i-- > 0;) {
        if (a[i].valid.none()) {
          out = a[i];
        } else {
          out = {Select(r, a[i].valid, a[i].value, out.value), Or(r, a[i].valid, out.valid)};
        }
      }
      return out;
    }
    case NullRule::kNullIf: {
      if (!IsArrayType(e.args[0]->type)) return std::nullopt;
      const AxisArray equal =
          And(r, And(r, a[0].valid, a[1].valid),
              Map(r, ScalarOp::kEqual, TypeId::kBool, {a[0].value, a[1].value}));
      return Typed{a[0].value, And(r, a[0].valid, Not(r, equal))};
    }
    case NullRule::kAccumulate: {
      const bool left_all = a[0].valid.none(), right_all = a[1].valid.none();
      const AxisArray left =
          left_all ? a[0].value : Select(r, a[0].valid, a[0].value, zero(e.type));
      const AxisArray right =
          right_all ? a[1].value : Select(r, a[1].valid, a[1].value, zero(e.type));
      return Typed{Map(r, ScalarOp::kAdd, e.type, {left, right}), Or(r, a[0].valid, a[1].valid)};
    }
    case NullRule::kGreatest:
    case NullRule::kLeast: {
      const bool greatest = e.function->null_rule == NullRule::kGreatest;
      Typed out = a[0];
      for (size_t i = 1; i < a.size(); ++i) {
        AxisArray value = Map(r, greatest ? ScalarOp::kGreatest : ScalarOp::kLeast, e.type,
                              {out.value, a[i].value});
        value = Select(r, a[i].valid, Select(r, out.valid, value, a[i].value), out.value);
        out = {value, Or(r, out.valid, a[i].valid)};
      }
      return out;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace adjoin
