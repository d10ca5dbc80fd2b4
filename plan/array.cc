#include "plan/array.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace adjoin {
namespace {

// As SQL has them: NaN equals NaN and is above every number.
bool Equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool Less(double a, double b) { return !std::isnan(a) && (std::isnan(b) || a < b); }

double Apply(ScalarOp op, const double* a) {
  switch (op) {
    case ScalarOp::kAdd:
      return a[0] + a[1];
    case ScalarOp::kSubtract:
      return a[0] - a[1];
    case ScalarOp::kMultiply:
      return a[0] * a[1];
    case ScalarOp::kEqual:
      return Equal(a[0], a[1]);
    case ScalarOp::kNotEqual:
      return !Equal(a[0], a[1]);
    case ScalarOp::kLess:
      return Less(a[0], a[1]);
    case ScalarOp::kLessEqual:
      return !Less(a[1], a[0]);
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

// Whether doubles compute it as the kernels do: not the roundings of REAL, nor integers near the
// ends of their types.
bool CanEvaluate(const ArrayNode& n) {
  if (n.op == ArrayOp::kIndex || n.op == ArrayOp::kReduce) return true;
  if (n.op == ArrayOp::kConstant) {
    constexpr int64_t kSmall = int64_t{1} << 31;
    const Value& v = n.constant;
    return !v.is_int() || (v.as_int() >= -kSmall && v.as_int() <= kSmall);
  }
  if (n.op != ArrayOp::kMap) return false;
  switch (n.scalar) {
    case ScalarOp::kAdd:
    case ScalarOp::kSubtract:
    case ScalarOp::kMultiply:
      return n.type != TypeId::kFloat32;
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

bool ArrayOperand::IsWhole(size_t rank) const {
  for (size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] != static_cast<int>(k)) return false;
  }
  return axes.size() == rank;
}

int64_t CellsOf(const std::vector<int64_t>& extents) {
  int64_t cells = 1;
  for (int64_t e : extents) cells *= e;
  return cells;
}

std::vector<bool> ArrayGraph::ReachedFrom(const std::vector<int>& roots) const {
  std::vector<bool> reached(nodes_.size(), false);
  for (int root : roots) reached[static_cast<size_t>(root)] = true;
  for (size_t id = reached.size(); id-- > 0;) {
    if (!reached[id]) continue;
    const ArrayNode& n = nodes_[id];
    for (const ArrayOperand& o : n.operands) reached[static_cast<size_t>(o.array)] = true;
    if (n.stairs.array >= 0) reached[static_cast<size_t>(n.stairs.array)] = true;
  }
  return reached;
}

int ArrayGraph::Add(ArrayNode n) {
  n.structural = CanEvaluate(n);
  for (const ArrayOperand& o : n.operands) n.structural &= node(o.array).structural;
  const int known = shared_.Find(nodes_, n);
  if (known >= 0) return known;
  nodes_.push_back(std::move(n));
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
  if (!n.structural) return nullptr;
  if (Cells cells = ReduceBands(n)) return evaluated_[id] = std::move(cells);
  if (CellsOf(space) > limit) return nullptr;
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

std::optional<MaskBands> ArrayGraph::BandsOver(const ArrayOperand& mask, int64_t rows,
                                               int64_t columns) const {
  if (mask.axes.size() == 2) {
    const Bands own = BandsOf(mask.array);
    if (own == nullptr) return std::nullopt;
    return mask.axes[0] < mask.axes[1] ? *own : Transpose(*own);
  }
  const Cells cells = Evaluate(mask.array);
  if (cells == nullptr) return std::nullopt;
  if (mask.axes.empty())
    return RowBands(std::vector(static_cast<size_t>(rows), (*cells)[0]), columns);
  return mask.axes[0] == 0 ? RowBands(*cells, columns) : ColumnBands(rows, *cells);
}

ArrayGraph::Bands ArrayGraph::FindBands(int id) const {
  const ArrayNode& n = node(id);
  if (!n.structural || n.type != TypeId::kBool || n.shape.size() != 2) return nullptr;
  std::optional<MaskBands> found;
  if (n.op == ArrayOp::kMap && n.operands.size() == 2) {
    const ArrayOperand &a = n.operands[0], &b = n.operands[1];
    if (n.scalar == ScalarOp::kAnd) {
      found = BandsOver(a, n.shape[0], n.shape[1]);
      const auto other = found ? BandsOver(b, n.shape[0], n.shape[1]) : std::nullopt;
      found = other ? std::optional(Intersect(*found, *other)) : std::nullopt;
    } else if (a.axes.size() == 1 && b.axes.size() == 1) {
      const bool swapped = a.axes[0] == 1;
      const Cells rows = Evaluate(swapped ? b.array : a.array);
      const Cells columns = Evaluate(swapped ? a.array : b.array);
      if (rows && columns) found = CompareBands(n.scalar, *rows, *columns, swapped);
    }
  }
  if (!found) {  // of another form: cell by cell
    const Cells cells = Evaluate(id);
    if (cells) found = BandsOfCells(*cells, n.shape[1]);
  }
  return found ? std::make_shared<const MaskBands>(*std::move(found)) : nullptr;
}

ArrayGraph::Bands ArrayGraph::BandsOf(int id) const {
  if (auto it = bands_.find(id); it != bands_.end()) return it->second;
  Bands found = FindBands(id);
  return bands_[id] = std::move(found);
}

// ALL, ANY and counts of a mask follow from the lengths of its runs.
ArrayGraph::Cells ArrayGraph::ReduceBands(const ArrayNode& n) const {
  const bool counts = n.reduce == ReduceOp::kSum;
  if (n.op != ArrayOp::kReduce || n.space.size() != 2 || n.shape.size() == 2 ||
      n.operands[0].axes.size() != 2 ||
      (!counts && n.reduce != ReduceOp::kAny && n.reduce != ReduceOp::kAll)) {
    return nullptr;
  }
  ArrayOperand mask = n.operands[0];
  if (const ArrayNode& cast = node(mask.array);
      counts && cast.op == ArrayOp::kMap && cast.scalar == ScalarOp::kCount) {
    mask.array = cast.operands[0].array;
    if (cast.operands[0].axes != std::vector{0, 1}) return nullptr;
  }
  const auto bands = BandsOver(mask, n.space[0], n.space[1]);
  if (!bands) return nullptr;
  std::vector<double> lengths;
  for (const MaskBands::Run& run : bands->runs)
    lengths.push_back(static_cast<double>(run.length()));
  if (n.shape.empty()) lengths = {std::accumulate(lengths.begin(), lengths.end(), 0.0)};
  const auto all = static_cast<double>(CellsOf(n.space) / std::ssize(lengths));
  for (double& length : lengths) {
    if (n.reduce == ReduceOp::kAny) length = length > 0;
    if (n.reduce == ReduceOp::kAll) length = length == all;
  }
  return std::make_shared<const std::vector<double>>(std::move(lengths));
}

bool ArrayGraph::IsTrueEverywhere(int id) const {
  if (const Bands bands = BandsOf(id)) return AllTrue(*bands);
  const Cells cells = Evaluate(id);
  return cells != nullptr &&
         std::all_of(cells->begin(), cells->end(), [](double v) { return v != 0; });
}

Staircase ArrayGraph::StaircaseOf(const ArrayOperand& mask) const {
  if (mask.array < 0 || mask.axes.size() != 2) return {};
  auto it = staircases_.find(mask.array);
  if (it == staircases_.end()) {
    Staircase found;
    if (const Bands bands = BandsOf(mask.array)) {
      found = {0, 1, StairEnds(*bands)};
      const auto turned = found.ends.empty() ? Transpose(*bands) : std::nullopt;
      if (turned) found = {1, 0, StairEnds(*turned)};
      if (found.ends.empty()) found = {};
    }
    it = staircases_.emplace(mask.array, std::move(found)).first;
  }
  Staircase stairs = it->second;
  if (stairs.present()) {
    stairs.of = mask.axes[static_cast<size_t>(stairs.of)];
    stairs.along = mask.axes[static_cast<size_t>(stairs.along)];
  }
  return stairs;
}

ArrayOperand ArrayGraph::StairsAround(const ArrayOperand& condition) const {
  // Conjunctions may be long and share what they AND: each is looked into once, over its own axes.
  std::vector<int> open = {condition.array};
  while (!open.empty()) {
    const int id = open.back();
    if (stairs_around_.contains(id)) {
      open.pop_back();
      continue;
    }
    const ArrayNode& n = node(id);
    ArrayOperand own{id, {}};
    for (size_t k = 0; k < n.shape.size(); ++k) own.axes.push_back(static_cast<int>(k));
    ArrayOperand found;
    const ArrayOperand* unknown = nullptr;
    if (StaircaseOf(own).present()) {
      found = std::move(own);
    } else if (n.op == ArrayOp::kMap && n.scalar == ScalarOp::kAnd) {
      for (const ArrayOperand& o : n.operands) {
        const auto known = stairs_around_.find(o.array);
        if (known == stairs_around_.end()) {
          unknown = &o;
          break;
        }
        found = known->second;
        for (int& axis : found.axes) axis = o.axes[static_cast<size_t>(axis)];
        if (found.array >= 0) break;
      }
    }
    if (unknown != nullptr) {
      open.push_back(unknown->array);
      continue;
    }
    stairs_around_.emplace(id, std::move(found));
    open.pop_back();
  }
  ArrayOperand stairs = stairs_around_.find(condition.array)->second;
  for (int& axis : stairs.axes) axis = condition.axes[static_cast<size_t>(axis)];
  return stairs;
}

std::vector<ArrayOperand> ArrayGraph::ReadCells(const std::vector<int>& roots) const {
  const ArrayOperand all;
  std::vector<ArrayOperand> read(nodes_.size(), all);
  std::vector<bool> is_read(nodes_.size(), false);
  for (int r : roots) is_read[static_cast<size_t>(r)] = true;
  for (size_t id = nodes_.size(); id-- > 0;) {
    if (!is_read[id]) continue;
    const ArrayNode& n = nodes_[id];
    for (size_t k = 0; k < n.operands.size(); ++k) {
      const ArrayOperand& o = n.operands[k];
      // Over this reader's axes; then over the operand's.
      ArrayOperand mask;
      if (n.op == ArrayOp::kMap) {
        if (n.scalar == ScalarOp::kSelect && k == 1) mask = StairsAround(n.operands[0]);
        if (n.scalar == ScalarOp::kAnd) mask = StairsAround(n.operands[1 - k]);
        if (mask.array < 0) mask = read[id];
      }
      for (int& axis : mask.axes) {
        const auto at = std::find(o.axes.begin(), o.axes.end(), axis);
        axis = at == o.axes.end() ? -1 : static_cast<int>(at - o.axes.begin());
      }
      if (mask.VariesAlong(-1)) mask = all;
      const size_t at = static_cast<size_t>(o.array);
      if (is_read[at] && !(read[at] == mask)) mask = all;
      is_read[at] = true;
      read[at] = mask;
    }
  }
  // A root's cells are all read, whatever its readers do.
  for (int r : roots) read[static_cast<size_t>(r)] = all;
  return read;
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
