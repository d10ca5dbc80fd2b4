#include "ops/sampled_product.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/materialize.h"
#include "ops/sampled_structure.h"

namespace adjoin {
namespace {

// Sample rows below which other threads are not worth waking: a row takes about 20 ns.
constexpr double kFewestRows = 2048, kRowsOfPart = 512;

// A factor's values by entry, as doubles.
struct Factor {
  std::vector<double> values;
  std::vector<uint8_t> valid;  // empty: no NULLs
  bool is_null(uint32_t entry) const { return !valid.empty() && valid[entry] == 0; }
};

Factor FactorOf(const Vector& v, const std::vector<uint32_t>& rows) {
  Factor f;
  f.values.resize(rows.size());
  for (size_t e = 0; e < rows.size(); ++e) {
    f.values[e] = v.type == TypeId::kFloat32 ? static_cast<double>(v.as<float>()[rows[e]])
                                             : v.as<double>()[rows[e]];
  }
  if (v.valid == nullptr) return f;
  f.valid.resize(rows.size());
  for (size_t e = 0; e < rows.size(); ++e) f.valid[e] = v.valid[rows[e]];
  return f;
}

// sum of (x * a[i]) * b[i], in eight sums.
double Dot(double x, const double* a, const double* b, int64_t n) {
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= n; i += kSums) {
    for (int64_t s = 0; s < kSums; ++s) sums[s] += x * a[i + s] * b[i + s];
  }
  for (int64_t s = 0; i < n; ++i, ++s) sums[s] += x * a[i] * b[i];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// One run of the product: the factors as they are now.
class Multiplication {
 public:
  Multiplication(const SampledProductSpec& spec, const SampledStructure& structure, RunState& run)
      : spec_(spec), s_(structure), run_(run), charge_(run.budget) {}

  absl::Status ReadFactors(const Table& sample, const Table* const sides[2],
                           const PipelineOptions& options) {
    for (int side : {0, 1}) {
      ADJOIN_RETURN_IF_ERROR(
          Read(spec_.sides[side].factor, *sides[side], s_.sides[side].rows, options, sides_[side]));
    }
    ADJOIN_RETURN_IF_ERROR(Read(spec_.sample_factor, sample, s_.rows, options, scale_));
    nullable_ = !scale_.valid.empty() || !sides_[0].valid.empty() || !sides_[1].valid.empty();
    return absl::OkStatus();
  }

  absl::StatusOr<ColumnRef> Run() {
    const int64_t n = s_.num_groups();
    ADJOIN_ASSIGN_OR_RETURN(const auto buffer, Buffer::Allocate(8 * n, run_.budget));
    sums_ = buffer->mutable_as<double>();
    if (nullable_) valid_.resize(static_cast<size_t>(n));
    if (PartsFor(static_cast<double>(s_.rows.size()), kFewestRows, kRowsOfPart) > 1) {
      run_.RunParts(kMostParts, [this](int64_t part, int) { RunPart(part); });
    } else {
      for (int64_t p = 0; p < kMostParts; ++p) RunPart(p);
    }
    if (run_.control != nullptr) ADJOIN_RETURN_IF_ERROR(run_.control->Check());
    Vector out{TypeId::kFloat64, sums_, nullable_ ? valid_.data() : nullptr};
    std::vector<float> narrow;
    if (spec_.real) {
      narrow.assign(sums_, sums_ + n);
      out = {TypeId::kFloat32, narrow.data(), out.valid};
    }
    return MakeColumn(out, n, run_.budget);
  }

 private:
  // Leaves `out` empty where there is no factor.
  absl::Status Read(const CompiledExpr& factor, const Table& table,
                    const std::vector<uint32_t>& rows, const PipelineOptions& options,
                    Factor& out) {
    if (factor.num_outputs() == 0) return absl::OkStatus();
    ADJOIN_RETURN_IF_ERROR(charge_.Add(9 * static_cast<int64_t>(rows.size())));
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> values,
                            EvaluateOverTable(factor, table, run_, options));
    out = FactorOf(values[0].vector(), rows);
    return absl::OkStatus();
  }

  void RunPart(int64_t part) {
    for (int64_t g = s_.part_begins[part]; g < s_.part_begins[part + 1]; ++g) {
      if (run_.control != nullptr && run_.control->cancelled.load(std::memory_order_relaxed))
        return;
      sums_[g] = 0;
      for (uint32_t e = s_.offsets[g]; e < s_.offsets[g + 1]; ++e) {
        Prefetch(e + kAhead);
        const uint32_t r = s_.runs[0][e], q = s_.runs[1][e];
        const bool follow = s_.sides[0].first[r] != SampledRuns::kScattered &&
                            s_.sides[1].first[q] != SampledRuns::kScattered;
        if (follow && !nullable_ && !spec_.real) {
          sums_[g] += OfRanges(ScaleOf(e), r, q);
        } else {
          AddAny(g, e);
        }
      }
    }
  }

  double ScaleOf(uint32_t e) const { return scale_.values.empty() ? 1 : scale_.values[e]; }

  // Both runs have every id from one on to another.
  double OfRanges(double by, uint32_t r, uint32_t q) const {
    const SampledRuns &a = s_.sides[0], &b = s_.sides[1];
    const int64_t first_a = a.first[r], first_b = b.first[q];
    const int64_t begin = std::max(first_a, first_b);
    const int64_t end = std::min(first_a + a.offsets[r + 1] - a.offsets[r],
                                 first_b + b.offsets[q + 1] - b.offsets[q]);
    return Dot(by, sides_[0].values.data() + a.offsets[r] + (begin - first_a),
               sides_[1].values.data() + b.offsets[q] + (begin - first_b), end - begin);
  }

  void AddAny(int64_t g, uint32_t e) {
    if (scale_.is_null(e)) return;
    const double by = ScaleOf(e);
    const auto rounded = [&](double v) {
      return spec_.real ? static_cast<double>(static_cast<float>(v)) : v;
    };
    ForEachPair(s_.sides[0], s_.runs[0][e], s_.sides[1], s_.runs[1][e],
                [&](uint32_t i, uint32_t j) {
                  if (sides_[0].is_null(i) || sides_[1].is_null(j)) return true;
                  if (nullable_) valid_[static_cast<size_t>(g)] = 1;
                  sums_[g] += rounded(rounded(by * sides_[0].values[i]) * sides_[1].values[j]);
                  return true;
                });
  }

  // Rows of the sides are met in no order.
  static constexpr uint32_t kAhead = 8;
  void Prefetch(uint32_t e) const {
    if (e >= s_.rows.size()) return;
    for (int side : {0, 1}) {
      const double* at = sides_[side].values.data() + s_.sides[side].offsets[s_.runs[side][e]];
      __builtin_prefetch(at);
      __builtin_prefetch(at + 8);
    }
  }

  const SampledProductSpec& spec_;
  const SampledStructure& s_;
  RunState& run_;
  BudgetCharge charge_;
  Factor sides_[2], scale_;
  bool nullable_ = false;
  double* sums_ = nullptr;
  std::vector<uint8_t> valid_;  // by group; empty where no sum can be NULL
};

}  // namespace

std::string SampledProductStep::Identity(const RunState& state) const {
  std::string identity = absl::StrCat("sampled product;", spec_.keys.Identity(state.parameters));
  for (const SampledProductSpec::Side& side : spec_.sides) {
    for (const CompiledExpr* e : {&side.on.exprs, &side.sample_on, &side.between})
      absl::StrAppend(&identity, ";", e->Identity(state.parameters));
    for (const bool null_safe : side.on.null_safe) identity += null_safe ? '1' : '0';
  }
  for (const bool null_safe : spec_.null_safe) identity += null_safe ? '1' : '0';
  return identity;
}

absl::StatusOr<std::shared_ptr<const SampledStructure>> SampledProductStep::StructureOf(
    const Table& sample, const Table* const sides[2], RunState& state) const {
  bool stays = state.cache != nullptr && spec_.sample.slot < 0;
  std::vector<ColumnRef> columns;
  const auto read = [&](const CompiledExpr& exprs, const Table& table) {
    for (int c : exprs.input_columns()) columns.push_back(table.column(c));
  };
  read(spec_.keys, sample);
  for (int s : {0, 1}) {
    const SampledProductSpec::Side& side = spec_.sides[s];
    stays = stays && side.relation.slot < 0;
    read(side.sample_on, sample), read(side.on.exprs, *sides[s]), read(side.between, *sides[s]);
  }
  const std::string identity = Identity(state);
  if (stays) {
    if (auto known = state.cache->Find(identity, columns))
      return std::static_pointer_cast<const SampledStructure>(std::move(known));
  }
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<const SampledStructure> made,
                          SampledStructure::Build(spec_, sample, sides, state, options_));
  if (stays) state.cache->Keep(identity, columns, made);
  return made;
}

absl::Status SampledProductStep::Run(RunState& state) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef sample, spec_.sample.Resolve(state));
  TableRef tables[2];
  for (int s : {0, 1}) {
    ADJOIN_ASSIGN_OR_RETURN(tables[s], spec_.sides[s].relation.Resolve(state));
  }
  const Table* const sides[] = {tables[0].get(), tables[1].get()};
  ADJOIN_ASSIGN_OR_RETURN(const std::shared_ptr<const SampledStructure> structure,
                          StructureOf(*sample, sides, state));
  Multiplication product(spec_, *structure, state);
  ADJOIN_RETURN_IF_ERROR(product.ReadFactors(*sample, sides, options_));
  std::vector<ColumnRef> columns = structure->keys;
  ADJOIN_ASSIGN_OR_RETURN(columns.emplace_back(), product.Run());
  SetRelation(state, out_slot_,
              Table::MakeUnchecked(spec_.schema, std::move(columns), structure->num_groups()));
  return absl::OkStatus();
}

std::string SampledProductStep::Describe() const {
  return absl::StrCat("slot ", out_slot_, " = sampled product of ",
                      spec_.sides[0].relation.ToString(), " and ",
                      spec_.sides[1].relation.ToString(), " at ", spec_.sample.ToString());
}

}  // namespace adjoin
