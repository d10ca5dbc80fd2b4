#include "tests/reference/window.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "tests/reference/accumulator.h"
#include "tests/reference/interpreter.h"

namespace adjoin::reference {
namespace {

// One partition in window order: positions are indices into `rows`, `peer_start[i]` the first row
// tied with i.
struct Partition {
  const Window* window;
  Value start, end;                       // offsets of the frame
  std::vector<size_t> rows;               // of the input
  std::vector<Row> keys;                  // of the ORDER BY, by position
  std::vector<int64_t> group;             // number of the peer group, by position
  std::vector<std::vector<Row>> args;     // of each call, by position
  std::vector<std::vector<bool>> passes;  // FILTER of each call, by position
  int64_t size() const { return static_cast<int64_t>(rows.size()); }
};

bool IsNumber(const Value& v) {
  return !v.is_null() && !(v.is_float() && std::isnan(v.as_float()));
}
// Whether the key at j is before (-1), at (0) or past (1) the key at i moved back or on by the
// distance, in the direction of the order. NULL and NaN have no distance to a number: there the
// order alone decides.
int BesideMoved(const Partition& p, int64_t i, int64_t j, const Value& distance, bool back) {
  const Value& a = p.keys[static_cast<size_t>(i)][0];
  const Value& b = p.keys[static_cast<size_t>(j)][0];
  const auto compare = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (!IsNumber(a) || !IsNumber(b)) {
    return compare(p.group[static_cast<size_t>(j)], p.group[static_cast<size_t>(i)]);
  }
  const int sign = p.window->order[0].descending ? -1 : 1;
  const int by = back ? -sign : sign;
  if (a.is_float()) return sign * compare(b.as_float(), a.as_float() + by * distance.as_float());
  return sign * compare(static_cast<__int128>(b.as_int()),
                        a.as_int() + static_cast<__int128>(by) * distance.as_int());
}

bool AtOrAfterStart(const Partition& p, int64_t i, int64_t j) {
  const Frame& f = p.window->frame;
  const int64_t gi = p.group[static_cast<size_t>(i)], gj = p.group[static_cast<size_t>(j)];
  switch (f.start) {
    case FrameBound::kUnboundedPreceding:
      return true;
    case FrameBound::kUnboundedFollowing:
      return false;
    case FrameBound::kCurrentRow:
      return f.mode == FrameMode::kRows ? j >= i : gj >= gi;
    case FrameBound::kPreceding:
    case FrameBound::kFollowing:
      break;
  }
  const int64_t by = f.mode == FrameMode::kRange ? 0 : p.start.as_int();
  const int64_t offset = f.start == FrameBound::kPreceding ? -by : by;
  if (f.mode == FrameMode::kRows) return j >= i + offset;
  if (f.mode == FrameMode::kGroups) return gj >= gi + offset;
  return BesideMoved(p, i, j, p.start, f.start == FrameBound::kPreceding) >= 0;
}

bool AtOrBeforeEnd(const Partition& p, int64_t i, int64_t j) {
  const Frame& f = p.window->frame;
  const int64_t gi = p.group[static_cast<size_t>(i)], gj = p.group[static_cast<size_t>(j)];
  switch (f.end) {
    case FrameBound::kUnboundedPreceding:
      return false;
    case FrameBound::kUnboundedFollowing:
      return true;
    case FrameBound::kCurrentRow:
      return f.mode == FrameMode::kRows ? j <= i : gj <= gi;
    case FrameBound::kPreceding:
    case FrameBound::kFollowing:
      break;
  }
  const int64_t by = f.mode == FrameMode::kRange ? 0 : p.end.as_int();
  const int64_t offset = f.end == FrameBound::kPreceding ? -by : by;
  if (f.mode == FrameMode::kRows) return j <= i + offset;
  if (f.mode == FrameMode::kGroups) return gj <= gi + offset;
  return BesideMoved(p, i, j, p.end, f.end == FrameBound::kPreceding) <= 0;
}

bool Excluded(const Partition& p, int64_t i, int64_t j) {
  const bool peer = p.group[static_cast<size_t>(i)] == p.group[static_cast<size_t>(j)];
  switch (p.window->frame.exclusion) {
    case FrameExclusion::kNone:
      return false;
    case FrameExclusion::kCurrentRow:
      return i == j;
    case FrameExclusion::kGroup:
      return peer;
    case FrameExclusion::kTies:
      return peer && i != j;
  }
  return false;
}

std::vector<size_t> FrameOf(const Partition& p, int64_t i) {
  std::vector<size_t> frame;
  for (int64_t j = 0; j < p.size(); ++j) {
    if (AtOrAfterStart(p, i, j) && AtOrBeforeEnd(p, i, j) && !Excluded(p, i, j)) {
      frame.push_back(static_cast<size_t>(j));
    }
  }
  return frame;
}

Value Shifted(const Partition& p, size_t call, int64_t i, int direction) {
  const Row& args = p.args[call][static_cast<size_t>(i)];
  int64_t offset = 1;
  if (args.size() > 1) {
    if (args[1].is_null()) return Value();
    offset = args[1].as_int();
  }
  const __int128 j = static_cast<__int128>(i) + static_cast<__int128>(direction) * offset;
  if (j >= 0 && j < p.size()) return p.args[call][static_cast<size_t>(j)][0];
  return args.size() > 2 ? args[2] : Value();
}

AggregateFunction AggregateOf(WindowFunction function) {
  switch (function) {
    case WindowFunction::kCountStar:
      return AggregateFunction::kCountStar;
    case WindowFunction::kCount:
      return AggregateFunction::kCount;
    case WindowFunction::kSum:
      return AggregateFunction::kSum;
    case WindowFunction::kAvg:
      return AggregateFunction::kAvg;
    case WindowFunction::kMin:
      return AggregateFunction::kMin;
    case WindowFunction::kBoolAnd:
      return AggregateFunction::kBoolAnd;
    case WindowFunction::kBoolOr:
      return AggregateFunction::kBoolOr;
    case WindowFunction::kComoment:
      return AggregateFunction::kComoment;
    case WindowFunction::kStringAgg:
      return AggregateFunction::kStringAgg;
    default:
      return AggregateFunction::kMax;
  }
}

absl::StatusOr<Value> FrameAggregate(const Partition& p, size_t call,
                                     const std::vector<size_t>& frame) {
  const WindowCall& what = p.window->calls[call];
  const TypeId arg_type = what.args.empty() ? TypeId::kInt64 : what.args[0]->type;
  Accumulator acc(AggregateOf(what.function), arg_type, what.type);
  for (size_t j : frame) {
    const Row& args = p.args[call][j];
    if (p.passes[call][j])
      acc.Add(args.empty() ? Value() : args[0], args.size() < 2 ? Value() : args[1]);
  }
  return acc.Result();
}

// Rows of peer groups before `group`.
double PeersBefore(const Partition& p, int64_t group) {
  return static_cast<double>(
      std::count_if(p.group.begin(), p.group.end(), [&](int64_t g) { return g < group; }));
}

// Row i's bucket when rows are dealt out: as even as can be, larger buckets first.
absl::StatusOr<Value> Bucket(const Partition& p, const Value& buckets, int64_t i) {
  if (buckets.is_null()) return Value();
  if (buckets.as_int() <= 0)
    return SqlError("22014", "argument of ntile must be greater than zero");
  int64_t bucket = 0;
  for (int64_t row = 0; bucket < buckets.as_int(); ++bucket) {
    row += p.size() / buckets.as_int() + (bucket < p.size() % buckets.as_int() ? 1 : 0);
    if (i < row) break;
  }
  return Value::Int(bucket + 1);
}

absl::StatusOr<Value> Nth(const Partition& p, size_t call, const Value& number,
                          const std::vector<size_t>& frame) {
  if (number.is_null()) return Value();
  if (number.as_int() <= 0)
    return SqlError("22016", "argument of nth_value must be greater than zero");
  const auto n = static_cast<size_t>(number.as_int());
  return n > frame.size() ? Value() : p.args[call][frame[n - 1]][0];
}

absl::StatusOr<Value> CallValue(const Partition& p, size_t call, int64_t i,
                                const std::vector<size_t>& frame) {
  const size_t at = static_cast<size_t>(i);
  const auto size = static_cast<double>(p.size());
  switch (p.window->calls[call].function) {
    case WindowFunction::kRowNumber:
      return Value::Int(i + 1);
    case WindowFunction::kRank:
      return Value::Int(std::count_if(p.group.begin(), p.group.end(),
                                      [&](int64_t g) { return g < p.group[at]; }) +
                        1);
    case WindowFunction::kDenseRank:
      return Value::Int(p.group[at] + 1);
    case WindowFunction::kPercentRank:
      return Value::Float(p.size() == 1 ? 0 : PeersBefore(p, p.group[at]) / (size - 1));
    case WindowFunction::kCumeDist:
      return Value::Float(PeersBefore(p, p.group[at] + 1) / size);
    case WindowFunction::kNtile:
      return Bucket(p, p.args[call][0][0], i);
    case WindowFunction::kNthValue:
      return Nth(p, call, p.args[call][at][1], frame);
    case WindowFunction::kLag:
      return Shifted(p, call, i, -1);
    case WindowFunction::kLead:
      return Shifted(p, call, i, 1);
    case WindowFunction::kFirstValue:
      return frame.empty() ? Value() : p.args[call][frame.front()][0];
    case WindowFunction::kLastValue:
      return frame.empty() ? Value() : p.args[call][frame.back()][0];
    default:
      return FrameAggregate(p, call, frame);
  }
}

// Evaluates keys and arguments of the partition's rows, in window order.
absl::Status Prepare(Partition& p, const Rows& input, const std::vector<Row>& sort_keys,
                     const std::vector<Value>& params) {
  const Window& w = *p.window;
  std::stable_sort(p.rows.begin(), p.rows.end(), [&](size_t a, size_t b) {
    return CompareSortKeys(w.order, sort_keys[a], sort_keys[b]) < 0;
  });
  for (size_t row : p.rows) {
    const bool tied =
        !p.keys.empty() && CompareSortKeys(w.order, p.keys.back(), sort_keys[row]) == 0;
    p.group.push_back(p.group.empty() ? 0 : p.group.back() + (tied ? 0 : 1));
    p.keys.push_back(sort_keys[row]);
  }
  for (const WindowCall& call : w.calls) {
    Evaluator args(call.args, &params), filter({call.filter}, &params);
    std::vector<Row>& values = p.args.emplace_back();
    std::vector<bool>& passes = p.passes.emplace_back();
    for (size_t row : p.rows) {
      filter.SetRow(&input[row]);
      ADJOIN_ASSIGN_OR_RETURN(const bool pass, filter.IsTrue(0));
      passes.push_back(pass);
      args.SetRow(&input[row]);
      if (!pass) {
        values.emplace_back(call.args.size());
        continue;
      }
      ADJOIN_ASSIGN_OR_RETURN(Row row_args, args.GetAll());
      values.push_back(std::move(row_args));
    }
  }
  return absl::OkStatus();
}

// The frame's, NULL where it has none.
absl::StatusOr<Row> Offsets(const Frame& frame, const Rows& input,
                            const std::vector<Value>& params) {
  const Row none;
  const bool subquery = (frame.start_offset != nullptr && !ColumnsOf(frame.start_offset).empty()) ||
                        (frame.end_offset != nullptr && !ColumnsOf(frame.end_offset).empty());
  if (input.empty() && subquery) return Row(2);
  Evaluator exprs({frame.start_offset, frame.end_offset}, &params);
  exprs.SetRow(input.empty() ? &none : &input[0]);
  ADJOIN_ASSIGN_OR_RETURN(Row offsets, exprs.GetAll());
  const bool has[] = {IsOffset(frame.start), IsOffset(frame.end)};
  const char* const names[] = {"starting", "ending"};
  for (int i = 0; i < 2; ++i) {
    const std::string name = absl::StrCat("frame ", names[i], " offset must not be ");
    if (has[i] && offsets[i].is_null()) return SqlError("22004", name + "null");
    if (has[i] && frame.mode != FrameMode::kRange && offsets[i].as_int() < 0)
      return SqlError("22013", name + "negative");
  }
  return offsets;
}

}  // namespace

int CompareSortKeys(const std::vector<SortKey>& keys, const Row& a, const Row& b) {
  for (size_t k = 0; k < keys.size(); ++k) {
    if (a[k].is_null() && b[k].is_null()) continue;
    if (a[k].is_null()) return keys[k].nulls_first ? -1 : 1;
    if (b[k].is_null()) return keys[k].nulls_first ? 1 : -1;
    const int order = CompareValues(a[k], b[k]);
    if (order != 0) return keys[k].descending ? -order : order;
  }
  return 0;
}

absl::StatusOr<Rows> EvaluateWindow(const Window& window, const Rows& input,
                                    const std::vector<Value>& params) {
  std::vector<ExprRef> order;
  for (const SortKey& key : window.order) order.push_back(key.expr);
  Evaluator partition_keys(window.partition, &params), order_keys(order, &params);
  std::vector<Row> sort_keys;
  std::map<Row, std::vector<size_t>, RowLess> partitions;
  for (size_t row = 0; row < input.size(); ++row) {
    partition_keys.SetRow(&input[row]);
    order_keys.SetRow(&input[row]);
    ADJOIN_ASSIGN_OR_RETURN(Row key, partition_keys.GetAll());
    partitions[key].push_back(row);
    ADJOIN_ASSIGN_OR_RETURN(Row sort_key, order_keys.GetAll());
    sort_keys.push_back(std::move(sort_key));
  }
  ADJOIN_ASSIGN_OR_RETURN(const Row offsets, Offsets(window.frame, input, params));
  Rows out = input;
  for (auto& [key, rows] : partitions) {
    Partition p{&window, offsets[0], offsets[1], std::move(rows), {}, {}, {}, {}};
    ADJOIN_RETURN_IF_ERROR(Prepare(p, input, sort_keys, params));
    for (int64_t i = 0; i < p.size(); ++i) {
      const std::vector<size_t> frame = FrameOf(p, i);
      for (size_t call = 0; call < window.calls.size(); ++call) {
        ADJOIN_ASSIGN_OR_RETURN(Value value, CallValue(p, call, i, frame));
        out[p.rows[static_cast<size_t>(i)]].push_back(std::move(value));
      }
    }
  }
  return out;
}

}  // namespace adjoin::reference
