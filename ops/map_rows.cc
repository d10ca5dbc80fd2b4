#include "ops/map_rows.h"

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

struct RowIdLocal final : LocalState {
  BatchArena arena;
  std::vector<Vector> columns;
  int64_t next = 0;
};

}  // namespace

std::unique_ptr<LocalState> FilterRows::MakeLocal(const SharedState*, const RunState& run,
                                                  const PipelineOptions& options) const {
  return MakeExprLocal(predicate_, keep_.size(), run, options);
}

absl::Status FilterRows::Push(const Batch& in, const SharedState*, LocalState& local,
                              BatchConsumer next) const {
  auto& state = static_cast<ExprLocal&>(local);
  ADJOIN_RETURN_IF_ERROR(predicate_.Run(state.scratch, in.columns, in.rows));
  state.arena.Reset();
  int32_t* rows = state.arena.Make<int32_t>(in.rows + 1);
  const int64_t n = SelectTrue(predicate_.output(state.scratch, 0), in.rows, rows);
  if (n == 0) return absl::OkStatus();
  for (size_t c = 0; c < keep_.size(); ++c) {
    const Vector& column = in.columns[keep_[c]];
    state.columns[c] = n == in.rows ? column : Gather(column, rows, n, state.arena);
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
