#include "ops/sparse_structure.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "engine/status.h"
#include "ops/column_access.h"

namespace adjoin {
namespace {

// The groups of the right that one of the left meets: a bit each, and one for each word of bits.
class GroupMarks {
 public:
  explicit GroupMarks(int64_t groups)
      : bits_(static_cast<size_t>(groups + 63) / 64), words_((bits_.size() + 63) / 64) {}
  void Add(uint32_t group) {
    bits_[group / 64] |= uint64_t{1} << (group % 64);
    words_[group / 4096] |= uint64_t{1} << (group / 64 % 64);
  }
  void AddRange(uint32_t first, uint32_t n) {
    for (uint32_t g = first; g < first + n;) {
      const uint32_t take = std::min(64 - g % 64, first + n - g);
      bits_[g / 64] |= (take == 64 ? ~uint64_t{0} : (uint64_t{1} << take) - 1) << (g % 64);
      words_[g / 4096] |= uint64_t{1} << (g / 64 % 64);
      g += take;
    }
  }
  // Hands out the marked groups, ascending, and forgets them.
  void Take(std::vector<uint32_t>& out) {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t word = words_[w]; word != 0; word &= word - 1) {
        const size_t b = w * 64 + static_cast<size_t>(std::countr_zero(word));
        for (uint64_t bits = bits_[b]; bits != 0; bits &= bits - 1)
          out.push_back(static_cast<uint32_t>(b * 64) +
                        static_cast<uint32_t>(std::countr_zero(bits)));
        bits_[b] = 0;
      }
      words_[w] = 0;
    }
  }

 private:
  std::vector<uint64_t> bits_, words_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SparseStructure>> SparseStructure::Build(
    const SparseKeys& left, const Table& left_table, const SparseKeys& right,
    const Table& right_table, RunState& run, const PipelineOptions& options) {
  if (left_table.num_rows() >= int64_t{UINT32_MAX})
    return SqlError(sqlstate::kStatementTooComplex, "a side of a join has too many rows");
  auto built = std::unique_ptr<SparseStructure>(new SparseStructure());
  built->charge_ = std::make_unique<BudgetCharge>(run.budget);
  ADJOIN_RETURN_IF_ERROR(
      built->charge_->GrowTo(16 * left_table.num_rows() + 24 * right_table.num_rows()));
  ADJOIN_ASSIGN_OR_RETURN(const auto index, JoinIndex::Build(right.on, right_table, run, options));
  ADJOIN_RETURN_IF_ERROR(built->AddRight(right, right_table, *index, run, options));
  ADJOIN_RETURN_IF_ERROR(built->AddLeft(left, left_table, *index, run, options));
  built->CutParts();
  ADJOIN_RETURN_IF_ERROR(built->charge_->GrowTo(built->bytes()));
  return built;
}

absl::Status SparseStructure::AddRight(const SparseKeys& keys, const Table& table,
                                       const JoinIndex& index, RunState& run,
                                       const PipelineOptions& options) {
  const int64_t rows = table.num_rows();
  std::vector<int64_t> group_of_row;
  if (keys.groups.num_outputs() > 0) {
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> values,
                            EvaluateOverTable(keys.groups, table, run, options));
    right_keys_ = std::make_unique<KeyTable>(keys.groups.output_types());
    group_of_row.resize(static_cast<size_t>(rows));
    for (int64_t begin = 0; begin < rows; begin += options.batch_rows) {
      right_keys_->FindOrAdd(SlicesOf(values, begin), std::min(options.batch_rows, rows - begin),
                             group_of_row.data() + begin);
    }
    right_groups = right_keys_->size();
  }
  const auto group = [&](uint32_t row) { return static_cast<uint32_t>(group_of_row[row]); };

  const auto num_runs = static_cast<size_t>(index.num_keys());
  run_offsets.assign(1, 0);
  single_rows = true;
  for (size_t r = 0; r < num_runs; ++r) {
    const JoinIndex::Rows of_run = index.RowsOf(static_cast<int64_t>(r));
    const size_t begin = right_rows.size();
    right_rows.insert(right_rows.end(), of_run.begin, of_run.end);
    run_offsets.push_back(static_cast<uint32_t>(right_rows.size()));
    single_rows = single_rows && of_run.end - of_run.begin == 1;
    if (right_keys_ == nullptr) continue;
    std::stable_sort(right_rows.begin() + static_cast<ptrdiff_t>(begin), right_rows.end(),
                     [&](uint32_t a, uint32_t b) { return group(a) < group(b); });
    bool follow = true;
    for (size_t e = begin; e < right_rows.size(); ++e) {
      right_of_entry.push_back(group(right_rows[e]));
      follow = follow && right_of_entry[e] == right_of_entry[begin] + (e - begin);
    }
    first_group.push_back(follow ? right_of_entry[begin] : kScattered);
  }
  right_entries = static_cast<int64_t>(right_rows.size());
  bool in_order = right_entries == rows;
  for (size_t e = 0; in_order && e < right_rows.size(); ++e) in_order = right_rows[e] == e;
  if (in_order) right_rows = {};
  return absl::OkStatus();
}

absl::Status SparseStructure::AddLeft(const SparseKeys& keys, const Table& table,
                                      const JoinIndex& index, RunState& run,
                                      const PipelineOptions& options) {
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> on,
                          EvaluateOverTable(keys.on.exprs, table, run, options));
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<FlatColumn> groups,
                          EvaluateOverTable(keys.groups, table, run, options));
  left_keys_ = std::make_unique<KeyTable>(keys.groups.output_types());
  const int64_t rows = table.num_rows();
  // Of rows that have a match.
  const auto row_of = std::make_unique_for_overwrite<uint32_t[]>(static_cast<size_t>(rows) + 1);
  const auto run_of = std::make_unique_for_overwrite<uint32_t[]>(static_cast<size_t>(rows) + 1);
  const auto group_of = std::make_unique_for_overwrite<uint32_t[]>(static_cast<size_t>(rows) + 1);
  int64_t matched = 0;
  std::vector<int64_t> ids(static_cast<size_t>(options.batch_rows));
  std::vector<int32_t> kept(ids.size() + 1);
  KeyScratch scratch;
  BatchArena arena;
  for (int64_t begin = 0; begin < rows; begin += options.batch_rows) {
    if (run.control != nullptr) ADJOIN_RETURN_IF_ERROR(run.control->Check());
    const int64_t n = std::min(options.batch_rows, rows - begin);
    index.Find(SlicesOf(on, begin), n, ids.data(), scratch);
    int64_t m = 0;
    for (int64_t i = 0; i < n; ++i) {
      row_of[matched + m] = static_cast<uint32_t>(begin + i);
      run_of[matched + m] = static_cast<uint32_t>(ids[i]);
      kept[m] = static_cast<int32_t>(i);
      m += ids[i] >= 0 ? 1 : 0;
    }
    arena.Reset();
    std::vector<Vector> values = SlicesOf(groups, begin);
    for (Vector& v : values) v = m == n ? v : Take(v, kept.data(), m, arena);
    left_keys_->FindOrAdd(values, m, ids.data());
    for (int64_t i = 0; i < m; ++i) group_of[matched + i] = static_cast<uint32_t>(ids[i]);
    matched += m;
  }
  const auto num_groups = static_cast<size_t>(left_keys_->size());
  left_offsets.assign(num_groups + 1, 0);
  for (int64_t i = 0; i < matched; ++i) ++left_offsets[group_of[i] + 1];
  std::partial_sum(left_offsets.begin(), left_offsets.end(), left_offsets.begin());
  left_rows.resize(static_cast<size_t>(matched));
  runs.resize(static_cast<size_t>(matched));
  std::vector<uint32_t> next(left_offsets.begin(), left_offsets.end() - 1);
  for (int64_t i = 0; i < matched; ++i) {
    const uint32_t entry = next[group_of[i]]++;
    left_rows[entry] = row_of[i];
    runs[entry] = run_of[i];
  }
  pairs.assign(left_offsets.begin(), left_offsets.end());
  if (single_rows) return absl::OkStatus();
  for (size_t g = 0; g < num_groups; ++g) {
    int64_t of_group = 0;
    for (uint32_t e = left_offsets[g]; e < left_offsets[g + 1]; ++e)
      of_group += run_offsets[runs[e] + 1] - run_offsets[runs[e]];
    pairs[g + 1] = pairs[g] + of_group;
  }
  return absl::OkStatus();
}

void SparseStructure::CutParts() {
  part_begins.assign(1, 0);
  for (int64_t p = 1; p < kMostParts; ++p) {
    const auto at = std::lower_bound(pairs.begin(), pairs.end() - 1, pairs.back() * p / kMostParts);
    part_begins.push_back(std::max(part_begins.back(), at - pairs.begin()));
  }
  part_begins.push_back(left_groups());
}

absl::Status SparseStructure::FindPattern(RunState& run) {
  std::vector<std::vector<uint32_t>> patterns(kMostParts);
  std::vector<int64_t> offsets(static_cast<size_t>(left_groups()) + 1, 0);
  pattern_offsets.swap(offsets);
  run.RunParts(kMostParts, [&](int64_t part, int) {
    std::vector<uint32_t>& out = patterns[static_cast<size_t>(part)];
    GroupMarks marks(right_groups);
    for (int64_t g = part_begins[part]; g < part_begins[part + 1]; ++g) {
      if (run.control != nullptr && run.control->cancelled.load(std::memory_order_relaxed)) return;
      for (uint32_t e = left_offsets[g]; e < left_offsets[g + 1]; ++e) {
        const uint32_t r = runs[e], begin = run_offsets[r], end = run_offsets[r + 1];
        if (first_group[r] != kScattered) {
          marks.AddRange(first_group[r], end - begin);
        } else {
          for (uint32_t i = begin; i < end; ++i) marks.Add(right_of_entry[i]);
        }
      }
      const size_t before = out.size();
      marks.Take(out);
      pattern_offsets[g + 1] = static_cast<int64_t>(out.size() - before);
    }
  });
  if (run.control != nullptr) ADJOIN_RETURN_IF_ERROR(run.control->Check());
  std::partial_sum(pattern_offsets.begin(), pattern_offsets.end(), pattern_offsets.begin());
  ADJOIN_RETURN_IF_ERROR(charge_->GrowTo(bytes() + 4 * pattern_offsets.back()));
  pattern.reserve(static_cast<size_t>(pattern_offsets.back()));
  for (std::vector<uint32_t>& part : patterns) {
    pattern.insert(pattern.end(), part.begin(), part.end());
    part = {};
  }
  return absl::OkStatus();
}

absl::StatusOr<ColumnRef> SparseStructure::KeyColumn(int side, int number, RunState& run) const {
  BatchArena arena;
  const KeyTable& table = side == 0 ? *left_keys_ : *right_keys_;
  const Vector values = table.Key(number, 0, table.size(), arena);
  const int64_t n = num_rows();
  if (!has_pattern()) return MakeColumn(values, n, run.budget);
  int32_t* rows = arena.Make<int32_t>(n);
  if (side == 0) {
    for (int64_t g = 0; g < left_groups(); ++g) {
      std::fill(rows + pattern_offsets[g], rows + pattern_offsets[g + 1], static_cast<int32_t>(g));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) rows[i] = static_cast<int32_t>(pattern[i]);
  }
  return MakeColumn(Gather(values, rows, n, arena), n, run.budget);
}

int64_t SparseStructure::bytes() const {
  return static_cast<int64_t>(4 * (left_offsets.size() + left_rows.size() + runs.size() +
                                   run_offsets.size() + right_rows.size() + right_of_entry.size() +
                                   first_group.size() + pattern.size()) +
                              8 * (pairs.size() + pattern_offsets.size()));
}

}  // namespace adjoin
