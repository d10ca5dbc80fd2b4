#include "ops/sampled_structure.h"

#include <algorithm>
#include <numeric>

#include "engine/status.h"
#include "ops/column_access.h"

namespace adjoin {
namespace {

class Builder {
 public:
  Builder(const SampledProductSpec& spec, RunState& run, const PipelineOptions& options)
      : spec_(spec), run_(run), options_(options), out_(std::make_shared<SampledStructure>()) {
    out_->charge = std::make_unique<BudgetCharge>(run.budget);
  }

  absl::StatusOr<std::shared_ptr<const SampledStructure>> Build(const Table& sample,
                                                                const Table* const sides[2]) {
    int64_t bytes = 16 * sample.num_rows();
    for (int side : {0, 1}) {
      bytes += 16 * sides[side]->num_rows();
      if (std::max(sample.num_rows(), sides[side]->num_rows()) >= int64_t{UINT32_MAX})
        return SqlError(sqlstate::kStatementTooComplex, "a side of a join has too many rows");
    }
    ADJOIN_RETURN_IF_ERROR(out_->charge->GrowTo(bytes));
    KeyTable between(spec_.sides[0].between.output_types());
    for (int side : {0, 1}) ADJOIN_RETURN_IF_ERROR(AddSide(side, *sides[side], between, sample));
    ADJOIN_RETURN_IF_ERROR(AddSample(sample));
    const int64_t entries = out_->offsets.back();
    for (int64_t p = 0; p < kMostParts; ++p) {
      const auto at = std::lower_bound(out_->offsets.begin(), out_->offsets.end() - 1,
                                       static_cast<uint32_t>(entries * p / kMostParts));
      out_->part_begins.push_back(at - out_->offsets.begin());
    }
    out_->part_begins.push_back(out_->num_groups());
    ADJOIN_RETURN_IF_ERROR(out_->charge->GrowTo(out_->own_bytes()));
    return out_;
  }

 private:
  absl::Status AddSide(int side, const Table& table, KeyTable& between, const Table& sample) {
    const SampledProductSpec::Side& of = spec_.sides[side];
    SampledRuns& runs = out_->sides[side];
    ADJOIN_ASSIGN_OR_RETURN(const auto index, JoinIndex::Build(of.on, table, run_, options_));
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> values,
                            EvaluateOverTable(of.between, table, run_, options_));
    std::vector<int64_t> ids(static_cast<size_t>(table.num_rows()));
    KeyScratch scratch;
    for (int64_t begin = 0; begin < table.num_rows(); begin += options_.batch_rows) {
      const int64_t n = std::min(options_.batch_rows, table.num_rows() - begin);
      if (side == 0) {
        between.FindOrAdd(SlicesOf(values, begin), n, ids.data() + begin);
      } else {
        between.Find(SlicesOf(values, begin), n, ids.data() + begin, scratch);
      }
    }
    for (size_t k = 0; k < values.size(); ++k) {
      const uint8_t* valid = spec_.null_safe[k] ? nullptr : values[k].vector().valid;
      for (size_t r = 0; valid != nullptr && r < ids.size(); ++r) ids[r] = valid[r] ? ids[r] : -1;
    }
    runs.offsets.assign(1, 0);
    for (int64_t r = 0; r < index->num_keys(); ++r) {
      const JoinIndex::Rows rows = index->RowsOf(r);
      const auto begin = static_cast<ptrdiff_t>(runs.rows.size());
      std::copy_if(rows.begin, rows.end, std::back_inserter(runs.rows),
                   [&](uint32_t row) { return ids[row] >= 0; });
      const auto earlier = [&](uint32_t a, uint32_t b) { return ids[a] < ids[b]; };
      if (!std::is_sorted(runs.rows.begin() + begin, runs.rows.end(), earlier))
        std::stable_sort(runs.rows.begin() + begin, runs.rows.end(), earlier);
      bool follow = true;
      for (size_t e = runs.ids.size(); e < runs.rows.size(); ++e) {
        runs.ids.push_back(static_cast<uint32_t>(ids[runs.rows[e]]));
        follow = follow && runs.ids[e] == runs.ids[static_cast<size_t>(begin)] +
                                              (e - static_cast<size_t>(begin));
      }
      runs.offsets.push_back(static_cast<uint32_t>(runs.rows.size()));
      const bool some = runs.rows.size() > static_cast<size_t>(begin);
      runs.first.push_back(follow && some ? runs.ids[static_cast<size_t>(begin)]
                                          : SampledRuns::kScattered);
    }
    return FindRuns(of, sample, *index, run_of_[side]);
  }

  // The runs that rows of the sample meet.
  absl::Status FindRuns(const SampledProductSpec::Side& of, const Table& sample,
                        const JoinIndex& index, std::vector<int64_t>& found) {
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> on,
                            EvaluateOverTable(of.sample_on, sample, run_, options_));
    found.resize(static_cast<size_t>(sample.num_rows()));
    KeyScratch scratch;
    for (int64_t begin = 0; begin < sample.num_rows(); begin += options_.batch_rows) {
      if (run_.control != nullptr) ADJOIN_RETURN_IF_ERROR(run_.control->Check());
      const int64_t n = std::min(options_.batch_rows, sample.num_rows() - begin);
      index.Find(SlicesOf(on, begin), n, found.data() + begin, scratch);
    }
    return absl::OkStatus();
  }

  bool HasPair(int64_t row) const {
    const int64_t a = run_of_[0][static_cast<size_t>(row)];
    const int64_t b = run_of_[1][static_cast<size_t>(row)];
    if (a < 0 || b < 0) return false;
    const auto r = static_cast<uint32_t>(a), q = static_cast<uint32_t>(b);
    const SampledRuns &left = out_->sides[0], &right = out_->sides[1];
    if (left.first[r] != SampledRuns::kScattered && right.first[q] != SampledRuns::kScattered) {
      return left.first[r] < right.first[q] + (right.offsets[q + 1] - right.offsets[q]) &&
             right.first[q] < left.first[r] + (left.offsets[r + 1] - left.offsets[r]);
    }
    bool any = false;
    ForEachPair(left, r, right, q, [&](uint32_t, uint32_t) { return !(any = true); });
    return any;
  }

  absl::Status AddSample(const Table& sample) {
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> values,
                            EvaluateOverTable(spec_.keys, sample, run_, options_));
    KeyTable keys(spec_.keys.output_types());
    std::vector<uint32_t> rows;
    std::vector<uint32_t> group_of;
    std::vector<int32_t> kept(static_cast<size_t>(options_.batch_rows));
    std::vector<int64_t> ids(kept.size());
    BatchArena arena;
    for (int64_t begin = 0; begin < sample.num_rows(); begin += options_.batch_rows) {
      if (run_.control != nullptr) ADJOIN_RETURN_IF_ERROR(run_.control->Check());
      const int64_t n = std::min(options_.batch_rows, sample.num_rows() - begin);
      int64_t m = 0;
      for (int64_t i = 0; i < n; ++i) {
        if (!HasPair(begin + i)) continue;
        kept[static_cast<size_t>(m++)] = static_cast<int32_t>(i);
        rows.push_back(static_cast<uint32_t>(begin + i));
      }
      arena.Reset();
      std::vector<Vector> own = SlicesOf(values, begin);
      for (Vector& v : own) v = m == n ? v : Take(v, kept.data(), m, arena);
      keys.FindOrAdd(own, m, ids.data());
      for (int64_t i = 0; i < m; ++i) group_of.push_back(static_cast<uint32_t>(ids[i]));
    }
    std::vector<uint32_t>& offsets = out_->offsets;
    offsets.assign(static_cast<size_t>(keys.size()) + 1, 0);
    for (uint32_t group : group_of) ++offsets[group + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<uint32_t> next(offsets.begin(), offsets.end() - 1);
    for (auto* of : {&out_->rows, &out_->runs[0], &out_->runs[1]}) of->resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint32_t entry = next[group_of[i]]++;
      out_->rows[entry] = rows[i];
      for (int side : {0, 1})
        out_->runs[side][entry] = static_cast<uint32_t>(run_of_[side][rows[i]]);
    }
    for (int k = 0; k < keys.num_keys(); ++k) {
      arena.Reset();
      ADJOIN_ASSIGN_OR_RETURN(
          out_->keys.emplace_back(),
          MakeColumn(keys.Key(k, 0, keys.size(), arena), keys.size(), run_.budget));
    }
    return absl::OkStatus();
  }

  const SampledProductSpec& spec_;
  RunState& run_;
  const PipelineOptions& options_;
  std::shared_ptr<SampledStructure> out_;
  std::vector<int64_t> run_of_[2];  // by sample row; -1: none
};

}  // namespace

absl::StatusOr<std::shared_ptr<const SampledStructure>> SampledStructure::Build(
    const SampledProductSpec& spec, const Table& sample, const Table* const sides[2], RunState& run,
    const PipelineOptions& options) {
  return Builder(spec, run, options).Build(sample, sides);
}

}  // namespace adjoin
