// Products of grids: the pairs of a join summed over some axes, as one array contraction where
// nothing but zeros can stand for the pairs that take no part.
#include <algorithm>
#include <utility>

#include "plan/grid.h"
#include "plan/scalar_functions.h"

namespace adjoin {

GridLowering::Maybe GridLowering::LowerContraction(const Node& n, const Contraction& c) {
  const GridRelation &left = in(n, 0), &right = in(n, 1);
  const int split = n.inputs[0]->width();
  auto joined = JoinRelations(left, right, c.on, false);
  if (!joined) return std::nullopt;
  GridRelation& r = *joined;
  if (c.mask != nullptr) {
    auto t = Translate(r, c.mask);
    if (!t) return std::nullopt;
    r.mask = Simplify(And(r, r.mask, And(r, t->valid, t->value)));
  }
  std::vector<ExprRef> keys;
  for (const ContractionKey& k : c.keys) {
    const int column = k.side == 0 ? k.column : split + k.column;
    keys.push_back(ColumnExpr(column, n.types[keys.size()]));
  }
  const auto axes = FindGroupAxes(r, keys);
  auto lhs = Translate(r, c.left_factor);
  auto rhs = Translate(r, ShiftColumns(c.right_factor, split));
  if (!axes || !lhs || !rhs) return std::nullopt;
  const std::vector<int>& kept = axes->kept;

  const TypeId type = c.left_factor->type;
  const AxisArray ok = And(r, r.mask, And(r, lhs->valid, rhs->valid));
  const AxisArray zero = Constant(Value::Float(0), type);
  const auto within = [](const AxisArray& a, const AxisArray& b) {
    return std::all_of(a.axes.begin(), a.axes.end(),
                       [&](int axis) { return HasAxis(b.axes, axis); });
  };
  // A cell that takes no part must not add: a zero in one factor is not enough where the other is
  // infinite or NaN.
  AxisArray x = Select(r, lhs->valid, lhs->value, zero),
            y = Select(r, rhs->valid, rhs->value, zero);
  const bool mask_summed =
      !ok.none() &&
      !std::all_of(ok.axes.begin(), ok.axes.end(), [&](int axis) { return HasAxis(kept, axis); });
  bool as_product = true, one_zeroed = false;
  if (mask_summed) {
    // Both factors are zero where the mask is false, if both vary along it; else the one that does,
    // x, is.
    const bool in_x = within(ok, x), in_y = within(ok, y);
    if (in_x) x = Select(r, ok, lhs->value, zero);
    if (in_y) y = Select(r, ok, rhs->value, zero);
    if (in_y && !in_x) std::swap(x, y);
    as_product = in_x || in_y;
    one_zeroed = in_x != in_y;
  }
  AxisArray sum;
  std::vector<int> contracted;
  for (int axis : x.axes) {
    if (HasAxis(y.axes, axis) && !HasAxis(kept, axis)) contracted.push_back(axis);
  }
  // With every kept axis in both factors there is no matrix, only dot products: a reduction runs
  // over them as rows, in one step with what reads them. 24,785 of 8 cells (examples/models/
  // factorization.sql) took 0.78 ms as a batch of products.
  const bool any_kept =
      std::any_of(kept.begin(), kept.end(), [&](int axis) { return HasAxis(x.axes, axis); });
  const bool only_dots = any_kept && std::all_of(kept.begin(), kept.end(), [&](int axis) {
                           return HasAxis(x.axes, axis) == HasAxis(y.axes, axis);
                         });
  if (as_product && !only_dots && !contracted.empty()) {
    // Axes of one factor alone that are not kept are summed first.
    std::vector<int> keep = kept;
    keep.insert(keep.end(), contracted.begin(), contracted.end());
    int64_t repeats = 1;
    for (int a = 0; a < static_cast<int>(r.extents.size()); ++a) {
      if (!HasAxis(keep, a) && !HasAxis(x.axes, a) && !HasAxis(y.axes, a))
        repeats *= r.extents[static_cast<size_t>(a)];
    }
    const auto own = [&](const AxisArray& f) {  // reduces only along axes that f has
      std::vector<int> mine = keep;
      for (int a = 0; a < static_cast<int>(r.extents.size()); ++a) {
        if (!HasAxis(f.axes, a) && !HasAxis(mine, a)) mine.push_back(a);
      }
      return Reduce(r, ReduceOp::kSum, f, mine);
    };
    x = own(x);
    y = own(y);
    ArrayNode product;
    product.op = ArrayOp::kContract;
    product.type = type;
    std::vector<int> space;
    for (int axis : kept) {
      if (!HasAxis(x.axes, axis) && !HasAxis(y.axes, axis)) continue;
      space.push_back(axis);
      product.shape.push_back(r.extents[static_cast<size_t>(axis)]);
    }
    sum.axes = space;
    space.insert(space.end(), contracted.begin(), contracted.end());
    for (int axis : space) product.space.push_back(r.extents[static_cast<size_t>(axis)]);
    // What was summed beforehand no longer has its own pairs: then y has none of the mask's axes
    // either.
    const auto position = [&](int axis) {
      return static_cast<int>(std::find(space.begin(), space.end(), axis) - space.begin());
    };
    const auto operand = [&](const AxisArray& f) {
      ArrayOperand o{f.id, {}};
      for (int axis : f.axes) o.axes.push_back(position(axis));
      return o;
    };
    product.operands = {operand(x), operand(y)};
    const auto in_space = [&](int axis) { return HasAxis(space, axis); };
    if (mask_summed && std::all_of(ok.axes.begin(), ok.axes.end(), in_space)) {
      const ArrayOperand mask = operand(ok);
      if (graph_.StaircaseOf(mask).present()) {
        product.stairs = mask;
      } else if (one_zeroed) {
        product.operands.push_back(mask);
      }
    }
    sum.id = graph_.Add(std::move(product));
    ++contractions_;
    if (repeats != 1) {
      sum = Map(r, ScalarOp::kMultiply, type,
                {sum, Constant(Value::Float(static_cast<double>(repeats)), type)});
    }
  } else {
    sum = Reduce(r, ReduceOp::kSum, Select(r, ok, Map(r, ScalarOp::kMultiply, type, {x, y}), zero),
                 kept);
  }

  AxisArray some;
  const bool whole_group = !keys.empty() && ok.id == r.mask.id && ok.axes == r.mask.axes;
  if (!ok.none() && !whole_group) some = Simplify(Reduce(r, ReduceOp::kAny, ok, kept));
  GridRelation out;
  const std::vector<int> to = KeepAxes(r, kept, out);
  const auto renamed = [&](AxisArray a) {
    for (int& axis : a.axes) axis = to[static_cast<size_t>(axis)];
    return a;
  };
  for (const ExprRef& key : keys) {
    out.columns.push_back(r.columns[static_cast<size_t>(key->index)]);
    RenameAxes(out.columns.back(), to);
  }
  const auto array_column = [&](const AxisArray& value, const AxisArray& valid,
                                TypeId column_type) {
    GridColumn column;
    column.kind = GridColumn::Kind::kArray;
    column.type = column_type;
    column.value = renamed(value);
    column.valid = renamed(valid);
    out.columns.push_back(std::move(column));
  };
  array_column(sum, some, type);
  if (c.count) array_column(Cast(r, Count(r, r.mask, kept), TypeId::kInt64), {}, TypeId::kInt64);
  if (!r.mask.none() && !keys.empty())
    out.mask = renamed(Simplify(Reduce(r, ReduceOp::kAny, r.mask, kept)));
  if (axes->scattered) return ScatterGroups(out, *axes->scattered);
  return out;
}

}  // namespace adjoin
