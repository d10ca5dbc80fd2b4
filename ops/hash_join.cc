#include "ops/hash_join.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "engine/large_vector.h"
#include "engine/status.h"
#include "ops/spilled_join.h"

namespace adjoin {
namespace {

struct ProbeState final : LocalState {
  const RunControl* control = nullptr;
  int64_t capacity = 0;
  ExprScratch keys, residual;
  std::vector<Vector> key_columns, pair_columns, out_columns;
  KeyScratch lookup;
  BatchArena pair_arena, out_arena;
  LargeVector<int64_t> ids;
  // Candidate pairs, and those that passed and wait to be handed on; right -1 stands for NULLs.
  LargeVector<int32_t> left, out_left;
  LargeVector<int64_t> right, out_right;
};

bool IsOuter(JoinType type) { return type == JoinType::kLeft || type == JoinType::kSingle; }
bool IsPairless(JoinType type) {
  return type == JoinType::kSemi || type == JoinType::kAnti || type == JoinType::kNullAwareAnti;
}

// One batch on its way through the join.
class Probe {
 public:
  Probe(const HashJoinSpec& spec, const BuildSide& build, const Batch& in, ProbeState& state,
        BatchConsumer next)
      : spec_(spec), build_(build), in_(in), state_(state), next_(next) {}

  absl::Status Run() {
    if (build_.index == nullptr) return RunWithoutKeys();
    ADJOIN_RETURN_IF_ERROR(ComputeKeys());
    const bool only_matches = build_.index->ids_are_rows() && !spec_.residual.has_value();
    const bool is_semi = spec_.type == JoinType::kSemi && !spec_.residual.has_value();
    if ((is_semi && !state_.key_columns.empty()) ||
        (only_matches && spec_.type == JoinType::kInner)) {
      num_out_ = build_.index->FindMatches(state_.key_columns, in_.rows, state_.out_left.data(),
                                           state_.out_right.data(), state_.lookup);
      return Flush();
    }
    state_.ids.resize(static_cast<size_t>(in_.rows));
    build_.index->Find(state_.key_columns, in_.rows, state_.ids.data(), state_.lookup);
    if (IsPairless(spec_.type) && !spec_.residual.has_value()) return EmitByExistence();
    if (only_matches && !IsPairless(spec_.type)) return EmitEveryRow();
    for (int64_t row = 0; row < in_.rows; ++row) {
      if (state_.ids[row] < 0) continue;
      const JoinIndex::Rows matches = build_.index->RowsOf(state_.ids[row]);
      ADJOIN_RETURN_IF_ERROR(AddPairs(row, matches.end - matches.begin,
                                      [&](int64_t i) { return int64_t{matches.begin[i]}; }));
    }
    return EndPairs();
  }

 private:
  absl::Status RunWithoutKeys() {
    if (IsPairless(spec_.type) && !spec_.residual.has_value()) {
      state_.ids.assign(static_cast<size_t>(in_.rows), build_.num_rows > 0 ? 0 : -1);
      return EmitByExistence();
    }
    for (int64_t row = 0; row < in_.rows; ++row)
      ADJOIN_RETURN_IF_ERROR(AddPairs(row, build_.num_rows, [](int64_t i) { return i; }));
    return EndPairs();
  }

  // Candidates of a left row: right rows match(0), match(1), ...
  template <typename Match>
  absl::Status AddPairs(int64_t row, int64_t matches, Match&& match) {
    for (int64_t at = 0; at < matches;) {
      const int64_t take = std::min(state_.capacity - num_pairs_, matches - at);
      for (int64_t i = 0; i < take; ++i) {
        state_.left[num_pairs_ + i] = static_cast<int32_t>(row);
        state_.right[num_pairs_ + i] = match(at + i);
      }
      num_pairs_ += take;
      at += take;
      if (num_pairs_ == state_.capacity) ADJOIN_RETURN_IF_ERROR(TestPairs());
    }
    return absl::OkStatus();
  }

  absl::Status EndPairs() {
    ADJOIN_RETURN_IF_ERROR(TestPairs());
    ADJOIN_RETURN_IF_ERROR(CloseRows(in_.rows));
    return Flush();
  }

  absl::Status ComputeKeys() {
    ADJOIN_RETURN_IF_ERROR(spec_.left.exprs.Run(state_.keys, in_.columns, in_.rows));
    for (size_t k = 0; k < state_.key_columns.size(); ++k) {
      state_.key_columns[k] = spec_.left.exprs.output(state_.keys, static_cast<int>(k));
    }
    return absl::OkStatus();
  }

  absl::Status EmitByExistence() {
    const bool null_aware = spec_.type == JoinType::kNullAwareAnti && build_.num_rows > 0;
    if (null_aware && build_.rows_with_nulls > 0) return absl::OkStatus();
    for (int64_t row = 0; row < in_.rows; ++row) {
      const bool found = state_.ids[row] >= 0;
      const bool unknown = null_aware && state_.key_columns[0].is_null(row);
      const bool keep = spec_.type == JoinType::kSemi ? found : !found && !unknown;
      if (keep) state_.out_left[num_out_++] = static_cast<int32_t>(row);
    }
    return Flush();
  }

  // Of an outer join where no left row has two matches.
  absl::Status EmitEveryRow() {
    std::iota(state_.out_left.begin(), state_.out_left.begin() + in_.rows, 0);
    std::copy(state_.ids.begin(), state_.ids.end(), state_.out_right.begin());
    num_out_ = in_.rows;
    return Flush();
  }

  // Hands the candidate pairs that the residual lets pass on to the output buffer.
  absl::Status TestPairs() {
    const int64_t n = num_pairs_;
    num_pairs_ = 0;
    if (n == 0) return absl::OkStatus();
    if (spec_.type == JoinType::kInner && !spec_.residual.has_value()) {
      state_.left.swap(state_.out_left);
      state_.right.swap(state_.out_right);
      num_out_ = n;
      return Flush();
    }
    const uint8_t* value = nullptr;
    const uint8_t* valid = nullptr;
    // Where the residual passes nothing, no later operator looks.
    if (state_.control != nullptr) ADJOIN_RETURN_IF_ERROR(state_.control->Check());
    if (spec_.residual.has_value()) {
      state_.pair_arena.Reset();
      for (int c : spec_.residual->input_columns()) {
        state_.pair_columns[c] =
            PairColumn(c, state_.left.data(), state_.right.data(), n, false, state_.pair_arena);
      }
      ADJOIN_RETURN_IF_ERROR(spec_.residual->Run(state_.residual, state_.pair_columns, n));
      value = spec_.residual->output(state_.residual, 0).as<uint8_t>();
      valid = spec_.residual->output(state_.residual, 0).valid;
    }
    for (int64_t i = 0; i < n; ++i) {
      if (value != nullptr && (value[i] == 0 || (valid != nullptr && valid[i] == 0))) continue;
      ADJOIN_RETURN_IF_ERROR(Accept(state_.left[i], state_.right[i]));
    }
    return absl::OkStatus();
  }

  absl::Status Accept(int32_t row, int64_t match) {
    if (spec_.type == JoinType::kInner) return Emit(row, match);
    ADJOIN_RETURN_IF_ERROR(CloseRows(row));
    const bool first = !matched_;
    matched_ = true;
    switch (spec_.type) {
      case JoinType::kSemi:
        return first ? Emit(row, match) : absl::OkStatus();
      case JoinType::kLeft:
        return Emit(row, match);
      case JoinType::kSingle:
        if (first) return Emit(row, match);
        return SqlError(sqlstate::kCardinalityViolation,
                        "more than one row returned by a subquery used as an expression");
      default:
        return absl::OkStatus();
    }
  }

  // All candidates of the left rows before `row` have been seen: what found nothing is handed on
  // where that is the rule.
  absl::Status CloseRows(int64_t row) {
    if (spec_.type == JoinType::kInner || spec_.type == JoinType::kSemi) {
      if (row > closed_) closed_ = row, matched_ = false;
      return absl::OkStatus();
    }
    for (; closed_ < row; ++closed_, matched_ = false) {
      if (!matched_) ADJOIN_RETURN_IF_ERROR(Emit(static_cast<int32_t>(closed_), -1));
    }
    return absl::OkStatus();
  }

  absl::Status Emit(int32_t row, int64_t match) {
    state_.out_left[num_out_] = row;
    state_.out_right[num_out_] = match;
    return ++num_out_ == state_.capacity ? Flush() : absl::OkStatus();
  }

  absl::Status Flush() {
    const int64_t n = num_out_;
    num_out_ = 0;
    if (n == 0) return absl::OkStatus();
    state_.out_arena.Reset();
    if (spec_.rows_only) return EmitRows(n);
    every_row_once_ = n == in_.rows;
    for (int64_t i = 0; i < n && every_row_once_; ++i) every_row_once_ = state_.out_left[i] == i;
    for (size_t c = 0; c < spec_.output.size(); ++c) {
      const int column = spec_.output[c];
      if (every_row_once_ && column < spec_.left_width) {
        state_.out_columns[c] = in_.columns[column];
      } else {
        state_.out_columns[c] = PairColumn(column, state_.out_left.data(), state_.out_right.data(),
                                           n, IsOuter(spec_.type), state_.out_arena);
      }
    }
    if (build_.is_part) state_.out_columns.back() = Order(n);
    return next_(Batch{n, state_.out_columns, -1});
  }

  Vector Order(int64_t n) {
    return Take(in_.columns[static_cast<size_t>(spec_.left_width)], state_.out_left.data(), n,
                state_.out_arena);
  }

  absl::Status EmitRows(int64_t n) {
    if (build_.is_part) {  // the order is the row of the left side
      for (int64_t i = 0; i < n; ++i) {
        int64_t& right = state_.out_right[i];
        if (right >= 0) right = build_.row_numbers[right];
      }
      const Vector left = Order(n);
      const Vector columns[] = {left, {TypeId::kInt64, state_.out_right.data(), nullptr}, left};
      return next_(Batch{n, columns, -1});
    }
    int64_t* left = state_.out_arena.Make<int64_t>(n);
    for (int64_t i = 0; i < n; ++i) left[i] = in_.first_row + state_.out_left[i];
    const Vector columns[] = {{TypeId::kInt64, left, nullptr},
                              {TypeId::kInt64, state_.out_right.data(), nullptr}};
    return next_(Batch{n, columns, -1});
  }

  Vector PairColumn(int column, const int32_t* left, const int64_t* right, int64_t n, bool outer,
                    BatchArena& arena) const {
    if (column < spec_.left_width) return Take(in_.columns[column], left, n, arena);
    return GatherColumn(*build_.table->column(spec_.right_columns[column - spec_.left_width]),
                        right, n, outer, arena);
  }

  const HashJoinSpec& spec_;
  const BuildSide& build_;
  const Batch& in_;
  ProbeState& state_;
  BatchConsumer next_;
  int64_t num_pairs_ = 0;
  int64_t num_out_ = 0;
  int64_t closed_ = 0;    // left rows before this one are done
  bool matched_ = false;  // row closed_ has had a match
  bool every_row_once_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SharedState>> HashJoin::Open(RunState& run,
                                                            const PipelineOptions& options) const {
  auto build = std::make_unique<BuildSide>();
  ADJOIN_ASSIGN_OR_RETURN(build->table, spec_.right_relation.Resolve(run));
  build->num_rows = build->table->num_rows();
  if (spec_.left.null_safe.empty()) return build;
  ADJOIN_ASSIGN_OR_RETURN(build->index,
                          JoinIndex::Build(spec_.right, *build->table, run, options, spec_.probes));
  build->rows_with_nulls = build->index->rows_with_nulls();
  return build;
}

absl::StatusOr<std::unique_ptr<SpilledOperator>> HashJoin::OpenSpilled(
    RunState& run, const PipelineOptions& options) const {
  if (spec_.left.null_safe.empty()) return std::unique_ptr<SpilledOperator>();
  return OpenSpilledJoin(*this, spec_, run, options);
}

std::unique_ptr<LocalState> HashJoin::MakeLocal(const SharedState* shared, const RunState& run,
                                                const PipelineOptions& options) const {
  auto state = std::make_unique<ProbeState>();
  state->capacity = options.batch_rows;
  state->control = run.control;
  spec_.left.exprs.Prepare(state->keys, options.batch_rows, run.parameters);
  if (spec_.residual.has_value())
    spec_.residual->Prepare(state->residual, options.batch_rows, run.parameters);
  const auto n = static_cast<size_t>(options.batch_rows);
  state->left.resize(n), state->out_left.resize(n);
  state->right.resize(n), state->out_right.resize(n);
  state->key_columns.resize(spec_.left.null_safe.size());
  state->pair_columns.resize(static_cast<size_t>(spec_.left_width) + spec_.right_columns.size());
  const bool is_part = static_cast<const BuildSide*>(shared)->is_part;
  state->out_columns.resize(spec_.output.size() + (is_part ? 1 : 0));
  return state;
}

absl::Status HashJoin::Push(const Batch& in, const SharedState* shared, LocalState& local,
                            BatchConsumer next) const {
  return Probe(spec_, static_cast<const BuildSide&>(*shared), in, static_cast<ProbeState&>(local),
               next)
      .Run();
}

std::string HashJoin::Describe() const {
  static constexpr const char* kNames[] = {"",       "left ", "semi ", "anti ", "null-aware anti ",
                                           "single "};
  return absl::StrCat(kNames[static_cast<int>(spec_.type)],
                      spec_.left.null_safe.empty() ? "cross join " : "hash join ",
                      spec_.right_relation.ToString(),
                      spec_.residual.has_value() ? " with residual" : "");
}

}  // namespace adjoin
