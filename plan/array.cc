#include "plan/array.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace adjoin {
namespace {

uint64_t HashOf(const ArrayNode& n) {
  uint64_t h = absl::HashOf(static_cast<int>(n.op), static_cast<int>(n.type), n.shape, n.space,
                            static_cast<int>(n.scalar), static_cast<int>(n.reduce), n.table_id,
                            n.column, n.valid, n.constant);
  h = absl::HashOf(h, n.indexed, n.kept, n.origins);
  for (const ArrayOperand& o : n.operands) h = absl::HashOf(h, o.array, o.axes);
  return h;
}

double Apply(ScalarOp op, const double* a) {
  switch (op) {
    case ScalarOp::kAdd:
      return a[0] + a[1];
    case ScalarOp::kSubtract:
      return a[0] - a[1];
    case ScalarOp::kMultiply:
      return a[0] * a[1];
    case ScalarOp::kEqual:
      return a[0] == a[1];
    case ScalarOp::kNotEqual:
      return a[0] != a[1];
    case ScalarOp::kLess:
      return a[0] < a[1];
    case ScalarOp::kLessEqual:
      return a[0] <= a[1];
    case ScalarOp::kAnd:
      return a[0] != 0 && a[1] != 0;
    case ScalarOp::kOr:
      return a[0] != 0 || a[1] != 0;
    case ScalarOp::kNot:
      return a[0] == 0;
    case ScalarOp::kSelect:
      return a[0] != 0 ? a[1] : a[2];
    case ScalarOp::kCount:
      return a[0];
    default:
      return std::nan("");
  }
}

bool CanEvaluate(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kSubtract:
    case ScalarOp::kMultiply:
    case ScalarOp::kEqual:
    case ScalarOp::kNotEqual:
    case ScalarOp::kLess:
    case ScalarOp::kLessEqual:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kNot:
    case ScalarOp::kSelect:
    case ScalarOp::kCount:
      return true;
    default:
      return false;
  }
}

// Calls f(cell, offsets of each operand) over the space in row-major order.
template <typename F>
void ForEachCell(const std::vector<int64_t>& space,
                 const std::vector<std::vector<int64_t>>& strides, F&& f) {
  std::vector<int64_t> index(space.size(), 0), offset(strides.size(), 0);
  const int64_t cells = CellsOf(space);
  for (int64_t cell = 0; cell < cells; ++cell) {
    f(cell, offset);
    for (size_t d = space.size(); d-- > 0;) {
      for (size_t o = 0; o < strides.size(); ++o) offset[o] += strides[o][d];
      if (++index[d] < space[d]) break;
      for (size_t o = 0; o < strides.size(); ++o) offset[o] -= strides[o][d] * space[d];
      index[d] = 0;
    }
  }
}

}  // namespace

int64_t CellsOf(const std::vector<int64_t>& extents) {
  int64_t cells = 1;
  for (int64_t e : extents) cells *= e;
  return cells;
}

int ArrayGraph::Add(ArrayNode n) {
  n.structural = n.op == ArrayOp::kConstant || n.op == ArrayOp::kIndex ||
                 ((n.op == ArrayOp::kMap || n.op == ArrayOp::kReduce) &&
                  (n.op == ArrayOp::kReduce || CanEvaluate(n.scalar)));
  for (const ArrayOperand& o : n.operands) n.structural &= node(o.array).structural;
  std::vector<int>& bucket = by_hash_[HashOf(n)];
  for (int id : bucket) {
    if (node(id) == n) return id;
  }
  nodes_.push_back(std::move(n));
  bucket.push_back(size() - 1);
  return size() - 1;
}

int ArrayGraph::Constant(Value value, TypeId type) {
  ArrayNode n;
  n.op = ArrayOp::kConstant;
  n.type = type;
  n.constant = std::move(value);
  return Add(std::move(n));
}

bool ArrayGraph::IsConstant(int id, bool value) const {
  const ArrayNode& n = node(id);
  return n.op == ArrayOp::kConstant && n.constant.is_bool() && n.constant.as_bool() == value;
}

ArrayGraph::Cells ArrayGraph::Evaluate(int id, int64_t limit) const {
  if (auto it = evaluated_.find(id); it != evaluated_.end()) return it->second;
  const ArrayNode& n = node(id);
  const std::vector<int64_t>& space = n.op == ArrayOp::kReduce ? n.space : n.shape;
  if (!n.structural || CellsOf(space) > limit) return nullptr;
  auto cells_out = std::make_shared<std::vector<double>>(static_cast<size_t>(CellsOf(n.shape)));
  std::vector<double>& out = *cells_out;
  const auto keep = [&]() -> Cells { return evaluated_[id] = cells_out; };
  if (n.op == ArrayOp::kConstant) {
    const Value& v = n.constant;
    out[0] = v.is_bool()    ? v.as_bool()
             : v.is_int()   ? static_cast<double>(v.as_int())
             : v.is_float() ? v.as_float()
                            : 0;
    return keep();
  }
  if (n.op == ArrayOp::kIndex) {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(n.origins[0]) + static_cast<double>(i);
    return keep();
  }
  std::vector<Cells> args;
  std::vector<std::vector<int64_t>> strides;
  for (const ArrayOperand& o : n.operands) {
    Cells cells = Evaluate(o.array, limit);
    if (cells == nullptr) return nullptr;
    args.push_back(std::move(cells));
    std::vector<int64_t> s(space.size(), 0);
    int64_t step = 1;
    const std::vector<int64_t>& shape = node(o.array).shape;
    for (size_t k = shape.size(); k-- > 0;) {
      s[static_cast<size_t>(o.axes[k])] += step;
      step *= shape[k];
    }
    strides.push_back(std::move(s));
  }
  if (n.op == ArrayOp::kMap) {
    ForEachCell(space, strides, [&](int64_t cell, const std::vector<int64_t>& offset) {
      double a[3] = {};
      for (size_t o = 0; o < args.size(); ++o) a[o] = (*args[o])[static_cast<size_t>(offset[o])];
      out[static_cast<size_t>(cell)] = Apply(n.scalar, a);
    });
    return keep();
  }
  const int64_t per_cell = CellsOf(n.space) / std::max<int64_t>(1, CellsOf(n.shape));
  const auto identity = [&] {
    switch (n.reduce) {
      case ReduceOp::kAll:
        return 1.0;
      case ReduceOp::kMax:
        return -HUGE_VAL;
      case ReduceOp::kMin:
        return HUGE_VAL;
      default:
        return 0.0;
    }
  }();
  std::fill(out.begin(), out.end(), identity);
  ForEachCell(space, strides, [&](int64_t cell, const std::vector<int64_t>& offset) {
    const double x = (*args[0])[static_cast<size_t>(offset[0])];
    double& acc = out[static_cast<size_t>(cell / per_cell)];
    switch (n.reduce) {
      case ReduceOp::kSum:
        acc += x;
        break;
      case ReduceOp::kMax:
        acc = std::max(acc, x);
        break;
      case ReduceOp::kMin:
        acc = std::min(acc, x);
        break;
      case ReduceOp::kAny:
        acc = acc != 0 || x != 0;
        break;
      case ReduceOp::kAll:
        acc = acc != 0 && x != 0;
        break;
    }
  });
  return keep();
}

std::string ArrayGraph::ToString(int id) const {
  constexpr absl::string_view kNames[] = {"input",  "parameter", "constant", "index",   "map",
                                          "reduce", "contract",  "gather",   "scatter", "slice"};
  const ArrayNode& n = node(id);
  std::string out = absl::StrCat("%", id, " = ", kNames[static_cast<int>(n.op)], "[",
                                 absl::StrJoin(n.shape, ","), "]");
  for (const ArrayOperand& o : n.operands)
    absl::StrAppend(&out, " %", o.array, "(", absl::StrJoin(o.axes, ","), ")");
  return out;
}

}  // namespace adjoin
