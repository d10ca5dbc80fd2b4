#include "ops/sparse_product.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "kernels/kernel_table.h"
#include "ops/column_access.h"
#include "ops/materialize.h"

namespace adjoin {
namespace {

// Where less is to be added, a kernel's call costs more than it saves.
constexpr int64_t kKernelCells = 8;

// Pairs below which other threads are not worth waking; an axpy adds about one cell in 0.3 ns.
constexpr double kFewestCells = 1 << 16, kCellsOfPart = 1 << 14;

// Values of a factor by row, as doubles.
struct Factor {
  const double* values = nullptr;  // null: 1 everywhere
  const uint8_t* valid = nullptr;
  std::vector<double> converted;
};

Factor FactorOf(const Vector& v, int64_t rows) {
  Factor f;
  f.valid = v.valid;
  f.values = v.as<double>();
  if (v.type == TypeId::kFloat32) {
    f.converted.assign(v.as<float>(), v.as<float>() + rows);
    f.values = f.converted.data();
  }
  return f;
}

// out[i] += x * y[i], each product rounded.
void AddScaled(double x, const double* y, int64_t n, double* out) {
  if (n < kKernelCells) {
    for (int64_t i = 0; i < n; ++i) out[i] += x * y[i];
    return;
  }
  static const ChainKernel kernel =
      Kernels()
          .chain_f64[static_cast<int>(ChainOp::kMultiply)][static_cast<int>(ChainOp::kAdd)][0][1];
  kernel({y, &x, out, 0, 0}, 1, n, out);
}

// What one slot adds up a group of the left in: a value for each group of the right and sum.
struct Row {
  std::vector<double> sums;
  std::vector<uint8_t> seen;  // whether a product was not NULL; unused where none can be
};

// One run of the product: the factors as they are now.
class Multiplication {
 public:
  Multiplication(const SparseProductSpec& spec, const SparseStructure& structure, RunState& run)
      : spec_(spec),
        s_(structure),
        run_(run),
        num_sums_(static_cast<int64_t>(spec.sums.size())),
        cells_(s_.right_groups * num_sums_),
        charge_(run.budget),
        rows_(static_cast<size_t>(run.slots())) {}

  absl::Status ReadFactors(const Table& left, const Table& right, const PipelineOptions& options) {
    ADJOIN_ASSIGN_OR_RETURN(left_values_,
                            EvaluateOverTable(spec_.left_factors, left, run_, options));
    ADJOIN_ASSIGN_OR_RETURN(right_values_,
                            EvaluateOverTable(spec_.right_factors, right, run_, options));
    for (const FlatColumn& f : left_values_)
      lefts_.push_back(FactorOf(f.vector(), left.num_rows()));
    lefts_.emplace_back();  // of -1
    for (const SparseProductSpec::Sum& sum : spec_.sums) {
      left_of_sum_.push_back(sum.left < 0 ? static_cast<int>(lefts_.size()) - 1 : sum.left);
      nullable_ = nullable_ || lefts_[left_of_sum_.back()].valid != nullptr;
    }
    one_left_ = std::all_of(left_of_sum_.begin(), left_of_sum_.end(),
                            [&](int left_of) { return left_of == left_of_sum_[0]; });
    return ArrangeRight(right.num_rows());
  }

  absl::Status Allocate() {
    ADJOIN_RETURN_IF_ERROR(charge_.Add(run_.slots() * cells_ * (nullable_ ? 9 : 8)));
    for (int64_t i = 0; i < num_sums_; ++i) {
      ADJOIN_ASSIGN_OR_RETURN(auto buffer, Buffer::Allocate(8 * s_.num_rows(), run_.budget));
      outs_.push_back(buffer->mutable_as<double>());
      buffers_.push_back(std::move(buffer));
      if (nullable_) valid_.emplace_back(static_cast<size_t>(s_.num_rows()));
    }
    return absl::OkStatus();
  }

  absl::Status Run() {
    const bool shared =
        PartsFor(static_cast<double>(s_.pairs.back() * num_sums_), kFewestCells, kCellsOfPart) > 1;
    if (shared) {
      run_.RunParts(kMostParts, [this](int64_t part, int slot) { RunPart(part, slot); });
    } else {
      for (int64_t p = 0; p < kMostParts; ++p) RunPart(p, 0);
    }
    return run_.control == nullptr ? absl::OkStatus() : run_.control->Check();
  }

  absl::StatusOr<ColumnRef> SumColumn(size_t i) {
    const int64_t n = s_.num_rows();
    const TypeId type = spec_.schema.fields[spec_.keys.size() + i].type;
    if (type == TypeId::kInt64) {  // a count
      auto* counts = buffers_[i]->mutable_as<int64_t>();
      for (int64_t r = 0; r < n; ++r) counts[r] = static_cast<int64_t>(outs_[i][r]);
    } else if (type == TypeId::kFloat32 || nullable_) {
      std::vector<float> narrow;
      Vector values{type, outs_[i], nullable_ ? valid_[i].data() : nullptr};
      if (type == TypeId::kFloat32) {
        narrow.resize(static_cast<size_t>(n));
        for (int64_t r = 0; r < n; ++r) narrow[r] = static_cast<float>(outs_[i][r]);
        values.data = narrow.data();
      }
      return MakeColumn(values, n, run_.budget);
    }
    return std::make_shared<const Column>(type, n, std::move(buffers_[i]), nullptr);
  }

 private:
  // The right's factors as a matrix: a row an entry, a column a sum.
  absl::Status ArrangeRight(int64_t rows) {
    std::vector<Factor> factors;
    for (const FlatColumn& f : right_values_) factors.push_back(FactorOf(f.vector(), rows));
    factors.emplace_back();  // of -1
    const auto of = [&](int64_t sum) -> const Factor& {
      const int f = spec_.sums[static_cast<size_t>(sum)].right;
      return f < 0 ? factors.back() : factors[static_cast<size_t>(f)];
    };
    bool nulls = false;
    for (int64_t i = 0; i < num_sums_; ++i) nulls = nulls || of(i).valid != nullptr;
    nullable_ = nullable_ || nulls;
    const bool as_it_lies = num_sums_ == 1 && s_.right_rows.empty() && of(0).converted.empty();
    if (as_it_lies && of(0).values != nullptr) {
      right_ = of(0).values;
      right_valid_ = of(0).valid;
      return absl::OkStatus();
    }
    const int64_t n = s_.right_entries;
    ADJOIN_RETURN_IF_ERROR(charge_.Add(n * num_sums_ * (nulls ? 9 : 8)));
    right_memory_.resize(static_cast<size_t>(n * num_sums_));
    if (nulls) right_valid_memory_.resize(right_memory_.size());
    // A block of rows at a time stays in cache until all of its columns are there.
    constexpr int64_t kBlock = 64;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, n);
      for (int64_t i = 0; i < num_sums_; ++i) {
        const Factor& f = of(i);
        for (int64_t e = begin; e < end; ++e) {
          const int64_t row = s_.right_rows.empty() ? e : s_.right_rows[e];
          right_memory_[e * num_sums_ + i] = f.values == nullptr ? 1 : f.values[row];
          if (nulls) right_valid_memory_[e * num_sums_ + i] = f.valid == nullptr ? 1 : f.valid[row];
        }
      }
    }
    right_ = right_memory_.data();
    right_valid_ = nulls ? right_valid_memory_.data() : nullptr;
    return absl::OkStatus();
  }

  void RunPart(int64_t part, int slot) {
    Row& row = rows_[static_cast<size_t>(slot)];
    row.sums.resize(static_cast<size_t>(cells_));
    if (nullable_) row.seen.resize(static_cast<size_t>(cells_));
    const bool plain = one_left_ && !nullable_ && !spec_.real;
    for (int64_t g = s_.part_begins[part]; g < s_.part_begins[part + 1]; ++g) {
      if (run_.control != nullptr && run_.control->cancelled.load(std::memory_order_relaxed))
        return;
      if (!plain) {
        nullable_ ? AddAny<true>(g, row) : AddAny<false>(g, row);
      } else if (s_.right_of_entry.empty()) {
        AddToOneGroup(g, row.sums.data());
      } else {
        AddToGroups(g, row.sums.data());
      }
      Emit(g, row);
    }
  }

  double LeftOf(uint32_t row) const {
    const Factor& f = lefts_[static_cast<size_t>(left_of_sum_[0])];
    return f.values == nullptr ? 1 : f.values[row];
  }

  void AddToOneGroup(int64_t g, double* sums) const {
    const uint32_t begin = s_.left_offsets[g], end = s_.left_offsets[g + 1];
    if (num_sums_ == 1 && s_.single_rows) {
      double sum = *sums;
      for (uint32_t e = begin; e < end; ++e) sum += LeftOf(s_.left_rows[e]) * right_[s_.runs[e]];
      *sums = sum;
      return;
    }
    for (uint32_t e = begin; e < end; ++e) {
      PrefetchRun(e + kAhead, end);
      const double x = LeftOf(s_.left_rows[e]);
      const uint32_t r = s_.runs[e];
      for (uint32_t i = s_.run_offsets[r]; i < s_.run_offsets[r + 1]; ++i)
        AddScaled(x, right_ + i * num_sums_, num_sums_, sums);
    }
  }

  void AddToGroups(int64_t g, double* sums) const {
    const uint32_t begin = s_.left_offsets[g], end = s_.left_offsets[g + 1];
    for (uint32_t e = begin; e < end; ++e) {
      const double x = LeftOf(s_.left_rows[e]);
      const uint32_t r = s_.runs[e], first = s_.run_offsets[r], last = s_.run_offsets[r + 1];
      PrefetchRun(e + kAhead, end);
      if (const uint32_t group = s_.first_group[r]; group != SparseStructure::kScattered) {
        AddScaled(x, right_ + first * num_sums_, (last - first) * num_sums_,
                  sums + group * num_sums_);
      } else if (num_sums_ == 1) {
        for (uint32_t i = first; i < last; ++i) sums[s_.right_of_entry[i]] += x * right_[i];
      } else {
        for (uint32_t i = first; i < last; ++i)
          AddScaled(x, right_ + i * num_sums_, num_sums_, sums + s_.right_of_entry[i] * num_sums_);
      }
    }
  }

  // The right's rows are met in no order.
  static constexpr uint32_t kAhead = 4;
  void PrefetchRun(uint32_t e, uint32_t end) const {
    if (e >= end) return;
    const uint32_t r = s_.runs[e];
    const double* at = right_ + s_.run_offsets[r] * num_sums_;
    const int64_t n = (s_.run_offsets[r + 1] - s_.run_offsets[r]) * num_sums_;
    for (int64_t i = 0; i < std::min<int64_t>(n, 64); i += 8) __builtin_prefetch(at + i);
  }

  // Any factors.
  template <bool kNullable>
  void AddAny(int64_t g, Row& row) const {
    for (uint32_t e = s_.left_offsets[g]; e < s_.left_offsets[g + 1]; ++e) {
      const uint32_t left = s_.left_rows[e], r = s_.runs[e];
      for (uint32_t i = s_.run_offsets[r]; i < s_.run_offsets[r + 1]; ++i) {
        const int64_t to = s_.right_of_entry.empty() ? 0 : s_.right_of_entry[i] * num_sums_;
        for (int64_t s = 0; s < num_sums_; ++s) {
          const Factor& f = lefts_[static_cast<size_t>(left_of_sum_[s])];
          const int64_t from = i * num_sums_ + s;
          if constexpr (kNullable) {
            if (f.valid != nullptr && f.valid[left] == 0) continue;
            if (right_valid_ != nullptr && right_valid_[from] == 0) continue;
            row.seen[to + s] = 1;
          }
          const double product = (f.values == nullptr ? 1 : f.values[left]) * right_[from];
          row.sums[to + s] +=
              spec_.real ? static_cast<double>(static_cast<float>(product)) : product;
        }
      }
    }
  }

  // Writes the group's rows, and clears them for the next.
  void Emit(int64_t g, Row& row) {
    const bool one = !s_.has_pattern();
    const int64_t begin = one ? g : s_.pattern_offsets[g];
    const int64_t end = one ? g + 1 : s_.pattern_offsets[g + 1];
    for (int64_t out = begin; out < end; ++out) {
      const int64_t cell = one ? 0 : s_.pattern[out] * num_sums_;
      for (int64_t i = 0; i < num_sums_; ++i) {
        outs_[i][out] = row.sums[cell + i];
        row.sums[cell + i] = 0;
        if (!nullable_) continue;
        valid_[i][out] = row.seen[cell + i];
        row.seen[cell + i] = 0;
      }
    }
  }

  const SparseProductSpec& spec_;
  const SparseStructure& s_;
  RunState& run_;
  const int64_t num_sums_, cells_;
  BudgetCharge charge_;
  std::vector<FlatColumn> left_values_, right_values_;
  std::vector<Factor> lefts_;
  std::vector<int> left_of_sum_;
  bool one_left_ = true, nullable_ = false;
  const double* right_ = nullptr;  // by entry, then sum
  const uint8_t* right_valid_ = nullptr;
  std::vector<double> right_memory_;
  std::vector<uint8_t> right_valid_memory_;
  std::vector<Row> rows_;  // by slot
  std::vector<std::shared_ptr<Buffer>> buffers_;
  std::vector<double*> outs_;
  std::vector<std::vector<uint8_t>> valid_;
};

}  // namespace

// What a step knows before it reads a value.
struct SparseProductStep::Kept final : CachedValue {
  std::unique_ptr<SparseStructure> structure;
  std::vector<ColumnRef> keys;
  int64_t bytes() const override {
    int64_t sum = structure->bytes();
    for (const ColumnRef& key : keys) sum += structure->num_rows() * WidthOf(key->type());
    return sum;
  }
};

std::string SparseProductStep::KeysIdentity(const RunState& state) const {
  std::string identity = "sparse product";
  for (const SparseKeys* side : {&spec_.left, &spec_.right}) {
    absl::StrAppend(&identity, ";", side->on.exprs.Identity(state.parameters),
                    side->groups.Identity(state.parameters));
    for (const bool null_safe : side->on.null_safe) identity += null_safe ? '1' : '0';
  }
  for (const SparseProductSpec::Key& key : spec_.keys)
    absl::StrAppend(&identity, ";", key.side, ",", key.number);
  return identity;
}

absl::StatusOr<std::shared_ptr<const SparseProductStep::Kept>> SparseProductStep::StructureOf(
    const Table& left, const Table& right, RunState& state) const {
  // Rows that were made for this run have key columns that go with it.
  const bool stays =
      state.cache != nullptr && spec_.left.relation.slot < 0 && spec_.right.relation.slot < 0;
  std::string identity;
  std::vector<ColumnRef> columns;
  if (stays) {
    identity = KeysIdentity(state);
    for (int c : spec_.left.columns) columns.push_back(left.column(c));
    for (int c : spec_.right.columns) columns.push_back(right.column(c));
    if (auto known = state.cache->Find(identity, columns))
      return std::static_pointer_cast<const Kept>(std::move(known));
  }
  auto made = std::make_shared<Kept>();
  ADJOIN_ASSIGN_OR_RETURN(made->structure, SparseStructure::Build(spec_.left, left, spec_.right,
                                                                  right, state, options_));
  if (spec_.right.groups.num_outputs() > 0)
    ADJOIN_RETURN_IF_ERROR(made->structure->FindPattern(state));
  for (const SparseProductSpec::Key& key : spec_.keys) {
    ADJOIN_ASSIGN_OR_RETURN(made->keys.emplace_back(),
                            made->structure->KeyColumn(key.side, key.number, state));
  }
  made->structure->DropKeys();
  if (stays) state.cache->Keep(identity, columns, made);
  return made;
}

absl::Status SparseProductStep::Run(RunState& state) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef left, spec_.left.relation.Resolve(state));
  ADJOIN_ASSIGN_OR_RETURN(const TableRef right, spec_.right.relation.Resolve(state));
  ADJOIN_ASSIGN_OR_RETURN(const std::shared_ptr<const Kept> kept,
                          StructureOf(*left, *right, state));
  Multiplication product(spec_, *kept->structure, state);
  ADJOIN_RETURN_IF_ERROR(product.ReadFactors(*left, *right, options_));
  ADJOIN_RETURN_IF_ERROR(product.Allocate());
  ADJOIN_RETURN_IF_ERROR(product.Run());
  std::vector<ColumnRef> columns = kept->keys;
  for (size_t i = 0; i < spec_.sums.size(); ++i) {
    ADJOIN_ASSIGN_OR_RETURN(columns.emplace_back(), product.SumColumn(i));
  }
  SetRelation(state, out_slot_,
              Table::MakeUnchecked(spec_.schema, std::move(columns), kept->structure->num_rows()));
  return absl::OkStatus();
}

std::string SparseProductStep::Describe() const {
  return absl::StrCat("slot ", out_slot_, " = sparse product of ", spec_.left.relation.ToString(),
                      " and ", spec_.right.relation.ToString(), ", ", spec_.sums.size(), " sums");
}

}  // namespace adjoin
