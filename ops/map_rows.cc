#include "ops/map_rows.h"

#include <algorithm>
#include <deque>

#include "engine/status.h"

namespace adjoin {
namespace {

struct ExprLocal final : LocalState {
  ExprScratch scratch;
  BatchArena arena;
  std::vector<Vector> columns;
};

std::unique_ptr<ExprLocal> MakeExprLocal(const CompiledExpr& exprs, size_t columns,
                                         const RunState& run, const PipelineOptions& options) {
  auto local = std::make_unique<ExprLocal>();
  exprs.Prepare(local->scratch, options.batch_rows, run.parameters);
  local->columns.resize(columns);
  return local;
}

// Fewer rows than one in this many are gathered for the next condition; else it is computed for
// all.
constexpr int64_t kSparse = 4;

constexpr int64_t kBatchesAnOrder = 32;

struct Condition {
  ExprScratch scratch;
  int64_t seen = 0, passed = 0;
};

struct FilterLocal final : LocalState {
  BatchArena arena;
  std::vector<Vector> columns;       // of what is handed on
  std::vector<Vector> gathered;      // of what conditions read
  std::deque<Condition> conditions;  // they stay where they are
  std::vector<size_t> order;
  int64_t batches = 0;
};

// Keeps the `n` rows for which the condition is TRUE; returns how many.
absl::StatusOr<int64_t> Select(const CompiledExpr& condition, const Batch& in, FilterLocal& state,
                               ExprScratch& scratch, int32_t* rows, int64_t n) {
  const bool is_sparse = n * kSparse < in.rows;
  std::span<const Vector> columns = in.columns;
  if (is_sparse) {
    state.gathered.resize(in.columns.size());
    for (int c : condition.input_columns())
      state.gathered[c] = Take(in.columns[c], rows, n, state.arena);
    columns = state.gathered;
  }
  ADJOIN_RETURN_IF_ERROR(condition.Run(scratch, columns, is_sparse ? n : in.rows));
  const Vector& holds = condition.output(scratch, 0);
  if (n == in.rows) return SelectTrue(holds, n, rows);
  const uint8_t* value = holds.as<uint8_t>();
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t row = rows[i];
    const int64_t at = is_sparse ? i : row;
    rows[kept] = row;
    kept += value[at] & (holds.valid == nullptr ? 1 : holds.valid[at]);
  }
  return kept;
}

// What leaves the fewest rows for the bytes that it reads comes first.
void Reorder(const std::vector<CompiledExpr>& conditions, const Batch& in, FilterLocal& state) {
  std::vector<double> worth;
  for (size_t c = 0; c < conditions.size(); ++c) {
    int64_t bytes = 1;
    for (int column : conditions[c].input_columns()) {
      const Vector& v = in.columns[column];
      bytes += v.data == nullptr ? static_cast<int64_t>(sizeof(int32_t)) : VectorWidth(v.type);
    }
    const Condition& so_far = state.conditions[c];
    const double passed =
        static_cast<double>(so_far.passed + 1) / static_cast<double>(so_far.seen + 2);
    worth.push_back((1 - passed) / static_cast<double>(bytes));
  }
  std::stable_sort(state.order.begin(), state.order.end(),
                   [&](size_t a, size_t b) { return worth[a] > worth[b]; });
}

struct RowIdLocal final : LocalState {
  BatchArena arena;
  std::vector<Vector> columns;
  int64_t next = 0;
};

}  // namespace

std::unique_ptr<LocalState> FilterRows::MakeLocal(const SharedState*, const RunState& run,
                                                  const PipelineOptions& options) const {
  auto local = std::make_unique<FilterLocal>();
  local->columns.resize(keep_.size());
  local->conditions.resize(conditions_.size());
  for (size_t c = 0; c < conditions_.size(); ++c) {
    conditions_[c].Prepare(local->conditions[c].scratch, options.batch_rows, run.parameters);
    local->order.push_back(c);
  }
  return local;
}

absl::Status FilterRows::Push(const Batch& in, const SharedState*, LocalState& local,
                              BatchConsumer next) const {
  auto& state = static_cast<FilterLocal&>(local);
  state.arena.Reset();
  int32_t* rows = state.arena.Make<int32_t>(in.rows + 1);
  int64_t n = in.rows;
  for (size_t c : state.order) {
    Condition& condition = state.conditions[c];
    condition.seen += n;
    ADJOIN_ASSIGN_OR_RETURN(n, Select(conditions_[c], in, state, condition.scratch, rows, n));
    condition.passed += n;
    if (n == 0) break;
  }
  if (conditions_.size() > 1 && ++state.batches % kBatchesAnOrder == 0)
    Reorder(conditions_, in, state);
  if (n == 0) return absl::OkStatus();
  for (size_t c = 0; c < keep_.size(); ++c) {
    const Vector& column = in.columns[keep_[c]];
    state.columns[c] = n == in.rows ? column : Take(column, rows, n, state.arena);
  }
  return next(Batch{n, state.columns, -1});
}

std::unique_ptr<LocalState> ProjectRows::MakeLocal(const SharedState*, const RunState& run,
                                                   const PipelineOptions& options) const {
  return MakeExprLocal(exprs_, static_cast<size_t>(exprs_.num_outputs()), run, options);
}

absl::Status ProjectRows::Push(const Batch& in, const SharedState*, LocalState& local,
                               BatchConsumer next) const {
  auto& state = static_cast<ExprLocal&>(local);
  ADJOIN_RETURN_IF_ERROR(exprs_.Run(state.scratch, in.columns, in.rows));
  for (int i = 0; i < exprs_.num_outputs(); ++i) state.columns[i] = exprs_.output(state.scratch, i);
  return next(Batch{in.rows, state.columns, in.first_row});
}

std::unique_ptr<LocalState> AppendRowIds::MakeLocal(const SharedState*, const RunState&,
                                                    const PipelineOptions&) const {
  return std::make_unique<RowIdLocal>();
}

void AppendRowIds::StartBlock(int64_t block, LocalState& local) const {
  static_cast<RowIdLocal&>(local).next = block << 40;
}

absl::Status AppendRowIds::Push(const Batch& in, const SharedState*, LocalState& local,
                                BatchConsumer next) const {
  auto& state = static_cast<RowIdLocal&>(local);
  state.arena.Reset();
  int64_t* ids = state.arena.Make<int64_t>(in.rows);
  const int64_t first = positions_ ? in.first_row : state.next;
  for (int64_t i = 0; i < in.rows; ++i) ids[i] = first + i;
  state.next += in.rows;
  state.columns.assign(in.columns.begin(), in.columns.end());
  state.columns.push_back(Vector{TypeId::kInt64, ids, nullptr});
  return next(Batch{in.rows, state.columns, in.first_row});
}

}  // namespace adjoin
