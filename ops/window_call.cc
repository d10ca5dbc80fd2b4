#include "ops/window_call.h"

#include <algorithm>
#include <cstring>

#include "engine/decimal_functions.h"
#include "engine/status.h"
#include "engine/types.h"
#include "ops/centred_sum.h"
#include "ops/column_access.h"
#include "ops/window_fold.h"

namespace adjoin {
namespace {

struct Plus {
  double operator()(double a, double b) const { return a + b; }
};

template <typename T>
struct MaybeValue {
  T value{};
  bool present = false;
};

template <typename T, bool kGreatest>
struct Better {
  MaybeValue<T> operator()(const MaybeValue<T>& a, const MaybeValue<T>& b) const {
    if (!a.present) return b;
    if (!b.present) return a;
    const bool second = kGreatest ? SqlLess(a.value, b.value) : SqlLess(b.value, a.value);
    return second ? b : a;
  }
};

// How far from a row a ROWS frame's start or end is, in a partition of `size` rows.
int64_t RowsFrom(WindowFrameBound bound, int64_t offset, int64_t size) {
  switch (bound) {
    case WindowFrameBound::kUnboundedPreceding:
      return -size;
    case WindowFrameBound::kPreceding:
      return -std::min(offset, size);
    case WindowFrameBound::kCurrentRow:
      return 0;
    case WindowFrameBound::kFollowing:
      return std::min(offset, size);
    case WindowFrameBound::kUnboundedFollowing:
      return size;
  }
  return 0;
}

// Rows of a partition that count. Counts are exact, so a range's is a difference.
class Counts {
 public:
  // `running`: [p] of the first p rows; empty where all count.
  explicit Counts(std::pmr::vector<int64_t> running) : running_(std::move(running)) {}
  bool IsTaken(int64_t position) const {
    return running_.empty() || running_[position + 1] > running_[position];
  }
  int64_t In(const PositionRange* parts, int count) const {
    int64_t total = 0;
    for (int p = 0; p < count; ++p) {
      total +=
          running_.empty() ? parts[p].size() : running_[parts[p].end] - running_[parts[p].begin];
    }
    return total;
  }

 private:
  std::pmr::vector<int64_t> running_;
};

// The rows of a frame that has as many in each; -1: frames differ.
int64_t FixedRows(const WindowFrameSpec& spec, int64_t size) {
  if (spec.mode != WindowFrameMode::kRows || spec.exclusion != WindowFrameExclusion::kNone)
    return -1;
  return RowsFrom(spec.end, spec.end_offset, size) - RowsFrom(spec.start, spec.start_offset, size) +
         1;
}

int64_t IntAt(const Vector& v, int64_t row) {
  switch (v.type) {
    case TypeId::kInt16:
      return v.as<int16_t>()[row];
    case TypeId::kInt32:
      return v.as<int32_t>()[row];
    default:
      return v.as<int64_t>()[row];
  }
}

}  // namespace

WindowColumn::WindowColumn(const WindowCallSpec& spec, std::vector<Vector> exprs, int64_t rows,
                           std::shared_ptr<MemoryBudget> budget, MappedMemory* mapped)
    : spec_(spec),
      exprs_(std::move(exprs)),
      rows_(rows),
      budget_(std::move(budget)),
      mapped_(mapped),
      memory_(mapped == nullptr ? std::pmr::get_default_resource() : mapped),
      views_(memory_),
      bytes_(memory_),
      valid_(static_cast<size_t>(rows), 1, memory_),
      texts_(mapped),
      text_charge_(budget_) {}

absl::StatusOr<std::unique_ptr<WindowColumn>> WindowColumn::Make(
    const WindowCallSpec& spec, std::vector<Vector> exprs, int64_t rows,
    std::shared_ptr<MemoryBudget> budget, MappedMemory* mapped) {
  auto column = std::unique_ptr<WindowColumn>(
      new WindowColumn(spec, std::move(exprs), rows, std::move(budget), mapped));
  if (spec.result == TypeId::kText) {
    column->views_.resize(static_cast<size_t>(rows));
    column->data_ = column->views_.data();
    return column;
  }
  if (mapped != nullptr) {
    column->bytes_.resize(static_cast<size_t>(rows * VectorWidth(spec.result)));
    column->data_ = column->bytes_.data();
    return column;
  }
  ADJOIN_ASSIGN_OR_RETURN(column->values_,
                          Buffer::Allocate(rows * VectorWidth(spec.result), column->budget_));
  column->data_ = column->values_->mutable_data();
  return column;
}

absl::StatusOr<ColumnRef> WindowColumn::Finish() {
  if (values_ == nullptr) return MakeColumn({spec_.result, data_, valid_.data()}, rows_, budget_);
  return MakeColumn(spec_.result, std::move(values_), valid_.data(), rows_, budget_);
}

void WindowColumn::SetNull(int64_t row) {
  valid_[static_cast<size_t>(row)] = 0;
  WithWidth(VectorWidth(spec_.result), [&](auto zero) { Put(row, zero); });
}

absl::Status WindowColumn::Compute(const WindowFrameSpec& frame, const WindowPartition& partition) {
  switch (spec_.kind) {
    case WindowKind::kRowNumber:
    case WindowKind::kRank:
    case WindowKind::kDenseRank:
    case WindowKind::kPercentRank:
    case WindowKind::kCumeDist:
      ComputeRank(partition);
      return absl::OkStatus();
    case WindowKind::kNtile:
      return ComputeNtile(partition);
    case WindowKind::kLag:
    case WindowKind::kLead:
      ComputeShift(partition);
      return absl::OkStatus();
    case WindowKind::kFirstValue:
    case WindowKind::kLastValue:
      ComputeEnd(frame, partition);
      return absl::OkStatus();
    case WindowKind::kNthValue:
      return ComputeNth(frame, partition);
    case WindowKind::kComoment:
      return ComputeComoment(frame, partition);
    case WindowKind::kStringAgg:
      return ComputeTexts(frame, partition);
    default:
      return ComputeAggregate(frame, partition);
  }
}

void WindowColumn::ComputeRank(const WindowPartition& partition) {
  const auto size = static_cast<double>(partition.size());
  const auto put_each = [&](auto&& value_at) {
    for (int64_t i = 0; i < partition.size(); ++i) Put(partition.row(i), value_at(i));
  };
  switch (spec_.kind) {
    case WindowKind::kRank:
      return put_each([&](int64_t i) { return partition.peers(i).begin + 1; });
    case WindowKind::kDenseRank:
      return put_each([&](int64_t i) { return partition.group(i) + 1; });
    case WindowKind::kPercentRank:
      return put_each([&](int64_t i) {
        return size <= 1 ? 0.0 : static_cast<double>(partition.peers(i).begin) / (size - 1);
      });
    case WindowKind::kCumeDist:
      return put_each(
          [&](int64_t i) { return static_cast<double>(partition.peers(i).end) / size; });
    default:
      return put_each([](int64_t i) { return i + 1; });
  }
}

// The first `rest` buckets have one row more than the others. The first row says how many there
// are.
absl::Status WindowColumn::ComputeNtile(const WindowPartition& partition) {
  const Vector& numbers = exprs_[spec_.arg];
  const int64_t first = partition.row(0);
  const int64_t buckets = numbers.is_null(first) ? 1 : IntAt(numbers, first);
  if (buckets <= 0) return SqlError("22014", "argument of ntile must be greater than zero");
  const int64_t share = partition.size() / buckets, rest = partition.size() % buckets;
  const int64_t in_larger = rest * (share + 1);
  for (int64_t i = 0; i < partition.size(); ++i) {
    const int64_t row = partition.row(i);
    if (numbers.is_null(first)) {
      SetNull(row);
      continue;
    }
    const int64_t bucket =
        i < in_larger ? i / (share + 1) : rest + (i - in_larger) / std::max<int64_t>(share, 1);
    Put<int32_t>(row, static_cast<int32_t>(bucket + 1));
  }
  return absl::OkStatus();
}

void WindowColumn::Set(int64_t row, const Vector& from, int64_t at) {
  if (from.is_null(at)) return SetNull(row);
  WithWidth(VectorWidth(spec_.result), [&](auto zero) {
    using T = decltype(zero);
    Put(row, from.as<T>()[at]);
  });
}

// LAG where `offset` > 0, LEAD where it is not, of all rows alike: one loop over what is moved.
void WindowColumn::ShiftBy(int64_t offset, const WindowPartition& partition) {
  const int64_t size = partition.size();
  const int64_t begin = std::max<int64_t>(0, offset);
  const int64_t end = std::min(size, size + offset);
  const Vector& from = exprs_[spec_.arg];
  WithWidth(VectorWidth(spec_.result), [&](auto zero) {
    const auto* values = from.as<decltype(zero)>();
    for (int64_t i = begin; i < end; ++i) Put(partition.row(i), values[partition.row(i - offset)]);
  });
  if (from.valid != nullptr) {
    for (int64_t i = begin; i < end; ++i)
      valid_[partition.row(i)] = from.valid[partition.row(i - offset)];
  }
  for (int64_t i = 0; i < size; ++i) {
    if (i == begin && begin < end) i = end;  // these have been moved
    if (i == size) break;
    const int64_t row = partition.row(i);
    spec_.fallback >= 0 ? Set(row, exprs_[spec_.fallback], row) : SetNull(row);
  }
}

void WindowColumn::ComputeShift(const WindowPartition& partition) {
  const int64_t size = partition.size();
  if (spec_.second < 0) {
    const int64_t offset = std::clamp(spec_.offset, -size, size);
    return ShiftBy(spec_.kind == WindowKind::kLag ? offset : -offset, partition);
  }
  for (int64_t i = 0; i < size; ++i) {
    const int64_t row = partition.row(i);
    const Vector& offsets = exprs_[spec_.second];
    if (offsets.is_null(row)) {
      SetNull(row);
      continue;
    }
    const int64_t offset = std::clamp(IntAt(offsets, row), -size, size);
    const int64_t source = spec_.kind == WindowKind::kLag ? i - offset : i + offset;
    if (source >= 0 && source < size) {
      Set(row, exprs_[spec_.arg], partition.row(source));
    } else if (spec_.fallback >= 0) {
      Set(row, exprs_[spec_.fallback], row);
    } else {
      SetNull(row);
    }
  }
}

void WindowColumn::ComputeEnd(const WindowFrameSpec& frame, const WindowPartition& partition) {
  PositionRange parts[3];
  for (int64_t i = 0; i < partition.size(); ++i) {
    const int count = partition.FrameParts(frame, i, parts);
    const int64_t row = partition.row(i);
    if (count == 0) {
      SetNull(row);
    } else if (spec_.kind == WindowKind::kFirstValue) {
      Set(row, exprs_[spec_.arg], partition.row(parts[0].begin));
    } else {
      Set(row, exprs_[spec_.arg], partition.row(parts[count - 1].end - 1));
    }
  }
}

absl::Status WindowColumn::ComputeNth(const WindowFrameSpec& frame,
                                      const WindowPartition& partition) {
  const Vector& numbers = exprs_[spec_.second];
  PositionRange parts[3];
  for (int64_t i = 0; i < partition.size(); ++i) {
    const int count = partition.FrameParts(frame, i, parts);
    const int64_t row = partition.row(i);
    SetNull(row);
    if (numbers.is_null(row)) continue;
    int64_t left = IntAt(numbers, row) - 1;
    if (left < 0) return SqlError("22016", "argument of nth_value must be greater than zero");
    for (int p = 0; p < count; left -= parts[p++].size()) {
      if (left >= parts[p].size()) continue;
      valid_[static_cast<size_t>(row)] = 1;
      Set(row, exprs_[spec_.arg], partition.row(parts[p].begin + left));
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status WindowColumn::ComputeComoment(const WindowFrameSpec& frame,
                                           const WindowPartition& partition) {
  struct Merge {
    CentredSum operator()(CentredSum a, const CentredSum& b) const { return a.Add(b), a; }
  };
  const Vector& x = exprs_[spec_.arg];
  const Vector& y = exprs_[spec_.second];
  auto items = Items<CentredSum>(partition.size());
  for (int64_t i = 0; i < partition.size(); ++i) {
    const int64_t row = partition.row(i);
    if (IsTaken(row) && !y.is_null(row)) items[i].Add({x.as<double>()[row], y.as<double>()[row]});
  }
  RangeFold<CentredSum, Merge> fold(std::move(items), FixedRows(frame, partition.size()));
  return ForEachFrame(frame, partition, [&](int64_t i, const PositionRange* parts, int count) {
    CentredSum sum;
    for (int p = 0; p < count; ++p) sum.Add(fold.Fold(parts[p].begin, parts[p].end));
    const int64_t row = partition.row(i);
    sum.count() > 0 ? Put<double>(row, sum.sum()) : SetNull(row);
    return absl::OkStatus();
  });
}

absl::Status WindowColumn::ComputeTexts(const WindowFrameSpec& frame,
                                        const WindowPartition& partition) {
  const auto* texts = exprs_[spec_.arg].as<std::string_view>();
  const auto* separators = exprs_[spec_.second].as<std::string_view>();
  // Calls f(text) for what a frame's text is made of; returns whether it is not NULL.
  const auto for_each = [&](const PositionRange* parts, int count, auto&& f) {
    bool any = false;
    for (int p = 0; p < count; ++p) {
      for (int64_t j = parts[p].begin; j < parts[p].end; ++j) {
        const int64_t source = partition.row(j);
        if (!IsTaken(source)) continue;
        if (any && !exprs_[spec_.second].is_null(source)) f(separators[source]);
        f(texts[source]);
        any = true;
      }
    }
    return any;
  };
  return ForEachFrame(frame, partition, [&](int64_t i, const PositionRange* parts, int count) {
    const int64_t row = partition.row(i);
    int64_t bytes = 0;
    if (!for_each(parts, count, [&](std::string_view text) { bytes += std::ssize(text); }))
      return SetNull(row), absl::OkStatus();
    ADJOIN_ASSIGN_OR_RETURN(char* out, AllocateText(bytes));
    Put<std::string_view>(row, {out, static_cast<size_t>(bytes)});
    for_each(parts, count, [&](std::string_view text) { out = std::ranges::copy(text, out).out; });
    return absl::OkStatus();
  });
}

absl::StatusOr<char*> WindowColumn::AllocateText(int64_t bytes) {
  const std::lock_guard lock(text_mutex_);
  if (mapped_ == nullptr) ADJOIN_RETURN_IF_ERROR(text_charge_.GrowTo(texts_.bytes() + bytes));
  char* text = texts_.Allocate(static_cast<size_t>(bytes));
  if (mapped_ != nullptr) ADJOIN_RETURN_IF_ERROR(mapped_->status());
  return text;
}

bool WindowColumn::IsTaken(int64_t row) const {
  if (spec_.filter >= 0) {
    const Vector& filter = exprs_[spec_.filter];
    if (filter.is_null(row) || filter.as<uint8_t>()[row] == 0) return false;
  }
  return spec_.kind == WindowKind::kCountStar || !exprs_[spec_.arg].is_null(row);
}

// Calls f(position, parts, number of parts) for every row of the partition; it puts the row's
// result. Where all frames are the same one row's is enough.
template <typename F>
absl::Status WindowColumn::ForEachFrame(const WindowFrameSpec& spec,
                                        const WindowPartition& partition, F&& f) {
  const int64_t size = partition.size();
  PositionRange parts[3];
  if (partition.IsWhole(spec)) {
    parts[0] = {0, size};
    ADJOIN_RETURN_IF_ERROR(f(0, parts, 1));
    Repeat(partition);
    return absl::OkStatus();
  }
  if (spec.mode == WindowFrameMode::kRows && spec.exclusion == WindowFrameExclusion::kNone) {
    const int64_t first = RowsFrom(spec.start, spec.start_offset, size);
    const int64_t end = RowsFrom(spec.end, spec.end_offset, size) + 1;
    for (int64_t i = 0; i < size; ++i) {
      parts[0] = {std::clamp<int64_t>(i + first, 0, size), std::clamp<int64_t>(i + end, 0, size)};
      ADJOIN_RETURN_IF_ERROR(f(i, parts, parts[0].begin < parts[0].end ? 1 : 0));
    }
    return absl::OkStatus();
  }
  for (int64_t i = 0; i < size; ++i) {
    const int count = partition.FrameParts(spec, i, parts);
    ADJOIN_RETURN_IF_ERROR(f(i, parts, count));
  }
  return absl::OkStatus();
}

// Gives all rows of the partition the result of its first.
void WindowColumn::Repeat(const WindowPartition& partition) {
  const int64_t first = partition.row(0);
  for (int64_t i = 1; i < partition.size(); ++i)
    valid_[static_cast<size_t>(partition.row(i))] = valid_[static_cast<size_t>(first)];
  WithWidth(VectorWidth(spec_.result), [&](auto zero) {
    auto* values = static_cast<decltype(zero)*>(data_);
    for (int64_t i = 1; i < partition.size(); ++i) values[partition.row(i)] = values[first];
  });
}

// [p]: rows that count among the first p; empty where all do.
std::pmr::vector<int64_t> WindowColumn::RunningCounts(const WindowPartition& partition) const {
  if (spec_.filter < 0 &&
      (spec_.kind == WindowKind::kCountStar || exprs_[spec_.arg].valid == nullptr))
    return {};
  auto counts = Items<int64_t>(partition.size() + 1);
  for (int64_t i = 0; i < partition.size(); ++i) {
    counts[i + 1] = counts[i] + (IsTaken(partition.row(i)) ? 1 : 0);
  }
  return counts;
}

absl::Status WindowColumn::ComputeAggregate(const WindowFrameSpec& frame,
                                            const WindowPartition& partition) {
  if (spec_.kind == WindowKind::kCountStar || spec_.kind == WindowKind::kCount) {
    const Counts counts(RunningCounts(partition));
    return ForEachFrame(frame, partition, [&](int64_t i, const PositionRange* parts, int count) {
      Put<int64_t>(partition.row(i), counts.In(parts, count));
      return absl::OkStatus();
    });
  }
  return WithElementType(exprs_[spec_.arg].type, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    if (spec_.kind == WindowKind::kMin || spec_.kind == WindowKind::kMax ||
        spec_.kind == WindowKind::kBoolAnd || spec_.kind == WindowKind::kBoolOr) {
      MinMax<T>(frame, partition);
      return absl::OkStatus();
    }
    if constexpr (std::is_arithmetic_v<T>) {
      return Sum<T>(frame, partition);
    } else if constexpr (std::is_same_v<T, Decimal>) {
      return SumDecimals(frame, partition);
    } else {
      return SqlError(sqlstate::kInternalError, "SUM of what has no sum");
    }
  });
}

// Integers: differences of exact running sums. Floats: folds of the frame's own rows; a row that
// does not count adds 0.
template <typename T>
absl::Status WindowColumn::Sum(const WindowFrameSpec& frame, const WindowPartition& partition) {
  const Counts counts(RunningCounts(partition));
  const T* x = exprs_[spec_.arg].as<T>();
  const auto finish = [&](int64_t row, auto sum, int64_t rows) -> absl::Status {
    if (rows == 0) {
      SetNull(row);
    } else if (spec_.kind == WindowKind::kAvg) {
      const double average = static_cast<double>(sum) / static_cast<double>(rows);
      spec_.result == TypeId::kFloat32 ? Put<float>(row, static_cast<float>(average))
                                       : Put<double>(row, average);
    } else if (spec_.result == TypeId::kFloat64) {
      Put<double>(row, static_cast<double>(sum));
    } else if (spec_.result == TypeId::kFloat32) {
      Put<float>(row, static_cast<float>(sum));
    } else if (sum != static_cast<decltype(sum)>(static_cast<int64_t>(sum))) {
      return SqlError(sqlstate::kNumericOutOfRange, "bigint out of range");
    } else {
      Put<int64_t>(row, static_cast<int64_t>(sum));
    }
    return absl::OkStatus();
  };
  if constexpr (std::is_integral_v<T>) {
    auto sums = Items<__int128>(partition.size() + 1);
    for (int64_t i = 0; i < partition.size(); ++i) {
      const int64_t row = partition.row(i);
      sums[i + 1] = sums[i] + (counts.IsTaken(i) ? static_cast<__int128>(x[row]) : 0);
    }
    return ForEachFrame(frame, partition, [&](int64_t i, const PositionRange* parts, int count) {
      __int128 sum = 0;
      for (int p = 0; p < count; ++p) sum += sums[parts[p].end] - sums[parts[p].begin];
      return finish(partition.row(i), sum, counts.In(parts, count));
    });
  } else {
    auto items = Items<double>(partition.size());
    for (int64_t i = 0; i < partition.size(); ++i) {
      if (counts.IsTaken(i)) items[i] = static_cast<double>(x[partition.row(i)]);
    }
    RangeFold<double, Plus> fold(std::move(items), FixedRows(frame, partition.size()));
    return ForEachFrame(frame, partition, [&](int64_t i, const PositionRange* parts, int count) {
      double sum = 0;
      for (int p = 0; p < count; ++p) sum += fold.Fold(parts[p].begin, parts[p].end);
      return finish(partition.row(i), sum, counts.In(parts, count));
    });
  }
}

// Folds of the frame's own rows, as the scale of a sum is the largest of its values'.
absl::Status WindowColumn::SumDecimals(const WindowFrameSpec& frame,
                                       const WindowPartition& partition) {
  struct Merge {
    DecimalSum operator()(DecimalSum a, const DecimalSum& b) const { return a.Add(b), a; }
  };
  const Counts counts(RunningCounts(partition));
  const auto* x = exprs_[spec_.arg].as<Decimal>();
  auto items = Items<DecimalSum>(partition.size());
  for (int64_t i = 0; i < partition.size(); ++i) {
    if (counts.IsTaken(i)) items[i].Add(x[partition.row(i)]);
  }
  RangeFold<DecimalSum, Merge> fold(std::move(items), FixedRows(frame, partition.size()));
  const auto in_frame = [&](int64_t i, const PositionRange* parts, int count) -> absl::Status {
    const int64_t row = partition.row(i);
    const int64_t rows = counts.In(parts, count);
    if (rows == 0) return SetNull(row), absl::OkStatus();
    DecimalSum sum;
    for (int p = 0; p < count; ++p) sum.Add(fold.Fold(parts[p].begin, parts[p].end));
    ADJOIN_ASSIGN_OR_RETURN(const Decimal value,
                            spec_.kind == WindowKind::kAvg ? sum.Average(rows) : sum.Total());
    Put<Decimal>(row, value);
    return absl::OkStatus();
  };
  return ForEachFrame(frame, partition, in_frame);
}

template <typename T>
void WindowColumn::MinMax(const WindowFrameSpec& frame, const WindowPartition& partition) {
  const auto run = [&]<bool kGreatest>() {
    auto items = Items<MaybeValue<T>>(partition.size());
    for (int64_t i = 0; i < partition.size(); ++i) {
      const int64_t row = partition.row(i);
      if (IsTaken(row)) items[i] = {exprs_[spec_.arg].as<T>()[row], true};
    }
    using Combine = Better<T, kGreatest>;
    RangeFold<MaybeValue<T>, Combine> fold(std::move(items), FixedRows(frame, partition.size()));
    return ForEachFrame(frame, partition, [&](int64_t i, const PositionRange* parts, int count) {
      MaybeValue<T> best;
      for (int p = 0; p < count; ++p)
        best = Combine()(best, fold.Fold(parts[p].begin, parts[p].end));
      const int64_t row = partition.row(i);
      best.present ? Put<T>(row, best.value) : SetNull(row);
      return absl::OkStatus();
    });
  };
  const bool greatest = spec_.kind == WindowKind::kMax || spec_.kind == WindowKind::kBoolOr;
  static_cast<void>(greatest ? run.template operator()<true>() : run.template operator()<false>());
}

}  // namespace adjoin
