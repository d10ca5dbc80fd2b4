#include "ops/contraction.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/accumulator.h"
#include "ops/column_access.h"
#include "ops/pair_groups.h"
#include "ops/scalar_error.h"

namespace adjoin {
namespace {

std::vector<TypeId> KeyTypes(const CompiledExpr& exprs) {
  std::vector<TypeId> types;
  for (int i = 0; i + 1 < exprs.num_outputs(); ++i) types.push_back(exprs.output_type(i));
  return types;
}

// Groups so far with their sums and counts, of a block or of all.
struct PairSums {
  PairSums(const ContractionSpec& spec, int64_t right_size)
      : left_keys(KeyTypes(spec.left)), pairs(right_size) {
    const TypeId type = spec.left.output_type(spec.left.num_outputs() - 1);
    const size_t sum_column = spec.keys.size();
    sum = MakeAccumulator(AggregateKind::kSum, type, spec.schema.fields[sum_column].type);
    count = MakeAccumulator(AggregateKind::kCountStar, type, TypeId::kInt64);
  }
  void Resize() {
    sum->Resize(pairs.size());
    count->Resize(pairs.size());
  }
  KeyTable left_keys;
  PairGroups pairs;
  std::unique_ptr<Accumulator> sum, count;
};

struct ContractionShared final : SharedState {
  double expansion() const override { return index->fan_out().Expected(); }
  TableRef right;
  std::unique_ptr<JoinIndex> index;
  std::vector<FlatColumn> flat;  // the right side's keys and factor, by row
  std::unique_ptr<KeyTable> right_keys;
  std::vector<int64_t> right_ids;  // by row: of its keys
  Vector factor;
  std::unique_ptr<PairSums> sums;
  std::vector<Value> parameters;
  PipelineOptions options;
  const RunControl* control = nullptr;
};

struct ContractionBlock final : LocalState {
  std::unique_ptr<PairSums> sums;
  ExprScratch on_scratch, left_scratch, mask_scratch;
  KeyScratch lookup;
  std::vector<Vector> keys, pair_columns;
  std::vector<int64_t> matches, left_ids;  // by row of the batch
  std::vector<int32_t> left;               // by pair
  std::vector<int64_t> right, pair_left, pair_right, groups;
  BatchArena arena;
};

template <typename T>
bool MultiplyFails(T a, T b, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    *out = a * b;
    return false;
  } else {
    return __builtin_mul_overflow(a, b, out);
  }
}

// One batch of left rows against their right rows.
class PairRun {
 public:
  PairRun(const ContractionSpec& spec, const ContractionShared& shared, const Batch& in,
          ContractionBlock& block)
      : spec_(spec), shared_(shared), in_(in), block_(block) {}

  absl::Status Run() {
    ADJOIN_RETURN_IF_ERROR(FindRows());
    const auto capacity = static_cast<int64_t>(block_.left.size());
    for (int64_t row = 0; row < in_.rows; ++row) {
      if (block_.matches[row] < 0) continue;
      const JoinIndex::Rows rows = shared_.index->RowsOf(block_.matches[row]);
      for (const uint32_t* match = rows.begin; match < rows.end; ++match) {
        block_.left[pairs_] = static_cast<int32_t>(row);
        block_.right[pairs_] = *match;
        if (++pairs_ == capacity) ADJOIN_RETURN_IF_ERROR(AddPairs());
      }
    }
    return AddPairs();
  }

 private:
  absl::Status FindRows() {
    ADJOIN_RETURN_IF_ERROR(spec_.left_on.exprs.Run(block_.on_scratch, in_.columns, in_.rows));
    block_.keys.resize(spec_.left_on.null_safe.size());
    for (size_t k = 0; k < block_.keys.size(); ++k) {
      block_.keys[k] = spec_.left_on.exprs.output(block_.on_scratch, static_cast<int>(k));
    }
    shared_.index->Find(block_.keys, in_.rows, block_.matches.data(), block_.lookup);
    ADJOIN_RETURN_IF_ERROR(spec_.left.Run(block_.left_scratch, in_.columns, in_.rows));
    const int num_keys = spec_.left.num_outputs() - 1;
    block_.keys.resize(static_cast<size_t>(num_keys));
    for (int k = 0; k < num_keys; ++k) block_.keys[k] = spec_.left.output(block_.left_scratch, k);
    if (num_keys == 0) {
      std::fill_n(block_.left_ids.data(), in_.rows, 0);
    } else {
      block_.sums->left_keys.FindOrAdd(block_.keys, in_.rows, block_.left_ids.data());
    }
    return absl::OkStatus();
  }

  // Keeps the pairs that the mask lets pass.
  absl::Status MaskPairs() {
    for (int c : spec_.mask->input_columns()) {
      block_.pair_columns[c] =
          c < spec_.left_width
              ? Gather(in_.columns[c], block_.left.data(), pairs_, block_.arena)
              : GatherColumn(*shared_.right->column(spec_.right_columns[c - spec_.left_width]),
                             block_.right.data(), pairs_, false, block_.arena);
    }
    ADJOIN_RETURN_IF_ERROR(spec_.mask->Run(block_.mask_scratch, block_.pair_columns, pairs_));
    const Vector& mask = spec_.mask->output(block_.mask_scratch, 0);
    int64_t kept = 0;
    for (int64_t i = 0; i < pairs_; ++i) {
      block_.left[kept] = block_.left[i];
      block_.right[kept] = block_.right[i];
      kept += mask.as<uint8_t>()[i] & (mask.valid == nullptr ? 1 : mask.valid[i]);
    }
    pairs_ = kept;
    return absl::OkStatus();
  }

  absl::Status AddPairs() {
    block_.arena.Reset();
    if (shared_.control != nullptr) ADJOIN_RETURN_IF_ERROR(shared_.control->Check());
    if (pairs_ > 0 && spec_.mask.has_value()) ADJOIN_RETURN_IF_ERROR(MaskPairs());
    const int64_t n = pairs_;
    pairs_ = 0;
    if (n == 0) return absl::OkStatus();
    for (int64_t i = 0; i < n; ++i) {
      block_.pair_left[i] = block_.left_ids[block_.left[i]];
      block_.pair_right[i] = shared_.right_ids[block_.right[i]];
    }
    PairSums& sums = *block_.sums;
    sums.pairs.FindOrAdd(block_.pair_left.data(), block_.pair_right.data(), n,
                         block_.groups.data());
    sums.Resize();
    if (spec_.count) sums.count->Update({}, nullptr, block_.groups.data(), n);
    ADJOIN_ASSIGN_OR_RETURN(const Vector products, Products(n));
    sums.sum->Update({&products, 1}, nullptr, block_.groups.data(), n);
    return absl::OkStatus();
  }

  absl::StatusOr<Vector> Products(int64_t n) {
    const Vector& x = spec_.left.output(block_.left_scratch, spec_.left.num_outputs() - 1);
    const Vector& y = shared_.factor;
    Vector out{x.type};
    if (x.valid != nullptr || y.valid != nullptr) {
      uint8_t* valid = block_.arena.Make<uint8_t>(n);
      for (int64_t i = 0; i < n; ++i)
        valid[i] = !x.is_null(block_.left[i]) && !y.is_null(block_.right[i]) ? 1 : 0;
      out.valid = valid;
    }
    bool failed = false;
    WithElementType(x.type, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_arithmetic_v<T>) {
        T* values = block_.arena.Make<T>(n);
        for (int64_t i = 0; i < n; ++i) {
          const bool fails =
              MultiplyFails(x.as<T>()[block_.left[i]], y.as<T>()[block_.right[i]], &values[i]);
          failed |= fails && !out.is_null(i);
        }
        out.data = values;
      }
    });
    if (failed) return ScalarErrorStatus(ScalarError::kOverflow, x.type);
    return out;
  }

  const ContractionSpec& spec_;
  const ContractionShared& shared_;
  const Batch& in_;
  ContractionBlock& block_;
  int64_t pairs_ = 0;
};

// The values of one side's key for every group, by the group's id on that side.
Vector KeyOfGroups(const KeyTable& table, int number, const std::vector<int64_t>& ids,
                   BatchArena& arena) {
  const Vector values = table.Key(number, 0, table.size(), arena);
  const auto n = static_cast<int64_t>(ids.size());
  int32_t* rows = arena.Make<int32_t>(n);
  for (int64_t i = 0; i < n; ++i) rows[i] = static_cast<int32_t>(ids[i]);
  return Gather(values, rows, n, arena);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedState>> ContractionSink::Open(
    RunState& run, const PipelineOptions& options) const {
  auto shared = std::make_unique<ContractionShared>();
  shared->parameters = run.parameters;
  shared->options = options;
  shared->control = run.control;
  ADJOIN_ASSIGN_OR_RETURN(shared->right, spec_.right_relation.Resolve(run));
  ADJOIN_ASSIGN_OR_RETURN(shared->index,
                          JoinIndex::Build(spec_.right_on, *shared->right, run, options));
  ADJOIN_ASSIGN_OR_RETURN(shared->flat,
                          EvaluateOverTable(spec_.right, *shared->right, run, options));
  std::vector<Vector> keys = VectorsOf(shared->flat);
  shared->factor = keys.back();
  keys.pop_back();
  shared->right_keys = std::make_unique<KeyTable>(KeyTypes(spec_.right));
  const int64_t rows = shared->right->num_rows();
  shared->right_ids.assign(static_cast<size_t>(rows), 0);
  std::vector<Vector> slices(keys.size());
  for (int64_t begin = 0; begin < rows && !keys.empty(); begin += options.batch_rows) {
    for (size_t k = 0; k < keys.size(); ++k) slices[k] = Slice(keys[k], begin);
    shared->right_keys->FindOrAdd(slices, std::min(options.batch_rows, rows - begin),
                                  shared->right_ids.data() + begin);
  }
  const int64_t right_size = keys.empty() ? 1 : shared->right_keys->size();
  shared->sums = std::make_unique<PairSums>(spec_, right_size);
  return shared;
}

std::unique_ptr<LocalState> ContractionSink::MakeBlock(const SharedState& shared) const {
  const auto& all = static_cast<const ContractionShared&>(shared);
  auto block = std::make_unique<ContractionBlock>();
  const int64_t right_size = num_right_keys() == 0 ? 1 : all.right_keys->size();
  block->sums = std::make_unique<PairSums>(spec_, right_size);
  const int64_t rows = all.options.batch_rows;
  spec_.left_on.exprs.Prepare(block->on_scratch, rows, all.parameters);
  spec_.left.Prepare(block->left_scratch, rows, all.parameters);
  if (spec_.mask.has_value()) spec_.mask->Prepare(block->mask_scratch, rows, all.parameters);
  block->pair_columns.resize(static_cast<size_t>(spec_.left_width) + spec_.right_columns.size());
  const auto n = static_cast<size_t>(rows);
  block->matches.resize(n), block->left_ids.resize(n), block->left.resize(n),
      block->right.resize(n);
  block->pair_left.resize(n), block->pair_right.resize(n), block->groups.resize(n);
  return block;
}

absl::Status ContractionSink::Consume(const Batch& batch, const SharedState& shared,
                                      LocalState& block) const {
  return PairRun(spec_, static_cast<const ContractionShared&>(shared), batch,
                 static_cast<ContractionBlock&>(block))
      .Run();
}

absl::Status ContractionSink::Merge(std::unique_ptr<LocalState> local, SharedState& shared,
                                    bool*) const {
  const PairSums& from = *static_cast<ContractionBlock&>(*local).sums;
  PairSums& to = *static_cast<ContractionShared&>(shared).sums;
  const int64_t left_size = from.left_keys.size();
  std::vector<int64_t> left_map(static_cast<size_t>(std::max<int64_t>(1, left_size)), 0);
  BatchArena arena;
  if (num_left_keys() > 0 && left_size > 0) {
    std::vector<Vector> keys;
    for (int k = 0; k < num_left_keys(); ++k)
      keys.push_back(from.left_keys.Key(k, 0, left_size, arena));
    to.left_keys.FindOrAdd(keys, left_size, left_map.data());
  }
  const int64_t n = from.pairs.size();
  std::vector<int64_t> left(static_cast<size_t>(n)), groups(static_cast<size_t>(n));
  for (int64_t g = 0; g < n; ++g) left[g] = left_map[from.pairs.left()[g]];
  to.pairs.FindOrAdd(left.data(), from.pairs.right().data(), n, groups.data());
  to.Resize();
  to.sum->Merge(*from.sum, nullptr, groups.data(), n);
  to.count->Merge(*from.count, nullptr, groups.data(), n);
  return absl::OkStatus();
}

absl::StatusOr<TableRef> ContractionSink::Finish(SharedState& shared, RunState& run) const {
  auto& all = static_cast<ContractionShared&>(shared);
  PairSums& sums = *all.sums;
  int64_t rows = sums.pairs.size();
  if (spec_.keys.empty() && rows == 0) {
    rows = 1;
    sums.sum->Resize(1);
    sums.count->Resize(1);
  }
  std::vector<ColumnRef> columns;
  const auto add = [&](const Vector& values) -> absl::Status {
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, MakeColumn(values, rows, run.budget));
    columns.push_back(std::move(column));
    return absl::OkStatus();
  };
  for (const ContractionSpec::Key& key : spec_.keys) {
    BatchArena arena;
    ADJOIN_RETURN_IF_ERROR(
        add(key.side == 0 ? KeyOfGroups(sums.left_keys, key.number, sums.pairs.left(), arena)
                          : KeyOfGroups(*all.right_keys, key.number, sums.pairs.right(), arena)));
  }
  BatchArena arena;
  ADJOIN_ASSIGN_OR_RETURN(const Vector sum, sums.sum->Result(0, rows, arena));
  ADJOIN_RETURN_IF_ERROR(add(sum));
  if (spec_.count) {
    ADJOIN_ASSIGN_OR_RETURN(const Vector count, sums.count->Result(0, rows, arena));
    ADJOIN_RETURN_IF_ERROR(add(count));
  }
  return Table::MakeUnchecked(spec_.schema, std::move(columns), rows);
}

std::string ContractionSink::Describe() const {
  return absl::StrCat("contract with ", spec_.right_relation.ToString(), " into ",
                      spec_.keys.size(), " keys");
}

}  // namespace adjoin
