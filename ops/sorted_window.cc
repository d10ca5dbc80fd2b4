#include "ops/sorted_window.h"

#include <algorithm>
#include <list>
#include <numeric>
#include <utility>

#include "engine/mapped_memory.h"
#include "engine/status.h"
#include "ops/column_file.h"
#include "ops/materialize.h"
#include "ops/pipeline_run.h"
#include "ops/sort.h"
#include "ops/unnamed_table.h"
#include "ops/window_call.h"
#include "ops/window_needs.h"

namespace adjoin {
namespace {

constexpr int64_t kPiece = 4096;  // rows that are read or written at once

// The expressions of a batch, and its last column, which is the rows' order.
class ValuesAndOrder final : public StreamOperator {
 public:
  explicit ValuesAndOrder(const CompiledExpr& exprs) : exprs_(exprs) {}
  std::unique_ptr<LocalState> MakeLocal(const SharedState*, const RunState& run,
                                        const PipelineOptions& options) const override {
    auto local = std::make_unique<Local>();
    exprs_.Prepare(local->scratch, options.batch_rows, run.parameters);
    return local;
  }
  absl::Status Push(const Batch& in, const SharedState*, LocalState& local,
                    BatchConsumer next) const override {
    auto& state = static_cast<Local&>(local);
    ADJOIN_RETURN_IF_ERROR(exprs_.Run(state.scratch, in.columns, in.rows));
    state.columns.clear();
    for (int i = 0; i < exprs_.num_outputs(); ++i)
      state.columns.push_back(exprs_.output(state.scratch, i));
    state.columns.push_back(in.columns.back());
    return next(Batch{in.rows, state.columns, -1});
  }
  std::string Describe() const override { return "values and order"; }

 private:
  struct Local final : LocalState {
    ExprScratch scratch;
    std::vector<Vector> columns;
  };
  const CompiledExpr& exprs_;
};

class SortedWindow {
 public:
  SortedWindow(const WindowStepSpec& spec, const WindowFrameSpec& frame, RunState& run,
               const PipelineOptions& options)
      : spec_(spec), frame_(frame), run_(run), options_(options), memory_(run.spill->directory) {}

  absl::StatusOr<TableRef> Run(const RowPartitions& rows, size_t part) {
    ADJOIN_ASSIGN_OR_RETURN(TableRef table, Evaluate(rows, part));
    std::vector<int> keys(static_cast<size_t>(spec_.num_partition + spec_.num_order));
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<SortOrder> orders(static_cast<size_t>(spec_.num_partition));
    orders.insert(orders.end(), spec_.orders.begin(), spec_.orders.end());
    if (!keys.empty()) {
      ADJOIN_ASSIGN_OR_RETURN(table, SortBy(*table, keys, orders));
    }
    ADJOIN_ASSIGN_OR_RETURN(TableRef results, Compute(*table));
    if (keys.empty()) return results;
    return SortBy(*results, {results->num_columns() - 1}, {SortOrder()});
  }

 private:
  // What the calls read of the rows, in the rows' order.
  absl::StatusOr<TableRef> Evaluate(const RowPartitions& rows, size_t part) {
    std::vector<TypeId> types = spec_.exprs.output_types();
    types.push_back(TypeId::kInt64);
    const Branch branch{
        std::make_shared<PartitionSource>(rows, part, /*all_blocks=*/false, options_.batch_rows),
        {std::make_shared<ValuesAndOrder>(spec_.exprs)}};
    return RunInMemory({branch}, MaterializeSink(UnnamedSchema(types)), run_, options_);
  }

  absl::StatusOr<TableRef> SortBy(const Table& table, const std::vector<int>& keys,
                                  std::vector<SortOrder> orders) {
    SortSpec sort;
    ExprBuilder exprs;
    for (int key : keys) exprs.Output(exprs.Input(key, table.column(key)->type()));
    sort.keys = std::move(exprs).Build();
    sort.orders = std::move(orders);
    sort.columns.resize(static_cast<size_t>(table.num_columns()));
    std::iota(sort.columns.begin(), sort.columns.end(), 0);
    sort.schema = table.schema();
    return SortInFiles(sort, table, run_, options_);
  }

  // A column as a vector: numbers where they lie, the rest in memory_.
  Vector Read(const Column& column) {
    const bool text = column.type() == TypeId::kText;
    Vector out{column.type()};
    auto* views = text ? Items<std::string_view>() : nullptr;
    auto* valid = column.has_nulls() ? Items<uint8_t>() : nullptr;
    BatchArena arena;
    for (int64_t begin = 0; begin < rows_; begin += kPiece) {
      const int64_t n = std::min(kPiece, rows_ - begin);
      arena.Reset();
      const Vector piece = WithViews(ReadColumn(column, begin, n, arena), n, arena);
      if (begin == 0 && !text) out.data = piece.data;
      if (text) std::copy_n(piece.as<std::string_view>(), n, views + begin);
      if (valid != nullptr) {
        piece.valid == nullptr ? std::fill_n(valid + begin, n, uint8_t{1})
                               : std::copy_n(piece.valid, n, valid + begin);
      }
    }
    if (text) out.data = views;
    out.valid = valid;
    return out;
  }

  // Zeros, one a row.
  template <typename T>
  T* Items() {
    items_.emplace_back(static_cast<size_t>(rows_) * sizeof(T), &memory_);
    return reinterpret_cast<T*>(items_.back().data());
  }

  absl::StatusOr<TableRef> Compute(const Table& table) {
    rows_ = table.num_rows();
    for (int c = 0; c + 1 < table.num_columns(); ++c) exprs_.push_back(Read(*table.column(c)));
    FindGroups();
    ADJOIN_RETURN_IF_ERROR(memory_.status());
    const Column& order = *table.column(table.num_columns() - 1);
    return IsGroupBy(spec_) ? Aggregate(order) : ComputeCalls(order);
  }

  // Numbers partitions and, over all of them, groups of peers.
  void FindGroups() {
    const std::span<const Vector> keys(exprs_);
    partition_of_ = Items<int64_t>(), group_of_ = Items<uint64_t>();
    int64_t partition = 0;
    uint64_t group = 0;
    begins_ = {0};
    for (int64_t begin = 0; begin < rows_; begin += kPiece) {
      const int64_t first = std::max<int64_t>(begin - 1, 0);  // the last piece's last row
      const int64_t n = std::min(begin + kPiece, rows_) - first;
      std::vector<Vector> slices;
      for (int k = 0; k < spec_.num_partition + spec_.num_order; ++k)
        slices.push_back(Slice(keys[static_cast<size_t>(k)], first));
      const std::span<const Vector> all(slices);
      const auto split = static_cast<size_t>(spec_.num_partition);
      const SortCodes partitions(all.first(split), {}, n);
      const SortCodes peers(all.subspan(split), spec_.orders, n);
      for (int64_t i = begin == 0 ? 0 : 1; i < n; ++i) {
        const int64_t row = first + i;
        const bool starts = row > 0 && !partitions.Equal(i - 1, i);
        if (starts) ++partition, begins_.push_back(row);
        if (starts || (row > 0 && !peers.Equal(i - 1, i))) ++group;
        partition_of_[row] = partition, group_of_[row] = group;
      }
    }
    begins_.push_back(rows_);
  }

  absl::StatusOr<TableRef> Aggregate(const Column& order) {
    std::vector<ColumnRef> values;
    for (const WindowCallSpec& call : spec_.calls) {
      ADJOIN_ASSIGN_OR_RETURN(
          values.emplace_back(),
          AggregatePartitions(call, {partition_of_, static_cast<size_t>(rows_)},
                              std::ssize(begins_) - 1, exprs_, &memory_, run_.budget));
    }
    ADJOIN_RETURN_IF_ERROR(memory_.status());
    return Write(order, [&](size_t call, int64_t begin, int64_t n, BatchArena& arena) {
      return GatherColumn(*values[call], partition_of_ + begin, n, /*outer=*/false, arena);
    });
  }

  absl::StatusOr<TableRef> ComputeCalls(const Column& order) {
    auto* numbers = Items<int64_t>();
    std::iota(numbers, numbers + rows_, 0);
    std::vector<std::unique_ptr<WindowColumn>> results;
    for (const WindowCallSpec& call : spec_.calls) {
      ADJOIN_ASSIGN_OR_RETURN(results.emplace_back(),
                              WindowColumn::Make(call, exprs_, rows_, run_.budget, &memory_));
    }
    const bool by_distance = NeedsRanges(spec_);
    const SortCodes by_numbers({}, {}, 0);  // the rows' groups say which are peers
    for (size_t p = 0; p + 1 < begins_.size(); ++p) {
      if (run_.control != nullptr) ADJOIN_RETURN_IF_ERROR(run_.control->Check());
      const auto size = static_cast<size_t>(begins_[p + 1] - begins_[p]);
      WindowPartition partition({{numbers + begins_[p], size}, {group_of_ + begins_[p], size}},
                                NeedsPeers(spec_) ? &by_numbers : nullptr, &memory_);
      if (by_distance) {
        ADJOIN_RETURN_IF_ERROR(partition.FindRanges(
            frame_, exprs_[static_cast<size_t>(spec_.num_partition)], spec_.orders[0].descending));
      }
      for (auto& result : results) {
        ADJOIN_RETURN_IF_ERROR(result->Compute(frame_, partition));
        ADJOIN_RETURN_IF_ERROR(memory_.status());
      }
    }
    std::vector<Vector> values;
    std::vector<ColumnRef> lenders;
    for (size_t call = 0; call < results.size(); ++call) {
      values.push_back(results[call]->results());
      if (spec_.calls[call].kind != WindowKind::kStringAgg) continue;
      ADJOIN_ASSIGN_OR_RETURN(lenders.emplace_back(), WriteOnce(values.back()));
    }
    return Write(order, [&](size_t call, int64_t begin, int64_t, BatchArena&) {
      return Slice(values[call], begin);
    });
  }

  // Texts as codes of a file's, which an empty column lends: what moves rows then copies none.
  absl::StatusOr<ColumnRef> WriteOnce(Vector& texts) {
    auto* codes = Items<int32_t>();
    ADJOIN_RETURN_IF_ERROR(memory_.status());
    ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<const Dictionary> dictionary,
                            WriteTexts(texts, rows_, *run_.spill, codes));
    ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> none, Buffer::Allocate(0, run_.budget));
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef lender, MakeColumn(TypeId::kText, std::move(none), nullptr, 0,
                                                         run_.budget, std::move(dictionary)));
    texts = {TypeId::kText, nullptr, texts.valid, codes, lender.get()};
    return lender;
  }

  // read(call, first row, rows, arena): results of a call.
  template <typename Read>
  absl::StatusOr<TableRef> Write(const Column& order, Read&& read) {
    RowFile file(*run_.spill, run_.budget);
    BatchArena arena;
    for (int64_t begin = 0; begin < rows_; begin += kPiece) {
      const int64_t n = std::min(kPiece, rows_ - begin);
      std::vector<ColumnChunk> chunks;
      arena.Reset();
      const auto add = [&](const Vector& values) {
        chunks.emplace_back(values.type);
        chunks.back().Append(values, n);
      };
      for (size_t call = 0; call < spec_.calls.size(); ++call) add(read(call, begin, n, arena));
      add(ReadColumn(order, begin, n, arena));
      ADJOIN_RETURN_IF_ERROR(file.Append(chunks).status());
    }
    return file.Finish();
  }

  const WindowStepSpec& spec_;
  const WindowFrameSpec& frame_;
  RunState& run_;
  const PipelineOptions& options_;
  MappedMemory memory_;
  int64_t rows_ = 0;
  std::list<std::pmr::vector<std::byte>> items_;
  std::vector<Vector> exprs_;
  int64_t* partition_of_ = nullptr;  // by row
  uint64_t* group_of_ = nullptr;
  std::vector<int64_t> begins_;  // of partitions, and the end
};

}  // namespace

absl::StatusOr<TableRef> ComputeSortedWindow(const WindowStepSpec& spec,
                                             const WindowFrameSpec& frame,
                                             const RowPartitions& rows, size_t part, RunState& run,
                                             const PipelineOptions& options) {
  return SortedWindow(spec, frame, run, options).Run(rows, part);
}

}  // namespace adjoin
