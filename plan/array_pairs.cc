#include "plan/array_pairs.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "plan/array_compiler.h"

namespace adjoin {
namespace {

using Part = PairList::Part;

// The share of a program's work that has to go, by prediction. Stein's update over the rows of 1e4
// particles' near pairs of leaves (f64, one thread, a shared machine, three interleaved runs each):
//             rows            pairs           written by pairs in SQL (examples/svgd)
//   phi       453 to 583 ms   178 to 338      335 to 351
//   gradient  2208 to 2393    2213 to 3073    1331 to 1497
// The gradient's maps and reductions read transposed matrices, cell by cell, where products read
// them as they lie; that this is what its pairs lose by follows from the plan, no profile was
// taken. Where one would have to, pairs are for `force` alone.
constexpr double kLeastGain = 0.1;

// Two columns of a table by whose values, in [low, high), one array is fetched.
struct Candidate {
  uint64_t table_id;
  int first, second;
  int64_t low, high;
};

// The number of the guard that a part's array will have.
constexpr int kPartGuard = 1 << 30;
int GuardOf(Part part) { return kPartGuard + static_cast<int>(part); }

bool IsColumn(const ArrayNode& n, uint64_t table_id) {
  return n.op == ArrayOp::kInput && n.guard < 0 && n.table_id == table_id && n.shape.size() == 1;
}

bool IsCommutative(const ArrayNode& n) {
  if (n.op == ArrayOp::kContract) return n.operands.size() == 2 && n.stairs.array < 0;
  if (n.op != ArrayOp::kMap) return false;
  switch (n.scalar) {
    case ScalarOp::kAdd:
    case ScalarOp::kMultiply:
    case ScalarOp::kEqual:
    case ScalarOp::kNotEqual:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
      return true;
    default:
      return false;
  }
}

std::vector<int> Whole(size_t rank) {
  std::vector<int> axes(rank);
  for (size_t k = 0; k < rank; ++k) axes[k] = static_cast<int>(k);
  return axes;
}

// What a list's arrays are for one row of each pair, and for its mirror.
class PairRewriter {
 public:
  PairRewriter(const ArrayGraph& graph, const std::vector<int>& roots, const Candidate& list,
               const PairList& pairs)
      : graph_(graph),
        roots_(roots),
        list_(list),
        pairs_(pairs),
        reached_(graph.ReachedFrom(roots)),
        along_(reached_.size(), -1),
        plain_(reached_.size(), -1),
        half_(reached_.size(), -1),
        literal_(reached_.size(), -1),
        mirrored_(reached_.size()) {}

  // None: something reads the list otherwise than by sums to its columns' values.
  std::optional<RewrittenArrays> Run() {
    for (int id = 0; id < graph_.size(); ++id) {
      if (IsReached(id) && !Describe(id)) return std::nullopt;
    }
    if (!has_sums_ ||
        std::any_of(roots_.begin(), roots_.end(), [&](int id) { return IsOfList(id); }))
      return std::nullopt;
    for (int id = 0; id < graph_.size(); ++id) {
      if (!IsReached(id)) continue;
      if (IsOfList(id)) {
        AddPair(id);
      } else {
        Plain(id);
      }
    }
    for (int root : roots_) {
      int& id = plain_[static_cast<size_t>(root)];
      if (out_.node(id).op == ArrayOp::kSlice && graph_.node(root).op == ArrayOp::kScatter)
        id = Copy(id);
    }
    return RewrittenArrays{std::move(out_), std::move(plain_)};
  }
  int shared() const { return shared_; }  // arrays that serve both rows
  // Whether a map or a reduction reads one of them with its axes exchanged.
  bool reads_turned() const { return reads_turned_; }

 private:
  // An array as an operand over other axes, or the negative of it.
  struct View {
    ArrayOperand operand;
    bool negative = false;
  };

  bool IsReached(int id) const { return reached_[static_cast<size_t>(id)]; }
  int AxisOf(int id) const { return along_[static_cast<size_t>(id)]; }
  bool IsOfList(int id) const { return AxisOf(id) >= 0; }
  // A sum of the list's cells by one of its columns.
  bool IsSum(int id) const {
    const ArrayNode& n = graph_.node(id);
    return n.op == ArrayOp::kScatter && !IsOfList(id) && IsOfList(n.operands[0].array);
  }

  // ---- Which axis runs along the list.

  bool Describe(int id) {
    const ArrayNode& n = graph_.node(id);
    int& along = along_[static_cast<size_t>(id)];
    if (IsColumn(n, list_.table_id)) along = 0;
    const bool is_plain_sum = n.op == ArrayOp::kScatter && !IsOfList(n.operands[0].array);
    if (n.operands.empty() || is_plain_sum) return true;
    int axis = -1;
    for (const ArrayOperand& o : n.operands) {
      if (!IsOfList(o.array)) continue;
      const int here = o.axes[static_cast<size_t>(AxisOf(o.array))];
      if (here < 0 || (axis >= 0 && here != axis)) return false;
      axis = here;
    }
    if (axis < 0) return true;
    for (const ArrayOperand& o : n.operands) {
      if (!IsOfList(o.array) && o.VariesAlong(axis)) return false;
    }
    if (n.stairs.array >= 0 && n.stairs.VariesAlong(axis)) return false;
    if (n.op == ArrayOp::kScatter) {
      const auto kept = std::find(n.kept.begin(), n.kept.end(), axis);
      if (kept == n.kept.end()) return has_sums_ = CanMirror(n);
      along = static_cast<int>(kept - n.kept.begin());
      return true;
    }
    const bool is_whole =
        n.op != ArrayOp::kSlice || n.shape[static_cast<size_t>(axis)] ==
                                       graph_.node(n.operands[0].array)
                                           .shape[static_cast<size_t>(AxisOf(n.operands[0].array))];
    if (axis >= static_cast<int>(n.shape.size()) || !is_whole) return false;
    along = axis;
    return true;
  }

  bool IsPairColumn(int id) const {
    const ArrayNode& n = graph_.node(id);
    return IsColumn(n, list_.table_id) && !n.valid &&
           (n.column == list_.first || n.column == list_.second);
  }
  // Cells go where one of the list's two columns says.
  bool CanMirror(const ArrayNode& n) const {
    int columns = 0;
    for (size_t a = 0; a < n.kept.size(); ++a) {
      if (n.kept[a] >= 0) continue;
      const auto j = static_cast<size_t>(-n.kept[a] - 1);
      const int index = n.operands[j + 1].array;
      if (!IsOfList(index)) continue;
      const bool is_whole = n.origins[j] == list_.low && n.shape[a] == list_.high - list_.low;
      if (!IsPairColumn(index) || !is_whole) return false;
      ++columns;
    }
    return columns == 1;
  }

  // ---- Arrays as they were.

  int Plain(int id) {
    int& plain = plain_[static_cast<size_t>(id)];
    if (plain >= 0) return plain;
    if (IsSum(id)) return plain = AddSum(id);
    ArrayNode n = graph_.node(id);
    for (ArrayOperand& o : n.operands) o.array = Plain(o.array);
    if (n.stairs.array >= 0) n.stairs.array = Plain(n.stairs.array);
    return plain_[static_cast<size_t>(id)] = out_.Add(std::move(n));
  }
  int Copy(int id) {
    ArrayNode n;
    n.op = ArrayOp::kMap;
    n.type = out_.node(id).type;
    n.shape = out_.node(id).shape;
    n.operands = {{id, Whole(n.shape.size())}};
    return out_.Add(std::move(n));
  }

  // ---- Arrays of one row of each pair, and of its mirror.

  int PartArray(Part part) {
    ArrayNode n;
    n.op = ArrayOp::kInput;
    n.type = TypeId::kInt32;
    n.shape = {pairs_.length()};
    n.guard = GuardOf(part);
    return out_.Add(std::move(n));
  }
  // A column of the list at those rows.
  int ColumnAt(int column, Part part) {
    ArrayNode n;
    n.op = ArrayOp::kGather;
    n.type = out_.node(column).type;
    n.shape = {pairs_.length()};
    n.operands = {{column, {-1}}, {PartArray(part), {0}}};
    n.indexed = {0};
    n.origins = {0};
    return out_.Add(std::move(n));
  }
  // b where the column is a.
  int OtherColumn(const ArrayNode& column) {
    ArrayNode n = column;
    n.column = n.column == list_.first ? list_.second : list_.first;
    return out_.Add(std::move(n));
  }
  // Whether operand k is a position, and one of the list's columns.
  bool IsPosition(const ArrayNode& n, size_t k) const {
    return k > 0 && (n.op == ArrayOp::kGather || n.op == ArrayOp::kScatter) &&
           IsPairColumn(n.operands[k].array);
  }
  Part PositionPart(const ArrayNode& n, size_t k, bool mirrored) const {
    const bool is_first = graph_.node(n.operands[k].array).column == list_.first;
    return is_first != mirrored ? Part::kFirst : Part::kSecond;
  }
  static Part Apart(Part part) {
    return part == Part::kFirst ? Part::kFirstApart : Part::kSecondApart;
  }

  // A node of the list over other operands.
  ArrayNode Over(const ArrayNode& of, int axis, std::vector<ArrayOperand> operands) {
    ArrayNode n = of;
    n.operands = std::move(operands);
    for (std::vector<int64_t>* extents : {&n.shape, &n.space}) {
      if (static_cast<size_t>(axis) < extents->size())
        (*extents)[static_cast<size_t>(axis)] = pairs_.length();
    }
    for (size_t k = 1; k < of.operands.size(); ++k) {
      if (IsPosition(of, k)) n.origins[k - 1] -= list_.low;
    }
    if (n.stairs.array >= 0) n.stairs.array = Plain(n.stairs.array);
    return n;
  }
  int AxisIn(const ArrayNode& n) const {  // of its space
    for (const ArrayOperand& o : n.operands) {
      if (IsOfList(o.array)) return o.axes[static_cast<size_t>(AxisOf(o.array))];
    }
    return -1;
  }
  ArrayOperand HalfOperand(const ArrayNode& n, size_t k) {
    const ArrayOperand& o = n.operands[k];
    if (IsPosition(n, k)) return {PartArray(PositionPart(n, k, false)), o.axes};
    return {IsOfList(o.array) ? half_[static_cast<size_t>(o.array)] : Plain(o.array), o.axes};
  }
  View MirroredOperand(const ArrayNode& n, size_t k) {
    const ArrayOperand& o = n.operands[k];
    if (IsPosition(n, k)) return {{PartArray(PositionPart(n, k, true)), o.axes}};
    if (!IsOfList(o.array)) return {{Plain(o.array), o.axes}};
    return Along(mirrored_[static_cast<size_t>(o.array)], o.axes);
  }
  // The view, of axes that run along `axes`.
  static View Along(const View& view, const std::vector<int>& axes) {
    View out = view;
    for (int& axis : out.operand.axes) {
      if (axis >= 0) axis = axes[static_cast<size_t>(axis)];
    }
    return out;
  }

  bool IsTurned(int id) const {
    const ArrayOperand& own = mirrored_[static_cast<size_t>(id)].operand;
    return !own.IsWhole(own.axes.size());
  }

  void AddPair(int id) {
    const ArrayNode& n = graph_.node(id);
    const auto at = static_cast<size_t>(id);
    if (n.op == ArrayOp::kInput) {
      const int column = Plain(id);
      half_[at] = ColumnAt(column, Part::kRow);
      const bool exchanged = IsPairColumn(id);
      literal_[at] =
          exchanged ? ColumnAt(OtherColumn(n), Part::kRow) : ColumnAt(column, Part::kMirror);
      if (exchanged && out_.node(literal_[at]).type != n.type)
        literal_[at] = ColumnAt(column, Part::kMirror);
      mirrored_[at] = {{literal_[at], {0}}};
      return;
    }
    std::vector<ArrayOperand> half;
    std::vector<View> mirrored;
    for (size_t k = 0; k < n.operands.size(); ++k) {
      half.push_back(HalfOperand(n, k));
      mirrored.push_back(MirroredOperand(n, k));
    }
    half_[at] = out_.Add(Over(n, AxisIn(n), half));
    if (auto view = FindMirror(id, half, mirrored)) {
      ++shared_;
      mirrored_[at] = *std::move(view);
      return;
    }
    if (n.op == ArrayOp::kMap || n.op == ArrayOp::kReduce) {
      for (const ArrayOperand& o : n.operands)
        reads_turned_ |= IsOfList(o.array) && IsTurned(o.array);
    }
    const std::optional<bool> sign = SignOf(n, mirrored);
    std::vector<ArrayOperand> operands;
    for (size_t k = 0; k < mirrored.size(); ++k)
      operands.push_back(sign ? mirrored[k].operand : LiteralOperand(n, k));
    mirrored_[at] = {{out_.Add(Over(n, AxisIn(n), std::move(operands))), Whole(n.shape.size())},
                     sign.value_or(false)};
  }

  // What the mirror has instead of `half`: itself, perhaps with two axes exchanged, or its
  // negative.
  std::optional<View> FindMirror(int id, const std::vector<ArrayOperand>& half,
                                 const std::vector<View>& mirrored) const {
    const ArrayNode& n = graph_.node(id);
    const int list_axis = AxisOf(id), rank = static_cast<int>(n.shape.size());
    std::vector<int> turn = Whole(std::max(n.shape.size(), n.space.size()));
    if (auto sign = Matches(n, half, mirrored, turn))
      return View{{half_[static_cast<size_t>(id)], Whole(n.shape.size())}, *sign};
    if (n.stairs.array >= 0 || n.op == ArrayOp::kScatter || n.op == ArrayOp::kSlice)
      return std::nullopt;
    for (int e = 0; e < rank; ++e) {
      for (int f = e + 1; f < rank; ++f) {
        if (e == list_axis || f == list_axis ||
            n.shape[static_cast<size_t>(e)] != n.shape[static_cast<size_t>(f)])
          continue;
        std::swap(turn[static_cast<size_t>(e)], turn[static_cast<size_t>(f)]);
        if (auto sign = Matches(n, half, mirrored, turn)) {
          turn.resize(n.shape.size());
          return View{{half_[static_cast<size_t>(id)], turn}, *sign};
        }
        std::swap(turn[static_cast<size_t>(e)], turn[static_cast<size_t>(f)]);
      }
    }
    return std::nullopt;
  }

  // Whether the node over `mirrored` is the one over `half` with its axes turned, bit for bit, and
  // then if it is the negative of it.
  std::optional<bool> Matches(const ArrayNode& n, const std::vector<ArrayOperand>& half,
                              const std::vector<View>& mirrored,
                              const std::vector<int>& turn) const {
    const auto is = [&](size_t k, size_t of) {
      return Along({half[of]}, turn).operand == mirrored[k].operand;
    };
    bool same = true;
    for (size_t k = 0; k < half.size(); ++k) same = same && is(k, k);
    if (same) return SignOf(n, mirrored);
    const bool is_difference = n.op == ArrayOp::kMap && n.scalar == ScalarOp::kSubtract;
    if (half.size() != 2 || !is(0, 1) || !is(1, 0)) return std::nullopt;
    if (IsCommutative(n)) return SignOf(n, mirrored);
    const auto sign = is_difference && IsFloat(n.type) ? SignOf(n, mirrored) : std::nullopt;
    return sign ? std::optional(!*sign) : std::nullopt;
  }

  // Whether the node over operands without their signs is the negative of what it is with them;
  // none where it is neither that nor the same. The sign of a 0 may be another: it goes no further
  // than to sums, which are the same with either.
  std::optional<bool> SignOf(const ArrayNode& n, const std::vector<View>& operands) const {
    const auto any = std::any_of(operands.begin(), operands.end(),
                                 [](const View& view) { return view.negative; });
    if (!any) return false;
    const auto negative = [&](size_t k) { return operands[k].negative; };
    if (n.op == ArrayOp::kReduce || n.op == ArrayOp::kSlice || n.op == ArrayOp::kScatter)
      return n.op != ArrayOp::kReduce || n.reduce == ReduceOp::kSum ? std::optional(true)
                                                                    : std::nullopt;
    if (n.op == ArrayOp::kContract)
      return n.adds ? std::nullopt : std::optional(negative(0) != negative(1));
    if (n.op != ArrayOp::kMap || !IsFloat(n.type)) return std::nullopt;
    switch (n.scalar) {
      case ScalarOp::kMultiply:
        return negative(0) != negative(1);
      case ScalarOp::kDivide:
        return negative(1) ? std::nullopt : std::optional(true);
      case ScalarOp::kAdd:
      case ScalarOp::kSubtract:
        return negative(0) == negative(1) ? std::optional(true) : std::nullopt;
      case ScalarOp::kNegate:
      case ScalarOp::kCount:
        return true;
      case ScalarOp::kAbs:
        return false;
      case ScalarOp::kSelect:
        return SelectsNegative(operands, 1, 2) || SelectsNegative(operands, 2, 1)
                   ? std::optional(true)
                   : std::nullopt;
      default:
        return std::nullopt;
    }
  }
  bool SelectsNegative(const std::vector<View>& operands, size_t k, size_t other) const {
    const ArrayNode& of = out_.node(operands[other].operand.array);
    const bool is_zero =
        of.op == ArrayOp::kConstant && of.constant.is_float() && of.constant.as_float() == 0;
    return operands[k].negative && (operands[other].negative || is_zero);
  }

  // The mirror's operand with the sign that it has, for what depends on it.
  ArrayOperand LiteralOperand(const ArrayNode& n, size_t k) {
    const View view = MirroredOperand(n, k);
    if (!view.negative) return view.operand;
    return {Literal(n.operands[k].array), n.operands[k].axes};
  }
  int Literal(int id) {
    int& known = literal_[static_cast<size_t>(id)];
    if (known >= 0) return known;
    const ArrayNode& n = graph_.node(id);
    std::vector<ArrayOperand> operands;
    for (size_t k = 0; k < n.operands.size(); ++k) operands.push_back(LiteralOperand(n, k));
    return literal_[static_cast<size_t>(id)] = out_.Add(Over(n, AxisIn(n), std::move(operands)));
  }

  // ---- Sums.

  // What rows that mirror themselves would add a second time goes past the end, which a view cuts
  // off.
  int AddSum(int id) {
    const ArrayNode& n = graph_.node(id);
    std::vector<ArrayOperand> operands;
    for (size_t k = 0; k < n.operands.size(); ++k) operands.push_back(HalfOperand(n, k));
    operands.push_back(Positive(MirroredOperand(n, 0), n.operands[0]));
    for (size_t k = 1; k < n.operands.size(); ++k) {
      ArrayOperand position = MirroredOperand(n, k).operand;
      if (IsPosition(n, k)) position.array = PartArray(Apart(PositionPart(n, k, true)));
      operands.push_back(std::move(position));
    }
    ArrayNode sum = Over(n, -1, std::move(operands));
    sum.space[static_cast<size_t>(AxisIn(n))] = pairs_.length();
    for (size_t a = 0; a < n.kept.size(); ++a) {
      if (n.kept[a] < 0 && IsPosition(n, static_cast<size_t>(-n.kept[a]))) ++sum.shape[a];
    }
    ArrayNode view;
    view.op = ArrayOp::kSlice;
    view.type = n.type;
    view.shape = n.shape;
    view.origins.assign(n.shape.size(), 0);
    view.operands = {{out_.Add(std::move(sum)), Whole(n.shape.size())}};
    return out_.Add(std::move(view));
  }
  // The mirror's value, of the shape of `o`'s array.
  ArrayOperand Positive(const View& view, const ArrayOperand& o) {
    if (!view.negative) return view.operand;
    const View& own = mirrored_[static_cast<size_t>(o.array)];
    ArrayNode n;
    n.op = ArrayOp::kMap;
    n.scalar = ScalarOp::kNegate;
    n.type = graph_.node(o.array).type;
    n.shape = out_.node(half_[static_cast<size_t>(o.array)]).shape;
    n.operands = {own.operand};
    return {out_.Add(std::move(n)), o.axes};
  }

  const ArrayGraph& graph_;
  const std::vector<int>& roots_;
  const Candidate list_;
  const PairList& pairs_;
  const std::vector<bool> reached_;
  ArrayGraph out_;
  // By array: its axis along the list; in the new graph itself, one row's of each pair, its
  // mirror's, and that without a sign.
  std::vector<int> along_, plain_, half_, literal_;
  std::vector<View> mirrored_;
  bool has_sums_ = false, reads_turned_ = false;
  int shared_ = 0;
};

std::vector<Candidate> FindCandidates(const ArrayGraph& graph, const std::vector<int>& roots,
                                      const TablesById& tables) {
  struct Fetch {
    int source, axis;
    uint64_t table_id;
    int column;
    int64_t low;
  };
  std::vector<Fetch> fetches;
  std::vector<Candidate> out;
  const std::vector<bool> reached = graph.ReachedFrom(roots);
  for (int id = 0; id < graph.size(); ++id) {
    const ArrayNode& n = graph.node(id);
    if (!reached[static_cast<size_t>(id)] || n.op != ArrayOp::kGather) continue;
    for (size_t j = 0; j < n.indexed.size(); ++j) {
      const ArrayNode& index = graph.node(n.operands[j + 1].array);
      if (!tables.contains(index.table_id) || !IsColumn(index, index.table_id)) continue;
      const Fetch fetch{n.operands[0].array, n.indexed[j], index.table_id, index.column,
                        n.origins[j]};
      for (const Fetch& other : fetches) {
        if (other.source != fetch.source || other.axis != fetch.axis || other.low != fetch.low ||
            other.table_id != fetch.table_id || other.column == fetch.column)
          continue;
        const int first = std::min(other.column, fetch.column);
        const int second = std::max(other.column, fetch.column);
        const bool known = std::any_of(out.begin(), out.end(), [&](const Candidate& c) {
          return c.table_id == fetch.table_id && c.first == first && c.second == second;
        });
        const int64_t extent = graph.node(fetch.source).shape[static_cast<size_t>(fetch.axis)];
        if (!known) out.push_back({fetch.table_id, first, second, fetch.low, fetch.low + extent});
      }
      fetches.push_back(fetch);
    }
  }
  return out;
}

double WorkOf(const ArrayGraph& graph, const std::vector<int>& roots, const StepCosts& costs) {
  const std::vector<bool> reached = graph.ReachedFrom(roots);
  double us = 0;
  for (int id = 0; id < graph.size(); ++id) {
    if (reached[static_cast<size_t>(id)]) us += Microseconds(WorkOfNode(graph, id), costs);
  }
  return us;
}

// Guards for the parts of the list that the graph reads; false where one does not hold.
bool AddGuards(ArrayGraph& graph, const Candidate& list, const PairList& pairs,
               const std::function<int(Guard)>& add) {
  for (int id = 0; id < graph.size(); ++id) {
    ArrayNode n = graph.node(id);
    if (n.op != ArrayOp::kInput || n.guard < kPartGuard) continue;
    n.guard = add({.kind = Guard::Kind::kPairs,
                   .table_id = list.table_id,
                   .low = list.low,
                   .high = list.high,
                   .pairs = {list.first, list.second, pairs.length(), pairs.keeps_order(),
                             static_cast<Part>(n.guard - kPartGuard)}});
    if (n.guard < 0) return false;
    graph.Replace(id, std::move(n));
  }
  return true;
}

absl::Status NotSymmetric(const Candidate& list, int64_t row, const Table& table,
                          const std::string& name) {
  const auto at = [&](int column) { return table.value(row, column).as_int(); };
  const auto name_of = [&](int column) {
    return table.schema().fields[static_cast<size_t>(column)].name;
  };
  const int64_t a = at(list.first), b = at(list.second);
  return SqlError(sqlstate::kCheckViolation,
                  absl::StrCat("relation \"", name, "\" is not symmetric: of (",
                               name_of(list.first), ", ", name_of(list.second), ") it has (", a,
                               ", ", b, ") more often than (", b, ", ", a, ")"));
}

}  // namespace

absl::StatusOr<SharedPairs> SharePairs(const ArrayGraph& graph, const std::vector<int>& roots,
                                       const PlanOptions& options, const PairSources& sources) {
  SharedPairs done;
  if (options.pairs == RuleUse::kOff) return done;
  const bool forced = options.pairs == RuleUse::kForce;
  for (const Candidate& list : FindCandidates(graph, roots, sources.tables)) {
    const ArrayGraph& now = GraphOf(done.rewritten, graph);
    const std::vector<int> now_roots = Renumbered(done.rewritten, roots);
    const Table& table = *sources.tables.find(list.table_id)->second;
    const auto pairs = PairList::Of(table.column(list.first), table.column(list.second), list.low,
                                    list.high, sources.budget, sources.cache);
    if (pairs == nullptr) continue;
    if (!pairs->is_symmetric()) {
      if (!forced) continue;
      return NotSymmetric(list, pairs->lone_row(), table, sources.name_of(list.table_id));
    }
    if (!pairs->keeps_order() && !forced) continue;
    PairRewriter rewriter(now, now_roots, list, *pairs);
    std::optional<RewrittenArrays> rewritten = rewriter.Run();
    if (!rewritten) continue;
    const std::vector<int> new_roots = Renumbered(rewritten, now_roots);
    const auto work = [&](const StepCosts& costs) {
      return std::pair(WorkOf(now, now_roots, costs), WorkOf(rewritten->graph, new_roots, costs));
    };
    // Not by what `adjoin calibrate` measured: plans do not depend on it.
    const auto [before, after] = work(StepCosts{});
    const bool pays = before - after >= kLeastGain * before && !rewriter.reads_turned();
    if (!forced && !pays) continue;
    if (!AddGuards(rewritten->graph, list, *pairs, sources.add_guard)) continue;
    const auto [own_before, own_after] = work(options.costs);
    done.reports.push_back(
        {"pairs",
         absl::StrCat(sources.name_of(list.table_id), " by ", pairs->length(), " pairs of ",
                      table.num_rows(), " rows, ", rewriter.shared(), " arrays for both sides",
                      pairs->keeps_order() ? "" : ", sums in another order"),
         own_before - own_after});
    if (done.rewritten) {
      for (int& id : done.rewritten->ids)
        id = id < 0 ? -1 : rewritten->ids[static_cast<size_t>(id)];
      done.rewritten->graph = std::move(rewritten->graph);
    } else {
      done.rewritten = std::move(rewritten);
    }
  }
  return done;
}

}  // namespace adjoin
