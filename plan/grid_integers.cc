// Integer arithmetic over a Grid relation: what cannot leave its type there raises no error, and so
// may run on arrays.
#include <algorithm>

#include "plan/grid.h"

namespace adjoin {
namespace {

// Masks of constants are computed in doubles (ArrayGraph::Evaluate), which hold these exactly.
constexpr int64_t kMostExact = int64_t{1} << 53;

bool Contains(const IntegerRange& outer, const IntegerRange& inner) {
  return outer.low <= inner.low && inner.high <= outer.high;
}

// None where it is no such operation, or passes BIGINT.
std::optional<IntegerRange> Apply(ScalarOp op, const IntegerRange& a, const IntegerRange& b) {
  int64_t ends[4];
  bool overflows = false;
  const auto set = [&](auto&& f) {
    int64_t* end = ends;
    for (int64_t x : {a.low, a.high}) {
      for (int64_t y : {b.low, b.high}) overflows |= f(x, y, end++);
    }
  };
  switch (op) {
    case ScalarOp::kAdd:
      set([](int64_t x, int64_t y, int64_t* z) { return __builtin_add_overflow(x, y, z); });
      break;
    case ScalarOp::kSubtract:
      set([](int64_t x, int64_t y, int64_t* z) { return __builtin_sub_overflow(x, y, z); });
      break;
    case ScalarOp::kMultiply:
      set([](int64_t x, int64_t y, int64_t* z) { return __builtin_mul_overflow(x, y, z); });
      break;
    default:
      return std::nullopt;
  }
  if (overflows) return std::nullopt;
  return IntegerRange{*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}

}  // namespace

IntegerRange GridLowering::FindRange(int id) {
  const ArrayNode& n = graph_.node(id);
  const IntegerRange any = RangeOf(n.type);
  if (n.op == ArrayOp::kConstant && n.constant.is_int())
    return {n.constant.as_int(), n.constant.as_int()};
  if (n.op == ArrayOp::kIndex) return {n.origins[0], n.origins[0] + n.shape[0] - 1};
  if (n.op != ArrayOp::kMap) return any;
  if (n.scalar == ScalarOp::kCount) {
    const int from = n.operands[0].array;
    if (!IsInteger(graph_.node(from).type)) return any;
    const IntegerRange range = RangeOfArray(from);
    return Contains(any, range) ? range : any;
  }
  if (n.operands.size() != 2) return any;
  const auto range =
      Apply(n.scalar, RangeOfArray(n.operands[0].array), RangeOfArray(n.operands[1].array));
  return range && Contains(any, *range) ? *range : any;
}

IntegerRange GridLowering::RangeOfArray(int id) {
  if (const auto it = ranges_.find(id); it != ranges_.end()) return it->second;
  const IntegerRange range = FindRange(id);
  ranges_.emplace(id, range);
  return range;
}

bool GridLowering::StaysInRange(ScalarOp op, TypeId type, const std::vector<AxisArray>& args) {
  if (args.size() != 2) return false;
  const auto range = Apply(op, RangeOfArray(args[0].id), RangeOfArray(args[1].id));
  return range && Contains(RangeOf(type), *range) && Contains({-kMostExact, kMostExact}, *range);
}

bool GridLowering::CastStaysInRange(TypeId type, const AxisArray& arg) {
  return IsInteger(TypeOf(arg)) && IsInteger(type) && Contains(RangeOf(type), RangeOfArray(arg.id));
}

}  // namespace adjoin
